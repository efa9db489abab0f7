// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/sampled_writer.h"

#include <algorithm>

namespace wip::vusrp {
namespace {

using air::as_soon_as_possible;
constexpr std::size_t piece = 1024;  // samples at a time
constexpr exact_rate medium_rate{7'680'000};

}  // namespace

sampled_writer::sampled_writer(node_port& port, const radio_model& model)
    : port_(port),
      writer_(port.header(), port.block(), port.fifo()),
      rate_(model.rate(side::transmit)),
      filter_(model, side::transmit),
      faults_(model.impairments(side::transmit), {rate_.hz(), model.seed(), 0x5200}),
      latency_(model.latency()),
      spread_(model.spread()),
      random_(model.seed() + 2),
      scratch_(piece) {
    const sample_model::rate_map map(rate_, medium_rate);
    if (map.step() != 1) converter_.emplace(rate_, medium_rate);
}

tick sampled_writer::end_time() const noexcept { return timed_ ? position_ : as_soon_as_possible; }

bool sampled_writer::open(tick sample, bool hold) {
    const tick now = port_.now();
    const tick late = latency_ + std::uniform_int_distribution<tick>(0, spread_)(random_);
    timed_ = sample != as_soon_as_possible;
    if (!converter_) {
        if (!writer_.open(sample, now + late, hold)) return false;
        position_ = timed_ ? sample : now;
    } else {
        // Without a time the phase is that of now.
        const sample_model::rate_map own(medium_rate, rate_);
        const tick first = timed_ ? sample : own.at_or_after(now);
        const tick tick_of_first = converter_->map().at_or_after(first);
        if (!writer_.open(timed_ ? tick_of_first : as_soon_as_possible, now + late, hold))
            return false;
        position_ = first;
        output_ = tick_of_first;
        converter_->restart(first);
        pending_.clear();
        published_ = 0;
    }
    open_ = true;
    flushed_ = false;
    return true;
}

sampled_writer::outcome sampled_writer::publish_pending() {
    while (published_ < pending_.size()) {
        const std::span<air::cf32> room = writer_.claim(pending_.size() - published_);
        if (room.empty()) break;
        std::copy_n(pending_.begin() + static_cast<std::ptrdiff_t>(published_), room.size(),
                    room.begin());
        const outcome o = writer_.publish(room.size());
        if (o != outcome::published) {
            open_ = false;
            return o;
        }
        published_ += room.size();
    }
    if (published_ == pending_.size()) pending_.clear(), published_ = 0;
    return outcome::published;
}

sampled_writer::taken sampled_writer::write(std::span<const air::cf32> in) {
    if (!converter_) {
        const std::span<air::cf32> room = writer_.claim(in.size());
        if (room.empty()) return {outcome::published, 0};
        filter_.work(position_, in.first(room.size()), room);
        if (!faults_.empty()) faults_.work(position_, room, room);
        const outcome o = writer_.publish(room.size());
        if (o != outcome::published) {
            open_ = false;
            return {o, 0};
        }
        position_ += static_cast<tick>(room.size());
        return {o, room.size()};
    }
    std::size_t done = 0;
    for (;;) {
        if (const outcome o = publish_pending(); o != outcome::published) return {o, done};
        if (!pending_.empty() || done == in.size()) return {outcome::published, done};
        const std::size_t n = std::min(piece, in.size() - done);
        const std::span<air::cf32> part(scratch_.data(), n);
        filter_.work(position_, in.subspan(done, n), part);
        faults_.work(position_, part, part);
        converter_->feed(part);
        position_ += static_cast<tick>(n);
        done += n;
        const tick ready = converter_->map().at_or_after(converter_->fed() - converter_->after());
        if (ready <= output_) continue;
        pending_.resize(static_cast<std::size_t>(ready - output_));
        converter_->work(output_, pending_);
        output_ = ready;
    }
}

bool sampled_writer::close() {
    if (!open_) return true;
    if (converter_ && !flushed_) {
        if (publish_pending() != outcome::published) return true;
        if (!pending_.empty()) return false;
        const std::vector<air::cf32> zeros(static_cast<std::size_t>(converter_->after()));
        converter_->feed(zeros);
        const tick end = converter_->map().at_or_after(position_);
        if (end > output_) {
            pending_.resize(static_cast<std::size_t>(end - output_));
            converter_->work(output_, pending_);
        }
        flushed_ = true;
    }
    if (converter_) {
        if (publish_pending() != outcome::published) return true;
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
