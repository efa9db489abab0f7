// SPDX-License-Identifier: GPL-3.0-or-later
// ns-3's TCP socket that counts what its sender does, and tells after each loss recovery whether it
// was needed: with timestamps the first acceptable acknowledgement says which transmission it
// answers (Eifel detection, RFC 3522):
//
//   on the first retransmission        retransmit_ts = its timestamp
//   on the first ACK of new data       spurious: its echo < retransmit_ts
//
// As there, an ACK of all that was outstanding says nothing, nor does one without timestamp.
//
// Its timer is that of RFC 6298 and RFC 7323: after a timeout it stays doubled until there is a new
// round trip, and with timestamps there is one with every ACK of new data. (ns-3 takes the old
// estimate again at the next ACK, and with it, when round trips have become longer, one spurious
// timeout after the other.)
//
// An end that has closed first acknowledges the other one's FIN as often as it comes.
//
// Without SACK, duplicates are counted anew after each ACK of new data, as RFC 5681 has it.
//
// Its window is that of ns-3, but for new data that the receiver's window has no room for as a
// whole segment: ns-3 3.37 sends what fits, and when that is nothing it does not survive it.
//
// A reset does nothing to an end that listens (RFC 9293, 3.10.7.2): ns-3 3.37 takes the window of a
// connection that there is not for closed, probes it, and does not survive that either.
#pragma once

#include <ns3/rtt-estimator.h>
#include <ns3/tcp-congestion-ops.h>
#include <ns3/tcp-recovery-ops.h>
#include <ns3/tcp-tx-buffer.h>

#include <cstdint>
#include <optional>

#include "simulator/ns3_release.h"

namespace wip::simulator {

struct sender_counts {
    std::uint64_t segments = 0, retransmits = 0;
    std::uint64_t bytes = 0, bytes_retransmitted = 0;
    std::uint64_t timeouts = 0, spurious_timeouts = 0;
    std::uint64_t fast_retransmits = 0, spurious_fast_retransmits = 0;

    void add(const sender_counts& other);
};

class counting_socket : public portable_socket {
public:
    static ns3::TypeId GetTypeId();
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }

    const sender_counts& counts() const { return counts_; }
    // One of each ACK of new data, whatever the sender's own timer makes of it: smoothed with 1/8,
    // and the least. Without timestamps of segments that were sent once only. 0: there was none.
    double round_trip_ms() const { return round_trip_ms_; }
    double least_round_trip_ms() const { return least_ms_; }
    std::uint32_t congestion_window() const { return m_tcb->m_cWnd; }
    std::uint32_t slow_start_threshold() const { return m_tcb->m_ssThresh; }
    std::uint32_t segment_size() const { return m_tcb->m_segmentSize; }
    std::uint64_t bytes_acknowledged() const { return acknowledged_; }
    // Whether all that was written is acknowledged.
    bool idle() const { return m_txBuffer->Size() == 0; }
    // Whether the connection is closed.
    bool over() const { return m_state == CLOSED || m_state == TIME_WAIT; }
    // An end at once: a RST, and nothing is sent any more.
    void abort();

protected:
    enum class recovery : std::uint8_t { none, after_timeout, after_duplicates };

    ns3::Ptr<TcpSocketBase> Fork() override { return ns3::CopyObject<counting_socket>(this); }
    std::uint32_t SendDataPacket(ns3::SequenceNumber32 sequence, std::uint32_t most,
                                 bool with_ack) override;
    std::uint32_t AvailableWindow() const override;
    void EstimateRtt(const ns3::TcpHeader& header) override;
    void NewAck(const ns3::SequenceNumber32& ack, bool restart_timer) override;
    void ReTxTimeout() override;
    void DoForwardUp(ns3::Ptr<ns3::Packet> packet, const ns3::Address& from,
                     const ns3::Address& to) override;
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    void process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                     std::uint32_t delivered, const ns3::SequenceNumber32& old_head) override;

    // Whether a recovery goes on after this ACK of new data.
    virtual bool goes_on(const ns3::SequenceNumber32& ack) const { return ack < m_recover; }
    bool in_recovery() const;
    // Whether a timeout now would be one of data, not of a SYN or FIN.
    bool timeout_is_of_data() const;
    // A recovery begins; the first one counts until an ACK has evaluated it.
    void begins(recovery how);
    // The recovery that this ACK has shown to be spurious, for use in ReceivedAck(). none: it
    // evaluates no recovery, or one that was needed.
    recovery found_spurious() const { return spurious_; }
    recovery evaluated() const { return evaluated_; }
    recovery waiting_for_evaluation() const { return waiting_; }

    // The round trip of this ACK, before the base class has seen it.
    std::optional<ns3::Time> round_trip_of(const ns3::TcpHeader& header) const;

    // Evaluates an ACK. Call before ReceivedAck() of the base class; ReceivedAck() of this class
    // does so.
    void evaluate(const ns3::TcpHeader& header);
    void forget_duplicates(const ns3::SequenceNumber32& ack);

private:
    sender_counts counts_;
    std::uint64_t acknowledged_ = 0;
    double round_trip_ms_ = 0, least_ms_ = 0;
    // the timer was backed off, and no round trip has been measured since
    bool backed_off_ = false;
    recovery waiting_ = recovery::none, evaluated_ = recovery::none, spurious_ = recovery::none;
    std::uint32_t retransmit_ts_ = 0;
};

}  // namespace wip::simulator
