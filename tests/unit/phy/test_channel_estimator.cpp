// SPDX-License-Identifier: GPL-3.0-or-later
// Delay basis, channel estimate, interference between subcarriers and decision feedback, each
// against plain sums in double precision that share no code with it.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "phy/estimation/channel_estimator.h"
#include "phy/estimation/decision_feedback.h"
#include "phy/estimation/intercarrier.h"
#include "phy/ofdm/slot_extractor.h"
#include "phy/qam/constellation.h"

namespace {

using namespace wip;
using namespace wip::phy;
using cf64 = std::complex<double>;
using grid = decision_feedback::grid;

constexpr double two_pi = 2 * std::numbers::pi;

double hertz(int n) { return 1e4 * signed_subcarrier(n); }
cf64 get(const plane& p, int n) {
    return {static_cast<double>(p.re[n]), static_cast<double>(p.im[n])};
}
void set(plane& p, int n, cf64 v) {
    p.re[n] = static_cast<float>(v.real());
    p.im[n] = static_cast<float>(v.imag());
}

class every_spread : public ::testing::TestWithParam<double> {};

TEST_P(every_spread, expands_and_projects_as_plain_sums_do) {
    const delay_basis basis(GetParam());
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::array<float, delay_basis::max_order> re{}, im{}, back_re{}, back_im{};
    for (int d = 0; d < basis.order(); ++d) {
        re[static_cast<std::size_t>(d)] = normal(random);
        im[static_cast<std::size_t>(d)] = normal(random);
    }
    plane p;
    basis.expand<1>(re.data(), im.data(), 0, {&p});
    for (int n = 0; n < nof_subcarriers; ++n) {
        cf64 sum{};
        for (int d = 0; d < basis.order(); ++d)
            sum += static_cast<double>(basis.at(d, n)) *
                   cf64(static_cast<double>(re[static_cast<std::size_t>(d)]),
                        static_cast<double>(im[static_cast<std::size_t>(d)]));
        EXPECT_LT(std::abs(get(p, n) - sum), 1e-4) << n;
    }
    basis.project<1>({&p}, back_re.data(), back_im.data(), 0);
    for (int d = 0; d < basis.order(); ++d) {
        cf64 sum{};
        for (int n = 0; n < nof_subcarriers; ++n)
            sum += static_cast<double>(basis.at(d, n)) * get(p, n) / double{nof_subcarriers};
        EXPECT_NEAR(static_cast<double>(back_re[static_cast<std::size_t>(d)]), sum.real(), 1e-4);
        EXPECT_NEAR(static_cast<double>(back_im[static_cast<std::size_t>(d)]), sum.imag(), 1e-4);
    }
}

TEST_P(every_spread, members_are_orthogonal_over_the_band) {
    const delay_basis basis(GetParam());
    double variance = 0;
    for (int d = 0; d < basis.order(); ++d) {
        variance += basis.variance(d);
        for (int e = 0; e <= d; ++e) {
            double sum = 0;
            for (int n = 0; n < nof_subcarriers; ++n)
                sum += static_cast<double>(basis.at(d, n)) * static_cast<double>(basis.at(e, n));
            EXPECT_NEAR(sum / nof_subcarriers, d == e ? 1 : 0, 0.02) << d << ' ' << e;
        }
    }
    EXPECT_NEAR(variance, 1, 1e-6);
}

TEST_P(every_spread, holds_a_path_of_any_delay_within_it) {
    const delay_basis basis(GetParam());
    for (const double share : {-0.45, -0.2, 0.0, 0.1, 0.45}) {
        // Coefficients by a sum over a fine grid of frequencies would need the members there; least
        // squares on the subcarriers does not.
        Eigen::MatrixXd members(nof_subcarriers, basis.order());
        Eigen::VectorXcd path(nof_subcarriers);
        for (int n = 0; n < nof_subcarriers; ++n) {
            path[n] = std::polar(1.0, -two_pi * hertz(n) * share * GetParam() * 1e-6);
            for (int d = 0; d < basis.order(); ++d)
                members(n, d) = static_cast<double>(basis.at(d, n));
        }
        const Eigen::MatrixXcd fitted = members.cast<cf64>();
        const Eigen::VectorXcd weights =
            (fitted.adjoint() * fitted).llt().solve(fitted.adjoint() * path);
        const double error = (fitted * weights - path).squaredNorm() / nof_subcarriers;
        EXPECT_LT(error, 2e-5) << share;
    }
}

INSTANTIATE_TEST_SUITE_P(delay_basis, every_spread, ::testing::Values(0.2, 1, 2, 4, 7));

// A channel out of the estimator's own prior for a spread of 4 us.
class random_channel {
public:
    explicit random_channel(unsigned seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal(0, std::sqrt(0.5 / paths));
        std::uniform_real_distribution<double> delay(-2e-6, 2e-6);
        for (int i = 0; i < paths; ++i)
            paths_.push_back({delay(random),
                              {normal(random), normal(random)},
                              cf64(normal(random), normal(random)) * std::sqrt(0.003)});
    }
    cf64 middle(int n) const { return sum(n, &path::a); }
    cf64 slope(int n) const { return sum(n, &path::b); }
    cf64 at(int symbol, int n) const {
        return middle(n) + static_cast<double>(symbol_time(symbol)) * slope(n);
    }

private:
    static constexpr int paths = 60;
    struct path {
        double delay;
        cf64 a, b;
    };
    cf64 sum(int n, cf64 path::*gain) const {
        cf64 s{};
        for (const auto& p : paths_) s += p.*gain * std::polar(1.0, -two_pi * hertz(n) * p.delay);
        return s;
    }
    std::vector<path> paths_;
};

// Elements with pilots 1, control symbols j and noise; what the channel does is given.
struct known_slot {
    known_slot(const std::function<cf64(int, int)>& h, double noise, unsigned seed) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal(0, std::sqrt(noise / 2));
        for (int l = 0; l < symbols_per_slot; ++l)
            for (int n = 0; n < nof_subcarriers; ++n) {
                const auto kind = kind_of(l, n % subcarriers_per_bin);
                const cf64 x = kind == re_kind::control ? cf64(0, 1) : cf64(1);
                set(y[static_cast<std::size_t>(l)], n,
                    h(l, n) * x + cf64(normal(random), normal(random)));
            }
        pilots.fill(1);
        control.fill({0, 1});
    }
    grid y;
    std::array<cf32, nof_pilots> pilots;
    std::array<cf32, nof_control_symbols> control;
};

