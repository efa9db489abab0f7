// SPDX-License-Identifier: GPL-3.0-or-later
// See include/gnuradio/wip/slot_transmitter.h. One call of work makes one slot, so that the sink
// has it at once and the next one is decided as late as possible.
#include <gnuradio/io_signature.h>
#include <gnuradio/thread/thread.h>
#include <gnuradio/wip/slot_transmitter.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "block_link.h"
#include "buffer_memory.h"
#include "checked_parameter.h"
#include "fader/known_burst.h"
#include "iq/radio_clock.h"
#include "phy/transmitter/slot_modulator.h"
#include "plan_message.h"
#include "recording_block.h"
#include "sample_clock.h"
#include "test_pattern.h"
#include "transmit_pace.h"
#include "transmit_stretch.h"
#include "uhd_pmt.h"

namespace gr::wip {

namespace {

bool stop_requested() { return boost::this_thread::interruption_requested(); }

constexpr std::int64_t longest_sleep_ns = 10'000'000;  // a request to stop is seen by then
constexpr std::size_t most_not_sent = 64;

::wip::slot_count checked_lead(int lead_slots) {
    if (lead_slots == 0) return ::wip::slot_count(0);
    if (lead_slots < 2 || lead_slots > 48)
        throw std::invalid_argument("lead_slots is " + std::to_string(lead_slots) +
                                    "; valid: 0 (the radio's clock waits), or 2..48");
    return ::wip::slot_count(lead_slots);
}

// Where the radio's clock does not wait, every slot that is skipped is lost, so only one is skipped
// for the filler.
::wip::slot_count checked_restart(int restart_slots, bool paced) {
    const ::wip::slot_count restart(checked_parameter("restart_slots", restart_slots, 1, 15000));
    return paced ? ::wip::slot_count(1) : restart;
}

// The size of the output buffer. If the radio's clock waits, there is room for one more slot than
// the one that the sink has not taken yet, so that the next one is requested at once. With a lead,
// room for every slot that can be made before its time: a radio with a small buffer leaves most of
// the lead in this buffer, and a transmitter that waited there for room would make its slots too
// late. GNU Radio keeps one item of a buffer free.
int buffer_samples(const ::wip::transmit_pace& pace) {
    const std::int64_t slots = pace ? pace.lead().value + 2 : 3;
    return static_cast<int>(slots * ::wip::slot_samples);
}

// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t now_ns() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_ns(std::int64_t ns) {
    const timespec ts{0, ns};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, nullptr);
}

class slot_transmitter_impl : public ::wip::recording_block<slot_transmitter> {
public:
    explicit slot_transmitter_impl(const slot_transmitter_config& c)
        : gr::sync_block("slot_transmitter", gr::io_signature::make(0, 0, 0),
                         gr::io_signature::make(1, 1, sizeof(gr_complex))),
          cell_(c.cell),
          modulator_({.cell = c.cell, .profile = ::wip::link_profile::radio}),
          nof_slots_(checked_parameter("nof_slots", c.nof_slots, 0, 0x1p50)),
          link_({.endpoint = c.endpoint, .role = "base", .silence_s = c.timeout_s},
                [this](const std::string& reason) { on_link_end(reason); }),
          pace_(checked_lead(c.lead_slots)),
          stretch_(::wip::slot(checked_start_slot(c.start_slot)),
                   checked_restart(c.restart_slots, static_cast<bool>(pace_))) {
        // The pattern is made even when unused: its parameters are checked either way.
        pattern_.emplace(::wip::test_pattern_config{c.modulation, c.bins, c.seed, c.transmissions});
        if (link_) pattern_.reset();
        status_.next_slot = stretch_.next().value;
        set_output_multiple(::wip::slot_samples);
        set_min_output_buffer(buffer_samples(pace_));
        const auto port = pmt::mp("async");
        message_port_register_in(port);
        set_msg_handler(port, [this](const pmt::pmt_t& m) { on_async(m); });
    }

    bool start() override {
        ::wip::map_buffers(*this);
        return ::wip::recording_block<slot_transmitter>::start();
    }

