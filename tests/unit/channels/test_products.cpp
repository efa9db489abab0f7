// SPDX-License-Identifier: GPL-3.0-or-later
// The table of devices: complete, and its arithmetic of clocks and rates that of UHD.
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "vusrp/product.h"

using namespace wip::vusrp;
using wip::db;

namespace {

double rate_of(const product& p, std::int64_t clock, double wish) {
    return static_cast<double>(clock) / static_cast<double>(p.nearest_ratio(clock, wish));
}

TEST(Products, are_the_eight_that_are_promised) {
    std::string names;
    for (const product& p : products()) names += p.name + " ";
    EXPECT_EQ(names, "b200 b210 n210 x310 n310 n320 e320 x410 ");
}

TEST(Products, every_one_is_whole) {
    for (const product& p : products()) {
        SCOPED_TRACE(p.name);
        EXPECT_TRUE(p.clock.valid(static_cast<double>(p.clock.initial)));
        EXPECT_GE(p.subdevices.size(), 1u);
        EXPECT_GE(p.ratios().size(), 100u);
        EXPECT_GT(p.latency_us, 0);
        EXPECT_GT(p.command_queue, 0);
        EXPECT_GT(p.ramp_us, 0);
        EXPECT_LT(p.wander.warm_up_ppm + p.wander.temperature_ppm, p.ppm);
        // The filler that ends a burst is longer than what the filters keep of it (256 samples).
        EXPECT_LT(p.transmit.delay.in_samples(7.68e6), 64);
        for (const front_end* f : {&p.transmit, &p.receive}) {
            EXPECT_LT(f->gain.lowest, f->gain.highest);
            EXPECT_GT(f->gain.step, 0);
            EXPECT_LE(f->bandwidth.lowest, f->bandwidth.initial);
            EXPECT_LE(f->bandwidth.initial, f->bandwidth.highest);
            EXPECT_FALSE(f->antennas.empty());
            EXPECT_LT(f->lowest_hz, f->highest_hz);
            EXPECT_GE(f->bits, 8);
            EXPECT_LE(f->bits, 16);
            EXPECT_LT(f->dc_dbfs, -20);
            EXPECT_GT(f->image_db, 20);
            EXPECT_GT(f->gain_error.level_db, 0);
            EXPECT_GE(f->delay.samples, 8);  // half of the kernel that makes its fraction
        }
        if (p.clock.wrong == wrong_clock::refuse) {
            EXPECT_NE(p.clock.refusal.find("clock rate"), std::string::npos);
        }
    }
}

// The products that have 7.68 MS/s, and the clock for it.
TEST(Products, give_the_rate_of_the_cell_or_the_nearest) {
    EXPECT_DOUBLE_EQ(rate_of(find_product("x310"), 184'320'000, 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate_of(find_product("n310"), 122'880'000, 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate_of(find_product("n320"), 245'760'000, 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate_of(find_product("x410"), 245'760'000, 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate_of(find_product("e320"), 30'720'000, 7.68e6), 7.68e6);
    EXPECT_DOUBLE_EQ(rate_of(find_product("x310"), 200'000'000, 7.68e6), 200e6 / 26);
    EXPECT_DOUBLE_EQ(rate_of(find_product("n310"), 125'000'000, 7.68e6), 125e6 / 16);
    EXPECT_DOUBLE_EQ(rate_of(find_product("n210"), 100'000'000, 7.68e6), 100e6 / 13);
    EXPECT_DOUBLE_EQ(rate_of(find_product("n210"), 100'000'000, 99e6), 50e6);  // gigabit
    EXPECT_DOUBLE_EQ(rate_of(find_product("n210"), 100'000'000, 1e3), 100e6 / 512);
    EXPECT_DOUBLE_EQ(rate_of(find_product("n210"), 100'000'000, 100e6 / 131), 100e6 / 132);
}

TEST(Products, a_b210_chooses_its_clock_for_the_rate) {
    const product& p = find_product("b210");
    EXPECT_EQ(p.automatic_clock(7.68e6), 61'440'000);  // 8 x
    EXPECT_EQ(p.automatic_clock(10e6), 40'000'000);    // 4 x
    EXPECT_EQ(p.automatic_clock(20e6), 20'000'000);    // 2 x is not taken
    EXPECT_EQ(p.automatic_clock(61.44e6), 61'440'000);
    EXPECT_EQ(p.automatic_clock(1e6), 32'000'000);
}

TEST(Products, clocks_that_cannot_be_had_are_known) {
    EXPECT_FALSE(find_product("n310").clock.valid(100e6));
    EXPECT_FALSE(find_product("x310").clock.valid(100e6));
    // its clock could run so, but UHD refuses it
    EXPECT_FALSE(find_product("x310").clock.valid(120e6));
    EXPECT_TRUE(find_product("x310").clock.valid(190e6));  // experimental, but taken
    EXPECT_FALSE(find_product("b200").clock.valid(100e6));
    EXPECT_TRUE(find_product("e320").clock.valid(30.72e6));
}

TEST(Products, levels_are_dbm) {
    const product& p = find_product("b210");
    EXPECT_DOUBLE_EQ(p.transmit_level(db(89.75)).value, 10);
    EXPECT_DOUBLE_EQ(p.transmit_level(db(69.75)).value, -10);
    EXPECT_DOUBLE_EQ(p.receive_level(db(0)).value, 10);  // full scale is -10 dBm
    EXPECT_DOUBLE_EQ(p.receive_level(db(30)).value, 40);
}

TEST(Products, an_unknown_one_is_refused_by_its_name) {
    try {
        find_product("b2100");
        FAIL();
    } catch (const std::invalid_argument& e) {
        EXPECT_EQ(std::string(e.what()),
                  "device argument product is b2100; valid: b200, b210, n210, x310, n310, n320, "
                  "e320, x410, or none (a radio without faults)");
    }
}

TEST(Products, words_are_filled_in) {
    const std::pair<std::string, std::string> values[] = {{"mhz", "100.00"}};
    EXPECT_EQ(filled_in(find_product("n320").clock.refusal, values),
              "Invalid master clock rate: 100.00 MHz");
}

// One product that has what it needs from another, as the table's have.
constexpr const char* table = R"yaml(products:
  plain: &plain
    board: P
    front: F
    subdevices: "A:0 B:0"
    clock: {range: [1000, 2000], default: 1500, wrong: force}
    decimation: [[1, 4, 1]]
    gain_name: G
    packet: 100
    frequency: [1.0e+6, 2.0e+6]
    transmit_gain: [0, 10, 1]
    receive_gain: [0, 10, 1]
    transmit_bandwidth: [1, 2, 2]
    receive_bandwidth: [1, 2, 2]
    transmit_antennas: [T]
    receive_antennas: [R]
    antenna_refusal: no
    source_refusal: [no clock, no time]
    dac_bits: 12
    adc_bits: 12
    transmit_leakage_dbfs: -50
    transmit_image_db: 35
    receive_dc_dbfs: -50
    receive_image_db: 35
    ppm: 2
    full_scale_dbm: [10, -10]
    latency_us: 80
    spread_us: 125
    command_timing: at_once
    settling_us: 20
    command_queue: 3
    control: b200
    buffers: {transmit: 1, receive: 2, frames: 3, frame: 416}
    analog: {gain_error: [0.5, 20], ramp_us: 2, transmit_delay: [0.3, 9], receive_delay: [0.4, 10], wander_ppm: [0, 0, 0]}
  other:
    <<: *plain
    board: O
)yaml";

TEST(Products, a_table_is_read_with_what_it_merges) {
    const auto read = read_products(table, "t.yaml");
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[1].board, "O");
    EXPECT_EQ(read[1].subdevices, (std::vector<std::string>{"A:0", "B:0"}));
    EXPECT_EQ(read[1].clock.wrong, wrong_clock::force);
    EXPECT_FALSE(read[1].timed_commands);
}

TEST(Products, a_table_that_is_none_is_refused_by_place_value_and_what_is_valid) {
    const std::vector<std::array<std::string, 3>> cases = {
        {"wrong: force", "wrong: fourced",
         "t.yaml: products.plain.clock.wrong is 'fourced'; valid: one of refuse, force, default, "
         "ignore"},
        {"command_timing: at_once", "command_timing: exakt",
         "t.yaml: products.plain.command_timing is 'exakt'; valid: one of exact, at_once"},
        {"packet: 100", "packet: 1.5",
         "t.yaml: products.plain.packet is '1.5'; valid: a whole number"},
        {"    ppm: 2\n", "", "t.yaml: products.plain.ppm is missing; valid: a number"},
        {"[10, -10]", "[10]", "t.yaml: products.plain.full_scale_dbm is a list; valid: 2 numbers"},
        {"default: 1500", "defualt: 1500", "t.yaml: products.plain.clock.defualt: unknown key"},
        {"[T]", "T", "t.yaml: products.plain.transmit_antennas is 'T'; valid: a list"},
        {"products:", "[", "t.yaml:3: not YAML: "}};
    for (const auto& [good, bad, words] : cases) {
        std::string text = table;
        text.replace(text.find(good), good.size(), bad);
        try {
            read_products(text, "t.yaml");
            FAIL() << bad;
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string(e.what()).find(words), 0U) << e.what();
        }
    }
}

}  // namespace
