// SPDX-License-Identifier: GPL-3.0-or-later
// A cell in virtual time: one base station and one terminal over a port that fails frames, grants
// and feedback as a seeded process says. One integer of time; every slot all invariants are
// checked, and the first violation throws with slot and seed. What is checked:
//
//   - packets and bytes at the base station: in = queued + sent + dropped by reason
//   - transmissions: sent = acknowledged + failed + on the way
//   - the grant packs into its 30 bytes and unpacks to itself; the terminal gets the unpacked one
//   - at most `bins` bins in use; payload sizes as the modulation says; SNs of new frames
//     consecutive
//   - the ACK bits are of bins that were sent, and of units of which every nibble has arrived in a
//     good frame, or whose packets are lost all the same; a good frame is acknowledged
//   - a unit is not sent again before its slot's feedback was due, whatever the delay was
//     changed to meanwhile; one that did not go on the air is, in the next slot
//   - no new frame while a failed one waits (unless its grant did not fit, which is counted)
//   - a delivered packet starts where one was put into the stream of frames, for the first time,
//     and in order where order is asked for. It is unaltered; marked damaged, it has its size, and
//     its header is unaltered but for errors that an IPv4 header checksum misses (they are counted)
//   - while the terminal hears no grant, the SNs go on by no more than they may
//   - the terminal never starts over
//   - with follow_packets: every record of the journal agrees with the oracle (packet_oracle.h)
#pragma once

#include <array>
#include <bitset>
#include <complex>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "journal/packet_journal.h"
#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "packet_oracle.h"
#include "traffic.h"

namespace wip::sim {

struct channel_config {
    double frame_error = -1;  // probability for every frame; negative: from SNR and modulation
    double mean_snr_db = 16;
    bool fading = true;          // Rayleigh per bin; else the mean in every bin
    double coherence = 0.97;     // correlation of a bin's gain from slot to slot
    double prediction_nmse = 0;  // NMSE of the reported SNR prediction
    double grant_loss = 0;
    double feedback_loss = 0;
    // share of the slots in which a grant without frames goes in place of the planned one
    double not_sent = 0;
    double outage_start = 0;  // probability for each slot that an outage begins
    int outage_slots = 0;     // its length; the terminal is not locked during an outage
    double burst_start = 0;   // probability for each slot that a burst of errors begins
    int burst_slots = 0;      // its length; all frames fail during a burst
};

struct traffic_config {
    double packets_per_slot = 0.5;            // mean number
    int least_bytes = 48, most_bytes = 1500;  // IPv4 from 20, IPv6 from 48 bytes on
    double ipv6 = 0;                          // share of the packets that are IPv6
    double zeros = 0;                         // share with a payload of zeros
    double filled = 0;                        // share with a payload of one random byte, repeated
    double protocols = 0;                     // share with a random IPv4 protocol
    double nested = 0;                        // share that are tunnels
    double crafted = 0;                       // share whose payload is packets
    double not_ip = 0;                        // share whose length field is wrong
    bool saturate = false;                    // keeps the queue full instead
};

struct world_config {
    link_config link;
    channel_config channel;
    traffic_config traffic;
    std::uint64_t seed = 1;
    bool follow_packets = false;
    bool early_feedback = true;  // feedback is handed over at once, not just before it is due
    std::int64_t first_sn = 0;
};

// The directions that a blackout blocks.
enum class blackout_kind : std::uint8_t {
    radio,     // the terminal is not locked
    grants,    // the terminal is locked, but receives no grant
    feedback,  // the base station receives no feedback
    all
};

class cell_world {
public:
    explicit cell_world(const world_config& config);
    ~cell_world();
    void run(int slots, bool with_traffic = true);
    // Runs without new packets until the base station is idle and the terminal knows it from a
    // grant. False: it did not end.
    bool drain(std::int64_t most_slots = 20000);

    // Makes a blackout that begins with the next slot. During a long one the channel does not move.
    void black_out(blackout_kind kind, std::int64_t slots);
    // Slots of a blackout in which nothing is sent are left out.
    void skip(std::int64_t slots);

