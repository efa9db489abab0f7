// SPDX-License-Identifier: GPL-3.0-or-later
#include "uplink/terminal_uplink.h"

#include <algorithm>
#include <stdexcept>

#include "queue/packet_queue.h"
#include "rlc/segmenter.h"
#include "rlc/transmit_window.h"
#include "types/slot_time.h"
#include "uplink/uplink_frame.h"
#include "wire/feedback_bits.h"
#include "wire/ip_header.h"

namespace wip {
namespace {
// SNs of the first grant begin there, so that there is room below for its window.
constexpr frame_sn sn_period = 65536;

// A grant that was obeyed, for short ones that refer to it.
struct obeyed_grant {
    slot air{-1};
    uplink_reference reference;
};
}  // namespace

struct terminal_uplink::state {
    explicit state(const radio_uplink_config& c)
        : config(c), queue(c.queue, [this](const queued_packet& p, queue_drop why) {
              (why == queue_drop::managed ? statistics.dropped_queue_managed
                                          : statistics.dropped_queue_full)
                  .add(p.bytes());
          }) {}

    std::optional<uplink_grant> whole(slot air, const uplink_command& c);
    bool take_grant(const uplink_grant& g, bool brief);
    void start_at(const uplink_grant& g);
    void pass_edge(frame_sn edge);
    void obey(slot air, const uplink_grant& g);
    obeyed_grant& obeyed(slot air) {
        return references[static_cast<std::size_t>(air.value) % references.size()];
    }
    void fill_frame(frame_sn sn, int bits_per_symbol, bool repeated,
                    std::vector<std::uint8_t>& payload);
    void fetch_packets(int nibbles);
    void write_form(const slot_feedback& feedback);
    void refresh_statistics();
    std::size_t packets_held() const { return queue.waiting().packets + begun.packets(); }

    radio_uplink_config config;
    terminal_uplink_statistics statistics;
    packet_queue queue;  // packets of which no part has been sent
    segmenter begun{true};
    std::optional<transmit_window> window;  // nothing before the first grant
    queued_packet next;
    packets_bytes sent_before;  // by windows before this one
    bool doubtful = false;      // the last grant did not fit what was known
    frame_sn edge_heard = 0;    // the highest window edge received
    // By slot; one more than the ages, so that a slot's own place is not one that it refers to.
    std::array<obeyed_grant, longest_reference_age + 1> references{};
    std::int64_t now_ns = 0;
    uplink_transmission out;
};

terminal_uplink::terminal_uplink(const radio_uplink_config& config) {
    config.check();
    state_ = std::make_unique<state>(config);
}
terminal_uplink::~terminal_uplink() = default;
terminal_uplink::terminal_uplink(terminal_uplink&&) noexcept = default;
terminal_uplink& terminal_uplink::operator=(terminal_uplink&&) noexcept = default;

const terminal_uplink_statistics& terminal_uplink::statistics() const { return state_->statistics; }

bool terminal_uplink::idle() const {
    return state_->packets_held() == 0 && state_->statistics.queued.packets == 0;
}

void terminal_uplink::reconfigure(const radio_uplink_config& config) {
    config.check();
    auto& s = *state_;
    if (config.profile != s.config.profile)
        throw std::invalid_argument(
            "link.profile differs from its value at the start; valid: that value, because a "
            "running uplink keeps it");
    s.config = config;
    s.queue.reconfigure(config.queue);
}

bool terminal_uplink::on_sdu(std::span<const std::uint8_t> packet, std::int64_t arrived_ns) {
    auto& s = *state_;
    s.statistics.in.add(packet.size());
    const auto header = read_ip_header(packet);
    if (!header || header->total_bytes != packet.size()) {
        s.statistics.dropped_not_ip.add(packet.size());
        return false;
    }
    const auto limit = static_cast<std::size_t>(s.config.queue_packets);
    const std::size_t room = limit - std::min(limit, s.begun.packets());
    const bool taken = s.queue.push(s.queue.make(packet), arrived_ns, room);
    s.refresh_statistics();
    return taken;
}

void terminal_uplink::state::start_at(const uplink_grant& g) {
    if (window) {
        const sdu_totals& t = window->totals();
        sent_before += packets_bytes{t.sent_packets, t.sent_bytes};
        statistics.dropped_start_over += packets_bytes{t.held_packets, t.held_bytes};
        begun = segmenter(true);
        ++statistics.started_over;
    }
    references.fill({});
    window.emplace(uplink_room(config.profile), sn_period + g.first_new_sn);
    edge_heard = window->next_sn() - g.window_edge;
}

// The grant that a command stands for; nullopt: it is not known here.
std::optional<uplink_grant> terminal_uplink::state::whole(slot air, const uplink_command& c) {
    if (const auto* full = std::get_if<uplink_grant>(&c)) return *full;
    const auto& brief = std::get<short_uplink_grant>(c);
    const slot at = air - slot_count(brief.age);
    const obeyed_grant& before = obeyed(at);
    if (!window || at.value < 0 || before.air != at) {
        ++statistics.grants_without_reference;
        return std::nullopt;
    }
    const auto g = expanded(brief, before.reference, static_cast<wire_sn>(edge_heard));
    statistics.grants_refused += !g;
    return g;
}

bool terminal_uplink::state::take_grant(const uplink_grant& g, bool brief) {
    if (!window) {
        start_at(g);
        return true;
    }
    const std::int64_t step = static_cast<wire_sn>(g.first_new_sn - window->next_sn());
    const frame_sn edge = window->next_sn() + step - g.window_edge;
    if (step > most_uplink_window || edge < edge_heard) {
        // A base station that has restarted begins with full grants.
        if (brief || !doubtful) {
            doubtful = doubtful || !brief;
            ++statistics.grants_refused;
            return false;
        }
        start_at(g);
    } else {
        // Frames of grants that were missed carry nothing: packets after them have gone into later
        // ones, or will.
        segmenter nothing(true);
        for (std::int64_t i = 0; i < step; ++i)
            window->open_frame(config.modulation == 0 ? 1 : config.modulation, nothing);
        edge_heard = edge;
        pass_edge(edge);
    }
    doubtful = false;
    return true;
}

// The base station has every frame before the edge.
void terminal_uplink::state::pass_edge(frame_sn edge) {
    while (!window->empty() && window->edge() < edge) {
        arq_unit u;
        u.sn = window->edge();
        u.length = window->frame(u.sn).nibbles;
        window->acknowledge(u);
    }
}

// Takes packets out of the queue until a frame of so many nibbles can be filled.
void terminal_uplink::state::fetch_packets(int nibbles) {
    while (begun.nibbles() < nibbles) {
        if (!queue.pop(now_ns, next)) return;
        window->on_sdu(next.bytes());
        begun.push(next.data);
        queue.recycle(std::move(next));
    }
}

void terminal_uplink::state::fill_frame(frame_sn sn, int bits_per_symbol, bool repeated,
                                        std::vector<std::uint8_t>& payload) {
    payload.assign(static_cast<std::size_t>(frame_payload_bytes(config.profile, bits_per_symbol)),
                   std::uint8_t{0});
    // A frame that this terminal never had, for it has restarted, or never filled is empty.
    const bool here = sn >= window->edge() && sn < window->next_sn();
    if (!here || window->frame(sn).sdu_nibbles == 0) {
        payload.front() = empty_uplink_frame;
        ++statistics.frames_empty;
        return;
    }
    const tx_frame& f = window->frame(sn);
    payload.front() = uplink_boundary_code(f.boundary);
    std::copy_n(f.payload.begin(), payload.size() - 1, payload.begin() + 1);
    ++(repeated ? statistics.frames_repeated : statistics.frames_new);
}

void terminal_uplink::state::obey(slot air, const uplink_grant& g) {
    ++statistics.grants;
    if (air.value >= 0) obeyed(air) = {air, reference_of(g)};
    out.timing_samples =
        std::clamp(out.timing_samples + g.timing_step, -most_timing_samples, most_timing_samples);
    out.power_db = std::clamp(out.power_db + g.power_step_db, -most_power_db, most_power_db);
    out.frames.grant = units_of(g);
    const frame_sn first_new = window->next_sn();
    const int k = g.bits_per_symbol;
    std::size_t i = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        bin_grant& unit = out.frames.grant.bins[b];
        if (unit.bits_per_symbol == 0) continue;
        const bool repeated = i++ < g.retransmissions;
        if (repeated) {
            const frame_sn sn = first_new - static_cast<wire_sn>(g.first_new_sn - unit.sn);
            // A frame that was filled at another modulation has another length: it stays away, and
            // the base station hears no frame with this SN.
            const bool here = sn >= window->edge() && sn < first_new;
            if (here && window->frame(sn).sdu_nibbles > 0 &&
                window->frame(sn).bits_per_symbol != k) {
                unit = {};
                continue;
            }
            fill_frame(sn, k, true, out.frames.payload[b]);
        } else {
            fetch_packets(uplink_room(config.profile).nibbles(k));
            const frame_sn sn = window->open_frame(k, begun).sn;
            fill_frame(sn, k, false, out.frames.payload[b]);
        }
    }
}

