// SPDX-License-Identifier: GPL-3.0-or-later
// A cell with N terminals on one carrier, at sample level and at bin level, side by side, in
// virtual time. Samples: the cell_scheduler's plans go through slot_modulator with a common grant,
// each terminal has a path, an oscillator and noise of its own, a slot_receiver, and its MAC;
// feedback comes when the slot has been received. Bins: the emulator's cell, with the predictions'
// NMSE that the receivers measured, and grants of their own for all terminals. Typical urban, 30
// km/h, queues always full, every packet that comes out is compared with what went in.
//   terminals [slots]          default 1500 measured slots (1 s) a cell, 0: none; JSON lines
//   terminals SLOTS TERMINALS SNR METHOD LIMIT
//                              one cell at sample level: SNR is `16` or `unequal` (22 to 10 dB)
// Before the cells comes what order statistics say of the best terminal in each bin.
//
// Why a cell is slow is seen in four means over its slots: terminals served, bins used,
// retransmissions sent, and retransmissions that wait when the slot has been planned.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "cell/cell_channel.h"
#include "cell/emulated_cell.h"
#include "link/frame_success.h"
#include "link/terminal_mac.h"
#include "phy/grid/signal_level.h"
#include "phy/receiver/slot_receiver.h"
#include "phy/transmitter/slot_modulator.h"
#include "profiles/channel_definition.h"
#include "sample/cfo.h"
#include "sample/noise.h"
#include "sample/tapped_delay_line.h"
#include "wire/ip_header.h"

namespace {

using namespace wip;
using bytes = std::vector<std::uint8_t>;

constexpr int warm_up = 300;  // slots
constexpr double doppler_hz = 30 / 3.6 / 3e8 * 1.8e9;

struct shared_cell {
    int terminals = 1, most_served = 2;
    scheduling_kind scheduling = scheduling_kind::best;
    std::vector<double> snr_db;
    int slots = 1500;
};

cell_config cell_of(const shared_cell& s, bool common) {
    cell_config c;
    c.users = s.terminals;
    c.scheduling = s.scheduling;
    c.most_served = common ? s.most_served : 0;
    c.link.bins = nof_bins;
    return c;
}

bytes packet_of(int user, std::uint32_t number) {
    bytes p(1500);
    p[0] = 0x45;
    p[2] = 1500 >> 8;
    p[3] = 1500 & 0xff;
    std::mt19937 fill(number * 64 + static_cast<std::uint32_t>(user));
    for (std::size_t i = 20; i < p.size(); ++i) p[i] = static_cast<std::uint8_t>(fill());
    for (std::size_t i = 0; i < 4; ++i) p[16 + i] = static_cast<std::uint8_t>(number >> (8 * i));
    p[12] = static_cast<std::uint8_t>(user);
    const std::uint32_t sum = internet_sum(std::span(p).first(20));
    const std::uint32_t folded = (sum & 0xffff) + (sum >> 16);
    const std::uint32_t check = ~(folded + (folded >> 16)) & 0xffff;
    p[10] = static_cast<std::uint8_t>(check >> 8);
    p[11] = static_cast<std::uint8_t>(check);
    return p;
}

// One terminal, from the samples on the air to its packets.
class terminal_end {
public:
    terminal_end(int number, double snr_db)
        : number_(number),
          path_(profiles::load("jakes"), doppler_hz,
                sample_model::stage_context{.seed = static_cast<std::uint64_t>(number + 1)}),
          oscillator_({.hz = 200.0 * (number - 3)}, sample_model::stage_context{}),
          noise_(noise_power(snr_db), static_cast<std::uint64_t>(number + 1), 2),
          receiver_({.cell = 9, .terminal = number}),
          mac_(link_config{}, [this](std::span<const std::uint8_t> p, bool) { take(p); }),
          samples_(slot_samples) {}

