// SPDX-License-Identifier: GPL-3.0-or-later
// A terminal that moves between networks while its connections stay: a vertical handover (Teyeb
// 2006, chapter 7). Each network is a pair of lines, a packet takes d = 8 s/BW + L + q on them; one
// pair at a time carries packets, behind one packet port for each direction.
//
//   server --> port --> line of the network where the terminal is --> port --> terminal
//   server <-- port <-- its other line                            <-- port <-- terminal
//
// A handover begins when somebody asks for it (go_to), at a planned time, when so many bytes of the
// applications have been delivered to the terminals, or by a Markov chain. While it lasts nothing
// leaves either way. Packets on the way when it begins and packets that come meanwhile are dropped
// or wait, by handover_config::keep, in both directions. When it ends those that wait go to the new
// line in the order in which they came, as if each came then. So with no delay `intermediate` is
// `none`.
//
// At equal times: packets that are due are delivered before a handover begins, and a packet that is
// offered then is offered during the handover. A move that is requested during a handover begins
// when that is over; of several requests the last one counts. A change to another state of the same
// network is no handover: packets offered later have its rate and delay.
//
// Conservation, each way: in = delivered + queued + dropped. Time is the owner's.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "handover/handover_config.h"
#include "journal/sdu_journal.h"
#include "port/packet_line.h"
#include "types/splitmix64.h"

namespace wip::hetnet {

class handover {
public:
    enum class way : std::uint8_t { down, up };
    using make_line = std::function<std::unique_ptr<packet_line>(way)>;

    // Makes two lines for each network. Throws as handover_config::check() does.
    handover(const handover_config& config, const make_line& make);

    packet_link& downlink() { return ports_[0]; }
    packet_link& uplink() { return ports_[1]; }
    void advance(std::int64_t now_ns);
    std::int64_t next_wakeup() const;

    // Moves the terminals, now or when the handover that is under way is over. Nothing happens if
    // they are there.
    void go_to(const place& to, std::int64_t now_ns);
    // These two setters apply from the next handover on.
    void set_buffering(buffering keep) { keep_ = keep; }
    void set_delay(double seconds);

    const std::vector<network>& networks() const { return config_.networks; }
    // The place of the terminals; during a handover the former one.
    const place& here() const { return here_; }
    // The place of the terminals; during a handover the new one.
    const place& destination() const;
    bool is_handing_over() const { return ends_ns_ != packet_link::never; }
    // The latest handovers, the last one at the end.
    struct made_handover {
        place from, to;
        std::int64_t began_ns = 0, over_ns = 0;
    };
    const std::deque<made_handover>& latest() const { return latest_; }

    struct counts {
        std::uint64_t handovers = 0;          // handovers that have begun
        std::uint64_t state_changes = 0;      // within a network
        std::uint64_t application_bytes = 0;  // delivered to the terminals
        // Duration of all handovers together, until the last call.
        std::int64_t handing_over_ns = 0;
    };
    const counts& count() const { return count_; }
    packets_bytes waiting(way w) const { return of(w).held_count; }
    const network_state& rates() const;
    // The bits that the line of a direction could have carried until the last call; nothing during
    // handovers.
    double capacity_bits(way w) const { return of(w).capacity_bits; }
    // The time of the last call.
    std::int64_t now_ns() const { return now_ns_; }
    link_sums sums(way w) const;

    // From now on the function gets a record of every packet, with its tag; an empty one ends this.
    using packet_fn = std::function<void(const packet_record&, int tag)>;
    void follow(const packet_fn& take);

private:
    class port final : public packet_link {
    public:
        port(handover& owner, way w) : owner_(&owner), way_(w) {}
        bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) override {
            return owner_->offer(way_, packet, now_ns, tag);
        }
        void advance(std::int64_t now_ns) override { owner_->advance(now_ns); }
        std::int64_t next_wakeup() const override { return owner_->next_wakeup(); }
        link_sums sums() const override { return owner_->sums(way_); }
        bool idle() const override { return owner_->idle(way_); }
        int leave(const link_packet& p) const { return hand_over(p); }

    private:
        handover* owner_;
        way way_;
    };
    // The facts that are kept about a packet while a line has its data.
    struct packet_facts {
        std::int64_t offered_ns = 0;
        std::int64_t travel_ns = 0;  // on the line and through the network
        std::uint64_t id = 0;        // number of packets with its tag that came before it
        int tag = 0;
    };
    struct held_packet {
        packet_facts what;
        std::vector<std::uint8_t> data;
    };
    struct side {
        std::vector<std::unique_ptr<packet_line>> lines;  // by network
        std::deque<packet_facts> on_line;
        std::deque<held_packet> held;
        packets_bytes in, delivered, held_count, on_line_count, in_flight, arrived_during,
            held_full;
        double capacity_bits = 0;
        std::vector<std::uint64_t> ids;  // the next one, by tag
        std::vector<std::unique_ptr<sdu_journal>> journals;
    };

    side& of(way w) { return sides_[static_cast<std::size_t>(w)]; }
    const side& of(way w) const { return sides_[static_cast<std::size_t>(w)]; }
    packet_line& line(way w) const { return *of(w).lines[static_cast<std::size_t>(here_.network)]; }
    double kbps(way w) const { return w == way::down ? rates().down_kbps : rates().up_kbps; }
    bool offer(way w, std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag);
    bool put_on_line(way w, packet_facts what, std::span<const std::uint8_t> packet,
                     std::int64_t now_ns);
    int on_delivery(way w, const link_packet& p);
    void drop(way w, const packet_facts& what, std::size_t bytes, packets_bytes side::*counter,
              const char* reason, std::int64_t now_ns);
    bool idle(way w) const;
    sdu_journal* journal_of(way w, int tag);
    void journal_travel(sdu_journal& to, const packet_facts& what, std::int64_t due_ns);

    void step(std::int64_t t);
    void move(const place& to, std::int64_t t);
    void begin(const place& to, std::int64_t t);
    void finish(std::int64_t t);
    void enter(const place& to);
    void count_time(std::int64_t t);
    void move_as_planned(std::int64_t t);
    void draw_state(std::int64_t t);
    void draw_network(std::int64_t t);
    static int draw(splitmix64& random, const std::vector<std::vector<double>>* matrix, int from,
                    std::size_t order);

    handover_config config_;
    std::array<port, 2> ports_{port{*this, way::down}, port{*this, way::up}};
    std::array<side, 2> sides_;
    place here_;
    buffering keep_;                                 // for the next handover
    buffering current_buffering_ = buffering::none;  // that of the handover under way
    std::int64_t delay_ns_ = 0;
    std::int64_t ends_ns_ = packet_link::never;
    std::deque<made_handover> latest_;
    place target_;
    std::optional<place> requested_;  // where to go when the handover that is under way is over
    std::size_t next_timed_ = 0, next_counted_ = 0;
    std::vector<planned_move> timed_, counted_;
    std::int64_t network_timer_ns_, state_timer_ns_;
    std::int64_t network_fires_ns_ = packet_link::never, state_fires_ns_ = packet_link::never;
    splitmix64 network_random_, state_random_;
    std::int64_t now_ns_ = 0;
    counts count_;
    packet_fn take_;
    bool advancing_ = false;
};

}  // namespace wip::hetnet