    int work(int noutput_items, gr_vector_const_void_star&,
             gr_vector_void_star& output_items) override {
        if (noutput_items < ::wip::slot_samples) return 0;
        const auto holding = link_.hold();
        const slot_span out(static_cast<gr_complex*>(output_items[0]),
                            static_cast<std::size_t>(::wip::slot_samples));
        if (stretch_.broken()) {
            if (stretch_.is_open()) return end_broken_stretch(out);
            leave_broken_stretch();
        }
        if (nof_slots_ > 0 && status_.slots >= static_cast<std::uint64_t>(nof_slots_))
            return WORK_DONE;
        if (pace_) {
            const auto turn = await_slot();
            if (!turn) return link_.ended() ? WORK_DONE : 0;
            if (*turn > stretch_.next()) {
                if (stretch_.is_open()) return end_stretch_before(*turn, out);
                skip_before(*turn);
                return 0;
            }
        }
        switch (make_slot(out)) {
            case outcome::no_slot:
                return 0;
            case outcome::ended:
                return WORK_DONE;
            case outcome::made:
                break;
        }
        record(out);
        const int made = stretch_.resumes() ? resume_burst(out) : ::wip::slot_samples;
        if (stretch_.begins() || pace_) tag_start(::wip::slot_samples - made);
        if (stretch_.ends_burst()) tag_end(made);
        stretch_.made();
        std::lock_guard lock(mutex_);
        ++status_.slots;
        status_.next_slot = stretch_.next().value;
        return made;
    }

    slot_transmitter_status status() const override {
        std::lock_guard lock(mutex_);
        return status_;
    }

    void set_modulation(int bits_per_symbol) override {
        const std::lock_guard lock(content_mutex_);
        if (pattern_) pattern_->set_modulation(bits_per_symbol);
    }

    void set_bins(const std::vector<int>& bins) override {
        const std::lock_guard lock(content_mutex_);
        if (pattern_) pattern_->set_bins(bins);
    }

    void set_radio_time(std::int64_t full, double fraction, std::int64_t arrived) override {
        radio_.add(::wip::sample_of_time(static_cast<std::uint64_t>(full), fraction), arrived);
    }

    std::string end_reason() override { return link_.end_reason(); }
    void set_edge_samples(int samples) override {
        ::wip::phy::slot_modulator made({.cell = cell_, .edge_samples = samples});
        const std::lock_guard lock(content_mutex_);
        std::swap(modulator_, made);
    }

    void set_burst_slots(int slots) override {
        if (slots != 0 && (!pace_ || slots < 2 || slots > 1500))
            throw std::invalid_argument(
                "burst_slots is " + std::to_string(slots) +
                "; valid: 0 (a burst ends with its run of slots), or 2..1500 with lead_slots more "
                "than 0");
        stretch_.set_burst(::wip::slot_count(slots));
    }

    void send_bursts_first() override { burst_slots_left_ = ::wip::cabled::known_burst::nof_slots; }

private:
    using slot_span = std::span<gr_complex, ::wip::slot_samples>;
    enum class outcome { made, no_slot, ended };

    outcome make_slot(slot_span out) {
        if (burst_slots_left_ > 0) {
            send_burst(out);
            return outcome::made;
        }
        if (pattern_) {
            const std::lock_guard lock(content_mutex_);
            pattern_->next(stretch_.next());
            modulator_.work(stretch_.next(), pattern_->grant(), pattern_->payload(), out);
            return outcome::made;
        }
        const auto* plan = ask_for_plan();
        if (plan == nullptr) return without_plan(out);
        const bool good = modulate_plan(*plan, out);
        std::lock_guard lock(mutex_);
        if (!good) ++status_.plans_refused;
        status_.malformed = link_->malformed();
        status_.unexpected = link_->unexpected();
        return outcome::made;
    }

    // Waits until a slot has to be begun, and returns it. If that is later than the next slot,
    // those before it cannot be made in time any more, and the stretch has to be ended. nullopt:
    // stop was requested, or macd is gone.
    std::optional<::wip::slot> await_slot() {
        for (;;) {
            if (link_) link_->poll();
            if (stop_requested() || link_.ended()) return std::nullopt;
            const auto now = radio_.at(now_ns());
            if (!now) {
                sleep_ns(1'000'000);
                continue;
            }
            if (const auto possible = pace_.possible(stretch_.next(), *now);
                possible > stretch_.next()) {
                if (!stretch_.begins()) return possible;
                skip_before(possible);
            }
            const auto ahead = pace_.begin_of(stretch_.next()) - *now;
            if (ahead <= ::wip::sample_count(0)) return stretch_.next();
            sleep_ns(std::min(longest_sleep_ns, ::wip::nanoseconds_of(ahead)));
        }
    }

