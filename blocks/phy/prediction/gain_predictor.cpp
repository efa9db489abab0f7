// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/gain_predictor.h"

#include <stdexcept>
#include <string>

#include "phy/prediction/predictors.h"
#include "types/not_valid.h"

namespace wip::phy {

namespace {

class last_predictor final : public gain_predictor {
public:
    void reset() noexcept override {}
    bool update(const gain_sample& now, bin_gains& ahead) noexcept override {
        ahead = now.gain;
        return true;
    }
    void skip() noexcept override {}
};

}  // namespace

std::unique_ptr<gain_predictor> make_gain_predictor(std::string_view name, int horizon) {
    if (horizon < 1 || horizon > 64)
        throw std::invalid_argument(not_valid("horizon", std::to_string(horizon), "1..64 slots"));
    if (name == "last") return std::make_unique<last_predictor>();
    if (name == "ar") return make_burg_predictor(horizon);
    if (name == "ls") return make_least_squares_predictor(horizon);
    if (name == "kalman") return make_kalman_predictor(horizon);
    if (name == "delay") return make_delay_predictor(horizon);
    std::string valid;
    for (const auto n : predictor_names) valid += (valid.empty() ? "" : ", ") + std::string(n);
    throw std::invalid_argument(
        not_valid("predictor", std::string("'").append(name).append("'"), valid));
}

}  // namespace wip::phy
