// SPDX-License-Identifier: GPL-3.0-or-later
// The errors that are drawn for a software USRP: they belong to the device, not to its cell.
#include <gtest/gtest.h>

#include <string>
#include <uhd/exception.hpp>
#include <uhd/types/device_addr.hpp>
#include <vector>

#include "vusrp/radio_model.h"

using namespace wip::vusrp;

namespace {

// All values that are drawn from a seed, for both channels of a b210.
std::vector<double> drawn(const std::string& cell, const std::string& node,
                          const std::string& more = "") {
    radio_model m(uhd::device_addr_t("type=vusrp,product=b210,air=" + cell + ",node=" + node +
                                     ",serial=" + cell + "." + node + more));
    std::vector<double> all{m.ppm(), m.random_turns(), static_cast<double>(m.random_spread()),
                            static_cast<double>(m.random_settling())};
    for (const std::size_t channel : {0, 1}) {
        for (const side s : {side::receive, side::transmit})
            for (double gain = 0; gain < 70; gain += 7) {
                const actual_gain g = m.gain_setting(s, channel, gain);
                all.insert(all.end(), {g.level.value, g.turns});
            }
        const radio_model of_channel = m.of(channel);
        for (const std::int64_t step : {0, 1, 1000}) {
            const auto left = of_channel.tracked()->at(step);
            all.insert(all.end(), {left.dc.real(), left.image.imag()});
        }
        all.push_back(static_cast<double>(of_channel.seed()));
    }
    return all;
}

}  // namespace

TEST(RadioModel, a_cell_of_another_name_has_the_same_devices) {
    EXPECT_EQ(drawn("cell4711", "base"), drawn("cell815", "base"));
    EXPECT_NE(drawn("cell4711", "base"), drawn("cell4711", "terminal"));
    EXPECT_EQ(drawn("cell4711", "a:b"), drawn("cell815", "a:b"));
}

TEST(RadioModel, a_seed_is_a_device_wherever_it_stands) {
    EXPECT_EQ(drawn("one", "base", ",seed=7"), drawn("two", "terminal", ",seed=7"));
    EXPECT_NE(drawn("one", "base", ",seed=7"), drawn("one", "base", ",seed=8"));
    EXPECT_NE(drawn("one", "base", ",seed=0"), drawn("one", "base"));
}

TEST(RadioModel, a_seed_that_is_no_whole_number_is_refused) {
    for (const std::string wrong : {"", "-1", "1.5", "4294967296", "x", "007"}) {
        try {
            drawn("one", "base", ",seed=" + wrong);
            ADD_FAILURE() << "seed=" << wrong << " was taken";
        } catch (const uhd::value_error& e) {
            EXPECT_NE(std::string(e.what()).find("seed is " + wrong + ";"), std::string::npos)
                << e.what();
        }
    }
    EXPECT_NO_THROW(drawn("one", "base", ",seed=4294967295"));
}
