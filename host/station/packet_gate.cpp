// SPDX-License-Identifier: GPL-3.0-or-later
#include "station/packet_gate.h"

#include <cerrno>
#include <cstring>

namespace wip::host {

int packet_gate::write(std::span<const std::uint8_t> packet) {
    if (relay_) {
        repaired_.assign(packet.begin(), packet.end());
        relay_->on_incoming(repaired_);
        packet = repaired_;
    }
    const int code = tun_->write(packet);
    auto& count = code == 0 ? delivered_ : write_errors_[code];
    ++count.packets;
    count.bytes += packet.size();
    return code;
}

bool packet_gate::on_read_error(int code) {
    ++read_errors_;
    // the interface was deleted, for example by `ip link delete`
    return code != EBADFD && code != EBADF;
}

void packet_gate::add_input(openwip::control::Direction& d) const {
    const std::uint64_t kernel = tun_->kernel_drops();
    // The kernel counts packets only; their bytes are unknown and are not in the sum of `in`.
    add_refused(d, "kernel_queue_full", {kernel, 0});
    add_refused(d, "tun_read_error", {read_errors_, 0});
}

void packet_gate::add_write_errors(openwip::control::Direction& d) const {
    for (const auto& [code, count] : write_errors_) {
        const char* name = strerrorname_np(code);
        add_drop(d, std::string("tun_write_") + (name != nullptr ? name : "error"), count);
    }
}

void packet_gate::add_relay(openwip::control::TerminalLink& t) const {
    if (relay_) host::add_relay(*relay_, t);
}

void add_refused(openwip::control::Direction& d, const std::string& reason,
                 const packets_bytes& count) {
    d.mutable_in()->set_packets(d.in().packets() + count.packets);
    d.mutable_in()->set_bytes(d.in().bytes() + count.bytes);
    add_drop(d, reason, count);
}

void add_relay(const tcpl::tcpl_recovery& relay, openwip::control::TerminalLink& t) {
    const auto add = [&t](std::string_view verdict, std::uint64_t packets) {
        for (auto& r : *t.mutable_relay())
            if (r.reason() == verdict)
                return r.mutable_count()->set_packets(r.count().packets() + packets);
        auto& r = *t.add_relay();
        r.set_reason(std::string(verdict));
        r.mutable_count()->set_packets(packets);
    };
    for (std::size_t v = 0; v < tcpl::verdict_names.size(); ++v)
        add(tcpl::verdict_names[v], relay.count(static_cast<tcpl::verdict>(v)));
    t.set_headers_restored(t.headers_restored() + relay.restored_headers());
}

}  // namespace wip::host
