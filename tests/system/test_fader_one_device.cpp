// SPDX-License-Identifier: GPL-3.0-or-later
// One device with two channels as the fader, both ways, through UHD in lockstep: what the stations
// hear is what a mixer of the same configuration makes, every bit of it, the delay later; once more
// after the fader has been ended and begun again.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <future>
#include <random>

#include "cabled/fader_config.h"
#include "fader/received_samples.h"
#include "two_radios.h"

namespace {

using namespace wip;
using namespace wip::test;
using mix::tick;

constexpr tick delay = 10240;       // samples
constexpr std::size_t n = 150'000;  // samples

std::string configuration(const std::string& arguments) {
    return "air: {name: fader, seed: 3, priority: 0}\n"
           "fader: {delay_samples: 10240, start_delay_s: 0.05}\n"
           "nodes:\n"
           "  base: {radio: &device \"" +
           arguments +
           "\", receive_gain_db: 0, transmit_gain_db: 11.5, noise_dbfs: -45}\n"
           "  terminal: {radio: *device, channel: 1, receive_gain_db: 0, transmit_gain_db: 11.5, "
           "noise_dbfs: -40}\n"
           "paths:\n"
           "  - {from: base, to: terminal, channel: epa, speed_kmh: 75, gain_db: -6}\n"
           "  - {from: terminal, to: base, channel: jakes, speed_kmh: 30, gain_db: -9}\n"
           "  - {from: base, to: base, delay_samples: 70, gain_db: -30}\n";
}

samples noise(std::uint32_t seed) {
    std::minstd_rand random(seed);
    std::uniform_real_distribution<float> value(-0.2f, 0.2f);
    samples x(n);
    for (cf32& v : x) v = {value(random), value(random)};
    return x;
}

// A station's transmitter or receiver, without faults.
usrp::sptr station(const air_process& air, const std::string& node) {
    auto radio = usrp::make(uhd::device_addr_t(air.args(node)));
    radio->set_tx_freq(carrier);
    radio->set_rx_freq(carrier);
    return radio;
}

// The samples at a node by a mixer alone, from what both stations send from `begin` on.
samples mixed(const mix::mix_config& config, std::size_t node, tick begin, const samples& a,
              const samples& b) {
    cabled::received_samples first(1 << 18), second(1 << 18);
    for (auto* s : {&first, &second}) s->begin(begin);
    first.write(begin, a);
    second.write(begin, b);
    mix::mixer m(config);
    samples out(n);
    const std::vector<const mix::sample_source*> sources{&first, &second};
    m.hear(node, begin, out, sources, std::vector<mix::node_tuning>(2));
    return out;
}

class fader_process {
public:
    explicit fader_process(const std::string& file) {
        const std::string program = air_process::build_folder() + "/host/cabled/wip_fader";
        pid_ = fork();
        if (pid_ == 0) {
            execl(program.c_str(), "wip_fader", "--config", file.c_str(), nullptr);
            _exit(127);
        }
    }
    ~fader_process() { end(); }
    // Exit code: 1 if anything was lost.
    int end() {
        if (pid_ <= 0) return -1;
        kill(pid_, SIGTERM);
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t pid_ = 0;
};

std::size_t nof_different(const samples& x, const samples& y) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) count += x[i] != y[i];
    return count;
}

TEST(FaderOneDevice, both_ways_every_bit_is_the_mixers_also_when_it_is_begun_again) {
    const air_process air(
        "clock: lockstep, speed: 1, wait_for: {transmitters: 4, receivers: 4}",
        "nodes: {base-sends: {}, base-hears: {}, terminal-sends: {}, terminal-hears: {}, "
        "fader-base: {}, fader-terminal: {}}\n"
        "paths: [{from: base-sends, to: fader-base}, {from: fader-base, to: base-hears}, "
        "{from: terminal-sends, to: fader-terminal}, "
        "{from: fader-terminal, to: terminal-hears}]\n");
    const std::string yaml =
        configuration(air.args("fader-base:fader-terminal") +
                      ",product=x310,master_clock_rate=184.32e6,ppm=0,faults=0");
    const std::string file = testing::TempDir() + "/fader-" + std::to_string(getpid()) + ".yaml";
    std::ofstream(file) << yaml;
    config::settings settings(cabled::fader_keys());
    settings.merge_yaml(yaml, file);
    const cabled::fader_config config = cabled::translate(settings);
    const auto a = station(air, "base-sends"), b = station(air, "base-hears");
    const auto c = station(air, "terminal-sends"), d = station(air, "terminal-hears");
    const uhd::stream_args_t args("fc32", "sc16");
    const auto from_base = a->get_tx_stream(args), from_terminal = c->get_tx_stream(args);
    const auto to_base = b->get_rx_stream(args), to_terminal = d->get_rx_stream(args);
    const samples down = noise(1), up = noise(2);
    for (int run = 0; run < 2; ++run) {
        SCOPED_TRACE(run);
        fader_process fader(file);
        // The clock of the medium stands until the first fader has attached. The second one has
        // five seconds of the running clock in which to start.
        const tick begin = (run == 0 ? 0 : a->get_time_now().to_ticks(7.68e6)) + 5 * 7'680'000;
        uhd::tx_metadata_t m;
        m.has_time_spec = m.start_of_burst = m.end_of_burst = true;
        m.time_spec = uhd::time_spec_t::from_ticks(begin, 7.68e6);
        for (const auto& rx : {to_base, to_terminal}) {
            uhd::stream_cmd_t command(uhd::stream_cmd_t::STREAM_MODE_NUM_SAMPS_AND_DONE);
            command.num_samps = n;
            command.stream_now = false;
            command.time_spec = uhd::time_spec_t::from_ticks(begin + delay, 7.68e6);
            rx->issue_stream_cmd(command);
        }
        // Neither device can buffer all samples, and the clock advances only when both have sent.
        auto sent = std::async(std::launch::async,
                               [&] { return from_terminal->send(up.data(), n, m, 20); });
        ASSERT_EQ(from_base->send(down.data(), n, m, 20), n);
        ASSERT_EQ(sent.get(), n);
        samples at_terminal(n), at_base(n);
        uhd::rx_metadata_t metadata;
        ASSERT_EQ(to_terminal->recv(at_terminal.data(), n, metadata, 60), n);
        ASSERT_EQ(to_base->recv(at_base.data(), n, metadata, 60), n);
        EXPECT_EQ(nof_different(at_terminal, mixed(config.setup.mix, 1, begin, down, up)), 0u);
        EXPECT_EQ(nof_different(at_base, mixed(config.setup.mix, 0, begin, down, up)), 0u);
        EXPECT_GT(std::abs(at_base[1000]), 0);
        EXPECT_EQ(fader.end(), 0);  // nothing was lost
    }
    std::remove(file.c_str());
}

}  // namespace
