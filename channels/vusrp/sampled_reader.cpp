// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/sampled_reader.h"

#include <algorithm>

#include "sample/floor_divide.h"

namespace wip::vusrp {
namespace {

using air::never;
constexpr std::size_t feed_size = 2048;  // ticks read at a time
// The most ticks by which a stream may begin before the first window.
constexpr tick most_before = 4096;
constexpr exact_rate medium_rate{7'680'000};

}  // namespace

sampled_reader::sampled_reader(node_port& port, const radio_model& model)
    : reader_(port.header(), port.block(), port.ring()),
      rate_(model.rate(side::receive)),
      to_medium_(medium_rate, model.master()),
      filter_(model, side::receive),
      wander_(model.wander(side::receive)),
      tracked_(model.tracked()),
      faults_(model.impairments(side::receive), {rate_.hz(), model.seed(), 0x5100}),
      inputs_(feed_size) {
    const sample_model::rate_map map(medium_rate, rate_);
    if (map.step() == 1) return;
    converter_.emplace(medium_rate, rate_);
    reach_ = converter_->before() + 1;
}

void sampled_reader::begin(tick master) {
    position_ = sample_model::floor_divide(master, rate_.divider);
    phase_ = master - position_ * rate_.divider;
    if (phase_ != 0 && !converter_) {
        converter_.emplace(medium_rate, rate_);
        reach_ = converter_->before() + 1;
    }
    converts_ = converter_ && (phase_ != 0 || converter_->map().step() != 1);
    input_ = position_;
    fresh_ = true;
    if (!converts_) return;
    converter_->map().shift(to_medium_.of(phase_));
    input_ = converter_->map().of(position_).whole - converter_->before();
    converter_->restart(input_);
}

// The state of the ring at the next input tick, or the gap or event before it.
air::receive_reader::state sampled_reader::ring() {
    for (;;) {
        const auto s = reader_.look();
        if (s.what == s.nothing) return s;
        if (s.what != s.samples) continue;
        if (s.position >= input_) return s;
        const tick n = std::min({input_ - s.position, s.available, s.end - s.position});
        if (n == 0) return {};
        reader_.skip(n);
    }
}

sampled_reader::state sampled_reader::look(tick wanted) {
    const auto s = ring();
    if (s.what == s.nothing) return {0, false};
    if (s.position > input_) {
        if (!fresh_ || s.position - input_ > most_before) return {0, true};
        // The stream began before the medium did.
        if (!converts_) {
            position_ += s.position - input_;
        } else {
            const std::vector<air::cf32> zeros(static_cast<std::size_t>(s.position - input_));
            converter_->feed(zeros);
        }
        input_ = s.position;
    }
    const auto samples_before = [&](tick end) {
        return converts_ ? converter_->map().at_or_after(end - converter_->after()) : end;
    };
    const tick there = std::max<tick>(0, samples_before(input_ + s.available) - position_);
    const bool gap = s.end != never && samples_before(s.end) - position_ < wanted;
    // Where one window ends and the next begins without a gap, nothing is lost.
    if (const tick rest = s.end - input_; gap && !s.cut && converts_ && s.available >= rest &&
                                          rest <= static_cast<tick>(inputs_.size())) {
        const std::span<air::cf32> part(inputs_.data(), static_cast<std::size_t>(rest));
        reader_.take(part);
        converter_->feed(part);
        input_ = s.end;
        return look(wanted);
    }
    return {std::min(there, wanted), gap && s.available >= s.end - s.position};
}

std::optional<tick> sampled_reader::first_after_gap() {
    // Skips the rest of the window, which is too short for the filter.
    for (;;) {
        const auto s = reader_.look();
        if (s.what == s.nothing) return std::nullopt;
        if (s.what != s.samples) continue;
        const bool over = s.end != never && last_input(position_) >= s.end;
        if (s.position <= input_ && over) {
            const tick n = std::min(s.available, s.end - s.position);
            if (n == 0) return std::nullopt;
            reader_.skip(n);
            continue;
        }
        if (converts_) {
            position_ = converter_->map().at_or_after(s.position + converter_->before());
            converter_->restart(s.position);
        } else {
            position_ = s.position;
        }
        input_ = s.position;
        return position_ * rate_.divider + phase_;
    }
}

void sampled_reader::drain(tick medium) {
    for (;;) {
        const auto s = reader_.look();
        if (s.what == s.nothing) return;
        if (s.what != s.samples) continue;
        const tick n = std::min({s.available, s.end - s.position, medium - s.position});
        if (n <= 0) return;
        reader_.skip(n);
    }
}

void sampled_reader::wait(tick medium, std::chrono::nanoseconds timeout) {
    const auto s = reader_.look();
    const bool reads = s.what == s.samples;
    reader_.wait(reads ? std::max<tick>(1, medium - s.position) : 1, timeout);
}

void sampled_reader::skip(tick samples) noexcept {
    const tick first = position_ + samples;
    position_ = first;
    if (!converts_) input_ = position_;
    while (converts_) {
        const tick needed = converter_->map().of(position_).whole - converter_->before();
        if (needed <= input_) return;
        const auto s = ring();
        if (s.what != s.samples || s.position > input_ || s.available == 0) return;
        const std::size_t n = std::min({inputs_.size(), static_cast<std::size_t>(s.available),
                                        static_cast<std::size_t>(needed - input_)});
        reader_.take({inputs_.data(), n});
        converter_->feed({inputs_.data(), n});
        input_ += static_cast<tick>(n);
    }
}

void sampled_reader::take(std::span<air::cf32> out) {
    const tick first = position_;
    fresh_ = false;
    if (!converts_) {
        ring();
        reader_.take(out);
        position_ += static_cast<tick>(out.size());
        input_ = position_;
    } else {
        for (std::size_t done = 0; done < out.size();) {
            // Computes as many outputs as the inputs of one piece allow.
            const tick needed_by_all = last_input(first + static_cast<tick>(out.size()) - 1) + 1;
            const tick input_end =
                std::min(needed_by_all, input_ + static_cast<tick>(inputs_.size()));
            if (input_end > input_) {
                const std::span<air::cf32> part(inputs_.data(),
                                                static_cast<std::size_t>(input_end - input_));
                reader_.take(part);
                converter_->feed(part);
                input_ = input_end;
            }
            const tick ready = converter_->map().at_or_after(input_ - converter_->after());
            const std::size_t n = std::min(
                out.size() - done, static_cast<std::size_t>(std::max<tick>(0, ready - position_)));
            converter_->work(position_, out.subspan(done, n));
            position_ += static_cast<tick>(n);
            done += n;
        }
    }
    if (wander_) wander_->work(first, out);
    filter_.work(first, out, out);
    if (tracked_) tracked_->work(first, out);
    if (!faults_.empty()) faults_.work(first, out, out);
}

}  // namespace wip::vusrp
