// SPDX-License-Identifier: GPL-3.0-or-later
// FFTW for one OFDM symbol of 768 samples. A plan that FFTW finds by measuring (FFTW_MEASURE)
// differs from run to run, and with it the last bit of every result; the one that it guesses
// (FFTW_ESTIMATE) costs 6.2 us for six symbols where the best costs 3.3. So the best plan, 64 x 12,
// is handed over as wisdom: the same in every run. Wisdom of another FFTW version or processor
// family is refused by FFTW itself, and the guess is used.
//
// FFTW's planner is not thread-safe: one mutex guards plan and destruction, of every plan of this
// tree. GNU Radio's own blocks have another (gr::fft::planner): a GNU Radio block that plans while
// it runs, as a frequency sink of another size does, must not do so while one of these is made or
// destroyed. FFTW's own lock (fftwf_make_planner_thread_safe) would not help: it leaves out the
// import of wisdom.
#pragma once

#include <complex>
#include <mutex>

#include "phy/math/aligned.h"
#include "types/grid.h"

struct fftwf_plan_s;

namespace wip::phy {

using cf32 = std::complex<float>;

// The mutex that all code of this tree holds while it plans with FFTW, itself or through another
// library.
std::mutex& fft_planner();

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
