// SPDX-License-Identifier: GPL-3.0-or-later
// The footprint of one slot in each part of the slot path. tests/bench/footprint.py runs it.
//
//   footprint count PART SLOTS   under valgrind's callgrind, which is asked to look at single slots
//                                only: it begins each with empty caches, so that a miss is a line
//                                of 64 bytes that the slot touches for the first time
//   footprint time PART SLOTS MODE
//                                microseconds of single slots, JSON, by the mode:
//                                hot: one after the other
//                                pause: after 400 us of sleep each, as in a cell
//   footprint list               the names of the parts
//
// All parts use 25 bins. The slots before the ones that count fill queues and settle filters.
#include <valgrind/callgrind.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../curves/curve_world.h"
#include "bench_support.h"
#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "slot_times.h"

namespace {

using namespace wip;
using phy::cf32;

// A part of the slot path: preparation before a slot, and the slot itself.
struct part {
    virtual ~part() = default;
    virtual void prepare() = 0;
    virtual void slot() = 0;
};

class receiver_part : public part {
public:
    explicit receiver_part(const curves::world_config& c) : world_(c) {}
    void prepare() override { world_.next(); }
    void slot() override {
        receiver_.process(first_sample(world_.now()), world_.noisy,
                          [this](const phy::received_slot& s) { slots_ += s.locked; });
    }

private:
    curves::world world_;
    phy::slot_receiver receiver_{phy::slot_receiver_config{}};
    int slots_ = 0;
};

class transmitter_part : public part {
public:
    void prepare() override {
        sent_ = source_.make(wip::slot(next_++));
        for (std::size_t b = 0; b < nof_bins; ++b) views_[b] = sent_.payload[b];
    }
    void slot() override {
        modulator_.work(sent_.air, sent_.grant, views_,
                        std::span<cf32, slot_samples>(out_.data(), slot_samples));
    }

private:
    std::int64_t next_ = curves::first_slot;
    phy::test::slot_source source_{8};
    phy::slot_modulator modulator_{phy::slot_modulator_config{}};
    decltype(source_.make(wip::slot(0))) sent_;
    std::array<std::span<const std::uint8_t>, nof_bins> views_;
    std::vector<cf32> out_ = std::vector<cf32>(slot_samples);
};

class noise_part : public part {
public:
    void prepare() override {}
    void slot() override { noise_.work(in_, out_); }

private:
    sample_model::noise noise_{0.001, 1};
    std::vector<cf32> in_ = std::vector<cf32>(slot_samples), out_ = in_;
};

class paths_part : public part {
public:
    void prepare() override {}
    void slot() override { line_.work(slot_samples * next_++, in_, out_); }

private:
    sample_model::tapped_delay_line line_{profiles::load("jakes"), 125,
                                          sample_model::stage_context{.seed = 1}};
    std::int64_t next_ = 0;
    std::vector<cf32> in_ = std::vector<cf32>(slot_samples, cf32(0.1F, 0.1F)), out_ = in_;
};

// Base station and terminal with a full queue; a fifth of the frames fail.
class mac_part : public part {
public:
    explicit mac_part(bool of_terminal)
        : of_terminal_(of_terminal), terminal_(config(), [](auto, bool) {}) {}
    void prepare() override {
        if (next_ > 0 && !of_terminal_) feed_back();
        while (base_.on_sdu(packet_, wip::slot(next_))) {
        }
        if (of_terminal_) plan_and_receive();
    }
    void slot() override {
        if (of_terminal_)
            base_.on_feedback(terminal_.on_slot(report_));
        else
            plan();
    }

private:
    static link_config config() {
        link_config c;
        c.bins = nof_bins;
        c.modulation = 8;
        return c;
    }
    // Into the buffers of the last plan, as macd does.
    void plan() { base_.plan(wip::slot(next_++), plan_); }
    void plan_and_receive() {
        plan();
        receive();
    }
    void feed_back() {
        receive();
        base_.on_feedback(terminal_.on_slot(report_));
    }
    void receive() {
        report_ = {};
        report_.air = plan_.air;
        report_.locked = report_.grant_ok = true;
        report_.grant = plan_.grant;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (plan_.grant.bins[b].bits_per_symbol == 0) continue;
            state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
            report_.outcome[b] = (state_ >> 40) % 5 == 0 ? frame_outcome::bad : frame_outcome::good;
            report_.payload[b] = plan_.payload[b];
        }
        report_.predicted_snr_db.fill(30.0F);
    }

    bool of_terminal_;
    std::uint64_t state_ = 1;
    std::int64_t next_ = 0;
    base_station_mac base_{config()};
    terminal_mac terminal_;
    slot_plan plan_;
    slot_report report_;
    std::vector<std::uint8_t> packet_ = bench::full_packet();
};

using maker = std::function<std::unique_ptr<part>()>;
const std::map<std::string, maker, std::less<>> makers = {
    {"receiver_awgn",
     [] {
         return std::make_unique<receiver_part>(
             curves::world_config{.snr_db = 40, .bits_per_symbol = 8});
     }},
    {"receiver_typical_urban",
     [] {
         return std::make_unique<receiver_part>(curves::world_config{
             .profile = "jakes", .doppler_hz = 125, .snr_db = 34, .bits_per_symbol = 6});
     }},
    {"transmitter", [] { return std::make_unique<transmitter_part>(); }},
    {"noise", [] { return std::make_unique<noise_part>(); }},
    {"paths_typical_urban", [] { return std::make_unique<paths_part>(); }},
    {"plan", [] { return std::make_unique<mac_part>(false); }},
    {"on_slot", [] { return std::make_unique<mac_part>(true); }},
};

constexpr int settle = 260;  // slots; the longest average of the receiver is over 250

std::unique_ptr<part> settled(const maker& make) {
    auto p = make();
    for (int i = 0; i < settle; ++i) {
        p->prepare();
        p->slot();
    }
    return p;
}

void count(part& p, int slots) {
    for (int i = 0; i < slots; ++i) {
        p.prepare();
        CALLGRIND_START_INSTRUMENTATION;
        p.slot();
        CALLGRIND_STOP_INSTRUMENTATION;
        CALLGRIND_DUMP_STATS;
    }
}

void time(part& p, int slots, bool pause) {
    constexpr timespec sleep{0, 400'000};
    bench::slot_times times;
    for (int i = 0; i < slots; ++i) {
        p.prepare();
        if (pause) ::clock_nanosleep(CLOCK_MONOTONIC, 0, &sleep, nullptr);
        times.measure([&] { p.slot(); });
    }
    std::printf("{");
    times.print();
    std::printf("}\n");
}

int usage() {
    std::fprintf(stderr,
                 "usage: footprint list | footprint count PART SLOTS (in callgrind only) | "
                 "footprint time PART SLOTS hot|pause\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "list") {
        for (const auto& [name, make] : makers) std::printf("%s\n", name.c_str());
        return 0;
    }
    if (words.size() < 3) return usage();
    const auto found = makers.find(words[1]);
    const int slots = std::atoi(argv[3]);
    if (found == makers.end() || slots < 1) return usage();
    if (words[0] == "count" && words.size() == 3 && RUNNING_ON_VALGRIND) {
        count(*settled(found->second), slots);
    } else if (words[0] == "time" && words.size() == 4 &&
               (words[3] == "hot" || words[3] == "pause")) {
        time(*settled(found->second), slots, words[3] == "pause");
    } else {
        return usage();
    }
}