struct element {
    int symbol, n;
};
std::vector<element> known_elements(bool control) {
    std::vector<element> all;
    for (int l = 0; l < symbols_per_slot; ++l)
        for (int n = 0; n < nof_subcarriers; ++n) {
            const auto kind = kind_of(l, n % subcarriers_per_bin);
            if (kind == re_kind::pilot || (control && kind == re_kind::control))
                all.push_back({l, n});
        }
    return all;
}

// R (R + noise I)^-1 z, the Wiener estimate in its covariance form: no basis, no coefficients.
TEST(channel_estimator, is_the_wiener_filter_of_its_covariance) {
    const double noise = std::pow(10, -1.2);  // one of the SNR steps
    const random_channel channel(3);
    const known_slot slot([&](int l, int n) { return channel.at(l, n); }, noise, 4);
    const auto covariance = [](element p, element q) {
        const double f = (hertz(p.n) - hertz(q.n)) * 4e-6 * std::numbers::pi;
        const double t = static_cast<double>(symbol_time(p.symbol) * symbol_time(q.symbol));
        return (f == 0 ? 1 : std::sin(f) / f) * (1 + 0.003 * t);
    };
    for (const bool with_control : {false, true}) {
        channel_estimator estimator;
        channel_estimate got;
        if (with_control)
            estimator.from_all(slot.y, slot.pilots.data(), slot.control.data(),
                               static_cast<float>(1 / noise), got);
        else
            estimator.from_pilots(slot.y, slot.pilots.data(), static_cast<float>(1 / noise), got);
        ASSERT_EQ(estimator.spread_us(), 4);
        const auto known = known_elements(with_control);
        const auto count = static_cast<Eigen::Index>(known.size());
        const auto at = [&](Eigen::Index r) { return known[static_cast<std::size_t>(r)]; };
        Eigen::MatrixXd matrix(count, count);
        Eigen::VectorXcd z(count);
        for (Eigen::Index r = 0; r < count; ++r) {
            for (Eigen::Index c = 0; c < count; ++c)
                matrix(r, c) = covariance(at(r), at(c)) + (r == c ? noise : 0);
            const bool control =
                kind_of(at(r).symbol, at(r).n % subcarriers_per_bin) == re_kind::control;
            z[r] = get(slot.y[static_cast<std::size_t>(at(r).symbol)], at(r).n) *
                   (control ? cf64(0, -1) : cf64(1));
        }
        const Eigen::VectorXcd weights = matrix.cast<cf64>().eval().llt().solve(z);
        double worst = 0;
        for (int l = 0; l < symbols_per_slot; ++l)
            for (int n = 0; n < nof_subcarriers; n += 7) {
                cf64 want{};
                for (Eigen::Index r = 0; r < count; ++r)
                    want += covariance({l, n}, at(r)) * weights[r];
                const cf64 have =
                    get(got.middle, n) + static_cast<double>(symbol_time(l)) * get(got.slope, n);
                worst = std::max(worst, std::abs(have - want));
            }
        EXPECT_LT(worst, 2e-3) << with_control;
    }
}

