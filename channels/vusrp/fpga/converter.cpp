// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/fpga/converter.h"

namespace wip::vusrp::fpga {
namespace {

constexpr tick pipeline_clocks = 1;  // clocks between taking a sample and its first word
constexpr tick begin_clocks = 2;     // clocks before a burst's first sample
// Clocks between a burst's last word and the next burst's first sample.
constexpr tick end_clocks = 2;

std::int64_t divide_rounding_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::optional<unit> deframer::take(const transmit_packet& p, std::int64_t packet) {
    unit u{.arrival = p.arrival,
           .per_tick = rules_.word_samples,
           .time = p.time,
           .words = p.samples,
           .end_of_burst = p.end_of_burst,
           .sequence = p.sequence,
           .gap_at = p.gap_at,
           .gap_arrival = p.arrival + p.gap,
           .pieces = {{0, packet, 0, p.samples}}};
    if (rules_.header_ticks == 0) return u;
    const tick header = std::max(p.arrival, free_);
    const tick time_word = p.time ? 1 : 0;
    free_ = header + 1 + time_word + divide_rounding_up(p.samples, u.per_tick);
    if (p.gap_at > 0)
        free_ = std::max(free_,
                         p.arrival + p.gap + divide_rounding_up(p.samples - p.gap_at, u.per_tick));
    u.arrival = header + rules_.header_ticks + time_word;
    u.gap_arrival += rules_.header_ticks - 1;
    if (p.samples == 0 && rules_.empty_packet_is_lost) return std::nullopt;
    return u;
}

void converter::begin(const transmit_packet& p) {
    length_ = 0;
    if (open_ || lone_sample_waits_) return;
    if (rules_.converter_end_ends || taken_ == 0) {
        time_ = p.time;
        time_word_ = taken_ * ratio_;
    }
    untimed_clock_.reset();
    last_clock_.reset();
}

std::vector<unit> converter::take(const transmit_packet& p, std::int64_t packet) {
    if (stuck_ || p.samples == 0) return {};
    const bool first = !open_;
    if (first) begin(p);
    open_ = true;
    const tick arrival = p.arrival * rules_.converter_clocks;
    const tick start = std::max(arrival, free_) + (first && !lone_sample_waits_ ? begin_clocks : 0);
    segments_.push_back({taken_, start});
    free_ = start + p.samples * ratio_;
    if (p.gap_at > 0) {
        const tick again =
            std::max(start + p.gap_at * ratio_, arrival + p.gap * rules_.converter_clocks);
        segments_.push_back({taken_ + p.gap_at, again});
        free_ = again + (p.samples - p.gap_at) * ratio_;
    }
    origins_.push_back({taken_, packet, p.samples});
    if (!p.time && time_ && !first && !untimed_clock_) untimed_clock_ = start;
    if (!rules_.converter_counts_time) {
        time_ = p.time;
        time_word_ = taken_ * ratio_;
    }
    const std::int64_t cut = rules_.converter_cuts ? p.samples : p.samples * ratio_;
    length_ = std::max(length_, cut);
    taken_ += p.samples;

    if (first && p.samples == 1 && p.end_of_burst && rules_.converter_loses_lone_end) {
        lone_sample_waits_ = true;
        open_ = false;
        return {};
    }
    std::vector<unit> units;
    const std::int64_t all = taken_ * ratio_;
    if (lone_sample_waits_ && first && all - sent_ - p.samples * ratio_ > length_) stuck_ = true;
    const bool end = p.end_of_burst && !lone_sample_waits_;
    while (!stuck_ && all - sent_ >= length_) {
        units.push_back(make_unit(length_, end && all - sent_ == length_));
        if (all == sent_) break;
    }
    if (end && all > sent_) units.push_back(make_unit(all - sent_, true));
    if (p.end_of_burst) {
        stuck_ = lone_sample_waits_;
        open_ = false;
        free_ = last_clock_.value_or(free_) + end_clocks;
    }
    discard_sent();
    return units;
}

// Makes a unit of the next words. It is passed on when its last word has been computed.
unit converter::make_unit(std::int64_t words, bool end) {
    if (untimed_clock_ && last_clock_ && *untimed_clock_ <= *last_clock_) time_.reset();
    last_clock_ = output_clock(sent_ + words - 1);
    unit u{.arrival = divide_rounding_up(*last_clock_, rules_.converter_clocks),
           .per_tick = rules_.word_samples,
           .sample_words = static_cast<int>(ratio_),
           .words = static_cast<int>(words),
           .end_of_burst = end,
           .pieces = pieces(sent_, words)};
    if (time_) u.time = *time_ + sent_ - time_word_;
    sent_ += words;
    return u;
}

tick converter::output_clock(std::int64_t word) const {
    const std::int64_t sample = word / ratio_;
    const segment* of = &segments_.front();
    for (const segment& s : segments_)
        if (s.sample <= sample) of = &s;
    return of->clock + (sample - of->sample) * ratio_ + word % ratio_ + pipeline_clocks;
}

std::vector<piece> converter::pieces(std::int64_t word, std::int64_t words) const {
    std::vector<piece> result;
    for (const origin& o : origins_) {
        const std::int64_t from = std::max(o.sample, divide_rounding_up(word, ratio_));
        const std::int64_t to =
            std::min(o.sample + o.samples, divide_rounding_up(word + words, ratio_));
        if (from < to)
            result.push_back({static_cast<int>(from * ratio_ - word), o.packet,
                              static_cast<int>(from - o.sample), static_cast<int>(to - from)});
    }
    return result;
}

void converter::discard_sent() {
    while (!origins_.empty() && (origins_[0].sample + origins_[0].samples) * ratio_ <= sent_)
        origins_.pop_front();
    while (segments_.size() > 1 && segments_[1].sample * ratio_ <= sent_) segments_.pop_front();
}

}  // namespace wip::vusrp::fpga
