// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/receive_core.h"

#include <algorithm>
#include <uhd/utils/log.hpp>
#include <utility>

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
using fpga::command_kind;
using fpga::receive_event_kind;

constexpr exact_rate medium_rate{7'680'000};
// Lockstep, ticks of the master clock: at least what a command takes through the logic.
constexpr tick before_time = 64;
constexpr tick soon = 2 * 5120;  // ticks of the medium: a start this close may have passed before a
                                 // command reaches the medium
// Ticks of the master clock after which the logic knows whether a command is late.
constexpr tick decision_ticks = 8;
constexpr auto look_again = 20ms;
constexpr std::int64_t updates_per_second = 1000;

fpga::receive_setting setting_of(const radio_model& model, std::int64_t samples_per_packet) {
    return {.ticks_per_sample = model.rate(side::receive).divider,
            .report_ticks = 0,
            .samples_per_packet = static_cast<int>(samples_per_packet),
            .store_samples = static_cast<int>(model.receive_store()),
            .begin = -4 * before_time};
}

// Ticks from the time of a start command to its first sample in the logic, which has no filters.
// They are subtracted, since a device begins with the sample of that time.
tick strobe_of(const radio_model& model) {
    const fpga::receive_rules& rules = model.control().receive;
    return model.rate(side::receive).divider - 1 + rules.start_ticks - rules.check_ticks;
}

}  // namespace

receive_core::receive_core(std::shared_ptr<node_port> port, const radio_model& model,
                           std::int64_t samples_per_packet)
    : port_(std::move(port)),
      lockstep_(port_->lockstep()),
      ideal_(model.ideal_control()),
      master_(model.master()),
      rate_(model.rate(side::receive)),
      to_medium_(medium_rate, master_),
      latency_(model.latency()),
      spread_(model.spread()),
      strobe_(strobe_of(model)),
      frames_(model.receive_frames()),
      random_(model.seed() + 1),
      control_(model.control().receive, setting_of(model, samples_per_packet)),
      reader_(*port_, model),
      written_(control_.now()) {
    // The medium's ring has to hold everything that is stored in device and host.
    const double most = static_cast<double>(air::receive_ring_size) * 3 / 4 * rate_.hz() /
                        static_cast<double>(air::sample_rate);
    frames_ = std::min(frames_, static_cast<std::int64_t>(most) - model.receive_store());
    frames_ = std::max(frames_, samples_per_packet);
}

receive_core::~receive_core() {
    try {
        port_->command(air::command_kind::receive_stop, air::as_soon_as_possible, 0);
    } catch (const std::exception&) {  // the medium is gone: nothing to stop
    }
}

tick receive_core::random_latency() {
    return latency_ + std::uniform_int_distribution<tick>(0, std::max<tick>(spread_, 0))(random_);
}

// Advances the logic up to now. From the time at which the host's frames are full, the sink refuses
// samples.
void receive_core::update() {
    const tick now = master_at(port_->now());
    if (control_.is_idle()) {
        const tick idle = lockstep_ ? now - before_time : now;
        if (idle > control_.now()) control_.advance(idle);
        add_outcome(control_.take());
        close_window();
        return;
    }
    // The logic advances in short steps, since the room in the host's frames is known only at the
    // beginning of a step.
    const tick update_ticks = std::max<tick>(master_.clock / updates_per_second, 1);
    while (control_.now() < now) {
        const tick from = control_.now(), to = std::min(now, from + update_ticks);
        if (!lockstep_ && control_.is_running()) {
            const std::int64_t stored = control_.stored();
            const std::int64_t room = frames_ - (waiting_ + control_.unfinished() - stored);
            const tick full = room <= 0        ? from
                              : stored >= room ? from + room
                                               : from + (room - stored) * rate_.divider;
            if (full < to) control_.refuse({full, to});
        }
        control_.advance(to);
        add_outcome(control_.take());
    }
    close_window();
}

void receive_core::add_outcome(const fpga::receive_outcome& o) {
    for (const fpga::received_packet& p : o.packets) {
        const tick time = p.time - strobe_;
        const tick end = time + p.samples * rate_.divider;
        const tick there = reader_.last_tick(end - rate_.divider) + 1;
        last_ready_ = std::max(last_ready_, there + random_latency());
        const bool begins = ended_ || time != last_end_;
        last_end_ = end;
        ended_ = p.end_of_burst;
        packets_.push_back({time, p.samples, p.end_of_burst, begins, last_ready_});
        waiting_ += p.samples;
        ++received_packets_;
    }
    if (!packets_.empty()) drop_until(dropped_until_);
    for (const fpga::receive_event& e : o.events) {
        events_.push_back({e, received_packets_});
        if (e.kind == receive_event_kind::late) UHD_LOG_FASTPATH("L")
        if (e.kind != receive_event_kind::overflow) continue;
        UHD_LOG_FASTPATH("O")
        port_->block().judged_full.fetch_add(1, std::memory_order_relaxed);
    }
}

