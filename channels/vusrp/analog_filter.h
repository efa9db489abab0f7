// SPDX-License-Identifier: GPL-3.0-or-later
// The filters of a front end: the analog one, of the bandwidth that the radio has at the moment,
// with its amplitude up to half the sample rate and the least phase that goes with it, and the
// delay of the whole chain of filters, which is no whole number of samples. They commute with image
// and DC offset; what a burst leaves in them at its end is not sent, and a run of received samples
// begins with empty filters. Not liquid-dsp's firfilt: that takes eleven times as long.
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

// Coefficients; none where nothing of the band loses 0.05 dB.
std::vector<float> filter_taps(const analog_shape& shape, double bandwidth, double sample_rate);

// The same behind a delay, and the first sample of it that is not zero. No delay: the taps.
struct delayed_taps {
    std::vector<float> taps;
    std::int64_t first;
};
delayed_taps delay_taps(std::vector<float> taps, double samples);

class analog_filter {
public:
    analog_filter(const radio_model& model, side s);
    // Sample `first` on; a gap begins with zeros. in and out may be one memory.
    void work(std::int64_t first, std::span<const air::cf32> in, std::span<air::cf32> out);

private:
    void convolve(std::int64_t first, std::span<air::cf32> out) const noexcept;

    std::optional<analog_shape> shape_;
    std::shared_ptr<const bandwidth_setting> bandwidth_;
    double rate_, delay_, made_for_ = 0;
    std::vector<float> taps_{};
    std::int64_t first_tap_ = 0;  // samples before it are zero
    sample_model::history_buffer history_;
};

}  // namespace wip::vusrp
