// SPDX-License-Identifier: GPL-3.0-or-later
// A fader with several radios, paths and directions, and one that begins again at another time: to
// the sample what the mixer makes.
#include <gtest/gtest.h>

#include <thread>

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

// To the sample what that mixer makes at a and c of what all three hear.
void expect_sent(mix::mixer& m, const fader_setup& s, array_radio& a, array_radio& b,
                 array_radio& c) {
    std::vector<received_samples> in(3, received_samples(std::size_t{1} << 20));
    std::vector<const mix::sample_source*> sources;
    for (const auto& [source, radio] : {std::pair{&in[0], &a}, {&in[1], &b}, {&in[2], &c}}) {
        source->begin(beginning);
        source->write(beginning, radio->in);
        sources.push_back(source);
    }
    for (const auto& [node, radio] : {std::pair<std::size_t, array_radio*>{0, &a}, {2, &c}}) {
        std::vector<cf32> expected(radio->in.size());
        m.hear(node, beginning, expected, sources, std::vector<mix::node_tuning>(3));
        ASSERT_EQ(radio->sent.size(), expected.size() + static_cast<std::size_t>(s.delay));
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_EQ(radio->sent[i + static_cast<std::size_t>(s.delay)], expected[i])
                << node << ' ' << i;
    }
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

    mix::mixer m(s.mix);
    expect_sent(m, s, a, b, c);
    const fader_moment now = f.moment();
    ASSERT_EQ(now.taps.size(), 3U);
    EXPECT_EQ(now.taps[0].size(), 2U);
    EXPECT_EQ(now.taps[1].size(), 1U);
}

TEST(FaderPaths, several_paths_change_at_the_same_sample) {
    const fader_setup s = three_ways();
    array_radio a{random_samples(10 * slot_samples, 1)}, b{random_samples(10 * slot_samples, 2)},
        c{random_samples(10 * slot_samples, 3)};
    mix::path_config bc = s.mix.paths[1], ca = s.mix.paths[2];
    bc.gain_db = -3, ca.channel = s.mix.paths[0].channel;
    const auto wanted = [&] {
        mix::mixer_changes all(2);
        all[0].path = 1, all[0].channel = mix::mixer::prepare(bc, 1, s.mix.seed);
        all[1].path = 2, all[1].channel = mix::mixer::prepare(ca, 2, s.mix.seed);
        return all;
    };
    fader f(s, {&a, &b, &c});
    for (array_radio* r : {&a, &b, &c}) r->at_end = [&f] { f.stop(); };
    std::optional<tick> from;
    std::thread asks([&] { from = f.change(wanted()); });
    while (!f.change_waits()) std::this_thread::yield();
    f.run(beginning);
    asks.join();
    ASSERT_TRUE(from);
    ASSERT_LT(*from, beginning + 5 * slot_samples);
    mix::mixer m(s.mix);
    auto changes = wanted();
    for (auto& one : changes)
        m.replace(one.path, s.mix.paths[one.path].to, std::move(one.channel), *from);
    expect_sent(m, s, a, b, c);
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
        // Samples that the second fader has not received, or has sounded instead, stay in its paths
        // for so long.
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
