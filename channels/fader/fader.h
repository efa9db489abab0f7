// SPDX-License-Identifier: GPL-3.0-or-later
// The fader: the channel between radios that are joined to the stations by cables.
//
//   station's transmitter --cable--> receiver of its fading_radio   | mixer |   transmitter of
//   another one's fading_radio --cable--> that station's receiver
//
// A sample that is received at index n leaves, with everything the mixer does to it, at index n +
// delay exactly, on the radios' common clock: the samples have times on both sides, and no thread's
// pace is in between. The mixer's index is the time of reception, so the channel at a given time is
// the same in every run, and the same as that of a medium with the same seed.
//
// A run begins with a sounding (sounding.h), before what a station sends goes through; the bursts
// of a station are noted as they pass (station_soundings.h).
//
// One thread receives a piece of `chunk` samples from every radio that some path begins at, mixes
// it for every radio that some path ends at, and sends it. Samples that a receiver loses are zero,
// counted, and the samples after them keep their time; samples that leave too late are lost at the
// radio and counted. A receiver that falls silent holds up all radios: it is named, and events are
// counted meanwhile. A receiver whose clock stands still as well, as in a medium that waits, is not
// silent.
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
    mix::mix_config mix;  // a node is a radio
    tick delay = 0;       // samples from reception to transmission
    tick chunk = 0;       // samples at a time
    bool sounds = true;   // before the first sample goes through
    // The samples received by a node's radio, and those sent by it, with their times there: called
    // by the thread that mixes. Empty: they are not needed.
    enum class side { input, output };
    std::function<void(std::size_t node, side, tick, std::span<const cf32>)> watch{};
    // A receiver gives nothing for a second of its own time, or again something: called by the
    // same.
    std::function<void(std::size_t node, bool silent)> says{};
};

// Mean power over the last 64 pieces, by node.
struct fader_levels {
    std::vector<double> input, output;
};

// Counted since the start or reset_counters().
struct fader_status {
    tick now = 0;                            // received so far
    std::uint64_t pieces = 0;                // mixed and sent
    std::uint64_t overflows = 0;             // at a receiver
    std::uint64_t gaps = 0;                  // stretches that are zero instead
    std::uint64_t lost_samples = 0;          // in them
    std::uint64_t silences = 0;              // of a receiver, each longer than a second
    std::uint64_t late = 0, underflows = 0;  // at a transmitter
    std::uint64_t stalls = 0;                // of a transmitter (fading_radio.h)
    std::uint64_t clipped = 0;               // components at full scale of what was sent
    // Least time between the end of mixing a piece and its time on the air. All radios share one
    // time, even those of different devices (host/cabled/usrp_radio.cpp refuses others).
    tick least_lead = never;

    // The counts since then: all of them, if the counters were reset.
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

    // Streams begin at that time of the radios; until stop().
    void run(tick begin);
    void stop() noexcept { stop_.store(true); }

    std::optional<tick> change(mix::mixer_changes c);  // any thread
    bool change_waits() const noexcept { return changes_.waits(); }
    fader_status status() const;  // any thread
    fader_moment moment() const;  // any thread
    // Nothing: not sounded, or not yet. Any thread.
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
    void look(tick at);

    fader_setup setup_;
    std::vector<fading_radio*> radios_;
    mix::mixer mixer_;
    std::vector<received_samples> rings_;
    std::vector<const mix::sample_source*> sources_;
    std::vector<mix::node_tuning> tunings_;
    std::vector<bool> sends_, hears_;  // by node: a path begins, ends at it
    std::vector<bool> silent_;         // by node
    std::size_t last_that_hears_ = 0;
    std::vector<cf32> in_, out_;
    mix::change_door changes_;
    std::atomic<bool> stop_{false};
    mutable std::mutex mutex_;
    fader_status status_;
    fader_moment moment_;
    struct power_sum {
        double sum = 0, samples = 0;
        void add(std::span<const cf32> x);
        double take();  // the mean; begins again
    };
    std::vector<power_sum> received_, sent_;  // of the thread that mixes
    std::shared_ptr<sounding> sounding_;      // made by run()
    station_soundings stations_;
};

}  // namespace wip::cabled
