// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/ofdm/ofdm.h"

#include <fftw3.h>

#include <array>
#include <new>

namespace wip::phy {

std::mutex& fft_planner() {
    static std::mutex m;
    return m;
}

namespace {

// 768 = 64 * 12, the last step with vectors of 64. FFTW 3.3.10 (Debian 12) exported the first one
// after it had measured plans on a processor with AVX. The second one gives 64-bit ARM the same
// steps, so that sums have the same order on both; by FFTW's count it has 12 % fewer operations
// than the plan that FFTW estimates there, and no ARM processor has measured it. FFTW refuses what
// another version or processor exported, and estimates a plan.
constexpr std::array wisdoms{
    R"((fftw-3.3.10 fftwf_wisdom #x9e7d4dee #xdb14fed1 #x34bf76a4 #xeb6e8fdf
  (fftwf_codelet_n2bv_12_avx 0 #x11bdd #x11bdd #x0 #xb3f3e01d #x274c1b2e #xec22e7dd #x3833d655)
  (fftwf_codelet_n2fv_12_avx 0 #x11bdd #x11bdd #x0 #xecd9d866 #x37ea6295 #x48c8aebe #x0b85c7fe)
  (fftwf_codelet_t2fv_64_avx 0 #x11bdd #x11bdd #x0 #x3cc9797d #x91d96cce #x23d08481 #x0d4d65b2)
  (fftwf_codelet_t2bv_64_avx 0 #x11bdd #x11bdd #x0 #x8e69159f #xdbba7098 #xa44079db #x55214eca)
))",
    R"((fftw-3.3.10 fftwf_wisdom #x4a633eef #xb5a95564 #x91014bdd #x9c85ce5f
  (fftwf_codelet_n2bv_12_neon 0 #x11bdd #x11bdd #x0 #x24ec0ca5 #xdce83cce #x640725c3 #x0f59faed)
  (fftwf_codelet_n2fv_12_neon 0 #x11bdd #x11bdd #x0 #xeead697f #xb80845fb #x557062c6 #x30bf8492)
  (fftwf_codelet_t2fv_64_neon 0 #x11bdd #x11bdd #x0 #x3556ad48 #x39763ee0 #xb1a76e50 #xcb7accde)
  (fftwf_codelet_t2bv_64_neon 0 #x11bdd #x11bdd #x0 #xb0848391 #x0eec388d #x26a22f43 #xe04601d8)
))"};

fftwf_complex* raw(const cf32* p) { return reinterpret_cast<fftwf_complex*>(const_cast<cf32*>(p)); }
}  // namespace

dft::dft(direction d) {
    aligned_vector<cf32> in(fft_size), out(fft_size);
    const std::lock_guard hold(fft_planner());
    for (const char* wisdom : wisdoms) fftwf_import_wisdom_from_string(wisdom);
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
