// SPDX-License-Identifier: GPL-3.0-or-later
// Telemetry of the base station and the terminals becomes one capture, in the order of sample time.
//
// The two publishers run a few slots apart (the base station plans ahead), and further when this
// process reads them late. So packets are held until nothing older can come: until both publishers
// have gone on by more than a message can be behind. Equal times keep the order of the way through
// the cell: TUN, sent, received, TUN.
//
// Time of a packet = wall clock of the run's start + sample time: slot k is sent at 2k/3 ms and
// received at 2(k+1)/3 ms.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "capture/capture_file.h"
#include "capture/frame_header.h"
#include "schema/telemetry.pb.h"

namespace wip::capture {

// The latest time of sample 0, ns since 1970: the year 2096.
inline constexpr std::int64_t latest_wall_ns = 4'000'000'000'000'000'000;

enum class station : std::uint8_t { base = 0, terminal = 1 };

struct capture_options {
    bool ip = true, frames = true;
    bool pdus = false;        // the frames are PDUs of UMTS bearers
    double seconds = 0;       // air time to capture; 0: no end
    std::uint64_t count = 0;  // packets; 0: no end
    std::uint32_t snap = 0;   // bytes of a packet; 0: all
    bool base = true;         // there is a base station; a replay of recorded samples has none
    int terminals = 1;
    // wall clock of sample 0; without it, it follows from the first message
    std::optional<std::int64_t> start_ns;
    double speed = 1;  // speed of the cell's clock, from which start_ns follows
    std::string application;
    std::vector<std::string> comments;
    std::string verdict;  // the verdict so far
};

struct interface_counts {
    std::string name;
    std::uint64_t packets = 0;
    // The number of them that were lost: in telemetry messages that did not arrive, and IP packets
    // that the station skipped to keep its telemetry within bounds.
    std::uint64_t dropped = 0;
};

class capture {
public:
    capture(const capture_options& options, capture_file& file);

    void take(station from, const openwip::telemetry::Telemetry& message);
    bool enough() const { return enough_; }
    // Writes the packets that are held, the statistics, and the verdict, if it is known by now.
    void finish(const std::string& verdict);

    const std::vector<interface_counts>& interfaces() const { return counts_; }
    std::uint64_t late() const { return late_; }        // packets older than one already written
    std::uint64_t unknown() const { return unknown_; }  // packets for which there is no interface
    std::uint64_t malformed() const { return malformed_; }  // messages whose columns do not fit

private:
    struct held_packet {
        std::int64_t sample_ns = 0;
        std::uint8_t rank = 0;
        std::uint64_t order = 0;
        packet what;
        byte_buffer data;
        bool operator<(const held_packet& other) const;  // later ones are smaller
    };

    void take_frames(station from, const openwip::telemetry::Telemetry& message);
    void take_ip(station from, const openwip::telemetry::Telemetry& message);
    // Counts missed packets: `user`'s publisher has sent `before` of them before these `n`.
    void count_missed(std::optional<std::uint32_t> interface, std::uint32_t user,
                      std::uint64_t before, std::uint64_t n);
    void count_dropped(std::uint32_t interface, std::uint64_t n);
    // nullptr when there is no such interface.
    held_packet* hold(std::optional<std::uint32_t> interface, std::int64_t sample_ns);
    void push();
    void release(std::int64_t up_to_ns);
    void write(held_packet& p);
    std::optional<std::uint32_t> interface_of(station at,
                                              const openwip::telemetry::Telemetry& message) const;

    capture_options options_;
    capture_file& file_;
    std::vector<interface_counts> counts_;
    std::vector<std::uint64_t> dropped_before_;
    // interface -> the station's last count of skipped packets
    std::map<std::uint32_t, std::uint64_t> skipped_;
    // Interface and user -> how many the publisher has sent with the last message.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> sent_;
    std::vector<std::size_t> comment_places_;
    std::priority_queue<held_packet> held_;
    held_packet next_;
    std::vector<byte_buffer> spare_;
    std::optional<std::int64_t> first_ns_, end_ns_;
    std::array<std::int64_t, 2> heard_ns_{};  // newest slot received from each publisher, ns
    std::int64_t newest_ns_ = 0, written_to_ns_ = 0;
    std::uint64_t order_ = 0, written_ = 0, late_ = 0, unknown_ = 0, malformed_ = 0;
    bool enough_ = false;
};

}  // namespace wip::capture