TEST(channel_estimator, knows_its_error_in_every_bin_and_the_noise) {
    const double noise = std::pow(10, -1.2);
    channel_estimator estimator;
    channel_estimate got;
    std::array<double, nof_bins> error{};
    double estimated = 0;
    constexpr int trials = 300;
    for (unsigned trial = 0; trial < trials; ++trial) {
        const random_channel channel(100 + trial);
        const known_slot slot([&](int l, int n) { return channel.at(l, n); }, noise, 1000 + trial);
        estimator.reset();
        estimator.from_all(slot.y, slot.pilots.data(), slot.control.data(),
                           static_cast<float>(1 / noise), got);
        estimated += static_cast<double>(got.noise) / trials;
        for (int n = 0; n < nof_subcarriers; ++n)
            error[static_cast<std::size_t>(n / subcarriers_per_bin)] +=
                (std::norm(get(got.middle, n) - channel.middle(n)) +
                 35.0 / 12 * std::norm(get(got.slope, n) - channel.slope(n))) /
                (subcarriers_per_bin * trials);
    }
    EXPECT_NEAR(estimated / noise, 1, 0.03);
    for (std::size_t b = 0; b < nof_bins; ++b)
        EXPECT_NEAR(error[b] / (noise * static_cast<double>(got.bin_error[b])), 1, 0.25) << b;
    // There are no pilots beyond the ends of the band, so the error is larger there.
    EXPECT_GT(got.bin_error[0], 1.3F * got.bin_error[12]);
}

// Symbol l, from its samples: sum_m v_m exp(j 2 pi m (i - advance) / 768), times t_i.
std::vector<cf64> moved_by_the_ramp(const plane& b, const plane& c, const grid& x, int l) {
    std::vector<cf64> moved(nof_subcarriers), signal(fft_size);
    std::vector<cf64> roots;
    for (int i = 0; i < fft_size; ++i) roots.push_back(std::polar(1.0, two_pi * i / fft_size));
    const auto turn = [&](int n, int i) {
        const int turns = signed_subcarrier(n) * (i - window_advance) % fft_size;
        return roots[static_cast<std::size_t>((turns + fft_size) % fft_size)];
    };
    const double t = static_cast<double>(symbol_time(l));
    for (int i = 0; i < fft_size; ++i) {
        cf64 sample;
        for (int n = 0; n < nof_subcarriers; ++n)
            sample += (get(b, n) + 2 * t * get(c, n)) * get(x[static_cast<std::size_t>(l)], n) *
                      turn(n, i);
        signal[static_cast<std::size_t>(i)] = sample * (i - 383.5) / (slot_samples / 6.0);
    }
    for (int k = 0; k < nof_subcarriers; ++k)
        for (int i = 0; i < fft_size; ++i)
            moved[static_cast<std::size_t>(k)] +=
                signal[static_cast<std::size_t>(i)] * std::conj(turn(k, i)) / double{fft_size};
    return moved;
}

