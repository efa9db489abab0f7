// SPDX-License-Identifier: GPL-3.0-or-later
// A fader with several radios, paths and directions, and one that begins again at another time: to
// the sample what the mixer makes.
#include <gtest/gtest.h>

#include "array_radio.h"
#include "fader/received_samples.h"
#include "fader/sounding.h"

using namespace wip;
using namespace wip::cabled;
using namespace wip::cabled::test;

namespace {

// Paths of one's own to a node that hears two others, and back to one of them.
fader_setup three_ways() {
    fader_setup s = one_way();
    s.mix.nodes = {{"a", {}}, {"b", {}}, {"c", -40.0}};
    mix::path_config ac = s.mix.paths[0], bc = ac, ca = ac;
    ac.to = 2;
    bc.from = 1, bc.to = 2, bc.gain_db = -9, bc.delay_samples = 700, bc.user = 1;
    bc.channel->profile.taps.pop_back();
    ca.from = 2, ca.to = 0, ca.gain_db = 2, ca.channel.reset();
    ca.frequency_shift_hz = 120;
    s.mix.paths = {ac, bc, ca};
    return s;
}

}  // namespace

TEST(FaderPaths, each_radio_of_several_hears_its_own_paths_and_nothing_else) {
    const fader_setup s = three_ways();
    array_radio a{random_samples(10 * slot_samples, 1)}, b{random_samples(10 * slot_samples, 2)},
        c{random_samples(10 * slot_samples, 3)};
    b.random.seed(8), c.random.seed(9);
    fader f(s, {&a, &b, &c});
    for (array_radio* r : {&a, &b, &c}) r->at_end = [&f] { f.stop(); };
    f.run(beginning);
    EXPECT_TRUE(a.receives && a.transmits && c.receives && c.transmits);
    EXPECT_TRUE(b.receives && !b.transmits);
    EXPECT_TRUE(b.sent.empty());

    std::vector<received_samples> in(3, received_samples(std::size_t{1} << 20));
    std::vector<const mix::sample_source*> sources;
    for (const auto& [source, radio] : {std::pair{&in[0], &a}, {&in[1], &b}, {&in[2], &c}}) {
        source->begin(beginning);
        source->write(beginning, radio->in);
        sources.push_back(source);
    }
    mix::mixer m(s.mix);
    for (const auto& [node, radio] : {std::pair<std::size_t, array_radio*>{0, &a}, {2, &c}}) {
        std::vector<cf32> expected(radio->in.size());
        m.hear(node, beginning, expected, sources, std::vector<mix::node_tuning>(3));
        ASSERT_EQ(radio->sent.size(), expected.size() + static_cast<std::size_t>(s.delay));
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(radio->sent[i + static_cast<std::size_t>(s.delay)], expected[i])
                << node << ' ' << i;
    }
    const fader_moment now = f.moment();
    ASSERT_EQ(now.taps.size(), 3U);
    EXPECT_EQ(now.taps[0].size(), 2U);
    EXPECT_EQ(now.taps[1].size(), 1U);
}

TEST(FaderPaths, begun_again_later_it_makes_the_same_channel_of_the_same_times) {
    constexpr tick later = 3 * slot_samples;
    const auto in = random_samples(10 * slot_samples, 1);
    for (const bool sounds : {false, true}) {
        fader_setup s = one_way();
        s.sounds = sounds;
        const auto start = [&](array_radio& from, array_radio& to, tick begin) {
            from.begins = to.begins = begin;
            fader f(s, {&from, &to});
            from.at_end = [&f] { f.stop(); };
            f.run(begin);
        };
        array_radio first{in}, second{{in.begin() + later, in.end()}};
        array_radio hears_first, hears_second;
        start(first, hears_first, beginning);
        start(second, hears_second, beginning + later);
        const auto &a = hears_first.sent, &b = hears_second.sent;
        ASSERT_EQ(a.size(), b.size() + static_cast<std::size_t>(later));
        // What the second one has not heard, or has sounded instead, is in its paths for so long.
        const tick longest = mix::mixer(s.mix).max_delay();
        tick own = s.delay + longest + 64;
        if (sounds) own += sounding(s.mix, 0, longest).end();
        ASSERT_LT(own + 2 * slot_samples, std::ssize(b));
        EXPECT_GT(std::abs(b[static_cast<std::size_t>(own)]), 1e-6);
        for (tick i = own; i < std::ssize(b); ++i)
            ASSERT_EQ(b[static_cast<std::size_t>(i)], a[static_cast<std::size_t>(i + later)])
                << sounds << ' ' << i;
    }
}