    // New settings of the link from the next slot on; everything on the way stays on the way.
    void reconfigure(const link_config& link);

    base_station_mac& base() { return base_; }
    const base_statistics& base_statistics_now() const { return base_.statistics(); }
    const terminal_statistics& terminal_statistics_now() const { return terminal_.statistics(); }
    std::int64_t now() const { return now_; }
    std::uint64_t digest() const { return digest_; }
    std::uint64_t intact() const { return intact_; }
    // Damaged packets, and those of them whose header has errors that its checksum misses.
    std::uint64_t damaged() const { return damaged_; }
    std::uint64_t altered_headers() const { return altered_headers_; }
    const packet_oracle& oracle() const { return *oracle_; }
    const packet_journal& journal() const { return *journal_; }
    channel_config& channel() { return config_.channel; }
    traffic_config& traffic() { return config_.traffic; }

private:
    struct in_flight {
        std::int64_t slot = 0;
        slot_grant grant;
        std::uint32_t used = 0;
        // units acknowledged by feedback that reached the base station in time
        std::uint32_t acked = 0;
    };
    using nibbles = std::bitset<216>;
    struct frame_track {
        std::int64_t sn = 0;
        // last slot in which the part at this offset was sent
        std::map<int, std::int64_t> last_sent;
        std::int64_t last_whole = -1000;
        nibbles acked, due;
        nibbles answered;  // acknowledged for certain by the units that carry them
        nibbles there;     // nibbles that the terminal has
        bool dropped = false;
        int length = 0;                         // in nibbles
        std::array<std::uint8_t, 216> times{};  // transmissions of each nibble
    };

    void offer();
    void step(bool with_traffic);
    void update_channel();
    void hear(const slot_feedback& feedback);
    slot_report transmit(const slot_plan& plan);
    void check_plan(const slot_plan& plan, std::uint64_t overflows_before);
    void check_feedback(const slot_report& report, const slot_feedback& feedback);
    frame_track* find_frame(wire_sn sn);
    void resolve(std::int64_t slot);
    void answer(const in_flight& in);
    void check_sums() const;
    void delivered(std::span<const std::uint8_t> packet, bool damaged);
    void mix(std::uint64_t value);
    [[noreturn]] void violated(const std::string& what) const;
    nibbles coverage(const bin_grant& g, const frame_track& f) const;
    nibbles answers_for(const bin_grant& g, const frame_track& f) const;

    world_config config_;
    random_source random_;
    base_station_mac base_;
    terminal_mac terminal_;
    std::int64_t now_ = 150;
    std::int64_t horizon_;
    std::uint32_t next_number_ = 1;
    double owed_ = 0;
    struct packet_track {
        packet_kind kind;
        bool accepted = false, delivered = false;
    };
    std::vector<packet_track> packets_{1};  // packets by number, from 1 on
    std::uint32_t last_delivered_ = 0;
    std::uint64_t intact_ = 0, damaged_ = 0, altered_headers_ = 0;
    std::int64_t last_grant_ = 150;  // slot of the last grant that the terminal accepted

    // gains of the slots now to now + horizon
    std::array<std::deque<std::complex<double>>, nof_bins> gain_;
    int outage_left_ = 0, burst_left_ = 0;
    blackout_kind blackout_ = blackout_kind::radio;
    std::int64_t blackout_left_ = 0;
    slot_grant aired_;           // the last grant that was sent
    std::int64_t heard_sn_ = 0;  // SN in the last grant that the terminal accepted
    std::deque<in_flight> flight_;
    std::int64_t settled_ = INT64_MIN;  // the newest slot whose feedback has been due
    std::deque<slot_feedback> held_feedback_;
    std::map<std::int64_t, frame_track> frames_;
    std::set<std::int64_t> waiting_;  // SNs with a part that has to be sent again
    std::int64_t next_sn_;
    std::uint64_t digest_ = 14695981039346656037U;

    std::unique_ptr<packet_oracle> oracle_;
    std::unique_ptr<packet_journal> journal_;  // present with follow_packets
    delivery_log reports_{4096};
    std::int64_t arrival_ns_ = 0;
};

}  // namespace wip::sim
