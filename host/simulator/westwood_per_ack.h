// SPDX-License-Identifier: GPL-3.0-or-later
// Westwood with a sample of the bandwidth for each acknowledgement, as first published (Linux has
// its successor, Westwood+, with one for each round trip; ns-3's Westwood filters with a constant
// gain whatever the time between two samples). Between ACKs d apart, of x bytes (a duplicate: one
// segment):
//
//   b = x / d,  B = (2 tau - d)/(2 tau + d) B + d/(2 tau + d) (b + last b),  tau = 0.5 s
//
// the discrete form of a first-order low pass; without ACKs for tau/2 zeros are put in (then d
// is the time since the last of them in B, since the last ACK in b). After a
// loss ssthresh = max(B RTTmin, 2 segments). All else is NewReno.
#pragma once

#include <ns3/nstime.h>
#include <ns3/tcp-congestion-ops.h>

#include <cstdint>
#include <string>

namespace wip::simulator {

class westwood_per_ack final : public ns3::TcpNewReno {
public:
    static ns3::TypeId GetTypeId();
    std::string GetName() const override { return "westwood-per-ack"; }
    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> state, std::uint32_t segments,
                   const ns3::Time& round_trip) override;
    std::uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state,
                              std::uint32_t bytes_in_flight) override;
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override {
        return ns3::CopyObject<westwood_per_ack>(this);
    }

    double bytes_per_second() const { return estimate_; }
    // Bytes that were acknowledged at `now_s`; never going back.
    void acknowledged(double bytes, double now_s);

private:
    void filter(double sample, double seconds);

    ns3::Time tau_ = ns3::MilliSeconds(500);
    double estimate_ = 0, last_sample_ = 0;
    double ack_s_ = -1, filtered_s_ = -1, waiting_bytes_ = 0;
};

}  // namespace wip::simulator
