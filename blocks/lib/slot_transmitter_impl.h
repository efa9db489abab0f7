// SPDX-License-Identifier: GPL-3.0-or-later
// See include/gnuradio/wip/slot_transmitter.h. One call of work makes one slot, so that the sink
// has it at once and the next one is decided as late as possible.
#pragma once

#include <gnuradio/wip/slot_transmitter.h>

#include <mutex>
#include <optional>
#include <span>

#include "block_link.h"
#include "block_recorder.h"
#include "fader/known_burst.h"
#include "phy/transmitter/slot_modulator.h"
#include "radio_clock.h"
#include "sample_clock.h"
#include "test_pattern.h"
#include "transmit_pace.h"
#include "transmit_stretch.h"

namespace gr {
namespace wip {

class slot_transmitter_impl : public slot_transmitter {
public:
    slot_transmitter_impl(int cell, const std::string& endpoint, std::int64_t start_slot,
                          int modulation, const std::vector<int>& bins, std::uint64_t seed,
                          double timeout_s, int restart_slots, std::int64_t nof_slots,
                          int transmissions, int lead_slots);

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;
    slot_transmitter_status status() const override;
    void set_modulation(int bits_per_symbol) override;
    void set_bins(const std::vector<int>& bins) override;
    void set_radio_time(std::int64_t full, double fraction, std::int64_t arrived) override {
        radio_.add(::wip::sample_of_time(static_cast<std::uint64_t>(full), fraction), arrived);
    }
    std::string end_reason() override;
    void set_edge_samples(int samples) override;
    void send_bursts_first() override { bursts_left_ = ::wip::cabled::known_burst::nof_slots; }
    void start_recording(const std::string& samples_file, const std::string& reports_file,
                         std::int64_t begin_slot, std::int64_t end_slot,
                         std::int64_t nof_slots) override {
        recorder_.start(samples_file, reports_file, begin_slot, end_slot, nof_slots);
    }
    recording_status recording() const override { return recorder_.status(); }
    recording_status stop_recording() override { return recorder_.stop(); }

private:
    using slot_span = std::span<gr_complex, ::wip::slot_samples>;
    enum class outcome { made, nothing, ended };

    outcome make_slot(slot_span out);
    bool await_turn();
    const openwip::slot_link::SlotPlan* ask_for_plan();
    outcome without_plan(slot_span out);
    void send_empty(slot_span out);
    void send_burst(slot_span out);
    void end_stretch(slot_span out);
    void record(slot_span out);
    void not_sent(::wip::slot s);
    bool modulate_plan(const openwip::slot_link::SlotPlan& plan, slot_span out);
    void on_async(const pmt::pmt_t& message);
    void tag_start();
    void tag_end();
    void on_link_end(const std::string& reason);

    const int cell_;
    ::wip::phy::slot_modulator modulator_;
    std::optional<::wip::test_pattern> pattern_;
    openwip::slot_link::SlotRequest request_;
    const std::int64_t nof_slots_;
    ::wip::block_link link_;
    ::wip::block_recorder recorder_;
    ::wip::transmit_stretch stretch_;
    const ::wip::transmit_pace pace_;
    ::wip::radio_clock radio_;
    ::wip::slot_grant last_grant_;
    int bursts_left_ = 0;  // slots

    mutable std::mutex mutex_;  // what follows, for other threads
    slot_transmitter_status status_;
    std::vector<std::int64_t> not_sent_;  // slots to tell macd of
    std::int64_t last_not_sent_ = -1;
};

}  // namespace wip
}  // namespace gr
