// SPDX-License-Identifier: GPL-3.0-or-later
// An 802.11b cell: an access point and N stations that contend for one channel by the rules
// of the DCF, packet by packet, without a clock. Every node receives every other one,
// propagation takes no time, and frames that begin in the same nanosecond collide. Any later
// node waits.
//
//   node 0         access point, a queue for each station
//   node 1..h-1    relays of a path of h hops, a queue upwards and one for each station
//   node h..       stations
//
// Access: a node with a frame sends at once if the channel has been idle for DIFS and its backoff
// is over. Otherwise its backoff falls by one in each idle slot after DIFS (or EIFS, if it could
// not read the last frame), and stops while the channel is busy. A backoff is drawn from 0..31
// after each frame delivered or dropped; each failed attempt doubles the range (63 .. 1023).
// dcf_times.h has the times for which a node waits for a CTS or ACK.
//
// A frame is tried `retry_limit` times; 0: 4 times when it is longer than the RTS threshold and so
// follows an RTS, else 7 times (RTS themselves 7 times). Attempts fail by collision or, when only
// one station sends, if attempt_errors decides so for data frames of that hop; RTS, CTS and ACK
// have no such errors. With `dynamic_limit` the number of attempts is that of retry_control.h for
// its hop. After the last attempt the frame is dropped. The access point instead (`put_back`)
// With `put_back` the access point keeps the frame first in its queue instead, and serves the
// next queue. A station that does not receive it would then take much more air time than the
// others. So the time of failed attempts is a debt of the queue. A queue in debt skips its
// turns until the other queues with frames have had as much air time. While no other queue has
// frames, time alone pays the debt, so a sender that waits for an acknowledgement keeps its
// share.
//
// Each direction is a packet link of all stations; a packet's tag is its station. A packet is due
// when the last bit of its data frame has arrived.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "journal/sdu_journal.h"
#include "port/attempt_errors.h"
#include "port/packet_link.h"
#include "types/splitmix64.h"
#include "wlan/retry_control.h"
#include "wlan/wlan_config.h"

namespace wip::wlan {

class wlan_cell {
public:
    // Makes the errors of the hop between two nodes; null: it has none.
    using make_errors = std::function<std::unique_ptr<attempt_errors>(int from, int to)>;

    // Throws as wlan_config::check() does.
    explicit wlan_cell(const wlan_config& config, const make_errors& errors = {});

    int stations() const { return config_.stations; }
    packet_link& downlink() { return downlink_; }
    packet_link& uplink() { return uplink_; }
    link_sums downlink_sums(int station) const { return downlink_.sums(station); }
    link_sums uplink_sums(int station) const { return uplink_.sums(station); }

    void advance(std::int64_t now_ns);
    std::int64_t next_wakeup() const;

    // Changes retry limits and how they are chosen, RTS threshold, put_back and rates for the
    // attempts from now on. Throws as check() does, or when something else differs.
    void reconfigure(const wlan_config& config);
    void replace(const make_errors& errors);

    struct node_counts {
        std::uint64_t attempts = 0;    // with data frames or RTS
        std::uint64_t failed = 0;      // failed attempts
        std::uint64_t collisions = 0;  // failed attempts that were collisions
        std::uint64_t put_back = 0;    // frames that reached their limit and stayed in the queue
        std::uint64_t dropped = 0;
        node_counts& operator+=(const node_counts& o);
    };
    // The number of attempts that a packet of 1500 bytes gets on the hop that this node sent on
    // last.
    int retry_limit(int n) const;
    int nodes() const { return static_cast<int>(nodes_.size()); }
    node_counts counts(int n) const;
    // The access point's counts of frames to this station.
    const node_counts& counts_to(int station) const {
        return at(0).queues[static_cast<std::size_t>(station)].counts;
    }
    packets_bytes queued(int n) const;

    // The function gets a record of every packet of the downlink that comes from now on; an empty
    // one ends this.
    using packet_fn = std::function<void(const packet_record&, int station)>;
    void follow(const packet_fn& take);
    // Sets how long the packets that are offered next were on their way before.
    void set_wired(std::int64_t ns) { wired_ns_ = ns; }

private:
    enum class way : std::uint8_t { up, down };
    class direction final : public packet_link {
    public:
        direction(wlan_cell& cell, way to, int nof)
            : stations(static_cast<std::size_t>(nof)), cell_(&cell), to_(to) {}
        bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) override;
        void advance(std::int64_t now_ns) override { cell_->advance(now_ns); }
        std::int64_t next_wakeup() const override { return cell_->next_wakeup(); }
        link_sums sums() const override;
        link_sums sums(int station) const;
        bool idle() const override {
            return std::ranges::all_of(stations, [](auto& s) { return s.queued.packets == 0; });
        }

