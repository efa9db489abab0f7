// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/traffic.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "simulator/flow_ends.h"
#include "simulator/http_ends.h"

namespace wip::simulator {

traffic::traffic(std::vector<place> sides) : sides_(std::move(sides)) {}
traffic::~traffic() = default;

const place& traffic::side(int number) const { return sides_.at(static_cast<std::size_t>(number)); }

template <class Sender, class Receiver, class Flow>
void traffic::add_both(const Flow& planned) {
    ends_.push_back(std::make_unique<Receiver>(planned));
    ends_.push_back(std::make_unique<Sender>(planned));
}

void traffic::add(const flow::flow& f) {
    const double start = f.start_s.value_or(0);
    const place &from = side(f.from), &to = side(f.to);
    if (f.kind == "bulk" && f.whole)
        throw std::invalid_argument(
            "flow setting whole is true with --time ns3, which drops what arrives after the end; "
            "valid: false");
    if (f.kind == "bulk" || f.kind == "transfer" || f.kind == "telnet") {
        tcp_flow t{f.number,
                   from,
                   to,
                   start,
                   f.seconds,
                   f.bytes,
                   f.congestion_control,
                   f.buffer_kb,
                   f.measured_from_s,
                   {}};
        if (f.kind == "telnet") t.arrivals.emplace(f);
        add_both<tcp_sender, tcp_receiver>(t);
    } else if (f.kind == "http") {
        add_both<http_user, http_server>(http_flow{f, from, to, start});
    } else if (f.kind == "sessions") {
        session_flow s{f.number, from, to, start, f.congestion_control, {}};
        for (const flow::file_set& file : f.files)
            s.bytes.insert(s.bytes.end(), static_cast<std::size_t>(file.times), file.bytes);
        add_both<session_sender, session_receiver>(s);
    } else if (f.kind == "pages") {
        ends_.push_back(std::make_unique<page_client>(
            page_flow{f.number, from, to, start, start + f.seconds, f.think_s,
                      static_cast<std::uint32_t>(f.request_bytes),
                      static_cast<std::uint32_t>(f.response_bytes), f.congestion_control}));
    } else if (f.kind == "voip") {
        add_both<voip_sender, voip_receiver>(voip_flow{f.number, from, to, start, start + f.seconds,
                                                       f.interval_s, f.packets(),
                                                       static_cast<std::uint32_t>(f.bytes)});
    } else {
        throw std::invalid_argument(
            "kind is " + f.kind +
            " with ns-3; valid: bulk, transfer, sessions, pages, telnet, http, voip");
    }
}

bool traffic::done() const {
    return std::ranges::all_of(ends_, [](const auto& e) { return e->done(); });
}

nlohmann::json traffic::result() const {
    auto all = nlohmann::json::array();
    for (const auto& e : ends_)
        if (e->done()) all.push_back(e->result());
    return all;
}

}  // namespace wip::simulator
