// SPDX-License-Identifier: GPL-3.0-or-later
// Virtual time: one integer, which advances to the next time at which a participant has something
// to do. A participant is a packet link, or something that runs by itself (a Linux kernel). A step
// is
//
//   t = the earliest next_wakeup() of all, and advance(t) of the first participant that has it
//
// so participants of the same time run in the order in which they were added, and a run depends on
// nothing but its participants. In advance() a participant may give packets to others, whose
// next_wakeup() may then be earlier than before, but never before t. It may run by itself up to
// before_others(), and returns the time that it has reached.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "port/packet_link.h"

namespace wip {

class participant {
public:
    static constexpr std::int64_t never = packet_link::never;

    participant() = default;
    participant(const participant&) = delete;
    participant& operator=(const participant&) = delete;
    virtual ~participant() = default;

    // Time at which the participant has something to do; never: only when it is given something.
    virtual std::int64_t next_wakeup() const = 0;
    // Carries out everything that is due at now_ns. Returns now_ns, or the time to which it has
    // gone on by itself.
    virtual std::int64_t advance(std::int64_t now_ns) = 0;
};

// A packet link as a participant, advanced at its own next_wakeup().
class link_participant final : public participant {
public:
    explicit link_participant(packet_link& link) : link_(&link) {}
    std::int64_t next_wakeup() const override { return link_->next_wakeup(); }
    std::int64_t advance(std::int64_t now_ns) override {
        link_->advance(now_ns);
        return now_ns;
    }

private:
    packet_link* link_;
};

class calendar {
public:
    // Adds a participant, which has to outlive the calendar.
    void add(participant& p) { participants_.push_back(&p); }

    std::int64_t now() const { return now_; }
    std::uint64_t steps() const { return steps_; }

    // The earliest time at which another participant wants to run, but not after the limit of this
    // step.
    std::int64_t before_others(const participant& p) const {
        std::int64_t t = limit_;
        for (const auto* other : participants_)
            if (other != &p) t = std::min(t, other->next_wakeup());
        return t;
    }
    // Carries out one step at a time no later than limit_ns. Returns false when no participant
    // wants one; the time is limit_ns then.
    bool step(std::int64_t limit_ns) {
        limit_ = limit_ns;
        participant* next = nullptr;
        std::int64_t t = participant::never;
        for (auto* p : participants_)
            if (const std::int64_t wanted = p->next_wakeup(); wanted < t) t = wanted, next = p;
        if (next == nullptr || t > limit_ns) {
            now_ = std::max(now_, limit_ns);
            return false;
        }
        if (t < now_)
            throw std::logic_error("calendar: an event was scheduled before the current time");
        now_ = t;
        const std::int64_t reached = next->advance(t);
        if (reached < t)
            throw std::logic_error(
                "calendar: a participant's advance() has returned a time before the one that it "
                "was given");
        now_ = reached;
        ++steps_;
        return true;
    }

private:
    std::vector<participant*> participants_;
    std::int64_t now_ = 0, limit_ = participant::never;
    std::uint64_t steps_ = 0;
};

}  // namespace wip
