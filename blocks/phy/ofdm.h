// SPDX-License-Identifier: GPL-3.0-or-later
// FFTW for one OFDM symbol of 768 samples. Plans are made with FFTW_ESTIMATE: the choice of
// algorithm then does not depend on a timing measurement, and a rerun is bit-identical.
// FFTW's planner is not thread-safe: one mutex guards plan and destruction.
#pragma once

#include <complex>

#include "phy/aligned.h"
#include "types/grid.h"

struct fftwf_plan_s;

namespace wip::phy {

using cf32 = std::complex<float>;

class dft {
public:
    enum class direction { to_subcarriers, to_samples };
    explicit dft(direction d);
    ~dft();
    dft(const dft&) = delete;
    dft& operator=(const dft&) = delete;

    // Both 64-byte aligned, 768 values, not the same; unscaled.
    void execute(const cf32* in, cf32* out) const noexcept;

private:
    fftwf_plan_s* plan_;
};

}  // namespace wip::phy
