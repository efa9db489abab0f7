// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/terminal_mac.h"

#include <algorithm>
#include <stdexcept>

#include "rlc/reassembler.h"

namespace wip {
namespace {
constexpr std::int64_t sn_period = 65536;
static_assert(most_blind_frames < sn_period - max_window);
}  // namespace

struct terminal_mac::state {
    state(const link_config& c, deliver_fn d)
        : profile(c.profile), assembly({c.profile, c.in_order, c.deliver_corrupt}, std::move(d)) {}

    bool take_grant(const slot_report& r);
    void start_at(const slot_grant& g);
    void take_boundaries(const slot_grant& g);
    std::uint32_t take_frames(const slot_report& r);
    void refresh_statistics();

    link_profile profile;
    reassembler assembly;
    bool started = false;
    bool last_grant_implausible = false;  // the last grant did not fit what was known
    frame_sn next_sn = 0;                 // SN of the first frame not granted yet
    std::int64_t last_grant = 0;          // slot of the last good grant
    std::int64_t last_frames = 0;         // slot of the last good grant that had frames
    terminal_statistics statistics;
};

terminal_mac::terminal_mac(const link_config& config, deliver_fn deliver) {
    config.check();
    if (!deliver) throw std::invalid_argument("terminal_mac: deliver is empty; valid: a function");
    state_ = std::make_unique<state>(config, std::move(deliver));
}
terminal_mac::~terminal_mac() = default;
terminal_mac::terminal_mac(terminal_mac&&) noexcept = default;
terminal_mac& terminal_mac::operator=(terminal_mac&&) noexcept = default;

void terminal_mac::report_to(delivery_log* log) { state_->assembly.report_to(log); }

wire_sn terminal_mac::decided_before() const {
    return static_cast<wire_sn>(state_->assembly.decided_before());
}

const terminal_statistics& terminal_mac::statistics() const { return state_->statistics; }

void terminal_mac::state::start_at(const slot_grant& g) {
    // So that the SNs of the window below it are not negative.
    next_sn = g.first_new_sn + sn_period;
    assembly.restart(next_sn - g.window_edge);
    started = true;
}

// Places the grant on the unwrapped SN axis. The base station sends at most 25 new frames a slot,
// and stops after `most_blind_frames` while it gets no feedback. So the SN is not ambiguous however
// long nothing was received, and the frames held here are those that the base station assumes. A
// grant without frames may be a quiet one (types/grant.h), whose SN is from before frames that were
// not sent. False when the grant is not plausible: its SN is further ahead than that, or it moves
// the window edge back.
bool terminal_mac::state::take_grant(const slot_report& r) {
    const slot_grant& g = r.grant;
    if (!started) {
        if (!g.edge_said) return false;
        start_at(g);
    } else {
        if (r.air.value <= last_grant) return false;
        const std::int64_t most =
            std::min((r.air.value - last_frames) * nof_bins, most_blind_frames);
        const std::int64_t step = static_cast<wire_sn>(g.first_new_sn - next_sn);
        const bool moves_edge_back =
            g.edge_said && g.window_edge > next_sn + step - assembly.frames().edge();
        if (step > most || moves_edge_back) {
            // Either this grant or an earlier one passed its CRC by chance, or another base station
            // now sends. After two such grants in a row the cause is not this grant.
            if (!last_grant_implausible || !g.edge_said) {
                last_grant_implausible = true;
                return false;
            }
            ++statistics.started_over;
            start_at(g);
        } else {
            next_sn += step;
        }
    }
    last_grant_implausible = false;
    last_grant = r.air.value;
    const auto used = [](const bin_grant& b) { return b.bits_per_symbol != 0; };
    if (std::ranges::any_of(g.bins, used)) last_frames = last_grant;
    receive_window& frames = assembly.frames();
    frames.extend(next_sn);
    if (g.edge_said) frames.raise_edge(next_sn - g.window_edge);
    return true;
}

void terminal_mac::state::take_boundaries(const slot_grant& g) {
    for (const boundary_run& run : g.runs) {
        const frame_sn first = next_sn - static_cast<wire_sn>(g.first_new_sn - run.first);
        for (int i = 0; i < run.frames; ++i)
            assembly.frames().tell_boundary(first + i,
                                            i + 1 < run.frames ? no_boundary : run.boundary);
    }
}

std::uint32_t terminal_mac::state::take_frames(const slot_report& r) {
    receive_window& frames = assembly.frames();
    const frame_sn first_new = next_sn;
    for (const bin_grant& g : r.grant.bins)
        if (g.bits_per_symbol != 0 && !g.retransmission) ++next_sn;
    frames.extend(next_sn);
    std::uint32_t ack = 0;
    frame_sn new_sn = first_new;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = r.grant.bins[b];
        if (g.bits_per_symbol == 0) continue;
        received_unit u;
        u.bits_per_symbol = g.bits_per_symbol;
        if (g.retransmission) {
            const std::int64_t moves_edge_back = static_cast<wire_sn>(r.grant.first_new_sn - g.sn);
            if (moves_edge_back == 0 ||
                (r.grant.edge_said && moves_edge_back > r.grant.window_edge))
                continue;  // a retransmission of a frame outside the window: impossible
            u.sn = first_new - moves_edge_back;
            u.whole = g.whole;
            u.offset = g.whole ? 0 : g.offset;
            u.last = g.whole || g.last;
        } else {
            u.sn = new_sn++;
            frames.tell_boundary(u.sn, g.boundary);
        }
        const bool good = r.outcome[b] == frame_outcome::good;
        const auto result = frames.put(u, good, r.payload[b]);
        switch (result) {
            case receive_window::put_result::duplicate:
                ++statistics.frames_duplicate;
                [[fallthrough]];
            case receive_window::put_result::fresh:
                ++statistics.frames_good;
                if ((r.combined >> b & 1U) != 0) ++statistics.frames_combined;
                break;
            case receive_window::put_result::bad:
            case receive_window::put_result::invalid:
                ++statistics.frames_bad;
                break;
        }
        // The ACK is set even if this copy was bad: an earlier one may have been good, whose ACK
        // was lost.
        if (result == receive_window::put_result::fresh || frames.has(u)) ack |= 1U << b;
    }
    return ack;
}

