// SPDX-License-Identifier: GPL-3.0-or-later
#include "handover/handover.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "wire/flow_fields.h"

namespace wip::hetnet {
namespace {

constexpr auto never = packet_link::never;
// Memory that a held packet takes in addition to its data.
constexpr std::size_t bytes_about_a_packet = 128;
constexpr std::size_t most_kept_handovers = 16;
constexpr const char* reason_in_flight = "handover_in_flight";
constexpr const char* reason_arrived_during = "handover_arrived";
constexpr const char* reason_held_full = "handover_held_full";

std::size_t held_bytes(const packets_bytes& queued) {
    return queued.bytes + queued.packets * bytes_about_a_packet;
}

}  // namespace

handover::handover(const handover_config& config, const make_line& make)
    : config_(config),
      here_(config.first),
      keep_(config.keep),
      target_(config.first),
      network_timer_ns_(std::llround(config.network_timer_s * 1e9)),
      state_timer_ns_(std::llround(config.state_timer_ms * 1e6)),
      network_random_(config.seed),
      state_random_(~config.seed) {
    config_.check();
    set_delay(config.delay_s);
    for (const auto& m : config_.plan)
        (m.of == planned_move::unit::ns ? timed_ : counted_).push_back(m);
    if (network_timer_ns_ > 0) network_fires_ns_ = network_timer_ns_;
    if (state_timer_ns_ > 0) state_fires_ns_ = state_timer_ns_;
    for (const way w : {way::down, way::up})
        for (std::size_t n = 0; n < config_.networks.size(); ++n) {
            of(w).lines.push_back(make(w));
            of(w).lines.back()->deliver_to(
                [this, w](const link_packet& p) { return on_delivery(w, p); });
        }
    enter(here_);
}

void handover::set_delay(double seconds) { delay_ns_ = std::llround(seconds * 1e9); }

const place& handover::destination() const {
    return requested_ ? *requested_ : is_handing_over() ? target_ : here_;
}

const network_state& handover::rates() const {
    return config_.networks[static_cast<std::size_t>(here_.network)]
        .states[static_cast<std::size_t>(here_.state)];
}

// --- packets ---

bool handover::offer(way w, std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    side& s = of(w);
    const auto user = static_cast<std::size_t>(tag);
    if (s.ids.size() <= user) s.ids.resize(user + 1);
    const packet_facts what{now_ns, 0, s.ids[user]++, tag};
    s.in.add(packet.size());
    if (auto* journal = journal_of(w, tag)) {
        journal->offered(what.id, packet, now_ns);
        journal->entered(what.id, now_ns);
    }
    packets_bytes with_it = s.held_count + s.on_line_count;
    with_it.add(packet.size());
    if (static_cast<double>(held_bytes(with_it)) > config_.held_mb * 1e6) {
        drop(w, what, packet.size(), &side::held_full, reason_held_full, now_ns);
        return false;
    }
    if (!is_handing_over()) return put_on_line(w, what, packet, now_ns);
    if (current_buffering_ == buffering::none) {
        drop(w, what, packet.size(), &side::arrived_during, reason_arrived_during, now_ns);
        return false;
    }
    s.held_count.add(packet.size());
    s.held.push_back({what, {packet.begin(), packet.end()}});
    return true;
}

bool handover::put_on_line(way w, packet_facts what, std::span<const std::uint8_t> packet,
                           std::int64_t now_ns) {
    side& s = of(w);
    what.travel_ns =
        std::llround(static_cast<double>(packet.size()) * 8e6 / kbps(w) + rates().one_way_ms * 1e6);
    if (!line(w).offer(packet, now_ns, what.tag)) {
        if (auto* journal = journal_of(w, what.tag)) journal->left(what.id, now_ns, "line_full");
        return false;
    }
    s.on_line.push_back(what);
    s.on_line_count.add(packet.size());
    return true;
}

int handover::on_delivery(way w, const link_packet& p) {
    side& s = of(w);
    const packet_facts what = s.on_line.front();
    s.on_line.pop_front();
    s.on_line_count.take(p.data.size());
    s.delivered.add(p.data.size());
    if (w == way::down) count_.application_bytes += application_bytes(p.data);
    if (auto* journal = journal_of(w, what.tag)) {
        journal_travel(*journal, what, p.due_ns);
        journal->left(what.id, p.due_ns);
    }
    return ports_[static_cast<std::size_t>(w)].leave({p.data, p.tag, what.offered_ns, p.due_ns});
}

void handover::drop(way w, const packet_facts& what, std::size_t bytes,
                    packets_bytes side::*counter, const char* reason, std::int64_t now_ns) {
    (of(w).*counter).add(bytes);
    if (auto* journal = journal_of(w, what.tag)) journal->left(what.id, now_ns, reason);
}

link_sums handover::sums(way w) const {
    const side& s = of(w);
    link_sums all;
    for (const auto& l : s.lines) {
        const link_sums one = l->sums();
        if (all.dropped.empty())
            all = one;
        else
            all += one;
    }
    all.in = s.in;
    all.delivered = s.delivered;
    all.queued += s.held_count;
    all.dropped.push_back({reason_in_flight, s.in_flight});
    all.dropped.push_back({reason_arrived_during, s.arrived_during});
    all.dropped.push_back({reason_held_full, s.held_full});
    return all;
}

bool handover::idle(way w) const { return of(w).held.empty() && of(w).on_line.empty(); }

void handover::follow(const packet_fn& take) {
    take_ = take;
    for (auto& s : sides_) s.journals.clear();
}

sdu_journal* handover::journal_of(way w, int tag) {
    if (!take_) return nullptr;
    auto& journals = of(w).journals;
    while (journals.size() <= static_cast<std::size_t>(tag)) {
        const int user = static_cast<int>(journals.size());
        journals.push_back(std::make_unique<sdu_journal>(
            [take = take_, user](const packet_record& r) { take(r, user); }, 0, w == way::up));
    }
    return journals[static_cast<std::size_t>(tag)].get();
}

// The line tells only when a packet has arrived. It was sent its own travel time before that.
void handover::journal_travel(sdu_journal& to, const packet_facts& what, std::int64_t due_ns) {
    const auto number = static_cast<std::int64_t>(what.id);
    const std::int64_t start = std::max(what.offered_ns, due_ns - what.travel_ns);
    to.placed(what.id, number, number, start);
    to.sent(number, false, start, due_ns, false);
}

// --- time ---

std::int64_t handover::next_wakeup() const {
    const std::int64_t planned = next_timed_ < timed_.size() ? timed_[next_timed_].at : never;
    return std::min({ends_ns_, planned, network_fires_ns_, state_fires_ns_,
                     line(way::down).next_wakeup(), line(way::up).next_wakeup()});
}

void handover::advance(std::int64_t now_ns) {
    if (advancing_) return;
    advancing_ = true;
    for (std::int64_t t = next_wakeup(); t <= now_ns && t != never; t = next_wakeup())
        step(std::max(t, now_ns_));
    count_time(now_ns);
    advancing_ = false;
}

void handover::step(std::int64_t t) {
    count_time(t);
    line(way::down).advance(t);
    line(way::up).advance(t);
    if (ends_ns_ <= t) finish(t);
    for (; state_fires_ns_ <= t; state_fires_ns_ += state_timer_ns_) draw_state(t);
    for (; network_fires_ns_ <= t; network_fires_ns_ += network_timer_ns_) draw_network(t);
    move_as_planned(t);
}

void handover::move_as_planned(std::int64_t t) {
    for (; next_counted_ < counted_.size() &&
           count_.application_bytes >= static_cast<std::uint64_t>(counted_[next_counted_].at);
         ++next_counted_) {
        const auto& reached = counted_[next_counted_];
        const planned_move timed{planned_move::unit::ns, t + reached.later_ns, reached.to};
        const auto next = timed_.begin() + static_cast<std::ptrdiff_t>(next_timed_);
        timed_.insert(std::ranges::upper_bound(next, timed_.end(), timed.at, {}, &planned_move::at),
                      timed);
    }
    for (; next_timed_ < timed_.size() && timed_[next_timed_].at <= t; ++next_timed_)
        move(timed_[next_timed_].to, t);
}

// Adds the time that has passed to the capacity of the present network, or to the handovers.
void handover::count_time(std::int64_t t) {
    if (t <= now_ns_) return;
    const std::int64_t passed = t - now_ns_;
    if (is_handing_over())
        count_.handing_over_ns += passed;
    else
        for (const way w : {way::down, way::up})
            of(w).capacity_bits += kbps(w) * 1e-6 * static_cast<double>(passed);
    now_ns_ = t;
}

// --- handovers ---

void handover::go_to(const place& to, std::int64_t now_ns) {
    advance(now_ns);
    move(to, std::max(now_ns, now_ns_));
}

void handover::move(const place& to, std::int64_t t) {
    if (is_handing_over()) {
        requested_ = to;
    } else if (to.network == here_.network) {
        if (to == here_) return;
        ++count_.state_changes;
        enter(to);
    } else {
        begin(to, t);
    }
}

void handover::begin(const place& to, std::int64_t t) {
    ++count_.handovers;
    ends_ns_ = t + delay_ns_;
    latest_.push_back({here_, to, t, ends_ns_});
    if (latest_.size() > most_kept_handovers) latest_.pop_front();
    target_ = to;
    current_buffering_ = keep_;
    for (const way w : {way::down, way::up}) {
        side& s = of(w);
        line(w).withdraw(t, [&](const link_packet& p) {
            const packet_facts what = s.on_line.front();
            s.on_line.pop_front();
            s.on_line_count.take(p.data.size());
            if (current_buffering_ == buffering::full) {
                s.held_count.add(p.data.size());
                s.held.push_back({what, {p.data.begin(), p.data.end()}});
                return 0;
            }
            if (auto* journal = journal_of(w, what.tag); journal && p.due_ns - what.travel_ns <= t)
                journal_travel(*journal, what, p.due_ns);
            drop(w, what, p.data.size(), &side::in_flight, reason_in_flight, t);
            return 0;
        });
    }
    if (delay_ns_ == 0) finish(t);
}

void handover::finish(std::int64_t t) {
    ends_ns_ = never;
    enter(target_);
    for (const way w : {way::down, way::up}) {
        side& s = of(w);
        while (!s.held.empty()) {
            const held_packet p = std::move(s.held.front());
            s.held.pop_front();
            s.held_count.take(p.data.size());
            put_on_line(w, p.what, p.data, t);
        }
    }
    if (!requested_) return;
    const place next = *std::exchange(requested_, std::nullopt);
    move(next, t);
}

void handover::enter(const place& to) {
    here_ = to;
    for (const way w : {way::down, way::up}) line(w).set_line(kbps(w), rates().one_way_ms);
}

// --- the Markov chain ---

int handover::draw(splitmix64& random, const std::vector<std::vector<double>>* matrix, int from,
                   std::size_t order) {
    const double u = static_cast<double>(random.next() >> 11) * 0x1p-53;
    if (matrix == nullptr) return static_cast<int>(u * static_cast<double>(order));
    const auto& row = (*matrix)[static_cast<std::size_t>(from)];
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i)
        if (u < (sum += row[i])) return static_cast<int>(i);
    // The sum of a row may be a little less than 1: the last one that is possible.
    for (std::size_t i = row.size(); i > 0; --i)
        if (row[i - 1] > 0) return static_cast<int>(i) - 1;
    return from;
}

// While a handover is under way there is nothing to decide.
void handover::draw_state(std::int64_t t) {
    if (is_handing_over()) return;
    const auto n = static_cast<std::size_t>(here_.network);
    const auto* matrix = config_.state_chains.empty() ? nullptr : &config_.state_chains[n];
    move({here_.network,
          draw(state_random_, matrix, here_.state, config_.networks[n].states.size())},
         t);
}

void handover::draw_network(std::int64_t t) {
    if (is_handing_over()) return;
    const auto* matrix = config_.network_chain.empty() ? nullptr : &config_.network_chain;
    const int to = draw(network_random_, matrix, here_.network, config_.networks.size());
    if (to != here_.network) move({to, 0}, t);
}

}  // namespace wip::hetnet
