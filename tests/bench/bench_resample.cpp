// SPDX-License-Identifier: GPL-3.0-or-later
// The loss of an IQ recording of another rate when it is imported (blocks/lib/resampler.h). Slots
// of the modulator are brought to that rate here, by a sum of windowed sincs in double precision
// whose images are 120 dB down, then back to the cell's by the resampler, and received beside the
// original:
//
//   clean    without noise: the EVM of the control symbols is what the way there and back has added
//   noise    256-QAM at 40 dB, AWGN
//   fading   64-QAM over `jakes` at 28 dB: a good part of the frames is at the edge
//
// The last two from 7.68 MS/s up: below, a recorder's own filter would decide what becomes of the
// noise. Frames: lost by the original, by the imported one, and by the imported one alone. Budget
// for the added error: -50 dB, a tenth of the noise at 40 dB. Seconds: of a second of recording, in
// the resampler. JSON on standard output.
//   bench_resample [slots]     default 300
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

#include "../curves/curve_world.h"
#include "bench_length.h"
#include "resampler.h"

namespace {

using namespace wip;
using namespace wip::phy;

constexpr double budget_db = -50;
constexpr double rates[] = {5.12e6, 5.5e6, 6.144e6, 8e6, 10e6, 12.5e6, 15.36e6, 20e6, 30.72e6};

struct world {
    const char* what;
    curves::world_config config;
};

// sinc under a Kaiser window: between the cell's edge and its image (2.505 and 5.175 MHz) there is
// room for the slope.
class ideal {
public:
    ideal() {
        for (std::size_t i = 0; i < table_.size(); ++i) {
            const double t = static_cast<double>(i) / steps, x = t / half;
            const double window = x < 1 ? std::cyl_bessel_i(0.0, beta * std::sqrt(1 - x * x)) /
                                              std::cyl_bessel_i(0.0, beta)
                                        : 0;
            table_[i] =
                window * (t == 0 ? 1 : std::sin(std::numbers::pi * t) / (std::numbers::pi * t));
        }
    }
    std::vector<cf32> work(const std::vector<cf32>& in, double ratio) const {
        std::vector<cf32> out(static_cast<std::size_t>(static_cast<double>(in.size()) * ratio));
        for (std::size_t k = 0; k < out.size(); ++k) {
            const double t = static_cast<double>(k) / ratio;
            const auto middle = static_cast<std::int64_t>(t);
            std::complex<double> sum = 0;
            for (std::int64_t n = std::max<std::int64_t>(0, middle - half + 1);
                 n <= std::min(middle + half, static_cast<std::int64_t>(in.size()) - 1); ++n)
                sum += kernel(std::abs(t - static_cast<double>(n))) *
                       std::complex<double>(in[static_cast<std::size_t>(n)]);
            out[k] = cf32(sum);
        }
        return out;
    }

private:
    // input samples to either side; steps between two of them
    static constexpr int half = 24, steps = 4096;
    static constexpr double beta = 12.3;  // beta of the Kaiser window
    double kernel(double t) const {
        const double at = t * steps;
        const auto i = static_cast<std::size_t>(at);
        if (i + 1 >= table_.size()) return 0;
        return table_[i] + (at - static_cast<double>(i)) * (table_[i + 1] - table_[i]);
    }
    std::vector<double> table_ = std::vector<double>(std::size_t{half} * steps + 2);
};

struct received {
    std::map<std::int64_t, std::array<frame_outcome, nof_bins>> outcomes;
    double evm_power = 0;
    int slots = 0;

    double evm_db() const { return curves::to_db(evm_power / slots); }
};

received receive(const std::vector<cf32>& samples) {
    slot_receiver receiver({});
    received r;
    for (std::size_t at = 0; at + slot_samples <= samples.size(); at += slot_samples)
        receiver.process(
            first_sample(slot(curves::first_slot)) + sample_count(static_cast<std::int64_t>(at)),
            std::span(samples).subspan(at, slot_samples), [&](const received_slot& s) {
                if (!s.locked) return;
                auto& row = r.outcomes[s.slot_in_hyperframe];
                for (std::size_t b = 0; b < nof_bins; ++b) row[b] = s.bins[b].outcome;
                const double evm = receiver.state().evm_percent / 100;
                r.evm_power += evm * evm;
                ++r.slots;
            });
    return r;
}

// Power of the added error, dB, where noise does not hide it.
double compare(const world& w, double rate, const received& direct, const received& imported,
               double seconds, bool first) {
    int frames = 0, lost = 0, lost_imported = 0, lost_alone = 0;
    for (const auto& [slot, imported_outcome] : imported.outcomes) {
        const auto direct_outcome = direct.outcomes.find(slot);
        if (direct_outcome == direct.outcomes.end()) continue;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const bool good = direct_outcome->second[b] == frame_outcome::good,
                       other = imported_outcome[b] == frame_outcome::good;
            ++frames;
            lost += !good;
            lost_imported += !other;
            lost_alone += good && !other;
        }
    }
    const double evm = imported.slots > 0 ? imported.evm_db() : 0;
    const double added =
        curves::to_db(std::max(1e-12, curves::from_db(evm) - curves::from_db(direct.evm_db())));
    std::printf(
        "%s  {\"what\": \"%s\", \"rate_hz\": %.0f, \"slots_locked\": [%d, %d], \"frames\": %d, "
        "\"lost\": %d, \"lost_imported\": %d, \"lost_imported_alone\": %d, \"evm_db\": %.1f, "
        "\"evm_imported_db\": %.1f, \"seconds_per_second\": %.2f}",
        first ? "" : ",\n", w.what, rate, direct.slots, imported.slots, frames, lost, lost_imported,
        lost_alone, direct.evm_db(), evm, seconds);
    return added;
}

}  // namespace

int main(int argc, char** argv) {
    const int slots = bench::length(argc, argv, "slots", 300, 100, 3000);
    const ideal to_rate;
    const world worlds[] = {
        {"clean", {.snr_db = 120, .bits_per_symbol = 8}},
        {"noise", {.snr_db = 40, .bits_per_symbol = 8}},
        {"fading", {.profile = "jakes", .doppler_hz = 125, .snr_db = 28, .bits_per_symbol = 6}}};
    std::printf(
        "{\"benchmark\": \"resample\", \"resampler\": \"%s\", \"budget_added_db\": %.0f, "
        "\"results\": [\n",
        resampler::name().c_str(), budget_db);
    bool first = true;
    double most_added = -200;
    for (const auto& w : worlds) {
        std::vector<cf32> samples;
        curves::world made(w.config);
        for (int i = 0; i < slots; ++i) {
            made.next();
            samples.insert(samples.end(), made.noisy.begin(), made.noisy.end());
        }
        const received direct = receive(samples);
        for (const double rate : rates) {
            const bool clean = &w == worlds;
            if (!clean && rate < sample_rate_hz) continue;
            const auto other = to_rate.work(samples, rate / sample_rate_hz);
            const auto begun = std::chrono::steady_clock::now();
            resampler back(rate);
            auto imported = back.work(other);
            const auto rest = back.finish();
            imported.insert(imported.end(), rest.begin(), rest.end());
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
            const double added = compare(w, rate, direct, receive(imported),
                                         took.count() * slots_per_second / slots, first);
            if (clean) most_added = std::max(most_added, added);
            first = false;
        }
    }
    std::printf("],\n  \"most_added_db\": %.1f, \"within_budget\": %s}\n", most_added,
                most_added <= budget_db ? "true" : "false");
    return 0;
}
