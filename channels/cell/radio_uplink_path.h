// SPDX-License-Identifier: GPL-3.0-or-later
// The uplink by radio of an emulated cell: the MACs of both ends (mac/uplink) over a channel of
// bins. Forms are lost as bin/form_errors.h says, frames as on the downlink, by symbols.
//
// The cell calls, in slot k of the downlink and in this order:
//
//   receive(k)           what uplink slot k - 1 brought, about slot k - 2: packets that are
//                        complete go to the sink, and the feedback is returned
//   transmit(k)          the terminal makes uplink slot k, about slot k - 1, from the packets that
//                        have come by now
//   plan(k)              the bits that the downlink grant of slot k has to leave for the uplink
//   on_feedback(f)       the terminal's feedback about slot k
//   carry(snr)           the air of uplink slot k, at these SNRs
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "bin/symbol_channel.h"
#include "packet/emulated_uplink.h"
#include "port/packet_link.h"
#include "uplink/base_uplink.h"
#include "uplink/terminal_uplink.h"

namespace wip::cell_model {

struct radio_uplink_path_config {
    radio_uplink_config mac;
    double snr_offset_db = 0;  // SNR of the uplink's channel less the downlink's
    double feedback_loss = 0;  // probability that a form is lost besides
    bin_model::symbol_channel_config air;
};

class radio_uplink_path final : public packet_link {
public:
    explicit radio_uplink_path(const radio_uplink_path_config& config);

    std::optional<slot_feedback> receive(slot k);
    void transmit(slot k);
    // Bits: those of the uplink grant, or the one that says that there is none.
    int plan(slot k, std::size_t downlink_waiting);
    // The uplink grant of the last slot planned, in the form in which it goes out.
    const std::optional<uplink_command>& granted() const { return grant_; }
    // The units that slot j grants, as the base station knows them; nullptr: none.
    const slot_grant* units(slot j) const { return base_.units(j); }
    // The transmission that is on the air in this slot; nullptr: none.
    const uplink_transmission* sent() const { return sent_; }
    void on_feedback(const slot_feedback& f) { feedback_ = f; }
    void carry(std::span<const float, nof_bins> downlink_snr);

    // Slots move this link, no time does.
    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) override;
    void advance(std::int64_t) override {}
    std::int64_t next_wakeup() const override { return never; }
    link_sums sums() const override;
    bool idle() const override { return terminal_.idle(); }

    void reconfigure(const radio_uplink_path_config& config);
    void set_errors(bin_model::error_method errors,
                    std::shared_ptr<const bin_model::failure_tables> failures);

    // The sums in the form of the emulated line's, for the same views.
    const uplink_statistics& line() const;
    const base_uplink_statistics& base() const { return base_.statistics(); }
    const terminal_uplink_statistics& terminal() const { return terminal_.statistics(); }

private:
    radio_uplink_path_config config_;
    terminal_uplink terminal_;
    base_uplink base_;
    bin_model::symbol_channel air_;
    int tag_ = 0;
    slot now_;
    std::optional<slot_feedback> feedback_;      // about the last slot
    std::optional<uplink_command> grant_;        // grant of that slot
    const uplink_transmission* sent_ = nullptr;  // in this slot
    std::optional<uplink_report> received_;      // report about the last uplink slot
    slot_report carried_;
    std::uint64_t forms_ = 0, forms_lost_ = 0;
    mutable uplink_statistics line_;
};

}  // namespace wip::cell_model
