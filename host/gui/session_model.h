// SPDX-License-Identifier: GPL-3.0-or-later
// What is known of a run, on one axis: the air slot. Views read it and hold no data of their own;
// its memory is bounded whatever comes in. Feeding it the same messages makes the same model, so a
// replay shows what the run showed.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gui/air_numbers.h"
#include "gui/slot_ring.h"
#include "schema/telemetry.pb.h"

namespace wip::gui {

inline constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
inline constexpr std::uint8_t unknown_byte = 255;

template <typename T>
constexpr std::array<T, nof_bins> filled(T value) {
    std::array<T, nof_bins> all{};
    all.fill(value);
    return all;
}

// One sampled slot: what base station and terminal said of its bins.
struct slot_column {
    std::int64_t slot = 0;
    std::array<float, nof_bins> measured_db = filled(unknown);
    std::array<float, nof_bins> predicted_db = filled(unknown);  // as used to plan this slot
    std::array<float, nof_bins> true_db = filled(unknown);
    std::array<std::uint8_t, nof_bins> bits = filled(unknown_byte);
    std::array<std::uint8_t, nof_bins> outcome = filled(unknown_byte);
    std::array<std::uint8_t, nof_bins> retransmissions = filled(unknown_byte);
    std::array<std::uint8_t, nof_bins> user = filled(unknown_byte);
    bool outcome_of_base = false;
    std::int64_t queued_packets = -1;
    std::int64_t queued_bytes = -1;
};

struct base_point {
    std::int64_t slot = 0;
    std::uint64_t bits_acknowledged = 0;
    std::uint64_t frames_sent = 0, frames_failed = 0, frames_given_up = 0;
    std::array<std::uint64_t, 9> modulation{};
    std::array<std::uint64_t, 31> retransmissions{};
    std::uint64_t queued_packets = 0, queued_bytes = 0, dropped_packets = 0;
};
struct terminal_point {
    std::int64_t slot = 0;
    bool locked = false;
    double snr_db = 0, evm_percent = 0, cfo_hz = 0, timing_samples = 0, gain_db = 0, nmse = 0;
    std::uint64_t uplink_queued = 0;
};
struct receiver_point {
    std::int64_t slot = 0;
    openwip::telemetry::ReceiverSample sample;
};
struct packet_point {
    double slot = 0;  // when it left
    std::uint64_t number = 0;
    std::array<float, 5> part_ms{};  // queue, scheduling, air, retransmission, reordering
    float total_ms = 0;
    std::uint32_t bytes = 0;
    std::uint8_t dropped = 0;  // index into drop_reasons(), 0: delivered
};
struct tcp_point {
    std::int64_t slot = 0;
    std::uint16_t flow = 0;  // index into flows()
    double cwnd = 0, ssthresh = 0, rtt_ms = 0, rto_ms = 0;
    std::uint64_t retransmitted = 0, bytes_acknowledged = 0;
};
struct verdict_point {
    std::int64_t slot = 0;
    bool valid = false;
    double goodput_bps = 0, capacity_bps = 0;
};
struct event_line {
    std::int64_t slot = 0;
    std::uint64_t serial = 0;  // grows by one with every event
    int severity = 0;
    std::string source, kind, reason;
    std::uint64_t count = 0;
};

class session_model {
public:
    session_model();

    // False: parseable, but no publisher could have meant it; nothing has changed.
    bool take(const std::string& source, const openwip::telemetry::Telemetry& message);
    void clear();

    // Counts every message taken; a view that has seen this number has nothing to redraw.
    std::uint64_t revision() const { return revision_; }
    std::uint64_t revision_of(openwip::telemetry::Telemetry::WhatCase kind) const;
    std::uint64_t runs() const { return runs_; }  // grows when a new run begins at slot 0 again
    std::int64_t newest_slot() const { return newest_; }
    std::int64_t oldest_slot() const;
    bool empty() const { return revision_ == 0; }
    // Columns older than this have not changed since the last call of forget_changes().
    std::int64_t oldest_change() const { return oldest_change_; }
    void forget_changes() { oldest_change_ = std::numeric_limits<std::int64_t>::max(); }
    // Slots between samples, as seen.
    double column_spacing() const { return spacing_; }

