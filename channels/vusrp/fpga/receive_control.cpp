// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/fpga/receive_control.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace wip::vusrp::fpga {
namespace {

constexpr tick never = std::numeric_limits<tick>::max();
constexpr tick stop_ticks = 1;       // ticks until a stop that is not queued acts
constexpr tick report_overhead = 3;  // ticks in addition to the host's acknowledgement
constexpr tick report_words = 2;     // ticks until a report is on its way
constexpr tick word_latency = 2;     // ticks of the store

void shift_in(std::int64_t now, std::array<std::int64_t, 4>& before) {
    std::copy_backward(before.begin(), before.end() - 1, before.end());
    before[0] = now;
}

}  // namespace

receive_control::receive_control(const receive_rules& rules, const receive_setting& setting)
    : rules_(rules), setting_(setting), now_(setting.begin), free_(setting.begin) {}

receive_outcome receive_control::take() { return std::exchange(outcome_, {}); }

void receive_control::advance(tick end) {
    while (now_ < end) {
        const tick t = now_;
        step(t);
        const bool word_ended =
            state_ == state::running && next_sample_ == t + setting_.ticks_per_sample && word_ == 0;
        if (word_ended && setting_.counts_runs) skip_words(end);
        now_ = is_busy() ? now_ + 1 : std::min(std::max(next_event(), now_ + 1), end);
    }
}

receive_control::counters receive_control::count() const {
    std::array<std::int64_t, 4> lead_in, lead_out;
    for (std::size_t i = 0; i < lead_in.size(); ++i) {
        lead_in[i] = in_ - in_before_[i];
        lead_out[i] = out_ - out_before_[i];
    }
    return {.at = now_,
            .in = in_,
            .out = out_,
            .output_in = output_in_,
            .sunk = sunk_,
            .lead_in = lead_in,
            .lead_out = lead_out,
            .refusals_over = refusals_over_,
            .refused = is_refused(now_),
            .cuts = cuts_.size(),
            .ends = output_ends_.size(),
            .reports = reports_.size(),
            .framing = framing_,
            .header_left = header_left_,
            .delivered = delivered_};
}

std::int64_t receive_control::words_to_skip(const counters& a, const counters& b, tick end) const {
    const tick word = setting_.ticks_per_sample * rules_.word_samples;
    const bool same = a.at >= 0 && b.at - a.at == word && a.lead_in == b.lead_in &&
                      a.lead_out == b.lead_out && a.refused == b.refused &&
                      a.refusals_over == b.refusals_over && a.cuts == b.cuts && a.ends == b.ends &&
                      a.reports == b.reports && a.framing == b.framing && b.header_left == 0 &&
                      a.header_left == 0 && a.delivered == b.delivered;
    if (!same || stopping_ || is_broken_ || packet_.samples == 0) return 0;
    const bool continuous = current_->kind == command_kind::start;
    if (continuous && !queue_.empty()) return 0;
    std::int64_t k = std::numeric_limits<std::int64_t>::max();
    // The last two words before a limit are computed tick by tick.
    const auto limit = [&k](std::int64_t left, std::int64_t a_word) {
        if (a_word > 0) k = std::min(k, left / a_word - 2);
    };
    limit(end - b.at, word);
    for (const refusal& r : refusals_) {
        if (r.from > b.at) limit(r.from - b.at, word);
        if (r.to > b.at) limit(r.to - b.at, word);
    }
    for (const receive_command& c : written_) limit(arrival(c) - b.at, word);
    limit(setting_.samples_per_packet - packet_.samples, rules_.word_samples);
    if (!continuous) limit(current_->samples, rules_.word_samples);
    const std::int64_t in = b.in - a.in, out = b.out - a.out;
    const std::int64_t made = b.output_in - a.output_in, sunk = b.sunk - a.sunk;
    limit(capacity() - rules_.reserve - (b.in - b.out) - word_latency, in - out);
    limit(b.in - b.out - word_latency, out - in);
    limit(rules_.output_words - (b.output_in - b.sunk), made - sunk);
    limit(b.output_in - b.sunk, sunk - made);
    if (!cuts_.empty()) limit(cuts_.front() - b.out, out);
    if (!output_ends_.empty()) limit(output_ends_.front() - b.sunk, sunk);
    return std::max<std::int64_t>(k, 0);
}

