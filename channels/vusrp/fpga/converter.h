// SPDX-License-Identifier: GPL-3.0-or-later
// The stages between a packet of the host and the transmitter's control logic.
//
// deframer: that of a B200; it removes header and time from a packet, one word in a tick.
//
// converter: the packet logic of an RFNoC DUC. It reads the time of a burst's first packet and
// counts on from it until the end of the burst; it cuts its output into packets of as many words as
// the host's packet has samples, and passes a packet on when it is complete. A burst of a single
// sample loses its end of burst: the sample stays and is sent before the next burst, whose time is
// then not read and whose end does not match the count; after that burst nothing more is passed on.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "vusrp/fpga/family.h"

namespace wip::vusrp::fpga {

// A tick before any other: packets may arrive before tick 0.
constexpr tick long_ago = -(tick{1} << 60);

struct transmit_packet {
    tick arrival = 0;
    std::optional<tick> time{};
    int samples = 0;
    bool end_of_burst = false;
    int sequence = 0;
    // The samples from number gap_at on arrive `gap` ticks later; gap_at 0: none.
    int gap_at = 0;
    tick gap = 0;
};

// The samples [first, first + samples) of a host's packet, which are in a unit from `word` on.
struct piece {
    int word;
    std::int64_t packet;
    int first, samples;
};

// The input of the control logic. Its words are samples at the host's rate, or, after a converter,
// at the master clock.
struct unit {
    tick arrival = 0;  // arrival of its first word
    int per_tick = 1;  // words that arrive, or are dropped, in one tick
    int sample_words = 1;
    std::optional<tick> time{};
    int words = 0;
    bool end_of_burst = false;
    int sequence = 0;
    int gap_at = 0;        // 0: none
    tick gap_arrival = 0;  // arrival of word gap_at
    std::vector<piece> pieces{};

    // The first tick in which the word can be taken.
    tick available(int word) const {
        if (gap_at == 0 || word < gap_at) return arrival + word / per_tick;
        return std::max(arrival + word / per_tick, gap_arrival + (word - gap_at) / per_tick);
    }
};

class deframer {
public:
    explicit deframer(const transmit_rules& rules) : rules_(rules) {}
    std::optional<unit> take(const transmit_packet& p, std::int64_t packet);

private:
    transmit_rules rules_;
    tick free_ = long_ago;
};

class converter {
public:
    converter(const transmit_rules& rules, tick ratio) : rules_(rules), ratio_(ratio) {}
    std::vector<unit> take(const transmit_packet& p, std::int64_t packet);

private:
    struct segment {  // a run of samples from `sample` on, one every ratio_ clocks
        std::int64_t sample;
        tick clock;
    };
    struct origin {
        std::int64_t sample, packet;
        int samples;
    };
    tick output_clock(std::int64_t word) const;
    std::vector<piece> pieces(std::int64_t word, std::int64_t words) const;
    void begin(const transmit_packet& p);
    unit make_unit(std::int64_t words, bool end);
    void discard_sent();

    transmit_rules rules_;
    tick ratio_;
    bool open_ = false;
    bool lone_sample_waits_ = false;  // the sample of a burst without an end waits
    bool stuck_ = false;              // nothing more is passed on
    tick free_ = long_ago;            // the first clock in which a sample can be taken
    std::int64_t taken_ = 0;          // samples
    std::int64_t sent_ = 0;           // words, in units
    std::int64_t length_ = 0;         // words in a unit
    std::int64_t time_word_ = 0;      // the word whose time is time_
    std::optional<tick> time_{};
    std::optional<tick> untimed_clock_{};  // when a packet without a time was seen in this burst
    std::optional<tick> last_clock_{};     // clock of the previous unit of the burst
    std::deque<segment> segments_;
    std::deque<origin> origins_;
};

}  // namespace wip::vusrp::fpga
