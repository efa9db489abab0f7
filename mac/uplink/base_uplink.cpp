// SPDX-License-Identifier: GPL-3.0-or-later
#include "uplink/base_uplink.h"

#include <algorithm>
#include <stdexcept>

#include "link/switch_table.h"
#include "rlc/reassembler.h"
#include "rlc/sn_ring.h"
#include "uplink/uplink_frame.h"
#include "wire/feedback_bits.h"

namespace wip {
namespace {

// Slots of history: more than the longest loop, a power of two.
constexpr std::size_t history_slots = 64;
// Frames between the window edge and the next SN. A grant could count 511, but it has 16 bits for
// its list of retransmissions: with 127 the oldest frame alone always fits (16 bits), whatever has
// come meanwhile, so that no frame waits for ever.
constexpr int most_awaited_frames = 127;

// With more units to be sent again, the downlink's list may not fit into the bits that an uplink
// grant leaves it: 36 beside a full one, hence 12 for a unit, and 60 beside a short one of 32 bits,
// which is one with window edge and one retransmission.
constexpr std::size_t most_units_beside = 3;
constexpr std::size_t most_units_beside_short = 5;
// Slots from an uplink grant to the next one that goes before the downlink's list.
constexpr std::int64_t longest_turn = 8;

struct awaited_frame {
    std::array<std::uint8_t, 108> payload{};  // without its first byte
    std::int64_t granted = 0;                 // slot of the last grant that asked for it
    std::uint8_t bits_per_symbol = 0;
    std::uint8_t boundary = no_boundary;
    bool here = false;
    bool empty = false;
};

struct granted_slot {
    slot air{-1};
    bool planned = false, granted = false, reported = false;
    bool edge_said = false;  // the grant carried the window edge
    bool obeyed = false;     // decoded, as the form says, and a frame of it has come
    uplink_reference as_reference;
    slot_grant units;
    frame_sn first_new = 0, edge = 0;
    int fresh = 0;          // new frames
    int nibbles = 0;        // nibbles that these hold
    int buffer_bytes = -1;  // what the form about this slot said; -1: no form
};

}  // namespace

struct base_uplink::state {
    state(const radio_uplink_config& c, deliver_fn d, frame_sn first)
        : config(c),
          table(switch_table_kind::nmse_0_1, c.profile),
          frames(1024, first),
          assembly(
              {c.profile, true, false, uplink_header_nibbles},
              [deliver = std::move(d)](std::span<const std::uint8_t> p, bool) { deliver(p); }) {
        edge_known = first;
        rates.fill(1);
    }

    granted_slot& at(std::int64_t j) {
        return history[static_cast<std::size_t>(j) & (history_slots - 1)];
    }
    const granted_slot& at(std::int64_t j) const {
        return history[static_cast<std::size_t>(j) & (history_slots - 1)];
    }

    void learn_buffer(slot air);
    int missing_bytes(slot air) const;
    int modulation(int bins) const;
    void ask_again(slot air);
    void add_new(slot air);
    void find_reference(slot air);
    std::optional<uplink_command> command() const;
    bool within_grant() const;
    std::optional<slot_feedback> accept_form(const uplink_report& r);
    int take_frames(const granted_slot& g, const uplink_report& r);
    void put(frame_sn sn, int bits_per_symbol, std::span<const std::uint8_t> payload);
    void pass_on();

