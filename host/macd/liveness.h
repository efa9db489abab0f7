// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the two parties of a macd live: its flowgraph and the macd at the other end.
//
// The messages on which each slot waits (plans, received slots, and at the base station the
// terminal's reports) are the slot path. Once a party has sent one of these, it must not be silent
// for longer than the timeout while it owes the next one. A party whose connection has closed has
// died, unless the connection or a word about an orderly end comes within `goodbye_grace`.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "macd/station.h"

namespace wip::host {

class liveness {
public:
    using clock = std::chrono::steady_clock;
    using time = clock::time_point;
    // until a closed connection counts as a death
    static constexpr std::chrono::milliseconds goodbye_grace{300};

    explicit liveness(double timeout_s)
        : timeout_(std::chrono::duration_cast<clock::duration>(
              std::chrono::duration<double>(timeout_s))) {}

    // A message came. `slot_path`: it is one on which slots wait, so from now on the silence of
    // this party is measured. A party sends either only such messages or none.
    void heard(party p, bool slot_path, time now) { watched_of(p) = {slot_path, now}; }
    bool started(party p) const { return p != party::nobody && watched_of(p).started; }
    // The connection closed. The first party to go is the one to name.
    void closed(party p, time now) {
        if (gone_ != party::nobody) return;
        gone_ = p;
        gone_at_ = now;
    }

    struct finding {
        party missing;
        bool silent;  // true: it was silent; false: its connection closed
    };
    // `owes`: the party that has to send next; `connected` tells whether a party is connected.
    template <class Connected>
    std::optional<finding> look(party owes, time now, Connected&& connected) {
        if (gone_ != party::nobody) {
            if (connected(gone_))
                gone_ = party::nobody;  // the party came back
            else if (now >= gone_at_ + goodbye_grace)
                return finding{gone_, false};
        }
        if (owes != owing_) {
            owing_ = owes;
            owing_since_ = now;
        } else if (gone_ == party::nobody && started(owing_) && now >= silent_from()) {
            return finding{owing_, true};
        }
        return std::nullopt;
    }
    // The time at which to look again if no message comes before; empty: never.
    std::optional<time> next_look() const {
        std::optional<time> next;
        if (gone_ != party::nobody) next = gone_at_ + goodbye_grace;
        if (started(owing_)) next = next ? std::min(*next, silent_from()) : silent_from();
        return next;
    }

private:
    struct watched {
        bool started = false;
        time last_message;
    };
    watched& watched_of(party p) { return p == party::flowgraph ? flowgraph_ : peer_; }
    const watched& watched_of(party p) const { return p == party::flowgraph ? flowgraph_ : peer_; }
    time silent_from() const {
        return std::max(watched_of(owing_).last_message, owing_since_) + timeout_;
    }

    clock::duration timeout_;
    watched flowgraph_, peer_;
    party owing_ = party::nobody;
    time owing_since_;
    party gone_ = party::nobody;
    time gone_at_;
};

}  // namespace wip::host
