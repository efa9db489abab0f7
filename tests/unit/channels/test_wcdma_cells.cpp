// SPDX-License-Identifier: GPL-3.0-or-later
// The cells of WCDMA: their layout, the fading against its closed forms, the power control, and
// block errors with the conditional probabilities that Smaragdakis (2006) describes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "cells/wcdma_cells.h"
#include "types/db.h"

namespace wip::cells {
namespace {

// --- layout ---

TEST(Layout, OfSevenCellsHasSixNeighboursASqrt3OfTheSideAway) {
    const layout l(7, 200, false);
    ASSERT_EQ(l.size(), 7);
    for (int c = 1; c < 7; ++c)
        EXPECT_NEAR(l.distance_m(l.site(0), c), 200 * std::numbers::sqrt3, 1e-9);
    for (int c = 1; c < 7; ++c)
        EXPECT_NEAR(
            std::hypot(l.site(c).x - l.site(c % 6 + 1).x, l.site(c).y - l.site(c % 6 + 1).y),
            200 * std::numbers::sqrt3, 1e-9);
}

TEST(Layout, HasEachSiteOnceForAnyNumberOfCells) {
    for (int cells = 1; cells <= 37; ++cells) {
        const layout l(cells, 1, false);
        std::set<std::pair<long, long>> places;
        for (int c = 0; c < cells; ++c)
            places.insert({std::lround(l.site(c).x * 1000), std::lround(l.site(c).y * 1000)});
        EXPECT_EQ(places.size(), static_cast<std::size_t>(cells));
    }
    EXPECT_TRUE(layout::whole_rings(1) && layout::whole_rings(7) && layout::whole_rings(19) &&
                layout::whole_rings(37));
    EXPECT_FALSE(layout::whole_rings(8));
}

// Six other sites are neighbours of every site, and every place is in one cell or its copy.
TEST(Layout, ThatWrapsAroundHasSixNeighboursOfEachSiteAndNoGap) {
    for (const int cells : {7, 19, 37}) {
        const layout l(cells, 1, true);
        for (int a = 0; a < cells; ++a) {
            int neighbours = 0;
            for (int b = 0; b < cells; ++b)
                neighbours += std::abs(l.distance_m(l.site(a), b) - std::numbers::sqrt3) < 1e-9;
            EXPECT_EQ(neighbours, 6) << cells << " cells, site " << a;
        }
        splitmix64 random(1);
        for (int n = 0; n < 1000; ++n) {
            point p = l.place_in(n % cells, random);
            EXPECT_TRUE(l.covers(p));
            // A step over the edge comes in again.
            p.x += 1.5;
            EXPECT_TRUE(l.covers(l.wrapped(p)));
        }
    }
}

TEST(Layout, PlacesUsersEvenlyInAHexagon) {
    const layout l(1, 200, false);
    splitmix64 random(3);
    constexpr int users = 20'000;
    double square = 0;
    for (int n = 0; n < users; ++n) {
        const point p = l.place_in(0, random);
        square += p.x * p.x + p.y * p.y;
    }
    // The mean square distance in a hexagon of side a is 5 a^2 / 12.
    EXPECT_NEAR(square / users / (200 * 200), 5.0 / 12, 0.01);
}

// --- fading ---

constexpr double slot_s = 1.0 / slots_per_second;

// One call computes one block; the autocorrelation is that of the amplitudes in it.
TEST(Fading, HasTheAutocorrelationOfBessel) {
    constexpr int users = 64, rays = 5, slots = 60;
    for (const double doppler : {20.0, 80.0}) {
        jakes_fading f(users, 1, rays, 8, doppler, slot_s, slots, 5);
        std::vector<double> sum(slots);
        double n = 0;
        std::vector<float> i(slots), q(slots);
        for (int call = 0; call < 40; ++call) {
            f.advance();
            for (int r = 0; r < rays; ++r)
                for (int u = 0; u < users; ++u, ++n) {
                    f.ray(0, r, u, i, q);
                    for (std::size_t m = 0; m < slots; ++m)
                        sum[m] += static_cast<double>(i[0] * i[m] + q[0] * q[m]);
                }
        }
        for (std::size_t m = 0; m < slots; m += 5) {
            const double x = 2 * std::numbers::pi * doppler * slot_s * static_cast<double>(m);
            if (x > 12) break;  // with 8 oscillators the largest value is 2 N
            EXPECT_NEAR(sum[m] / n, std::cyl_bessel_j(0, x), 0.035) << doppler << " Hz, " << m;
        }
    }
}

TEST(Fading, OfARayIsRayleigh) {
    constexpr int users = 200, slots = 15;
    jakes_fading f(users, 1, 5, 8, 80, slot_s, slots, 7);
    std::vector<double> powers;
    std::vector<float> i(slots), q(slots);
    for (int call = 0; call < 200; ++call) {
        f.advance();
        if (call % 2 == 1) continue;
        for (int u = 0; u < users; ++u) {
            f.ray(0, call % 5, u, i, q);
            powers.push_back(static_cast<double>(i[0] * i[0] + q[0] * q[0]));
        }
    }
    double sum = 0, square = 0;
    for (const double p : powers) {
        sum += p;
        square += p * p;
    }
    const auto n = static_cast<double>(powers.size());
    EXPECT_NEAR(sum / n, 1, 0.02);
    // The mean square of the power is 2 for a complex Gaussian value, and 2 - 3/(4 N) for N
    // sinusoids in I and in Q.
    EXPECT_NEAR(square / n, 2 - 3.0 / 32, 0.05);
    // The distribution of the power is 1 - exp(-x); that of 8 sinusoids is within 0.01 of it.
    std::ranges::sort(powers);
    double most = 0;
    for (std::size_t k = 0; k < powers.size(); ++k)
        most =
            std::max(most, std::abs(1 - std::exp(-powers[k]) - (static_cast<double>(k) + 0.5) / n));
    EXPECT_LT(most, 0.025);
}

// The power of 5 rays has the mean 1 and the variance 1/5.
TEST(Fading, OfAPathIsTheMeanOfItsRays) {
    constexpr int users = 400;
    jakes_fading f(users, 2, 5, 8, 20, slot_s, block_slots, 9);
    double sum = 0, square = 0, both = 0, n = 0;
    for (int call = 0; call < 100; ++call) {
        f.advance();
        const auto a = f.power(0, 3), b = f.power(1, 3);
        for (std::size_t u = 0; u < users; ++u, ++n) {
            sum += static_cast<double>(a[u]);
            square += static_cast<double>(a[u] * a[u]);
            both += static_cast<double>(a[u] * b[u]);
        }
    }
    EXPECT_NEAR(sum / n, 1, 0.02);
    EXPECT_NEAR(square / n - 1, (1 - 3.0 / 32) / 5, 0.02);
    EXPECT_NEAR(both / n, 1, 0.03);  // independent receivers
}

TEST(Fading, WithoutDopplerStandsStill) {
    jakes_fading f(4, 1, 5, 8, 0, slot_s, block_slots, 1);
    f.advance();
    const float first = f.power(0, 0)[2];
    for (int call = 0; call < 300; ++call) f.advance();
    EXPECT_FLOAT_EQ(f.power(0, 14)[2], first);
}

// --- power control ---

cells_config alone() {
    cells_config c;
    c.cells = 1;
    c.users = 1;
    c.shadowing_db = 0;
    c.doppler_hz = 0;
    return c;
}

// A command takes effect `delay` slots after the SIR that it follows from.
TEST(PowerLoop, FollowsTheSirOfSomeSlotsAgo) {
    for (const int delay : {1, 2, 3, 4, 10}) {
        cells_config c = alone();
        c.loop_slots = delay;
        power_loop loop(c);
        std::vector<double> power;
        for (int slot = 0; slot < 30; ++slot) {
            loop.next_slot();
            power.push_back(loop.power_dbw(0));
            // once too low, otherwise between the targets
            const float sir = slot == 5 ? 1.0f : 1.9f;
            loop.measured(std::vector{sir});
        }
        for (int slot = 0; slot < 30; ++slot)
            EXPECT_DOUBLE_EQ(power[static_cast<std::size_t>(slot)],
                             slot < 5 + delay ? -96.0 : -95.5)
                << "delay " << delay << ", slot " << slot;
    }
}

TEST(PowerLoop, StaysInItsRange) {
    const cells_config c = alone();
    power_loop loop(c);
    for (int slot = 0; slot < 300; ++slot) {
        loop.next_slot();
        loop.measured(std::vector{0.0f});
    }
    EXPECT_DOUBLE_EQ(loop.power_dbw(0), -16);
    for (int slot = 0; slot < 300; ++slot) {
        loop.next_slot();
        loop.measured(std::vector{100.0f});
    }
    EXPECT_DOUBLE_EQ(loop.power_dbw(0), -96);
}

// One user, no fading: SIR = 32 x power x gain / noise, between the targets.
TEST(WcdmaCells, ASingleUserHasThePowerThatTheLinkBudgetAsksFor) {
    for (const auto of : {direction::uplink, direction::downlink}) {
        cells_config c = alone();
        c.of = of;
        c.rays = 16;
        wcdma_cells w(c, 3);
        w.advance_to(20);
        EXPECT_GE(w.sir_db(0), 2.5 - 0.01);
        EXPECT_LE(w.sir_db(0), 3 + 0.01);
        // Fading of 16 rays stays within 4 dB here.
        const double expected = w.sir_db(0) - db::from_power(32).value - 132 - w.gain_db(0, 0);
        EXPECT_NEAR(w.power_dbw(0), expected, 4);
    }
}

TEST(WcdmaCells, AreTheSameForTheSameSeedInStepsOfAnyLength) {
    cells_config c;
    c.users = 40;
    c.speed_kmh = 50;
    wcdma_cells a(c, 5), b(c, 5), other(c, 6);
    for (int n = 0; n < 60; ++n) a.advance_to(n);
    b.advance_to(59);
    other.advance_to(59);
    int different = 0;
    for (int u = 0; u < 40; ++u) {
        EXPECT_EQ(a.sir_db(u), b.sir_db(u));
        EXPECT_EQ(a.power_dbw(u), b.power_dbw(u));
        EXPECT_EQ(a.lost(u), b.lost(u));
        different += a.sir_db(u) != other.sir_db(u);
    }
    EXPECT_EQ(different, 40);
}

TEST(WcdmaCells, UsersThatMoveStayInTheLayoutAndChangeTheirSite) {
    for (const bool wrap : {false, true}) {
        cells_config c;
        c.users = 30;
        c.speed_kmh = 120;
        c.wrap = wrap;
        wcdma_cells w(c, 1);
        const point before = w.place(3);
        w.advance_to(3000);  // 30 s: 1 km
        for (int u = 0; u < 30; ++u) EXPECT_TRUE(w.sites().covers(w.place(u)));
        EXPECT_GT(std::hypot(w.place(3).x - before.x, w.place(3).y - before.y), 1);
        EXPECT_GT(w.handovers(), 10U);
    }
}

TEST(WcdmaCells, RefuseWhatTheyCannotBe) {
    const auto refused = [](auto change) {
        cells_config c;
        change(c);
        try {
            wcdma_cells w(c, 1);
        } catch (const std::invalid_argument& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_EQ(refused([](auto& c) { c.cells = 8, c.wrap = true; }),
              "count is 8; valid: 7, 19 or 37 with wrap-around");
    EXPECT_EQ(refused([](auto& c) { c.target_low_db = 4; }),
              "target_low_db is 4; valid: at most cells.target_high_db = 3");
    EXPECT_EQ(refused([](auto& c) { c.users = 0; }), "users is 0; valid: 1..1000");
    EXPECT_EQ(refused([](auto& c) { c.doppler_hz = NAN; }), "doppler_hz is nan; valid: 0..500");
}

// --- capacity and block errors ---

double share_lost(const cells_config& c, std::uint64_t seeds, int blocks) {
    double lost = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        wcdma_cells w(c, seed);
        for (int b = 0; b < blocks; ++b) {
            w.advance_to(b);
            for (int u = 0; u < c.users; ++u) lost += w.lost(u) ? 1 : 0;
        }
    }
    return lost / c.users / blocks / static_cast<double>(seeds);
}

// The text's 16 and 8 users a cell: gain / (Eb/N0), without interference of other cells.
TEST(WcdmaCells, HaveTheCapacityOfTheTextInOneCell) {
    for (const auto& [spreading, capacity] : {std::pair(32, 16), {16, 8}}) {
        cells_config c;
        c.cells = 1;
        c.spreading = spreading;
        c.users = capacity - 1;
        EXPECT_LT(share_lost(c, 5, 300), 0.02) << spreading;
        c.users = capacity + 2;
        EXPECT_GT(share_lost(c, 5, 300), 0.05) << spreading;
    }
}

// P(E) and P(E|E) of the users of a run.
struct conditional {
    double blocks = 0, lost = 0, blocks_after_lost = 0, again = 0;
    double rate() const { return lost / blocks; }
    double after_loss() const { return again / blocks_after_lost; }
    double sigma() const {
        return std::sqrt(after_loss() * (1 - after_loss()) / blocks_after_lost);
    }
};

conditional errors_at(double doppler_hz, int blocks) {
    cells_config c;
    c.users = 160;
    c.carriers = 3;
    c.doppler_hz = doppler_hz;
    wcdma_cells w(c, 1);
    std::vector<bool> before(160);
    conditional e;
    for (int b = 0; b < blocks; ++b) {
        w.advance_to(b);
        for (int u = 0; u < 160; ++u) {
            const bool lost = w.lost(u);
            const auto at = static_cast<std::size_t>(u);
            ++e.blocks;
            e.lost += lost ? 1 : 0;
            e.blocks_after_lost += b > 0 && before[at] ? 1 : 0;
            e.again += b > 0 && before[at] && lost ? 1 : 0;
            before[at] = lost;
        }
    }
    return e;
}

// The exponential effective SIR lies between the lowest SIR of the slots and their mean: at a large
// beta it is the mean, and the smaller beta is, the lower it is. Power control does not see it.
TEST(WcdmaCells, HaveAnEffectiveSirBetweenTheWorstSlotAndTheMean) {
    const auto sir_of = [](double beta) {
        cells_config c;
        c.users = 40;
        c.doppler_hz = 80;
        c.eesm_beta = beta;
        wcdma_cells w(c, 1);
        std::vector<double> all;
        for (int b = 0; b < 50; ++b) {
            w.advance_to(b);
            for (int u = 0; u < 40; ++u) all.push_back(w.sir_db(u));
        }
        return all;
    };
    const auto mean = sir_of(0), large = sir_of(1000), one = sir_of(1), small = sir_of(0.1);
    const auto worst = sir_of(0.01);
    for (std::size_t n = 0; n < mean.size(); ++n) {
        EXPECT_NEAR(large[n], mean[n], 0.02);
        EXPECT_LT(one[n], mean[n]);
        EXPECT_LT(small[n], one[n]);
        EXPECT_LT(worst[n], small[n]);
    }
    // The effective SIR is at most beta ln(15) above the lowest of 15 slots, linear.
    for (std::size_t n = 0; n < mean.size(); ++n)
        EXPECT_LT(db(small[n]).power(), db(worst[n]).power() + 0.1 * std::log(15.0) + 1e-6);

    cells_config c = alone();  // the same SIR in all slots
    const auto still = [&c](double beta) {
        c.eesm_beta = beta;
        wcdma_cells w(c, 3);
        w.advance_to(20);
        return w.sir_db(0);
    };
    EXPECT_NEAR(still(0.5), still(0), 1e-4);
}

TEST(WcdmaCells, LoseOneBlockInAHundredAt6HzAndIndependently) {
    const conditional e = errors_at(6, 1000);
    EXPECT_NEAR(e.rate(), 0.01, 0.002);
    EXPECT_NEAR(e.after_loss(), e.rate(), 3 * e.sigma());
}

TEST(WcdmaCells, LoseIsolatedBlocksAt80Hz) {
    const conditional e = errors_at(80, 600);
    EXPECT_GT(e.rate(), 0.02);
    EXPECT_LT(e.after_loss() + 3 * e.sigma(), e.rate());
}

}  // namespace
}  // namespace wip::cells
