// SPDX-License-Identifier: GPL-3.0-or-later
#include "wlan/wlan_cell.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "types/require.h"

namespace wip::wlan {
namespace {

// IEEE 802.11: dot11ShortRetryLimit (RTS and short frames) and dot11LongRetryLimit, attempts.
constexpr int rts_limit = 7, short_limit = 7, long_limit = 4;
constexpr const char *queue_full = "wlan_queue_full", *relay_full = "wlan_relay_full",
                     *retry_limit_reached = "wlan_retry_limit";

bool between(int value, int low, int high) { return value >= low && value <= high; }

}  // namespace

void wlan_config::check() const {
    for (const auto& [key, rate] : {std::pair("wlan.rate_mbps", rate_mbps),
                                    std::pair("wlan.control_rate_mbps", control_mbps)})
        require(rate == 1 || rate == 2 || rate == 5.5 || rate == 11, key, rate, "1, 2, 5.5 or 11");
    require(!short_preamble || control_mbps > 1, "wlan.control_rate_mbps", control_mbps,
            "2, 5.5 or 11 with wlan.short_preamble = on");
    check_range(rts_threshold, setting::wlan_rts_threshold);
    check_range(retry_limit, setting::wlan_retry_limit);
    check_range(patience_ms, setting::wlan_patience_ms);
    require(between(stations, 1, 32), "stations of the WLAN cell", stations, "1..32");
    check_range(hops, setting::wlan_hops);
    check_range(queue_packets, setting::wlan_queue_packets);
}

dcf_times wlan_config::times() const {
    dcf_times t;
    t.data_kbps = static_cast<std::int64_t>(rate_mbps * 1000);
    t.control_kbps = static_cast<std::int64_t>(control_mbps * 1000);
    if (short_preamble) t.preamble = 96 * dcf_times::us;
    t.late_growth = late_growth;
    return t;
}

bool wlan_cell::node::has_frames() const {
    return std::ranges::any_of(queues, [](const queue& q) { return !q.frames.empty(); });
}

wlan_cell::wlan_cell(const wlan_config& config, const make_errors& errors)
    : config_(config), times_((config.check(), config.times())), random_(config.seed) {
    const auto hops = static_cast<std::size_t>(config.hops),
               stations = static_cast<std::size_t>(config.stations);
    nodes_.resize(hops + stations);
    nodes_[0].queues.resize(stations);
    for (std::size_t n = 1; n < nodes_.size(); ++n)
        nodes_[n].queues.resize(n < hops ? 1 + stations : 1);
    for (node& n : nodes_) n.controls.resize(nodes_.size());
    replace(errors);
}

void wlan_cell::replace(const make_errors& errors) {
    for (int n = 0; n < nodes(); ++n) {
        at(n).errors.clear();
        for (int to = 0; to < nodes(); ++to)
            at(n).errors.push_back(errors ? errors(n, to) : nullptr);
    }
}

void wlan_cell::reconfigure(const wlan_config& config) {
    config.check();
    if (config.stations != config_.stations || config.hops != config_.hops ||
        config.queue_packets != config_.queue_packets || config.seed != config_.seed)
        throw std::invalid_argument(
            "stations, hops, queue_packets and seed cannot change in a running WLAN cell; valid: "
            "the values of its start");
    config_ = config;
    times_ = config.times();
}

packets_bytes wlan_cell::queued(int n) const {
    packets_bytes sum;
    for (const queue& q : at(n).queues)
        for (const frame& f : q.frames) sum.add(f.data.size());
    return sum;
}

wlan_cell::node_counts& wlan_cell::node_counts::operator+=(const node_counts& o) {
    attempts += o.attempts;
    failed += o.failed;
    collisions += o.collisions;
    put_back += o.put_back;
    dropped += o.dropped;
    return *this;
}

wlan_cell::node_counts wlan_cell::counts(int n) const {
    node_counts sum;
    for (const queue& q : at(n).queues) sum += q.counts;
    return sum;
}

// --- packets ---

bool wlan_cell::direction::offer(std::span<const std::uint8_t> packet, std::int64_t now_ns,
                                 int tag) {
    if (tag < 0 || tag >= cell_->stations())
        throw std::out_of_range(not_valid("station of a WLAN packet", std::to_string(tag),
                                          "0.." + std::to_string(cell_->stations() - 1)));
    cell_->advance(now_ns);
    counters& c = stations[static_cast<std::size_t>(tag)];
    const std::uint64_t id = c.in.packets;
    c.in.add(packet.size());
    frame f{{packet.begin(), packet.end()}, now_ns, tag, to_, id};
    sdu_journal* const journal = cell_->journal_of(f);
    if (journal) {
        journal->offered(id, packet, now_ns - cell_->wired_ns_);
        journal->entered(id, now_ns);
    }
    const int first = to_ == way::down ? 0 : cell_->config_.hops + tag;
    const bool room = cell_->enqueue(first, f, now_ns);
    (room ? c.queued : c.queue_full).add(packet.size());
    if (journal && !room) journal->left(id, now_ns, queue_full);
    return room;
}

link_sums wlan_cell::direction::sums(int station) const {
    const counters& c = stations[static_cast<std::size_t>(station)];
    return {c.in,
            c.delivered,
            c.queued,
            {{queue_full, c.queue_full},
             {relay_full, c.relay_full},
             {retry_limit_reached, c.retry_limit}}};
}

link_sums wlan_cell::direction::sums() const {
    link_sums all = sums(0);
    for (int s = 1; s < cell_->stations(); ++s) all += sums(s);
    return all;
}

void wlan_cell::follow(const packet_fn& take) {
    journals_.clear();
    // As many PDUs as there are frames of packets in relays, of the packet that is tried and of the
    // one that arrives.
    const auto remembered =
        static_cast<std::size_t>(config_.hops * ((config_.hops - 1) * config_.queue_packets + 2));
    for (int s = 0; take && s < stations(); ++s)
        journals_.push_back(std::make_unique<sdu_journal>(
            [take, s](const packet_record& r) { take(r, s); }, 0, false, remembered));
}

sdu_journal* wlan_cell::journal_of(const frame& f) {
    const bool followed = f.to == way::down && !journals_.empty();
    return followed ? journals_[static_cast<std::size_t>(f.tag)].get() : nullptr;
}

std::int64_t wlan_cell::frame_number(const frame& f, int from) const {
    return f.track * config_.hops + from;
}

void wlan_cell::track(queue& q) {
    if (q.free_tracks.empty()) q.free_tracks.push_back(q.tracks++);
    q.frames.front().track = q.free_tracks.back();
    q.free_tracks.pop_back();
}

// Journals that a frame leaves the queue of a node.
void wlan_cell::journal_leaving(const frame& f, int from, std::int64_t t) {
    sdu_journal* const journal = journal_of(f);
    if (!journal) return;
    const std::int64_t number = frame_number(f, from);
    if (from == 0)
        journal->placed(f.id, number, number, t);
    else
        journal->on_further_pdu(f.id, number);
}

// Counts a packet that leaves the cell, delivered or dropped.
void wlan_cell::leave_cell(const frame& f, packets_bytes direction::counters::*counter,
                           const char* dropped, std::int64_t t) {
    auto& count = of(f.to).stations[static_cast<std::size_t>(f.tag)];
    count.queued.take(f.data.size());
    (count.*counter).add(f.data.size());
    if (auto* const journal = journal_of(f)) journal->left(f.id, t, dropped);
    if (f.to == way::down)
        at(0).queues[static_cast<std::size_t>(f.tag)].free_tracks.push_back(f.track);
}

int wlan_cell::next_node(int from, const frame& f) const {
    if (f.to == way::up) return std::min(from, config_.hops) - 1;
    return from + 1 < config_.hops ? from + 1 : config_.hops + f.tag;
}

// Puts a frame into its queue at a node. False: the queue is full.
bool wlan_cell::enqueue(int where, frame& f, std::int64_t now_ns) {
    node& n = at(where);
    const bool relay = where > 0 && where < config_.hops;
    const int q = f.to == way::up ? 0 : f.tag + (relay ? 1 : 0);
    auto& frames = n.queues[static_cast<std::size_t>(q)].frames;
    if (static_cast<int>(frames.size()) >= config_.queue_packets) return false;
    if (!n.has_frames() || n.in_debt_since_ns >= 0) {
        if (!senders_.empty()) {
            if (n.backoff_slots == 0) draw_backoff(n);
        } else if (n.access_ns() <= now_ns || n.in_debt_since_ns >= 0) {
            n.backoff_slots = 0, n.backoff_from_ns = now_ns;
        }
    }
    frames.push_back(std::move(f));
    return true;
}

// --- the channel ---

std::int64_t wlan_cell::next_wakeup() const {
    if (!senders_.empty())
        return collided_ || lost_ || arrived_ ? idle_from_ns_
                                              : std::min(senders_[0].end_ns, idle_from_ns_);
    std::int64_t next = packet_link::never;
    for (const node& n : nodes_)
        if (n.has_frames()) next = std::min(next, n.access_ns());
    return next;
}

void wlan_cell::advance(std::int64_t now_ns) {
    if (advancing_) return;  // a sink that offers
    advancing_ = true;
    for (std::int64_t t = next_wakeup(); t <= now_ns; t = next_wakeup()) {
        if (senders_.empty())
            begin_attempt(t);
        else if (t < idle_from_ns_)
            arrive();
        else
            end_attempt();
    }
    advancing_ = false;
}

void wlan_cell::draw_backoff(node& n) {
    n.backoff_slots = static_cast<std::int64_t>(
        random_.next() % static_cast<std::uint64_t>(times_.window(n.doublings) + 1));
}

bool wlan_cell::with_rts(const frame& f) const {
    return f.data.size() + dcf_times::header_bytes >
           static_cast<std::size_t>(config_.rts_threshold);
}

// The number of other queues that have had frames since this one's last frame was first tried.
int wlan_cell::rivals(const node& n, const queue& q) {
    return static_cast<int>(std::ranges::count_if(n.queues, [&q](const queue& o) {
        return &o != &q && (!o.frames.empty() || o.emptied_ns >= q.begun_ns);
    }));
}

// Whether a node has a frame to send at t. If not, all its waiting queues are in debt to rivals.
// While none of the rivals waits, the time that passes pays off debt as their turns would;
// has_turn() is called again when the first queue is out of debt.
bool wlan_cell::has_turn(node& n, std::int64_t t) {
    if (n.served >= 0) return true;
    const double passed = n.in_debt_since_ns < 0 ? 0 : static_cast<double>(t - n.in_debt_since_ns);
    n.in_debt_since_ns = -1;
    double least = std::numeric_limits<double>::infinity();
    for (queue& q : n.queues) {
        const int others = rivals(n, q);
        if (q.debt_ns > 0) q.debt_ns = others == 0 ? 0 : std::max(0.0, q.debt_ns - passed / others);
        if (!q.frames.empty()) least = std::min(least, q.debt_ns * others);
    }
    if (least <= 0) return true;
    n.in_debt_since_ns = t;
    n.backoff_slots = 0;
    n.backoff_from_ns = t + static_cast<std::int64_t>(std::ceil(least));
    return false;
}

// Returns the queue whose turn it is (has_turn() was true). Each queue in debt that is skipped pays
// off the time of a turn.
wlan_cell::queue& wlan_cell::choose(node& n, std::int64_t t) {
    if (n.served >= 0) return served(n);
    for (;; ++n.turn) {
        n.turn %= n.queues.size();
        queue& q = n.queues[n.turn];
        if (q.frames.empty()) continue;
        if (q.debt_ns <= 0) {
            n.served = static_cast<int>(n.turn++);
            q.begun_ns = t;
            return q;
        }
        const frame& f = q.frames.front();
        q.debt_ns -= times_.mean_turn(f.data.size(), with_rts(f));
    }
}

void wlan_cell::begin_attempt(std::int64_t t) {
    for (int i = 0; i < nodes(); ++i) {
        node& n = at(i);
        if (n.has_frames() && n.access_ns() == t) {
            if (has_turn(n, t)) senders_.push_back({i, t});
        } else if (n.backoff_from_ns < t) {
            n.backoff_slots -= std::min(n.backoff_slots, (t - n.backoff_from_ns) / dcf_times::slot);
            n.backoff_from_ns = t;
        }
    }
    if (senders_.empty()) return;
    began_ns_ = t;
    collided_ = senders_.size() > 1;
    lost_ = arrived_ = false;
    idle_from_ns_ = t;
    for (sender& s : senders_) {
        node& n = at(s.node);
        queue& q = choose(n, t);
        frame& f = q.frames.front();
        ++q.counts.attempts;
        const bool again = std::exchange(f.tried, true);
        if (s.node == 0 && !again) track(q);
        const bool handshake = with_rts(f);
        n.last_hop = static_cast<std::size_t>(next_node(s.node, f));
        if (collided_) {
            s.end_ns += handshake ? times_.rts() : times_.data(f.data.size());
        } else {
            const std::int64_t data_at = t + (handshake ? times_.handshake() : 0);
            auto& errors = n.errors[n.last_hop];
            lost_ = errors && errors->fails(data_at);
            s.end_ns = data_at + times_.data(f.data.size());
            if (handshake) n.rts_tries = 0;
        }
        idle_from_ns_ = std::max(idle_from_ns_, s.end_ns);
        if (auto* const journal = journal_of(f))
            journal->sent(frame_number(f, s.node), again, t, s.end_ns, collided_ || lost_);
    }
    if (!collided_ && !lost_) idle_from_ns_ += dcf_times::sifs + times_.ack();
}

// The frame of the only sender has reached its receiver.
void wlan_cell::arrive() {
    const int from = senders_[0].node;
    const std::int64_t t = senders_[0].end_ns;
    node& n = at(from);
    queue& q = served(n);
    frame f = std::move(q.frames.front());
    q.frames.pop_front();
    q.emptied_ns = t;
    n.served = -1;
    arrived_ = true;
    journal_leaving(f, from, t);
    f.tried = false;
    const int to = next_node(from, f);
    if (to > 0 && to < config_.hops) {
        if (!enqueue(to, f, t)) leave_cell(f, &direction::counters::relay_full, relay_full, t);
        return;
    }
    leave_cell(f, &direction::counters::delivered, "", t);
    of(f.to).hand_over({f.data, f.tag, f.offered_ns, t});
}

void wlan_cell::end_attempt() {
    const std::int64_t idle = idle_from_ns_ + dcf_times::difs;
    const std::int64_t others = idle + (collided_ ? times_.eifs_less_difs()
                                        : lost_   ? dcf_times::sifs + times_.ack()
                                                  : 0);
    for (node& n : nodes_) n.backoff_from_ns = others;
    for (const sender& s : senders_) {
        node& n = at(s.node);
        n.controls[n.last_hop].attempt(!arrived_);
        if (arrived_) {
            n.failed_tries = n.rts_tries = n.doublings = 0;
        } else {
            n.backoff_from_ns = std::max(idle, s.end_ns + times_.ack_timeout() + dcf_times::difs);
            end_of_failed(n, s);
        }
        draw_backoff(n);
    }
    senders_.clear();
}

int wlan_cell::limit(const node& n, std::size_t packet, bool handshake, bool collided) const {
    if (config_.dynamic_limit)
        return n.controls[n.last_hop].limit(times_, packet, handshake,
                                            std::llround(config_.patience_ms * 1e6));
    return config_.retry_limit > 0  ? config_.retry_limit
           : handshake && !collided ? long_limit
           : handshake              ? rts_limit
                                    : short_limit;
}

int wlan_cell::retry_limit(int n) const {
    constexpr std::size_t packet = 1500;
    const bool handshake =
        packet + dcf_times::header_bytes > static_cast<std::size_t>(config_.rts_threshold);
    return limit(at(n), packet, handshake, false);
}

void wlan_cell::end_of_failed(node& n, const sender& s) {
    queue& q = served(n);
    const frame& f = q.frames.front();
    const bool handshake = with_rts(f);
    ++q.counts.failed;
    if (collided_) ++q.counts.collisions;
    const bool access_point = s.node == 0 && config_.put_back;
    if (access_point)
        q.debt_ns += static_cast<double>(n.backoff_from_ns - began_ns_) +
                     0.5 * static_cast<double>(times_.window(n.doublings) * dcf_times::slot);
    ++n.doublings;
    int& failed_tries = handshake && collided_ ? n.rts_tries : n.failed_tries;
    if (++failed_tries < limit(n, f.data.size(), handshake, collided_)) return;
    n.failed_tries = n.rts_tries = n.doublings = 0;
    n.served = -1;
    if (access_point) {
        q.debt_ns = std::max(0.0, q.debt_ns - times_.mean_turn(f.data.size(), handshake));
        ++q.counts.put_back;
        return;
    }
    ++q.counts.dropped;
    journal_leaving(f, s.node, idle_from_ns_);
    leave_cell(f, &direction::counters::retry_limit, retry_limit_reached, idle_from_ns_);
    q.frames.pop_front();
    q.emptied_ns = idle_from_ns_;
}

}  // namespace wip::wlan
