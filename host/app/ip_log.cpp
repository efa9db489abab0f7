// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ip_log.h"

namespace wip::host {

void ip_log::keep(way which, link direction, std::span<const std::uint8_t> packet,
                  std::int64_t time_ns, std::optional<std::uint64_t> number) {
    if (bytes_ + packet.size() > most_bytes || batch_.packet_size() >= most_packets) {
        ++skipped_;
        return;
    }
    bytes_ += packet.size();
    auto& p = *batch_.add_packet();
    p.set_out(which == way::out);
    p.set_downlink(direction == link::down);
    p.set_time_ns(time_ns);
    p.set_data(packet.data(), packet.size());
    if (number) p.set_number(*number);
}

void ip_log::send(slot now, int user) {
    batch_.set_skipped(skipped_);
    auto& message = port_->message(topic::ip);
    message.mutable_ip()->Swap(&batch_);
    port_->publish(topic::ip, now, user);
    batch_.Clear();
    bytes_ = 0;
}

}  // namespace wip::host