    const openwip::slot_link::SlotPlan* ask_for_plan() {
        const auto air = stretch_.next();
        {
            const std::lock_guard lock(mutex_);
            request_.set_air(air.value);
            request_.set_late_slots(status_.late_slots);
            request_.set_late_plans(status_.late_plans);
            request_.set_slots_left_out(status_.slots_left_out);
            request_.set_underflows(status_.underflows);
            *request_.mutable_not_sent() = {not_sent_.begin(), not_sent_.end()};
            not_sent_.clear();
        }
        if (!pace_) return link_->exchange(request_, stop_requested);
        const std::int64_t now = now_ns();
        const auto ahead = pace_.deadline_of(air) - radio_.at(now).value();
        return link_->exchange(request_, stop_requested,
                               std::chrono::steady_clock::time_point(
                                   std::chrono::nanoseconds(now + ::wip::nanoseconds_of(ahead))));
    }

    outcome without_plan(slot_span out) {
        if (link_.ended()) return outcome::ended;
        if (!pace_ || stop_requested()) return outcome::no_slot;
        send_empty(out);
        const std::lock_guard lock(mutex_);
        ++status_.late_plans;
        not_sent(stretch_.next());
        return outcome::made;
    }

    void send_empty(slot_span out) {
        ::wip::planned_slot empty{};
        empty.grant = ::wip::quiet_grant(last_grant_, stretch_.next());
        const std::lock_guard lock(content_mutex_);
        modulator_.work(stretch_.next(), empty.grant, empty.payload, out);
    }

