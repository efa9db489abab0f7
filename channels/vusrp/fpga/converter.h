// SPDX-License-Identifier: GPL-3.0-or-later
// The converters stand between a packet of the host and the transmitter's control.
//
// deframer: the B200's; it takes a header and a time off, one word a tick.
//
// converter: the packet logic of an RFNoC DUC. It takes the time of a burst's first packet and
// counts on by itself until the end of burst has passed; it cuts what it makes into packets of as
// many words as the host's packet has samples, and a packet goes on when it is whole. The end of a
// burst of a single sample is lost in it: the sample stays and goes out in front of the next burst,
// whose time is not read and whose end does not match the count any more; behind it nothing comes.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "vusrp/fpga/family.h"

namespace wip::vusrp::fpga {

// A packet may have come before the time that is called 0.
constexpr tick long_ago = -(tick{1} << 60);

struct transmit_packet {
    tick arrival = 0;
    std::optional<tick> time{};
    int samples = 0;
    bool end_of_burst = false;
    int sequence = 0;
    // Samples from gap_at on come gap ticks later.
    int gap_at = 0;
    tick gap = 0;
};

// The samples [first, first + samples) of a host's packet, in a unit from that word on.
struct piece {
    int word;
    std::int64_t packet;
    int first, samples;
};

// The control takes units. The words of one are samples of the host, or, behind a converter, of the
// master clock.
struct unit {
    tick arrival = 0;  // of its first word
    int per_tick = 1;  // words that come, or are dropped, in one tick
    int sample_words = 1;
    std::optional<tick> time{};
    int words = 0;
    bool end_of_burst = false;
    int sequence = 0;
    int gap_at = 0;        // 0: none
    tick gap_arrival = 0;  // of that word
    std::vector<piece> pieces{};

    // The tick from which on the word can be taken.
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
    struct segment {  // samples that are taken one every ratio clocks
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
    unit make(std::int64_t words, bool end);
    void forget();

    transmit_rules rules_;
    tick ratio_;
    bool open_ = false;
    bool unmatched_ = false;  // a lone sample waits, and its burst's count with it
    bool stuck_ = false;
    tick free_ = long_ago;        // the clock from which on a sample can be taken
    std::int64_t taken_ = 0;      // samples
    std::int64_t sent_ = 0;       // words, in units
    std::int64_t length_ = 0;     // words of a unit
    std::int64_t time_word_ = 0;  // the word that time_ is of
    std::optional<tick> time_{};
    std::optional<tick> untimed_clock_{};  // when a packet without a time was seen in this burst
    std::optional<tick> last_clock_{};     // of the burst's unit before
    std::deque<segment> segments_;
    std::deque<origin> origins_;
};

}  // namespace wip::vusrp::fpga