    template <class Feedback>
    void slot_on_the_air(std::int64_t first, std::span<const phy::cf32> sent, Feedback feedback) {
        path_.work(first, sent, samples_);
        oscillator_.work(first, samples_, samples_);
        noise_.work(samples_, samples_);
        receiver_.process(sample(first), samples_, [&](const phy::received_slot& r) {
            report_.air = slot(r.slot_in_hyperframe);
            report_.locked = r.locked;
            report_.grant_ok = r.grant_ok;
            report_.grant = r.grant;
            report_.predicted_snr_db = r.predicted_snr_db;
            report_.snr_db = r.snr_db;
            report_.combined = 0;
            for (std::size_t b = 0; b < nof_bins; ++b) {
                report_.outcome[b] = r.bins[b].outcome;
                report_.payload[b].assign(r.bins[b].payload.begin(), r.bins[b].payload.end());
            }
            if (r.locked) feedback(mac_.on_slot(report_));
        });
    }
    double nmse() const { return receiver_.state().prediction_nmse; }
    std::uint64_t grants_failed() const { return mac_.statistics().grants_failed; }
    std::uint32_t delivered = 0;

private:
    static double noise_power(double snr_db) {
        const double a = static_cast<double>(phy::symbol_amplitude());
        return a * a * fft_size / std::pow(10, snr_db / 10);
    }
    void take(std::span<const std::uint8_t> p) {
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < 4; ++i) number |= std::uint32_t{p[16 + i]} << (8 * i);
        if (!std::ranges::equal(p, packet_of(number_, number)))
            throw std::logic_error("a packet that was not sent to this terminal");
        ++delivered;
    }

    int number_;
    sample_model::tapped_delay_line path_;
    sample_model::cfo oscillator_;
    sample_model::noise noise_;
    phy::slot_receiver receiver_;
    terminal_mac mac_;
    std::vector<phy::cf32> samples_;
    slot_report report_;
};

// Means over the slots of a cell at sample level.
struct slot_means {
    double served = 0, bins = 0, repeated = 0, waiting = 0, shed = 0, stalled = 0;
};

struct outcome {
    std::vector<double> mbit_s;
    double failed = 0, nmse = 0, grants_lost = 0;
    slot_means slot;
};

// Adds the slot that has just been planned.
void add(slot_means& sum, const cell_scheduler& cell, std::span<const slot_plan> plans,
         std::vector<double>& repeated) {
    for (std::size_t t = 0; t < plans.size(); ++t) {
        const auto& link = cell.user(static_cast<int>(t)).statistics();
        int bins = 0;
        for (const bin_grant& b : plans[t].grant.bins) {
            bins += b.bits_per_symbol != 0;
            repeated[t] += b.bits_per_symbol != 0 && b.retransmission;
            sum.repeated += b.bits_per_symbol != 0 && b.retransmission;
        }
        sum.served += bins > 0;
        sum.bins += bins;
        // A unit that was cut is sent in several pieces: the number is a lower bound.
        sum.waiting += std::max(
            0.0, static_cast<double>(link.frames_failed - link.frames_dropped) - repeated[t]);
    }
}

outcome on_samples(const shared_cell& s) {
    cell_scheduler cell(cell_of(s, true));
    phy::slot_modulator modulator(
        {.cell = 9, .control = phy::control_kind::common_grant, .edge_samples = 16});
    std::vector<std::unique_ptr<terminal_end>> ends;
    for (int t = 0; t < s.terminals; ++t)
        ends.push_back(std::make_unique<terminal_end>(t, s.snr_db[static_cast<std::size_t>(t)]));
    std::vector<std::uint32_t> numbers(ends.size());
    std::vector<std::uint64_t> before(ends.size());
    std::vector<phy::cf32> sent(slot_samples);
    std::uint64_t failed = 0, frames = 0;
    const auto sums = [&] {
        failed = frames = 0;
        for (int t = 0; t < s.terminals; ++t) {
            failed += cell.user(t).statistics().frames_failed;
            frames += cell.user(t).statistics().frames_sent;
        }
    };
    std::uint64_t failed_before = 0, frames_before = 0, lost_before = 0;
    slot_means means, before_means;
    std::vector<double> repeated(ends.size());
    const auto shed_and_stalled = [&](slot_means& m) {
        for (int t = 0; t < s.terminals; ++t) {
            m.shed += static_cast<double>(cell.user(t).statistics().grant_overflows);
            m.stalled += static_cast<double>(cell.user(t).statistics().window_stalls);
        }
    };
    for (int i = 0; i < warm_up + s.slots; ++i) {
        const slot air(300 + i);
        if (i == warm_up) {
            means = {};
            shed_and_stalled(before_means);
            sums();
            failed_before = failed;
            frames_before = frames;
            for (std::size_t t = 0; t < ends.size(); ++t) {
                before[t] = cell.user(static_cast<int>(t)).statistics().payload_bits_acknowledged;
                lost_before += ends[t]->grants_failed();
            }
        }
        for (int t = 0; t < s.terminals; ++t)
            while (cell.user(t).statistics().queued.packets < 45)
                if (!cell.on_sdu(t, packet_of(t, numbers[static_cast<std::size_t>(t)]++), air))
                    throw std::logic_error("a packet that the queue refused");
        const auto plans = cell.plan(air);
        add(means, cell, plans, repeated);
        std::array<std::span<const std::uint8_t>, nof_bins> payload;
        for (const auto& plan : plans)
            for (std::size_t b = 0; b < nof_bins; ++b)
                if (!plan.payload[b].empty()) payload[b] = plan.payload[b];
        if (!modulator.work(air, cell.sections(), payload,
                            std::span<phy::cf32, slot_samples>(sent)))
            throw std::logic_error("a slot that cannot be sent");
        for (int t = 0; t < s.terminals; ++t)
            ends[static_cast<std::size_t>(t)]->slot_on_the_air(
                air.value * slot_samples, sent,
                [&](const slot_feedback& f) { cell.on_feedback(t, f); });
    }
    outcome out;
    sums();
    out.failed =
        static_cast<double>(failed - failed_before) / static_cast<double>(frames - frames_before);
    std::uint64_t lost = 0;
    for (std::size_t t = 0; t < ends.size(); ++t) {
        const auto bits = cell.user(static_cast<int>(t)).statistics().payload_bits_acknowledged;
        out.mbit_s.push_back(static_cast<double>(bits - before[t]) / s.slots * slots_per_second /
                             1e6);
        out.nmse += ends[t]->nmse() / s.terminals;
        lost += ends[t]->grants_failed();
    }
    out.grants_lost = static_cast<double>(lost - lost_before) / s.slots / s.terminals;
    shed_and_stalled(means);
    out.slot = {means.served / s.slots,
                means.bins / s.slots,
                means.repeated / s.slots,
                means.waiting / s.slots,
                (means.shed - before_means.shed) / s.slots,
                (means.stalled - before_means.stalled) / s.slots};
    return out;
}

