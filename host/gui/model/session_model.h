// SPDX-License-Identifier: GPL-3.0-or-later
// The model of a run, on one axis: the air slot. Views read it and hold no data of their own; its
// memory is bounded whatever comes in. Feeding it the same messages makes the same model, so a
// replay shows the same pictures as the run.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gui/model/air_numbers.h"
#include "gui/model/level_points.h"
#include "gui/model/slot_ring.h"
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

// The choice of a terminal for the pictures: all of them together.
inline constexpr int all_users = -1;
inline constexpr std::uint32_t most_users = 250;
inline constexpr std::uint8_t nobody = 255;  // terminal number of a bin that is granted to nobody

// One sampled slot: what base station and terminal have reported about its bins. If it is of all
// terminals together, each bin has the values of the terminal that has the bin.
struct slot_column {
    std::int64_t slot = 0;
    std::array<float, nof_bins> measured_db = filled(unknown);
    // the prediction with which this slot was planned
    std::array<float, nof_bins> predicted_db = filled(unknown);
    std::array<float, nof_bins> true_db = filled(unknown);
    std::array<std::uint8_t, nof_bins> bits = filled(unknown_byte);
    std::array<std::uint8_t, nof_bins> outcome = filled(unknown_byte);
    std::array<std::uint8_t, nof_bins> retransmissions = filled(unknown_byte);
    std::array<std::uint8_t, nof_bins> user = filled(unknown_byte);
    bool outcome_of_base = false, grants_known = false;
    std::int64_t queued_packets = -1;
    std::int64_t queued_bytes = -1;
};

struct base_point {
    std::int64_t slot = 0;
    std::uint64_t bits_acknowledged = 0;
    std::uint64_t frames_sent = 0, frames_failed = 0, frames_dropped = 0;
    std::array<std::uint64_t, 9> modulation{};
    std::array<std::uint64_t, 31> retransmissions{};
    std::uint64_t queued_packets = 0, queued_bytes = 0, dropped_packets = 0;
    // Delay injection; no samples: it is off.
    struct {
        std::uint64_t samples = 0, spikes = 0, held = 0, held_now = 0;
        double held_ms = 0, pdelay_ms = 0, threshold_ms = 0, delay_ms = 0;
    } injection;
    struct rlc {  // downlink of a UMTS bearer
        std::int64_t window = 0;
        std::uint64_t held = 0, retransmissions = 0, polls = 0;
    } bearer{};
    struct networks {  // for a terminal that moves between networks; no rate: it does not
        double rate_kbps = 0;
        std::uint64_t waiting = 0;
        bool handing_over = false;
    } mobility{};
};
struct terminal_point {
    std::int64_t slot = 0;
    std::uint64_t uplink_queued = 0;
    std::uint64_t rlc_statuses = 0;  // status PDUs sent to the downlink of a UMTS bearer
};
struct receiver_point {
    std::int64_t slot = 0;
    std::uint32_t user = 0;
    openwip::telemetry::ReceiverSample sample;
};
struct packet_point {
    double slot = 0;  // slot at which the packet left
    std::uint64_t number = 0;
    // delay parts in ms: queue, scheduling, air, retransmission, reordering
    std::array<float, 5> part_ms{};
    float total_ms = 0;
    std::uint32_t bytes = 0;
    std::uint8_t dropped = 0;  // index into drop_reasons(), 0: delivered
    std::uint8_t user = 0;
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
    double column_spacing() const { return shown().spacing; }

    // The columns of the terminal that is shown, or of all.
    const slot_ring<slot_column>& columns() const { return shown().columns; }
    const slot_ring<base_point>& base_points() const { return shown().base_points; }
    const slot_ring<terminal_point>& terminal_points() const { return shown().terminal_points; }
    const slot_ring<receiver_point>& receiver_points() const { return shown().receiver_points; }
    // The packets of all terminals: shows() is true of those that are selected.
    const slot_ring<packet_point>& packets() const { return packets_; }
    bool shows(std::uint32_t user) const {
        return shown_user() == all_users || static_cast<std::uint32_t>(shown_user()) == user;
    }
    const slot_ring<tcp_point>& tcp_points() const { return tcp_points_; }
    const slot_ring<verdict_point>& verdict_points() const { return verdict_points_; }
    const slot_ring<fader_point>& fader_points() const { return fader_points_; }
    const slot_ring<attenuator_point>& attenuator_points() const { return attenuator_points_; }
    const std::deque<event_line>& events() const { return events_; }
    const std::vector<std::string>& flows() const { return flows_; }
    // Does it begin or end at a terminal that is shown?
    bool shows_flow(std::uint16_t flow) const;
    const std::vector<std::string>& drop_reasons() const { return drop_reasons_; }

