// SPDX-License-Identifier: GPL-3.0-or-later
// Interference by other transmitters: a tone at a frequency, or noise that fills a band. Both add a
// given power.
#pragma once

#include <vector>

#include "sample/cfo.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {

struct tone_config {
    double dbfs = -30;  // -200 to 10
    double hz = 1e6;    // +-3.84e6
};

// y = x + A e^{j 2 pi f n}, phase exact from the index as in cfo.h.
class tone : public memoryless {
public:
    tone(const tone_config& config, const stage_context& context);
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;

private:
    std::uint64_t step_;
    float amplitude_;
};

struct interference_config {
    double dbfs = -30;  // -200 to 10
    double centre_hz = 0;
    double bandwidth_hz = 1e6;  // 20 kHz to 7.68 MHz
};

// White noise that is a function of the index, through a low-pass of 64 coefficients (sinc, Kaiser
// window, -50 dB; its edges are about 350 kHz wide), moved to the centre.
class interference : public memoryless {
public:
    interference(const interference_config& config, const stage_context& context);
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;

private:
    static constexpr int length = 64;
    static constexpr int block = 1024;
    std::vector<float> coefficients_;
    cfo shift_;
    std::uint32_t key_;
    std::vector<cf32> white_;
    std::vector<std::uint32_t> left_, right_;
    std::vector<float> re_, im_;
};

}  // namespace wip::sample_model
