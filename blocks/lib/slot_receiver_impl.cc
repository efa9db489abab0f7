// SPDX-License-Identifier: GPL-3.0-or-later
// See include/gnuradio/wip/slot_receiver.h. Everything happens in work(): the report of a slot is
// sent in the call that brought the slot's last needed sample.
#include <gnuradio/io_signature.h>
#include <gnuradio/thread/thread.h>
#include <gnuradio/wip/slot_receiver.h>

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "block_link.h"
#include "buffer_memory.h"
#include "checked_parameter.h"
#include "checked_predictor.h"
#include "fader/known_burst.h"
#include "phy/receiver/slot_receiver.h"
#include "phy/sync/gain_control.h"
#include "receiver_account.h"
#include "receiver_message.h"
#include "receiver_settings.h"
#include "recording_block.h"
#include "sample_clock.h"
#include "slot_messages.h"
#include "slot_number.h"
#include "spectrum_thread.h"
#include "uhd_pmt.h"

namespace gr::wip {

namespace {

constexpr int state_period = 15;  // slots between two reports that have the receiver's state
constexpr std::size_t most_bursts = 32;

bool stop_requested() { return boost::this_thread::interruption_requested(); }

int checked_period(int period) {
    if (period < 0)
        throw std::invalid_argument("message_period is " + std::to_string(period) +
                                    "; valid: 0 (no messages), or n for every n-th slot");
    return period;
}

class slot_receiver_impl : public ::wip::recording_block<slot_receiver> {
public:
    explicit slot_receiver_impl(const slot_receiver_config& c)
        : gr::sync_block("slot_receiver", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                         gr::io_signature::make(0, 0, 0)),
          own_(::wip::phy::make_gain_predictor),
          receiver_({.cell = c.cell,
                     .profile = ::wip::link_profile::radio,
                     .combining = c.combining,
                     .horizon_slots = c.horizon,
                     .predictor = c.predictor,
                     .make_predictor =
                         [this](std::string_view name, int ahead) {
                             return ::wip::make_checked(own_, name, ahead);
                         }}),
          settings_(c.combining, {c.predictor, c.horizon}, own_),
          gain_({.gain_db = c.gain_db,
                 .lowest_db = c.lowest_gain_db,
                 .highest_db = c.highest_gain_db}),
          on_slot_([this](const ::wip::phy::received_slot& s) { on_slot(s); }),
          clock_(::wip::first_sample(::wip::slot(checked_start_slot(c.start_slot)))),
          link_({.endpoint = c.endpoint, .role = "terminal", .silence_s = c.timeout_s},
                [this](const std::string& reason) { GR_LOG_ERROR(d_logger, reason); }),
          timed_gain_(c.timed_gain),
          message_period_(checked_period(c.message_period)),
          last_predictor_(&receiver_.predictor_in_use()) {
        recorded_bytes_.reserve(16384);
        if (!c.endpoint.empty()) spectrum_.emplace();
        message_port_register_out(pmt::mp("slots"));
        message_port_register_out(pmt::mp("symbols"));
        message_port_register_out(pmt::mp("gain"));
        if (c.lowest_gain_db < c.highest_gain_db)
            receiver_.set_gain(::wip::sample(INT64_MIN), gain_.gain());
    }

    bool start() override {
        ::wip::map_buffers(*this);
        return ::wip::recording_block<slot_receiver>::start();
    }

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star&) override {
        static const pmt::pmt_t rx_time = pmt::mp("rx_time");
        const auto holding = link_.hold();
        const std::span<const gr_complex> in(static_cast<const gr_complex*>(input_items[0]),
                                             static_cast<std::size_t>(noutput_items));
        const std::uint64_t begin = nitems_read(0);
        get_tags_in_window(tags_, 0, 0, static_cast<std::uint64_t>(noutput_items), rx_time);
        std::size_t done = 0;
        for (const auto& tag : tags_) {
            const auto time = ::wip::read_sample_time(tag.value);
            if (!time) continue;
            const auto here = static_cast<std::size_t>(tag.offset - begin);
            if (here > done) take(clock_.at(begin + done), in.subspan(done, here - done));
            done = here;
            if (clock_.set(tag.offset, *time)) account_.overflow();
            receiver_.set_grid(clock_.later());
        }
        if (done < in.size()) take(clock_.at(begin + done), in.subspan(done));
        if (link_) {
            link_->poll();
            // Settings change between two pieces, and so between two slots.
            if (const auto* settings = link_->take_settings())
                settings_.change(*settings, receiver_);
            settings_.take_predictor(receiver_);
        }
        if (own_.has_failed()) link_.end(own_.failure());
        if (link_.ended()) return WORK_DONE;
        return noutput_items;
    }

    slot_receiver_status status() const override { return account_.status(); }
    std::string end_reason() override { return link_.end_reason(); }

private:
    // Passes samples without a jump of their time to the receiver, and to gain control as they came
    // from the radio.
    void take(::wip::sample first, std::span<const gr_complex> in) {
        // Held until all these samples are processed, so that a recording that is stopped has the
        // reports of all its samples.
        const auto recording = hold_recording();
        if (recorder_) recorder_->samples(first, in, clock_.later());
        if (spectrum_) spectrum_->samples(first, in);
        clipped_ += ::wip::phy::nof_clipped(in);
        if (receiver_.state().locks == 0)
            listener_.take(first.value, in, [this](const auto& b) {
                if (bursts_.size() < most_bursts) bursts_.push_back(b);
            });
        while (!in.empty()) {
            const auto n = static_cast<std::size_t>(
                std::min(gain_.until_decision(first), static_cast<std::int64_t>(in.size())));
            take_until_decision(first, in.first(n));
            first += ::wip::sample_count(static_cast<std::int64_t>(n));
            in = in.subspan(n);
        }
    }

