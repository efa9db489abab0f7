// SPDX-License-Identifier: GPL-3.0-or-later
#include "receiver_settings.h"

namespace wip {
namespace {

constexpr int cost_period_slots = 150;

}  // namespace

void receiver_settings::change(const openwip::slot_link::ReceiverSettings& settings,
                               phy::slot_receiver& receiver) {
    if (settings.has_combining() && settings.combining() != combining_) {
        combining_ = settings.combining();
        receiver.set_combining(combining_);
    }
    auto wanted = wanted_;
    if (settings.has_predictor()) wanted.method = settings.predictor();
    if (settings.has_horizon()) wanted.horizon = static_cast<int>(settings.horizon());
    // The request is repeated until the predictor is in use. Making it takes time, and must not
    // start again.
    if (wanted == wanted_) return;
    if (!is_allowed(wanted)) {
        ++refused_;
        return;
    }
    wanted_ = wanted;
    builder_.order(std::move(wanted));
}

bool receiver_settings::is_allowed(const phy::predictor_choice& wanted) const {
    if (phy::available(wanted)) return true;
    const bool same_code = wanted.method == first_method_ && read_extension_name(wanted.method);
    return same_code && phy::available({.horizon = wanted.horizon});
}

void receiver_settings::take_predictor(phy::slot_receiver& receiver) {
    if (auto made = builder_.take())
        if (auto unused = receiver.succeed_predictor(std::move(made)))
            builder_.retire(std::move(unused));
    if (auto replaced = receiver.take_retired_predictor()) builder_.retire(std::move(replaced));
}

void receiver_settings::fill(const phy::slot_receiver& receiver, openwip::receiver::State& state) {
    const auto& predictor = receiver.predictor_in_use();
    state.set_combining(combining_);
    state.set_predictor(predictor.method);
    state.set_horizon(static_cast<std::uint32_t>(predictor.horizon));
    state.set_settings_refused(refused_);
    state.clear_own_rules();
    if (!read_extension_name(predictor.method)) return;
    // The cost has quantiles, which take too long for every slot.
    if (slots_since_cost_++ % cost_period_slots == 0)
        if (const auto cost = own_->cost()) extension::fill(*cost, cost_);
    *state.add_own_rules() = cost_;
}

}  // namespace wip
