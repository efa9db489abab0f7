// SPDX-License-Identifier: GPL-3.0-or-later
// An 802.11b cell: an access point and N stations that contend for one channel by the rules of the
// DCF, packet by packet, without a clock. Everyone hears everyone, propagation takes no time, and
// frames that begin in the same nanosecond destroy each other. Who starts later hears it.
//
//   node 0         access point, a queue for each station
//   node 1..h-1    relays of a path of h hops, a queue upwards and one for each station
//   node h..       stations
//
// Access: a node that has something to send and finds the channel idle for DIFS and its backoff
// over sends at once; else its backoff goes down by one in every idle slot after DIFS (EIFS when it
// could not read the frame before) and stands still while the channel is taken. A backoff is drawn
// after every frame that was delivered or given up from 0..31, and from twice the window (63 ..
// 1023) after each failed attempt. An answer that does not come is waited for as dcf_times.h says.
//
// A frame is tried `retry_limit` times; 0: 4 times when it is longer than the RTS threshold and so
// follows an RTS, else 7 times (RTS themselves 7 times). Attempts fail by collision or, when only
// one sends, as attempt_errors says of data frames of that hop; RTS, CTS and ACK do not suffer from
// it. Or, with `dynamic_limit`, as often as retry_control.h says for its hop. Then it is dropped.
// The access point instead (`put_back`) leaves it first in its queue and serves the next queue, in
// turn. A station that does not hear it would so take several times the air of the others;
// therefore the time of failed attempts is a queue's debt, and a queue in debt sits out its turns
// until as much air as those turns would have taken has gone to those who wait. While none of them
// waits, the time pays: a sender that waits for an acknowledgement is not one that gives its share
// away.
//
// Each direction is a packet link of all stations, a packet's tag its station. A packet is due when
// its data frame's last bit has arrived.
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
    // Errors of the hop between two nodes; nothing: it has none.
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

    // Retry limits and how they are chosen, RTS threshold, putting back and rates, of the attempts
    // from now on. Throws as check() does, or when something else differs.
    void reconfigure(const wlan_config& config);
    void replace(const make_errors& errors);

    struct node_counts {
        std::uint64_t attempts = 0;    // with data frames or RTS
        std::uint64_t failed = 0;      // of them
        std::uint64_t collisions = 0;  // of the failed
        std::uint64_t put_back = 0;    // frames
        std::uint64_t dropped = 0;
        node_counts& operator+=(const node_counts& o);
    };
    // Attempts that a packet of 1500 bytes of this node's last hop gets.
    int retry_limit(int n) const;
    int nodes() const { return static_cast<int>(nodes_.size()); }
    node_counts counts(int n) const;
    // The access point's counts of frames to this station.
    const node_counts& counts_to(int station) const {
        return at(0).queues[static_cast<std::size_t>(station)].counts;
    }
    packets_bytes queued(int n) const;

    // The way of every packet of the downlink that comes from now on; empty: no longer.
    using packet_fn = std::function<void(const packet_record&, int station)>;
    void follow(const packet_fn& take);
    // How long what is offered next was on the way before.
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
        std::uint64_t id = 0;   // those of its station and direction that came before
        std::int64_t mark = 0;  // of a packet of the downlink under way: no other one has it
        bool tried = false;     // on this hop
    };
    struct queue {
        std::deque<frame> frames;
        double debt_ns = 0;
        std::int64_t begun_ns = -1;        // its last frame was
        std::int64_t had_ns = -2;          // when it last had one, if it has none
        std::vector<std::int64_t> unused;  // marks below `marks`
        std::int64_t marks = 0;
        node_counts counts;
    };
    struct node {
        std::vector<queue> queues;
        int served = -1;               // queue of the frame that is being tried
        std::size_t turn = 0;          // queue whose turn is next
        int tries = 0;                 // failed attempts with it
        int rts_tries = 0;             // and with its RTS
        int doublings = 0;             // of the window
        std::int64_t sits_since = -1;  // all that waits is in debt; -1: not so
        std::int64_t slots = 0;        // of backoff that are left
        std::int64_t counts_at = 0;    // when the first of them begins
        // Indexed by the node to which it sends.
        std::vector<std::unique_ptr<attempt_errors>> errors;
        std::vector<retry_control> controls;
        std::size_t last_hop = 0;

        bool waits() const;
        std::int64_t access() const { return counts_at + slots * dcf_times::slot; }
    };

    struct sender {
        int node = 0;
        std::int64_t until = 0;  // end of its frame
    };

    node& at(int n) { return nodes_[static_cast<std::size_t>(n)]; }
    const node& at(int n) const { return nodes_[static_cast<std::size_t>(n)]; }
    direction& of(way to) { return to == way::up ? uplink_ : downlink_; }
    int next_node(int from, const frame& f) const;
    bool with_rts(const frame& f) const;
    int limit(const node& n, std::size_t packet, bool handshake, bool collided) const;
    void draw(node& n);
    static int rivals(const node& n, const queue& q);
    static queue& served(node& n) { return n.queues[static_cast<std::size_t>(n.served)]; }
    bool has_turn(node& n, std::int64_t t);
    queue& choose(node& n, std::int64_t t);
    bool enqueue(int where, frame& f, std::int64_t now_ns);
    // The journal of a packet that is followed, else null, and the number of its frame of this hop.
    sdu_journal* journal_of(const frame& f);
    std::int64_t frame_number(const frame& f, int from) const;
    void mark(queue& q);
    void leaves(const frame& f, int from, std::int64_t t);
    void ends(const frame& f, packets_bytes direction::counters::*as, const char* dropped,
              std::int64_t t);
    void begin(std::int64_t t);
    void arrive();
    void end();
    void end_of_failed(node& n, const sender& s);

    wlan_config config_;
    dcf_times times_;
    splitmix64 dice_;
    std::vector<node> nodes_;
    direction downlink_{*this, way::down, config_.stations};
    direction uplink_{*this, way::up, config_.stations};
    std::vector<std::unique_ptr<sdu_journal>> journals_;  // of the stations, or none
    std::int64_t wired_ns_ = 0;

    // The frames on the channel.
    std::vector<sender> senders_;  // empty: the channel is idle
    bool collided_ = false, lost_ = false, arrived_ = false;
    std::int64_t since_ = 0, until_ = 0;  // the channel is idle again
    bool advancing_ = false;
};

}  // namespace wip::wlan