// A strong path at the tracked timing and a weak one on one side of it: the window moves until it
// holds both, and not on a channel that it holds.
TEST(channel_estimator, asks_for_a_window_that_holds_the_channel) {
    for (const double late_us : {4.4, -4.4, 3.0, 0.0}) {
        channel_estimator estimator;
        channel_estimate e;
        double timing_us = 0;
        std::mt19937 random(3);
        std::uniform_real_distribution<double> angle(0, two_pi);
        for (unsigned i = 0; i < 1500; ++i) {
            const cf64 near = std::polar(0.9, angle(random)), far = std::polar(0.4, angle(random));
            const auto h = [&](int, int n) {
                return near * std::polar(1.0, two_pi * hertz(n) * timing_us * 1e-6) +
                       far * std::polar(1.0, -two_pi * hertz(n) * (late_us - timing_us) * 1e-6);
            };
            const known_slot s(h, 0.001, i);
            estimator.from_all(s.y, s.pilots.data(), s.control.data(), 1000, e);
            timing_us += e.move_window / 7.68;
        }
        EXPECT_LT(std::abs(late_us - timing_us), 3.5) << late_us;
        EXPECT_LT(std::abs(timing_us), 3.5) << late_us;
        EXPECT_NEAR(static_cast<double>(e.noise), 0.001, 0.0002) << late_us;
        if (late_us == 0) {
            EXPECT_NEAR(timing_us, 0, 0.3);
        }
    }
}

TEST(intercarrier, is_what_a_linear_change_within_the_window_moves_between_subcarriers) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    plane b, c;
    grid x, out;
    for (int n = 0; n < nof_subcarriers; ++n) {
        set(b, n, {normal(random), normal(random)});
        set(c, n, {normal(random), normal(random)});
        for (auto& symbol : x) set(symbol, n, {normal(random), normal(random)});
    }
    intercarrier between;
    between.work(plane{}, plane{}, x, out);
    for (const auto& symbol : out)
        for (int n = 0; n < nof_subcarriers; ++n) EXPECT_EQ(std::abs(get(symbol, n)), 0);
    for (int again = 0; again < 2; ++again)
        between.work(b, c, x, out);  // nothing is left from the call before
    for (const int l : {0, 1, 2, 5}) {
        const auto want = moved_by_the_ramp(b, c, x, l);
        double error = 0, power = 0;
        for (int k = 0; k < nof_subcarriers; ++k) {
            const cf64 w = want[static_cast<std::size_t>(k)];
            error += std::norm(get(out[static_cast<std::size_t>(l)], k) - w);
            power += std::norm(w);
        }
        EXPECT_LT(error, 2e-5 * power) << l;
    }
}

TEST(intercarrier, of_some_bins_is_that_of_all) {
    std::mt19937 random(6);
    std::normal_distribution<double> normal;
    plane b, c;
    grid x, all, some;
    for (int n = 0; n < nof_subcarriers; ++n) {
        set(b, n, {normal(random), normal(random)});
        set(c, n, {normal(random), normal(random)});
        for (auto& symbol : x) set(symbol, n, {normal(random), normal(random)});
    }
    intercarrier between;
    between.work(b, c, x, all);
    for (const unsigned long bins : {0x1UL, 0x1000UL, 0x1000000UL, 0x0c05020UL, 0UL}) {
        for (auto& symbol : some)
            for (int n = 0; n < nof_subcarriers; ++n) set(symbol, n, 77);
        between.work(b, c, x, some, bins);
        for (std::size_t l = 0; l < symbols_per_slot; ++l)
            for (int n = 0; n < nof_subcarriers; ++n) {
                if (bins >> n / subcarriers_per_bin & 1) {
                    ASSERT_EQ(get(some[l], n), get(all[l], n)) << bins << " " << n;
                }
                if (bins == 0) {
                    ASSERT_EQ(get(some[l], n), cf64(77)) << n;
                }
            }
    }
}

