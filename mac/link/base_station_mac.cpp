// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/base_station_mac.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "link/base_station_state.h"
#include "link/fills_all_bins.h"
#include "wire/ip_header.h"

namespace wip {
namespace {

// A grant with retransmissions has at most this many bits for SDU boundaries of older frames.
constexpr int most_boundary_bits = 48;
// The fixed fields of a grant (types/grant.h): frame number, first SN, window edge, modulations.
constexpr int bits_without_frames = 12 + 16 + 15 + 80;

packet_journal::arrival arrival_of(const queued_packet& p) {
    return {p.number, p.came_ns, p.before_ns};
}

}  // namespace

base_station_mac::base_station_mac(const link_config& config, frame_sn first_sn) {
    config.check();
    state_ = std::make_unique<state>(config, first_sn);
}
base_station_mac::~base_station_mac() = default;
base_station_mac::base_station_mac(base_station_mac&&) noexcept = default;
base_station_mac& base_station_mac::operator=(base_station_mac&&) noexcept = default;

void base_station_mac::reconfigure(const link_config& config) {
    config.check();
    auto& s = *state_;
    const auto require_unchanged = [](bool same, const char* key) {
        if (!same)
            throw std::invalid_argument(std::string(key) +
                                        " differs from its value at the start; valid: that value, "
                                        "because a running link keeps it");
    };
    require_unchanged(config.profile == s.config.profile, "link.profile");
    // The constellation of 3 bits a symbol.
    require_unchanged(config.eight == s.config.eight, "link.eight_points");
    s.config = config;
    s.table = switch_table(config.switch_table, config.profile, config.eight);
    s.rate_bins();
    s.begun_packets.set_packing(config.packing);
    s.queue.reconfigure(config.queue);
}

// `own_...`: a rule that the user of the testbed has written, or nullptr: the built-in one.
void base_station_mac::use(scheduler_port* own_scheduler, const openwip_cell& cell) {
    state_->external_scheduler.reset();
    if (own_scheduler != nullptr) state_->external_scheduler.emplace(*own_scheduler, cell);
}

void base_station_mac::use(adaptation_port* own_adaptation, int user) {
    auto& s = *state_;
    s.external_adaptation = own_adaptation;
    s.adaptation_user = user;
    s.external_rates = s.table.bits_per_symbol(s.predicted);
    s.rate_bins();
}

const base_statistics& base_station_mac::statistics() const { return state_->statistics; }

void base_station_mac::follow_packets(packet_journal* journal) {
    auto& s = *state_;
    if (s.journal != nullptr) s.journal->end();
    s.journal = journal;
    ++s.journal_count;
    if (journal != nullptr)
        journal->begin(s.begun_packets.next_sdu(), s.begun_packets.first_sdu(), s.window.next_sn());
}

const slot_record& base_station_mac::record(slot air) const { return state_->record(air.value); }

slot base_station_mac::resolved() const { return slot(state_->next_resolved - 1); }

bool base_station_mac::idle() const {
    return state_->packets_held() == 0 && state_->window.empty();
}

bool base_station_mac::on_sdu(std::span<const std::uint8_t> packet, std::int64_t arrived_ns) {
    auto& s = *state_;
    const std::uint64_t number = s.statistics.in.packets;
    s.statistics.in.add(packet.size());
    if (s.journal != nullptr) s.journal->on_came();
    const auto header = read_ip_header(packet);
    if (!header || header->total_bytes != packet.size()) {
        s.statistics.dropped_not_ip.add(packet.size());
        if (s.journal != nullptr) s.journal->on_refused(number, packet, "not_ip");
        return false;
    }
    queued_packet p = s.queue.make(packet);
    p.number = number;
    if (s.journal != nullptr) {
        p.followed = s.journal_count;
        p.before_ns = s.journal->wired();  // time on the wired part of the path, before the arrival
        // The arrival by the journal's clock; arrived_ns is by the clock of the queue.
        p.came_ns = s.journal->now();
    }
    const auto limit = static_cast<std::size_t>(s.config.queue_packets);
    const std::size_t room = limit - std::min(limit, s.begun_packets.packets());
    const bool taken = s.queue.push(std::move(p), arrived_ns, room);
    s.refresh_statistics();
    return taken;
}

void base_station_mac::state::on_queue_drop(const queued_packet& p, queue_drop why) {
    const bool managed = why == queue_drop::managed;
    (managed ? statistics.dropped_queue_managed : statistics.dropped_queue_full).add(p.bytes());
    if (!followed(p)) return;
    journal->on_dropped_waiting(arrival_of(p), p.data, waited(p),
                                managed ? managed_drop : "queue_full");
}

// Takes packets out of the queue until a frame of so many nibbles can be filled, and gives them
// their numbers. Returns whether there is anything for the frame.
bool base_station_mac::state::begin_packets(int nibbles) {
    while (config.packing ? begun_packets.nibbles() < nibbles : begun_packets.empty()) {
        if (!queue.pop(now_ns, next)) break;
        if (followed(next))
            journal->on_accepted(begun_packets.next_sdu(), arrival_of(next), next.data,
                                 {waited(next), next.marked});
        window.on_sdu(next.bytes());
        begun_packets.push(next.data);
        queue.recycle(std::move(next));
    }
    return !begun_packets.empty();
}

void base_station_mac::on_feedback(const slot_feedback& feedback) {
    auto& s = *state_;
    const std::int64_t j = feedback.air.value;
    // Before the first plan any slot may come; later only what was sent and is not resolved yet.
    if (s.started && (j >= s.next_air || j < s.next_resolved))
        ++s.statistics.feedback_rejected;
    else
        s.feedback_of(j) = feedback;
}

// The end of slot j's round trip: every frame sent in it is acknowledged or failed.
void base_station_mac::state::resolve(std::int64_t j) {
    auto& fb = feedback_of(j);
    const bool has_feedback = fb.has_value() && fb->air.value == j;
    const bool locked = has_feedback && fb->locked;
    const bool decoded = locked && fb->grant_ok;
    const std::uint32_t ack = decoded ? fb->ack : 0;
    if (locked) {
        predicted_any = true;
        std::ranges::transform(fb->predicted_snr_db, predicted.begin(),
                               [](float p) { return std::isnan(p) ? -100.0F : p; });
        if (config.switch_table == switch_table_kind::measured)
            snr_error.add(predicted, fb->prediction_nmse);
        rate_bins();
    }
    if (decoded) {
        if (!terminal_hears) {  // this terminal may be another one, or have restarted
            window.need_next_boundary();
            sections.forget();
        }
        silent_slots = 0;
        terminal_hears = true;
    } else if (has_feedback && !locked) {
        terminal_hears = false;
    } else if (silent_slots < blind_slots && ++silent_slots == blind_slots) {
        terminal_hears = false;
    }
    const float nmse = has_feedback ? fb->prediction_nmse : std::numeric_limits<float>::quiet_NaN();
    fb.reset();
    if (sent(j).used != 0 && !has_feedback) ++statistics.feedback_missing;
    if (external_adaptation != nullptr) ask_external_adaptation(j, locked, nmse, ack);
    resolve_frames(j, decoded, ack);
    if (slot_record& r = record(j); r.air.value == j) {
        r.heard = decoded;
        r.acknowledged = ack;
    }
}

// Lets the user's rule choose the modulation of the bins from now on. It is asked before the record
// of what was sent in slot j is cleared.
void base_station_mac::state::ask_external_adaptation(std::int64_t j, bool locked, float nmse,
                                                      std::uint32_t ack) {
    openwip_report r{};
    r.slot = j;
    r.user = adaptation_user;
    r.heard = locked ? 1 : 0;
    r.prediction_nmse = nmse;
    const sent_slot& out = sent(j);
    const auto by_table = table.bits_per_symbol(predicted);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        r.predicted_snr_db[b] = predicted[b];
        r.sent_bits_per_symbol[b] = static_cast<std::uint8_t>(out.modulation(b));
        r.retransmissions[b] = out.repeated(b);
        r.received[b] = static_cast<std::uint8_t>(out.carried(b) ? ack >> b & 1U : 0U);
        r.table_bits_per_symbol[b] = r.bits_per_symbol[b] = by_table[b];
    }
    external_adaptation->choose(r);
    std::ranges::copy(r.bits_per_symbol, external_rates.begin());
    rate_bins();
}

