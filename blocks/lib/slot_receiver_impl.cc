// SPDX-License-Identifier: GPL-3.0-or-later
#include "slot_receiver_impl.h"

#include <gnuradio/io_signature.h>
#include <gnuradio/thread/thread.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>

#include "phy/receiver/slot_estimator.h"
#include "receiver_detail.h"
#include "receiver_message.h"
#include "slot_number.h"
#include "uhd_pmt.h"

namespace gr {
namespace wip {

namespace {

constexpr int state_period = 15;  // slots between two states

bool stop_requested() { return boost::this_thread::interruption_requested(); }

int checked_period(int period) {
    if (period < 0)
        throw std::invalid_argument("message_period: " + std::to_string(period) +
                                    " is negative; 0 turns messages off, n: every n-th slot");
    return period;
}

std::int64_t checked_start(std::int64_t start) {
    if (start < 0 || start > std::int64_t{1} << 50)
        throw std::invalid_argument("start_slot: " + std::to_string(start) +
                                    " is outside 0 .. 2^50");
    return start;
}

openwip::slot_link::Outcome to_wire(::wip::phy::bin_outcome outcome) {
    switch (outcome) {
        case ::wip::phy::bin_outcome::good:
            return openwip::slot_link::GOOD;
        case ::wip::phy::bin_outcome::bad:
            return openwip::slot_link::BAD;
        default:
            return openwip::slot_link::UNUSED;
    }
}

std::int64_t air_of(const ::wip::phy::received_slot& slot) {
    return slot.locked ? ::wip::unwrap_slot(slot.start, slot.slot_in_hyperframe).value
                       : ::wip::nearest_slot(slot.start).value;
}

}  // namespace

slot_receiver::sptr slot_receiver::make(int cell, int horizon, bool combining,
                                        const std::string& endpoint, int message_period,
                                        std::int64_t start_slot, double timeout_s,
                                        const std::string& predictor, double gain_db,
                                        double lowest_gain_db, double highest_gain_db) {
    return gnuradio::make_block_sptr<slot_receiver_impl>(
        cell, horizon, combining, endpoint, message_period, start_slot, timeout_s, predictor,
        gain_db, lowest_gain_db, highest_gain_db);
}

slot_receiver_impl::slot_receiver_impl(int cell, int horizon, bool combining,
                                       const std::string& endpoint, int message_period,
                                       std::int64_t start_slot, double timeout_s,
                                       const std::string& predictor, double gain_db,
                                       double lowest_gain_db, double highest_gain_db)
    : gr::sync_block("slot_receiver", gr::io_signature::make(1, 1, sizeof(gr_complex)),
                     gr::io_signature::make(0, 0, 0)),
      receiver_({.cell = cell,
                 .profile = ::wip::link_profile::radio,
                 .combining = combining,
                 .horizon_slots = horizon,
                 .predictor = predictor}),
      combining_(combining),
      wanted_{predictor, horizon},
      gain_({.gain_db = gain_db, .lowest_db = lowest_gain_db, .highest_db = highest_gain_db}),
      on_slot_([this](const ::wip::phy::received_slot& s) { on_slot(s); }),
      clock_(::wip::first_sample(::wip::slot(checked_start(start_slot)))),
      link_({.endpoint = endpoint, .role = "terminal", .silence_s = timeout_s},
            [this](const std::string& reason) { d_logger->error(reason); }),
      message_period_(checked_period(message_period)),
      last_predictor_(&receiver_.predictor_in_use()) {
    recorded_bytes_.reserve(16384);
    symbols_.reserve(std::size_t{::wip::nof_bins} * ::wip::payload_symbols_per_bin);
    message_port_register_out(pmt::mp("slots"));
    message_port_register_out(pmt::mp("symbols"));
    message_port_register_out(pmt::mp("gain"));
    if (lowest_gain_db < highest_gain_db)
        receiver_.set_gain(::wip::sample(INT64_MIN), gain_.gain_db());
}

// A piece without a jump: to the receiver, and to gain control as it came from the radio.
void slot_receiver_impl::take(::wip::sample first, std::span<const gr_complex> in) {
    // Held over the whole piece: a recording that is stopped has the reports of its samples.
    const auto recording = recorder_.hold();
    if (recorder_) recorder_->samples(first, in);
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
void slot_receiver_impl::take_until_decision(::wip::sample first, std::span<const gr_complex> in) {
    receiver_.process(first, in, on_slot_);
    const auto& s = receiver_.state();
    const auto change = gain_.process(first, in, s.mode >= ::wip::phy::receiver_mode::synchronised,
                                      s.timing_samples);
    if (!change) return;
    receiver_.set_gain(change->at, change->db);
    const auto time = ::wip::time_of_sample(change->at);
    auto command = pmt::make_dict();
    command = pmt::dict_add(command, pmt::mp("chan"), pmt::from_long(0));
    command = pmt::dict_add(command, pmt::mp("gain"), pmt::from_double(change->db));
    command =
        pmt::dict_add(command, pmt::mp("time"),
                      pmt::cons(pmt::from_uint64(time.full), pmt::from_double(time.fraction)));
    message_port_pub(pmt::mp("gain"), command);
}

int slot_receiver_impl::work(int noutput_items, gr_vector_const_void_star& input_items,
                             gr_vector_void_star&) {
    static const pmt::pmt_t rx_time = pmt::mp("rx_time");
    const auto holding = link_.hold();
    const std::span<const gr_complex> in(static_cast<const gr_complex*>(input_items[0]),
                                         static_cast<std::size_t>(noutput_items));
    const std::uint64_t begin = nitems_read(0);
    get_tags_in_window(tags_, 0, 0, static_cast<std::uint64_t>(noutput_items), rx_time);
    std::size_t done = 0;
    for (const auto& tag : tags_) {
        const auto time = ::wip::read_time(tag.value);
        if (!time) continue;
        const auto here = static_cast<std::size_t>(tag.offset - begin);
        if (here > done) take(clock_.at(begin + done), in.subspan(done, here - done));
        done = here;
        if (clock_.set(tag.offset, *time)) {
            std::lock_guard lock(mutex_);
            state_.set_overflows(state_.overflows() + 1);
        }
    }
    if (done < in.size()) take(clock_.at(begin + done), in.subspan(done));
    if (link_) {
        link_->poll();
        if (const auto* settings = link_->take_settings()) change(*settings);
        take_predictor();
        if (link_.ended()) return WORK_DONE;
    }
    return noutput_items;
}

// Between two pieces, so between two slots.
void slot_receiver_impl::change(const openwip::slot_link::ReceiverSettings& settings) {
    if (settings.has_combining() && settings.combining() != combining_) {
        combining_ = settings.combining();
        receiver_.set_combining(combining_);
    }
    auto wanted = wanted_;
    if (settings.has_predictor()) wanted.method = settings.predictor();
    if (settings.has_horizon()) wanted.horizon = static_cast<int>(settings.horizon());
    // Said again until it holds; to be made and to learn takes time and must not begin anew.
    if (wanted == wanted_) return;
    if (!::wip::phy::available(wanted)) {
        ++settings_refused_;
        return;
    }
    wanted_ = wanted;
    builder_.order(std::move(wanted));
}

void slot_receiver_impl::take_predictor() {
    if (auto made = builder_.take())
        if (auto unused = receiver_.succeed_predictor(std::move(made)))
            builder_.retire(std::move(unused));
    if (auto replaced = receiver_.take_retired_predictor()) builder_.retire(std::move(replaced));
}

void slot_receiver_impl::on_slot(const ::wip::phy::received_slot& slot) {
    const std::int64_t air = air_of(slot);
    count(slot, air);
    const bool to_macd = link_ && !link_->ended();
    if (to_macd || recorder_) {
        auto& report = to_macd ? link_->report() : recorded_report_;
        report.Clear();
        fill(report, slot, air);
        if (recorder_) record(report, slot.start);
        if (to_macd) {
            add_detail(report, slot);
            link_->send_report(stop_requested);
        }
    }
    last_mode_ = slot.mode;
    if (message_period_ > 0 && ++slots_since_message_ >= message_period_) {
        slots_since_message_ = 0;
        publish_slot(slot, air);
        publish_symbols(slot, air);
    }
}

void slot_receiver_impl::record(const openwip::slot_link::SlotReport& report, ::wip::sample start) {
    recorded_bytes_.resize(report.ByteSizeLong());
    report.SerializeWithCachedSizesToArray(recorded_bytes_.data());
    recorder_->report(start, recorded_bytes_);
}

void slot_receiver_impl::fill(openwip::slot_link::SlotReport& report,
                              const ::wip::phy::received_slot& slot, std::int64_t air) {
    report.set_air(air);
    report.set_locked(slot.locked);
    report.set_grant_ok(slot.grant_ok);
    if (slot.locked && slot.grant_ok) {
        std::array<std::uint8_t, ::wip::grant_bytes> bytes;
        if (::wip::pack_grant(slot.grant, ::wip::link_profile::radio, bytes))
            report.set_grant(bytes.data(), bytes.size());
        for (std::uint32_t b = 0; b < ::wip::nof_bins; ++b) {
            const auto& result = slot.bins[b];
            if (result.outcome == ::wip::phy::bin_outcome::unused) continue;
            auto* bin = report.add_bins();
            bin->set_bin(b);
            bin->set_outcome(to_wire(result.outcome));
            bin->set_payload(result.payload.data(), result.payload.size());
            bin->set_combined(result.combined);
        }
    }
    report.mutable_snr_db()->Add(slot.snr_db.begin(), slot.snr_db.end());
    report.mutable_predicted_snr_db()->Add(slot.predicted_snr_db.begin(),
                                           slot.predicted_snr_db.end());
    const auto* predictor = &receiver_.predictor_in_use();
    if (++slots_since_state_ >= state_period || slot.mode != last_mode_ ||
        predictor != last_predictor_) {
        slots_since_state_ = 0;
        last_predictor_ = predictor;
        *report.mutable_state() = state_;
    }
}

// For those who watch, with a state of the same slot. Recordings are made without it.
void slot_receiver_impl::add_detail(openwip::slot_link::SlotReport& report,
                                    const ::wip::phy::received_slot& slot) {
    const std::int64_t every = link_->detail_every();
    if (every == 0 || !slot.locked || report.air() % every != 0) return;
    ::wip::fill_detail(slot, *report.mutable_detail());
    *report.mutable_state() = state_;
}

void slot_receiver_impl::count(const ::wip::phy::received_slot& slot, std::int64_t air) {
    const auto& predictor = receiver_.predictor_in_use();
    std::lock_guard lock(mutex_);
    ::wip::fill_state(receiver_.state(), state_);
    state_.set_gain_db(gain_.gain_db());
    state_.set_gain_changes(gain_.changes());
    state_.set_horizon(static_cast<std::uint32_t>(predictor.horizon));
    state_.set_combining(combining_);
    state_.set_predictor(predictor.method);
    state_.set_settings_refused(settings_refused_);
    status_.air = air;
    ++status_.slots;
    if (link_) {
        status_.malformed = link_->malformed();
        status_.unexpected = link_->unexpected();
    }
    if (!slot.locked) return;
    ++status_.slots_locked;
    state_.set_mean_snr_db(std::accumulate(slot.snr_db.begin(), slot.snr_db.end(), 0.0) /
                           ::wip::nof_bins);
    if (!slot.grant_ok) return;
    ++status_.grants_ok;
    for (const auto& bin : slot.bins) {
        status_.frames_good += bin.outcome == ::wip::phy::bin_outcome::good;
        status_.frames_bad += bin.outcome == ::wip::phy::bin_outcome::bad;
        status_.frames_combined += bin.combined;
    }
}

void slot_receiver_impl::publish_slot(const ::wip::phy::received_slot& slot, std::int64_t air) {
    std::vector<std::uint8_t> bits(::wip::nof_bins), outcome(::wip::nof_bins);
    for (std::size_t b = 0; slot.locked && slot.grant_ok && b < bits.size(); ++b) {
        bits[b] = slot.grant.bins[b].bits_per_symbol;
        outcome[b] = static_cast<std::uint8_t>(slot.bins[b].outcome);
    }
    auto dict = pmt::make_dict();
    const auto add = [&dict](const char* key, const pmt::pmt_t& value) {
        dict = pmt::dict_add(dict, pmt::mp(key), value);
    };
    add("air", pmt::from_long(air));
    add("locked", pmt::from_bool(slot.locked));
    add("grant_ok", pmt::from_bool(slot.grant_ok));
    add("snr_db", pmt::init_f32vector(slot.snr_db.size(), slot.snr_db.data()));
    std::array<float, ::wip::nof_bins> alone;
    alone.fill(::wip::phy::least_snr_db);
    for (std::size_t b = 0; b < slot.bin_power.size(); ++b)
        alone[b] = ::wip::phy::snr_to_db(slot.bin_power[b] / slot.bin_noise[b]);
    add("slot_snr_db", pmt::init_f32vector(alone.size(), alone.data()));
    add("predicted_snr_db",
        pmt::init_f32vector(slot.predicted_snr_db.size(), slot.predicted_snr_db.data()));
    add("bits_per_symbol", pmt::init_u8vector(bits.size(), bits));
    add("outcome", pmt::init_u8vector(outcome.size(), outcome));
    message_port_pub(pmt::mp("slots"), dict);
}

void slot_receiver_impl::publish_symbols(const ::wip::phy::received_slot& slot, std::int64_t air) {
    symbols_.clear();
    if (slot.locked && slot.grant_ok)
        for (const auto& bin : slot.bins)
            if (bin.outcome != ::wip::phy::bin_outcome::unused)
                symbols_.insert(symbols_.end(), bin.symbols.begin(), bin.symbols.end());
    if (symbols_.empty()) return;
    const auto meta = pmt::dict_add(pmt::make_dict(), pmt::mp("air"), pmt::from_long(air));
    message_port_pub(pmt::mp("symbols"),
                     pmt::cons(meta, pmt::init_c32vector(symbols_.size(), symbols_.data())));
}

slot_receiver_status slot_receiver_impl::status() const {
    std::lock_guard lock(mutex_);
    auto status = status_;
    status.receiver = ::wip::values_of(state_);
    return status;
}

std::string slot_receiver_impl::end_reason() { return link_.end_reason(); }

}  // namespace wip
}  // namespace gr
