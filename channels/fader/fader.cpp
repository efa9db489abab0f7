// SPDX-License-Identifier: GPL-3.0-or-later
#include "fader/fader.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>

namespace wip::cabled {
namespace {

constexpr auto longest_silence = static_cast<tick>(mix::sample_rate);

// Size of a ring of received samples: those that a mixer may read again, whatever channel a change
// brings, one piece that is not mixed yet and one that has just been received, and as much again
// for lost samples between them. It is not larger, so that it stays in a cache.
std::size_t ring_size(const mix::mixer& m, tick chunk) {
    // room for another channel, whose profile may be longer
    constexpr double another = 10 * sample_model::max_profile_delay_s * mix::sample_rate;
    return std::bit_ceil(
        static_cast<std::size_t>(2 * (m.max_delay() + static_cast<tick>(another) + 2 * chunk)));
}

// The sum of of(v) over all real and imaginary parts v. There are 16 partial sums, which the
// compiler puts into vectors, since this loop runs twice over every sample.
template <class Sum, class Of>
Sum over_components(std::span<const cf32> x, Of of) {
    constexpr std::size_t lanes = 16;
    const float* v = reinterpret_cast<const float*>(x.data());
    const std::size_t n = 2 * x.size();
    Sum lane[lanes]{}, all{};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t k = 0; k < lanes; ++k) lane[k] += of(v[i + k]);
    for (; i < n; ++i) all += of(v[i]);
    for (const Sum one : lane) all += one;
    return all;
}

}  // namespace

void fader::power_average::add(std::span<const cf32> x) {
    sum += static_cast<double>(over_components<float>(x, [](float v) { return v * v; }));
    samples += static_cast<double>(x.size());
}

double fader::power_average::take() {
    const double mean = samples > 0 ? sum / samples : 0;
    *this = {};
    return mean;
}

fader_status fader_status::since(const fader_status& before) const noexcept {
    if (pieces < before.pieces) return *this;
    fader_status s = *this;
    using of = fader_status;
    for (const auto count : {&of::pieces, &of::overflows, &of::gaps, &of::lost_samples,
                             &of::silences, &of::late, &of::underflows, &of::stalls, &of::clipped})
        s.*count -= before.*count;
    return s;
}

fader::fader(const fader_setup& setup, std::vector<fading_radio*> radios)
    : setup_(setup),
      radios_(std::move(radios)),
      mixer_(setup.mix),
      tunings_(setup.mix.nodes.size()),
      is_source_(setup.mix.nodes.size()),
      receives_mix_(setup.mix.nodes.size()),
      silent_(setup.mix.nodes.size()),
      in_(static_cast<std::size_t>(setup.chunk)),
      out_(static_cast<std::size_t>(setup.chunk)),
      stations_(setup.mix) {
    if (setup.delay < 2 * setup.chunk)
        throw std::invalid_argument("fader delay is " + std::to_string(setup.delay) +
                                    " samples; valid: at least twice the piece size, " +
                                    std::to_string(2 * setup.chunk));
    for (const auto& p : setup.mix.paths) {
        is_source_[p.from] = true, receives_mix_[p.to] = true;
        last_output_node_ = std::max(last_output_node_, p.to);
    }
    moment_.power = {std::vector<double>(radios_.size()), std::vector<double>(radios_.size())};
    received_.resize(radios_.size());
    sent_.resize(radios_.size());
    moment_.taps.resize(setup.mix.paths.size());
    rings_.reserve(radios_.size());
    for (std::size_t i = 0; i < radios_.size(); ++i) {
        rings_.emplace_back(ring_size(mixer_, setup.chunk));
        sources_.push_back(&rings_.back());
    }
}

void fader::run(tick begin) {
    if (setup_.sounds) {
        const std::lock_guard lock(mutex_);
        sounding_ = std::make_shared<sounding>(setup_.mix, begin, mixer_.max_delay());
    }
    for (std::size_t i = 0; i < radios_.size(); ++i) {
        rings_[i].begin(begin);
        if (is_source_[i] || receives_mix_[i])
            radios_[i]->start(begin, is_source_[i], receives_mix_[i]);
    }
    // The transmitters' bursts begin together with the streams: zeros are sent until the first
    // mixed sample is due.
    for (tick t = begin; t < begin + setup_.delay; t += setup_.chunk) {
        const std::span<const cf32> silence(
            out_.data(),
            static_cast<std::size_t>(std::min(setup_.chunk, begin + setup_.delay - t)));
        for (std::size_t i = 0; i < radios_.size(); ++i)
            if (receives_mix_[i]) radios_[i]->send(t, silence);
    }
    for (tick at = begin; !stop_.load(); at += setup_.chunk) {
        changes_.serve(mixer_, setup_.mix.paths, at + slot_samples - 1);
        if (!collect(at + setup_.chunk)) break;
        mix_and_send(at, static_cast<std::size_t>(setup_.chunk));
        count_events();
        if ((at - begin) / setup_.chunk % 64 == 0) update_moment(at);
        if (at / slot_samples % 1500 == 0) mixer_.forget_before(at - mixer_.max_delay());
    }
}