void receive_control::skip_words(tick end) {
    const counters now = count();
    const std::int64_t k = words_to_skip(last_word_counters_, now, end);
    const counters before = std::exchange(last_word_counters_, now);
    if (k == 0) return;
    const auto by = [k](std::int64_t a, std::int64_t b) { return k * (b - a); };
    const std::int64_t in = by(before.in, now.in), out = by(before.out, now.out);
    in_ += in;
    out_ += out;
    for (std::int64_t& n : in_before_) n += in;
    for (std::int64_t& n : out_before_) n += out;
    output_in_ += by(before.output_in, now.output_in);
    sunk_ += by(before.sunk, now.sunk);
    const std::int64_t samples = k * rules_.word_samples;
    packet_.samples += static_cast<int>(samples);
    current_->samples -= samples;
    now_ += samples * setting_.ticks_per_sample;
    next_sample_ += samples * setting_.ticks_per_sample;
    last_word_counters_ = {};
}

void receive_control::step(tick t) {
    shift_in(in_, in_before_);
    shift_in(out_, out_before_);
    if (rules_.output_words > 0)
        run_framer(t);
    else if (in_before_[word_latency - 1] > out_ && !is_refused(t))
        ++out_;
    for (; !refusals_.empty() && refusals_.front().to <= t; ++refusals_over_) refusals_.pop_front();
    arrive(t);
    if (state_ == state::idle && t >= free_) examine_head(t);
    if (state_ == state::running && t == next_sample_) sample(t);
}

// Whether something changes in every tick.
bool receive_control::is_busy() const {
    const bool moving = in_before_.back() != out_before_.back() || in_ != out_;
    return state_ == state::running || moving || !cuts_.empty() || output_in_ != sunk_ ||
           !reports_.empty();
}

tick receive_control::next_event() const {
    tick next = never;
    for (const receive_command& c : written_) next = std::min(next, arrival(c));
    if (queue_.empty() && !stopping_) return next;
    const auto& time = queue_.empty() ? std::nullopt : queue_.front().time;
    return std::min(next, std::max(free_, time ? *time - rules_.check_ticks : free_));
}

bool receive_control::acts_at_once(const receive_command& c) const {
    return c.kind == command_kind::stop && !rules_.stop_is_queued;
}

tick receive_control::arrival(const receive_command& c) const {
    return c.written + (acts_at_once(c) ? stop_ticks : rules_.command_ticks);
}

void receive_control::arrive(tick t) {
    const auto is_there = [&](const receive_command& c) { return arrival(c) <= t; };
    for (;;) {
        const auto at = std::find_if(written_.begin(), written_.end(), is_there);
        if (at == written_.end()) return;
        const receive_command c = *at;
        if (acts_at_once(c)) {  // the commands that were written before it are removed as well
            written_.erase(written_.begin(), at + 1);
            stop(t);
        } else {
            written_.erase(at);
            queue_.push_back(c);
        }
    }
}

// A stop that is not queued: it acts with the sample of this tick, if the receiver runs.
void receive_control::stop(tick t) {
    queue_.clear();
    if (state_ == state::running)
        stopping_ = true;
    else
        free_ = std::max(free_, t + rules_.turnaround_ticks);
}

// Decides about the command at the head of the queue while the receiver is idle.
void receive_control::examine_head(tick t) {
    if (queue_.empty()) return;
    const receive_command c = queue_.front();
    if (c.kind == command_kind::stop) {
        queue_.pop_front();
        free_ = t + 1;
        return;
    }
    if (c.time && t < *c.time - rules_.check_ticks) return;
    queue_.pop_front();
    if (c.time && t > *c.time - rules_.check_ticks && rules_.refuses_late) {
        const tick found = std::max(t, *c.time - rules_.late_ticks) + rules_.start_ticks - 1;
        return report(receive_event_kind::late, found);
    }
    start(c, t);
}

void receive_control::start(const receive_command& c, tick t) {
    current_ = c;
    state_ = state::running;
    next_sample_ = t + rules_.start_ticks + setting_.ticks_per_sample - 1;
    if (!rules_.starts_on_any_tick) {
        const tick off = (next_sample_ - grid_) % setting_.ticks_per_sample;
        if (off != 0) next_sample_ += setting_.ticks_per_sample - off;
    }
    grid_ = next_sample_;
}

