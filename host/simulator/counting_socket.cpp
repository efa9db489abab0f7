// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/counting_socket.h"

#include <ns3/simulator.h>
#include <ns3/tcp-header.h>
#include <ns3/tcp-option-ts.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace wip::simulator {

using ns3::TcpSocketState;

void sender_counts::add(const sender_counts& other) {
    for (const auto member :
         {&sender_counts::segments, &sender_counts::retransmits, &sender_counts::bytes,
          &sender_counts::bytes_retransmitted, &sender_counts::timeouts,
          &sender_counts::spurious_timeouts, &sender_counts::fast_retransmits,
          &sender_counts::spurious_fast_retransmits})
        this->*member += other.*member;
}

ns3::TypeId counting_socket::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("wip::counting_socket")
                                      .SetParent<ns3::TcpSocketBase>()
                                      .AddConstructor<counting_socket>();
    return id;
}

void counting_socket::abort() {
    CancelAllTimers();
    SendRST();
}

std::uint32_t counting_socket::SendDataPacket(ns3::SequenceNumber32 sequence, std::uint32_t most,
                                              bool with_ack) {
    const bool is_retransmission = sequence < m_tcb->m_highTxMark;
    ++counts_.segments;
    if (is_retransmission) ++counts_.retransmits;
    const std::uint32_t sent = TcpSocketBase::SendDataPacket(sequence, most, with_ack);
    counts_.bytes += sent;
    if (is_retransmission) counts_.bytes_retransmitted += sent;
    return sent;
}

// The round-trip time of an ACK, taken as Linux takes it (tcp_ack_update_rtt()): from the time at
// which the segment was sent if it was sent once, else from the timestamp that the ACK echoes,
// which tells to which transmission it belongs.
std::optional<ns3::Time> counting_socket::round_trip_of(const ns3::TcpHeader& header) const {
    if (header.GetAckNumber() <= m_txBuffer->HeadSequence()) return {};
    if (!m_history.empty()) {
        const auto& h = m_history.front();
        if (!h.retx && header.GetAckNumber() >= h.seq + ns3::SequenceNumber32(h.count))
            return ns3::Simulator::Now() - h.time;
    }
    if (!m_timestampEnabled || !header.HasOption(ns3::TcpOption::TS)) return {};
    const auto option =
        ns3::DynamicCast<const ns3::TcpOptionTS>(header.GetOption(ns3::TcpOption::TS));
    return std::max(ns3::Time(ns3::MicroSeconds(1)),
                    ns3::TcpOptionTS::ElapsedTimeFromTsValue(option->GetEcho()));
}

void counting_socket::EstimateRtt(const ns3::TcpHeader& header) {
    const auto sample = round_trip_of(header);
    if (sample) {
        const double ms = 1e3 * sample->GetSeconds();
        round_trip_ms_ = round_trip_ms_ > 0 ? round_trip_ms_ + (ms - round_trip_ms_) / 8 : ms;
        least_ms_ = least_ms_ > 0 ? std::min(least_ms_, ms) : ms;
    }
    const std::uint32_t samples = m_rtt->GetNSamples();
    TcpSocketBase::EstimateRtt(header);
    if (m_rtt->GetNSamples() == samples && m_timestampEnabled && sample &&
        header.HasOption(ns3::TcpOption::TS))
        m_rtt->Measurement(*sample);
    if (m_rtt->GetNSamples() != samples) backed_off_ = false;
}

void counting_socket::NewAck(const ns3::SequenceNumber32& ack, bool restart_timer) {
    const ns3::Time doubled = m_rto;
    TcpSocketBase::NewAck(ack, restart_timer);
    if (!backed_off_ || doubled <= m_rto) return;
    m_rto = doubled;
    if (!restart_timer || !is_pending(m_retxEvent)) return;
    m_retxEvent.Cancel();
    m_retxEvent = ns3::Simulator::Schedule(m_rto, &counting_socket::ReTxTimeout, this);
}

