// SPDX-License-Identifier: GPL-3.0-or-later
#include "mix/mixer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sample/complex_multiply.h"
#include "types/db.h"

namespace wip::mix {
namespace {

constexpr std::size_t block = 8192;
constexpr tick clock_memory = 256;  // earlier inputs that a sampling clock reads for a block

float amplitude(db gain) { return static_cast<float>(gain.amplitude()); }

// x[i] *= e^{j 2 pi (hz (at + i) / fs + more)}. Exact at every multiple of 64 of the absolute
// index, a fixed step between: the result depends on the index alone, not on where a call starts.
void shift(std::span<cf32> x, tick at, double hz, double more = 0) {
    constexpr tick grid = 64;
    static_assert(grid <= static_cast<tick>(sample_model::multiply_block));
    const double turns = hz / sample_rate;
    std::complex<double> step[grid];
    for (tick i = 0; i < grid; ++i)
        step[i] = std::polar(1.0, 2 * std::numbers::pi * turns * static_cast<double>(i));
    for (std::size_t i = 0; i < x.size();) {
        const tick n = at + static_cast<tick>(i);
        const std::size_t first = static_cast<std::size_t>(((n % grid) + grid) % grid);
        const double cycles = turns * static_cast<double>(n - static_cast<tick>(first)) + more;
        const std::complex<double> base =
            std::polar(1.0, 2 * std::numbers::pi * (cycles - std::floor(cycles)));
        const std::size_t size = std::min(x.size() - i, std::size_t{grid} - first);
        float re[grid], im[grid];
        for (std::size_t k = 0; k < size; ++k) {
            const std::complex<double> f = step[first + k];
            re[k] = static_cast<float>(base.real() * f.real() - base.imag() * f.imag());
            im[k] = static_cast<float>(base.real() * f.imag() + base.imag() * f.real());
        }
        sample_model::multiply(x.data() + i, re, im, x.data() + i, size);
        i += size;
    }
}

// Calls visit(time, first, size) for every stretch of [at, at + size) over which the value is
// constant.
template <class Visit>
void each_stretch(const tuning& value, tick at, std::size_t size, Visit visit) {
    for (std::size_t done = 0; done < size;) {
        const tick t = at + static_cast<tick>(done);
        const tick change = value.next_change(t);
        const std::size_t n = change == never
                                  ? size - done
                                  : std::min(size - done, static_cast<std::size_t>(change - t));
        visit(t, done, n);
        done += n;
    }
}

}  // namespace

// One path in the time [begin, end); it is faded in after `begin`, and out after `end`.
struct mixer::path {
    std::size_t number;
    std::size_t from;
    float amplitude;
    tick delay;
    double shift_hz;
    std::unique_ptr<sample_model::flat_fading> fading{};
    std::unique_ptr<sample_model::tapped_delay_line> multipath{};
    std::unique_ptr<sample_model::trace_filter> trace{};
    std::unique_ptr<sample_model::large_scale_gain> large_scale{};
    std::unique_ptr<sample_model::stage_chain> impairments{};
    tick position = never;  // next sample of the parts that have a memory
    tick begin = INT64_MIN, end = never;
    bool begins_level_only = false, ends_level_only = false;

