// SPDX-License-Identifier: GPL-3.0-or-later
// Senders that no kernel has any more, as subclasses of ns3::TcpSocketBase:
//
// Tahoe: the third duplicate acknowledgement is treated as a timeout is, without its back-off: one
// segment, slow start, everything from the lost segment on is sent again unless an ACK jumps over
// it.
//
// Coarse Reno (4.4BSD): fast recovery ends with the first ACK of new data, so each further loss of
// a window costs a recovery or a timeout of its own; no SACK, no timestamps; a timer of ticks T:
//
//   sample, one at a time    R = 1 + ticks between sending and ACK
//   first                    8 srtt = 8 R, 4 var = 2 R
//   others                   d = R - 1 - srtt;  8 srtt += d;  4 var += |d| - var     (integers)
//   RTO                      max(srtt + 4 var, least), in whole ticks, counted by the ticks: n of
//                            them end between (n - 1) T and n T from now
#pragma once

#include <ns3/nstime.h>
#include <ns3/rtt-estimator.h>

#include <cstdint>

#include "simulator/counting_socket.h"

namespace wip::simulator {

class tahoe_socket final : public counting_socket {
public:
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }

private:
    ns3::Ptr<TcpSocketBase> Fork() override { return ns3::CopyObject<tahoe_socket>(this); }
    void process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                     std::uint32_t delivered, const ns3::SequenceNumber32& old_head) override;
};

class tick_estimator final : public ns3::RttEstimator {
public:
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    void Measurement(ns3::Time round_trip) override;
    ns3::Ptr<RttEstimator> Copy() const override { return ns3::CopyObject<tick_estimator>(this); }
    void Reset() override;

private:
    ns3::Time tick_, sampled_until_;
    std::int64_t srtt_8_ = 0, var_4_ = 0;  // 8 srtt and 4 var, in ticks
};

class coarse_reno_socket final : public counting_socket {
public:
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }

private:
    ns3::Ptr<TcpSocketBase> Fork() override { return ns3::CopyObject<coarse_reno_socket>(this); }
    std::uint32_t SendDataPacket(ns3::SequenceNumber32 sequence, std::uint32_t most,
                                 bool with_ack) override;
    void NewAck(const ns3::SequenceNumber32& ack, bool restart_timer) override;
    void process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                     std::uint32_t delivered, const ns3::SequenceNumber32& old_head) override;
    bool goes_on(const ns3::SequenceNumber32& /*ack*/) const override { return false; }
    void count_ticks();

    ns3::Time tick_;
    std::uint32_t counted_ = 0;  // event at the tick that ends the timer
};

}  // namespace wip::simulator
