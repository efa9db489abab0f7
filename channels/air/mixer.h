// SPDX-License-Identifier: GPL-3.0-or-later
// What a receiver hears at sample n:
//
//   y[n] = g_rx[n] ( sum over paths  g_path h_path[n] e^{j 2 pi df n / fs} g_tx[m] x_tx[m]  + w[n]
//   ), m = n - delay, only of paths whose transmitter at m is tuned within `hearing_hz` of the
//   receiver at n (frequency division: everything else is filtered away), df = f_tx[m] - f_rx[n] +
//   the path's shift, |Re y|, |Im y| clipped at full scale.
//
// Every factor is a function of the absolute sample index, so a stretch may be computed ahead of
// time and computed again when a command changes it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "air/medium_config.h"
#include "air/transmit_queue.h"
#include "air/tuning.h"
#include "sample/flat_fading.h"
#include "sample/noise.h"

namespace wip::air {

struct node_tuning {
    tuning transmit_frequency{default_frequency};
    tuning receive_frequency{default_frequency};
    tuning transmit_gain{0};
    tuning receive_gain{0};
    tuning& of(command_kind kind);
};

class mixer {
public:
    explicit mixer(const medium_config& config);

    // What node `receiver` hears from `at` on.
    void hear(std::size_t receiver, tick at, std::span<cf32> out,
              std::span<const transmit_reader> transmitters, std::span<const node_tuning> tunings);
    tick max_delay() const noexcept { return max_delay_; }

private:
    struct path {
        std::size_t from;
        float amplitude;
        tick delay;
        double shift_hz;
        std::unique_ptr<sample_model::flat_fading> fading;
    };
    void add_path(path& p, std::size_t receiver, tick at, std::span<cf32> out,
                  const transmit_reader& transmitter, const node_tuning& from,
                  const node_tuning& to);

    std::vector<std::vector<path>> paths_;  // by receiver
    std::vector<std::unique_ptr<sample_model::noise>> noise_;
    std::vector<cf32> scratch_;
    double hearing_hz_;
    tick max_delay_ = 0;
};

}  // namespace wip::air