    void send_burst(slot_span out) {
        using burst = ::wip::cabled::known_burst;
        const bool now =
            std::ranges::count(burst::slots, burst::nof_slots - burst_slots_left_--) > 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const auto n = static_cast<std::int64_t>(i);
            out[i] = now && n < burst::size ? burst::sample(n) : gr_complex(0, 0);
        }
    }

    // Sends the filler of zeros that ends a stretch, in the time of the first slot that is not
    // sent. Its time tag matters only where the radio has run dry and the filler begins a burst.
    int end_stretch(slot_span out) {
        const auto filler = out.first<::wip::transmit_stretch::filler_samples>();
        std::ranges::fill(filler, gr_complex(0, 0));
        if (pace_) tag_time(0);
        tag_end(static_cast<int>(filler.size()));
        record(filler);
        return static_cast<int>(filler.size());
    }
    int end_stretch_before(::wip::slot next, slot_span out) {
        const int made = end_stretch(out);
        skip_before(next);
        return made;
    }
    int end_broken_stretch(slot_span out) {
        const int made = end_stretch(out);
        leave_broken_stretch();
        return made;
    }
    void leave_broken_stretch() {
        const ::wip::slot before = stretch_.next();
        stretch_.ended();
        const std::lock_guard lock(mutex_);
        if (pace_) count_skipped(stretch_.next() - before);
        ++status_.restarts;
        status_.next_slot = stretch_.next().value;
    }
    void skip_before(::wip::slot next) {
        const std::lock_guard lock(mutex_);
        count_skipped(next - stretch_.next());
        stretch_.skip_to(next);
    }
    void count_skipped(::wip::slot_count n) {
        if (status_.slots > 0) status_.slots_left_out += static_cast<std::uint64_t>(n.value);
    }

    void record(std::span<const gr_complex> out) {
        const auto recording = hold_recording();
        if (recorder_) recorder_->samples(::wip::first_sample(stretch_.next()), out);
    }

    // Notes for macd that a slot was not sent, once although several packets of it may be late.
    void not_sent(::wip::slot s) {
        if (s.value == last_not_sent_ || not_sent_.size() >= most_not_sent) return;
        last_not_sent_ = s.value;
        not_sent_.push_back(s.value);
    }

    // False: the plan was impossible and the slot goes out empty, pilots and an empty grant only.
    bool modulate_plan(const openwip::slot_link::SlotPlan& plan, slot_span out) {
        const auto planned = ::wip::read_plan(plan);
        if (planned) {
            last_grant_ = planned->grant;
            const std::lock_guard lock(content_mutex_);
            return modulator_.work(stretch_.next(), planned->grant, planned->packed,
                                   planned->payload, out);
        }
        send_empty(out);
        return false;
    }

    void on_async(const pmt::pmt_t& message) {
        const auto event = ::wip::read_uhd_event(message);
        std::lock_guard lock(mutex_);
        if (event.kind == ::wip::uhd_event_kind::other) {
            ++status_.other_events;
            return;
        }
        const bool late = event.kind == ::wip::uhd_event_kind::late;
        auto& counter = late ? status_.late_slots : status_.underflows;
        if (!pace_ || !event.time) {
            ++counter;
        } else {
            // A late event has the time at which it happened, not the slot that was late. Slots go
            // out in order, so the slot of that moment has not gone out either, or the last one
            // made before it: after a stall the moment is among the slots that were skipped, and so
            // never planned.
            const auto then = ::wip::slot_of(*event.time);
            count_not_sent(late ? stretch_.made_until(then) : then, counter);
        }
        // The radio may have left the burst, or be behind in it: only a new burst has a time.
        const auto next = stretch_.next();
        if (!pace_ || !event.time)
            stretch_.fault(event.time ? std::optional(::wip::slot_of(*event.time)) : std::nullopt);
        else if (late)
            stretch_.was_late(*event.time);
        else
            stretch_.ran_dry(*event.time);
        count_skipped(stretch_.next() - next);
    }

    // Counts a slot that was not sent. With a lead each slot is counted once, not for each of its
    // late packets, and not at all if it was skipped.
    void count_not_sent(::wip::slot s, std::uint64_t& counter) {
        if (s.value == last_event_ || stretch_.is_skipped(s)) return;
        last_event_ = s.value;
        ++counter;
        not_sent(s);
    }

    // The first samples of a burst that follows another one without a gap are not sent.
    static int resume_burst(slot_span out) {
        const auto rest = out.subspan<::wip::transmit_stretch::pause_samples>();
        std::ranges::copy(rest, out.begin());
        return static_cast<int>(rest.size());
    }

    void tag_start(std::int64_t skipped) {
        if (!stretch_.is_open()) add_item_tag(0, nitems_written(0), pmt::mp("tx_sob"), pmt::PMT_T);
        tag_time(skipped);
    }

    void tag_time(std::int64_t skipped) {
        const auto time = ::wip::time_of_sample(::wip::first_sample(stretch_.next()) +
                                                ::wip::sample_count(skipped));
        add_item_tag(0, nitems_written(0), pmt::mp("tx_time"),
                     pmt::make_tuple(pmt::from_uint64(time.full), pmt::from_double(time.fraction)));
    }

    void tag_end(int items) {
        add_item_tag(0, nitems_written(0) + static_cast<std::uint64_t>(items) - 1,
                     pmt::mp("tx_eob"), pmt::PMT_T);
    }

    void on_link_end(const std::string& reason) {
        std::lock_guard lock(mutex_);
        status_.malformed = link_->malformed();
        status_.unexpected = link_->unexpected();
        GR_LOG_ERROR(d_logger, reason);
    }

    const int cell_;
    std::mutex content_mutex_;  // guards the next two; held while a slot is made, never while a
                                // plan is awaited
    ::wip::phy::slot_modulator modulator_;
    std::optional<::wip::test_pattern> pattern_;
    openwip::slot_link::SlotRequest request_;
    const std::int64_t nof_slots_;
    ::wip::block_link link_;
    const ::wip::transmit_pace pace_;
    ::wip::transmit_stretch stretch_;
    ::wip::iq::radio_clock radio_;
    ::wip::slot_grant last_grant_;
    int burst_slots_left_ = 0;  // slots

    mutable std::mutex mutex_;  // what follows, for other threads
    slot_transmitter_status status_;
    std::vector<std::int64_t> not_sent_;  // slots to report to macd
    std::int64_t last_not_sent_ = -1;
    std::int64_t last_event_ = -1;  // the slot that the last event was counted for
};

}  // namespace

slot_transmitter::sptr slot_transmitter::make(const slot_transmitter_config& config) {
    return gnuradio::make_block_sptr<slot_transmitter_impl>(config);
}

}  // namespace gr::wip