outcome on_bins(const shared_cell& s, double nmse, bool common) {
    cell_model::emulation_config config;
    config.cell = cell_of(s, common);
    cell_model::channel_config channel;
    channel.model = "jakes";
    channel.speed_kmh = 30;
    channel.shadowing = profiles::channel_choice::use::off;
    channel.prediction_nmse = nmse;
    channel.users_db.assign(s.snr_db.begin(), s.snr_db.end());
    cell_model::emulated_cell cell(config, make_sources(channel, config));
    std::vector<std::uint64_t> before(s.snr_db.size());
    std::vector<std::uint32_t> numbers(s.snr_db.size());
    std::uint64_t failed = 0, frames = 0;
    for (int i = 0; i < warm_up + s.slots; ++i) {
        for (int t = 0; t < s.terminals; ++t) {
            const auto& link = cell.base(t).statistics();
            if (i == warm_up) {
                before[static_cast<std::size_t>(t)] = link.payload_bits_acknowledged;
                failed -= link.frames_failed;
                frames -= link.frames_sent;
            }
            while (link.queued.packets < 45)
                if (!cell.into_queue(t, packet_of(t, numbers[static_cast<std::size_t>(t)]++)))
                    break;
        }
        cell.run_slot(slot(i));
        cell.release(cell_model::slot_start(slot(i)));
    }
    outcome out;
    out.nmse = nmse;
    for (int t = 0; t < s.terminals; ++t) {
        const auto& link = cell.base(t).statistics();
        failed += link.frames_failed;
        frames += link.frames_sent;
        out.mbit_s.push_back(static_cast<double>(link.payload_bits_acknowledged -
                                                 before[static_cast<std::size_t>(t)]) /
                             s.slots * slots_per_second / 1e6);
    }
    out.failed = static_cast<double>(failed) / static_cast<double>(frames);
    return out;
}

double jain(const std::vector<double>& x) {
    double sum = 0, squares = 0;
    for (const double v : x) {
        sum += v;
        squares += v * v;
    }
    return sum * sum / static_cast<double>(x.size()) / squares;
}

// The goodput of a cell in which each bin goes to the strongest of N terminals, by the order
// statistics of Rayleigh fading: the largest of N exponential SNRs has the distribution
// (1 - e^(-x / mean))^N. The SNR is known, every bin is flat, and the modulation is the best one.
double by_order_statistics(int terminals, double mean_db) {
    constexpr int steps = 20000;
    const double mean = std::pow(10, mean_db / 10);
    double sum = 0;
    for (int i = 0; i < steps; ++i) {
        const double below = std::pow((i + 0.5) / steps, 1.0 / terminals);
        const double snr = -mean * std::log1p(-below);
        double best = 0;
        for (int k = 1; k <= max_bits_per_symbol; ++k)
            best =
                std::max(best, frame_payload_bits(link_profile::radio, k) *
                                   frame_success(k, db(10 * std::log10(snr)), eight_points::star));
        sum += best;
    }
    return sum / steps * nof_bins * slots_per_second / 1e6;
}

