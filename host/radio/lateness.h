// SPDX-License-Identifier: GPL-3.0-or-later
// How long before its time a burst has to leave, so that at most one in ten thousand is late: which
// lead is tried next, and what follows from the counts.
//
// Coarse: leads shrink by a quarter, some bursts at each, until all of them are late. Fine: equal
// steps from the longest of which all were late to the shortest of which none was. Then all the
// time that is left at the shortest lead without a late one; more than one late beyond the share
// makes it longer, by an eighth, a quarter, a half, a half and so on, and the count begins again:
// on a machine that stalls now and then the answer is up to a half too long, and never too
// short. The bound is exact: the share p at which so few of n would be late with probability 5 %
// (no late one: 3.0 / n).
#pragma once

#include <cstdint>
#include <vector>

namespace wip::radio {

struct lead_count {
    double lead_s;
    std::int64_t bursts, late;
};

// Upper end of the one-sided 95 % interval of a share.
double share_at_most(std::int64_t late, std::int64_t bursts);

class lead_search {
public:
    static constexpr double longest_s = 20e-3, shortest_s = 10e-6;
    static constexpr double share = 1e-4;  // share of the bursts that may be late

    // The lead of the next burst.
    double next() const noexcept { return counts_.back().lead_s; }
    // Adds a command's result.
    void add(bool late);
    // The bound of the last lead is below the share: more bursts say nothing new.
    bool shown() const;
    // Whether there is an answer, even if it is not one that is shown.
    bool answered() const;
    // Every lead that was tried, in order; the last one is the answer.
    const std::vector<lead_count>& counts() const noexcept { return counts_; }

private:
    enum class phase { coarse, fine, confirm };
    void try_lead(double lead_s) { counts_.push_back({lead_s, 0, 0}); }
    void confirm();

    std::vector<lead_count> counts_{{longest_s, 0, 0}};
    phase phase_ = phase::coarse;
    double all_late_s_ = 0, none_late_s_ = 0;
    int step_ = 0;
    double growth_ = 1.125;
};

}  // namespace wip::radio