void receive_core::open_window(std::optional<tick> time, std::int64_t samples) {
    const tick now = port_->now();
    const tick first = time ? std::max<tick>(reader_.first_tick(*time), 0) : now;
    const bool at_once = !time || first <= now || (!lockstep_ && first < now + soon);
    tick count = 0;
    if (samples > 0 && !at_once)
        count = reader_.last_tick(*time + (samples - 1) * rate_.divider) + 1 - first;
    port_->command(air::command_kind::receive_start, at_once ? air::as_soon_as_possible : first, 0,
                   count);
    window_open_ = true;
}

void receive_core::close_window() {
    if (!window_open_ || !control_.is_idle() || restarting_) return;
    window_open_ = false;
    port_->command(air::command_kind::receive_stop, reader_.last_tick(last_end_) + 2, 0);
}

void receive_core::command(command_kind kind, std::optional<tick> time, std::int64_t samples,
                           tick after) {
    const std::lock_guard lock(mutex_);
    update();
    const bool starts = kind != command_kind::stop;
    if (starts) keep();
    bool window = false;
    if (starts && !time && lockstep_ && !window_open_) {
        // The medium's time advances until it has taken the command, so this waits for that.
        open_window(time, samples);
        window = true;
        const auto& commands = port_->block().commands;
        const auto known = [&] { return commands.taken.load() == commands.written.load(); };
        while (!known()) {
            port_->check();
            port_->block().room.wait(known, 100ms);
        }
    }
    const tick now = port_->now();
    tick written = master_at(now + (lockstep_ ? 0 : random_latency())) + after;
    if (lockstep_ && time && *time >= master_at(now))
        written = std::min(written, *time - before_time);
    written_ = std::max({written_, written, control_.now()});
    const bool was_idle = control_.is_idle();
    control_.command({.written = written_, .kind = kind, .time = time, .samples = samples});
    const std::size_t events = events_.size();
    if (!starts || (was_idle && time)) {
        control_.advance(written_ + decision_ticks);
        add_outcome(control_.take());
    }
    const bool is_late = events_.size() > events;
    if (starts && !is_late && !window && !window_open_) open_window(time, samples);
    restarting_ = false;
    close_window();
    port_->block().samples.wake();  // wakes a thread that waits for a stream
}

void receive_core::restart(std::optional<tick> time, tick after) {
    {
        const std::lock_guard lock(mutex_);
        restarting_ = true;  // the medium goes on
    }
    if (time) command(command_kind::stop, {}, 0);
    {
        const std::lock_guard lock(mutex_);
        packets_.clear();
        kept_.clear();
        kept_from_ = 0;
        events_.clear();
        waiting_ = 0;
        dropped_until_ = time.value_or(control_.now());
    }
    command(command_kind::start, time, 0, after);
}

receive_core::state receive_core::look() {
    const std::lock_guard lock(mutex_);
    update();
    if (lost_) return {.what = state::lost, .position = *lost_};
    if (after_gap_) {
        const auto next = reader_.first_after_gap();
        if (!next) return {};
        after_gap_ = false;
        drop_until(*next);
    }
    if (packets_.empty()) drain();
    if (!events_.empty() &&
        events_.front().after_packets <= received_packets_ - std::ssize(packets_)) {
        const fpga::receive_event& e = events_.front().what;
        state s{.position = e.time};
        s.what = e.kind == receive_event_kind::late       ? state::late
                 : e.kind == receive_event_kind::overflow ? state::overflow
                                                          : state::broken_chain;
        if (s.what == state::overflow) s.first_lost = last_end_;
        return s;
    }
    if (packets_.empty()) return {};
    packet& p = packets_.front();
    begin(p);
    const tick now = port_->now();
    const bool over = control_.is_idle();
    tick wanted = 0;
    for (std::size_t i = 0; i < packets_.size(); ++i) {
        const packet& q = packets_[i];
        if (!over && q.ready > now) break;
        if (i > 0 && (q.begins || packets_[i - 1].ends)) break;
        wanted += q.samples;
    }
    if (wanted == 0) return {};
    const sampled_reader::state there =
        kept() > 0 ? sampled_reader::state{std::min(wanted, kept()), false} : reader_.look(wanted);
    if (there.gap && there.there == 0) {
        lost_ = p.time;
        return {.what = state::lost, .position = p.time};
    }
    state s{.what = state::samples,
            .position = p.time,
            .left = p.samples,
            .starts = p.begins && p.taken == 0,
            .taken = p.taken};
    // Whole packets only, except for the part of one before a gap.
    for (const packet& q : packets_) {
        const tick n = std::min<tick>(q.samples, there.there - s.available);
        if (n < q.samples && !there.gap) break;
        s.available += n;
        s.ends = q.ends && n == q.samples;
        if (s.available >= wanted || n < q.samples) break;
    }
    if (s.available == 0) return {};
    s.left = std::min(s.left, s.available);
    return s;
}

