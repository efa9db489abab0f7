// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/sampled_writer.h"

#include <algorithm>
#include <cmath>

#include "sample/floor_divide.h"

namespace wip::vusrp {
namespace {

constexpr std::size_t piece_size = 1024;  // samples at a time
constexpr exact_rate medium_rate{7'680'000};

}  // namespace

sampled_writer::sampled_writer(node_port& port, const radio_model& model)
    : port_(port),
      writer_(port.header(), port.block(), port.fifo()),
      rate_(model.rate(side::transmit)),
      filter_(model, side::transmit),
      // 0x5200: from which the random sequences of the stages are derived (sample/stage_chain.h);
      // the receiver has 0x5100.
      faults_(model.impairments(side::transmit), {rate_.hz(), model.seed(), 0x5200}),
      wander_(model.wander(side::transmit)),
      ramp_(model.ramp_samples(), std::llround(model.chain_delay(side::transmit))),
      scratch_(piece_size) {
    const sample_model::rate_map map(rate_, medium_rate);
    if (map.step() != 1) converter_.emplace(rate_, medium_rate);
}

// Places the sample grid so that the burst begins at this tick, which need not be a multiple of the
// divider.
void sampled_writer::start_grid(tick master_tick) {
    position_ = sample_model::floor_divide(master_tick, rate_.divider);
    const tick phase = master_tick - position_ * rate_.divider;
    if (phase != 0 && !converter_) converter_.emplace(rate_, medium_rate);
    is_converting_ = converter_ && (phase != 0 || converter_->map().step() != 1);
    if (!is_converting_) return;
    const sample_model::rate_map part({1}, {rate_.divider});
    converter_->map().shift(part.of(-phase));
}

bool sampled_writer::open(tick master_tick, bool hold) {
    start_grid(master_tick);
    next_output_ = is_converting_ ? converter_->map().at_or_after(position_) : position_;
    if (!writer_.open(next_output_, air::never, hold)) return false;
    if (is_converting_) {
        converter_->restart(position_);
        pending_.clear();
        published_ = 0;
    }
    ramp_.begin();
    open_ = true;
    flushed_ = false;
    return true;
}

bool sampled_writer::publish_pending() {
    while (published_ < pending_.size()) {
        const std::span<air::cf32> room = writer_.claim(pending_.size() - published_);
        if (room.empty()) break;
        std::copy_n(pending_.begin() + static_cast<std::ptrdiff_t>(published_), room.size(),
                    room.begin());
        if (writer_.publish(room.size()) != air::transmit_writer::outcome::published) {
            open_ = false;
            return false;
        }
        published_ += room.size();
    }
    if (published_ == pending_.size()) pending_.clear(), published_ = 0;
    return true;
}

void sampled_writer::send_through(std::span<const air::cf32> in, std::span<air::cf32> out) {
    filter_.work(position_, in, out);
    if (!faults_.empty()) faults_.work(position_, out, out);
    ramp_.work(out);
    if (wander_) wander_->work(position_, out);
}

std::size_t sampled_writer::write(std::span<const air::cf32> in) {
    if (!is_converting_) {
        const std::span<air::cf32> room = writer_.claim(in.size());
        if (room.empty()) return 0;
        send_through(in.first(room.size()), room);
        open_ = writer_.publish(room.size()) == air::transmit_writer::outcome::published;
        position_ += static_cast<tick>(room.size());
        return room.size();
    }
    std::size_t done = 0;
    for (;;) {
        // The medium has refused the burst: what is left of it counts as taken, and is dropped.
        if (!publish_pending()) return in.size();
        if (!pending_.empty() || done == in.size()) return done;
        const std::size_t n = std::min(piece_size, in.size() - done);
        const std::span<air::cf32> part(scratch_.data(), n);
        send_through(in.subspan(done, n), part);
        converter_->feed(part);
        position_ += static_cast<tick>(n);
        done += n;
        // An output needs after() inputs beyond its own time.
        const tick ready = converter_->map().at_or_after(converter_->fed() - converter_->after());
        if (ready <= next_output_) continue;
        pending_.resize(static_cast<std::size_t>(ready - next_output_));
        converter_->work(next_output_, pending_);
        next_output_ = ready;
    }
}

bool sampled_writer::close() {
    if (!open_) return true;
    if (is_converting_ && !flushed_) {
        if (!publish_pending()) return true;  // refused by the medium, so there is nothing to flush
        if (!pending_.empty()) return false;
        const std::vector<air::cf32> zeros(static_cast<std::size_t>(converter_->after()));
        converter_->feed(zeros);
        const tick end = converter_->map().at_or_after(position_);
        if (end > next_output_) {
            pending_.resize(static_cast<std::size_t>(end - next_output_));
            converter_->work(next_output_, pending_);
        }
        flushed_ = true;
    }
    if (is_converting_) {
        if (!publish_pending()) return true;
        if (!pending_.empty()) return false;
    }
    abandon();
    return true;
}

void sampled_writer::abandon() noexcept {
    writer_.close();
    open_ = false;
}

}  // namespace wip::vusrp