    tick memory() const noexcept {
        return (multipath ? multipath->memory() : 0) + (trace ? trace->memory() : 0) +
               (impairments ? impairments->memory() : 0);
    }
    bool remembers() const noexcept { return multipath || trace || impairments; }
    bool fades_in(tick t) const noexcept { return begin != INT64_MIN && t < begin + fade_samples; }
    bool silent_from(tick t) const noexcept { return end != never && t >= end + fade_samples; }
    void make_channel(const path_config& c, std::uint64_t seed);
};
void mixer::path_delete::operator()(path* p) const noexcept { delete p; }

mixer::prepared_path mixer::prepare(const path_config& c, std::size_t number, std::uint64_t seed) {
    prepared_path p(
        new path{number, c.from, amplitude(db(c.gain_db)), c.delay_samples, c.frequency_shift_hz});
    p->make_channel(c, seed);
    tick latency = p->multipath ? p->multipath->latency() : 0;
    if (!c.impairments.empty()) {
        p->impairments = std::make_unique<sample_model::stage_chain>(
            c.impairments, sample_model::stage_context{
                               sample_rate, seed, 0x2000 + static_cast<std::uint32_t>(number)});
        latency += p->impairments->latency();
    }
    p->delay -= std::min(p->delay, latency);
    return p;
}

mixer::mixer(const mix_config& config)
    : paths_(config.nodes.size()),
      noise_(config.nodes.size()),
      loss_db_(config.nodes.size(), tuning(0)),
      receivers_(config.nodes.size()),
      scratch_(block),
      past_(block),
      clock_input_(sample_model::sample_clock::largest_feed),
      hearing_hz_(config.hearing_hz) {
    tick longest_receiver = 0, longest_path = 0;
    for (std::size_t i = 0; i < config.nodes.size(); ++i) {
        make_receiver(i, config);
        const receiver_chain& r = receivers_[i];
        tick memory = r.impairments ? r.impairments->memory() : 0;
        if (r.clock) memory += clock_memory + r.before_clock->memory();
        longest_receiver = std::max(longest_receiver, memory);
    }
    for (std::size_t i = 0; i < config.paths.size(); ++i) {
        prepared_path p = prepare(config.paths[i], i, config.seed);
        longest_path = std::max(longest_path, p->delay + p->memory());
        paths_[config.paths[i].to].push_back(std::move(p));
    }
    longest_receiver_ = longest_receiver;
    max_delay_ = longest_path + longest_receiver;
}

// A single tap without delay needs no filter: no operation if it is constant, one multiplication if
// it fades at a constant speed. Its random numbers are those of the same tap in the delay line.
void mixer::path::make_channel(const path_config& c, std::uint64_t seed) {
    if (c.trace) trace = std::make_unique<sample_model::trace_filter>(*c.trace);
    if (!c.channel) return;
    using sample_model::tap_fading;
    const sample_model::motion movement(c.channel->movement, sample_rate);
    const sample_model::stage_context context{sample_rate, seed, c.user};
    const std::vector<sample_model::profile_tap>& taps = c.channel->profile.taps;
    const bool one = taps.size() == 1 && taps[0].delay_s == 0;
    if (one && taps[0].fading == tap_fading::rayleigh && movement.constant())
        fading = std::make_unique<sample_model::flat_fading>(
            movement.largest_doppler_hz(), sample_rate, seed, sample_model::tap_purpose(c.user, 0));
    else if (!one || taps[0].fading != tap_fading::constant)
        multipath = std::make_unique<sample_model::tapped_delay_line>(c.channel->profile, movement,
                                                                      context);
    auto gain =
        std::make_unique<sample_model::large_scale_gain>(c.channel->large_scale, movement, context);
    if (!gain->empty()) large_scale = std::move(gain);
}

void mixer::replace(std::size_t number, std::size_t receiver, prepared_path next, tick at,
                    bool level_only) {
    auto& paths = paths_[receiver];
    for (auto& p : paths)
        if (p->number == number && p->end == never) p->end = at, p->ends_level_only = level_only;
    next->begin = at;
    next->begins_level_only = level_only;
    max_delay_ = std::max(max_delay_, next->delay + next->memory() + longest_receiver_);
    paths.push_back(std::move(next));
}

tick mixer::settled(std::size_t number, std::size_t receiver) const noexcept {
    tick last = INT64_MIN;
    for (const auto& p : paths_[receiver])
        if (p->number == number && p->begin != INT64_MIN)
            last = std::max(last, p->begin + fade_samples);
    return last;
}

void mixer::set_noise(std::size_t receiver, dbfs level, tick at) {
    noise_dbfs_[receiver].set_and_cancel_later(at, level.value);
}

void mixer::set_blackout(std::size_t receiver, db loss, tick from, tick to) {
    loss_db_[receiver].set_and_cancel_later(from, loss.value);
    if (to != never) loss_db_[receiver].set(to, 0);
}

std::vector<path_tap> mixer::taps(std::size_t number, std::size_t receiver, tick at) {
    std::vector<path_tap> found;
    std::vector<cf32> gains;
    for (const auto& p : paths_[receiver]) {
        if (p->number != number || p->silent_from(at) || at < p->begin) continue;
        gains.assign(p->multipath ? p->multipath->nof_taps()
                     : p->trace   ? p->trace->nof_taps()
                                  : 1,
                     cf32(1));
        if (p->multipath) p->multipath->gains(at, gains);
        if (p->trace) p->trace->gains(at, gains);
        if (p->fading) p->fading->seek(at), p->fading->gains(gains);
        cf32 common = p->amplitude;
        if (p->shift_hz != 0) shift({&common, 1}, at, p->shift_hz);
        if (p->large_scale) p->large_scale->work(at, {&common, 1}, {&common, 1});
        apply_fades(*p, receiver, at, {&common, 1});
        const double latency = p->multipath ? static_cast<double>(p->multipath->latency()) : 0;
        for (std::size_t i = 0; i < gains.size(); ++i)
            found.push_back({static_cast<double>(p->delay) + latency +
                                 (p->multipath ? p->multipath->delay_s(i) * sample_rate
                                  : p->trace   ? static_cast<double>(i)
                                               : 0),
                             std::complex<double>(gains[i]) * std::complex<double>(common)});
    }
    return found;
}

void mixer::forget_before(tick time) {
    for (auto& paths : paths_)
        std::erase_if(paths, [time](const prepared_path& p) { return p->silent_from(time); });
    for (auto& t : noise_dbfs_) t.forget_before(time);
    for (auto& t : loss_db_) t.forget_before(time);
}

void mixer::make_receiver(std::size_t i, const mix_config& config) {
    using namespace sample_model;
    const node_config& c = config.nodes[i];
    const std::uint32_t number = static_cast<std::uint32_t>(i);
    receiver_chain& r = receivers_[i];
    noise_dbfs_.emplace_back(c.noise_dbfs.value_or(-200));
    if (c.noise_dbfs)
        noise_[i] = std::make_unique<noise>(dbfs(*c.noise_dbfs).power(), config.seed, number);
    std::vector<impairment_config> before, after;
    for (const impairment_config& one : c.impairments) {
        if (const auto* clock = std::get_if<clock_offset_config>(&one)) {
            r.clock = std::make_unique<sample_clock>(clock->ppm);
            before.swap(after);
        } else if (!std::holds_alternative<gap_config>(one)) {  // the medium makes the gaps
            after.push_back(one);
        }
    }
    const stage_context context{sample_rate, config.seed, 0x1000 + number};
    if (r.clock)
        r.before_clock = std::make_unique<stage_chain>(
            before, stage_context{sample_rate, config.seed, 0x3000 + number});
    if (!after.empty()) r.impairments = std::make_unique<stage_chain>(after, context);
}

void mixer::hear(std::size_t receiver, tick at, std::span<cf32> out,
                 std::span<const sample_source* const> transmitters,
                 std::span<const node_tuning> tunings) {
    receiver_chain& chain = receivers_[receiver];
    if (chain.position != at && (chain.impairments || chain.clock)) {
        const tick start = at - (chain.impairments ? chain.impairments->memory() : 0);
        if (chain.clock) restart_clock(receiver, start, transmitters, tunings);
        for (tick t = start; t < at;) {
            const std::span<cf32> past(past_.data(), static_cast<std::size_t>(std::min<tick>(
                                                         static_cast<tick>(block), at - t)));
            sampled(receiver, t, past, transmitters, tunings);
            chain.impairments->work(t, past, past);
            t += static_cast<tick>(past.size());
        }
    }
    while (!out.empty()) {
        const std::span<cf32> part = out.first(std::min(block, out.size()));
        sampled(receiver, at, part, transmitters, tunings);
        if (chain.impairments) chain.impairments->work(at, part, part);
        float* x = reinterpret_cast<float*>(part.data());
        for (std::size_t i = 0; i < 2 * part.size(); ++i)
            x[i] = std::min(1.0f, std::max(-1.0f, x[i]));
        at += static_cast<tick>(part.size());
        out = out.subspan(part.size());
    }
    chain.position = at;
}

void mixer::restart_clock(std::size_t receiver, tick at,
                          std::span<const sample_source* const> transmitters,
                          std::span<const node_tuning> tunings) {
    receiver_chain& chain = receivers_[receiver];
    const tick begin = chain.clock->oldest_input(at);
    for (tick t = begin - chain.before_clock->memory(); t < begin;) {
        const std::span<cf32> x(clock_input_.data(),
                                static_cast<std::size_t>(std::min<tick>(
                                    sample_model::sample_clock::largest_feed, begin - t)));
        sum(receiver, t, x, transmitters, tunings);
        chain.before_clock->work(t, x, x);
        t += static_cast<tick>(x.size());
    }
    chain.clock->restart(begin);
}

void mixer::sampled(std::size_t receiver, tick at, std::span<cf32> out,
                    std::span<const sample_source* const> transmitters,
                    std::span<const node_tuning> tunings) {
    using sample_model::sample_clock;
    receiver_chain& chain = receivers_[receiver];
    if (!chain.clock) return sum(receiver, at, out, transmitters, tunings);
    for (std::size_t done = 0; done < out.size();) {
        const std::size_t n = std::min(sample_clock::largest_output, out.size() - done);
        const tick first = at + static_cast<tick>(done);
        const tick needed = chain.clock->newest_input(first + static_cast<tick>(n) - 1) + 1;
        while (chain.clock->fed() < needed) {
            const tick t = chain.clock->fed();
            const std::span<cf32> x(
                clock_input_.data(),
                static_cast<std::size_t>(std::min<tick>(sample_clock::largest_feed, needed - t)));
            sum(receiver, t, x, transmitters, tunings);
            chain.before_clock->work(t, x, x);
            chain.clock->feed(x);
        }
        chain.clock->work(first, out.subspan(done, n));
        done += n;
    }
}

void mixer::sum(std::size_t receiver, tick at, std::span<cf32> out,
                std::span<const sample_source* const> transmitters,
                std::span<const node_tuning> tunings) {
    const node_tuning& own = tunings[receiver];
    std::fill(out.begin(), out.end(), cf32{});
    for (auto& p : paths_[receiver])
        add_path(*p, receiver, at, out, *transmitters[p->from], tunings[p->from], own);
    if (noise_[receiver]) {
        const tuning& level = noise_dbfs_[receiver];
        noise_[receiver]->seek(at);
        each_stretch(level, at, out.size(), [&](tick t, std::size_t first, std::size_t size) {
            noise_[receiver]->set_power(dbfs(level.at(t)).power());
            noise_[receiver]->work(out.subspan(first, size), out.subspan(first, size));
        });
    }
    each_stretch(own.receive_gain, at, out.size(), [&](tick t, std::size_t first, std::size_t n) {
        const float g = amplitude(db(own.receive_gain.at(t)));
        float* x = reinterpret_cast<float*>(out.data() + first);
        for (std::size_t i = 0; g != 1 && i < 2 * n; ++i) x[i] *= g;
    });
}

void mixer::add_path(path& p, std::size_t receiver, tick at, std::span<cf32> out,
                     const sample_source& transmitter, const node_tuning& from,
                     const node_tuning& to) {
    if ((!transmitter.active() && !p.impairments) || p.silent_from(at) ||
        at + static_cast<tick>(out.size()) <= p.begin) {
        p.position = never;
        return;
    }
    const std::span<cf32> x(scratch_.data(), out.size());
    if (p.remembers() && p.position != at) {
        for (tick t = at - p.memory(); t < at;) {
            const std::span<cf32> past =
                x.first(std::min(x.size(), static_cast<std::size_t>(at - t)));
            received_signal(p, t, past, transmitter, from, to);
            t += static_cast<tick>(past.size());
        }
    }
    p.position = at + static_cast<tick>(out.size());
    if (!received_signal(p, at, x, transmitter, from, to)) return;
    apply_fades(p, receiver, at, x);
    float* y = reinterpret_cast<float*>(out.data());
    const float* v = reinterpret_cast<const float*>(x.data());
    for (std::size_t i = 0; i < 2 * out.size(); ++i) y[i] += v[i];
}

void mixer::apply_fades(const path& p, std::size_t receiver, tick at,
                        std::span<cf32> x) const noexcept {
    const tick last = at + static_cast<tick>(x.size()) - 1;
    if (p.fades_in(at) || last >= p.end) {
        const auto share = [](tick t) {
            return std::clamp((static_cast<double>(t) + 0.5) / double{fade_samples}, 0.0, 1.0);
        };
        const auto rise = [](double part, bool level_only) {
            return level_only ? part : std::sin(std::numbers::pi / 2 * part);
        };
        for (std::size_t i = 0; i < x.size(); ++i) {
            const tick t = at + static_cast<tick>(i);
            double w = 1;
            if (p.begin != INT64_MIN)
                w = t < p.begin ? 0 : rise(share(t - p.begin), p.begins_level_only);
            if (t >= p.end) w *= rise(1 - share(t - p.end), p.ends_level_only);
            x[i] *= static_cast<float>(w);
        }
    }
    const tuning& loss = loss_db_[receiver];
    each_stretch(loss, at, x.size(), [&](tick t, std::size_t first, std::size_t size) {
        const db reduction(loss.at(t));
        if (reduction.value == 0) return;
        const float g = amplitude(-reduction);
        for (cf32& v : x.subspan(first, size)) v *= g;
    });
}

bool mixer::received_signal(path& p, tick at, std::span<cf32> x, const sample_source& transmitter,
                            const node_tuning& from, const node_tuning& to) {
    const bool any = transmitted_signal(p, at, x, transmitter, from, to);
    if (p.multipath) p.multipath->work(at, x, x);
    if (p.trace) p.trace->work(at, x, x);
    if (p.large_scale) p.large_scale->work(at, x, x);
    if (p.impairments) p.impairments->work(at, x, x);
    return any || p.remembers();
}

bool mixer::transmitted_signal(path& p, tick at, std::span<cf32> out,
                               const sample_source& transmitter, const node_tuning& from,
                               const node_tuning& to) {
    bool any = false;
    for (std::size_t done = 0; done < out.size();) {
        const tick t = at + static_cast<tick>(done);
        const tick sent = t - p.delay;
        tick left = static_cast<tick>(out.size() - done);
        const auto limit = [&left](tick change, tick since) {
            if (change != never) left = std::min(left, change - since);
        };
        limit(to.receive_frequency.next_change(t), t);
        limit(from.transmit_frequency.next_change(sent), sent);
        limit(from.transmit_gain.next_change(sent), sent);
        limit(to.receive_gain.next_change(t), t);
        const std::size_t n = static_cast<std::size_t>(left);
        const double offset = from.transmit_frequency.at(sent) - to.receive_frequency.at(t);
        const std::span<cf32> x = out.subspan(done, n);
        if (std::abs(offset) <= hearing_hz_ && transmitter.read(sent, x)) {
            any = true;
            const float g = p.amplitude * amplitude(db(from.transmit_gain.at(sent)));
            if (p.fading) {
                p.fading->seek(t);
                p.fading->work(x, x);
            }
            const double turns = from.transmit_frequency.turns_at(sent) +
                                 from.transmit_gain.turns_at(sent) +
                                 to.receive_frequency.turns_at(t) + to.receive_gain.turns_at(t);
            if (offset + p.shift_hz != 0 || turns != 0) shift(x, t, offset + p.shift_hz, turns);
            float* v = reinterpret_cast<float*>(x.data());
            for (std::size_t i = 0; i < 2 * n; ++i) v[i] *= g;
        } else {
            std::fill(x.begin(), x.end(), cf32{});
        }
        done += n;
    }
    return any;
}

}  // namespace wip::mix
