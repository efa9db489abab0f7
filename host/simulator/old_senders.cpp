// SPDX-License-Identifier: GPL-3.0-or-later
#include "simulator/old_senders.h"

#include <ns3/simulator.h>

#include <algorithm>
#include <cstdlib>

namespace wip::simulator {

using ns3::TcpSocketState;
using ns3::Time;

namespace {

const char* const tick_help = "between two looks at the timers";

Time default_tick() { return ns3::MilliSeconds(500); }

}  // namespace

ns3::TypeId tahoe_socket::GetTypeId() {
    static const ns3::TypeId id = ns3::TypeId("wip::tahoe_socket")
                                      .SetParent<counting_socket>()
                                      .AddConstructor<tahoe_socket>();
    return id;
}

void tahoe_socket::process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                               std::uint32_t delivered, const ns3::SequenceNumber32& old_head) {
    const auto state = m_tcb->m_congState.Get();
    // ns-3 lets the window grow by what is beyond the recovery's end only.
    if (state == TcpSocketState::CA_LOSS && ack > old_head && ack >= m_recover)
        m_recover = old_head;
    const bool duplicate = ack == old_head && ack < m_tcb->m_highTxMark.Get();
    if (!duplicate || (state != TcpSocketState::CA_OPEN && state != TcpSocketState::CA_DISORDER) ||
        m_dupAckCount + 1 < m_retxThresh || (m_recoverActive && ack < m_recover)) {
        counting_socket::process_ack(ack, scoreboard_updated, delivered, old_head);
        return;
    }
    begins(recovery::after_duplicates);
    m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, UnAckDataCount());
    m_tcb->m_cWnd = m_tcb->m_cWndInfl = m_tcb->m_segmentSize;
    m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_LOSS);
    m_congestionControl->CongestionStateSet(m_tcb, TcpSocketState::CA_LOSS);
    m_tcb->m_congState = TcpSocketState::CA_LOSS;
    m_recover = m_tcb->m_highTxMark;
    m_recoverActive = true;
    m_dupAckCount = 0;
    m_txBuffer->ResetRenoSack();
    m_txBuffer->SetSentListLost(true);
    m_history.clear();
    m_retxEvent.Cancel();  // the segment sent now starts the timer
}

ns3::TypeId tick_estimator::GetTypeId() {
    static const ns3::TypeId id =
        ns3::TypeId("wip::tick_estimator")
            .SetParent<ns3::RttEstimator>()
            .AddConstructor<tick_estimator>()
            .AddAttribute("Tick", tick_help, ns3::TimeValue(default_tick()),
                          ns3::MakeTimeAccessor(&tick_estimator::tick_),
                          ns3::MakeTimeChecker(ns3::NanoSeconds(1)));
    return id;
}

void tick_estimator::Measurement(Time round_trip) {
    const std::int64_t now = ns3::Simulator::Now().GetNanoSeconds(), tick = tick_.GetNanoSeconds();
    const std::int64_t sent = now - round_trip.GetNanoSeconds();
    if (m_nSamples > 0 && sent < sampled_until_.GetNanoSeconds()) return;
    sampled_until_ = ns3::Simulator::Now();
    const std::int64_t sample = 1 + now / tick - sent / tick;
    if (m_nSamples++ == 0) {
        srtt_8_ = 8 * sample;
        var_4_ = 2 * sample;
    } else {
        const std::int64_t off = sample - 1 - srtt_8_ / 8;
        srtt_8_ = std::max<std::int64_t>(1, srtt_8_ + off);
        var_4_ = std::max<std::int64_t>(1, var_4_ + std::abs(off) - var_4_ / 4);
    }
    m_estimatedRtt = ns3::NanoSeconds(srtt_8_ / 8 * tick);
    m_estimatedVariation = ns3::NanoSeconds(var_4_ * tick / 4);
}

void tick_estimator::Reset() {
    RttEstimator::Reset();
    srtt_8_ = var_4_ = 0;
}

ns3::TypeId coarse_reno_socket::GetTypeId() {
    static const ns3::TypeId id =
        ns3::TypeId("wip::coarse_reno_socket")
            .SetParent<counting_socket>()
            .AddConstructor<coarse_reno_socket>()
            .AddAttribute("Tick", tick_help, ns3::TimeValue(default_tick()),
                          ns3::MakeTimeAccessor(&coarse_reno_socket::tick_),
                          ns3::MakeTimeChecker(ns3::NanoSeconds(1)));
    return id;
}

// The timer that was started just now: to the tick that ends it.
void coarse_reno_socket::count_ticks() {
    if (m_state == SYN_SENT || !is_pending(m_retxEvent) || m_retxEvent.GetUid() == counted_) return;
    const std::int64_t now = ns3::Simulator::Now().GetNanoSeconds(), tick = tick_.GetNanoSeconds();
    const std::int64_t ticks =
        // the time is a whole number of ticks, or less
        std::max<std::int64_t>(1, m_rto.Get().GetNanoSeconds() / tick);
    m_retxEvent.Cancel();
    m_retxEvent = ns3::Simulator::Schedule(ns3::NanoSeconds((now / tick + ticks) * tick - now),
                                           &coarse_reno_socket::ReTxTimeout, this);
    counted_ = m_retxEvent.GetUid();
}

std::uint32_t coarse_reno_socket::SendDataPacket(ns3::SequenceNumber32 sequence, std::uint32_t most,
                                                 bool with_ack) {
    const std::uint32_t sent = counting_socket::SendDataPacket(sequence, most, with_ack);
    count_ticks();
    return sent;
}

void coarse_reno_socket::NewAck(const ns3::SequenceNumber32& ack, bool restart_timer) {
    counting_socket::NewAck(ack, restart_timer);
    count_ticks();
}

void coarse_reno_socket::process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                                     std::uint32_t delivered,
                                     const ns3::SequenceNumber32& old_head) {
    if (in_recovery() && ack > old_head && ack < m_recover) m_recover = ack;
    counting_socket::process_ack(ack, scoreboard_updated, delivered, old_head);
}

}  // namespace wip::simulator
