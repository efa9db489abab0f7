// SPDX-License-Identifier: GPL-3.0-or-later
// Selects the user of a cell that sends next (Teyeb 2006, 2.3.1). An interval brings the cell one
// interval of its resource, which is power or time: for a user with twice the C/I a bit costs half
// of it. Classes of traffic are served in order; within a class the first is
//
//   equal_throughput   the user who has had the fewest bits
//   equal_resource     the user who has had the least of the resource
//   max_ci             the user with the highest C/I; among equals the one with the fewest bits
//
// and the others get the rest. A user who had nothing to send begins with as much as the users have
// who were served in the meantime, so that no user accumulates a share while idle. If a PDU needs
// more than its interval, the excess is taken from the next one, so that over time, to the last
// PDU, no more than the resource is used.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace wip::umts {

enum class sharing : std::uint8_t { equal_throughput, equal_resource, max_ci };
enum class traffic_class : std::uint8_t { conversational, streaming, interactive, background };
inline constexpr std::array<std::string_view, 4> class_names{"conversational", "streaming",
                                                             "interactive", "background"};

class cell_scheduler {
public:
    struct share {
        double bits = 0;  // bits in an interval if it had all of the resource; 0: no limit
        traffic_class traffic = traffic_class::interactive;
    };

    // Shares so far are kept if the method is the same.
    void configure(sharing method, const std::vector<share>& users);
    // Begins the interval of this number: a user with something to send enters, and leaves when it
    // has no more or may not send it.
    void begin(std::int64_t interval);
    void enter(int user);
    void leave(int user) { users_[static_cast<std::size_t>(user)].ready = false; }
    // The user that sends next; -1: none has anything to send, or the resource is used up.
    int next() const;
    void sent(int user, int bits);

private:
    struct state : share {
        double had_bits = 0, had_resource = 0;
        std::int64_t ready_in = -1;  // the last interval at whose end it was ready
        bool ready = false;
    };
    struct served {
        double bits = 0, resource = 0;
    };
    bool before(const state& a, const state& b) const;

    sharing method_ = sharing::equal_throughput;
    std::vector<state> users_;
    // By class: totals of the user that was served last, before its PDU.
    std::array<served, 4> served_{};
    std::int64_t interval_ = -1;
    double resource_left_ = 0;  // in intervals; below 0: a debt
};

}  // namespace wip::umts
