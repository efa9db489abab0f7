// SPDX-License-Identifier: GPL-3.0-or-later
#include "radio/lateness.h"

#include <algorithm>
#include <cmath>

namespace wip::radio {
namespace {

// bursts for each lead, and leads
constexpr int coarse_bursts = 30, fine_bursts = 100, fine_steps = 10;
// seconds; of longer leads fewer bursts are sent, since each takes long
constexpr double long_s = 1e-3;
constexpr int long_bursts = 5;
constexpr double unlikely = 0.05;       // 95 % confidence
constexpr double fastest_growth = 1.5;  // factor from one lead to the next

// Probability of at most `late` of `bursts` when each is late with probability p.
double at_most(std::int64_t late, std::int64_t bursts, double p) {
    const double n = static_cast<double>(bursts);
    double term = n * std::log1p(-p), sum = 0;
    for (std::int64_t k = 0; k <= late; ++k) {
        sum += std::exp(term);
        const double i = static_cast<double>(k);
        term += std::log((n - i) / (i + 1)) + std::log(p) - std::log1p(-p);
    }
    return sum;
}

}  // namespace

double share_at_most(std::int64_t late, std::int64_t bursts) {
    if (late >= bursts) return 1;
    double low = 0, high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (at_most(late, bursts, middle) > unlikely ? low : high) = middle;
    }
    return high;
}

bool lead_search::shown() const {
    const lead_count& c = counts_.back();
    if (static_cast<double>(c.bursts) * share < 2.99)
        return false;  // -log(0.05): too few bursts to show it even if none is late
    return phase_ == phase::confirm && share_at_most(c.late, c.bursts) <= share;
}

bool lead_search::answered() const {
    return phase_ == phase::confirm && counts_.back().bursts >= fine_bursts;
}

void lead_search::confirm() {
    phase_ = phase::confirm;
    try_lead(none_late_s_);
}

void lead_search::add(bool late) {
    lead_count& c = counts_.back();
    ++c.bursts;
    c.late += late;
    if (phase_ == phase::confirm) {
        // More than one late burst beyond the share: the lead is too short.
        if (late && c.late > 1 + share * static_cast<double>(c.bursts) && c.lead_s < longest_s) {
            none_late_s_ = std::min(longest_s, c.lead_s * growth_);
            growth_ = std::min(fastest_growth, growth_ * growth_);
            confirm();
        }
        return;
    }
    const int wanted = phase_ == phase::fine ? fine_bursts
                       : c.lead_s > long_s   ? long_bursts
                                             : coarse_bursts;
    if (c.bursts < wanted) return;
    if (phase_ == phase::coarse) {
        if (c.late == 0) none_late_s_ = c.lead_s;
        // late even at the longest lead; the count will show it
        if (none_late_s_ == 0) none_late_s_ = longest_s;
        const double shorter = c.lead_s * 0.75;
        if (c.late < c.bursts && shorter >= shortest_s) return try_lead(shorter);
        all_late_s_ = c.late == c.bursts ? c.lead_s : 0;
        phase_ = phase::fine;
        none_late_s_ = std::max(none_late_s_, all_late_s_);
        // The steps begin at the short end, so that the shortest without a late one is known.
        step_ = 1;
    } else {
        if (c.late == 0) return none_late_s_ = c.lead_s, confirm();
        ++step_;
    }
    if (step_ >= fine_steps || none_late_s_ <= all_late_s_) return confirm();
    try_lead(all_late_s_ + (none_late_s_ - all_late_s_) * step_ / fine_steps);
}

}  // namespace wip::radio