void terminal_mac::state::refresh_statistics() {
    const reassembly_counts& c = assembly.counts();
    statistics.delivered = {c.delivered_packets, c.delivered_bytes};
    statistics.delivered_damaged = {c.damaged_packets, c.damaged_bytes};
    statistics.dropped_lost_frame = {c.lost_packets, c.lost_bytes};
    statistics.dropped_start_over = {c.cut_off_packets, c.cut_off_bytes};
    statistics.resynchronised = c.boundaries_lost;
    statistics.bytes_unplaced = c.unplaced_nibbles / 2;
}

slot_feedback terminal_mac::on_slot(const slot_report& report) {
    auto& s = *state_;
    slot_feedback feedback;
    feedback.air = report.air;
    feedback.locked = report.locked;
    feedback.predicted_snr_db = report.predicted_snr_db;
    feedback.prediction_nmse = report.prediction_nmse;
    ++s.statistics.slots;
    s.assembly.frames().set_slot(report.air.value);
    if (!report.locked) {
        ++s.statistics.slots_unlocked;
        return feedback;
    }
    if (report.grant_ok && !report.grant.addressed) {  // a common grant, for others
        feedback.grant_ok = true;
        return feedback;
    }
    if (!report.grant_ok || !s.take_grant(report)) {
        ++s.statistics.grants_failed;
        return feedback;
    }
    feedback.grant_ok = true;
    s.take_boundaries(report.grant);
    feedback.ack = s.take_frames(report);
    s.assembly.advance();
    s.refresh_statistics();
    return feedback;
}

}  // namespace wip
