// SPDX-License-Identifier: GPL-3.0-or-later
// A radio bearer of UMTS as two packet links: network and terminal, an RLC entity in each
// (rlc_entity.h), radio blocks between them.
//
//   server --> core delay --> RLC --> blocks, lost or not --> radio delay --> RLC --> terminal
//   server <-- core delay <-- RLC <-- radio delay <-- blocks, lost or not <-- RLC <-- terminal
//
// The owner moves time on (advance, next_wakeup). Downlink intervals begin at multiples of the TTI,
// those of the uplink half a TTI later; a block begins with an interval, takes all of it and
// reaches the other end a radio delay after its end. In an interval go as many PDUs as the rate
// allows, lost together or not at all. Nothing happens in an interval in which neither entity has a
// PDU, so none is visited.
//
// With feedback::known there are no polls and no status reports. The sender knows the outcome of
// each PDU: an arrival at once, a loss again_ns after its interval (EasyLink of Lundsten, appendix
// B).
//
// packet_account.h keeps the fate of each packet. An RLC that has failed (no answer to RESET) is
// set up anew. Without acknowledgements a packet counts as lost if all its PDUs have come, or would
// have come, and it was not reassembled, or with another length; this happens after 128 lost PDUs
// in a row, which 7-bit numbers do not show.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "journal/sdu_journal.h"
#include "port/packet_link.h"
#include "umts/bearer_config.h"
#include "umts/block_errors.h"
#include "umts/packet_account.h"
#include "umts/ring.h"
#include "umts/rlc_entity.h"
#include "umts/rrc.h"

namespace wip::umts {

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
    // Computed anew only after something has changed: of many bearers most have nothing to do at
    // any one time.
    std::int64_t next_wakeup() const {
        if (!wakeup_known_) {
            wakeup_ = computed_wakeup();
            wakeup_known_ = true;
        }
        return wakeup_;
    }

    // These setters apply from the next interval on.
    void set_rate(double kbps_down, double kbps_up);
    void set_errors(const block_error_config& down, const block_error_config& up);
    // The window that each end's receiver grants the other one, sent with a status PDU; 0: all of
    // it.
    void grant_window(int pdus);
    void set_episodes(std::vector<episode> spikes, std::vector<episode> outages);

    // The steps of advance(), for an owner of several bearers (cell.h). At next_wakeup() it calls
    // arrive(), then for each interval that is due begin_interval(), and send_pdu() for each PDU.
    void arrive(std::int64_t now_ns);
    bool interval_due(way w, std::int64_t now_ns) const {
        return next_wakeup() <= now_ns && next_interval(w) <= now_ns;
    }
    // How many PDUs it may have. Nothing goes while it is not connected.
    int begin_interval(way w, std::int64_t start_ns);
    // Sends a PDU; false: there is none. The first one of an interval begins a block.
    bool send_pdu(way w, std::int64_t start_ns);

    // The function decides whether the block that begins then is lost, where the error model of the
    // direction is `external`. Without a function it is not lost.
    using fate_fn = std::function<bool(std::int64_t start_ns)>;
    void set_fates(fate_fn fates) { fates_ = std::move(fates); }

    // The function gets every PDU that is sent, with the beginning of its interval, and whether it
    // is lost.
    using watch_fn = std::function<void(way, std::span<const std::uint8_t> pdu,
                                        std::int64_t start_ns, bool lost)>;
    void watch(watch_fn w) { watch_ = std::move(w); }

    // Journals every packet of a direction from now on; null: no longer.
    void follow(way w, sdu_journal* journal) { of(w).packets.follow(journal); }

    // The entity that sends this way.
    const rlc_entity& sender(way w) const { return *entities_[static_cast<std::size_t>(w)]; }
    // The entity to which that one sends.
    const rlc_entity& receiver(way w) const { return *entities_[w == way::down ? 1 : 0]; }
    const bearer_counts& counts(way w) const { return sides_[static_cast<std::size_t>(w)].counts; }
    double kbps(way w) const { return of(w).kbps; }
    // The bit rate of PDUs that hold packets, status PDUs included, over the intervals that had
    // any.
    double busy_bps(way w) const;
    // The payload of all PDUs that were sent, status PDUs included.
    std::uint64_t pdu_bits(way w) const;
    packets_bytes delivered(way w) const { return of(w).packets.of(fate::delivered); }
    // The state at the time of the last advance().
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
        link_sums sums() const override { return bearer_->of(way_).packets.sums(); }
        bool idle() const override { return bearer_->of(way_).packets.idle(); }
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
    using fate = packet_account::fate;
    struct side {  // state of one direction
        explicit side(rlc_mode mode) : packets(mode) {}
        queue core, air;
        queue lost;  // numbers of lost PDUs, due when the sender learns of it without a status
        packet_account packets;
        block_errors errors{{}, 0};
        bearer_counts counts;
        bool external = false;  // fates_ decides which blocks are lost
        double kbps = 0;
        std::int64_t last_interval_ns = -1;  // start of the last interval that was begun
        int block = 0;                       // octets of a PDU without its header
        bool in_block = false;               // a PDU of this interval has been sent
        bool block_lost = false;             // the block that was begun last is lost
    };

    bool offer(way w, std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag);
    side& of(way w) { return sides_[static_cast<std::size_t>(w)]; }
    const side& of(way w) const { return sides_[static_cast<std::size_t>(w)]; }
    rlc_entity& entity(way w) { return *entities_[static_cast<std::size_t>(w)]; }

    void set_up_entities();
    void leave_core(way w, const timed& packet, std::int64_t now_ns);
    void block_arrives(way w, std::int64_t now_ns);
    double pdus_per_interval(way w) const;
    int pdus_of(way w, std::int64_t start_ns) const;
    std::int64_t interval_at(way w, std::int64_t ns) const;
    std::int64_t next_interval(way w) const;
    std::int64_t computed_wakeup() const;
    void on_assembled(way w, std::span<const std::uint8_t> sdu, const sdu_position& p);
    bool outcome_known() const { return acknowledged() && config_.outcome == feedback::known; }
    bool block_lost(side& s, std::int64_t start_ns);
    bool acknowledged() const { return config_.mode == rlc_mode::acknowledged; }
    void re_establish();
    std::int64_t waiting_bytes() const;

    bearer_config config_;
    std::int64_t tti_ns_, radio_ns_, core_ns_, now_ns_ = 0;
    // A change of the bearer's state makes the wake-up unknown: as it begins, and as it ends, since
    // who is called meanwhile may have asked. Time alone does not change it.
    class change {
    public:
        explicit change(bearer& b) : bearer_(b) { bearer_.wakeup_known_ = false; }
        ~change() { bearer_.wakeup_known_ = false; }
        change(const change&) = delete;
        change& operator=(const change&) = delete;

    private:
        bearer& bearer_;
    };
    mutable bool wakeup_known_ = false;
    mutable std::int64_t wakeup_ = 0;
    std::array<side, 2> sides_{side(config_.mode), side(config_.mode)};
    std::array<std::unique_ptr<rlc_entity>, 2> entities_;  // network, terminal
    std::array<link, 2> links_{link{*this, way::down}, link{*this, way::up}};
    rrc control_;
    watch_fn watch_;
    fate_fn fates_;
    std::vector<std::uint8_t> pdu_;
};

}  // namespace wip::umts