        struct counters {
            packets_bytes in, delivered, queued, queue_full, relay_full, retry_limit;
        };
        std::vector<counters> stations;

    private:
        friend class wlan_cell;
        wlan_cell* cell_;
        way to_;
    };
    struct frame {
        std::vector<std::uint8_t> data;
        std::int64_t offered_ns = 0;
        int tag = 0;
        way to = way::up;
        std::uint64_t id = 0;  // number of packets of its station and direction that came before it
        std::int64_t track =
            0;               // number for the journal, unique among the downlink packets under way
        bool tried = false;  // it has been sent on this hop
    };
    struct queue {
        std::deque<frame> frames;
        double debt_ns = 0;
        std::int64_t begun_ns = -1;             // when its last frame was first tried
        std::int64_t emptied_ns = -2;           // when its last frame left
        std::vector<std::int64_t> free_tracks;  // numbers below `tracks` that no packet has
        std::int64_t tracks = 0;
        node_counts counts;
    };
    struct node {
        std::vector<queue> queues;
        int served = -1;       // queue of the frame that is being tried
        std::size_t turn = 0;  // queue whose turn is next
        int failed_tries = 0;  // failed attempts with it
        int rts_tries = 0;     // failed attempts with its RTS
        int doublings = 0;     // doublings of the window
        // Since when all queues with frames have been in debt; -1: one is not.
        std::int64_t in_debt_since_ns = -1;
        std::int64_t backoff_slots = 0;    // slots of the backoff that are left
        std::int64_t backoff_from_ns = 0;  // when the first of them begins
        // Indexed by the node to which it sends.
        std::vector<std::unique_ptr<attempt_errors>> errors;
        std::vector<retry_control> controls;
        std::size_t last_hop = 0;  // the node to which it sent last

        bool has_frames() const;
        std::int64_t access_ns() const { return backoff_from_ns + backoff_slots * dcf_times::slot; }
    };

    struct sender {
        int node = 0;
        std::int64_t end_ns = 0;  // end of its frame
    };

    node& at(int n) { return nodes_[static_cast<std::size_t>(n)]; }
    const node& at(int n) const { return nodes_[static_cast<std::size_t>(n)]; }
    direction& of(way to) { return to == way::up ? uplink_ : downlink_; }
    int next_node(int from, const frame& f) const;
    bool with_rts(const frame& f) const;
    int limit(const node& n, std::size_t packet, bool handshake, bool collided) const;
    void draw_backoff(node& n);
    static int rivals(const node& n, const queue& q);
    static queue& served(node& n) { return n.queues[static_cast<std::size_t>(n.served)]; }
    bool has_turn(node& n, std::int64_t t);
    queue& choose(node& n, std::int64_t t);
    bool enqueue(int where, frame& f, std::int64_t now_ns);
    // The journal of a packet that is followed, else null, and the number of its frame of this hop.
    sdu_journal* journal_of(const frame& f);
    std::int64_t frame_number(const frame& f, int from) const;
    void track(queue& q);
    void journal_leaving(const frame& f, int from, std::int64_t t);
    void leave_cell(const frame& f, packets_bytes direction::counters::*counter,
                    const char* dropped, std::int64_t t);
    void begin_attempt(std::int64_t t);
    void arrive();
    void end_attempt();
    void end_of_failed(node& n, const sender& s);

    wlan_config config_;
    dcf_times times_;
    splitmix64 random_;
    std::vector<node> nodes_;
    direction downlink_{*this, way::down, config_.stations};
    direction uplink_{*this, way::up, config_.stations};
    std::vector<std::unique_ptr<sdu_journal>> journals_;  // one for each station, or none
    std::int64_t wired_ns_ = 0;

    // The frames on the channel.
    std::vector<sender> senders_;  // nodes that send now; empty: the channel is idle
    bool collided_ = false, lost_ = false, arrived_ = false;
    std::int64_t began_ns_ = 0;      // start of the frames on the channel
    std::int64_t idle_from_ns_ = 0;  // when the channel is idle again
    bool advancing_ = false;
};

}  // namespace wip::wlan
