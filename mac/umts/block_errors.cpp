// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/block_errors.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "types/require.h"

namespace wip::umts {
namespace {

// pC1 of chain3, from P(E), p12 and p22.
double first_error_of(const block_error_config& c) {
    return c.rate * (1 - c.p22) / ((1 - c.rate) * (1 - c.p22 + c.p12));
}

}  // namespace

void block_error_config::check(std::string_view direction) const {
    const std::string begin = std::string("umts.").append(direction), errors = begin + "errors";
    check_range(errors, rate, setting::umts_errors);
    require(model == error_model::uniform || model == error_model::chain3 || rate <= 0.5, errors,
            rate, "0..0.5 with an error model whose losses come in clusters");
    require(std::ranges::all_of(runs, [](int n) { return n >= 0; }) &&
                (runs.empty() || std::ranges::any_of(runs, [](int n) { return n > 0; })),
            "the number of runs of blocks in " + begin + "error_trace",
            static_cast<double>(runs.size()),
            "0 (no pattern), or runs of 0 and more blocks each, one of which is not empty");
    check_range(begin + "error_burst", burst, setting::umts_error_burst);
    check_range(begin + "error_p12", p12, setting::umts_error_p12);
    check_range(begin + "error_p22", p22, setting::umts_error_p22);
    if (model == error_model::chain3)
        require(first_error_of(*this) <= 1, errors, rate,
                "at most " + text_of((1 - p22 + p12) / (2 - 2 * p22 + p12)) + " with " + begin +
                    "error_p12 = " + text_of(p12) + " and " + begin +
                    "error_p22 = " + text_of(p22));
}

block_chain chain_of(const block_error_config& c) {
    c.check();
    const double leave = 1 / c.burst;
    block_chain chain;
    chain.next = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    if (c.model == error_model::markov2) {
        // Stay in the bad state: rate of the time, 1 / leave blocks at once.
        const double enter = leave * c.rate / (1 - c.rate);
        chain = {2, {0, 1, 0}, {{{1 - enter, enter, 0}, {leave, 1 - leave, 0}, {0, 0, 1}}}};
    } else if (c.model == error_model::chain3) {
        const double enter = first_error_of(c);
        chain = {
            3, {0, 1, 1}, {{{1 - enter, enter, 0}, {1 - c.p12, 0, c.p12}, {1 - c.p22, 0, c.p22}}}};
    } else if (c.model == error_model::birth_death) {
        // Twice as much time in the middle as in the bad one: rate = middle / 2 + bad = middle.
        const double half = leave / 2, enter = half * c.rate / (1 - 1.5 * c.rate);
        chain = {3,
                 {0, 0.5, 1},
                 {{{1 - enter, enter, 0}, {half, 1 - leave, half}, {0, leave, 1 - leave}}}};
    } else {
        chain.loss[0] = c.rate;
    }
    return chain;
}

block_errors::block_errors(const block_error_config& config, std::uint64_t seed)
    : chain_(chain_of(config)), runs_(config.runs), random_(seed) {
    if (config.model != error_model::burst || config.rate == 0) return;
    length_ = std::llround(config.burst);
    period_ = std::min(static_cast<double>(length_) / config.rate, 1e18);
    end_ = std::llround(period_);
}

bool block_errors::lost() noexcept {
    if (!runs_.empty()) {
        for (; blocks_of_run_ == runs_[run_]; blocks_of_run_ = 0) run_ = (run_ + 1) % runs_.size();
        ++blocks_of_run_;
        return run_ % 2 == 1;
    }
    if (period_ > 0) {
        if (++block_ >= end_) end_ = std::llround(static_cast<double>(++bursts_) * period_);
        return block_ >= end_ - length_;
    }
    const bool lost = draw() < chain_.loss[static_cast<std::size_t>(state_)];
    double left = draw();
    const auto& row = chain_.next[static_cast<std::size_t>(state_)];
    int next = 0;
    while (next < chain_.states - 1 && left >= row[static_cast<std::size_t>(next)])
        left -= row[static_cast<std::size_t>(next++)];
    state_ = next;
    return lost;
}

}  // namespace wip::umts