    // The last of its kind; has_...() of protobuf does not tell whether one came, this does.
    bool has(openwip::telemetry::Telemetry::WhatCase kind) const { return revision_of(kind) != 0; }
    const openwip::control::MacStatus& base() const { return of_shown_user(base_); }
    // The status of the base station for all terminals together, whichever is shown.
    const openwip::control::MacStatus& base_of_all() const { return base_; }
    const openwip::control::MacStatus& terminal() const { return of_shown_user(terminal_); }
    const openwip::control::AirStatus& air() const { return air_; }
    const openwip::control::AttenuatorStatus& attenuator() const { return attenuator_; }
    const openwip::telemetry::CpuSample& cpu() const { return cpu_; }
    const openwip::telemetry::Verdict& verdict() const { return verdict_; }
    bool has_base() const { return has_base_; }
    bool has_terminal() const { return has_terminal_; }

    // Several terminals: whose measurements are shown, or those of all_users.
    void show_user(int user);
    int shown_user() const {
        const bool user_seen = users_seen() > 1 && wanted_user_ < static_cast<int>(users_seen());
        return user_seen ? wanted_user_ : all_users;
    }
    std::uint32_t users_seen() const { return static_cast<std::uint32_t>(of_user_.size()); }

private:
    // The history of one terminal, or of all together.
    struct history {
        explicit history(std::uint32_t users);
        void set_capacity(std::uint32_t users);
        slot_ring<slot_column> columns;
        slot_ring<base_point> base_points;
        slot_ring<terminal_point> terminal_points;
        slot_ring<receiver_point> receiver_points;
        double spacing = 15;
    };
    // A single terminal is all of them.
    history& of_all() { return of_user_.size() == 1 ? of_user_[0] : all_; }
    const history& shown() const {
        if (of_user_.size() == 1) return of_user_[0];
        const int user = shown_user();
        return user == all_users ? all_ : of_user_[static_cast<std::size_t>(user)];
    }
    const openwip::control::MacStatus& of_shown_user(
        const openwip::control::MacStatus& status) const;
    void see_user(std::uint32_t user);
    void merge(const slot_column& part, std::uint32_t user, bool first_queue);
    static void push_base(history& to, std::int64_t slot,
                          const openwip::control::MacStatus& status);
    static void push_terminal(history& to, std::int64_t slot,
                              const openwip::control::MacStatus& status);
    // True for a message of an observer that does not know of the new run yet: it is valid, but
    // belongs to the run before.
    bool is_of_run_before(const openwip::telemetry::Telemetry& message) const;
    bool follow_slot(const std::string& source, const openwip::telemetry::Telemetry& message);
    bool take_slot(std::int64_t slot, std::uint32_t user,
                   const openwip::telemetry::SlotSample& sample);
    bool take_status(std::int64_t slot, const openwip::control::MacStatus& status);
    bool take_receiver(std::int64_t slot, std::uint32_t user,
                       const openwip::telemetry::ReceiverSample& sample);
    bool take_packets(const openwip::telemetry::PacketBatch& batch);
    bool take_event(std::int64_t slot, const openwip::telemetry::Event& event);
    bool take_tcp(std::int64_t slot, const openwip::telemetry::TcpSample& sample);

    std::vector<history> of_user_;  // at least one
    history all_;                   // in use from the second terminal on
    slot_ring<packet_point> packets_;
    slot_ring<tcp_point> tcp_points_;
    slot_ring<verdict_point> verdict_points_;
    slot_ring<fader_point> fader_points_;
    slot_ring<attenuator_point> attenuator_points_;
    std::deque<event_line> events_;
    // The end of a connection: its station, and at the base station the other end's address.
    struct flow_end {
        int user;  // terminal of the station; -1: the base station
        std::string other_address;
    };
    std::vector<std::string> flows_;
    std::vector<flow_end> flow_ends_;
    std::map<std::string, int> user_at_;  // terminal by address
    std::vector<std::string> drop_reasons_;

    openwip::control::MacStatus base_, terminal_;
    openwip::control::AirStatus air_;
    openwip::control::AttenuatorStatus attenuator_;
    openwip::telemetry::CpuSample cpu_;
    openwip::telemetry::Verdict verdict_;
    bool has_base_ = false, has_terminal_ = false;

    // by source: a slot far from the axis, until a second message confirms it
    std::map<std::string, std::int64_t> doubtful_;
    std::map<std::string, std::int64_t> last_slots_;
    std::array<std::uint64_t, 32> revisions_{};
    std::uint64_t revision_ = 0, runs_ = 0, event_serial_ = 0;
    std::int64_t newest_ = 0, oldest_change_ = std::numeric_limits<std::int64_t>::max();
    std::int64_t newest_before_ = 0;  // newest slot of the run before
    int wanted_user_ = all_users;
};

}  // namespace wip::gui
