// SPDX-License-Identifier: GPL-3.0-or-later
// The cell of the emulator, without clock, thread or interface: base station, N terminals, the air
// between them with one SNR for each bin, the emulated uplinks, and the wired network on the far
// side of the base station, which all terminals share.
//
//   server --> wired --> cell_scheduler --> symbol_channel --> terminal MAC --> terminal u
//   server <-- wired <-- emulated uplink <------------------------------------- terminal u
//                        or radio_uplink_path
//
// Time is nanoseconds since the cell's start; slot k begins at slot_start(k) = floor(k 2/3 ms), so
// nothing drifts. Each direction is a packet link of all users, a packet's tag its user; advance()
// of either moves the whole cell on, slot by slot from slot 0, and hands over what is due
// meanwhile:
//
//   slot k planned and carried at slot_start(k), from what was there by then
//   packets that are complete in slot k leave for the terminal at slot_start(k + 1), its end
//   feedback of slot k is used in plan(k + retransmission delay), as everywhere
//   an uplink packet leaves the line at the start of a slot and enters the wired network then; a
//   packet that the terminal offers between two slots of the cell counts as offered in the first of
//   them
// A caller who wants to act before or after each slot sets functions with watch(), or calls the two
// parts of advance() itself: run_slot(k) for each k in order, and release(now).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "bin/bin_channel.h"
#include "bin/prediction_error.h"
#include "bin/symbol_channel.h"
#include "cell/radio_uplink_path.h"
#include "journal/packet_journal.h"
#include "link/cell_scheduler.h"
#include "link/terminal_mac.h"
#include "packet/uplink_link.h"
#include "packet/wired_link.h"
#include "types/slot_time.h"

namespace wip::cell_model {

constexpr std::int64_t slot_start(slot s) { return slot_start_ns(s); }

// Where the SNRs come from; `prediction` may be the channel itself.
struct snr_source {
    std::unique_ptr<bin_model::bin_channel> channel;
    std::unique_ptr<bin_model::bin_prediction> prediction;
};

struct emulation_config {
    cell_config cell;      // link, users, scheduling
    uplink_config uplink;  // the same for every terminal
    // The uplink is a radio's, of one terminal, instead of the line `uplink`, of which queue and
    // feedback_loss hold.
    std::optional<radio_uplink_config> radio_uplink;
    double uplink_snr_offset_db = 0;  // SNR of its channel less the downlink's
    bin_model::error_method errors = bin_model::error_method::symbols;
    packet_model::wired_config to_base, from_base;
    std::uint64_t seed = 1;
};

struct base_end_status {
    slot now;
    const base_statistics& link;
    packets_bytes uplink_in;      // taken by the wired network
    packets_bytes uplink_queued;  // left the uplink's line, not yet taken by the wired network
    packets_bytes feedback;       // slot reports that the uplink has carried
};

struct terminal_end_status {
    slot now;
    const terminal_statistics& link;
    packets_bytes queued, delivered;  // packets waiting for their due time, and those released
    const uplink_statistics& uplink;
    double mean_snr;  // linear, 0 before the first slot
    double prediction_nmse;
};

class emulated_cell {
public:
    enum class side : std::uint8_t { server, terminal };

    // A source for each user.
    emulated_cell(const emulation_config& config, std::vector<snr_source> sources);

    int users() const { return scheduler_.users(); }
    // The links from the server to the terminals, and back.
    packet_link& downlink() { return downlink_; }
    packet_link& uplink() { return uplink_; }
    // Hands the packets of both directions to write(side, user, packet, due_ns) from now on. It
    // returns void, or the errno with which an interface refused the packet (0: taken).
    template <class Write>
    void deliver_to(Write write) {
        const auto to = [&write](side s) {
            return [s, write](const link_packet& p) -> int {
                if constexpr (std::is_void_v<decltype(write(s, p.tag, p.data, p.due_ns))>) {
                    write(s, p.tag, p.data, p.due_ns);
                    return 0;
                } else {
                    return write(s, p.tag, p.data, p.due_ns);
                }
            };
        };
        downlink_.deliver_to(to(side::terminal));
        uplink_.deliver_to(to(side::server));
    }
    // Puts a packet straight into the user's queue, without the wired network; false when the queue
    // is full.
    bool into_queue(int user, std::span<const std::uint8_t> packet);

    // Carries out everything that is due up to and including now_ns.
    void advance(std::int64_t now_ns);
    // Time of the next slot, or of a packet that is due before it.
    std::int64_t next_wakeup() const { return std::min(next_due(), slot_start(next_slot())); }
    slot next_slot() const { return started_ ? now_ + slot_count(1) : now_; }
    // Called by advance() before and after each slot.
    struct slot_watch {
        std::function<void(slot)> before, after;
    };
    void watch(slot_watch w) { watch_ = std::move(w); }

    void run_slot(slot k);
    // Delivers the packets that are due at now_ns or before, in order on each side.
    void release(std::int64_t now_ns);
    // Time at which the next packet leaves; packet_link::never when there is none.
    std::int64_t next_due() const;

