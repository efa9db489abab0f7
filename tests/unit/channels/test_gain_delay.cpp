// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <vector>

#include "sample/delay.h"
#include "sample/gain.h"

using namespace wip::sample_model;
using cf32 = std::complex<float>;

TEST(Gain, of_0_db_copies_and_of_20_db_is_tenfold) {
    const std::vector<cf32> x{{0.1f, -0.2f}, {1e-7f, 3}};
    std::vector<cf32> y(2);
    gain(wip::db(0)).work(x, y);
    EXPECT_EQ(x, y);
    gain(wip::db(20)).work(x, y);
    EXPECT_EQ(y[1], cf32(10 * 1e-7f, 30));
}

TEST(Delay, shifts_by_whole_samples_in_any_chunks_and_in_place) {
    for (const long samples : {0L, 1L, 7L, 100L}) {
        delay line(samples);
        std::vector<cf32> x(500);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = {static_cast<float>(i + 1), 0};
        for (std::size_t done = 0, n = 1; done < x.size(); done += n, n = 1 + done % 37) {
            n = std::min(n, x.size() - done);
            line.work({x.data() + done, n}, {x.data() + done, n});
        }
        for (std::size_t i = 0; i < x.size(); ++i) {
            const long sent = static_cast<long>(i) - samples;
            ASSERT_EQ(x[i], cf32(sent < 0 ? 0 : static_cast<float>(sent + 1), 0));
        }
    }
}

TEST(Delay, refuses_a_length_out_of_range) {
    EXPECT_THROW(delay(-1), std::invalid_argument);
    EXPECT_THROW(delay(1'000'001), std::invalid_argument);
}