// Only the lower end of the band has a signal, so that the upper one has nothing but interference
// from far away.
TEST(intercarrier, reaches_over_the_whole_band) {
    std::mt19937 random(15);
    std::normal_distribution<double> normal;
    plane b;
    grid x, out;
    for (int n = 0; n < 100; ++n) {
        set(b, n, {1, normal(random)});
        for (auto& symbol : x) set(symbol, n, {1, normal(random)});
    }
    intercarrier between;
    between.work(b, plane{}, x, out);
    const auto want = moved_by_the_ramp(b, plane{}, x, 3);
    double error = 0, power = 0;
    for (int k = 400; k < nof_subcarriers; ++k) {
        error += std::norm(get(out[3], k) - want[static_cast<std::size_t>(k)]);
        power += std::norm(want[static_cast<std::size_t>(k)]);
    }
    EXPECT_LT(error, 0.01 * power);
}

TEST(intercarrier, has_the_power_that_the_slope_tells) {
    std::mt19937 random(6);
    std::normal_distribution<double> normal(0, std::sqrt(0.5));
    channel_estimate channel;
    grid x, out;
    for (int n = 0; n < nof_subcarriers; ++n) {
        set(channel.slope, n, {normal(random), normal(random)});
        for (auto& symbol : x) set(symbol, n, std::polar(1.0, normal(random) * 10));
    }
    intercarrier between;
    between.work(channel.slope, plane{}, x, out);
    double power = 0;
    for (const auto& symbol : out)
        for (int n = 0; n < nof_subcarriers; ++n)
            power += std::norm(get(symbol, n)) / (nof_subcarriers * symbols_per_slot);
    EXPECT_NEAR(power / static_cast<double>(intercarrier_power(channel)), 1, 0.1);
}

