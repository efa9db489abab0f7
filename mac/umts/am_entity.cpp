// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/am_entity.h"

#include <algorithm>
#include <limits>
#include <string>

#include "types/require.h"

namespace wip::umts {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t no_cipher = 0;  // the hyper frame number that a RESET carries

void require(bool ok, std::string_view key, std::int64_t value, std::string_view valid) {
    if (!ok) refuse(key, std::to_string(value), valid);
}

}  // namespace

void am_config::check() const {
    require(pdu_bytes >= 8 && pdu_bytes <= 5000, "the size of an RLC PDU in bytes", pdu_bytes,
            "8..5000");
    require(window >= 1 && window < sn_space, "umts.window", window, "1..4095");
    require(queue_sdus >= 1 && queue_sdus <= 100000, "link.queue_packets", queue_sdus, "1..100000");
    require(largest_sdu >= 1 && largest_sdu <= longest_sdu, "the size of the largest SDU in bytes",
            largest_sdu, "1..65535");
    check_range(poll_pdus, setting::umts_poll_pdus);
    check_range(poll_sdus, setting::umts_poll_sdus);
    check_range(poll_window_percent, setting::umts_poll_window_percent);
    check_range(max_dat, setting::umts_max_dat);
    require(max_mrw >= 1 && max_mrw <= 32, "RLC MaxMRW", max_mrw, "1..32");
    require(max_reset >= 1 && max_reset <= 32, "RLC MaxRST", max_reset, "1..32");
    for (const auto& [key, ns] : {std::pair("umts.poll_period_ms", poll_period_ns),
                                  {"umts.poll_timer_ms", poll_timer_ns},
                                  {"umts.poll_prohibit_ms", poll_prohibit_ns},
                                  {"umts.status_period_ms", status_period_ns},
                                  {"umts.status_prohibit_ms", status_prohibit_ns},
                                  {"umts.discard_ms", discard_ns}})
        check_range(key, static_cast<double>(ns) * 1e-6, 0, 3.6e6);
    for (const auto& [key, ns] :
         {std::pair("RLC Timer_MRW in ms", mrw_timer_ns), {"RLC Timer_RST in ms", reset_timer_ns}})
        check_range(key, static_cast<double>(ns) * 1e-6, 1e-6, 3.6e6);
    require(discard != discard_mode::timer || discard_ns > 0, "umts.discard_ms", discard_ns,
            "more than 0 with umts.discard = timer");
}

am_entity::am_entity(const am_config& sends, const am_config& takes, events e)
    : config_(sends),
      transmitter_(sends, std::move(e.placed), std::move(e.discarded)),
      receiver_(takes, std::move(e.deliver)),
      status_(static_cast<std::size_t>(sends.pdu_bytes)) {}

void am_entity::on_pdu(std::span<const std::uint8_t> pdu, std::int64_t now_ns) {
    if (failed_) return;
    if (pdu.empty() || (pdu[0] & 0x80) == 0) {
        on_control(pdu);
        return;
    }
    if (awaiting_reset_ack_) return;
    const auto piggybacked = receiver_.on_pdu(pdu, now_ns);
    if (!piggybacked.empty()) take_status(piggybacked);
}

void am_entity::on_control(std::span<const std::uint8_t> pdu) {
    if (control_type_of(pdu) == control_type::status) {
        if (!awaiting_reset_ack_) take_status(pdu);
    } else if (const auto r = read_reset(pdu)) {
        on_reset(*r);
    } else {
        ++counts_.malformed;
    }
}

void am_entity::on_reset(const reset_content& r) {
    if (r.type == control_type::reset) {
        reset_ack_due_ = true;
        // A repetition: it is acknowledged again, and nothing is reset.
        if (peer_rsn_ == static_cast<int>(r.rsn)) return;
        peer_rsn_ = static_cast<int>(r.rsn);
        ++counts_.resets_taken;
        begin_again();
    } else if (awaiting_reset_ack_ && r.rsn == reset_rsn_) {
        awaiting_reset_ack_ = false;
        reset_rsn_ = !reset_rsn_;
        reset_timer_ns_ = -1;
        begin_again();
    }
}

