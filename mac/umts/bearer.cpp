// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/bearer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace wip::umts {
namespace {

constexpr std::int64_t never = packet_link::never;
constexpr double tolerance_pdus = 1e-6;  // tolerance of sums of fractions of a PDU
// Poll period of an uplink whose last PDUs carry no polls (bearer_profile::quiet_uplink).
constexpr std::int64_t quiet_poll_ns = 5'000'000'000;

bearer::way other(bearer::way w) {
    return w == bearer::way::down ? bearer::way::up : bearer::way::down;
}

// The end of the episode that contains this time; 0: none does.
std::int64_t end_of(const std::vector<episode>& all, std::int64_t ns) {
    std::int64_t end = 0;
    for (const episode& e : all)
        if (e.at_ns <= ns && ns < e.end_ns()) end = std::max(end, e.end_ns());
    return end;
}

}  // namespace

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

// Each entity sends PDUs of the size of its own direction, and receives those of the other one.
void bearer::set_up_entities() {
    for (const way w : {way::down, way::up}) {
        rlc_entity::events e;
        e.placed = [this, w](std::uint64_t id, const sdu_position& p, std::int64_t first_sn) {
            of(w).packets.placed(id, p, first_sn, now_ns_);
        };
        e.discarded = [this, w](std::uint64_t id) {
            of(w).packets.resolve(id, fate::discarded, now_ns_);
        };
        e.too_long = [this, w](std::uint64_t id) {
            of(w).packets.resolve(id, fate::too_long, now_ns_);
        };
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
        if (outcome_known()) {
            sends.poll_last = sends.poll_last_retransmitted = false;
            sends.poll_pdus = sends.poll_sdus = sends.poll_window_percent = 0;
            sends.poll_period_ns = takes.status_period_ns = 0;
            sends.discard = discard_mode::never;
            takes.status_missing = false;
        }
        entities_[static_cast<std::size_t>(w)] =
            make_entity(config_.mode, sends, takes, std::move(e));
        if (config_.granted_window > 0)
            entities_[static_cast<std::size_t>(w)]->ask_for_window(config_.granted_window);
    }
    pdu_.resize(static_cast<std::size_t>(std::max(sides_[0].block, sides_[1].block) +
                                         header_of(config_.mode)));
}

void bearer::set_rate(double kbps_down, double kbps_up) {
    const change changing(*this);
    sides_[0].kbps = kbps_down;
    sides_[1].kbps = kbps_up;
}

void bearer::set_errors(const block_error_config& down, const block_error_config& up) {
    const change changing(*this);
    config_.errors_down = down;
    config_.errors_up = up;
    sides_[0].errors = block_errors(down, config_.seed * 2);
    sides_[0].external = down.model == error_model::external && down.runs.empty();
    sides_[1].external = up.model == error_model::external && up.runs.empty();
    sides_[1].errors = block_errors(up, config_.seed * 2 + 1);
}

void bearer::grant_window(int pdus) {
    if (pdus == config_.granted_window) return;
    const change changing(*this);
    config_.granted_window = pdus;
    for (const auto& end : entities_) end->ask_for_window(pdus > 0 ? pdus : config_.rlc.window);
}

void bearer::set_episodes(std::vector<episode> spikes, std::vector<episode> outages) {
    const change changing(*this);
    config_.spikes = std::move(spikes);
    config_.outages = std::move(outages);
}

// --- packets ---

bool bearer::offer(way w, std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    const change changing(*this);
    side& s = of(w);
    const auto id = s.packets.offer(packet, tag, now_ns);
    if (!id) return false;
    if (w == way::up || core_ns_ == 0) {
        s.packets.entered(*id, now_ns);
        if (!entity(w).on_sdu(packet, *id, now_ns)) {
            s.packets.resolve(*id, fate::refused, now_ns_);
            return false;
        }
    } else {
        s.core.push(now_ns + core_ns_, packet).id = *id;
    }
    return true;
}

// The packet has passed the core network, on the downlink before the RLC and on the uplink after
// it.
void bearer::leave_core(way w, const timed& packet, std::int64_t now_ns) {
    packet_account& packets = of(w).packets;
    if (w == way::down) {
        packets.entered(packet.id, now_ns);
        if (!entity(w).on_sdu(packet.data, packet.id, now_ns))
            packets.resolve(packet.id, fate::refused, now_ns_);
        return;
    }
    const auto p = packets.at(packet.id);
    links_[1].leave({packet.data, p.tag, p.offered_ns, packet.due_ns});
    packets.resolve(packet.id, fate::delivered, now_ns_);
}

// The other end has put a packet together.
void bearer::on_assembled(way w, std::span<const std::uint8_t> sdu, const sdu_position& p) {
    side& s = of(w);
    const auto packet = s.packets.assembled(p, sdu.size());
    if (!packet || (packet->given_up && config_.given_up_is_final)) return;
    if (w == way::up && core_ns_ > 0) {
        s.packets.leave_rlc(packet->id, core_ns_, now_ns_);
        s.core.push(now_ns_ + core_ns_, sdu).id = packet->id;
        return;
    }
    s.packets.resolve(packet->id, fate::delivered, now_ns_);
    links_[static_cast<std::size_t>(w)].leave({sdu, packet->tag, packet->offered_ns, now_ns_});
}

