// SPDX-License-Identifier: GPL-3.0-or-later
// The filters of a front end: the analog filter at the present bandwidth, with its amplitude up to
// half the sample rate and minimum phase, and the delay of the whole chain of filters, which is not
// a whole number of samples. Their order relative to image and DC offset has no effect. The tail of
// a burst in the filters is not sent, and a run of received samples begins with empty filters.
// liquid-dsp's firfilt is not used, since it takes eleven times as long.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "air/layout.h"
#include "sample/history_buffer.h"
#include "vusrp/radio_model.h"

namespace wip::vusrp {

// The coefficients of the analog filter; empty if it attenuates no frequency of the band by 0.05
// dB.
std::vector<float> filter_taps(const analog_shape& shape, double bandwidth, double sample_rate);

// Taps with an additional delay, without their leading zeros; `first`: the number of these.
struct delayed_taps {
    std::vector<float> taps;
    std::int64_t first;
};
delayed_taps delay_taps(std::vector<float> taps, double samples);

class analog_filter {
public:
    analog_filter(const radio_model& model, side s);
    // Filters the samples from `first` on; after a gap the filter is empty. in and out may be the
    // same memory.
    void work(std::int64_t first, std::span<const air::cf32> in, std::span<air::cf32> out);

private:
    void convolve(std::int64_t first, std::span<air::cf32> out) const noexcept;

    std::optional<analog_shape> shape_;
    std::shared_ptr<const bandwidth_setting> bandwidth_;
    double rate_, delay_, made_for_ = 0;
    std::vector<float> taps_{};
    std::int64_t first_tap_ = 0;  // delay of taps_[0], samples
    sample_model::history_buffer history_;
};

}  // namespace wip::vusrp
