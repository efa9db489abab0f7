// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/ofdm/ofdm.h"

#include <fftw3.h>

#include <new>

namespace wip::phy {

std::mutex& fft_planner() {
    static std::mutex m;
    return m;
}

namespace {

// As exported by FFTW 3.3.10 (Debian 12) after planning both directions.
constexpr const char* wisdom =
    R"((fftw-3.3.10 fftwf_wisdom #x9e7d4dee #xdb14fed1 #x34bf76a4 #xeb6e8fdf
  (fftwf_codelet_n2bv_12_avx 0 #x11bdd #x11bdd #x0 #xb3f3e01d #x274c1b2e #xec22e7dd #x3833d655)
  (fftwf_codelet_n2fv_12_avx 0 #x11bdd #x11bdd #x0 #xecd9d866 #x37ea6295 #x48c8aebe #x0b85c7fe)
  (fftwf_codelet_t2fv_64_avx 0 #x11bdd #x11bdd #x0 #x3cc9797d #x91d96cce #x23d08481 #x0d4d65b2)
  (fftwf_codelet_t2bv_64_avx 0 #x11bdd #x11bdd #x0 #x8e69159f #xdbba7098 #xa44079db #x55214eca)
))";

fftwf_complex* raw(const cf32* p) { return reinterpret_cast<fftwf_complex*>(const_cast<cf32*>(p)); }
}  // namespace

dft::dft(direction d) {
    aligned_vector<cf32> in(fft_size), out(fft_size);
    const std::lock_guard hold(fft_planner());
    fftwf_import_wisdom_from_string(wisdom);
    plan_ = fftwf_plan_dft_1d(fft_size, raw(in.data()), raw(out.data()),
                              d == direction::to_subcarriers ? FFTW_FORWARD : FFTW_BACKWARD,
                              FFTW_ESTIMATE);
    if (plan_ == nullptr) throw std::bad_alloc();
}

dft::~dft() {
    const std::lock_guard hold(fft_planner());
    fftwf_destroy_plan(plan_);
}

void dft::execute(const cf32* in, cf32* out) const noexcept {
    fftwf_execute_dft(plan_, raw(in), raw(out));
}

}  // namespace wip::phy
