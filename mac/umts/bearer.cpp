// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/bearer.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "types/require.h"

namespace wip::umts {
namespace {

constexpr std::int64_t never = packet_link::never;
constexpr double round = 1e-6;  // of a PDU
constexpr std::int64_t quiet_poll_ns = 5'000'000'000;
// A dropped packet may still arrive for this long, which is longer than anything stays on the air.
constexpr std::int64_t forget_ns = 30'000'000'000;
// Packets that are over, behind a first one that is not: 64 MiB, and as much of a journal.
constexpr std::uint64_t most_over = 1 << 20;

bearer::way other(bearer::way w) {
    return w == bearer::way::down ? bearer::way::up : bearer::way::down;
}

// When what this time is in is over; before it: it is in none.
std::int64_t end_of(const std::vector<episode>& all, std::int64_t ns) {
    std::int64_t end = 0;
    for (const episode& e : all)
        if (e.at_ns <= ns && ns < e.end_ns()) end = std::max(end, e.end_ns());
    return end;
}

}  // namespace

void bearer_config::check() const {
    const auto& p = profile;
    require(p.tti_ms >= 1 && p.tti_ms <= 80, "tti_ms", p.tti_ms, "1 .. 80");
    for (const auto& [key, kbps] : {std::pair("down_kbps", p.kbps_down), {"up_kbps", p.kbps_up}})
        require(kbps >= 1 && kbps <= 20000, key, kbps, "1 .. 20000");
    for (const auto& [key, block] :
         {std::pair("block_down", p.block_down), {"block_up", p.block_up}})
        require(block >= 6 && block <= 4998, key, block, "6 .. 4998");
    const double least_ms = p.radio_ms + 1.5 * p.tti_ms;
    require(p.one_way_ms >= least_ms && p.one_way_ms <= 60000, "one_way_ms", p.one_way_ms,
            (std::to_string(least_ms) + " (radio_ms and 1.5 tti_ms) .. 60000").c_str());
    if (mode == rlc_mode::transparent && !control.always_dch)
        refuse("rrc", "states", "dch with mode tm: a FACH has no interval for a whole packet");
    if (mode == rlc_mode::acknowledged && !rlc.poll_last && rlc.poll_period_ns == 0)
        refuse("poll_last", "off",
               "on, or poll_period_ms more than 0: else nobody asks for the last PDU of all when "
               "it is lost");
    if (mode == rlc_mode::acknowledged && rlc.poll_timer_ns == 0 && rlc.poll_period_ns == 0 &&
        rlc.discard != discard_mode::timer)
        refuse("poll_timer_ms", "0",
               "more than 0, or poll_period_ms, or discard timer: else nobody asks again when the "
               "last poll or its status is lost");
    // A status goes first. Of two PDUs of the slower direction one is left for data.
    double pdu_ms = p.tti_ms;
    for (const auto& [kbps, block] :
         {std::pair(p.kbps_down, p.block_down), {p.kbps_up, p.block_up}})
        pdu_ms = std::max(
            pdu_ms, block * 8 / (control.always_dch ? kbps : std::min(kbps, control.fach_kbps)));
    const double period_ms = static_cast<double>(rlc.status_period_ns) * 1e-6;
    require(period_ms == 0 || period_ms >= 2 * pdu_ms, "status_period_ms", period_ms,
            ("0, or " + std::to_string(2 * pdu_ms) + " or more, or data has no room").c_str());
    require(granted_window >= 0 && granted_window <= rlc.window, "receiver_window", granted_window,
            "0 .. window");
    require(p.radio_ms >= 0, "radio_ms", p.radio_ms, "0 .. one_way_ms less 1.5 tti_ms");
    errors_down.check();
    errors_up.check();
    control.check();
    rlc.check();
}

bearer::bearer(const bearer_config& config)
    : config_(config),
      tti_ns_(config.profile.tti_ms * std::int64_t{1'000'000}),
      radio_ns_(std::llround(config.profile.radio_ms * 1e6)),
      core_ns_(std::llround(
          (config.profile.one_way_ms - 1.5 * config.profile.tti_ms - config.profile.radio_ms) *
          1e6)),
      control_(config.control) {
    config.check();
    sides_[0].block = config.profile.block_down;
    sides_[1].block = config.profile.block_up;
    set_rate(config.profile.kbps_down, config.profile.kbps_up);
    set_errors(config.errors_down, config.errors_up);
    set_episodes(config.spikes, config.outages);
    set_up_entities();
}
bearer::~bearer() = default;

// Each has PDUs of its own direction's size, and those of the other come to it.
void bearer::set_up_entities() {
    for (const way w : {way::down, way::up}) {
        rlc_entity::events e;
        e.placed = [this, w](std::uint64_t id, const sdu_position& p, std::int64_t first_sn) {
            on_placed(w, id, p, first_sn);
        };
        e.discarded = [this, w](std::uint64_t id) { settle(of(w), id, fate::given_up); };
        e.too_long = [this, w](std::uint64_t id) { settle(of(w), id, fate::too_long); };
        e.deliver = [this, w](std::span<const std::uint8_t> sdu, const sdu_position& p) {
            on_assembled(other(w), sdu, p);
        };
        am_config sends = config_.rlc, takes = config_.rlc;
        sends.pdu_bytes = of(w).block + header_of(config_.mode);
        takes.pdu_bytes = of(other(w)).block + header_of(config_.mode);
        if (w == way::up && config_.profile.quiet_uplink) {
            sends.poll_last = sends.poll_last_retransmitted = false;
            if (sends.poll_period_ns == 0) sends.poll_period_ns = quiet_poll_ns;
        }
        ends_[static_cast<std::size_t>(w)] = make_entity(config_.mode, sends, takes, std::move(e));
        if (config_.granted_window > 0)
            ends_[static_cast<std::size_t>(w)]->ask_for_window(config_.granted_window);
    }
    pdu_.resize(static_cast<std::size_t>(std::max(sides_[0].block, sides_[1].block) +
                                         header_of(config_.mode)));
}

void bearer::set_rate(double kbps_down, double kbps_up) {
    sides_[0].kbps = kbps_down;
    sides_[1].kbps = kbps_up;
}

void bearer::set_errors(const block_error_config& down, const block_error_config& up) {
    config_.errors_down = down;
    config_.errors_up = up;
    sides_[0].errors = block_errors(down, config_.seed * 2);
    sides_[1].errors = block_errors(up, config_.seed * 2 + 1);
}

void bearer::grant_window(int pdus) {
    if (pdus == config_.granted_window) return;
    config_.granted_window = pdus;
    for (const auto& end : ends_) end->ask_for_window(pdus > 0 ? pdus : config_.rlc.window);
}

void bearer::set_episodes(std::vector<episode> spikes, std::vector<episode> outages) {
    config_.spikes = std::move(spikes);
    config_.outages = std::move(outages);
}

// --- packets ---

bool bearer::offer(way w, std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    side& s = of(w);
    s.in.add(packet.size());
    if (s.records.size() - s.sums[0].packets >= most_over) {  // the RLC has long been full
        s.sums[static_cast<std::size_t>(fate::refused)].add(packet.size());
        return false;
    }
    const std::uint64_t id = s.first_id + s.records.size();
    s.records.push() = {tag, now_ns, now_ns, packet.size(), fate::queued, false, {}};
    s.sums[0].add(packet.size());
    if (s.journal) s.journal->offered(id, packet, now_ns);
    if (w == way::up || core_ns_ == 0) {
        if (s.journal) s.journal->entered(id, now_ns);
        if (!entity(w).on_sdu(packet, id, now_ns)) {
            settle(s, id, fate::refused);
            return false;
        }
    } else {
        s.core.push(now_ns + core_ns_, packet).id = id;
    }
    return true;
}

void bearer::into_rlc(way w, const timed& packet, std::int64_t now_ns) {
    if (w == way::down) {
        if (of(w).journal) of(w).journal->entered(packet.id, now_ns);
        if (!entity(w).on_sdu(packet.data, packet.id, now_ns))
            settle(of(w), packet.id, fate::refused);
        return;
    }
    side& s = of(w);
    record& r = s.records[packet.id - s.first_id];
    links_[1].leave({packet.data, r.tag, r.offered_ns, packet.due_ns});
    settle(s, packet.id, fate::delivered);
}

void bearer::on_placed(way w, std::uint64_t id, const sdu_position& p, std::int64_t first_sn) {
    side& s = of(w);
    if (s.journal) s.journal->placed(id, first_sn, p.sn, now_ns_);
    record& r = s.records[id - s.first_id];
    r.placed = true;
    r.end = p;
    s.placed.push() = {p, id};
}

// The first packet that ends there or later.
std::size_t bearer::side::place_of(const sdu_position& p) const {
    std::size_t from = 0, to = placed.size();
    while (from < to) {
        const std::size_t middle = (from + to) / 2;
        if (placed[middle].first < p)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

// The other end has put a packet together.
void bearer::on_assembled(way w, std::span<const std::uint8_t> sdu, const sdu_position& p) {
    side& s = of(w);
    const std::size_t at = s.place_of(p);
    if (at == s.placed.size() || s.placed[at].first != p || s.placed[at].second < s.first_id)
        return;
    const std::uint64_t id = s.placed[at].second;
    record& r = s.records[id - s.first_id];
    if (r.what == fate::delivered) return;
    if (!acknowledged() && sdu.size() != r.bytes) return;
    if (w == way::up && core_ns_ > 0) {
        if (r.what != fate::queued) settle(s, id, fate::queued);  // it has arrived after all
        r.placed = false;                                         // and cannot be lost any more
        if (s.journal) s.journal->left(id, now_ns_, "", core_ns_);
        s.core.push(now_ns_ + core_ns_, sdu).id = id;
        return;
    }
    const link_packet packet{sdu, r.tag, r.offered_ns, now_ns_};
    settle(s, id, fate::delivered);
    links_[static_cast<std::size_t>(w)].leave(packet);
}

void bearer::settle(side& s, std::uint64_t id, fate what) {
    if (id < s.first_id) return;
    record& r = s.records[id - s.first_id];
    if (r.what == what || r.what == fate::delivered) return;
    // A packet that has left the RLC and is on its way cannot be dropped any more.
    if (what == fate::given_up && r.what == fate::queued && !r.placed && r.end.end > 0) return;
    s.sums[static_cast<std::size_t>(r.what)].take(r.bytes);
    s.sums[static_cast<std::size_t>(what)].add(r.bytes);
    r.what = what;
    r.settled_ns = now_ns_;
    if (s.journal && what != fate::queued) s.journal->left(id, now_ns_, reason_of(what));
    while (!s.records.empty()) {
        const record& f = s.records.front();
        const bool over =
            f.what == fate::delivered || f.what == fate::refused ||
            (f.what != fate::queued && (!acknowledged() || now_ns_ - f.settled_ns > forget_ns));
        if (!over) break;
        s.records.pop();
        ++s.first_id;
    }
    while (!s.placed.empty() && s.placed.front().second < s.first_id) s.placed.pop();
}

// Drops each SDU that ended before this position (the position of a RESET, or of the PDUs that are
// through) and has not been reassembled.
void bearer::lose_before(way w, const sdu_position& p, fate what) {
    side& s = of(w);
    for (std::size_t i = 0; i < s.placed.size() && s.placed[i].first < p;) {
        const std::size_t before = s.placed.size();
        const std::uint64_t id = s.placed[i++].second;
        if (id < s.first_id) continue;
        const record& r = s.records[id - s.first_id];
        if (r.what == fate::queued && r.placed) settle(s, id, what);
        i -= std::min(i, before - s.placed.size());  // those that are over have gone from the front
    }
}

void bearer::re_establish() {
    for (side& s : sides_) {
        while (!s.air.empty()) s.air.pop();
        for (std::size_t i = 0; i < s.records.size(); ++i) {
            record& r = s.records[i];
            // Not in the RLC: on its way before or behind it.
            const bool outside = (r.end.end > 0 && !r.placed) ||
                                 (&s == &sides_[0] && r.offered_ns + core_ns_ > now_ns_);
            if (r.what != fate::queued || outside) continue;
            s.sums[0].take(r.bytes);
            s.sums[static_cast<std::size_t>(fate::lost_by_reset)].add(r.bytes);
            r.what = fate::lost_by_reset;
            r.settled_ns = now_ns_;
            if (s.journal) s.journal->left(s.first_id + i, now_ns_, reason_of(r.what));
        }
        s.placed.clear();
    }
    set_up_entities();
}

link_sums bearer::sums(way w) const {
    const side& s = of(w);
    const auto of_fate = [&s](fate f) { return s.sums[static_cast<std::size_t>(f)]; };
    link_sums all{s.in, of_fate(fate::delivered), of_fate(fate::queued), {}};
    const auto add = [&](fate f) { all.dropped.push_back({reason_of(f), of_fate(f)}); };
    add(fate::refused);
    add(fate::given_up);
    add(acknowledged() ? fate::lost_by_reset : fate::lost);
    if (config_.mode == rlc_mode::transparent) add(fate::too_long);
    return all;
}

const char* bearer::reason_of(fate f) {
    return f == fate::refused         ? "queue_full"
           : f == fate::given_up      ? "rlc_given_up"
           : f == fate::lost_by_reset ? "rlc_reset"
           : f == fate::lost          ? "rlc_lost"
           : f == fate::too_long      ? "rlc_too_long"
                                      : "";
}

bool bearer::idle(way w) const { return of(w).sums[0].packets == 0; }

// --- time ---

bearer::timed& bearer::queue::push(std::int64_t due_ns, std::span<const std::uint8_t> data) {
    timed& t = ring::push();
    t.due_ns = due_ns;
    t.id = 0;
    t.data.assign(data.begin(), data.end());
    return t;
}

std::int64_t bearer::queue::due_ns() const { return empty() ? never : front().due_ns; }

// The first interval that begins at this time or later.
std::int64_t bearer::interval_at(way w, std::int64_t ns) const {
    const std::int64_t phase = w == way::down ? 0 : tti_ns_ / 2;
    const std::int64_t k = ns <= phase ? 0 : (ns - phase + tti_ns_ - 1) / tti_ns_;
    return phase + k * tti_ns_;
}

// The next one with anything to do.
std::int64_t bearer::next_interval(way w) const {
    const side& s = of(w);
    const std::int64_t from = std::max(s.done_ns + 1, now_ns_);
    std::int64_t work = sender(w).next_wakeup(from);
    if (work == never) return never;
    // Nothing goes before a change that was begun is made.
    if (!control_.connected() && control_.next_wakeup() != never)
        work = std::max(work, control_.next_wakeup());
    std::int64_t at = interval_at(w, std::max(work, from));
    for (std::int64_t end; (end = end_of(config_.spikes, at)) > at;) at = interval_at(w, end);
    return at;
}

std::int64_t bearer::next_wakeup() const {
    std::int64_t next = never;
    for (const way w : {way::down, way::up})
        next = std::min({next, of(w).core.due_ns(), of(w).air.due_ns(), next_interval(w)});
    return next;
}

void bearer::advance(std::int64_t now_ns) {
    for (;;) {
        const std::int64_t t = next_wakeup();
        if (t > now_ns) break;
        arrive(t);
        for (const way w : {way::down, way::up}) {
            if (!interval_due(w, t)) continue;
            const int most = begin_interval(w, t);
            for (int n = 0; n < most && send_pdu(w, t);) ++n;
        }
    }
    now_ns_ = std::max(now_ns_, now_ns);
}

// Packets that arrive are there before an interval begins.
void bearer::arrive(std::int64_t now_ns) {
    now_ns_ = std::max(now_ns_, now_ns);
    for (const way w : {way::down, way::up}) block_arrives(w, now_ns);
    for (const way w : {way::down, way::up})
        while (of(w).core.due_ns() <= now_ns) {
            into_rlc(w, of(w).core.front(), now_ns);
            of(w).core.pop();
        }
}

void bearer::block_arrives(way w, std::int64_t now_ns) {
    side& s = of(w);
    rlc_entity& to = entity(other(w));
    while (s.air.due_ns() <= now_ns) {
        const std::uint32_t before = to.epoch();
        const std::int64_t due = s.air.front().due_ns;
        const auto number = static_cast<std::int64_t>(s.air.front().id);
        to.on_pdu(s.air.front().data, number, now_ns);
        s.air.pop();
        if (to.epoch() != before) lose_before(w, {to.epoch(), 0, 0}, fate::lost_by_reset);
        if (acknowledged() || s.air.due_ns() == due) continue;
        to.end_of_interval();
        lose_before(w, {0, number + 1, 0}, fate::lost);
    }
}

std::int64_t bearer::waiting_bytes() const {
    return static_cast<std::int64_t>(sides_[0].sums[0].bytes + sides_[1].sums[0].bytes);
}

double bearer::pdus_per_interval(way w) const {
    const side& s = of(w);
    const double kbps = control_.state() == rrc_state::fach ? control_.config().fach_kbps : s.kbps;
    return kbps * static_cast<double>(tti_ns_) * 1e-6 / 8 / s.block;
}

double bearer::busy_bps(way w) const {
    const side& s = of(w);
    const double seconds =
        static_cast<double>(s.counts.intervals) * static_cast<double>(tti_ns_) * 1e-9;
    return seconds > 0 ? static_cast<double>(s.counts.pdus) * s.block * 8 / seconds : 0;
}

// PDUs of this interval: the whole part of what the rate has come to, less that of the last one.
int bearer::pdus_of(way w, std::int64_t start_ns) const {
    const double each = pdus_per_interval(w);
    const auto k = static_cast<double>(start_ns / tti_ns_);
    return static_cast<int>(std::floor((k + 1) * each + round) - std::floor(k * each + round));
}

int bearer::begin_interval(way w, std::int64_t start_ns) {
    side& s = of(w);
    s.done_ns = start_ns;
    s.in_block = false;
    rlc_entity& from = entity(w);
    control_.update(waiting_bytes(), from.has_pdu(start_ns), start_ns);
    const int pdus = control_.connected() ? pdus_of(w, start_ns) : 0;
    const int most = static_cast<int>(std::ceil(pdus_per_interval(w) - round));
    from.begin_interval(pdus, most, start_ns);
    if (from.failed()) {
        re_establish();
        return 0;
    }
    return pdus;
}

bool bearer::send_pdu(way w, std::int64_t start_ns) {
    side& s = of(w);
    const auto room =
        std::span(pdu_).first(static_cast<std::size_t>(s.block + header_of(config_.mode)));
    const rlc_entity::sent sent = entity(w).next_pdu(room, start_ns);
    if (sent.bytes == 0) return false;
    const auto pdu = room.first(sent.bytes);
    const std::int64_t due = start_ns + tti_ns_ + radio_ns_;
    if (!s.in_block || config_.pdus_alone) {
        s.counts.intervals += s.in_block ? 0 : 1;
        s.in_block = true;
        s.block_lost = s.errors.lost() || end_of(config_.outages, start_ns) > start_ns;
        ++s.counts.blocks;
        s.counts.blocks_lost += s.block_lost ? 1 : 0;
    }
    ++s.counts.pdus;
    s.counts.pdus_lost += s.block_lost ? 1 : 0;
    if (s.journal && sent.number >= 0)
        s.journal->sent(sent.number, sent.again, start_ns, due, s.block_lost);
    if (watch_) watch_(w, pdu, start_ns, s.block_lost);
    // One that is lost without acknowledgements has its moment, too.
    if (!s.block_lost || !acknowledged())
        s.air.push(due, s.block_lost ? pdu.first(0) : pdu).id =
            static_cast<std::uint64_t>(sent.number);
    return true;
}

}  // namespace wip::umts
