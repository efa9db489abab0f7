// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/status_events.h"

namespace wip::host {

using openwip::telemetry::Event;

void status_events::say(Event::Severity severity, const char* kind, const std::string& reason,
                        slot now, std::uint64_t count) {
    if (!wanted()) return;
    auto& event = *port_->message(topic::event).mutable_event();
    event.set_severity(severity);
    event.set_source(source_);
    event.set_kind(kind);
    event.set_reason(reason);
    event.set_count(count);
    port_->publish(topic::event, now);
}

void status_events::grew(Event::Severity severity, const char* kind, const std::string& reason,
                         std::uint64_t total, slot now) {
    auto& last = last_[std::string(kind) + ' ' + reason];
    // A counter that was reset begins again.
    const std::uint64_t more = total >= last ? total - last : total;
    last = total;
    if (known_ && more > 0) say(severity, kind, reason, now, more);
}

void status_events::compare_drops(const openwip::control::Direction& d, const char* prefix,
                                  slot now) {
    for (const auto& drop : d.dropped())
        grew(Event::WARNING, "drop", prefix + drop.reason(), drop.count().packets(), now);
}

void status_events::compare(const openwip::control::MacStatus& s, slot now) {
    compare_drops(s.downlink(), "", now);
    compare_drops(s.uplink(), "uplink.", now);
    const auto& r = s.radio();
    // Every reason to lose lock that the schema knows, by its name.
    const auto& type = *r.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i)
        if (type.field(i)->name().starts_with("losses_"))
            grew(Event::WARNING, "lock", type.field(i)->name(),
                 r.GetReflection()->GetUInt64(r, type.field(i)), now);
    grew(Event::INFO, "lock", "locked", r.locks(), now);
    grew(Event::ERROR, "late", "late_slots", r.late_slots(), now);
    grew(Event::ERROR, "late", "underflows", r.underflows(), now);
    grew(Event::ERROR, "late", "overflows", r.overflows(), now);
    grew(Event::WARNING, "malformed", "messages", s.malformed_messages(), now);
    grew(Event::INFO, "drop", "frames_given_up", s.base().frames_given_up(), now);
    if (s.role() == "base") grew(Event::INFO, "handover", "begun", s.mobility().handovers(), now);
    compared();
}

}  // namespace wip::host
