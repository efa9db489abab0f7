// SPDX-License-Identifier: GPL-3.0-or-later
// See include/gnuradio/wip/slot_receiver.h. Everything happens in work(): the report of a slot is
// sent in the call that brought the slot's last needed sample.
#pragma once

#include <gnuradio/wip/slot_receiver.h>

#include <optional>
#include <span>
#include <vector>

#include "block_link.h"
#include "block_recorder.h"
#include "fader/known_burst.h"
#include "phy/receiver/slot_receiver.h"
#include "phy/sync/gain_control.h"
#include "receiver_account.h"
#include "receiver_settings.h"
#include "sample_clock.h"
#include "slot_number.h"
#include "spectrum_thread.h"

namespace gr {
namespace wip {

class slot_receiver_impl : public slot_receiver {
public:
    slot_receiver_impl(int cell, int horizon, bool combining, const std::string& endpoint,
                       int message_period, std::int64_t start_slot, double timeout_s,
                       const std::string& predictor, double gain_db, double lowest_gain_db,
                       double highest_gain_db, bool timed_gain);

    int work(int noutput_items, gr_vector_const_void_star& input_items,
             gr_vector_void_star& output_items) override;
    slot_receiver_status status() const override { return account_.status(); }
    std::string end_reason() override { return link_.end_reason(); }
    void start_recording(const std::string& samples_file, const std::string& reports_file,
                         std::int64_t begin_slot, std::int64_t end_slot,
                         std::int64_t nof_slots) override {
        recorder_.start(samples_file, reports_file, begin_slot, end_slot, nof_slots);
    }
    recording_status recording() const override { return recorder_.status(); }
    recording_status stop_recording() override { return recorder_.stop(); }

private:
    void take(::wip::sample first, std::span<const gr_complex> in);
    void take_until_decision(::wip::sample first, std::span<const gr_complex> in);
    void on_slot(const ::wip::phy::received_slot& slot);
    void report(const ::wip::phy::received_slot& slot, std::int64_t air);
    void add_state(openwip::slot_link::SlotReport& report, const ::wip::phy::received_slot& slot);
    void add_detail(openwip::slot_link::SlotReport& report, const ::wip::phy::received_slot& slot);
    void record(const openwip::slot_link::SlotReport& report, ::wip::sample start);
    void publish(const ::wip::phy::received_slot& slot, std::int64_t air);

    ::wip::phy::slot_receiver receiver_;
    ::wip::receiver_settings settings_;
    ::wip::phy::gain_control gain_;
    ::wip::phy::slot_receiver::on_slot_fn on_slot_;
    ::wip::sample_clock clock_;
    ::wip::slot_numbering numbering_;
    ::wip::block_link link_;
    ::wip::block_recorder recorder_;
    std::optional<::wip::spectrum_thread> spectrum_;  // for macd
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
    ::wip::cabled::burst_listener listener_;
    std::vector<::wip::cabled::heard_burst> bursts_;  // until it has locked
};

}  // namespace wip
}  // namespace gr
