// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel's counts of a TCP connection, and of all connections of a namespace.
#pragma once

#include <linux/tcp.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace wip::flow {

tcp_info info_of(int s);

// Samples of the smoothed round trip (ms) and of the send window (segments), taken now and then.
class round_trips {
public:
    void sample(int s);
    void forget() { *this = {}; }
    int samples() const { return n_; }
    double mean_ms() const { return n_ > 0 ? sum_ / n_ : 0; }
    double longest_ms() const { return longest_; }
    double mean_window() const { return window_ / n_; }
    double widest() const { return widest_; }
    double window_variance() const { return squares_ / n_ - mean_window() * mean_window(); }
    // Time of the first sample at which a retransmission was counted; 0: there was none.
    double first_again() const { return first_again_; }

private:
    double sum_ = 0, longest_ = 0, window_ = 0, squares_ = 0, widest_ = 0, first_again_ = 0;
    int n_ = 0;
};

// Bytes that connections sent.
struct sent_bytes {
    unsigned long long acked = 0, sent = 0, again = 0;

    // Adds the bytes of connection `s`; -1: there is none.
    sent_bytes with(int s) const;
};

// How far a sender was at some time. The kernel's counters are those of the whole side, so other
// flows of that side report the same ones. `before`: the sender's connections before this one.
class mark {
public:
    static mark of(int s, const sent_bytes& before = {});
    bool set() const { return at_ > 0; }
    // From the mark until now, and of the round trips sampled in between.
    nlohmann::json since(int s, int side, const round_trips& trips,
                         const sent_bytes& before = {}) const;

private:
    static constexpr std::size_t counters = 8;
    double at_ = 0;
    sent_bytes bytes_;
    std::array<unsigned long long, counters> counts_{};
};

// How often the senders of this namespace have had to recover.
struct recoveries {
    unsigned long long timeouts = 0, fast = 0, undone = 0;  // recoveries that duplicate ACKs began
};
recoveries recoveries_now();

}  // namespace wip::flow