// Resolves the frames and SDU boundaries of slot j, once. A section is the part of a common grant
// (types/common_grant.h) that is for one terminal; it is full when it carries the window edge.
void base_station_mac::state::resolve_frames(std::int64_t j, bool decoded, std::uint32_t ack) {
    sent_slot& out = sent(j);
    if (out.section) sections.answer(out.full, decoded, out.first_new);
    out.section = false;
    for (int i = 0; i < out.fresh; ++i)
        window.resolve_boundary(out.first_new + i, decoded && i < out.reported);
    for (const boundary_run& run : out.runs)
        if (run.frames > 0) window.resolve_boundaries(run, decoded);
    out.fresh = out.reported = 0;
    out.runs = {};
    for (int b = 0; b < nof_bins; ++b) {
        if (!out.carried(static_cast<std::size_t>(b))) continue;
        const arq_unit& unit = out.unit[static_cast<std::size_t>(b)];
        if ((ack >> b & 1U) != 0) {
            const auto a = window.acknowledge(unit);
            ++statistics.frames_acknowledged;
            ++statistics.retransmissions[unit.retransmissions];
            statistics.payload_bits_acknowledged += static_cast<std::uint64_t>(a.sdu_bits);
        } else {
            const auto a = window.fail(unit, config.max_retransmissions);
            ++statistics.frames_failed;
            if (a.dropped) {
                ++statistics.frames_dropped;
                if (journal != nullptr) journal->on_dropped(unit.sn);
            }
        }
    }
    out.used = 0;
}