    radio_uplink_config config;
    switch_table table;
    sn_ring<awaited_frame> frames;  // from the window edge to the next SN
    reassembler assembly;           // has the frames that carry something, numbered without gaps
    frame_sn next_in_stream = 0;
    std::array<granted_slot, history_slots> history{};
    std::array<std::uint8_t, nof_bins> rates{};
    std::int64_t next_air = 0;
    std::int64_t last_granted = -longest_turn;
    bool started = false;
    frame_sn edge_known = 0;  // window edge that the terminal has received
    bool heard_from = false;  // a form has come: the terminal is there
    std::int64_t learnt = 0;  // slot of the last form whose buffer status is used
    std::int64_t next_learnt = 0;
    int waiting_bytes = 0;  // in the terminal after that slot
    int timing_step = 0, power_step = 0;
    uplink_grant grant;                // of the slot that is being planned
    std::int64_t reference_slot = -1;  // of its short form; -1: it has none
    bool say_edge = true;              // in its short form
    planned_uplink_grant planned;
    base_uplink_statistics statistics;
};

base_uplink::base_uplink(const radio_uplink_config& config, deliver_fn deliver, frame_sn first_sn) {
    config.check();
    if (!deliver) throw std::invalid_argument("base_uplink: deliver is empty; valid: a function");
    state_ = std::make_unique<state>(config, std::move(deliver), first_sn);
}
base_uplink::~base_uplink() = default;
base_uplink::base_uplink(base_uplink&&) noexcept = default;
base_uplink& base_uplink::operator=(base_uplink&&) noexcept = default;

const base_uplink_statistics& base_uplink::statistics() const { return state_->statistics; }

void base_uplink::reconfigure(const radio_uplink_config& config) {
    config.check();
    if (config.profile != state_->config.profile)
        throw std::invalid_argument(
            "link.profile differs from its value at the start; valid: that value, because a "
            "running uplink keeps it");
    state_->config = config;
}

void base_uplink::correct(int timing_step, int power_step_db) {
    state_->timing_step = std::clamp(timing_step, -4, 3);
    state_->power_step = std::clamp(power_step_db, -2, 1);
}

// The buffer status of forms that count as known by now.
void base_uplink::state::learn_buffer(slot air) {
    const std::int64_t last = air.value - config.delay_slots;
    next_learnt = std::max(next_learnt, last - static_cast<std::int64_t>(history_slots) + 1);
    for (; next_learnt <= last; ++next_learnt) {
        const granted_slot& g = at(next_learnt);
        if (g.air.value != next_learnt || g.buffer_bytes < 0) continue;
        learnt = next_learnt;
        waiting_bytes = g.buffer_bytes;
        heard_from = true;
    }
}

// The bytes that wait in the terminal and for which no frames are granted yet: frames granted after
// the slot of the last buffer status take them.
int base_uplink::state::missing_bytes(slot air) const {
    int nibbles = 2 * waiting_bytes;
    for (std::int64_t j =
             std::max(learnt + 1, air.value - static_cast<std::int64_t>(history_slots));
         j < air.value && nibbles > 0; ++j)
        if (at(j).air.value == j && at(j).granted) nibbles -= at(j).nibbles;
    return std::max(0, nibbles);
}

// The modulation of new frames in so many bins: that at which the bins that are good enough for it
// carry most.
int base_uplink::state::modulation(int bins) const {
    if (config.modulation != 0) return config.modulation;
    int best = 1, most = 0;
    for (int k = 1; k <= max_bits_per_symbol; ++k) {
        int good = 0;
        for (int i = 0; i < bins; ++i)
            good += rates[static_cast<std::size_t>(i * nof_bins / bins)] >= k;
        const int carried = good * uplink_room(config.profile).nibbles(k);
        if (carried > most) most = carried, best = k;
    }
    return best;
}

// Finds the latest slot that a short grant may refer to. What came about later slots counts as not
// known before.
void base_uplink::state::find_reference(slot air) {
    reference_slot = -1;
    if (!config.short_grants) return;
    const std::int64_t oldest = std::max<std::int64_t>(0, air.value - longest_reference_age);
    for (std::int64_t j = air.value - config.delay_slots; j >= oldest; --j)
        if (at(j).air.value == j && at(j).obeyed) {
            const auto advance =
                static_cast<wire_sn>(grant.first_new_sn - at(j).as_reference.first_new_sn);
            if (advance <= most_short_advance) reference_slot = j;
            return;
        }
}

// The form in which the grant goes out; nullopt: it has too many retransmissions.
std::optional<uplink_command> base_uplink::state::command() const {
    packed_grant room{};
    if (reference_slot >= 0) {
        const auto brief = shortened(grant, at(reference_slot).as_reference,
                                     next_air - 1 - reference_slot, say_edge);
        if (brief && put_uplink_command(*brief, room)) return *brief;
        return std::nullopt;
    }
    if (!put_uplink_grant(grant, room)) return std::nullopt;
    return grant;
}

// Whether it goes out in a form that has room for the allocation that add_new() makes of it.
bool base_uplink::state::within_grant() const {
    const auto c = command();
    if (!c) return false;
    const auto* brief = std::get_if<short_uplink_grant>(&*c);
    return brief == nullptr || brief->changed ||
           bits_of(*brief) + short_allocation_bits <= most_short_bits;
}

void base_uplink::state::ask_again(slot air) {
    for (frame_sn sn = frames.first(); sn < frames.end() && grant.bins < config.bins; ++sn) {
        awaited_frame& f = frames[sn];
        if (f.here || f.granted + config.delay_slots > air.value) continue;
        if (grant.retransmissions > 0 && f.bits_per_symbol != grant.bits_per_symbol) continue;
        const uplink_grant before = grant;
        grant.bits_per_symbol = f.bits_per_symbol;
        grant.sn[grant.retransmissions++] = static_cast<wire_sn>(sn);
        ++grant.bins;
        if (!within_grant()) {
            grant = before;
            return;
        }
        f.granted = air.value;
    }
}

void base_uplink::state::add_new(slot air) {
    const int left = config.bins - grant.bins;
    if (left <= 0) return;
    if (grant.retransmissions == 0)
        grant.bits_per_symbol = static_cast<std::uint8_t>(modulation(config.bins));
    const int k = grant.bits_per_symbol;
    const int room = uplink_room(config.profile).nibbles(k);
    const int needed = std::max((missing_bytes(air) + room - 1) / room, config.standing_bins);
    const auto held = static_cast<int>(frames.size());
    const int fresh = std::min({needed, left, std::max(0, most_awaited_frames - held)});
    if (fresh < std::min(needed, left)) ++statistics.window_stalls;
    for (int i = 0; i < fresh; ++i) {
        awaited_frame& f = frames.push();
        f.granted = air.value;
        f.bits_per_symbol = static_cast<std::uint8_t>(k);
    }
    grant.bins = static_cast<std::uint8_t>(grant.bins + fresh);
    granted_slot& g = at(air.value);
    g.fresh = fresh;
    g.nibbles = fresh * room;
}

const planned_uplink_grant* base_uplink::plan(slot air, std::size_t downlink_waiting) {
    auto& s = *state_;
    if (s.started && air.value < s.next_air)
        throw std::logic_error("plan(" + std::to_string(air.value) + ") after plan(" +
                               std::to_string(s.next_air - 1) + ")");
    if (!s.started) s.learnt = s.next_learnt = air.value;
    s.started = true;
    s.next_air = air.value + 1;
    s.learn_buffer(air);
    granted_slot& g = s.at(air.value);
    g = {};
    g.air = air;
    g.planned = true;
    g.first_new = s.frames.end();
    g.edge = s.frames.first();
    // To a terminal that was never heard nothing is granted: its first frames would be lost.
    if (!s.heard_from) return nullptr;
    s.grant = {};
    s.grant.first_new_sn = static_cast<wire_sn>(s.frames.end());
    s.find_reference(air);
    const bool crowded = downlink_waiting > most_units_beside;
    const auto beside = s.reference_slot >= 0 ? most_units_beside_short : most_units_beside;
    if (downlink_waiting > beside && air.value < s.last_granted + longest_turn) {
        ++s.statistics.grants_put_off;
        return nullptr;
    }
    s.grant.window_edge = static_cast<std::uint16_t>(s.frames.end() - s.frames.first());
    s.grant.timing_step = static_cast<std::int8_t>(s.timing_step);
    s.grant.power_step_db = static_cast<std::int8_t>(s.power_step);
    const bool edge_due = s.edge_known != s.frames.first();
    s.say_edge = edge_due && (!crowded || s.frames.end() - s.edge_known > most_short_window);
    s.ask_again(air);
    s.add_new(air);
    if (s.grant.bins == 0) {
        // A grant without bins tells the terminal that its last frames have come.
        if (s.timing_step == 0 && s.power_step == 0 && !edge_due) return nullptr;
        s.say_edge = edge_due;
    }
    // It fits: ask_again() has left room for everything else that a grant can say.
    s.planned.grant = s.grant;
    s.planned.command = s.command().value();
    const bool brief = std::holds_alternative<short_uplink_grant>(s.planned.command);
    s.statistics.grants_short += brief;
    s.statistics.grant_bits += static_cast<std::uint64_t>(bits_of(s.planned.command));
    s.last_granted = air.value;
    g.granted = true;
    g.edge_said = !brief || s.say_edge;
    g.as_reference = reference_of(s.grant);
    g.units = units_of(s.grant);
    s.timing_step = s.power_step = 0;
    ++s.statistics.grants;
    s.statistics.frames_granted += static_cast<std::uint64_t>(g.fresh);
    s.statistics.frames_repeated += s.grant.retransmissions;
    s.statistics.modulation[s.grant.bits_per_symbol] += s.grant.bins;
    return &s.planned;
}

// The SNs of its new frames are used up; they are asked for like those that did not come.
void base_uplink::not_granted(slot air) {
    granted_slot& g = state_->at(air.value);
    if (g.air != air || !g.granted) return;
    g.granted = false;
    g.units = {};
    ++state_->statistics.grants_without_room;
}

const slot_grant* base_uplink::units(slot j) const {
    const granted_slot& g = state_->at(j.value);
    return g.air == j && g.granted ? &g.units : nullptr;
}

std::optional<slot_feedback> base_uplink::state::accept_form(const uplink_report& r) {
    if (!r.form_ok) {
        ++statistics.forms_lost;
        return std::nullopt;
    }
    const auto form = unpack_feedback(r.form);
    const std::int64_t j = r.about.value;
    const std::int64_t in_frame = (j % slots_per_frame + slots_per_frame) % slots_per_frame;
    const auto frame =
        static_cast<std::uint8_t>((j - in_frame) / slots_per_frame & (feedback_frame_modulus - 1));
    if (!form || form->slot_in_frame != in_frame || form->frame_number != frame) {
        ++statistics.forms_refused;
        return std::nullopt;
    }
    ++statistics.forms;
    granted_slot& g = at(j);
    if (form->grant_ok && g.granted && g.edge_said) edge_known = std::max(edge_known, g.edge);
    g.buffer_bytes = static_cast<int>(bytes_of_code(form->buffer));
    slot_feedback f;
    f.air = r.about;
    f.locked = true;
    f.grant_ok = form->grant_ok;
    f.ack = form->ack;
    f.predicted_snr_db = form->predicted_snr_db;
    f.prediction_nmse = form->prediction_nmse;
    return f;
}

void base_uplink::state::put(frame_sn sn, int bits_per_symbol,
                             std::span<const std::uint8_t> payload) {
    ++statistics.frames_good;
    if (!frames.holds(sn) || frames[sn].here) {
        ++statistics.frames_duplicate;
        return;
    }
    awaited_frame& f = frames[sn];
    const auto size =
        static_cast<std::size_t>(frame_payload_bytes(config.profile, bits_per_symbol));
    const auto header =
        payload.size() == size
            ? read_uplink_frame_header(payload.front(), config.profile, bits_per_symbol)
            : std::nullopt;
    if (!header) {
        ++statistics.frames_malformed;
        return;
    }
    f.here = true;
    f.empty = header->empty;
    f.boundary = header->boundary;
    statistics.frames_empty += f.empty;
    std::ranges::copy(payload.subspan(1), f.payload.begin());
}

// Returns how many of the frames that were asked for have come.
int base_uplink::state::take_frames(const granted_slot& g, const uplink_report& r) {
    int come = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& unit = g.units.bins[b];
        if (unit.bits_per_symbol == 0) continue;
        if (r.outcome[b] != frame_outcome::good) {
            ++statistics.frames_bad;
            continue;
        }
        ++come;
        const auto back = static_cast<wire_sn>(g.units.first_new_sn - unit.sn);
        const auto ahead = static_cast<wire_sn>(unit.sn - g.units.first_new_sn);
        put(g.first_new + (unit.retransmission ? -std::int64_t{back} : std::int64_t{ahead}),
            unit.bits_per_symbol, r.payload[b]);
    }
    return come;
}