void bearer::re_establish() {
    for (side& s : sides_) {
        while (!s.air.empty()) s.air.pop();
        while (!s.lost.empty()) s.lost.pop();
    }
    of(way::down).packets.reset(now_ns_ - core_ns_, now_ns_);
    of(way::up).packets.reset(std::numeric_limits<std::int64_t>::max(), now_ns_);
    set_up_entities();
}

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

// The next interval in which there is something to send.
std::int64_t bearer::next_interval(way w) const {
    const side& s = of(w);
    const std::int64_t from = std::max(s.last_interval_ns + 1, now_ns_);
    std::int64_t work = sender(w).next_wakeup(from);
    if (work == never) return never;
    // Nothing is sent before a change of RRC state that has begun is complete.
    if (!control_.connected() && control_.next_wakeup() != never)
        work = std::max(work, control_.next_wakeup());
    std::int64_t at = interval_at(w, std::max(work, from));
    for (std::int64_t end; (end = end_of(config_.spikes, at)) > at;) at = interval_at(w, end);
    return at;
}

std::int64_t bearer::computed_wakeup() const {
    std::int64_t next = never;
    for (const way w : {way::down, way::up})
        next = std::min(
            {next, of(w).core.due_ns(), of(w).air.due_ns(), of(w).lost.due_ns(), next_interval(w)});
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

// Delivers what is due. At equal times this comes before the beginning of an interval.
void bearer::arrive(std::int64_t now_ns) {
    now_ns_ = std::max(now_ns_, now_ns);
    if (next_wakeup() > now_ns) return;
    const change changing(*this);
    for (const way w : {way::down, way::up}) {
        block_arrives(w, now_ns);
        for (queue& lost = of(w).lost; lost.due_ns() <= now_ns; lost.pop())
            entity(w).on_loss(static_cast<std::int64_t>(lost.front().id));
    }
    for (const way w : {way::down, way::up})
        while (of(w).core.due_ns() <= now_ns) {
            leave_core(w, of(w).core.front(), now_ns);
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
        if (outcome_known() && number >= 0) entity(w).on_arrival(number);
        if (to.epoch() != before)
            s.packets.lose_before({to.epoch(), 0, 0}, fate::lost_by_reset, now_ns_);
        if (acknowledged() || s.air.due_ns() == due) continue;
        to.end_of_interval();
        s.packets.lose_before({0, number + 1, 0}, fate::lost, now_ns_);
    }
}

std::int64_t bearer::waiting_bytes() const {
    return static_cast<std::int64_t>(sides_[0].packets.of(fate::queued).bytes +
                                     sides_[1].packets.of(fate::queued).bytes);
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
    return seconds > 0 ? static_cast<double>(pdu_bits(w)) / seconds : 0;
}

std::uint64_t bearer::pdu_bits(way w) const {
    const side& s = of(w);
    return s.counts.pdus * static_cast<std::uint64_t>(s.block) * 8;
}

// The number of PDUs of this interval: as many as the rate allows until its end, rounded down, less
// as many as it allowed until its beginning, rounded down.
int bearer::pdus_of(way w, std::int64_t start_ns) const {
    const double per_interval = pdus_per_interval(w);
    const auto k = static_cast<double>(start_ns / tti_ns_);
    return static_cast<int>(std::floor((k + 1) * per_interval + tolerance_pdus) -
                            std::floor(k * per_interval + tolerance_pdus));
}

int bearer::begin_interval(way w, std::int64_t start_ns) {
    const change changing(*this);
    side& s = of(w);
    s.last_interval_ns = start_ns;
    s.in_block = false;
    rlc_entity& from = entity(w);
    control_.update(waiting_bytes(), from.has_pdu(start_ns), start_ns);
    const int pdus = control_.connected() ? pdus_of(w, start_ns) : 0;
    const int most = static_cast<int>(std::ceil(pdus_per_interval(w) - tolerance_pdus));
    from.begin_interval(pdus, most, start_ns);
    if (from.failed()) {
        re_establish();
        return 0;
    }
    return pdus;
}

bool bearer::block_lost(side& s, std::int64_t start_ns) {
    return s.external ? fates_ && fates_(start_ns) : s.errors.lost();
}

bool bearer::send_pdu(way w, std::int64_t start_ns) {
    const change changing(*this);
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
        s.block_lost = block_lost(s, start_ns) || end_of(config_.outages, start_ns) > start_ns;
        ++s.counts.blocks;
        s.counts.blocks_lost += s.block_lost ? 1 : 0;
    }
    ++s.counts.pdus;
    s.counts.pdus_lost += s.block_lost ? 1 : 0;
    if (auto* const journal = s.packets.journal(); journal != nullptr && sent.number >= 0)
        journal->sent(sent.number, sent.again, start_ns, due, s.block_lost);
    if (watch_) watch_(w, pdu, start_ns, s.block_lost);
    if (s.block_lost && outcome_known() && sent.number >= 0)
        s.lost.push(start_ns + tti_ns_ + config_.again_ns, pdu.first(0)).id =
            static_cast<std::uint64_t>(sent.number);
    // Without acknowledgements, the receiver finds out about a lost PDU at the time at which it
    // would have arrived.
    if (!s.block_lost || !acknowledged())
        s.air.push(due, s.block_lost ? pdu.first(0) : pdu).id =
            static_cast<std::uint64_t>(sent.number);
    return true;
}

}  // namespace wip::umts
