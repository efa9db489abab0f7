// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/ip_log.h"

namespace wip::host {
namespace {

// The size of a packet without its data: a rough figure for the window.
constexpr std::size_t record_bytes = 20;

}  // namespace

void ip_log::keep(way which, link direction, std::span<const std::uint8_t> packet,
                  std::int64_t time_ns, std::optional<std::uint64_t> number, bool lost) {
    if (slot_bytes_ + packet.size() > most_bytes || slot_packets_ >= most_packets) {
        ++skipped_;
        return;
    }
    slot_bytes_ += packet.size();
    ++slot_packets_;
    bytes_ += packet.size() + record_bytes;
    auto& p = *batch_.add_packet();
    p.set_out(which == way::out);
    p.set_downlink(direction == link::down);
    p.set_time_ns(time_ns);
    p.set_data(packet.data(), packet.size());
    if (number) p.set_number(*number);
    p.set_lost(lost);
}

void ip_log::send() {
    const auto packets = static_cast<std::uint64_t>(batch_.packet_size());
    batch_.set_skipped(skipped_);
    batch_.set_packets_before(packets_);
    packets_ += packets;
    batch_.set_pdus(topic_ == topic::frames);
    auto& message = port_->message(topic_);
    message.mutable_ip()->Swap(&batch_);
    port_->publish(topic_, window_.last(), user_);
    batch_.Clear();
    bytes_ = 0;
    window_.published();
}

}  // namespace wip::host
