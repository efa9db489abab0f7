// SPDX-License-Identifier: GPL-3.0-or-later
// Where releases of ns-3 differ: 3.37 is the one of Debian 12, 3.43 that of Debian 13.
//
//   Westwood                       3.37 has TcpWestwood, which is Westwood or Westwood+ by an
//                                  attribute; 3.43 has TcpWestwoodPlus alone
//   TcpSocketBase::ProcessAck()    that of 3.43 also says whether the ACK came with data
//                                  (CMakeLists.txt looks at the header of ns-3)
//   EventId::IsPending()           3.37 calls it IsRunning()
#pragma once

#include <ns3/config.h>
#include <ns3/enum.h>
#include <ns3/event-id.h>
#include <ns3/tcp-socket-base.h>
#if __has_include(<ns3/tcp-westwood-plus.h>)
#include <ns3/tcp-westwood-plus.h>
#else
#include <ns3/tcp-westwood.h>
#endif

#include <cstdint>

namespace wip::simulator {

#if __has_include(<ns3/tcp-westwood-plus.h>)
constexpr const char* westwood_plus = "ns3::TcpWestwoodPlus";
inline void make_westwood_westwood_plus() {}
#else
constexpr const char* westwood_plus = "ns3::TcpWestwood";
inline void make_westwood_westwood_plus() {
    ns3::Config::SetDefault("ns3::TcpWestwood::ProtocolType",
                            ns3::EnumValue(ns3::TcpWestwood::WESTWOODPLUS));
}
#endif

// Whether the event is scheduled and has not happened yet.
template <class Event>
bool is_pending(const Event& event) {
    if constexpr (requires { event.IsPending(); })
        return event.IsPending();
    else
        return event.IsRunning();
}

// ns-3's TCP socket, whose derived classes override process_ack() in place of ProcessAck().
class portable_socket : public ns3::TcpSocketBase {
protected:
    // An acknowledgement of data that waits in the send buffer; `old_head` is the first sequence
    // number there before it, `delivered` the number of bytes that it acknowledges, also by SACK.
    virtual void process_ack(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                             std::uint32_t delivered, const ns3::SequenceNumber32& old_head) {
#ifdef OPENWIP_NS3_ACK_WITH_DATA
        TcpSocketBase::ProcessAck(ack, scoreboard_updated, delivered, old_head, came_with_data_);
    }

private:
    void ProcessAck(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                    std::uint32_t delivered, const ns3::SequenceNumber32& old_head,
                    bool came_with_data) final {
        came_with_data_ = came_with_data;
        process_ack(ack, scoreboard_updated, delivered, old_head);
    }

    bool came_with_data_ = false;
#else
        TcpSocketBase::ProcessAck(ack, scoreboard_updated, delivered, old_head);
    }

private:
    void ProcessAck(const ns3::SequenceNumber32& ack, bool scoreboard_updated,
                    std::uint32_t delivered, const ns3::SequenceNumber32& old_head) final {
        process_ack(ack, scoreboard_updated, delivered, old_head);
    }
#endif
};

}  // namespace wip::simulator