void receive_control::sample(tick t) {
    const bool is_full = is_store_full();
    if (packet_.samples == 0) packet_.time = t;
    ++packet_.samples;
    --current_->samples;
    next_sample_ = t + setting_.ticks_per_sample;
    const bool ends = command_ends();
    const bool longest = packet_.samples == setting_.samples_per_packet &&
                         (setting_.samples_per_packet > 1 || rules_.word_samples == 1);
    const bool end_flag = is_full ? rules_.overflow_ends_burst || ends : ends;
    store(is_full || ends || longest);
    if (is_full || ends || longest) end_packet(end_flag);
    if (is_full) {
        const receive_command cut = *current_;
        report(receive_event_kind::overflow, t);
        const bool more = cut.kind != command_kind::start && cut.samples > 0;
        if (!rules_.overflow_stops || (more && !rules_.overflow_ends_command)) {
            queue_.push_front(cut);
            queue_.front().time.reset();
        }
    } else if (ends) {
        if (std::exchange(is_broken_, false))
            report(receive_event_kind::broken_chain, t);
        else
            become_idle(t + rules_.turnaround_ticks);
    }
}

// Whether the current command ends with this sample. If the next command takes over without a gap,
// it becomes the current one.
bool receive_control::command_ends() {
    const bool chained = current_->kind == command_kind::chained && rules_.chains;
    const bool continuous = current_->kind == command_kind::start;
    if (stopping_) return true;
    if (!continuous && current_->samples > 0) return false;
    if (!continuous && !chained) return true;
    is_broken_ = chained && queue_.empty();
    if (queue_.empty()) return chained;
    const receive_command next = queue_.front();
    const bool is_stop = next.kind == command_kind::stop;
    if (!is_stop && continuous && !rules_.start_takes_over) return false;
    queue_.pop_front();
    if (!is_stop) current_ = next;
    return is_stop;
}

void receive_control::become_idle(tick free) {
    state_ = state::idle;
    stopping_ = false;
    current_.reset();
    free_ = free;
}

void receive_control::report(receive_event_kind kind, tick found) {
    const tick way = rules_.waits_for_acknowledgement ? setting_.report_ticks + report_overhead : 0;
    const tick time = found + rules_.event_ticks;
    become_idle(time + report_words + way);
    if (rules_.reports_in_stream)
        reports_.push_back({kind, time, 0});
    else
        outcome_.events.push_back({kind, time, -1});
}

// Whether there is no room for another packet's header.
bool receive_control::is_header_store_full() const {
    return rules_.header_store > 0 && static_cast<int>(cuts_.size()) >= rules_.header_store;
}

bool receive_control::is_store_full() const {
    if (is_header_store_full()) return true;
    const std::size_t in_age = rules_.output_words > 0 ? 0 : word_latency;
    const std::size_t out_age = rules_.output_words > 0 ? 0 : word_latency - 1;
    return in_before_[in_age] - out_before_[out_age] >= capacity() - rules_.reserve;
}

// Samples go into the store by words: when a word is complete, or at the end of a packet.
void receive_control::store(bool last) {
    ++word_;
    if (word_ < rules_.word_samples && !last) return;
    if (in_ - out_ < capacity() && !is_header_store_full())
        ++in_;
    else
        packet_.samples -= word_;
    word_ = 0;
}

void receive_control::end_packet(bool end_of_burst) {
    packet_.end_of_burst = end_of_burst;
    if (packet_.samples > 0) {
        outcome_.packets.push_back(packet_);
        if (rules_.output_words > 0) cuts_.push_back(in_);
    }
    packet_ = {};
}

// One tick of a B200's framer: it moves whole packets, each with a header, from the store into a
// second one, which the sink empties. Reports are sent when all packets before them are.
void receive_control::run_framer(tick t) {
    if (output_in_ > sunk_ && !is_refused(t)) {
        ++sunk_;
        if (!output_ends_.empty() && output_ends_.front() == sunk_) {
            output_ends_.pop_front();
            ++delivered_;
        }
    }
    if (cuts_.empty()) {
        if (output_in_ == sunk_ && !is_refused(t) && !reports_.empty()) {
            reports_.front().after_packets = delivered_;
            outcome_.events.push_back(reports_.front());
            reports_.pop_front();
        }
        return;
    }
    if (output_in_ - sunk_ >= rules_.output_words) return;
    if (!framing_) {
        framing_ = true;
        header_left_ = rules_.header_words;
    } else if (header_left_ > 0) {
        --header_left_;
        ++output_in_;
    } else {
        ++out_;
        ++output_in_;
        if (out_ < cuts_.front()) return;
        cuts_.pop_front();
        output_ends_.push_back(output_in_);
        framing_ = false;
    }
}

bool receive_control::is_refused(tick t) const {
    return std::any_of(refusals_.begin(), refusals_.end(),
                       [t](const refusal& r) { return r.from <= t && t < r.to; });
}

}  // namespace wip::vusrp::fpga