void base_station_mac::on_not_sent(slot air) {
    auto& s = *state_;
    const std::int64_t j = air.value;
    if (!s.started || j >= s.next_air || j < s.next_resolved) return;
    const auto& out = s.sent(j);
    if (out.used == 0 && out.runs[0].frames == 0) return;
    if (out.used != 0) ++s.statistics.slots_not_sent;
    s.resolve_frames(j, false, 0);
}

// Chooses the bins that the terminal gets in this slot, and their rates.
void base_station_mac::state::choose_bins(slot air) {
    const bool best = config.allocation == allocation_kind::best;
    if (external_scheduler || best) take_view();
    if (external_scheduler) {
        external_scheduler->show(0, view, statistics.payload_bits_acknowledged, config);
        external_scheduler->share(air, config.bins);
        use_bins(external_scheduler->given(0));
    } else {
        const bool some =
            best && !(config.bins == nof_bins && fills_all_bins(view, config.profile));
        use_bins(some ? best_bins(view, config.profile, config.bins) : (1U << config.bins) - 1U);
    }
}

void base_station_mac::state::use_bins(std::uint32_t set) {
    bins.clear();
    if (!terminal_hears) return;
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (const bin_index bin(b); bin.in(set)) bins.push_back({bin, view.rate[b]});
}

// Plans the retransmissions, before any new frame. Leaves the plan in `planner`; returns how many
// waiting units it covers. The size of the grant is computed with new frames in all bins that no
// retransmission takes, so that it still fits after new frames have been added.
std::size_t base_station_mac::state::plan_retransmissions(slot_grant& grant) {
    std::size_t n = window.first_waiting(std::span(waiting).first(bins.size()));
    for (bool shed = false;; shed = true) {
        planner.plan(std::span<const arq_unit>(waiting).first(n), bins);
        for (auto& g : grant.bins) g = bin_grant{};
        for (const rated_bin& b : bins) grant.bins[b.bin.n()].bits_per_symbol = b.rate;
        for (const placed_unit& p : planner.placed()) {
            bin_grant& g = grant.bins[p.bin.n()];
            g.bits_per_symbol = p.unit.bits_per_symbol;
            g.retransmission = true;
            g.sn = static_cast<wire_sn>(p.unit.sn);
            g.whole = window.is_whole(p.unit);
            g.offset = g.whole ? std::uint8_t{0} : p.unit.offset;
            g.last = g.whole || window.is_last(p.unit);
        }
        const bool plain =
            !room.is_section() && planner.placed().empty() && grant.runs[0].frames == 0;
        bits_without_boundaries =
            plain ? bits_without_frames + static_cast<int>(bins.size()) : room.bits(grant);
        if (planner.placed().empty() || bits_without_boundaries <= room.limit()) {
            if (shed) ++statistics.grant_overflows;
            return planner.used();  // a number of units, not of bins
        }
        n = planner.used() - 1;
    }
}

// Adds the boundaries that wait to be reported, before retransmissions use up the grant. The window
// edge does not pass a frame whose boundary waits, so these boundaries come first.
void base_station_mac::state::plan_boundaries(slot_grant& grant) {
    if (!window.boundaries_waiting()) return;
    for (const rated_bin& b : bins) grant.bins[b.bin.n()].bits_per_symbol = b.rate;
    // One bit is kept for the new frames.
    const int left = room.limit() - room.bits(grant) - 1;
    window.take_boundaries(grant.runs,
                           window.waiting() > 0 ? std::min(left, most_boundary_bits) : left);
}

