// SPDX-License-Identifier: GPL-3.0-or-later
// Prediction of the bins' SNR where the Doppler spectrum is not that of Clarke's process, which the
// default predictor is made for: the predictors alone, on gains of typical urban at 75 km/h and 16
// dB (../unit/phy/simulated_gains.h), against the true SNR. For each spectrum:
//   delay, ls, kalman, ar, last   NMSE of the methods of gain_predictor.h
//   bound   the Wiener bound: 32 slots of all bins, delays, powers and spectra known. With the
//           error e of a gain of power 1, complex Gaussian, its power has the NMSE (2 e - e^2) / 2.
// The autocorrelation of the gains is real for Clarke's and the flat spectrum, complex for the
// others, and with two clusters every path has one of its own.
#include <Eigen/Dense>

#include "../unit/phy/simulated_gains.h"
#include "curve_world.h"

namespace wip::curves {

namespace {

using phy::test::spectrum;

constexpr double doppler_hz = 125;
constexpr int past = 32;

double bound(const phy::test::gains& g, int horizon) {
    constexpr int n = nof_bins * past;
    Eigen::MatrixXcd among = Eigen::MatrixXcd::Zero(n, n);
    Eigen::MatrixXcd towards = Eigen::MatrixXcd::Zero(n, nof_bins);
    Eigen::VectorXd power = Eigen::VectorXd::Zero(nof_bins);
    for (std::size_t p = 0; p < g.nof_paths(); ++p) {
        const Eigen::Map<const Eigen::VectorXcd> over(g.over_bins(p).data(), nof_bins);
        const Eigen::MatrixXcd outer = over * over.adjoint();
        for (int i = 0; i < past; ++i) {  // row block i holds the gains i slots ago
            for (int k = 0; k < past; ++k)
                among.block(nof_bins * i, nof_bins * k, nof_bins, nof_bins) +=
                    g.correlation(p, k - i, doppler_hz) * outer;
            towards.middleRows(nof_bins * i, nof_bins) +=
                std::conj(g.correlation(p, horizon + i, doppler_hz)) * outer;
        }
        power += g.correlation(p, 0, doppler_hz).real() * over.cwiseAbs2();
    }
    among.diagonal().array() += double{phy::test::noise_variance} / 12;
    const Eigen::MatrixXcd weights = among.llt().solve(towards);
    double sum = 0;
    for (int b = 0; b < nof_bins; ++b) {
        const double e = 1 - towards.col(b).dot(weights.col(b)).real() / power[b];
        sum += (2 * e - e * e) / 2 / nof_bins;
    }
    return sum;
}

double nmse(std::string_view method, spectrum kind, int horizon, const options& o) {
    constexpr int warm_up = 500, measured = 1000;
    double error = 0, power = 0;
    for (int t = 0; t < o.trials; ++t) {
        phy::test::gains channel(static_cast<unsigned>(o.seed) + 101 * static_cast<unsigned>(t),
                                 kind);
        phy::snr_predictor predictor(horizon, method);
        std::vector<std::array<float, nof_bins>> reported(warm_up + measured + 64);
        for (int i = 0; i < warm_up + measured; ++i) {
            const auto m = channel.next(doppler_hz);
            for (std::size_t b = 0; b < nof_bins && i >= warm_up; ++b) {
                const double g = channel.truth[b];
                const double d = g - static_cast<double>(reported[static_cast<std::size_t>(i)][b]);
                error += d * d;
                power += g * g;
            }
            predictor.update(m, reported[static_cast<std::size_t>(i + horizon)]);
        }
    }
    return error / power;
}

}  // namespace

void spectra_curve(const options& o) {
    struct {
        const char* name;
        spectrum kind;
    } const all[] = {{"clarke", spectrum::clarke},
                     {"flat", spectrum::flat},
                     {"directional", spectrum::directional},
                     {"two_clusters", spectrum::two_clusters}};
    for (const auto& s : all)
        for (const int horizon : o.full ? std::vector<int>{1, 2, 3, 4, 6} : std::vector<int>{3}) {
            std::printf("{\"curve\":\"spectra\",\"spectrum\":\"%s\",\"horizon\":%d", s.name,
                        horizon);
            for (const auto method : phy::predictor_names)
                std::printf(",\"%s\":%.5g", std::string(method).c_str(),
                            nmse(method, s.kind, horizon, o));
            std::printf(",\"bound\":%.5g}\n", bound(phy::test::gains(1, s.kind), horizon));
            std::fflush(stdout);
        }
}

}  // namespace wip::curves
