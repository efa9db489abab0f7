// SPDX-License-Identifier: GPL-3.0-or-later
// Which radio blocks are lost: a Markov chain of up to three states, each with its own probability
// of a lost block; or bursts of a fixed length; or a recorded sequence.
//   uniform      one state: independent blocks
//   markov2      good without loss, bad without anything else; `burst` is the mean stay in the bad
//                one, in blocks
//   chain3       Smaragdakis (2006): states correct, first lost block of a burst, further lost
//                block; p12 is the probability of a second lost block, p22 that of each further one
//   birth_death  three states in a row, good, middle and bad; the middle one loses every second
//                block; `burst` is the mean stay in each of the two that are not good
//   external     a function of the owner decides (bearer::set_fates)
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "types/setting_limits.h"
#include "types/splitmix64.h"

namespace wip::umts {

enum class error_model : std::uint8_t { uniform, markov2, chain3, birth_death, burst, external };

struct block_error_config {
    error_model model = error_model::uniform;
    double rate = 0;  // share of the blocks that is lost; with a Markov chain up to 0.5
    double burst = setting::umts_error_burst.initial;  // blocks
    double p12 = setting::umts_error_p12.initial, p22 = setting::umts_error_p22.initial;
    // A recorded sequence instead, if there is one: so many blocks arrive, so many are lost, ...;
    // then from its beginning again.
    std::vector<int> runs = {};
    bool operator==(const block_error_config&) const = default;
    // Throws std::invalid_argument naming key, value and what would be valid. `direction`: "" for
    // the downlink, "up_" for the uplink, as in the keys of the settings.
    void check(std::string_view direction = "") const;
};

// Row i: the probability of loss in state i, and of each next state.
struct block_chain {
    int states = 1;
    std::array<double, 3> loss{};
    std::array<std::array<double, 3>, 3> next{};
};
block_chain chain_of(const block_error_config& config);

class block_errors {
public:
    block_errors(const block_error_config& config, std::uint64_t seed);
    // Draws whether the next block is lost.
    bool lost() noexcept;

private:
    double draw() noexcept { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }

    block_chain chain_;
    std::vector<int> runs_;
    std::size_t run_ = 0;
    int blocks_of_run_ = 0;
    double period_ = 0;  // from one burst's end to the next one's, which is rounded to end_
    std::int64_t length_ = 0, block_ = 0, bursts_ = 1, end_ = 0;
    int state_ = 0;
    splitmix64 random_;
};

}  // namespace wip::umts