// Adds the window edge to the grant if it has moved and there is room for it (`edge_said`: the
// grant carries the edge). Records for resolve_frames() whether the grant has a section for the
// terminal, and whether the edge is in it.
void base_station_mac::state::report_edge(slot air, slot_grant& grant) {
    if (grant.addressed && !grant.edge_said && sections.moved(window.edge()))
        grant.edge_said = room.bits(grant) + full_section_bits <= room.limit();
    sent_slot& out = sent(air.value);
    out.full = grant.edge_said;
    out.section = out.full || out.used != 0 || out.runs[0].frames > 0;
    grant.addressed = out.section;
    if (grant.edge_said) sections.tell(window.edge(), air);
}

void base_station_mac::state::send(slot_plan& plan, bin_index bin, const arq_unit& unit,
                                   bool retransmission) {
    arq_unit u = unit;
    if (retransmission) {
        ++u.retransmissions;
        if (journal != nullptr) journal->on_repeated(u.sn, u.retransmissions, plan.air);
    }
    auto& payload = plan.payload[bin.n()];
    payload.resize(
        static_cast<std::size_t>(frame_payload_bytes(config.profile, u.bits_per_symbol)));
    window.write_payload(u, payload);
    sent_slot& out = sent(plan.air.value);
    out.unit[bin.n()] = u;
    out.used |= bin.bit();
    ++statistics.frames_sent;
    ++statistics.modulation[u.bits_per_symbol];
}

void base_station_mac::state::refresh_statistics() {
    const sdu_totals& t = window.totals();
    statistics.sent = {t.sent_packets, t.sent_bytes};
    statistics.dropped_retransmissions = {t.dropped_packets, t.dropped_bytes};
    statistics.queued = packets_bytes{t.held_packets, t.held_bytes} + queue.waiting();
    statistics.marked = queue.marked();
}

// Resolves all slots whose feedback is due before slot `air` is planned. The delay is the present
// one, so a change of it needs nothing else: after a longer one no slot is due until the oldest
// outstanding one has waited that long; after a shorter one several are due at once, in order, each
// with its feedback, which has come or counts as missing. `history_slots` is more than the longest
// delay.
void base_station_mac::state::advance(slot air) {
    const std::int64_t delay = config.retransmission_delay_slots;
    if (!started) {
        started = true;
        next_air = air.value;
        next_resolved = air.value - delay;
    }
    if (air.value < next_air)
        throw std::logic_error("base station MAC: plan(" + std::to_string(air.value) +
                               ") after plan(" + std::to_string(next_air - 1) + ")");
    // Slots that plan() was not called for carried nothing. After a gap longer than the history
    // nothing is outstanding.
    const std::int64_t last = next_resolved + static_cast<std::int64_t>(history_slots);
    for (; next_resolved <= air.value - delay && next_resolved < last; ++next_resolved)
        resolve(next_resolved);
    if (next_resolved <= air.value - delay) next_resolved = air.value - delay + 1;
}

const scheduling_view& base_station_mac::look(slot air) {
    state_->advance(air);
    state_->take_view();
    return state_->view;
}

void base_station_mac::state::take_view() {
    view.hears = terminal_hears;
    view.predicted_snr_db = predicted;
    view.nof_pieces = view.nof_failed = static_cast<int>(window.first_waiting(waiting));
    const auto add = [&](int nibbles) {
        view.piece[static_cast<std::size_t>(view.nof_pieces++)] = nibbles;
    };
    for (int i = 0; i < view.nof_pieces; ++i)
        view.piece[static_cast<std::size_t>(i)] = waiting[static_cast<std::size_t>(i)].length;
    if (window.full()) return;
    if (config.packing) {
        constexpr std::size_t most = std::numeric_limits<int>::max() / 8;
        const auto left =
            begun_packets.nibbles() + static_cast<int>(std::min(most, 2 * queue.waiting().bytes));
        if (left > 0 && view.nof_pieces < nof_bins) add(left);
        return;
    }
    for (std::size_t i = 0; i < begun_packets.packets() && view.nof_pieces < nof_bins; ++i)
        add(begun_packets.nibbles_left(i));
    const std::size_t n = queue.look(sizes);
    for (std::size_t i = 0; i < n && view.nof_pieces < nof_bins; ++i)
        add(2 * static_cast<int>(sizes[i]));
}

slot_plan base_station_mac::plan(slot air) {
    slot_plan out;
    plan(air, out);
    return out;
}

void base_station_mac::plan(slot air, slot_plan& out) {
    state_->advance(air);
    state_->choose_bins(air);
    state_->room = grant_room::whole(state_->config.profile, state_->reserved_bits);
    state_->make_plan(air, out);
}

void base_station_mac::plan(slot air, std::uint32_t bins, slot_plan& out) {
    plan(air, bins, grant_room::whole(state_->config.profile, state_->reserved_bits), out);
}

