// SPDX-License-Identifier: GPL-3.0-or-later
// Records what a fader receives and sends, each side of each node that it uses, from the first
// sample on: BASE-NODE-input.sigmf-data, BASE-NODE-output.sigmf-data. The metadata is made by
// ./openwip fader from BASE-NODE-SIDE.facts, which is written here at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cabled/fader_config.h"
#include "iq/sample_recorder.h"
#include "os/output_file.h"

namespace wip::cabled {

class side_recorder {
public:
    // Throws bad_input naming the file that cannot be made.
    explicit side_recorder(const fader_config& config);
    ~side_recorder();  // calls finish()

    // Records a number of seconds of each side, the input from `begin` on, the output from the
    // fader's delay after that.
    void begin(tick begin);
    // Takes samples; called by the thread that mixes.
    void take(std::size_t node, fader_setup::side side, tick first, std::span<const cf32> x);
    // Whether all samples have been taken. Called by one other thread, which then calls finish()
    // once, to write the facts.
    bool complete() const noexcept { return open_.load(std::memory_order_acquire) == 0; }
    void finish();

private:
    // Both files are made, with their names, before privileges are given up.
    struct one {
        explicit one(const std::string& base);
        os::output_file samples;
        os::output_file facts;
        iq::sample_recorder recorder;
        bool over = false, announced = false;
    };
    static constexpr std::size_t nof_sides = 2;
    std::unique_ptr<one>& of(std::size_t node, fader_setup::side side) {
        return sides_[nof_sides * node + static_cast<std::size_t>(side)];
    }
    std::vector<std::unique_ptr<one>> sides_;
    tick length_, delay_, end_ = 0;
    std::atomic<int> open_{0};  // sides that are still recording
};

}  // namespace wip::cabled