    const slot_ring<slot_column>& columns() const { return columns_; }
    const slot_ring<base_point>& base_points() const { return base_points_; }
    const slot_ring<terminal_point>& terminal_points() const { return terminal_points_; }
    const slot_ring<receiver_point>& receiver_points() const { return receiver_points_; }
    const slot_ring<packet_point>& packets() const { return packets_; }
    const slot_ring<tcp_point>& tcp_points() const { return tcp_points_; }
    const slot_ring<verdict_point>& verdict_points() const { return verdict_points_; }
    const std::deque<event_line>& events() const { return events_; }
    const std::vector<std::string>& flows() const { return flows_; }
    const std::vector<std::string>& drop_reasons() const { return drop_reasons_; }

    // The last of its kind; has_...() of protobuf does not tell whether one came, this does.
    bool has(openwip::telemetry::Telemetry::WhatCase kind) const { return revision_of(kind) != 0; }
    const openwip::control::MacStatus& base() const { return base_; }
    const openwip::control::MacStatus& terminal() const { return terminal_; }
    const openwip::control::AirStatus& air() const { return air_; }
    const openwip::telemetry::CpuSample& cpu() const { return cpu_; }
    const openwip::telemetry::Verdict& verdict() const { return verdict_; }
    bool has_base() const { return has_base_; }
    bool has_terminal() const { return has_terminal_; }

    // Several terminals: whose measurements are shown.
    void show_user(std::uint32_t user);
    std::uint32_t shown_user() const { return shown_user_; }
    std::uint32_t users_seen() const { return users_seen_; }

    // Of everything above, for tests: equal models have equal digests.
    std::uint64_t digest() const;

private:
    bool follow_slot(const std::string& source, const openwip::telemetry::Telemetry& message);
    bool take_slot(std::int64_t slot, std::uint32_t user,
                   const openwip::telemetry::SlotSample& sample);
    bool take_status(std::int64_t slot, std::uint32_t user,
                     const openwip::control::MacStatus& status);
    bool take_receiver(std::int64_t slot, std::uint32_t user,
                       const openwip::telemetry::ReceiverSample& sample);
    bool take_packets(const openwip::telemetry::PacketBatch& batch);
    bool take_event(std::int64_t slot, const openwip::telemetry::Event& event);
    bool take_tcp(std::int64_t slot, const openwip::telemetry::TcpSample& sample);

    slot_ring<slot_column> columns_;
    slot_ring<base_point> base_points_;
    slot_ring<terminal_point> terminal_points_;
    slot_ring<receiver_point> receiver_points_;
    slot_ring<packet_point> packets_;
    slot_ring<tcp_point> tcp_points_;
    slot_ring<verdict_point> verdict_points_;
    std::deque<event_line> events_;
    std::vector<std::string> flows_;
    std::vector<std::string> drop_reasons_;

    openwip::control::MacStatus base_, terminal_;
    openwip::control::AirStatus air_;
    openwip::telemetry::CpuSample cpu_;
    openwip::telemetry::Verdict verdict_;
    bool has_base_ = false, has_terminal_ = false;

    std::map<std::string, std::int64_t> doubtful_;  // a slot far from the axis, by source
    std::map<std::string, std::int64_t> last_slots_;
    std::array<std::uint64_t, 32> revisions_{};
    std::uint64_t revision_ = 0, runs_ = 0, event_serial_ = 0;
    std::int64_t newest_ = 0, oldest_change_ = std::numeric_limits<std::int64_t>::max();
    double spacing_ = 15;
    std::uint32_t shown_user_ = 0, users_seen_ = 1;
};

}  // namespace wip::gui