    // Gain control sees the state of the receiver where it decides, however the samples came: a
    // recording that is replayed comes to the same decisions.
    void take_until_decision(::wip::sample first, std::span<const gr_complex> in) {
        receiver_.process(first, in, on_slot_);
        const auto& s = receiver_.state();
        const auto change = gain_.process(
            first, in, s.mode >= ::wip::phy::receiver_mode::synchronised, s.timing_samples);
        if (!change) return;
        receiver_.set_gain(change->at, change->gain, timed_gain_);
        message_port_pub(pmt::mp("gain"), ::wip::gain_message(*change));
    }

    void on_slot(const ::wip::phy::received_slot& slot) {
        const std::int64_t air = numbering_.number(slot).value;
        account_.count(slot, receiver_.state(), air, [this](auto& state, auto& status) {
            settings_.fill(receiver_, state);
            state.set_gain_db(gain_.gain().value);
            state.set_gain_changes(gain_.changes());
            state.set_clipped(clipped_);
            status.malformed = link_ ? link_->malformed() : 0;
            status.unexpected = link_ ? link_->unexpected() : 0;
        });
        // At most one in a slot: it takes time.
        if (slot.locked && !bursts_.empty()) {
            account_.burst(bursts_.back(), receiver_.state().cfo_hz / ::wip::sample_rate_hz);
            bursts_.pop_back();
        }
        report(slot, air);
        publish(slot, air);
    }

    void report(const ::wip::phy::received_slot& slot, std::int64_t air) {
        const bool to_macd = link_ && !link_->ended();
        if (!to_macd && !recorder_) return;
        auto& report = to_macd ? link_->report() : recorded_report_;
        ::wip::fill_report(slot, air, report);
        add_state(report, slot);
        if (recorder_) record(report, slot.start);
        if (!to_macd) return;
        add_detail(report, slot);
        link_->send_report(stop_requested);
    }

    void add_state(openwip::slot_link::SlotReport& report, const ::wip::phy::received_slot& slot) {
        const auto* predictor = &receiver_.predictor_in_use();
        if (++slots_since_state_ < state_period && slot.mode == last_mode_ &&
            predictor == last_predictor_)
            return;
        slots_since_state_ = 0;
        last_mode_ = slot.mode;
        last_predictor_ = predictor;
        *report.mutable_state() = account_.state();
    }

    // Adds the details for observers, with a state of the same slot. Recordings do not have them.
    void add_detail(openwip::slot_link::SlotReport& report, const ::wip::phy::received_slot& slot) {
        const std::int64_t every = link_->detail_every();
        spectrum_->on_slot(report.air(), every);
        if (every == 0 || report.air() % every != 0) return;
        const auto spectrum = spectrum_->take();
        if (!slot.locked && spectrum.empty()) return;
        ::wip::fill_detail(slot, spectrum, *report.mutable_detail());
        *report.mutable_state() = account_.state();
    }

    void record(const openwip::slot_link::SlotReport& report, ::wip::sample start) {
        recorded_bytes_.resize(report.ByteSizeLong());
        report.SerializeWithCachedSizesToArray(recorded_bytes_.data());
        recorder_->report(start, recorded_bytes_);
    }

    void publish(const ::wip::phy::received_slot& slot, std::int64_t air) {
        if (message_period_ == 0 || ++slots_since_message_ < message_period_) return;
        slots_since_message_ = 0;
        message_port_pub(pmt::mp("slots"), ::wip::slot_message(slot, air));
        if (const auto symbols = ::wip::symbols_message(slot, air))
            message_port_pub(pmt::mp("symbols"), symbols);
    }

    ::wip::extension::own_predictors own_;
    ::wip::phy::slot_receiver receiver_;
    ::wip::receiver_settings settings_;
    ::wip::phy::gain_control gain_;
    ::wip::phy::slot_receiver::on_slot_fn on_slot_;
    ::wip::sample_clock clock_;
    ::wip::slot_numbering numbering_;
    ::wip::block_link link_;
    std::optional<::wip::spectrum_thread> spectrum_;  // for the details in reports to macd
    openwip::slot_link::SlotReport recorded_report_;
    std::vector<std::uint8_t> recorded_bytes_;
    const bool timed_gain_;
    const int message_period_;
    std::vector<tag_t> tags_;
    std::uint64_t clipped_ = 0;
    int slots_since_state_ = 0;
    int slots_since_message_ = 0;
    ::wip::phy::receiver_mode last_mode_ = ::wip::phy::receiver_mode::searching;
    const ::wip::phy::predictor_choice* last_predictor_;  // only compared
    ::wip::receiver_account account_;
    ::wip::cabled::burst_listener listener_;          // finds known bursts before the first lock
    std::vector<::wip::cabled::heard_burst> bursts_;  // kept until the receiver has locked
};

}  // namespace

slot_receiver::sptr slot_receiver::make(const slot_receiver_config& config) {
    return gnuradio::make_block_sptr<slot_receiver_impl>(config);
}

}  // namespace gr::wip
