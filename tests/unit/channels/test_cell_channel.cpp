// SPDX-License-Identifier: GPL-3.0-or-later
// The channels of an emulated cell's users: those that the medium and `channel render` make of the
// same definition, seed and user.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include "bin/fading_channel.h"
#include "cell/cell_channel.h"

using namespace wip;
using namespace wip::cell_model;

namespace {

std::vector<snr_source> sources_of(const std::string& model, int users) {
    channel_config c;
    c.model = model;
    c.shadowing = profiles::channel_choice::use::off;
    c.prediction_nmse = 0;  // `hst` hardly fades
    emulation_config cell;
    cell.cell.users = users;
    return make_sources(c, cell);
}

std::array<float, nof_bins> snr_of(bin_model::bin_channel& channel, slot s) {
    std::array<float, nof_bins> snr{};
    channel.snr(s, snr);
    return snr;
}

bin_model::fading_channel rendered(const std::string& model, std::size_t user, std::uint32_t waves,
                                   std::uint64_t seed) {
    profiles::channel_choice choice;
    choice.user = user;
    choice.shadowing = profiles::channel_choice::use::off;
    return bin_model::fading_channel(
        {.channel = profiles::realise(profiles::load_definition(model), choice, seed),
         .mean_snr_db = channel_config{}.snr_db,
         .seed = seed,
         .purpose = waves});
}

}  // namespace

// With winner each user has a speed of its own from the seed, with n-user a track.
TEST(CellChannel, EachUserHasTheChannelThatItHasAtTheSampleLevel) {
    for (const char* model : {"winner", "jakes", "n-user", "hst"}) {
        const auto sources = sources_of(model, 4);
        ASSERT_EQ(sources.size(), 4U);
        for (std::uint32_t user = 0; user < 4; ++user) {
            auto expected = rendered(model, user, user, emulation_config{}.seed);
            for (const int s : {0, 1, 700})
                EXPECT_EQ(snr_of(*sources[user].channel, slot(s)), snr_of(expected, slot(s)))
                    << model << ", user " << user << ", slot " << s;
        }
    }
}

TEST(CellChannel, ATrackAloneIsEverybodys) {
    const std::string file = testing::TempDir() + "one_track.yaml";
    std::ofstream(file)
        << "name: one\nsource: own\nbased_on: flat\nusers:\n  - {name: a, track: "
           "[{x_m: 10, y_m: 0, speed_kmh: 30}, {x_m: 90, y_m: 0, speed_kmh: 30}]}\n";
    const auto sources = sources_of(file, 2);
    auto expected = rendered(file, 0, 1, emulation_config{}.seed);
    EXPECT_EQ(snr_of(*sources.at(1).channel, slot(9)), snr_of(expected, slot(9)));
    EXPECT_THROW(sources_of("two-user", 3), std::invalid_argument);
}
