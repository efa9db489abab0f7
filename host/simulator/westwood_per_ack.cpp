// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/westwood_per_ack.h"

#include <ns3/simulator.h>

#include <algorithm>

namespace wip::simulator {

ns3::TypeId westwood_per_ack::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("wip::westwood_per_ack")
                                      .SetParent<ns3::TcpNewReno>()
                                      .AddConstructor<westwood_per_ack>()
                                      .AddAttribute("Tau", "time constant of the filter",
                                                    ns3::TimeValue(ns3::MilliSeconds(500)),
                                                    ns3::MakeTimeAccessor(&westwood_per_ack::tau_),
                                                    ns3::MakeTimeChecker(ns3::NanoSeconds(1)));
    return id;
}

void westwood_per_ack::filter(double sample, double seconds) {
    const double two_tau = 2 * tau_.GetSeconds();
    estimate_ =
        ((two_tau - seconds) * estimate_ + seconds * (sample + last_sample_)) / (two_tau + seconds);
    last_sample_ = sample;
}

void westwood_per_ack::acknowledged(double bytes, double now_s) {
    if (ack_s_ < 0) {  // there is no ACK before it, so no interval
        ack_s_ = filtered_s_ = now_s;
        return;
    }
    const double longest = tau_.GetSeconds() / 2;
    for (; now_s - filtered_s_ > longest; filtered_s_ += longest) filter(0, longest);
    waiting_bytes_ += bytes;
    if (now_s <= ack_s_) return;  // several ACKs at the same time count as one
    filter(waiting_bytes_ / (now_s - ack_s_), now_s - filtered_s_);
    waiting_bytes_ = 0;
    ack_s_ = filtered_s_ = now_s;
}

void westwood_per_ack::PktsAcked(ns3::Ptr<ns3::TcpSocketState> state, std::uint32_t segments,
                                 const ns3::Time& /*round_trip*/) {
    acknowledged(static_cast<double>(segments) * state->m_segmentSize,
                 ns3::Simulator::Now().GetSeconds());
}

std::uint32_t westwood_per_ack::GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                                            std::uint32_t /*bytes_in_flight*/) {
    const double pipe = estimate_ * state->m_minRtt.GetSeconds();
    return std::max(static_cast<std::uint32_t>(std::min(pipe, 1e9)), 2 * state->m_segmentSize);
}

}  // namespace wip::simulator