void terminal_uplink::state::write_form(const slot_feedback& f) {
    feedback_content form;
    const std::int64_t j = f.air.value;
    const std::int64_t in_frame = (j % slots_per_frame + slots_per_frame) % slots_per_frame;
    const std::int64_t frame = (j - in_frame) / slots_per_frame;
    form.frame_number = static_cast<std::uint8_t>(frame & (feedback_frame_modulus - 1));
    form.slot_in_frame = static_cast<std::uint8_t>(in_frame);
    form.grant_ok = f.grant_ok;
    form.ack = f.grant_ok ? f.ack : 0;
    form.predicted_snr_db = f.predicted_snr_db;
    form.prediction_nmse = f.prediction_nmse;
    form.buffer =
        buffer_code(queue.waiting().bytes + (static_cast<std::uint64_t>(begun.nibbles()) + 1) / 2);
    pack_feedback(form, out.form);
}

void terminal_uplink::state::refresh_statistics() {
    statistics.sent = sent_before;
    statistics.queued = queue.waiting();
    statistics.marked = queue.marked();
    if (!window) return;
    const sdu_totals& t = window->totals();
    statistics.sent += packets_bytes{t.sent_packets, t.sent_bytes};
    statistics.queued += packets_bytes{t.held_packets, t.held_bytes};
}

const uplink_transmission& terminal_uplink::on_slot(const slot_feedback& feedback,
                                                    const std::optional<uplink_command>& grant) {
    auto& s = *state_;
    s.out.about = s.out.frames.air = feedback.air;
    s.out.on = feedback.locked;
    s.out.frames.grant = {};
    for (auto& p : s.out.frames.payload) p.clear();
    if (!feedback.locked) return s.out;
    // The frames go out in the next slot, which begins when this one ends.
    s.now_ns = slot_start_ns(feedback.air + slot_count(1));
    if (feedback.grant_ok && grant) {
        const bool brief = std::holds_alternative<short_uplink_grant>(*grant);
        const auto whole = s.whole(feedback.air, *grant);
        if (whole && s.take_grant(*whole, brief)) {
            s.obey(feedback.air, *whole);
            s.statistics.grants_short += brief;
        }
    }
    s.write_form(feedback);
    ++s.statistics.forms;
    s.refresh_statistics();
    return s.out;
}

}  // namespace wip
