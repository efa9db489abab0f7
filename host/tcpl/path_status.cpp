// SPDX-License-Identifier: GPL-3.0-or-later
#include "tcpl/path_status.h"

#include <cstring>
#include <string>

#include "runtime/message_json.h"
#include "station/packet_gate.h"

namespace wip::tcpl {
namespace {

void fill_line(const packet_model::wired_statistics& line, openwip::control::Direction& out) {
    host::set(*out.mutable_in(), line.in);
    host::set(*out.mutable_queued(), line.queued);
    host::add_drop(out, "queue_full", line.refused);
    host::add_drop(out, "held_full", line.not_held);
}

}  // namespace

void fill(const damaged_path& path, openwip::control::PathStatus& status) {
    fill_line(path.forward(), *status.mutable_forward());
    fill_line(path.back(), *status.mutable_back());
    const auto& e = path.errors();
    status.set_packets_damaged(e.damaged);
    status.set_bits_exposed(e.bits);
    status.set_bits_wrong(e.wrong_bits);
    const auto* relay = path.relay();
    if (relay == nullptr) return;
    for (std::size_t v = 0; v < verdict_names.size(); ++v) {
        auto& entry = *status.add_relay();
        entry.set_reason(std::string(verdict_names[v]));
        entry.mutable_count()->set_packets(relay->count(static_cast<verdict>(v)));
    }
    status.set_headers_restored(relay->restored_headers());
}

nlohmann::json result_of(const damaged_path& path, const calendar_run& run) {
    openwip::control::PathStatus status;
    fill(path, status);
    for (const std::size_t to : {0, 1}) {
        auto& d = to == 1 ? *status.mutable_forward() : *status.mutable_back();
        host::set(*d.mutable_delivered(), run.delivered[to]);
        for (const auto& [error, count] : run.refused[to])
            host::add_drop(d, std::string("kernel_refused_") + strerrorname_np(error), count);
    }
    return {{"path", host::to_json(status)},
            {"steps", run.steps},
            {"virtual_seconds", static_cast<double>(run.ended_ns) * 1e-9},
            {"wall_seconds", run.wall_s}};
}

}  // namespace wip::tcpl
