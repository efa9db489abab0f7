// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/sampled_reader.h"

#include <algorithm>
#include <utility>

namespace wip::vusrp {
namespace {

using air::never;
constexpr std::size_t feed_size = 2048;  // ticks at a time
constexpr exact_rate medium_rate{7'680'000};

}  // namespace

sampled_reader::sampled_reader(node_port& port, const radio_model& model, tick samples_per_packet)
    : port_(port),
      reader_(port.header(), port.block(), port.ring()),
      rate_(model.rate(side::receive)),
      filter_(model, side::receive),
      faults_(model.impairments(side::receive), {rate_.hz(), model.seed(), 0x5100}),
      packet_(samples_per_packet),
      latency_(model.latency()),
      spread_(model.spread()),
      random_(model.seed() + 1),
      inputs_(feed_size) {
    const sample_model::rate_map map(medium_rate, rate_);
    if (map.step() == 1) return;
    converter_.emplace(medium_rate, rate_);
    before_ = converter_->before();
    after_ = converter_->after();
}

tick sampled_reader::start_tick(tick sample, tick count) {
    if (!converter_) return sample;
    const tick at = converter_->map().of(sample).whole - before_;
    const std::lock_guard lock(mutex_);
    commands_.push_back({at, sample, count > 0 ? sample + count : never});
    if (commands_.size() > 64) commands_.pop_front();
    return at;
}

tick sampled_reader::count_ticks(tick sample, tick count) const {
    if (!converter_ || count == 0) return count;
    return last_input(sample + count - 1) + 1 - (converter_->map().of(sample).whole - before_);
}

// Which sample is the first is not known yet, only that it comes within a step.
tick sampled_reader::count_ticks_now(tick count) {
    if (!converter_) return count;
    const std::lock_guard lock(mutex_);
    count_now_ = count;
    return count_ticks(0, count) + converter_->map().of(1).whole + 1;
}

tick sampled_reader::stop_tick(tick sample) const {
    return converter_ ? last_input(sample - 1) + 1 : sample;
}

// A window of the medium has begun: with the sample that was commanded, or with the first that its
// ticks suffice for (after an overflow, or as soon as possible).
void sampled_reader::begin(const state& window) {
    window_ = window.start;
    input_ = window.position;
    converter_->restart(window.start);
    start_ = converter_->map().at_or_after(window.start + before_);
    end_ = never;
    const std::lock_guard lock(mutex_);
    while (!commands_.empty() && commands_.front().start_tick < window.start) commands_.pop_front();
    if (!commands_.empty() && commands_.front().start_tick == window.start) {
        start_ = commands_.front().sample;
        end_ = commands_.front().end;
    } else if (count_now_ > 0) {
        end_ = start_ + std::exchange(count_now_, 0);
    }
    position_ = start_;
    lag_packet_ = -1;
}

tick sampled_reader::lag_at(tick sample) {
    if (!delays()) return 0;
    const tick number = (sample - start_) / packet_;
    if (number == lag_packet_) return lag_;
    const tick drawn =
        latency_ + std::uniform_int_distribution<tick>(0, std::max<tick>(spread_, 0))(random_);
    // The next packet of a stream does not overtake.
    const double ticks_a_packet = static_cast<double>(packet_) * air::sample_rate / rate_.hz();
    const tick left = number == lag_packet_ + 1 ? lag_ - static_cast<tick>(ticks_a_packet) : 0;
    lag_packet_ = number;
    return lag_ = std::max(drawn, left);
}

sampled_reader::state sampled_reader::look() {
    for (;;) {
        state s = reader_.look();
        if (s.what == state::nothing) return s;
        if (!converter_) {
            if (s.what == state::samples) {
                if (window_ != s.start) window_ = start_ = s.start, lag_packet_ = -1;
                position_ = s.position;
                if (delays() && !(s.end != never && port_.now() >= s.end))
                    s.available = std::clamp<tick>(port_.now() - lag_at(position_) - s.position, 0,
                                                   s.available);
            }
            return s;
        }
        if (s.what != state::samples) {
            const tick at =
                window_ == s.start ? position_ : converter_->map().at_or_after(s.start + before_);
            window_ = never;
            s.position = at;
            s.available = 0;
            return s;
        }
        if (window_ != s.start) begin(s);
        const tick end =
            s.end == never ? end_ : std::min(end_, converter_->map().at_or_after(s.end - after_));
        if (position_ >= end && s.end != never) {
            // The ticks that only the filter would have wanted.
            if (s.available < s.end - s.position) return {};
            for (tick left = s.end - s.position; left > 0;) {
                const std::size_t n = std::min(inputs_.size(), static_cast<std::size_t>(left));
                reader_.take({inputs_.data(), n});
                left -= static_cast<tick>(n);
            }
            continue;
        }
        tick until = s.position + s.available;
        if (delays() && !(s.end != never && port_.now() >= s.end))
            until = std::min(until, port_.now() - lag_at(position_));
        state own{state::samples, position_, 0, start_, end, s.cut};
        const tick ready = std::min(end, converter_->map().at_or_after(until - after_));
        own.available = std::max<tick>(0, ready - position_);
        return own;
    }
}

bool sampled_reader::wait(tick n, std::chrono::nanoseconds timeout) {
    const state s = look();
    if (s.what == state::nothing && window_ == never) return reader_.wait(1, timeout);
    if (s.what != state::samples && s.what != state::nothing) return true;
    // Of a window that is only left to be read over: up to its end.
    tick ticks = s.what == state::samples ? n : static_cast<tick>(air::receive_ring_size);
    tick lag = 0;
    if (s.what == state::samples) {
        lag = lag_at(position_);
        if (converter_) ticks = last_input(position_ + n - 1) + 1 - input_;
    }
    if (port_.lockstep()) return reader_.wait(ticks + lag, timeout);
    if (!reader_.wait(ticks, timeout)) return false;
    if (lag > 0) {
        const tick at = (converter_ ? input_ : position_) + ticks + lag;
        port_.wait_until(at, std::chrono::duration<double>(timeout).count());
    }
    return true;
}

void sampled_reader::take(std::span<air::cf32> out) {
    const tick first = position_;
    if (!converter_) {
        reader_.take(out);
        position_ += static_cast<tick>(out.size());
    } else {
        for (std::size_t done = 0; done < out.size();) {
            // As many as the inputs of one piece suffice for.
            const tick needed_by_all = last_input(first + static_cast<tick>(out.size()) - 1) + 1;
            const tick upto = std::min(needed_by_all, input_ + static_cast<tick>(inputs_.size()));
            if (upto > input_) {
                const std::span<air::cf32> part(inputs_.data(),
                                                static_cast<std::size_t>(upto - input_));
                reader_.take(part);
                converter_->feed(part);
                input_ = upto;
            }
            const tick ready = converter_->map().at_or_after(input_ - after_);
            const std::size_t n = std::min(
                out.size() - done, static_cast<std::size_t>(std::max<tick>(0, ready - position_)));
            converter_->work(position_, out.subspan(done, n));
            position_ += static_cast<tick>(n);
            done += n;
        }
    }
    filter_.work(first, out, out);
    if (!faults_.empty()) faults_.work(first, out, out);
}

}  // namespace wip::vusrp
