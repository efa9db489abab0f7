// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/medium.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "os/monotonic.h"
#include "os/realtime.h"

namespace wip::air {
namespace {

using namespace std::chrono_literals;

constexpr tick lookahead_quanta = 4;  // computed before they are released
constexpr tick lost_at_once = 7680,
               received_between = 64;  // ticks of a long gap: lost, then received
constexpr tick realtime_lead = 25600;  // start of a burst without a time, from now: 3.3 ms
constexpr std::int64_t longest_sleep_ns = 20'000'000;
constexpr std::int64_t watch_interval_ns = 100'000'000;
constexpr std::size_t most_changes_ahead = 4096;  // planned changes of one node's frequency or gain
constexpr double largest_value = 1e12;            // Hz or dB of a command
constexpr tick longest_latency = transmit_fifo_size;

tick next_multiple(tick t, tick of) { return (t / of + 1) * of; }

void sleep_until(std::int64_t ns) {
    const timespec ts{ns / 1'000'000'000, ns % 1'000'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, nullptr);
}

tuning& tuning_of(node_tuning& tunings, command_kind kind) {
    switch (kind) {
        case command_kind::transmit_frequency:
            return tunings.transmit_frequency;
        case command_kind::receive_frequency:
            return tunings.receive_frequency;
        case command_kind::transmit_gain:
            return tunings.transmit_gain;
        default:
            return tunings.receive_gain;
    }
}

// Returns the reason for which a command cannot be executed; empty: it can.
std::string reason_to_refuse(const command& c) {
    if (c.kind > last_command_kind)
        return "a command of kind " + std::to_string(static_cast<std::uint32_t>(c.kind));
    if (c.time != as_soon_as_possible && !is_time(c.time))
        return "a command with the time " + std::to_string(c.time);
    if (!(std::abs(c.value) <= largest_value))
        return "a command with the value " + std::to_string(c.value);
    if (c.count < 0 || !is_time(c.count))
        return "a command for " + std::to_string(c.count) + " samples";
    return {};
}

}  // namespace

medium::medium(shared_air& air, const medium_config& config,
               std::function<void(const std::string&)> say)
    : air_(air),
      header_(air.header()),
      config_(config),
      say_(std::move(say)),
      mixer_(config),
      tunings_(config.nodes.size()),
      known_(config.nodes.size()),
      // A receiver whose sampling clock is fast has some more samples in a quantum.
      scratch_(static_cast<std::size_t>(config.quantum + config.quantum / 4096 + 2)),
      activity_(config.nodes.size()),
      pacing_(config.pacing_limit_ms * 1e3) {
    transmitters_.reserve(config.nodes.size());
    for (std::size_t i = 0; i < config.nodes.size(); ++i) {
        transmitters_.emplace_back(air.node(i), air.transmit_fifo(i));
        sources_.push_back(&transmitters_.back());
        receivers_.emplace_back(air.node(i), air.receive_ring(i));
        air.set_clock_parts(i, mixer_.clock_parts(i));
        losses_.emplace_back();
        for (const auto& one : config.nodes[i].impairments)
            if (const auto* gap = std::get_if<sample_model::gap_config>(&one))
                losses_[i].push_back(
                    {sample_model::event_times("gap", gap->start_s, gap->period_s, sample_rate),
                     static_cast<tick>(gap->samples)});
    }
}

void medium::stop() noexcept {
    stop_.store(true);
    header_.work.wake();
}

std::int64_t medium::due(tick t) const noexcept {
    if (config_.speed == 0) return 0;
    return origin_ +
           static_cast<std::int64_t>(static_cast<double>(t) * 1e9 / (sample_rate * config_.speed));
}

std::string medium::run() {
    prctl(PR_SET_TIMERSLACK, 1);
    if (config_.priority > 0) os::use_realtime(config_.priority);
    std::string reason;
    std::int64_t next_watch = 0;
    while (!stop_.load()) {
        serve();
        if (const std::int64_t wall = os::monotonic_ns(); wall >= next_watch) {
            next_watch = wall + watch_interval_ns;
            reason = find_dead();
            if (reason.empty()) reason = find_displaced();
            if (!reason.empty()) break;
        }
        if (!started_) {
            if (!ready_to_start()) {
                header_.work.wait([this] { return stop_.load() || something_new(); }, 100ms);
                continue;
            }
            started_ = true;
            origin_ = os::monotonic_ns();
            reset_wall_.store(origin_);
            clock_origin_.store(origin_);
            header_.clock_origin.store(origin_);
            header_.running.store(1);
            say_("clock started");
        }
        const tick target = next_multiple(now_, config_.quantum);
        const bool lockstep = config_.clock == clock_kind::lockstep;
        if (!(lockstep ? step_lockstep(target) : step_realtime(target))) continue;
        release(target);
    }
    header_.state.store(air_state::closed);
    for (std::size_t i = 0; i < air_.nodes(); ++i) {
        node_block& n = air_.node(i);
        for (gate* g : {&n.room, &n.samples, &n.happened}) g->wake();
    }
    return reason;
}

// Returns true when the quantum that ends at `target` has been computed and is due. Otherwise it
// computes one quantum ahead, or sleeps for a while. A quantum that is due is released before a
// later one is computed.
bool medium::step_lockstep(tick target) {
    const bool due_now = computed_ >= target && os::monotonic_ns() >= due(target);
    if (const tick to = next_multiple(computed_, config_.quantum);
        !due_now && to <= now_ + lookahead_quanta * config_.quantum && can_compute(to)) {
        compute(to);
        return false;
    }
    const bool idle = config_.speed == 0 && !anything_active();
    if (computed_ < target || idle) {
        for (std::size_t i = 0; i < transmitters_.size(); ++i) transmitters_[i].want(target);
        header_.work.wait(
            [this, idle, target] {
                return stop_.load() || something_new() || (!idle && can_compute(target));
            },
            100ms);
        return false;
    }
    const std::int64_t wall = os::monotonic_ns(), when = due(target);
    if (wall >= when) return true;
    sleep_until(std::min(when, wall + longest_sleep_ns));
    return false;  // serve once more: commands given meanwhile count
}

bool medium::step_realtime(tick target) {
    const std::int64_t wall = os::monotonic_ns(), when = due(target);
    if (wall < when) {
        sleep_until(std::min(when, wall + longest_sleep_ns));
        return false;
    }
    for (std::size_t i = 0; i < transmitters_.size(); ++i) {
        // The node must have handed over the samples that are on the air `latency` ticks later.
        const tick latency =
            std::clamp<tick>(air_.node(i).transmit_latency.load(), 0, longest_latency);
        transmitters_[i].starve(target + latency);
        if (!receivers_[i].has_room(mixer_.node_time(i, target)))
            receivers_[i].overflow(mixer_.node_time(i, computed_));
    }
    while (computed_ < target) compute(std::min(target, next_multiple(computed_, config_.quantum)));
    return true;
}

std::optional<tick> medium::change(medium_changes c) {
    return changes_.ask(std::move(c), [this] { header_.work.wake(); });
}

void medium::serve() {
    changes_.serve(mixer_, config_.paths, std::max(computed_, now_ + slot_samples - 1));
    for (std::size_t i = 0; i < air_.nodes(); ++i) {
        serve_claim(i);
        if (!known_[i].refused) serve_commands(i);
        if (!known_[i].refused) serve_bursts(i);
        activity_[i].store((transmitters_[i].active() ? 1u : 0u) |
                           (receivers_[i].active() ? 2u : 0u));
    }
}

void medium::serve_claim(std::size_t i) {
    node_block& node = air_.node(i);
    const std::uint32_t claims = node.claims.load(std::memory_order_acquire);
    if (claims == known_[i].claims) return;
    std::int64_t process = node.process.load();
    detach(i);
    known_[i].refused = false;
    known_[i].watch = process > 0 ? process_watch(process) : process_watch();
    known_[i].claims = claims;
    node.served.store(claims);
    node.room.wake();
    const bool attached = process > 0;
    if (process < 0) node.process.compare_exchange_strong(process, no_process);
    say_("node '" + air_.node_name(i) + "' " +
         (attached ? "attached (process " + std::to_string(process) + ")" : "detached"));
}

void medium::detach(std::size_t i) {
    node_block& node = air_.node(i);
    transmitters_[i].reset();
    receivers_[i].reset();
    tunings_[i] = node_tuning{};
    known_[i].commands_taken = 0;
    node.commands.written.store(0);
    node.commands.taken.store(0);
    node.transmit_latency.store(0);
    node.judges.store(0);
    changed_from(now_);
}

void medium::refuse_node(std::size_t i, const std::string& why) {
    known_[i].refused = true;
    known_[i].malformed.fetch_add(1);
    detach(i);
    say_("node '" + air_.node_name(i) + "' is refused until it is claimed again: " + why);
}

// Reports the first refused value of a node; later ones are only counted.
void medium::refuse_values(std::size_t i, const std::string& what, int count) {
    if (known_[i].malformed.fetch_add(static_cast<std::uint64_t>(count)) == 0)
        say_("node '" + air_.node_name(i) + "': " + what + " is refused; such are counted");
}

void medium::serve_bursts(std::size_t i) {
    const bool lockstep = config_.clock == clock_kind::lockstep;
    const tick asap_time = lockstep || !started_ ? now_ : now_ + realtime_lead;
    const transmit_reader::news news = transmitters_[i].collect(now_, asap_time);
    if (news.malformed > 0) refuse_values(i, "a burst at a time that no radio has", news.malformed);
    if (transmitters_[i].is_damaged())
        return refuse_node(i, "it counts more bursts, or samples of them, than there is room for");
    if (news.opened) changed_from(news.earliest);
}

void medium::serve_commands(std::size_t i) {
    node_block& node = air_.node(i);
    auto& commands = node.commands;
    std::uint64_t& taken = known_[i].commands_taken;
    const std::uint64_t written = commands.written.load(std::memory_order_acquire);
    if (taken == written) return;
    if (written - taken > commands.size)
        return refuse_node(i, "it counts " + std::to_string(written - taken) +
                                  " commands that wait, of at most " +
                                  std::to_string(commands.size));
    const tick node_now = mixer_.node_time(i, now_);
    for (; taken != written; ++taken) {
        const command c = snapshot(commands.at(taken));
        if (const std::string fault = reason_to_refuse(c); !fault.empty()) {
            refuse_values(i, fault);
            continue;
        }
        const tick time = mixer_.medium_time(
            i, c.time == as_soon_as_possible ? node_now : std::max(c.time, node_now));
        switch (c.kind) {
            case command_kind::receive_start:
                receivers_[i].start(c.time, c.count, node_now);
                break;
            case command_kind::receive_stop:
                receivers_[i].stop(c.time, node_now);
                break;
            default:
                tuning& changed = tuning_of(tunings_[i], c.kind);
                if (changed.nof_changes() >= most_changes_ahead) {
                    refuse_values(i, "more than " + std::to_string(most_changes_ahead) +
                                         " changes ahead of time");
                    continue;
                }
                changed.set(time, c.value, std::fmod(double(c.count), phase_units) / phase_units);
        }
        changed_from(time);
    }
    commands.taken.store(taken, std::memory_order_seq_cst);
    node.room.notify();
}

void medium::changed_from(tick time) noexcept {
    computed_ = std::min(computed_, std::max(time, now_));
}

std::string medium::find_dead() {
    for (std::size_t i = 0; i < air_.nodes(); ++i) {
        node_block& node = air_.node(i);
        std::int64_t process = node.process.load();
        // The watch belongs to the last claim that was served: a process that claims the node at
        // this moment has none yet.
        if (process <= 0 || node.claims.load() != known_[i].claims || known_[i].watch.alive() ||
            process_watch(process).alive() || node.process.load() != process)
            continue;
        const std::string who =
            "node '" + air_.node_name(i) + "' (process " + std::to_string(process) + ") died";
        if (!config_.stations_may_die) return who;
        say_(who);
        // Releases the node as its process would have done.
        if (node.process.compare_exchange_strong(process, leaving_process))
            node.claims.fetch_add(1);
    }
    return {};
}

// Looks for a node whose samples were on the air at another time than it had stamped on them: what
// is received from it then is not what the receiver takes it for.
std::string medium::find_displaced() {
    for (std::size_t i = 0; i < air_.nodes(); ++i) {
        const std::uint64_t displaced = air_.node(i).displaced.load(std::memory_order_acquire);
        if (displaced <= known_[i].displaced) continue;
        const bool first = known_[i].displaced == 0;
        known_[i].displaced = displaced;
        if (!first) continue;
        const std::string what = "node '" + air_.node_name(i) + "': samples were on the air " +
                                 std::to_string(air_.node(i).displaced_by.load()) +
                                 " ticks beside their time (late is positive)";
        if (!config_.stations_may_die) return what;
        say_(what);
    }
    return {};
}

bool medium::ready_to_start() {
    int transmitters = config_.wait_transmitters, receivers = config_.wait_receivers;
    for (const auto& t : transmitters_) transmitters -= t.ever_opened();
    for (const auto& r : receivers_) receivers -= r.ever_started();
    if (transmitters <= 0 && receivers <= 0) return true;
    const auto count = [](int n, const char* what) {
        return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
    };
    std::string waiting = "waiting for ";
    if (transmitters > 0) waiting += count(transmitters, "transmitter");
    if (transmitters > 0 && receivers > 0) waiting += " and ";
    if (receivers > 0) waiting += count(receivers, "receiver");
    if (waiting != waiting_for_) say_(waiting);
    waiting_for_ = waiting;
    return false;
}

bool medium::something_new() const {
    if (changes_.waits()) return true;
    for (std::size_t i = 0; i < air_.nodes(); ++i) {
        const node_block& n = air_.node(i);
        if (n.claims.load() != known_[i].claims) return true;
        if (known_[i].refused) continue;
        if (n.commands.written.load() != known_[i].commands_taken || transmitters_[i].has_news())
            return true;
    }
    return false;
}

bool medium::anything_active() const {
    return std::any_of(activity_.begin(), activity_.end(), [](const auto& a) { return a != 0; });
}

bool medium::can_compute(tick to) const {
    for (std::size_t i = 0; i < transmitters_.size(); ++i)
        if (transmitters_[i].known_until() < to || !receivers_[i].has_room(mixer_.node_time(i, to)))
            return false;
    return true;
}

void medium::compute(tick to) {
    for (std::size_t i = 0; i < receivers_.size(); ++i) {
        const tick end = mixer_.node_time(i, to);
        tick from = mixer_.node_time(i, computed_);
        lose_samples(i, from, end);
        while (from < end) {
            const auto [first, until] = receivers_[i].wanted(from, end);
            const tick last = std::min(until, first + static_cast<tick>(scratch_.size()));
            if (first < last) {
                const std::span<cf32> out(scratch_.data(), static_cast<std::size_t>(last - first));
                mixer_.hear(i, first, out, sources_, tunings_);
                receivers_[i].write(first, out);
            }
            from = last;
        }
    }
    computed_ = to;
}

// Makes the gaps of node i that begin in its samples [from, to). A long gap is made of several,
// with `received_between` ticks of samples between them, as in a radio that cannot keep up. From
// these samples a station in lockstep, whose base station waits for its reports, learns that time
// goes on.
void medium::lose_samples(std::size_t i, tick from, tick to) {
    for (const loss& l : losses_[i])
        for (tick event = l.times.last(from) != INT64_MIN ? l.times.last(from) : l.times.next(from);
             event < to; event = l.times.next(event))
            for (tick at = event + std::max<tick>(0, from - event) /
                                       (lost_at_once + received_between) *
                                       (lost_at_once + received_between);
                 at < std::min(to, event + l.length); at += lost_at_once + received_between)
                if (at >= from)
                    receivers_[i].gap(at, std::min(at + lost_at_once, event + l.length));
}

void medium::release(tick target) {
    const std::int64_t wall = os::monotonic_ns();
    for (tick slot = next_multiple(now_, slot_samples); slot <= target; slot += slot_samples)
        pacing_.add(config_.speed == 0 ? 0 : static_cast<double>(wall - due(slot)) / 1e3);
    now_ = target;
    released_.store(now_, std::memory_order_relaxed);
    header_.now.store(now_, std::memory_order_seq_cst);
    for (std::size_t i = 0; i < transmitters_.size(); ++i) {
        const tick node_now = mixer_.node_time(i, now_);
        air_.node(i).now.store(node_now, std::memory_order_seq_cst);
        receivers_[i].released(node_now);
    }
    mixer_.forget_before(now_ - mixer_.max_delay());
    for (std::size_t i = 0; i < transmitters_.size(); ++i) {
        transmitters_[i].acknowledge(now_);
        transmitters_[i].free_before(now_ - mixer_.max_delay());
        for (command_kind k : {command_kind::transmit_frequency, command_kind::receive_frequency,
                               command_kind::transmit_gain, command_kind::receive_gain})
            tuning_of(tunings_[i], k).forget_before(now_ - mixer_.max_delay());
    }
}

medium::counters medium::count() const {
    counters c;
    for (std::size_t i = 0; i < air_.nodes(); ++i) {
        const node_block& n = air_.node(i);
        c.late += n.lates.load() + n.judged_late.load();
        c.underflows += n.underflows.load() + n.judged_dry.load();
        c.overflows += n.overflows.load() + n.judged_full.load();
    }
    return c;
}

medium_status medium::status() {
    medium_status s;
    s.now = released_.load();
    const std::int64_t wall = os::monotonic_ns();
    if (const std::int64_t origin = clock_origin_.load(); origin != 0) {
        s.wall_seconds = static_cast<double>(wall - origin) * 1e-9;
        const double since = static_cast<double>(wall - reset_wall_.load()) * 1e-9;
        const double samples = static_cast<double>(s.now - reset_tick_.load());
        const double speed = config_.speed == 0 ? 1 : config_.speed;
        if (since > 0) s.real_time_factor = samples / (sample_rate * speed * since);
    }
    s.pacing = pacing_.summary();
    const counters c = count();
    s.late = c.late - base_late_;
    s.underflows = c.underflows - base_underflows_;
    s.overflows = c.overflows - base_overflows_;
    for (std::size_t i = 0; i < air_.nodes(); ++i) {
        node_block& n = air_.node(i);
        s.packets_at_wrong_time += n.displaced.load();
        const std::uint32_t active = activity_[i].load();
        s.nodes.push_back({.name = air_.node_name(i),
                           .process = std::max<std::int64_t>(0, n.process.load()),
                           .transmits = (active & 1) != 0,
                           .receives = (active & 2) != 0,
                           .refused = known_[i].malformed.load()});
    }
    return s;
}

void medium::reset_counters() {
    pacing_.reset();
    const counters c = count();
    base_late_ = c.late;
    base_underflows_ = c.underflows;
    base_overflows_ = c.overflows;
    reset_tick_ = released_.load();
    reset_wall_ = os::monotonic_ns();
}

}  // namespace wip::air
