// SPDX-License-Identifier: GPL-3.0-or-later
// A radio bearer of UMTS as two packet links: network and terminal, an RLC entity in each
// (rlc_entity.h), radio blocks between them.
//
//   server --> core delay --> RLC --> blocks, lost or not --> radio delay --> RLC --> terminal
//   server <-- core delay <-- RLC <-- radio delay <-- blocks, lost or not <-- RLC <-- terminal
//
// Time is the owner's. Downlink intervals begin at multiples of the TTI, those of the uplink half a
// TTI later; a block begins with an interval, takes all of it and is with the other end a radio
// delay behind its end. In an interval go as many PDUs as the rate allows, lost together or not at
// all. Nothing happens in an interval in which neither entity has a PDU, so none is visited.
//
// A packet counts as queued until the other end has put it together, as dropped when the RLC gives
// it up; one that arrives nevertheless is moved over. An RLC that has failed (RESET unanswered) is
// set up anew. Without acknowledgements a packet is lost when the PDUs up to its end have come, or
// would have, and it has not been put together, or with another length: 128 PDUs lost in a row,
// which their numbers do not tell.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "journal/sdu_journal.h"
#include "port/packet_link.h"
#include "umts/bearer_profile.h"
#include "umts/block_errors.h"
#include "umts/ring.h"
#include "umts/rlc_entity.h"
#include "umts/rrc.h"

namespace wip::umts {

// Some time from a moment of the owner's on.
struct episode {
    std::int64_t at_ns = 0, length_ns = 0;
    std::int64_t end_ns() const { return at_ns + length_ns; }
};

struct bearer_config {
    bearer_profile profile = bearer_profiles().front();
    rlc_mode mode = rlc_mode::acknowledged;
    am_config rlc;  // but pdu_bytes, which is the profile's; of it what counts in this mode
    block_error_config errors_down, errors_up;
    bool pdus_alone = false;  // a PDU is a block of its own for the errors, not all of an interval
    rrc_config control;
    std::vector<episode> spikes;   // no block begins in one, either way: what waits comes later
    std::vector<episode> outages;  // every block that begins in one is lost
    int granted_window = 0;        // to a peer by a receiver; 0: all of it
    std::uint64_t seed = 1;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

struct bearer_counts {
    std::uint64_t blocks = 0, blocks_lost = 0, pdus = 0, pdus_lost = 0;
    std::uint64_t intervals = 0;  // with any PDU
};

class bearer {
public:
    enum class way : std::uint8_t { down, up };

    explicit bearer(const bearer_config& config);  // throws as check() does
    ~bearer();

    packet_link& downlink() { return links_[0]; }
    packet_link& uplink() { return links_[1]; }
    const packet_link& downlink() const { return links_[0]; }
    const packet_link& uplink() const { return links_[1]; }
    void advance(std::int64_t now_ns);
    std::int64_t next_wakeup() const;

    // From the next interval on.
    void set_rate(double kbps_down, double kbps_up);
    void set_errors(const block_error_config& down, const block_error_config& up);
    // The window that each end's receiver grants the other one; 0: all of it. With a status.
    void grant_window(int pdus);
    void set_episodes(std::vector<episode> spikes, std::vector<episode> outages);

    // advance() in its steps, for who moves several bearers on together (cell.h): at next_wakeup(),
    // what arrives, then each interval that is due: it begins, and has its PDUs one by one.
    void arrive(std::int64_t now_ns);
    bool interval_due(way w, std::int64_t now_ns) const { return next_interval(w) <= now_ns; }
    // How many PDUs it may have. Nothing goes while it is not connected.
    int begin_interval(way w, std::int64_t start_ns);
    // False: there is none. The first one begins a block.
    bool send_pdu(way w, std::int64_t start_ns);

    // Every PDU that is sent, with the beginning of its interval, and whether it is lost.
    using watch_fn = std::function<void(way, std::span<const std::uint8_t> pdu,
                                        std::int64_t start_ns, bool lost)>;
    void watch(watch_fn w) { watch_ = std::move(w); }

    // The way of every packet of a direction from now on; null: no longer.
    void follow(way w, sdu_journal* journal) { of(w).journal = journal; }