// A slot of 64-QAM over a channel with slope, curvature and interference between subcarriers, from
// a transmitter with an image.
void expect_all_found_from_right_decisions(cf32 image, decision_feedback::subtract way) {
    const random_channel even(7), bent(8);
    const auto curve = [&](int n) { return 0.003 * bent.middle(n); };
    const double noise = 1e-4;
    const constellation points(6);
    std::mt19937 random(9);
    std::normal_distribution<double> normal(0, std::sqrt(noise / 2));
    decision_feedback feedback;
    std::vector<cf32> pilots, control;
    grid y;
    plane slope, bend;
    for (int n = 0; n < nof_subcarriers; ++n) {
        set(slope, n, even.slope(n));
        set(bend, n, curve(n));
    }
    grid sent, interference;
    const auto is_payload = [](int l, int n) {
        return kind_of(l, n % subcarriers_per_bin) == re_kind::payload;
    };
    for (int l = 0; l < symbols_per_slot; ++l)
        for (int n = 0; n < nof_subcarriers; ++n) {
            const cf32 x = is_payload(l, n) ? points.points()[random() % 64] : cf32(1);
            set(feedback.symbols()[static_cast<std::size_t>(l)], n,
                cf64(is_payload(l, n) ? x : cf32{}));
            set(sent[static_cast<std::size_t>(l)], n, cf64(x));
        }
    const grid meant = sent;
    for (int l = 0; l < symbols_per_slot; ++l) {
        const auto ul = static_cast<std::size_t>(l);
        const double t = static_cast<double>(symbol_time(l));
        for (int n = 0; n < nof_subcarriers; ++n) {
            set(sent[ul], n,
                get(sent[ul], n) +
                    cf64(image) * std::conj(get(meant[ul], nof_subcarriers - 1 - n)));
            set(y[ul], n,
                (even.at(l, n) + (t * t - 35.0 / 12) * curve(n)) * get(sent[ul], n) +
                    cf64(normal(random), normal(random)));
        }
    }
    intercarrier between;
    between.work(slope, bend, sent, interference);
    for (std::size_t l = 0; l < symbols_per_slot; ++l)
        for (int n = 0; n < nof_subcarriers; ++n)
            set(y[l], n, get(y[l], n) + get(interference[l], n));
    pilots.assign(nof_pilots, 1);
    control.assign(nof_control_symbols, 1);
    const auto as_sent = [&](const auto& elements) {
        std::vector<cf32> all;
        for (int b = 0; b < nof_bins; ++b)
            for (const auto& e : elements) {
                const cf32 x(get(sent[static_cast<std::size_t>(e.symbol)],
                                 b * subcarriers_per_bin + e.subcarrier));
                all.push_back(x / std::norm(x));
            }
        return all;
    };
    channel_estimator estimator;
    channel_estimate first;
    estimator.from_all(y, as_sent(pilot_elements).data(), as_sent(control_elements).data(), 1000,
                       first);
    const known_symbols known{pilots.data(), control.data(), &estimator.basis(), 1, &image};
    const auto error = [&](const plane& a, const plane& b, bool bends) {
        double sum = 0;
        for (int n = 0; n < nof_subcarriers; ++n) {
            sum += std::norm(get(a, n) - even.middle(n)) / nof_subcarriers;
            sum += 35.0 / 12 * std::norm(get(b, n) - even.slope(n)) / nof_subcarriers;
            const cf64 c = bends ? get(feedback.curve(), n) : 0;
            sum += 37.33 / 6 * std::norm(c - curve(n)) / nof_subcarriers;
        }
        return sum;
    };
    const double before = error(first.middle, first.slope, false);
    feedback.work(y, first, known, 3e-4F, way);
    const double after = error(feedback.middle(), feedback.slope(), true);
    EXPECT_LT(after, before / 8);
    // The rest after equalising is near the noise.
    grid out, power;
    double left = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        feedback.equalise(y, bin_index(b), out, power);
        for (int l = 0; l < symbols_per_slot; ++l)
            for (int c = 0; c < subcarriers_per_bin; ++c) {
                const auto ul = static_cast<std::size_t>(l);
                const int n = static_cast<int>(b) * subcarriers_per_bin + c;
                left += std::norm(get(out[ul], n) - get(feedback.symbols()[ul], n)) *
                        static_cast<double>(power[ul].re[n]) / 3000;
            }
    }
    EXPECT_LT(left, 1.5 * noise);
    EXPECT_GT(left, 0.7 * noise);
    // The estimate is repeated, with all decisions filled in again.
    feedback.symbols() = meant;
    feedback.again(y, known, 3e-4F);
    EXPECT_LT(error(feedback.middle(), feedback.slope(), true), after);
}
TEST(decision_feedback, finds_slope_curvature_and_interference_from_right_decisions) {
    using way = decision_feedback::subtract;
    expect_all_found_from_right_decisions({}, way::everywhere);
    expect_all_found_from_right_decisions({}, way::looked_at);
}
TEST(decision_feedback, knows_what_a_transmitter_with_an_image_sends) {
    expect_all_found_from_right_decisions(std::polar(0.0562F, 2.1F),  // -25 dB
                                          decision_feedback::subtract::everywhere);
}

TEST(decision_feedback, is_not_moved_by_elements_without_a_decision) {
    const random_channel channel(11);
    const known_slot slot([&](int l, int n) { return channel.at(l, n); }, 0.01, 12);
    channel_estimator estimator;
    channel_estimate first;
    estimator.from_all(slot.y, slot.pilots.data(), slot.control.data(), 100, first);
    decision_feedback feedback;  // no payload symbol is known
    feedback.work(slot.y, first, {slot.pilots.data(), slot.control.data(), &estimator.basis(), 1},
                  0.01F, decision_feedback::subtract::nowhere);
    double moved = 0, before = 0;
    for (int n = 0; n < nof_subcarriers; ++n) {
        moved += std::norm(get(feedback.middle(), n) - get(first.middle, n));
        before += std::norm(get(first.middle, n) - channel.middle(n));
    }
    EXPECT_LT(moved, 0.1 * before);  // the same elements have no new information
}

}  // namespace
