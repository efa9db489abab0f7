// SPDX-License-Identifier: GPL-3.0-or-later
#include "iq/power_spectrum.h"
//
#include <liquid/liquid.h>  // its complex numbers are those of <complex> when that came first

#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>
#include <numbers>

#include "phy/ofdm/ofdm.h"

namespace wip::iq {

namespace {
constexpr unsigned int transform = fft_size, step = fft_size / 2;
}

void power_spectrum::destroy::operator()(spgramcf_s* s) const {
    const std::lock_guard hold(phy::fft_planner());
    spgramcf_destroy(s);
}

power_spectrum::power_spectrum() {
    {
        const std::lock_guard hold(phy::fft_planner());
        spectrum_.reset(spgramcf_create(transform, LIQUID_WINDOW_BLACKMANHARRIS, transform, step));
    }
    if (!spectrum_) throw std::bad_alloc();
    constexpr int at = 100;  // any point will do: its frequency is periodic in the transform
    std::vector<cf32> tone(transform);
    for (std::size_t n = 0; n < tone.size(); ++n)
        tone[n] = std::polar(
            1.0F, static_cast<float>(2 * std::numbers::pi *
                                     static_cast<double>(at * n % transform) / transform));
    std::vector<float> db(nof_points);
    measure(tone, std::span<float, nof_points>(db));
    full_scale_db_ = db[nof_points / 2 + at];
}

void power_spectrum::measure(std::span<const cf32> in, std::span<float, nof_points> db) {
    const auto write = [this](std::span<const cf32> part) {
        // The function does not write to the samples, but its C declaration has no const.
        spgramcf_write(spectrum_.get(), const_cast<cf32*>(part.data()),
                       static_cast<unsigned int>(part.size()));
    };
    spgramcf_reset(spectrum_.get());
    write(in.first(transform - step));
    spgramcf_clear(spectrum_.get());  // clears the sums, not the buffer
    write(in.subspan(transform - step));
    spgramcf_get_psd(spectrum_.get(), db.data());
}

bool power_spectrum::work(std::span<const cf32> in, std::span<float, nof_points> dbfs) {
    measure(in, dbfs);
    for (float& value : dbfs) value = std::max(value - full_scale_db_, lowest_dbfs);
    return std::ranges::all_of(dbfs, [](float value) { return std::isfinite(value); });
}

}  // namespace wip::iq
