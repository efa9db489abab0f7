// SPDX-License-Identifier: GPL-3.0-or-later
#include "cell/radio_uplink_path.h"

#include <cmath>

#include "bin/form_errors.h"
#include "queue/packet_queue.h"
#include "sample/counter_random.h"
#include "types/slot_time.h"

namespace wip::cell_model {
namespace {
constexpr std::uint32_t form_dice = 0x464F524D;
}  // namespace

radio_uplink_path::radio_uplink_path(const radio_uplink_path_config& config)
    : config_(config),
      terminal_(config.mac),
      base_(config.mac,
            [this](std::span<const std::uint8_t> packet) {
                hand_over({packet, tag_, slot_start_ns(now_), slot_start_ns(now_)});
            }),
      air_(config.air) {}

void radio_uplink_path::reconfigure(const radio_uplink_path_config& config) {
    terminal_.reconfigure(config.mac);
    base_.reconfigure(config.mac);
    config_ = config;
}

void radio_uplink_path::set_errors(bin_model::error_method errors,
                                   std::shared_ptr<const bin_model::failure_tables> failures) {
    air_.set_errors(errors, std::move(failures));
}

bool radio_uplink_path::offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) {
    tag_ = tag;
    return terminal_.on_sdu(packet, now_ns);
}

std::optional<slot_feedback> radio_uplink_path::receive(slot k) {
    now_ = k;
    if (!received_) return std::nullopt;
    const auto feedback = base_.on_slot(*received_);
    received_.reset();
    return feedback;
}

void radio_uplink_path::transmit(slot k) {
    now_ = k;
    sent_ = nullptr;
    if (!feedback_) return;
    sent_ = &terminal_.on_slot(*feedback_, feedback_->grant_ok ? grant_ : std::nullopt);
    feedback_.reset();
}

int radio_uplink_path::plan(slot k, std::size_t downlink_waiting) {
    const planned_uplink_grant* g = base_.plan(k, downlink_waiting);
    grant_.reset();
    // The last bit of a grant always says whether an uplink grant stands before it.
    if (g == nullptr) return 1;
    grant_ = g->command;
    return bits_of(g->command);
}

void radio_uplink_path::carry(std::span<const float, nof_bins> downlink_snr) {
    if (sent_ == nullptr || !sent_->on) return;
    std::array<float, nof_bins> snr{};
    const auto gain = static_cast<float>(std::pow(10, config_.snr_offset_db / 10));
    for (std::size_t b = 0; b < nof_bins; ++b) snr[b] = downlink_snr[b] * gain;
    uplink_report& r = received_.emplace();
    r.about = sent_->about;
    r.heard = true;
    const double lost = 1 - (1 - bin_model::form_loss(snr)) * (1 - config_.feedback_loss);
    const auto dice =
        sample_model::philox(static_cast<std::uint64_t>(r.about.value),
                             form_dice ^ static_cast<std::uint32_t>(config_.air.seed));
    r.form_ok = static_cast<double>(dice.a) >= lost * 4294967296.0;
    r.form = sent_->form;
    ++forms_;
    forms_lost_ += !r.form_ok;
    air_.carry(sent_->frames, snr, carried_);
    r.outcome = carried_.outcome;
    r.payload = carried_.payload;
    for (std::size_t b = 0; b < nof_bins; ++b)
        r.snr_db[b] = 10 * std::log10(std::max(snr[b], 1e-10F));
}

const uplink_statistics& radio_uplink_path::line() const {
    const auto& t = terminal_.statistics();
    const packets_bytes known = t.queued + t.sent;  // what the base station has is part of it
    line_.in = t.in;
    line_.delivered = base_.statistics().delivered;
    line_.queued = known - line_.delivered;
    line_.marked = t.marked;
    line_.dropped_queue_full = t.dropped_queue_full;
    line_.dropped_queue_managed = t.dropped_queue_managed;
    line_.dropped_lost = t.dropped_start_over;
    line_.dropped_not_ip = t.dropped_not_ip;
    line_.feedback = {forms_, forms_ * control_content_bytes};
    line_.feedback_lost = {forms_lost_, forms_lost_ * control_content_bytes};
    return line_;
}

link_sums radio_uplink_path::sums() const {
    const auto& s = line();
    return {s.in,
            s.delivered,
            s.queued,
            {{"queue_full", s.dropped_queue_full},
             {managed_drop, s.dropped_queue_managed},
             {"uplink_loss", s.dropped_lost},
             {"not_ip", s.dropped_not_ip}},
            s.marked};
}

}  // namespace wip::cell_model
