// SPDX-License-Identifier: GPL-3.0-or-later
// Computes the switch tables of adaptive modulation, for each set of eight points (types/
// eight_points.h) its own. `switch_table` prints them for a reader, `switch_table --header FILE`
// writes the header that the library is built with.
//
// Criterion: b_k E[P_k(true SNR) | predicted SNR] is largest, P_k = all 108 symbols of the bin
// right, b_k = the bits of a frame that carry data: 108 k (`wipemu`) or 108 k - 24 (`radio`).
// Model of the true SNR given the predicted one: channel gain g = g^ + e, complex Gaussian, with
// the prediction error e independent of the prediction g^ and E|e|^2 = s E|g|^2. The prediction of
// the power is its conditional mean, |g^|^2 + s, so with mean SNR G and the error level q = s G:
//     true SNR = |a + e|^2,  a = sqrt(predicted SNR - q),  E|e|^2 = q.
// NMSE and mean SNR come in through q alone: tables are a family of one parameter. The normalised
// error of the power is NMSE = s - s^2/2, hence s = 1 - sqrt(1 - 2 NMSE).
//
// In this model no prediction lies below q. If one does (q is an average, and bins differ), all of
// it is taken to be error: q = predicted SNR, a = 0. The thresholds are then continuous in q: from
// q = D_k on, where k becomes best for a prediction that knows nothing but the mean, the threshold
// of k is D_k.
//
// The amplitude r = |a + e| has the Rice density (2r/q) exp(-(r^2 + a^2)/q) I0(2ar/q); trapezoids
// of an eighth of a standard deviation, shorter where P_k is steep (in proportion to r).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <map>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "link/frame_success.h"
#include "link/symbol_error.h"
#include "types/db.h"
#include "types/frame.h"
#include "types/grid.h"

