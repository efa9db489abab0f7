// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the switch tables of adaptive modulation. `switch_table` prints them for a reader,
// `switch_table --header FILE` writes the header that the library is built with.
//
// Criterion: k E[P_k(true SNR) | predicted SNR] is largest, P_k = all 108 symbols of the bin right.
// Model of the true SNR given the predicted one: channel gain g = g^ + e, complex Gaussian, with
// the prediction error e independent of the prediction g^ and E|e|^2 = s E|g|^2. The prediction of
// the power is its conditional mean, p = |g^|^2 + s, so with mean SNR G:
//     true SNR = G |a + e|^2,  a = sqrt(predicted SNR / G - s) (0 when that is negative).
// The normalised error of p is NMSE = s - s^2/2, hence s = 1 - sqrt(1 - 2 NMSE). G = 16 dB, the
// reference mean SNR; NMSE = 0 does not depend on it.
// The expectation is a sum over a grid of +-6 standard deviations, which for a Gaussian converges
// faster than any power of the step.
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "link/symbol_error.h"
#include "types/grid.h"

namespace {

constexpr double mean_snr_db = 16;
constexpr double low_db = -20, high_db = 60, curve_step_db = 0.05;

// P_k on a grid of SNR in dB, linear in between.
class frame_curve {
public:
    explicit frame_curve(int k) {
        const wip::symbol_error e(k);
        double sure = 0;  // once at 1 it stays there
        for (double db = low_db; db <= high_db; db += curve_step_db) {
            if (sure < 1 - 1e-12) sure = e.frame_ok(std::pow(10, db / 10));
            p_.push_back(sure);
        }
    }
    double at(double snr) const {
        if (snr <= 0) return p_.front();
        const double x = (10 * std::log10(snr) - low_db) / curve_step_db;
        if (x <= 0) return p_.front();
        const auto i = static_cast<std::size_t>(x);
        if (i + 1 >= p_.size()) return p_.back();
        return p_[i] + (x - static_cast<double>(i)) * (p_[i + 1] - p_[i]);
    }

private:
    std::vector<double> p_;
};

using curves = std::array<std::unique_ptr<frame_curve>, wip::max_bits_per_symbol + 1>;

std::array<double, wip::max_bits_per_symbol + 1> expected_bits(const curves& c, double predicted_db,
                                                               double nmse) {
    std::array<double, wip::max_bits_per_symbol + 1> bits{};
    const double predicted = std::pow(10, predicted_db / 10);
    if (nmse <= 0) {
        for (std::size_t k = 1; k < bits.size(); ++k)
            bits[k] = static_cast<double>(k) * c[k]->at(predicted);
        return bits;
    }
    const double mean = std::pow(10, mean_snr_db / 10);
    const double s = 1 - std::sqrt(1 - 2 * nmse);
    const double a = std::sqrt(std::max(0.0, predicted / mean - s));
    const double sigma = std::sqrt(s / 2);
    constexpr double step = 0.25;
    double weight = 0;
    for (double u = -6; u <= 6; u += step) {
        for (double v = 0; v <= 6; v += step) {
            const double w = std::exp(-(u * u + v * v) / 2) * (v == 0 ? 1 : 2);
            const double x = a + sigma * u, y = sigma * v;
            const double snr = mean * (x * x + y * y);
            weight += w;
            for (std::size_t k = 1; k < bits.size(); ++k)
                bits[k] += w * static_cast<double>(k) * c[k]->at(snr);
        }
    }
    for (double& b : bits) b /= weight;
    return bits;
}

int best(const std::array<double, wip::max_bits_per_symbol + 1>& bits) {
    int k = 1;
    for (int i = 2; i <= wip::max_bits_per_symbol; ++i)
        if (bits[static_cast<std::size_t>(i)] > bits[static_cast<std::size_t>(k)]) k = i;
    return k;
}

// Lowest predicted SNR, on a grid of 0.01 dB, from which at least k is best. A modulation that is
// best nowhere gets the threshold of the next one.
std::array<double, wip::max_bits_per_symbol + 1> thresholds(const curves& c, double nmse) {
    std::array<double, wip::max_bits_per_symbol + 1> from{};
    int k = 1;
    for (int i = -1000; i <= 5000; ++i) {
        const int now = best(expected_bits(c, i / 100.0, nmse));
        while (k < now) from[static_cast<std::size_t>(++k)] = i / 100.0;
    }
    if (k != wip::max_bits_per_symbol) {
        std::fprintf(stderr, "switch_table: %d bits/symbol never best below 50 dB\n", k + 1);
        std::exit(1);
    }
    return from;
}

}  // namespace

int main(int argc, char** argv) {
    const bool header = argc == 3 && std::strcmp(argv[1], "--header") == 0;
    if (argc != 1 && !header) {
        std::fprintf(stderr, "usage: switch_table [--header FILE]\n");
        return 2;
    }
    curves c;
    for (std::size_t k = 1; k < c.size(); ++k)
        c[k] = std::make_unique<frame_curve>(static_cast<int>(k));
    const auto perfect = thresholds(c, 0), noisy = thresholds(c, 0.1);
    if (header) {
        std::ofstream out(argv[2]);
        out << "// Written by switch_table: lowest predicted SNR (dB) of each bits/symbol.\n"
               "#pragma once\n#include <array>\nnamespace wip {\n";
        const auto line = [&](const char* name, const auto& from) {
            out << "inline constexpr std::array<float, 9> " << name << "{-1000.0F, -1000.0F";
            char text[32];
            for (std::size_t k = 2; k < from.size(); ++k) {
                std::snprintf(text, sizeof text, ", %.2fF", from[k]);
                out << text;
            }
            out << "};\n";
        };
        line("switch_values_nmse_0", perfect);
        line("switch_values_nmse_0_1", noisy);
        out << "}  // namespace wip\n";
        out.close();
        if (!out) {
            std::fprintf(stderr, "switch_table: cannot write %s\n", argv[2]);
            return 1;
        }
        return 0;
    }
    std::printf("bits/symbol   NMSE 0     NMSE 0.1   (lowest predicted SNR in dB)\n");
    for (std::size_t k = 2; k < c.size(); ++k)
        std::printf("%7zu      %7.2f     %7.2f\n", k, perfect[k], noisy[k]);
    std::printf(
        "\nexpected bits/symbol in error-free frames\n predicted    NMSE 0            NMSE "
        "0.1\n    dB      best  bits        best  bits\n");
    for (int db = 0; db <= 36; db += 2) {
        const auto p = expected_bits(c, db, 0), n = expected_bits(c, db, 0.1);
        const int kp = best(p), kn = best(n);
        std::printf("   %4d      %d    %5.3f         %d    %5.3f\n", db, kp,
                    p[static_cast<std::size_t>(kp)], kn, n[static_cast<std::size_t>(kn)]);
    }
    return 0;
}