void receive_core::take_event() {
    const std::lock_guard lock(mutex_);
    if (!lost_) {
        events_.pop_front();
        return;
    }
    lost_.reset();
    after_gap_ = true;
}

// Discards samples from the ring that no packet can need any more.
void receive_core::drain() {
    const tick wanted = control_.is_running()
                            ? reader_.first_tick(control_.packet_start() - strobe_)
                            : to_medium_.of(control_.now()).whole - sampled_reader::longest_reach;
    reader_.drain(wanted);
}

void receive_core::begin(packet& p) {
    if (!p.begins || p.begun) return;
    reader_.begin(p.time);
    p.begun = true;
}

void receive_core::keep_rest() {
    const std::lock_guard lock(mutex_);
    update();
    keep();
}

void receive_core::keep() {
    if (control_.is_running()) return;
    tick in_front = kept();
    for (packet& p : packets_) {
        if (in_front > 0) {
            in_front -= p.samples;
            continue;
        }
        begin(p);
        if (reader_.look(p.samples).there < p.samples) return;
        kept_.erase(kept_.begin(), kept_.begin() + std::exchange(kept_from_, 0));
        kept_.resize(kept_.size() + static_cast<std::size_t>(p.samples));
        reader_.take(std::span(kept_).last(static_cast<std::size_t>(p.samples)));
    }
    if (!packets_.empty()) drain();
}

void receive_core::shorten(packet& p, std::int64_t gone) {
    waiting_ -= gone;
    p.time += gone * rate_.divider;
    p.samples -= gone;
    p.taken += gone;
}

// Removes the samples before `next`, which were lost in a gap of the medium, from packets that were
// received.
void receive_core::drop_until(tick next) {
    dropped_until_ = next;
    while (!packets_.empty()) {
        packet& p = packets_.front();
        const tick gone =
            std::min<tick>(p.samples, (next - p.time + rate_.divider - 1) / rate_.divider);
        if (gone <= 0) break;
        shorten(p, gone);
        p.begun = true;
        p.begins = false;
        if (p.samples > 0) break;
        packets_.pop_front();
    }
}

void receive_core::skip_to(tick position) {
    const std::lock_guard lock(mutex_);
    tick end = position;  // end of the last packet that is skipped whole
    while (!packets_.empty()) {
        packet& p = packets_.front();
        const tick gone =
            std::min<tick>(p.samples, (position - p.time + rate_.divider - 1) / rate_.divider);
        if (gone <= 0) return;
        dropped_until_ = position;
        if (kept() > 0) {
            kept_from_ += gone;
        } else {
            begin(p);
            reader_.skip(gone);
        }
        shorten(p, gone);
        if (p.samples > 0) return;
        end = p.time;
        packets_.pop_front();
    }
    // The next samples of this run have not been received yet and begin before `position`.
    if (end < position) reader_.skip((position - end + rate_.divider - 1) / rate_.divider);
}

void receive_core::wait(std::chrono::nanoseconds timeout) {
    tick ready = 0;  // tick of the medium
    bool time_known = true;
    {
        const std::lock_guard lock(mutex_);
        if (!packets_.empty()) {
            const packet& p = packets_.front();
            ready = control_.is_idle()
                        ? reader_.last_tick(p.time + (p.samples - 1) * rate_.divider) + 1
                        : p.ready;
        } else if (control_.is_running()) {
            ready = reader_.last_tick(control_.packet_end()) + 1 + latency_;
        } else {
            time_known = false;
        }
    }
    const auto most = std::min<std::chrono::nanoseconds>(timeout, look_again);
    if (!time_known)
        return reader_.wait(port_->now() + 1, std::min<std::chrono::nanoseconds>(most, 1ms));
    reader_.wait(ready, most);
    if (!lockstep_) port_->wait_until(ready, std::chrono::duration<double>(most).count());
}

void receive_core::take(std::span<air::cf32> out) {
    const std::lock_guard lock(mutex_);
    const tick from_kept = std::min<tick>(std::ssize(out), kept());
    std::copy_n(kept_.begin() + kept_from_, from_kept, out.begin());
    kept_from_ += from_kept;
    if (from_kept < std::ssize(out)) reader_.take(out.subspan(std::size_t(from_kept)));
    for (tick left = std::ssize(out); left > 0;) {
        packet& p = packets_.front();
        const tick n = std::min<tick>(left, p.samples);
        left -= n;
        shorten(p, n);
        if (p.samples == 0) packets_.pop_front();
    }
}

}  // namespace wip::vusrp