    // The entity that sends this way.
    const rlc_entity& sender(way w) const { return *ends_[static_cast<std::size_t>(w)]; }
    // That to which it sends.
    const rlc_entity& receiver(way w) const { return *ends_[w == way::down ? 1 : 0]; }
    const bearer_counts& counts(way w) const { return sides_[static_cast<std::size_t>(w)].counts; }
    double kbps(way w) const { return of(w).kbps; }
    // The bit rate of PDUs that hold packets, status PDUs included, over the intervals that had
    // any.
    double busy_bps(way w) const;
    packets_bytes delivered(way w) const {
        return of(w).sums[static_cast<std::size_t>(fate::delivered)];
    }
    // At the time that it was last moved on to.
    rrc_state control_state() const { return control_.state_at(now_ns_); }
    const bearer_config& config() const { return config_; }

private:
    class link final : public packet_link {
    public:
        link(bearer& b, way w) : bearer_(&b), way_(w) {}
        bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) override {
            return bearer_->offer(way_, packet, now_ns, tag);
        }
        void advance(std::int64_t now_ns) override { bearer_->advance(now_ns); }
        std::int64_t next_wakeup() const override { return bearer_->next_wakeup(); }
        link_sums sums() const override { return bearer_->sums(way_); }
        bool idle() const override { return bearer_->idle(way_); }
        int leave(const link_packet& p) const { return hand_over(p); }

    private:
        bearer* bearer_;
        way way_;
    };
    struct timed {
        std::int64_t due_ns = 0;
        std::uint64_t id = 0;
        std::vector<std::uint8_t> data;
    };
    // Packets or PDUs on their way, by the time at which they are there.
    struct queue : ring<timed> {
        timed& push(std::int64_t due_ns, std::span<const std::uint8_t> data);
        std::int64_t due_ns() const;
    };
    enum class fate : std::uint8_t {
        queued,
        delivered,
        given_up,
        lost_by_reset,
        refused,
        lost,
        too_long,
    };
    static constexpr std::size_t fates = 7;
    struct record {
        int tag = 0;
        std::int64_t offered_ns = 0, settled_ns = 0;
        std::size_t bytes = 0;
        fate what = fate::queued;
        bool placed = false;
        sdu_position end;
    };
    struct side {  // of one direction
        queue core, air;
        ring<record> records;  // of first_id, first_id + 1, ...
        std::uint64_t first_id = 0;
        ring<std::pair<sdu_position, std::uint64_t>> placed;
        std::array<packets_bytes, fates> sums;  // by fate
        packets_bytes in;
        block_errors errors{{}, 0};
        bearer_counts counts;
        double kbps = 0;
        std::int64_t done_ns = -1;  // the last interval that was visited
        int block = 0;
        sdu_journal* journal = nullptr;
        bool in_block = false, block_lost = false;
        std::size_t place_of(const sdu_position& p) const;
    };

    bool offer(way w, std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag);
    link_sums sums(way w) const;
    bool idle(way w) const;
    side& of(way w) { return sides_[static_cast<std::size_t>(w)]; }
    const side& of(way w) const { return sides_[static_cast<std::size_t>(w)]; }
    rlc_entity& entity(way w) { return *ends_[static_cast<std::size_t>(w)]; }

    void set_up_entities();
    void into_rlc(way w, const timed& packet, std::int64_t now_ns);
    void block_arrives(way w, std::int64_t now_ns);
    double pdus_per_interval(way w) const;
    int pdus_of(way w, std::int64_t start_ns) const;
    std::int64_t interval_at(way w, std::int64_t ns) const;
    std::int64_t next_interval(way w) const;
    void on_placed(way w, std::uint64_t id, const sdu_position& p, std::int64_t first_sn);
    void on_assembled(way w, std::span<const std::uint8_t> sdu, const sdu_position& p);
    void settle(side& s, std::uint64_t id, fate what);
    bool acknowledged() const { return config_.mode == rlc_mode::acknowledged; }
    static const char* reason_of(fate f);
    void lose_before(way w, const sdu_position& p, fate what);
    void re_establish();
    std::int64_t waiting_bytes() const;

    bearer_config config_;
    std::int64_t tti_ns_, radio_ns_, core_ns_, now_ns_ = 0;
    std::array<side, 2> sides_;
    std::array<std::unique_ptr<rlc_entity>, 2> ends_;  // network, terminal
    std::array<link, 2> links_{link{*this, way::down}, link{*this, way::up}};
    rrc control_;
    watch_fn watch_;
    std::vector<std::uint8_t> pdu_;
};

}  // namespace wip::umts
