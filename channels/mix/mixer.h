// SPDX-License-Identifier: GPL-3.0-or-later
// The signal at a receiver at sample n:
//
//   y[n] = I_rx( g_rx[n] ( sum over paths  g_path I_path( l_path[n] e^{j 2 pi df n / fs}
//   (h_path * g_tx x_tx)[m] ) + w[n] )), m = n - delay, only of paths whose transmitter at m is
//   tuned within `hearing_hz` of the receiver at n (frequency division: everything else is filtered
//   away), df = f_tx[m] - f_rx[n] + the path's shift, |Re y|, |Im y| clipped at full scale. The
//   phases of both radios' frequencies and gains (tuning.h) turn the signal as well.
//
// h is flat fading, multipath or the filter of an SNR trace, l shadowing, path loss and blackout,
// I_path and I_rx are chains of impairments (sample/stage_chain.h). Every factor is a function of
// the absolute sample index, so a stretch may be computed ahead of time and computed again when a
// command changes it. Before a stretch that does not continue the last one, filters run over as
// much of the past as they have memory. Their latency is subtracted from the delay of the path, at
// most down to zero: a path with multipath and delay_samples 0 comes 6 samples late, with
// delay_samples >= 6 exactly as configured.
//
// A path's channel, a receiver's noise and a blackout may change during a run, from a sample on
// that has not been computed. The new channel has the values that it would have at that sample if
// the run had begun with it. The two are cross-faded over `fade_samples` (15 slots): out as the
// cosine, in as the sine, so that the mean power of two independent channels stays and no slot
// contains a jump; linearly when the two differ in their level only. Noise and blackout change at
// once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mix/mix_config.h"
#include "mix/sample_source.h"
#include "mix/tuning.h"
#include "sample/flat_fading.h"
#include "sample/large_scale_gain.h"
#include "sample/noise.h"
#include "sample/sample_clock.h"
#include "sample/stage_chain.h"
#include "sample/tapped_delay_line.h"
#include "sample/trace_filter.h"
#include "types/db.h"

namespace wip::mix {

// One tap of a path: y[n] = gain x[n - delay].
struct path_tap {
    double delay_samples;
    std::complex<double> gain;
};

struct node_tuning {
    tuning transmit_frequency{default_frequency};
    tuning receive_frequency{default_frequency};
    tuning transmit_gain{0};
    tuning receive_gain{0};
};

class mixer {
public:
    explicit mixer(const mix_config& config);

    // Computes the signal at node `receiver` from `at` on, in the node's own time. The samples of
    // the transmitters must be known up to medium_time() of the last sample.
    void hear(std::size_t receiver, tick at, std::span<cf32> out,
              std::span<const sample_source* const> transmitters,
              std::span<const node_tuning> tunings);
    tick max_delay() const noexcept { return max_delay_; }

    static constexpr tick fade_samples = 15 * 5120;
    struct path;
    struct path_delete {
        void operator()(path* p) const noexcept;
    };
    using prepared_path = std::unique_ptr<path, path_delete>;
    // Makes the channel of a path; any thread. `number`: index of the path in the configuration.
    // Throws what the models throw.
    static prepared_path prepare(const path_config& c, std::size_t number, std::uint64_t seed);
    // Replaces path `number` from `at` on, which is not before settled(). `level_only`: the new
    // channel differs in its level only, so that during the cross-fade the amplitudes of both add
    // up, not their powers.
    void replace(std::size_t number, std::size_t receiver, prepared_path next, tick at,
                 bool level_only = false);
    // The sample at which the last change of that path will have faded in.
    tick settled(std::size_t number, std::size_t receiver) const noexcept;
    // Sets the noise of a receiver that has noise.
    void set_noise(std::size_t receiver, dbfs level, tick at);
    // Attenuates all paths of the receiver by `loss` in [from, to); `to` = never: until the next
    // change.
    void set_blackout(std::size_t receiver, db loss, tick from, tick to);
    // The taps of path `number` at that sample as configured: channel, shift, gain, cross-fade and
    // blackout, but no impairments. Measurements of the output are compared with them.
    std::vector<path_tap> taps(std::size_t number, std::size_t receiver, tick at);
    // Discards samples that only earlier times needed.
    void forget_before(tick time);

    // A receiver with a sampling clock of its own counts time in its samples: the number of samples
    // of node `i` in the medium's first `time` ticks, and the tick of its sample n. Without such a
    // clock they are equal.
    tick node_time(std::size_t i, tick time) const noexcept {
        return receivers_[i].clock ? receivers_[i].clock->ready(time) : time;
    }
    tick medium_time(std::size_t i, tick n) const noexcept {
        return receivers_[i].clock ? receivers_[i].clock->time_of(n) : n;
    }
    std::int64_t clock_parts(std::size_t i) const noexcept {
        return receivers_[i].clock ? receivers_[i].clock->parts() : 0;
    }

private:
    struct receiver_chain {
        std::unique_ptr<sample_model::stage_chain> before_clock;  // with a clock only
        std::unique_ptr<sample_model::sample_clock> clock;
        std::unique_ptr<sample_model::stage_chain> impairments;
        tick position = never;
    };
    void make_receiver(std::size_t i, const mix_config& config);
    // The receiver's samples before the impairments that follow its clock.
    void sampled(std::size_t receiver, tick at, std::span<cf32> out,
                 std::span<const sample_source* const> transmitters,
                 std::span<const node_tuning> tunings);
    // Restarts the receiver's clock so that sample `at` can be the next one.
    void restart_clock(std::size_t receiver, tick at,
                       std::span<const sample_source* const> transmitters,
                       std::span<const node_tuning> tunings);
    // The sum of the paths and the noise, times the receiver's gain: the input of its impairments.
    void sum(std::size_t receiver, tick at, std::span<cf32> out,
             std::span<const sample_source* const> transmitters,
             std::span<const node_tuning> tunings);
    void add_path(path& p, std::size_t receiver, tick at, std::span<cf32> out,
                  const sample_source& transmitter, const node_tuning& from, const node_tuning& to);
    // The transmitted signal at the path's delay, gain and frequency shift, before multipath and
    // impairments. Returns false if it is all zero.
    bool transmitted_signal(path& p, tick at, std::span<cf32> x, const sample_source& transmitter,
                            const node_tuning& from, const node_tuning& to);
    // The same after multipath, impairments, fading and large-scale gain.
    bool received_signal(path& p, tick at, std::span<cf32> x, const sample_source& transmitter,
                         const node_tuning& from, const node_tuning& to);

    // Weights the signal x of path p while it is faded in or out, and applies the blackout's
    // attenuation.
    void apply_fades(const path& p, std::size_t receiver, tick at,
                     std::span<cf32> x) const noexcept;

    std::vector<std::vector<prepared_path>> paths_;  // by receiver
    std::vector<std::unique_ptr<sample_model::noise>> noise_;
    std::vector<tuning> noise_dbfs_, loss_db_;  // by receiver
    std::vector<receiver_chain> receivers_;
    std::vector<cf32> scratch_, past_, clock_input_;
    double hearing_hz_;
    tick max_delay_ = 0, longest_receiver_ = 0;
};

}  // namespace wip::mix
