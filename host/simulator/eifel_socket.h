// SPDX-License-Identifier: GPL-3.0-or-later
// The Eifel sender: what counting_socket.h detects (RFC 3522) is answered (RFC 4015).
//
//   a recovery begins    pipe_prev = max(flight, ssthresh), SRTT_prev = SRTT + 2 G, RTTVAR_prev
//   it was spurious      cwnd = flight + min(bytes acked, initial window), ssthresh = pipe_prev;
//                        go on with data that was never sent
//   was it a timeout: with the first round trip R of such data
//                        SRTT = max(SRTT_prev, R), RTTVAR = max(RTTVAR_prev, R/2)
//
// After a timeout only the first segment counts as lost until the first acceptable ACK: by the RFC
// nothing else may be sent before it anyway, and there is nothing to take back if all arrived.
#pragma once

#include <ns3/nstime.h>
#include <ns3/rtt-estimator.h>

#include <cstdint>

#include "simulator/counting_socket.h"

namespace wip::simulator {

// The estimator of RFC 6298, with a state that can be set.
class eifel_estimator final : public ns3::RttMeanDeviation {
public:
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    void Measurement(ns3::Time round_trip) override;
    ns3::Ptr<RttEstimator> Copy() const override { return ns3::CopyObject<eifel_estimator>(this); }
    ns3::Time last() const { return last_; }
    void set(ns3::Time srtt, ns3::Time variation);

private:
    ns3::Time last_;
};

class eifel_socket final : public counting_socket {
public:
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }

private:
    ns3::Ptr<TcpSocketBase> Fork() override { return ns3::CopyObject<eifel_socket>(this); }
    void ReTxTimeout() override;
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    void process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                     std::uint32_t delivered, const ns3::SequenceNumber32& old_head) override;
    void EstimateRtt(const ns3::TcpHeader& header) override;
    bool goes_on(const ns3::SequenceNumber32& ack) const override {
        return found_spurious() == recovery::none && counting_socket::goes_on(ack);
    }

    struct before {
        std::uint32_t pipe = 0;
        ns3::Time srtt, variation;
    };
    before now() const;

    before before_;
    bool adapt_ = false;
    ns3::SequenceNumber32 sent_until_{0};  // when the spurious timeout was detected
};

}  // namespace wip::simulator