std::uint32_t counting_socket::AvailableWindow() const {
    const std::uint32_t window = TcpSocketBase::AvailableWindow();
    const bool has_room = UnAckDataCount() + m_tcb->m_segmentSize <= m_rWnd.Get();
    ns3::SequenceNumber32 next, end;
    if (window == 0 || has_room ||
        !m_txBuffer->NextSeg(&next, &end,
                             m_sackEnabled && m_tcb->m_congState == TcpSocketState::CA_RECOVERY))
        return window;
    const auto fits = static_cast<std::uint32_t>(end - next);
    const bool cut = next >= m_tcb->m_highTxMark.Get() && m_txBuffer->SizeFromSequence(next) > fits;
    return cut ? 0 : window;
}

bool counting_socket::timeout_is_of_data() const {
    return m_state != CLOSED && m_state != TIME_WAIT && m_state != SYN_SENT &&
           m_txBuffer->Size() > 0 && m_txBuffer->HeadSequence() < m_tcb->m_highTxMark.Get();
}

void counting_socket::begins(recovery how) {
    ++(how == recovery::after_timeout ? counts_.timeouts : counts_.fast_retransmits);
    backed_off_ = backed_off_ || how == recovery::after_timeout;
    if (waiting_ == recovery::none || how == recovery::after_timeout) {
        if (waiting_ != recovery::after_timeout) retransmit_ts_ = ns3::TcpOptionTS::NowToTsValue();
        waiting_ = how;
    }
}

void counting_socket::ReTxTimeout() {
    if (timeout_is_of_data()) begins(recovery::after_timeout);
    TcpSocketBase::ReTxTimeout();
}

void counting_socket::DoForwardUp(ns3::Ptr<ns3::Packet> packet, const ns3::Address& from,
                                  const ns3::Address& to) {
    ns3::TcpHeader header;
    packet->PeekHeader(header);
    if (m_state == LISTEN && (header.GetFlags() & ns3::TcpHeader::RST) != 0) return;
    if (m_state == TIME_WAIT && (header.GetFlags() & ns3::TcpHeader::FIN) != 0)
        SendEmptyPacket(ns3::TcpHeader::ACK);
    TcpSocketBase::DoForwardUp(packet, from, to);
}

void counting_socket::evaluate(const ns3::TcpHeader& header) {
    evaluated_ = spurious_ = recovery::none;
    const ns3::SequenceNumber32 ack = header.GetAckNumber(), head = m_txBuffer->HeadSequence();
    if (ack > head) acknowledged_ += static_cast<std::uint32_t>(ack - head);
    if (waiting_ == recovery::none || ack <= head) return;
    evaluated_ = std::exchange(waiting_, recovery::none);
    if (!m_timestampEnabled || !header.HasOption(ns3::TcpOption::TS) ||
        ack >= m_tcb->m_highTxMark.Get())
        return;
    const auto option =
        ns3::DynamicCast<const ns3::TcpOptionTS>(header.GetOption(ns3::TcpOption::TS));
    if (option->GetEcho() >= retransmit_ts_) return;
    spurious_ = evaluated_;
    ++(spurious_ == recovery::after_timeout ? counts_.spurious_timeouts
                                            : counts_.spurious_fast_retransmits);
}

// ns-3 keeps those that a new ACK has explained, takes the next duplicate for the third one and the
// head for lost.
void counting_socket::forget_duplicates(const ns3::SequenceNumber32& ack) {
    if (!m_sackEnabled && ack > m_txBuffer->HeadSequence() && (!goes_on(ack) || !in_recovery()))
        m_txBuffer->ResetRenoSack();
}

bool counting_socket::in_recovery() const {
    return m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
}

void counting_socket::ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) {
    evaluate(header);
    forget_duplicates(header.GetAckNumber());
    TcpSocketBase::ReceivedAck(packet, header);
}

void counting_socket::process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                                  std::uint32_t delivered, const ns3::SequenceNumber32& old_head) {
    const auto before = m_tcb->m_congState.Get();
    portable_socket::process_ack(ack, scoreboard_updated, delivered, old_head);
    if (before != TcpSocketState::CA_RECOVERY && m_tcb->m_congState == TcpSocketState::CA_RECOVERY)
        begins(recovery::after_duplicates);
}

}  // namespace wip::simulator