namespace {

constexpr wip::db reference_mean(16);
constexpr double reference_nmse = 0.1;
// Error levels of the family, as SNR in dB. A row for no error precedes them.
constexpr int lowest_error_db = -20, highest_error_db = 40;
constexpr double low_db = -20, high_db = 60, curve_step_db = 0.05;
constexpr double kept_step_db = 0.25;  // step of the curves in the generated header

constexpr std::array eight_sets{wip::eight_points::star, wip::eight_points::cross,
                                wip::eight_points::rectangle};
constexpr std::array eight_names{"star", "cross", "rectangle"};

// P_k on a grid of SNR in dB, linear in between.
class frame_curve {
public:
    frame_curve(int k, wip::eight_points eight) {
        const wip::symbol_error e(k, eight);
        double ok = 0;  // once it has reached 1 it is not computed again
        for (double db = low_db; db <= high_db; db += curve_step_db) {
            if (ok < 1 - 1e-12) ok = e.frame_ok(std::pow(10, db / 10));
            p_.push_back(ok);
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

using by_bits = std::array<double, wip::max_bits_per_symbol + 1>;
using by_set = std::array<by_bits, eight_sets.size()>;

// 1..8: k bits per symbol, 3 of them the star; then 3 bits of the other sets.
constexpr std::size_t nof_curves = wip::max_bits_per_symbol + eight_sets.size();
using curves = std::array<std::unique_ptr<frame_curve>, nof_curves>;
using by_curve = std::array<double, nof_curves>;

std::size_t curve_of(int k, wip::eight_points eight) {
    const auto other = static_cast<std::size_t>(eight);
    return k == 3 && other > 0 ? wip::max_bits_per_symbol + other : static_cast<std::size_t>(k);
}
int bits_of(std::size_t curve) {
    return curve > wip::max_bits_per_symbol ? 3 : static_cast<int>(curve);
}

double error_level(double nmse, wip::db mean) {
    return (1 - std::sqrt(1 - 2 * nmse)) * mean.power();
}

// exp(-x) I0(x)
double scaled_bessel_i0(double x) {
    if (x < 50) return std::exp(-x) * std::cyl_bessel_i(0.0, x);
    return (1 + 1 / (8 * x) + 9 / (128 * x * x)) / std::sqrt(2 * std::numbers::pi * x);
}

// E[P_k | predicted SNR] of all curves.
by_curve frame_ok(const curves& c, double predicted, double error) {
    by_curve ok{};
    const double q = std::min(error, predicted);
    if (q <= 0) {
        for (std::size_t k = 1; k < ok.size(); ++k) ok[k] = c[k]->at(predicted);
        return ok;
    }
    const double a = std::sqrt(predicted - q), sigma = std::sqrt(q / 2);
    double weight = 0;
    for (double r = std::max(0.0, a - 7 * sigma), step = 0; r < a + 7 * sigma; r += step) {
        const double last = step;
        step = std::min(sigma / 8, std::max(0.03, 0.015 * r));
        const double density = r * std::exp(-(r - a) * (r - a) / q) *
                               scaled_bessel_i0(2 * a * r / q) * (last + step) / 2;
        weight += density;
        for (std::size_t k = 1; k < ok.size(); ++k) ok[k] += density * c[k]->at(r * r);
    }
    for (double& p : ok) p /= weight;
    return ok;
}

by_curve expected_bits(const curves& c, wip::link_profile profile, wip::db predicted,
                       double error) {
    by_curve bits = frame_ok(c, predicted.power(), error);
    for (std::size_t k = 1; k < bits.size(); ++k)
        bits[k] *= wip::frame_payload_bits(profile, bits_of(k));
    return bits;
}

int best(const by_curve& bits, wip::eight_points eight) {
    int k = 1;
    for (int i = 2; i <= wip::max_bits_per_symbol; ++i)
        if (bits[curve_of(i, eight)] > bits[curve_of(k, eight)]) k = i;
    return k;
}

// Lowest predicted SNR from which at least k is best, with each set of eight points. A modulation
// that is best nowhere gets the threshold of the next one.
by_set thresholds(const curves& c, wip::link_profile profile, double error) {
    constexpr double low = -10, high = 50, step = 0.25;
    std::map<double, by_curve> known;  // all sets look at the same places
    const auto best_at = [&](double db, wip::eight_points eight) {
        const auto [it, fresh] = known.try_emplace(db);
        if (fresh) it->second = expected_bits(c, profile, wip::db(db), error);
        return best(it->second, eight);
    };
    by_set all{};
    for (std::size_t set = 0; set < all.size(); ++set) {
        by_bits& from = all[set];
        int k = 1;
        for (double db = low; db <= high && k < wip::max_bits_per_symbol; db += step) {
            const int now = best_at(db, eight_sets[set]);
            while (k < now) {
                double below = db - step, above = db;
                while (above - below > 0.002) {
                    const double middle = (below + above) / 2;
                    (best_at(middle, eight_sets[set]) > k ? above : below) = middle;
                }
                from[static_cast<std::size_t>(++k)] = above;
            }
        }
        if (k != wip::max_bits_per_symbol) {
            std::fprintf(stderr, "switch_table: %d bits/symbol never best below 50 dB (%s)\n",
                         k + 1, eight_names[set]);
            std::exit(1);
        }
    }
    return all;
}

void write_row(std::ostream& out, const by_bits& from) {
    out << "{-1000.0F, -1000.0F";
    char text[32];
    for (std::size_t k = 2; k < from.size(); ++k) {
        std::snprintf(text, sizeof text, ", %.2fF", from[k]);
        out << text;
    }
    out << "}";
}

void write_rows(std::ostream& out, const std::string& name, const std::vector<by_set>& levels) {
    out << "inline constexpr std::array<std::array<switch_row, " << levels.size() << ">, "
        << eight_sets.size() << "> " << name << "{{";
    for (std::size_t set = 0; set < eight_sets.size(); ++set) {
        out << "\n    {{";
        for (const by_set& from : levels) {
            out << "\n     switch_row";
            write_row(out, from[set]);
            out << ",";
        }
        out << "}},";
    }
    out << "}};\n";
}

void write_tables(std::ostream& out, const curves& c, wip::link_profile profile,
                  const std::string& name) {
    write_rows(out, "switch_values_nmse_0_1_" + name,
               {thresholds(c, profile, error_level(reference_nmse, reference_mean))});
    std::vector<by_set> family{thresholds(c, profile, 0)};
    for (int db = lowest_error_db; db <= highest_error_db; ++db)
        family.push_back(thresholds(c, profile, wip::db(db).power()));
    write_rows(out, "switch_values_" + name, family);
}

void write_frame_curves(std::ostream& out, const curves& c) {
    constexpr int steps = static_cast<int>((high_db - low_db) / kept_step_db);
    out << "// P(all symbols of a bin right), at least 1e-30, of 1..8 bits/symbol and of 3 bits "
           "with "
           "the other sets of eight points, linear SNR "
        << low_db << " dB, " << low_db + kept_step_db << " dB, ...\n"
        << "inline constexpr double frame_ok_lowest_db = " << low_db
        << ", frame_ok_step_db = " << kept_step_db << ";\n"
        << "inline constexpr std::array<std::array<float, " << steps + 1 << ">, " << nof_curves - 1
        << "> frame_ok_values{{";
    for (std::size_t k = 1; k < c.size(); ++k) {
        out << "\n    {{";
        for (int i = 0; i <= steps; ++i) {
            char text[32];
            std::snprintf(text, sizeof text, "%.6eF, ",
                          std::max(c[k]->at(wip::db(low_db + kept_step_db * i).power()), 1e-30));
            out << text;
        }
        out << "}},";
    }
    out << "}};\n";
}

void write_symbol_errors(std::ostream& out) {
    std::vector<double> grid;
    for (double db = wip::symbol_error_lowest.value; db <= high_db;
         db += 1.0 / wip::symbol_errors_per_db)
        grid.push_back(db);
    out << "inline constexpr std::array<std::array<double, " << grid.size() << ">, "
        << nof_curves - 1 << "> log_symbol_error_values{{";
    for (std::size_t curve = 1; curve < nof_curves; ++curve) {
        const std::size_t set = curve > wip::max_bits_per_symbol ? curve - 8 : 0;
        const wip::symbol_error exact(bits_of(curve), eight_sets[set]);
        out << "\n    {{" << std::setprecision(17);
        for (const double db : grid)
            out << std::max(std::log(exact.rate(std::pow(10, db / 10))), -300.0) << ", ";
        out << "}},";
    }
    out << "}};\n";
}

int write_header(const curves& c, const char* path) {
    std::ofstream out(path);
    out << "// Written by switch_table: lowest predicted SNR (dB) of each bits/symbol.\n"
           "#pragma once\n#include <array>\nnamespace wip {\n"
           "using switch_row = std::array<float, 9>;\n"
           "// By set of eight points, then by error level. The family: row 0 for no prediction\n"
           "// error, row 1 + i for the level (this + i) dB.\n"
           "inline constexpr int switch_lowest_error_db = "
        << lowest_error_db
        << ";\ninline constexpr double switch_lowest_error = " << wip::db(lowest_error_db).power()
        << ";\n";
    write_tables(out, c, wip::link_profile::wipemu, "wipemu");
    write_tables(out, c, wip::link_profile::radio, "radio");
    write_frame_curves(out, c);
    write_symbol_errors(out);
    out << "}  // namespace wip\n";
    out.close();
    if (out) return 0;
    std::fprintf(stderr, "switch_table: cannot write %s\n", path);
    return 1;
}

// Columns of thresholds for a list of errors.
void print_thresholds(const curves& c, wip::link_profile profile, wip::db mean,
                      const std::vector<double>& nmse, std::size_t set = 0) {
    std::vector<by_bits> column;
    std::printf("bits/symbol");
    for (const double n : nmse) {
        std::printf("  %8.4f", n);
        column.push_back(thresholds(c, profile, error_level(n, mean))[set]);
    }
    std::printf("   <- NMSE at mean SNR %g dB\n", mean.value);
    for (std::size_t k = 2; k <= wip::max_bits_per_symbol; ++k) {
        std::printf("%7zu    ", k);
        for (const auto& from : column) std::printf("  %8.2f", from[k]);
        std::printf("\n");
    }
}

void print_tables(const curves& c) {
    // 0.0085, 0.0356 and 0.0963 are the errors of prediction 1, 2 and 3 slots ahead at 75 km/h in
    // Alfredsson (2012), as in docs/lab/prediction-and-its-horizon.md.
    const std::vector<double> marks{0, 0.0085, 0.0356, 0.0963, 0.1, 0.2, 0.5};
    for (const auto profile : {wip::link_profile::radio, wip::link_profile::wipemu}) {
        std::printf("profile %s: lowest predicted SNR in dB\n",
                    profile == wip::link_profile::radio ? "radio" : "wipemu");
        print_thresholds(c, profile, reference_mean, marks);
        std::printf("\n");
    }
    for (std::size_t set = 1; set < eight_sets.size(); ++set) {
        std::printf("profile wipemu with the %s of eight points\n", eight_names[set]);
        print_thresholds(c, wip::link_profile::wipemu, reference_mean, marks, set);
        std::printf("\n");
    }
    std::printf("the same NMSE at other mean SNRs (radio)\n");
    for (const double mean : {10.0, 22.0})
        print_thresholds(c, wip::link_profile::radio, wip::db(mean), {0.0356, 0.1, 0.2});
    std::printf(
        "\nexpected bits/symbol of payload in error-free frames (radio, mean SNR 16 dB)\n"
        " predicted    NMSE 0            NMSE 0.1\n    dB      best  bits        best  bits\n");
    for (int db = 0; db <= 36; db += 2) {
        std::printf("   %4d  ", db);
        for (const double nmse : {0.0, reference_nmse}) {
            const auto bits = expected_bits(c, wip::link_profile::radio, wip::db(db),
                                            error_level(nmse, reference_mean));
            const int k = best(bits, wip::eight_points::star);
            std::printf("    %d    %5.3f     ", k,
                        bits[static_cast<std::size_t>(k)] / wip::payload_symbols_per_bin);
        }
        std::printf("\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bool header = argc == 3 && std::strcmp(argv[1], "--header") == 0;
    if (argc != 1 && !header) {
        std::fprintf(stderr, "usage: switch_table [--header FILE]\n");
        return 2;
    }
    curves c;
    for (int k = 1; k <= wip::max_bits_per_symbol; ++k)
        c[curve_of(k, wip::eight_points::star)] =
            std::make_unique<frame_curve>(k, wip::eight_points::star);
    for (const auto eight : {wip::eight_points::cross, wip::eight_points::rectangle})
        c[curve_of(3, eight)] = std::make_unique<frame_curve>(3, eight);
    if (header) return write_header(c, argv[2]);
    print_tables(c);
    return 0;
}
