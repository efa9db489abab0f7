// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/eifel_socket.h"

#include <ns3/simulator.h>
#include <ns3/tcp-header.h>

#include <algorithm>

namespace wip::simulator {

using ns3::TcpSocketState;
using ns3::Time;

ns3::TypeId eifel_estimator::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("wip::eifel_estimator")
                                      .SetParent<ns3::RttMeanDeviation>()
                                      .AddConstructor<eifel_estimator>();
    return id;
}

void eifel_estimator::Measurement(Time round_trip) {
    last_ = round_trip;
    RttMeanDeviation::Measurement(round_trip);
}

void eifel_estimator::set(Time srtt, Time variation) {
    m_estimatedRtt = srtt;
    m_estimatedVariation = variation;
}

ns3::TypeId eifel_socket::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("wip::eifel_socket")
                                      .SetParent<counting_socket>()
                                      .AddConstructor<eifel_socket>();
    return id;
}

eifel_socket::before eifel_socket::now() const {
    return {std::max(UnAckDataCount(), m_tcb->m_ssThresh.Get()),
            m_rtt->GetEstimate() + m_clockGranularity + m_clockGranularity, m_rtt->GetVariation()};
}

void eifel_socket::ReTxTimeout() {
    if (!timeout_is_of_data() || m_dataRetrCount == 0) {
        counting_socket::ReTxTimeout();
        return;
    }
    if (waiting_for_evaluation() == recovery::none) before_ = now();
    if (m_tcb->m_congState != TcpSocketState::CA_LOSS || !m_txBuffer->IsHeadRetransmitted())
        m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, BytesInFlight());
    begins(recovery::after_timeout);
    --m_dataRetrCount;
    m_dupAckCount = 0;
    if (!m_sackEnabled) m_txBuffer->ResetRenoSack();
    m_recover = m_tcb->m_highTxMark;
    m_recoverActive = true;
    m_rto = std::min(m_rto.Get() + m_rto.Get(), ns3::Seconds(60));
    m_history.clear();
    m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_LOSS);
    m_congestionControl->CongestionStateSet(m_tcb, TcpSocketState::CA_LOSS);
    m_tcb->m_congState = TcpSocketState::CA_LOSS;
    m_tcb->m_cWnd = m_tcb->m_cWndInfl = m_tcb->m_segmentSize;
    m_pacingTimer.Cancel();
    m_txBuffer->MarkHeadAsLost();
    DoRetransmit();
}

void eifel_socket::ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) {
    const bool after_timeout = waiting_for_evaluation() == recovery::after_timeout;
    evaluate(header);
    if (after_timeout && evaluated() == recovery::after_timeout &&
        found_spurious() == recovery::none)
        m_txBuffer->SetSentListLost(!m_sackEnabled);
    forget_duplicates(header.GetAckNumber());
    TcpSocketBase::ReceivedAck(packet, header);
}

void eifel_socket::process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                               std::uint32_t delivered, const ns3::SequenceNumber32& old_head) {
    const before recovery_begins = now();
    const bool waited = waiting_for_evaluation() != recovery::none;
    const bool spurious = found_spurious() != recovery::none && ack > old_head;
    if (spurious) m_recover = ack;  // this ends the recovery
    counting_socket::process_ack(ack, scoreboard_updated, delivered, old_head);
    if (!waited && waiting_for_evaluation() != recovery::none) before_ = recovery_begins;
    if (!spurious) return;
    const std::uint32_t acked = ack - old_head;
    m_tcb->m_cWnd = UnAckDataCount() + std::min(acked, m_tcb->m_initialCWnd * m_tcb->m_segmentSize);
    m_tcb->m_cWndInfl = m_tcb->m_cWnd;
    m_tcb->m_ssThresh = before_.pipe;
    if (found_spurious() == recovery::after_timeout) {
        adapt_ = true;
        sent_until_ = m_tcb->m_highTxMark;
    }
}

void eifel_socket::EstimateRtt(const ns3::TcpHeader& header) {
    const std::uint32_t samples = m_rtt->GetNSamples();
    counting_socket::EstimateRtt(header);
    if (!adapt_ || m_rtt->GetNSamples() == samples || header.GetAckNumber() <= sent_until_) return;
    adapt_ = false;
    const auto estimator = ns3::DynamicCast<eifel_estimator>(m_rtt);
    const Time sample = estimator->last();
    estimator->set(std::max(before_.srtt, sample), std::max(before_.variation, sample / 2));
}

}  // namespace wip::simulator
