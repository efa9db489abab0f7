// SPDX-License-Identifier: GPL-3.0-or-later
// The analog filter of a front end, of the bandwidth that the radio has at the moment: its
// amplitude up to half the sample rate, with the least phase that goes with it (what the device has
// but for a delay). It commutes with image and DC offset; what a burst leaves in it at its end is
// not sent. Not liquid-dsp's firfilt: that takes eleven times as long.
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

class analog_filter {
public:
    analog_filter(const radio_model& model, side s);
    // Sample `first` on; a gap begins with zeros. in and out may be one memory.
    void work(std::int64_t first, std::span<const air::cf32> in, std::span<air::cf32> out);

private:
    void convolve(std::int64_t first, std::span<air::cf32> out) const noexcept;

    std::optional<analog_shape> shape_;
    std::shared_ptr<const bandwidth_setting> bandwidth_;
    double rate_, made_for_ = 0;
    std::vector<float> taps_{};
    sample_model::history_buffer history_;
};

}  // namespace wip::vusrp
