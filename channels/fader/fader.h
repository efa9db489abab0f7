// SPDX-License-Identifier: GPL-3.0-or-later
// The fader: the channel between radios that are connected to the stations by cables.
//
//   station's transmitter --cable--> receiver of its fading_radio   | mixer |   transmitter of
//   another one's fading_radio --cable--> that station's receiver
//
// A sample that is received at index n leaves, with everything the mixer does to it, at index n +
// delay exactly, on the radios' common clock: samples have time stamps at input and output, so the
// speed of threads has no effect on the delay. The mixer's index is the time of reception, so the
// channel at a given time is the same in every run, and the same as that of a medium with the same
// seed.
//
// A run begins with a sounding (sounding.h) before any station's samples are passed on; later the
// bursts that stations send for soundings are recorded as they pass (station_soundings.h).
//
// One thread receives a piece of `chunk` samples from every radio at which a path begins, mixes it
// for every radio at which a path ends, and sends it. Samples that a receiver loses are zero,
// counted, and the samples after them keep their time; samples that leave too late are lost at the
// radio and counted. A receiver that delivers nothing (is silent) holds up all radios: it is
// reported by name, and events are still counted. A receiver whose clock does not advance either,
// as in a medium that waits, is not silent.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fader/fading_radio.h"
#include "fader/received_samples.h"
#include "fader/sounding.h"
#include "fader/station_soundings.h"
#include "mix/change_door.h"

namespace wip::cabled {

struct fader_setup {
    mix::mix_config mix;  // its nodes are the radios
    tick delay = 0;       // samples from reception to transmission
    tick chunk = 0;       // samples at a time
    bool sounds = true;   // make a sounding before the first sample is passed on
    // Called by the mixing thread with the samples that a node's radio has received, and those that
    // it sends, with their times at that radio. It may be empty.
    enum class side { input, output };
    std::function<void(std::size_t node, side, tick, std::span<const cf32>)> watch{};
    // Called by the mixing thread when a receiver has delivered nothing for a second of its own
    // time (silent), and when it delivers samples again (not silent).
    std::function<void(std::size_t node, bool silent)> says{};
};

// Mean power over the last 64 pieces, by node.
struct fader_levels {
    std::vector<double> input, output;
};

// Counted since the start or reset_counters().
struct fader_status {
    tick now = 0;                            // tick up to which samples have been received
    std::uint64_t pieces = 0;                // mixed and sent
    std::uint64_t overflows = 0;             // at a receiver
    std::uint64_t gaps = 0;                  // stretches of lost samples, replaced by zeros
    std::uint64_t lost_samples = 0;          // in these gaps
    std::uint64_t silences = 0;              // silences of a receiver, longer than a second
    std::uint64_t late = 0, underflows = 0;  // at a transmitter
    std::uint64_t stalls = 0;                // stalls of a transmitter (fading_radio.h)
    std::uint64_t clipped = 0;  // real or imaginary parts at full scale in what was sent
    // Least time between the end of mixing a piece and its time on the air, in samples. All radios
    // share one time, even those of different devices (host/cabled/usrp_radio.cpp refuses radios
    // without a common time).
    tick least_lead = never;

    // Returns the counts since `before`, or all of them if the counters were reset in between.
    fader_status since(const fader_status& before) const noexcept;
    bool lost_something() const noexcept {
        return overflows + gaps + silences + late + underflows + stalls > 0;
    }
};

// The state of the mixer at present.
struct fader_moment {
    fader_levels power;
    std::vector<std::vector<mix::path_tap>> taps;  // by path
};

class fader {
public:
    // One radio for each node, not owned. Throws std::invalid_argument when a delay is too short
    // for a piece.
    fader(const fader_setup& setup, std::vector<fading_radio*> radios);

    // Runs until stop(); the streams begin at that time of the radios.
    void run(tick begin);
    void stop() noexcept { stop_.store(true); }

    std::optional<tick> change(mix::mixer_changes c);  // any thread
    bool change_waits() const noexcept { return changes_.waits(); }
    fader_status status() const;  // any thread
    fader_moment moment() const;  // any thread
    // Returns nullopt if there is no sounding, or it is not complete. Any thread.
    std::optional<std::vector<sounding_result>> soundings() const;
    // Bursts of stations so far. Any thread.
    std::vector<station_sounding> station_bursts() const { return stations_.heard(); }
    void reset_counters();  // any thread

private:
    bool collect(tick until);
    bool receive_from(std::size_t node);  // false: nothing came
    void look_for_silence(std::size_t node);
    void mix_and_send(tick at, std::size_t size);
    void count_events();
    void update_moment(tick at);

    fader_setup setup_;
    std::vector<fading_radio*> radios_;
    mix::mixer mixer_;
    std::vector<received_samples> rings_;
    std::vector<const mix::sample_source*> sources_;
    std::vector<mix::node_tuning> tunings_;
    std::vector<bool> is_source_, receives_mix_;  // [node]: whether a path begins, or ends, at it
    std::vector<bool> silent_;                    // [node]
    std::size_t last_output_node_ = 0;
    std::vector<cf32> in_, out_;
    mix::change_door changes_;
    std::atomic<bool> stop_{false};
    mutable std::mutex mutex_;
    fader_status status_;
    fader_moment moment_;
    struct power_average {
        double sum = 0, samples = 0;
        void add(std::span<const cf32> x);
        double take();  // returns the mean and resets the sum
    };
    std::vector<power_average> received_, sent_;  // used by the mixing thread only
    std::shared_ptr<sounding> sounding_;          // made by run()
    station_soundings stations_;
};

}  // namespace wip::cabled