void am_entity::begin_again() {
    ++epoch_;
    transmitter_.reset(epoch_);
    receiver_.reset(epoch_);
}

void am_entity::take_status(std::span<const std::uint8_t> pdu) {
    if (!read_status(pdu, content_)) {
        ++counts_.malformed;
        return;
    }
    if (content_.move) receiver_.on_move(*content_.move);
    const bool is_valid = transmitter_.on_status(content_);
    if (!awaiting_reset_ack_ && (!is_valid || transmitter_.reset_due())) {
        awaiting_reset_ack_ = reset_to_send_ = true;
        resets_sent_ = 0;
    }
}

void am_entity::advance(std::int64_t now_ns) {
    if (failed_) return;
    if (awaiting_reset_ack_) {
        if (reset_timer_ns_ < 0 || now_ns < reset_timer_ns_) return;
        reset_timer_ns_ = -1;
        if (resets_sent_ >= config_.max_reset)
            failed_ = true;
        else
            reset_to_send_ = true;
        return;
    }
    transmitter_.advance(now_ns);
    receiver_.advance(now_ns);
    if (transmitter_.reset_due()) {
        awaiting_reset_ack_ = reset_to_send_ = true;
        resets_sent_ = 0;
    }
}

bool am_entity::status_wanted(std::int64_t now_ns) const {
    return receiver_.status_due(now_ns) || transmitter_.move_due() || window_due_;
}

bool am_entity::has_pdu(std::int64_t now_ns) const {
    if (failed_) return false;
    if (awaiting_reset_ack_) return reset_to_send_ || reset_ack_due_;
    return reset_ack_due_ || status_wanted(now_ns) || transmitter_.has_pdu();
}

std::int64_t am_entity::next_wakeup(std::int64_t now_ns) const {
    if (failed_) return never;
    if (has_pdu(now_ns)) return now_ns;
    if (awaiting_reset_ack_) return reset_timer_ns_ < 0 ? never : reset_timer_ns_;
    return std::max(now_ns, std::min(transmitter_.next_wakeup(), receiver_.next_wakeup()));
}

// Writes a status into status_; returns its octets.
std::size_t am_entity::make_status(std::int64_t now_ns) {
    std::ranges::fill(status_, std::uint8_t{0});
    status_writer out(status_);
    if (const auto m = transmitter_.move_due(); m && out.move(*m)) transmitter_.move_sent(now_ns);
    if (window_ > 0 && out.window(window_)) window_due_ = false;
    receiver_.acknowledge(out, now_ns);
    return out.bytes();
}

bool am_entity::next_pdu(std::span<std::uint8_t> pdu, std::int64_t now_ns) {
    if (failed_) return false;
    if (reset_to_send_) {
        reset_to_send_ = false;
        ++resets_sent_;
        ++counts_.resets;
        reset_timer_ns_ = now_ns + config_.reset_timer_ns;
        write_reset({control_type::reset, reset_rsn_, no_cipher}, pdu);
        return true;
    }
    if (reset_ack_due_) {
        reset_ack_due_ = false;
        write_reset({control_type::reset_ack, peer_rsn_ == 1, no_cipher}, pdu);
        return true;
    }
    if (awaiting_reset_ack_) return false;
    if (status_wanted(now_ns)) {
        const std::size_t bytes = make_status(now_ns);
        if (bytes > transmitter_.padding_ahead()) {
            ++counts_.status_pdus;
            std::ranges::copy(status_, pdu.begin());
            return true;
        }
        ++counts_.piggybacked;
        return transmitter_.next_pdu(pdu, std::span(status_).first(bytes), now_ns);
    }
    return transmitter_.next_pdu(pdu, {}, now_ns);
}

}  // namespace wip::umts
