// SPDX-License-Identifier: GPL-3.0-or-later
// Every field of the receiver's state is filled by somebody, and all of them have names for Python.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "receiver_message.h"
#include "receiver_settings.h"

namespace wip {
namespace {

using openwip::receiver::State;

phy::receiver_state full_state() {
    phy::receiver_state s;
    s.mode = phy::receiver_mode::synchronised;
    s.locked = true;
    s.cell = 17;
    s.cfo_hz = s.timing_samples = s.evm_percent = s.level_dbfs = s.prediction_nmse = 1.5;
    std::uint64_t n = 1;
    for (auto* counter :
         {&s.candidates, &s.synchronisations, &s.locks, &s.candidates_refuted, &s.losses_pilots,
          &s.losses_gap, &s.losses_jump, &s.lock_losses, &s.grants_failed, &s.holds})
        *counter = ++n;
    return s;
}

std::set<std::string> empty_fields(const State& state) {
    std::set<std::string> empty;
    for (int i = 0; i < State::descriptor()->field_count(); ++i)
        if (const auto* f = State::descriptor()->field(i);
            f->is_repeated() ? State::GetReflection()->FieldSize(state, f) == 0
                             : !State::GetReflection()->HasField(state, f))
            empty.insert(f->name());
    return empty;
}

}  // namespace

TEST(ReceiverMessage, HasAllThatTheReceiverAndItsSettingsKnow) {
    State state;
    fill_state(full_state(), state);
    EXPECT_EQ(state.mode(), "synchronised");
    EXPECT_EQ(state.losses_jump(), 8U);
    phy::slot_receiver receiver({.cell = 17, .profile = link_profile::radio, .horizon_slots = 3});
    extension::own_predictors own(phy::make_gain_predictor);
    receiver_settings settings(true, receiver.predictor_in_use(), own);
    openwip::slot_link::ReceiverSettings unknown;
    unknown.set_predictor("oracle");
    settings.change(unknown, receiver);
    settings.fill(receiver, state);
    EXPECT_EQ(state.settings_refused(), 1U);
    // A running receiver does not load code.
    unknown.set_predictor("python:/tmp/somebody.py:A");
    settings.change(unknown, receiver);
    settings.fill(receiver, state);
    EXPECT_EQ(state.settings_refused(), 2U);
    EXPECT_FALSE(own.has_failed());
    // The rest is of code of the user's own, the block's (bursts, sample time, full scale, gain
    // control, mean) and the base station's.
    EXPECT_EQ(empty_fields(state),
              (std::set<std::string>{"own_rules", "bursts", "overflows", "clipped", "gain_db",
                                     "gain_changes", "mean_snr_db", "late_slots", "underflows",
                                     "late_plans", "slots_left_out"}));
}

TEST(ReceiverMessage, HasANameAndAValueForEveryField) {
    State state;
    fill_state(full_state(), state);
    const auto values = values_of(state);
    EXPECT_EQ(values.size(), static_cast<std::size_t>(State::descriptor()->field_count() - 2));
    EXPECT_FALSE(values.contains("bursts"));  // no value
    EXPECT_FALSE(values.contains("own_rules"));
    EXPECT_EQ(std::get<bool>(values.at("locked")), true);
    EXPECT_EQ(std::get<std::int64_t>(values.at("cell")), 17);
    EXPECT_EQ(std::get<std::int64_t>(values.at("losses_gap")), 7);
    EXPECT_EQ(std::get<double>(values.at("cfo_hz")), 1.5);
    EXPECT_EQ(std::get<std::string>(values.at("mode")), "synchronised");
}

}  // namespace wip
