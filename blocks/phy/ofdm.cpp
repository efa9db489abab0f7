// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/ofdm.h"

#include <fftw3.h>

#include <mutex>
#include <new>

namespace wip::phy {

namespace {
std::mutex& planner() {
    static std::mutex m;
    return m;
}
fftwf_complex* raw(const cf32* p) { return reinterpret_cast<fftwf_complex*>(const_cast<cf32*>(p)); }
}  // namespace

dft::dft(direction d) {
    aligned_vector<cf32> in(fft_size), out(fft_size);
    const std::lock_guard hold(planner());
    plan_ = fftwf_plan_dft_1d(fft_size, raw(in.data()), raw(out.data()),
                              d == direction::to_subcarriers ? FFTW_FORWARD : FFTW_BACKWARD,
                              FFTW_ESTIMATE);
    if (plan_ == nullptr) throw std::bad_alloc();
}

dft::~dft() {
    const std::lock_guard hold(planner());
    fftwf_destroy_plan(plan_);
}

void dft::execute(const cf32* in, cf32* out) const noexcept {
    fftwf_execute_dft(plan_, raw(in), raw(out));
}

}  // namespace wip::phy
