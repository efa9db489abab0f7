// SPDX-License-Identifier: GPL-3.0-or-later
#include "cabled/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <random>
#include <utility>

#include "radio/levels.h"
#include "types/failure.h"
#include "types/grid.h"

namespace wip::cabled {
namespace {

using mix::cf32;
using mix::tick;

constexpr int nof_starts = 20;
constexpr tick lead = 30720;    // samples from writing a piece to its time at the transmitter: 4 ms
constexpr tick longest = 8192;  // longest delay that is searched, in samples
// least correlation (0 to 1) of a burst that was received; noise alone stays below 0.02
constexpr double heard_from = 0.05;
constexpr double tone_frequency = 912e3 / 7.68e6;  // cycles per sample
constexpr std::array levels_dbfs{-10.0, -20.0, -30.0};
// samples
constexpr std::size_t long_stretch = std::size_t{1} << 17, short_stretch = 16384, settling = 4096;

std::vector<cf32> burst() {
    std::minstd_rand random(1);
    std::vector<cf32> made(1024);
    for (cf32& x : made) {
        const auto bits = random() >> 8;
        x = {bits & 1 ? 0.25F : -0.25F, bits & 2 ? 0.25F : -0.25F};
    }
    return made;
}

void add_tone(std::vector<cf32>& x, double dbfs, std::size_t size) {
    const double amplitude = std::pow(10, dbfs / 20);
    for (std::size_t n = 0; n < size; ++n)
        x.push_back(cf32(std::polar(
            amplitude, 2 * std::numbers::pi * tone_frequency * static_cast<double>(x.size()))));
}

// Starts both streams and returns what is received of `sent`, from the time on at which it is sent.
// Nothing: a part of it came to the transmitter too late.
std::optional<std::vector<cf32>> received_signal_once(fading_radio& transmitter,
                                                      fading_radio& receiver,
                                                      std::span<const cf32> sent) {
    const tick begin = (receiver.now() / slot_samples + 100) * slot_samples;
    const bool one = &transmitter == &receiver;
    // Silence follows the burst, so that the transmitter never runs out of samples.
    std::vector<cf32> all, piece(1280), whole(sent.begin(), sent.end());
    whole.resize(whole.size() + static_cast<std::size_t>(longest) + 4 * piece.size());
    std::size_t done = 0;
    const auto send = [&] {
        const auto part =
            std::span(whole).subspan(done, std::min(piece.size(), whole.size() - done));
        transmitter.send(begin + lead + static_cast<tick>(done), part);
        done += part.size();
    };
    if (!one) transmitter.start(begin, false, true);
    receiver.start(begin, true, one);
    const std::size_t needed = static_cast<std::size_t>(lead + longest) + sent.size();
    for (std::size_t silent = 0; all.size() < needed;) {
        while (done < whole.size() && done <= all.size()) send();
        const auto got = receiver.receive(piece);
        using what = fading_radio::received;
        if (got.what == what::nothing && ++silent > 30)
            throw machine_error("the receiver of the radio delivers no samples");
        if (got.what == what::samples && got.time < begin) continue;  // samples of the start before
        const tick next = begin + static_cast<tick>(all.size());
        if (got.what == what::lost || (got.what == what::samples && got.time != next))
            throw machine_error("samples were lost after " + std::to_string(all.size()) +
                                ": nothing else may run while it calibrates");
        if (got.what != what::samples) continue;
        silent = 0;
        all.insert(all.end(), piece.begin(), piece.begin() + static_cast<tick>(got.size));
    }
    const auto events = transmitter.take_events();
    receiver.stop();
    if (!one) transmitter.stop();
    if (events.late + events.underflows + events.stalls > 0) return std::nullopt;
    all.erase(all.begin(), all.begin() + lead);
    return all;
}

// A start during which the computer stalled says nothing of the radios, and is repeated.
std::vector<cf32> received_signal(fading_radio& transmitter, fading_radio& receiver,
                                  std::span<const cf32> sent) {
    for (int i = 0; i < 5; ++i)
        if (auto found = received_signal_once(transmitter, receiver, sent))
            return std::move(*found);
    throw machine_error("samples come to the transmitter too late: this computer stalls");
}

std::optional<tick> delay_of(std::span<const cf32> in, std::span<const cf32> sent) {
    double best = heard_from;
    std::optional<tick> found;
    for (tick at = 0; at < longest; ++at) {
        cf32 sum{};
        float energy = 0, sent_energy = 0;
        for (std::size_t k = 0; k < sent.size(); ++k) {
            const cf32 v = in[static_cast<std::size_t>(at) + k];
            sum += v * std::conj(sent[k]);
            energy += std::norm(v);
            sent_energy += std::norm(sent[k]);
        }
        const double correlation =
            static_cast<double>(std::norm(sum) / std::max(energy * sent_energy, 1e-20F));
        if (correlation > best) best = correlation, found = at;
    }
    return found;
}

// Power of the tone.
double tone_dbfs(std::span<const cf32> in) {
    std::complex<double> sum{};
    for (std::size_t n = 0; n < in.size(); ++n)
        sum += std::complex<double>(in[n]) *
               std::polar(1.0, -2 * std::numbers::pi * tone_frequency * static_cast<double>(n));
    return 20 * std::log10(std::max(std::abs(sum) / static_cast<double>(in.size()), 1e-10));
}

void measure_levels(nlohmann::json& path, fading_radio& transmitter, fading_radio& receiver,
                    tick delay) {
    std::vector<cf32> sent(long_stretch);
    std::vector<std::size_t> begins;
    for (const double dbfs : levels_dbfs) {
        begins.push_back(sent.size());
        add_tone(sent, dbfs, begins.size() == 1 ? long_stretch : short_stretch);
    }
    const std::vector<cf32> all = received_signal(transmitter, receiver, sent);
    const auto part = [&](std::size_t begin, std::size_t size) {
        return std::span(all).subspan(begin + static_cast<std::size_t>(delay) + settling,
                                      size - 2 * settling);
    };
    const radio::level_summary silence = radio::levels_of(part(0, long_stretch), 0);
    const auto tone = part(begins[0], long_stretch);
    const radio::line image = radio::line_at(tone, -tone_frequency);
    for (std::size_t i = 0; i < begins.size(); ++i)
        path["gain_db"].push_back(
            {{"sent_dbfs", levels_dbfs[i]},
             {"gain_db", tone_dbfs(part(begins[i], short_stretch)) - levels_dbfs[i]}});
    path["noise_dbfs"] = silence.noise_dbfs;
    path["dc_dbfs"] = silence.dc_dbfs;
    path["dc_sending_dbfs"] = radio::line_at(tone, 0).dbfs;
    path["image_db"] = tone_dbfs(tone) - image.dbfs;
    path["image_at_least"] = !image.above_noise;
    path["clipped"] = radio::levels_of(tone, 0).clipped;
}

}  // namespace

nlohmann::json calibrate(const fader_config& config, const std::vector<fading_radio*>& radios) {
    auto all = nlohmann::json::array();
    const std::vector<cf32> known = burst();
    for (const auto& p : config.setup.mix.paths) {
        fading_radio &transmitter = *radios[p.to], &receiver = *radios[p.from];
        auto delays = nlohmann::json::array();
        std::optional<tick> delay;
        for (int i = 0; i < nof_starts; ++i) {
            delay = delay_of(received_signal(transmitter, receiver, known), known);
            if (!delay) break;
            delays.push_back(*delay);
        }
        nlohmann::json path{{"from", config.radios[p.from].node},
                            {"to", config.radios[p.to].node},
                            {"delays", delays},
                            {"heard", delay.has_value()}};
        if (delay) measure_levels(path, transmitter, receiver, *delay);
        all.push_back(std::move(path));
    }
    return all;
}

}  // namespace wip::cabled
