// SPDX-License-Identifier: GPL-3.0-or-later
// Who of a cell's users sends next (Teyeb 2006, 2.3.1). An interval brings the cell one interval of
// its resource, which is power or time: for a user with twice the C/I a bit costs half of it. Of
// the classes of traffic an earlier one goes first; within a class
//
//   equal_throughput   who has had the fewest bits
//   equal_resource     who has had the least of the resource
//   max_ci             who has the highest C/I, of equals the one with the fewest bits
//
// and what one leaves the others have. Who had nothing to send begins with as much as those have
// had who were served meanwhile: nobody saves up. What a PDU needs beyond its interval is taken
// from the next one, so that over time no more is used than there is, to the last PDU.
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
        double bits = 0;  // that all of the resource carries to it in an interval; 0: any number
        traffic_class what = traffic_class::interactive;
    };

    // What was had counts on, if the method is the same.
    void configure(sharing method, const std::vector<share>& users);
    // Of the interval of this number: who has something to send enters, and leaves when it has no
    // more or may not send it.
    void begin(std::int64_t interval);
    void enter(int user);
    void leave(int user) { users_[static_cast<std::size_t>(user)].ready = false; }
    // -1: nobody.
    int next() const;
    void sent(int user, int bits);

private:
    struct state : share {
        double had_bits = 0, had_resource = 0;
        std::int64_t ready_in = -1;  // the last interval at whose end it was
        bool ready = false;
    };
    struct served {
        double bits = 0, resource = 0;
    };
    bool before(const state& a, const state& b) const;

    sharing method_ = sharing::equal_throughput;
    std::vector<state> users_;
    std::array<served, 4> served_{};  // of each class, what the one served last had had
    std::int64_t interval_ = -1;
    double left_ = 0;  // of the resource of this interval
};

}  // namespace wip::umts