void print(const char* level, const shared_cell& s, const char* snr, const outcome& o) {
    std::printf(
        "{\"level\": \"%s\", \"terminals\": %d, \"snr\": \"%s\", \"scheduling\": \"%s\", "
        "\"most_served\": %d, \"slots\": %d, \"jain\": %.4f, \"failed\": %.4f, \"nmse\": %.4f, "
        "\"grants_lost\": %.5f, ",
        level, s.terminals, snr,
        std::string(scheduling_names[static_cast<std::size_t>(s.scheduling)]).c_str(),
        s.most_served, s.slots, jain(o.mbit_s), o.failed, o.nmse, o.grants_lost);
    if (o.slot.served > 0)
        std::printf(
            "\"served\": %.2f, \"bins\": %.2f, \"repeated\": %.2f, \"waiting\": %.1f, "
            "\"shed\": %.3f, \"stalled\": %.3f, ",
            o.slot.served, o.slot.bins, o.slot.repeated, o.slot.waiting, o.slot.shed,
            o.slot.stalled);
    std::printf("\"mbit_s\": [");
    for (std::size_t t = 0; t < o.mbit_s.size(); ++t)
        std::printf("%s%.3f", t == 0 ? "" : ", ", o.mbit_s[t]);
    std::printf("]}\n");
    std::fflush(stdout);
}

std::vector<double> snrs(int terminals, bool equal_snr) {
    std::vector<double> db;
    for (int t = 0; t < terminals; ++t)
        db.push_back(equal_snr ? 16 : 22 - 12.0 * t / std::max(1, terminals - 1));
    return db;
}

// Returns the exit code.
int one_cell(char** argv) {
    shared_cell s;
    s.terminals = std::atoi(argv[2]);
    s.most_served = std::atoi(argv[5]);
    const std::string snr = argv[3];
    const auto scheduling = scheduling_of(argv[4]);
    s.slots = std::atoi(argv[1]);
    if (s.slots < 1 || (snr != "16" && snr != "unequal") || !scheduling || s.terminals < 1 ||
        s.terminals > most_terminals || s.most_served < 1 || s.most_served > most_terminals) {
        std::fprintf(stderr,
                     "usage: terminals SLOTS 1..8 16|unequal "
                     "static|best|round_robin|max_rate|proportional_fair 1..8\n");
        return 2;
    }
    s.scheduling = *scheduling;
    s.snr_db = snrs(s.terminals, snr == "16");
    print("samples", s, snr == "16" ? "16" : "22 to 10", on_samples(s));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 6) return one_cell(argv);
    const int slots = argc > 1 ? std::atoi(argv[1]) : 1500;
    if (slots < 0 || (slots == 0 && std::string(argv[1]) != "0")) {
        std::fprintf(stderr, "usage: terminals [slots]\n");
        return 2;
    }
    for (const int terminals : {1, 2, 4, 8})
        std::printf("{\"level\": \"order statistics\", \"terminals\": %d, \"mbit_s\": [%.3f]}\n",
                    terminals, by_order_statistics(terminals, 16));
    if (slots == 0) return 0;
    for (const int terminals : {1, 2, 4, 8})
        for (const bool equal_snr : {true, false}) {
            if (terminals == 1 && !equal_snr) continue;
            for (std::size_t kind = 0; kind < scheduling_names.size(); ++kind) {
                const auto scheduling = static_cast<scheduling_kind>(kind);
                if (terminals == 1 && scheduling != scheduling_kind::best) continue;
                const bool by_snr = scheduling != scheduling_kind::fixed &&
                                    scheduling != scheduling_kind::round_robin;
                double nmse = 0;
                for (const int most_served : {2, 4}) {
                    if (most_served > 2 && terminals < 4) continue;
                    shared_cell s{.terminals = terminals,
                                  .most_served = most_served,
                                  .scheduling = scheduling,
                                  .snr_db = snrs(terminals, equal_snr),
                                  .slots = slots};
                    const char* snr = equal_snr ? "16" : "22 to 10";
                    // Where bins are not chosen by SNR, more than two find no room (mac.md).
                    if (most_served == 2 || by_snr) {
                        const outcome samples = on_samples(s);
                        print("samples", s, snr, samples);
                        nmse = samples.nmse;
                    }
                    print("bins, common grant", s, snr, on_bins(s, nmse, true));
                    if (most_served == 2) print("bins", s, snr, on_bins(s, nmse, false));
                }
            }
        }
}
