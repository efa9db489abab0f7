// SPDX-License-Identifier: GPL-3.0-or-later
// The devices of a fader: one time for all of them, set within one second and compared; what cannot
// have a common clock is refused before any device is opened.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <optional>

#include "cabled/common_time.h"
#include "cabled/fader_config.h"

using namespace wip;
using namespace wip::cabled;

namespace {

using mix::sample_rate;
using mix::tick;

tick ticks(double seconds) { return std::llround(seconds * sample_rate); }

// Devices in virtual time, an edge at each whole second.
struct world {
    struct device final : timed_device {
        device(world& in, std::string name) : w(in), called(std::move(name)) {}
        std::string name() const override { return called; }
        bool takes_pulses() const override { return pulses; }
        tick time_of_last_edge() override { return at_edge; }
        void set_time_at_next_edge(tick t) override {
            w.pass(w.to_tell_s);
            asked = t;
            ++times_set;
        }
        tick now() override { return at_edge + ticks(w.now - edge); }

        world& w;
        std::string called;
        bool pulses = true, connected = true;
        double shift = 0, edge = 0;  // shift of its pulses; time of the last edge
        tick at_edge = 0;
        std::optional<tick> asked;
        int times_set = 0;
    };

    device& add(const std::string& name, double its_time) {
        devices.emplace_back(*this, name);
        devices.back().at_edge = ticks(its_time);
        return devices.back();
    }
    // Time passes in small steps, so that a device sees its edges one by one.
    void pass(double seconds) {
        const double end = now + seconds;
        for (; now < end; now = std::min(end, now + 0.001))
            for (device& d : devices) {
                const double last = std::floor(now + 1e-9 - d.shift) + d.shift;
                if (!d.connected || last <= d.edge + 1e-6) continue;
                d.at_edge = d.asked.value_or(d.at_edge + ticks(std::round(last - d.edge)));
                d.asked.reset();
                d.edge = last;
            }
    }
    void give() {
        std::vector<timed_device*> all;
        for (device& d : devices) all.push_back(&d);
        give_common_time(all, [this](double s) { pass(s); });
    }
    std::string refused() {
        try {
            give();
        } catch (const std::runtime_error& e) {
            EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
            return e.what();
        }
        return "";
    }

    double now = 0.5, to_tell_s = 0.01;
    std::deque<device> devices;
};

fader_config read(const std::string& nodes) {
    config::settings s(fader_keys());
    s.merge_yaml("air: {name: x}\nnodes: " + nodes + "\npaths: [{from: a, to: b}]\n", "fader.yaml");
    return translate(s);
}

std::string refused(const std::string& nodes) {
    try {
        read(nodes);
    } catch (const config::error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST(FaderDevices, a_configuration_that_is_printed_reads_back_with_its_nodes_and_paths) {
    config::settings s(fader_keys()), again(fader_keys());
    s.merge_yaml(
        "air: {name: x}\n"
        "nodes: {a.1: {radio: 'serial=1, x', noise_dbfs: -60}, b: {radio: 'serial=1, x', channel: "
        "1}}\n"
        "paths: [{from: a.1, to: b, impairments: [cfo_hz: 3]}, {from: b, to: a.1}]\n",
        "fader.yaml");
    translate(s);
    again.merge_yaml(s.to_yaml(), "printed");
    const fader_config c = translate(again);
    EXPECT_EQ(again.to_yaml(), s.to_yaml());
    ASSERT_EQ(c.radios.size(), 2u);
    EXPECT_EQ(c.radios[0].node, "a.1");
    EXPECT_EQ(c.radios[0].arguments, "serial=1, x");
    EXPECT_EQ(c.radios[1].channel, 1u);
    ASSERT_EQ(c.setup.mix.paths.size(), 2u);
    EXPECT_EQ(c.setup.mix.nodes[0].noise_dbfs, -60);
    EXPECT_EQ(c.setup.mix.paths[0].impairments.size(), 1u);
    EXPECT_EQ(c.setup.mix.paths[1].from, 1u);
}

TEST(FaderDevices, all_have_one_time_whatever_they_had_and_each_is_told_once) {
    world w;
    for (const double its_time : {100.0, 7.0, 4321.0}) w.add("d", its_time);
    w.now = 0.985;  // an edge would come while the devices are set one by one
    w.give();
    for (auto& d : w.devices) {
        EXPECT_EQ(d.times_set, 1);
        EXPECT_EQ(d.at_edge, 0);
        EXPECT_EQ(d.now(), w.devices[0].now());
    }
}

TEST(FaderDevices, without_a_pulse_it_says_which_and_what_to_connect) {
    world none;
    none.add("first", 1).connected = false;
    none.add("second", 2);
    EXPECT_EQ(none.refused(),
              "first: no edge of the second within 2.5 s; connect 1 PPS to it (time_source)");
    world one;
    one.add("first", 1);
    one.add("second", 2).connected = false;
    EXPECT_NE(one.refused().find("second: its time at the last edge of the second is 2.000000 s, "
                                 "that of first 0.000000 s"),
              std::string::npos)
        << one.refused();
}

TEST(FaderDevices, a_device_that_is_told_too_late_is_found) {
    world w;
    for (const char* name : {"first", "second", "third"}) w.add(name, 50);
    w.to_tell_s = 0.4;  // the third device is set after the edge
    EXPECT_NE(w.refused().find("third: its time at the last edge"), std::string::npos);
}

TEST(FaderDevices, another_pulse_is_found) {
    for (const double shift : {0.05, 0.5}) {
        world w;
        w.add("first", 0);
        w.add("second", 0).shift = shift;
        const std::string words = shift < 0.1 ? "at the last edge of the second is 1.0" : "is 0.7";
        EXPECT_EQ(w.refused().find("second: its time " + words), 0U) << shift;
    }
}

TEST(FaderDevices, what_has_a_common_time_already_is_compared_and_not_set) {
    world same, other;
    for (world* w : {&same, &other})
        for (const char* name : {"first", "second"}) w->add(name, 3).pulses = false;
    EXPECT_EQ(same.refused(), "");
    EXPECT_EQ(same.now, 0.5);  // there was no wait
    EXPECT_EQ(same.devices[1].times_set, 0);
    other.devices[1].at_edge = ticks(4);
    EXPECT_NE(other.refused().find("second: its time at the last edge"), std::string::npos);
    world alone;
    alone.add("only", 3).connected = false;
    EXPECT_EQ(alone.refused(), "");
}

TEST(FaderDevices, several_need_a_common_clock_and_a_common_time_by_configuration) {
    const std::string both = ", clock_source: external, time_source: gpsdo}";
    EXPECT_NO_THROW(read("{a: {radio: x" + both + ", b: {radio: y" + both + "}"));
    EXPECT_NO_THROW(read("{a: {radio: x}, b: {radio: x, channel: 1}}"));
    EXPECT_NO_THROW(read("{a: {radio: 'type=vusrp,node=a'}, b: {radio: 'type=vusrp,node=b'}}"));
    EXPECT_EQ(refused("{a: {radio: x" + both + ", b: {radio: y, time_source: external}}"),
              "default: nodes.b.clock_source is internal; valid: external or gpsdo: it "
              "is one of "
              "several radios, which need a common reference and pulse");
    EXPECT_EQ(
        refused("{a: {radio: x, clock_source: gpsdo}, b: {radio: y" + both + "}").substr(0, 66),
        "default: nodes.a.time_source is internal; valid: external or gpsdo");
}
