// SPDX-License-Identifier: GPL-3.0-or-later
// The state of a base_station_mac, which base_station_mac.cpp alone includes: what it has planned
// in the last slots, what the terminal has answered, and the packets that wait.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "link/base_station_mac.h"
#include "link/drain_forecast.h"
#include "link/grant_room.h"
#include "link/own_sharing.h"
#include "link/prediction_error.h"
#include "link/retransmission_planner.h"
#include "link/sent_slot.h"
#include "link/switch_table.h"
#include "queue/packet_queue.h"
#include "rlc/segmenter.h"
#include "rlc/transmit_window.h"

namespace wip {

// Slots of history: more than the longest loop, a power of two.
inline constexpr std::size_t history_slots = 64;

struct base_station_mac::state {
    state(const link_config& c, frame_sn first_sn)
        : config(c),
          table(c.switch_table, c.profile, c.eight),
          queue(c.queue, [this](const queued_packet& p, queue_drop why) { on_queue_drop(p, why); }),
          begun_packets(c.packing),
          window(c.profile, first_sn),
          planner(c.profile),
          room(grant_room::whole(c.profile)) {
        predicted.fill(-100.0F);
        waiting.resize(nof_bins);
        bins.reserve(nof_bins);
        rate_bins();
    }

    static auto history_slot(std::int64_t s) { return static_cast<std::size_t>(s) % history_slots; }
    sent_slot& sent(std::int64_t s) { return history[history_slot(s)]; }
    std::optional<slot_feedback>& feedback_of(std::int64_t s) { return inbox[history_slot(s)]; }
    slot_record& record(std::int64_t s) { return records[history_slot(s)]; }

    void resolve(std::int64_t j);
    void ask_external_adaptation(std::int64_t j, bool locked, float nmse, std::uint32_t ack);
    void resolve_frames(std::int64_t j, bool decoded, std::uint32_t ack);
    void record_plan(const slot_plan& plan);
    void advance(slot air);
    void rate_bins() {
        if (snr_error.known()) table.set_error(snr_error.level());
        if (config.modulation != 0)
            view.rate.fill(static_cast<std::uint8_t>(config.modulation));
        else if (external_adaptation != nullptr)
            view.rate = external_rates;
        else
            view.rate = table.bits_per_symbol(predicted);
    }
    void take_view();
    void choose_bins(slot air);
    void use_bins(std::uint32_t set);
    void make_plan(slot air, slot_plan& plan);
    std::size_t plan_retransmissions(slot_grant& grant);
    void plan_boundaries(slot_grant& grant);
    void report_edge(slot air, slot_grant& grant);
    void send(slot_plan& plan, bin_index bin, const arq_unit& unit, bool retransmission);
    void refresh_statistics();
    void on_queue_drop(const queued_packet& packet, queue_drop why);
    bool begin_packets(int nibbles);
    std::int64_t waited(const queued_packet& p) const {
        return std::max(p.arrived_ns, now_ns) - p.arrived_ns;
    }
    std::size_t packets_held() const { return queue.waiting().packets + begun_packets.packets(); }
    bool followed(const queued_packet& p) const {
        return journal != nullptr && p.followed == journal_count;
    }

    link_config config;
    switch_table table;
    prediction_error snr_error;
    packet_queue queue;       // packets of which no part has been sent
    drain_forecast forecast;  // the time that the queue takes to empty
    // The packet that is being cut into frames, and those of the next frame.
    segmenter begun_packets;
    queued_packet next;  // on its way from the queue to the segmenter
    transmit_window window;
    retransmission_planner planner;

    std::array<sent_slot, history_slots> history{};
    std::array<std::optional<slot_feedback>, history_slots> inbox{};
    std::array<slot_record, history_slots> records{};
    bool started = false;
    std::int64_t next_air = 0;       // slot that plan() is called for next
    std::int64_t next_resolved = 0;  // the slot that is resolved next, by its feedback

    std::array<float, nof_bins> predicted{};
    bool predicted_any = false;
    bool terminal_hears = false;
    int silent_slots = 0;
    std::int64_t now_ns = 0;  // start of the slot that is being planned

    scheduling_view view;         // its rates follow predictions and table
    std::vector<rated_bin> bins;  // bins of this slot, ascending
    std::vector<arq_unit> waiting;
    grant_room room;                  // bits that this slot's grant has
    int reserved_bits = 0;            // bits of a grant that are kept free for an uplink grant
    section_history sections;         // what this terminal's sections of common grants have carried
    int bits_without_boundaries = 0;  // size of this slot's grant without boundaries of new frames
    base_statistics statistics;
    packet_journal* journal = nullptr;
    // How many journals there have been; a packet has the number of the one that follows it.
    std::uint32_t journal_count = 0;
    std::array<std::size_t, nof_bins> sizes{};  // bytes of the packets that wait

    // The user's own rules (port/own_rules.h), which replace the built-in ones.
    std::optional<own_sharing> external_scheduler;
    adaptation_port* external_adaptation = nullptr;
    int adaptation_user = 0;  // number by which external_adaptation knows this terminal
    std::array<std::uint8_t, nof_bins> external_rates{};
};

}  // namespace wip