// Receives from every radio that is a source of a path up to `until`. False: stop() was called.
bool fader::collect(tick until) {
    for (std::size_t i = 0; i < radios_.size(); ++i)
        while (is_source_[i] && rings_[i].end() < until) {
            if (stop_.load()) return false;
            if (rings_[i].catch_up(until) || receive_from(i)) continue;
            count_events();
            look_for_silence(i);
        }
    return true;
}

void fader::look_for_silence(std::size_t node) {
    if (silent_[node] || radios_[node]->now() - rings_[node].end() < longest_silence) return;
    silent_[node] = true;
    if (setup_.says) setup_.says(node, true);
    const std::lock_guard lock(mutex_);
    ++status_.silences;
}

bool fader::receive_from(std::size_t node) {
    const auto got = radios_[node]->receive(in_);
    using side = fader_setup::side;
    if (got.what == fading_radio::received::nothing) return false;
    if (silent_[node] && setup_.says) setup_.says(node, false);
    silent_[node] = false;
    tick missing = 0;
    if (got.what == fading_radio::received::samples) {
        const std::span<cf32> x = std::span(in_).first(got.size);
        if (setup_.watch) setup_.watch(node, side::input, got.time, x);
        received_[node].add(x);
        if (sounding_) sounding_->replace(node, got.time, x);
        if (!sounding_ || got.time >= sounding_->end())
            stations_.received(node, got.time, x, mixer_);
        missing = rings_[node].write(got.time, x);
    }
    const std::lock_guard lock(mutex_);
    status_.now = std::max(status_.now, rings_[node].end());
    status_.lost_samples += static_cast<std::uint64_t>(missing);
    status_.gaps += missing > 0;
    if (got.what == fading_radio::received::lost) ++status_.overflows;
    return true;
}

void fader::mix_and_send(tick at, std::size_t size) {
    const std::span<cf32> out(out_.data(), size);
    std::uint64_t clipped = 0;
    tick lead = never;
    for (std::size_t i = 0; i < radios_.size(); ++i) {
        if (!receives_mix_[i]) continue;
        mixer_.hear(i, at, out, sources_, tunings_);
        clipped += over_components<std::uint32_t>(
            out, [](float v) { return static_cast<std::uint32_t>(std::abs(v) >= 1); });
        // All radios share one time, so the last one has the least lead; reading the time takes
        // some microseconds.
        if (i == last_output_node_) lead = at + setup_.delay - radios_[i]->now();
        radios_[i]->send(at + setup_.delay, out);
        if (sounding_) sounding_->heard(i, at, out, mixer_);
        if (setup_.watch) setup_.watch(i, fader_setup::side::output, at + setup_.delay, out);
        sent_[i].add(out);
    }
    const std::lock_guard lock(mutex_);
    ++status_.pieces;
    status_.clipped += clipped;
    status_.least_lead = std::min(status_.least_lead, lead);
}

// Updates the state of the mixer that moment() returns.
void fader::update_moment(tick at) {
    std::vector<std::vector<mix::path_tap>> taps;
    for (std::size_t i = 0; i < setup_.mix.paths.size(); ++i)
        taps.push_back(mixer_.taps(i, setup_.mix.paths[i].to, at));
    const std::lock_guard lock(mutex_);
    moment_.taps.swap(taps);
    for (std::size_t i = 0; i < radios_.size(); ++i) {
        moment_.power.input[i] = received_[i].take();
        moment_.power.output[i] = sent_[i].take();
    }
}

void fader::count_events() {
    for (std::size_t i = 0; i < radios_.size(); ++i) {
        if (!receives_mix_[i]) continue;
        const auto e = radios_[i]->take_events();
        if (e.late + e.underflows + e.stalls == 0) continue;
        const std::lock_guard lock(mutex_);
        status_.late += e.late;
        status_.underflows += e.underflows;
        status_.stalls += e.stalls;
    }
}

std::optional<tick> fader::change(mix::mixer_changes c) {
    return changes_.ask(std::move(c), [] {});
}

fader_status fader::status() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

fader_moment fader::moment() const {
    const std::lock_guard lock(mutex_);
    return moment_;
}

std::optional<std::vector<sounding_result>> fader::soundings() const {
    std::shared_ptr<sounding> of;
    {
        const std::lock_guard lock(mutex_);
        of = sounding_;
    }
    return of ? of->results() : std::nullopt;
}

void fader::reset_counters() {
    const std::lock_guard lock(mutex_);
    status_ = {.now = status_.now};
}

}  // namespace wip::cabled