// Frames that have come in order go into the stream, and the window edge passes them.
void base_uplink::state::pass_on() {
    for (; frames.size() > 0 && frames[frames.first()].here; frames.pop()) {
        const awaited_frame& f = frames[frames.first()];
        if (f.empty) continue;
        received_unit u;
        u.sn = next_in_stream++;
        u.bits_per_symbol = f.bits_per_symbol;
        assembly.frames().extend(next_in_stream);
        assembly.frames().tell_boundary(u.sn, f.boundary);
        assembly.frames().put(u, true, f.payload);
    }
    assembly.advance();
    const reassembly_counts& c = assembly.counts();
    statistics.delivered = {c.delivered_packets, c.delivered_bytes};
    statistics.dropped_lost_frame = {c.lost_packets, c.lost_bytes};
    statistics.resynchronised = c.boundaries_lost;
}

std::optional<slot_feedback> base_uplink::on_slot(const uplink_report& report) {
    auto& s = *state_;
    granted_slot& g = s.at(report.about.value);
    if (g.air != report.about || !g.planned || g.reported) return std::nullopt;
    g.reported = true;
    ++s.statistics.slots;
    if (!report.heard) {
        for (const bin_grant& unit : g.units.bins)
            s.statistics.frames_bad += unit.bits_per_symbol != 0;
        return std::nullopt;
    }
    ++s.statistics.slots_heard;
    if (s.config.modulation == 0) s.rates = s.table.bits_per_symbol(report.snr_db);
    s.assembly.frames().set_slot(report.about.value);
    const int come = s.take_frames(g, report);
    s.pass_on();
    const auto feedback = s.accept_form(report);
    g.obeyed = come > 0 && feedback && feedback->grant_ok;
    return feedback;
}

}  // namespace wip