void base_station_mac::plan(slot air, std::uint32_t bins, const grant_room& room, slot_plan& out) {
    state_->advance(air);
    state_->use_bins(bins);
    state_->room = room;
    state_->make_plan(air, out);
}

std::size_t base_station_mac::units_waiting() const { return state_->window.waiting(); }
void base_station_mac::reserve_grant_bits(int bits) { state_->reserved_bits = bits; }

// Returns bits.
int base_station_mac::least_section(slot air) const {
    const auto& s = *state_;
    slot_grant grant;
    grant.bins[0].bits_per_symbol = 1;
    grant.edge_said = s.sections.due(s.window.next_sn(), s.window.edge(), air);
    return section_bits(grant, s.config.profile);
}

bool base_station_mac::wants_section() const {
    const auto& s = *state_;
    return s.terminal_hears && (s.window.boundaries_waiting() || s.sections.moved(s.window.edge()));
}

void base_station_mac::state::make_plan(slot air, slot_plan& plan) {
    next_air = air.value + 1;
    now_ns = slot_start_ns(air);
    if (journal != nullptr) journal->on_edge(window.edge());
    ++statistics.slots_planned;

    plan.air = air;
    slot_grant& grant = plan.grant;
    grant = {};
    grant.frame_number = frame_number_of(air);
    grant.first_new_sn = static_cast<wire_sn>(window.next_sn());
    grant.window_edge = static_cast<std::uint16_t>(window.next_sn() - window.edge());
    sent(air.value).first_new = window.next_sn();
    if (room.is_section()) {
        grant.addressed = room.limit() > 0;
        grant.edge_said = grant.addressed && sections.due(window.next_sn(), window.edge(), air);
    }
    if (terminal_hears && grant.addressed) plan_boundaries(grant);
    const bool predicts = terminal_hears && config.queue.marking == queue_marking::predicted;
    // The rate at which the queue is expected to empty, in bytes a second.
    queue.expect(predicts ? forecast.next(predicted, view.rate, config) : 0);
    if (!bins.empty()) {
        const std::size_t used = plan_retransmissions(grant);
        std::uint32_t taken = 0;
        for (std::size_t i = 0; i < used; ++i) window.take_waiting(waiting[i]);
        for (const arq_unit& rest : planner.rest()) window.put_waiting(rest);
        statistics.frames_split += static_cast<std::uint64_t>(planner.cuts());
        for (const placed_unit& p : planner.placed()) {
            send(plan, p.bin, p.unit, true);
            taken |= p.bin.bit();
        }
        for (const rated_bin& b : bins) {
            if (b.bin.in(taken)) continue;
            bin_grant& g = grant.bins[b.bin.n()];
            if (window.full() || !begin_packets(frame_payload_nibbles(config.profile, b.rate))) {
                g = bin_grant{};
                continue;
            }
            const arq_unit u = window.open_frame(b.rate, begun_packets);
            if (journal != nullptr) journal->on_frame(u.sn, window, begun_packets.first_sdu(), air);
            g.sn = static_cast<wire_sn>(u.sn);
            send(plan, b.bin, u, false);
        }
    }
    // The others have been written over as a whole by send().
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (grant.bins[b].bits_per_symbol == 0) plan.payload[b].clear();
    sent_slot& out = sent(air.value);
    if (predicts && !queue.empty()) forecast.filled(out, config);
    out.runs = grant.runs;
    out.fresh = static_cast<int>(window.next_sn() - out.first_new);
    out.reported =
        room.put_boundaries(grant, window, out.first_new, out.fresh, bits_without_boundaries);
    if (room.is_section()) report_edge(air, grant);
    if (terminal_hears && window.full() && packets_held() > 0) ++statistics.window_stalls;
    refresh_statistics();
    record_plan(plan);
}

void base_station_mac::state::record_plan(const slot_plan& plan) {
    slot_record& r = record(plan.air.value);
    const sent_slot& out = sent(plan.air.value);
    r.air = plan.air;
    r.heard = false;
    r.acknowledged = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bool used = out.carried(b);
        r.bits_per_symbol[b] = used ? plan.grant.bins[b].bits_per_symbol : std::uint8_t{0};
        r.retransmissions[b] = out.repeated(b);
        const bool fresh = used && !plan.grant.bins[b].retransmission;
        r.boundary[b] = fresh ? window.frame(out.unit[b].sn).boundary : unknown_boundary;
    }
    r.predicted = predicted_any;
    r.predicted_snr_db = predicted;
    r.queued_packets = static_cast<std::uint32_t>(packets_held());
    r.queued_bytes = queue.waiting().bytes + begun_packets.bytes();
}

}  // namespace wip