    // Reports every packet that arrives at the base station from now on, when it has left it; an
    // empty function ends the reports. Packets that the wired network loses do not arrive there.
    using record_fn = std::function<void(int user, const packet_record&)>;
    void follow_packets(record_fn sink);
    // The sums of all users' journals.
    packet_journal::totals packet_totals() const;
    const packet_journal& journal(int user) const {
        return terminals_[static_cast<std::size_t>(user)].journal;
    }

    // Sets a scheduler and a link adaptation supplied by the caller, from the next slot on
    // (cell_scheduler::use).
    void use(scheduler_port* own_scheduler, adaptation_port* own_adaptation) {
        scheduler_.use(own_scheduler, own_adaptation);
    }
    // Change the configuration from the next slot on; the number of users and the link profile
    // stay.
    void reconfigure(const cell_config& cell);
    void reconfigure(const uplink_config& uplink);
    void reconfigure(bin_model::error_method errors);
    void reconfigure(const packet_model::wired_config& to_base,
                     const packet_model::wired_config& from_base);
    // Makes the failure tables before a cell in real time starts, so that a later change of the
    // method takes no time.
    void prepare_errors();
    // Replaces the channels, one for each user.
    void replace(std::vector<snr_source> sources);
    // Lowers the SNR by 100 dB in the slots [from, until). Predictions made in these slots contain
    // it, earlier ones do not.
    void black_out(slot from, slot until) { blackout_from_ = from, blackout_until_ = until; }
    bool dark(slot k) const { return k >= blackout_from_ && k < blackout_until_; }

    // Whether nothing is queued anywhere.
    bool idle() const;
    // The status of one user's ends; the caller adds the counts of the interfaces.
    base_end_status base_status(int user) const;
    terminal_end_status terminal_status(int user) const;
    const packet_link& wired_to_base() const { return to_base_; }
    const packet_link& wired_from_base() const { return from_base_; }

    // The state of the last slot, for observers.
    int loop_slots() const { return config_.cell.link.retransmission_delay_slots; }
    const slot_plan& plan(int user) const { return plans_[static_cast<std::size_t>(user)]; }
    const slot_report& report(int user);  // with the SNRs in dB, which are computed only here
    const std::array<float, nof_bins>& true_snr(int user) const { return end(user).snr; }  // linear
    const base_station_mac& base(int user) const { return scheduler_.user(user); }
    // The user's uplink by radio; nullptr: it is the emulated line.
    const radio_uplink_path* radio_uplink(int user) const { return end(user).radio.get(); }
    // Keeps the symbols of the slots from now on, or stops it.
    void keep_symbols(bool on);
    const bin_model::slot_symbols& symbols(int user) const { return end(user).air.kept(); }

private:
    // One direction of the cell, of all its users.
    class direction final : public packet_link {
    public:
        direction(emulated_cell& cell, side to) : cell_(&cell), to_(to) {}
        bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int user) override;
        void advance(std::int64_t now_ns) override { cell_->advance(now_ns); }
        std::int64_t next_wakeup() const override { return cell_->next_wakeup(); }
        link_sums sums() const override;
        bool idle() const override;
        int leave(const link_packet& packet) const { return hand_over(packet); }

    private:
        emulated_cell* cell_;
        side to_;
    };
    struct terminal_end {
        terminal_end(const emulation_config& c, int user, snr_source from,
                     terminal_mac::deliver_fn deliver, packet_journal::sink_fn record,
                     std::shared_ptr<const bin_model::failure_tables> failures);
        snr_source source;
        terminal_mac mac;
        bin_model::symbol_channel air;
        uplink_link uplink;
        std::unique_ptr<radio_uplink_path> radio;  // in the place of `uplink`
        packet_journal journal;
        delivery_log reports{4096};
        packets_bytes staged;  // complete, waiting for their due time
        slot_report report;
        std::array<float, nof_bins> snr{};
        double mean_snr = 0;
        bin_model::prediction_error prediction;

        packet_link& up() {
            if (radio) return *radio;
            return uplink;
        }
        const packet_link& up() const {
            if (radio) return *radio;
            return uplink;
        }
        const uplink_statistics& line() const { return radio ? radio->line() : uplink.line(); }
    };
    const terminal_end& end(int user) const { return terminals_[static_cast<std::size_t>(user)]; }
    void carry(terminal_end& t, const slot_plan& plan);
    void feed_back(terminal_end& t, int user, const slot_feedback& feedback);
    radio_uplink_path_config radio_config() const;
    void take_reports(terminal_end& t);

    emulation_config config_;
    cell_scheduler scheduler_;
    // Shared by all terminals; null until needed.
    std::shared_ptr<const bin_model::failure_tables> failures_;
    std::deque<terminal_end> terminals_;
    packet_model::wired_link to_base_, from_base_;
    direction downlink_{*this, side::terminal}, uplink_{*this, side::server};
    slot_watch watch_;
    slot now_;
    bool started_ = false;
    record_fn record_;  // empty: packets are not followed
    slot blackout_from_, blackout_until_;
    struct leaving_packet {
        std::int64_t due_ns = 0;
        int tag = 0;               // the user
        std::uint64_t report = 0;  // number of the terminal's report about it; 0: none
        std::vector<std::uint8_t> data;
    };
    std::deque<leaving_packet> to_terminal_;
    std::span<const slot_plan> plans_;  // plans of the last slot
};

}  // namespace wip::cell_model
