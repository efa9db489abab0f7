// SPDX-License-Identifier: GPL-3.0-or-later
// 16-QAM symbols through the noise of the channel models: the share of wrong symbols beside the
// link's own curve, on one line. Exit code 1: they differ by more than 5 standard deviations.
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "link/frame_success.h"
#include "phy/qam/constellation.h"
#include "sample/noise.h"
#include "types/grid.h"

int main() {
    constexpr int bits = 4, count = 400000;
    constexpr double snr_db = 14;
    const wip::phy::constellation qam(bits);
    std::vector<std::complex<float>> sent(count), received(count);
    for (int i = 0; i < count; ++i) sent[i] = qam.points()[i % (1 << bits)];
    wip::sample_model::noise noise(std::pow(10.0, -snr_db / 10), 1);
    noise.work(sent, received);
    std::vector<float> re(count), im(count);
    for (int i = 0; i < count; ++i) re[i] = received[i].real(), im[i] = received[i].imag();
    std::vector<std::uint8_t> labels(count);
    qam.slice(re.data(), im.data(), labels.data(), count);
    int wrong = 0;
    for (int i = 0; i < count; ++i) wrong += labels[i] != i % (1 << bits);

    const auto curve = wip::log_symbol_errors(bits, wip::eight_points::star);
    const auto at = static_cast<std::size_t>((snr_db - wip::symbol_error_lowest.value) *
                                             wip::symbol_errors_per_db);
    const double expected = std::exp(curve[at]), measured = double(wrong) / count;
    std::printf("symbol error rate %.5f, of the link's curve %.5f\n", measured, expected);
    return std::abs(measured - expected) > 5 * std::sqrt(expected * (1 - expected) / count);
}
