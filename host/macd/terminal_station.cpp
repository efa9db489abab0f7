// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/terminal_station.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "macd/slot_codec.h"
#include "station/mac_status.h"
#include "station/packet_reports.h"
#include "station/slot_sample.h"
#include "types/extension_name.h"
#include "types/grid.h"
#include "types/setting_limits.h"
#include "types/slot_time.h"

namespace wip::host {

namespace {

constexpr std::uint32_t longest_loop = 64;  // slots from a report to the slot that uses it

// Topic `receiver`: what the receiver observed in one slot, from the report's detail, its grant and
// the receiver's last state. Returns nullptr, or the name of the part that is wrong; `out` is
// incomplete then.
const char* fill_receiver(const openwip::slot_link::ReceiverDetail& detail,
                          const slot_report& report, const openwip::receiver::State& state,
                          openwip::telemetry::ReceiverSample& out) {
    out.Clear();
    auto& symbols = *out.mutable_symbols_of_bin();
    auto& bits = *out.mutable_bits_per_symbol();
    symbols.assign(nof_bins, '\0');
    bits.assign(nof_bins, '\0');
    std::size_t bytes = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        bits[b] = static_cast<char>(report.grant.bins[b].bits_per_symbol);
        if (report.outcome[b] != frame_outcome::good && report.outcome[b] != frame_outcome::bad)
            continue;
        symbols[b] = static_cast<char>(payload_symbols_per_bin);
        bytes += std::size_t{2} * payload_symbols_per_bin;
    }
    if (detail.points().size() != bytes) return "detail: points that are not those of the bins";
    if (detail.channel_size() != 0 && detail.channel_size() != 2 * nof_subcarriers)
        return "detail: not 500 subcarriers";
    if (detail.noise_dbfs_size() != 0 && detail.noise_dbfs_size() != nof_bins)
        return "detail: not 25 noise levels";
    if (detail.spectrum_dbfs_size() != 0 && detail.spectrum_dbfs_size() != fft_size)
        return "detail: not a spectrum of 768 points";
    out.set_points(detail.points());
    *out.mutable_channel() = detail.channel();
    *out.mutable_noise_dbfs() = detail.noise_dbfs();
    *out.mutable_spectrum_dbfs() = detail.spectrum_dbfs();
    *out.mutable_state() = state;
    return nullptr;
}

}  // namespace

terminal_station::terminal_station(const macd_config& config, tun_device& tun, station_port& port)
    : port_(&port),
      gate_(tun),
      ip_(port.telemetry()),
      frames_(port.telemetry(), config.link.profile),
      profile_(config.link.profile),
      mac_(config.link, [this](std::span<const std::uint8_t> packet, bool) { deliver(packet); }),
      uplink_(config.uplink) {
    state_.set_mode("searching");
    if (config.tcp_l) gate_.take_damaged_tcp();
}

void terminal_station::on_request(const openwip::slot_link::SlotRequest&) {
    port_->malformed("slot link", "a transmitter's request at the terminal");
}

void terminal_station::on_report(const openwip::slot_link::SlotReport& report) {
    if (const char* why = read_report(report, profile_, report_in_)) {
        port_->malformed("slot link", why);
        return;
    }
    switch (clock_.offer(report_in_.air)) {
        case slot_clock::verdict::advanced:
            break;
        case slot_clock::verdict::stale:  // after a new lock the receiver may report a slot again
            ++stale_;
            return;
        case slot_clock::verdict::doubtful:
            port_->malformed("slot link", "slot number far from the last one");
            return;
    }
    now_ = report_in_.air = clock_.value();
    locked_ = report_in_.locked;
    read_tun(now_);  // packets that came during this slot may be sent in it
    if (report.has_state()) {
        state_ = report.state();
        receiver_.follow(state_, *port_);
    }
    // 0: nothing measured yet.
    report_in_.prediction_nmse = state_.prediction_nmse() > 0
                                     ? static_cast<float>(state_.prediction_nmse())
                                     : std::numeric_limits<float>::quiet_NaN();
    const slot_feedback feedback = mac_.on_slot(report_in_);
    send_uplink(feedback);
    follow_snr();
    publish(report);
    port_->slot_done(now_);
}

// Clear() deletes the feedback, which comes again in the next slot: its memory is kept.
void terminal_station::clear_message() {
    if (message_.has_feedback()) feedback_.reset(message_.release_feedback());
    message_.Clear();
}

void terminal_station::send_uplink(const slot_feedback& feedback) {
    clear_message();
    message_.set_now(now_.value);
    message_.set_locked(report_in_.locked);
    if (report_in_.locked && !uplink_.feedback_lost()) {
        if (!feedback_) feedback_ = std::make_unique<openwip::uplink::Feedback>();
        write_feedback(feedback, *feedback_);
        message_.set_allocated_feedback(feedback_.release());
    }
    packets_bytes sent;
    for (const auto& p : uplink_.on_slot(now_)) {
        auto& out = *message_.add_packets();
        out.set_arrival(p.arrival.value);
        out.set_data(p.data.data(), p.data.size());
        ++sent.packets;
        sent.bytes += p.data.size();
    }
    if (watch_ != 0) {
        write_reports(reports_, mac_.decided_before(), watch_, *message_.mutable_packet_reports());
        reports_.clear();
    }
    if (!port_->to_peer(message_)) {
        unsent_.packets += sent.packets;
        unsent_.bytes += sent.bytes;
    }
}

void terminal_station::follow_snr() {
    const auto& r = report_in_;
    if (!r.locked) return;
    double sum = 0;
    for (const float snr : r.snr_db) sum += std::pow(10.0, snr / 10);
    const double mean = sum / nof_bins;
    mean_snr_ += mean_snr_ == 0 ? mean : (mean - mean_snr_) / slots_per_second;
}

void terminal_station::deliver(std::span<const std::uint8_t> packet) {
    ip_.add(ip_log::way::out, ip_log::link::down, packet, slot_start_ns(now_ + slot_count(1)));
    if (const int e = gate_.write(packet)) reports_.refuse_last(e);
}

void terminal_station::publish(const openwip::slot_link::SlotReport& report) {
    const auto& out = port_->telemetry();
    ask_for_detail();
    if (out.due(topic::slot, now_)) publish_slot();
    if (report.has_detail() && out.wanted(topic::receiver)) publish_receiver(report.detail());
    if (out.due(topic::frames, now_)) frames_.add(report_in_, report.grant());
    frames_.slot_done(now_);
    ip_.slot_done(now_);
}

// Has the receiver make the detail only while there is a subscriber.
void terminal_station::ask_for_detail() {
    const int every = port_->telemetry().every(topic::receiver);
    if (every == detail_every_) return;
    detail_every_ = every;
    request_.mutable_detail()->set_every(static_cast<std::uint32_t>(every));
    port_->to_flowgraph(request_);
}

void terminal_station::publish_receiver(const openwip::slot_link::ReceiverDetail& detail) {
    auto& sample = *port_->telemetry().message(topic::receiver).mutable_receiver();
    if (const char* why = fill_receiver(detail, report_in_, state_, sample)) {
        port_->malformed("slot link", why);
        return;
    }
    sample.mutable_state()->clear_bursts();  // bursts are in the status, which is sent less often
    port_->telemetry().publish(topic::receiver, now_);
}

void terminal_station::publish_slot() {
    auto& message = port_->telemetry().message(topic::slot);
    fill_sample(report_in_, static_cast<int>(state_.horizon()), *message.mutable_slot_sample());
    port_->telemetry().publish(topic::slot, now_);
}

void terminal_station::on_peer(std::span<const std::uint8_t> message) {
    openwip::uplink::DownlinkControl note;
    const bool good = note.ParseFromArray(message.data(), static_cast<int>(message.size()));
    const auto loop = note.loop_slots();
    if (!good || loop > longest_loop ||
        (note.hello().empty() && note.stop().empty() && !note.has_packet_watch() && loop == 0)) {
        port_->malformed("uplink", "not a DownlinkControl message");
        return;
    }
    if (!note.hello().empty()) port_->peer_format({note.format().begin(), note.format().end()});
    if (loop != 0) {
        receiver_.settings().set_horizon(loop);
        receiver_.tell(*port_);
    }
    if (note.has_packet_watch() && note.packet_watch() != watch_) {
        watch_ = note.packet_watch();
        reports_.restart();
        mac_.report_to(watch_ != 0 ? &reports_ : nullptr);
    }
    if (!note.stop().empty()) port_->peer_ends(note.cause(), note.stop());
}

void terminal_station::peer_came() {
    watch_ = 0;
    reports_.restart();
    mac_.report_to(nullptr);
}

// The present slot between the reports of slots j and j + 1 is j + 1.
bool terminal_station::on_tun() {
    return read_tun(clock_.known() ? now_ + slot_count(1) : now_) && tun_alive_;
}

bool terminal_station::read_tun(slot now) {
    return tun_alive_ = gate_.read_all([&](std::span<const std::uint8_t> p) {
        ip_.add(ip_log::way::in, ip_log::link::up, p, slot_start_ns(now));
        uplink_.on_sdu(p, now);
    });
}

slot terminal_station::next_slot() const { return clock_.known() ? now_ + slot_count(1) : now_; }

party terminal_station::waits_for() const { return party::flowgraph; }

void terminal_station::fill(openwip::control::MacStatus& status) const {
    const auto& s = mac_.statistics();
    const auto& u = uplink_.statistics();
    status.set_slot(now_.value);

    auto& down = *status.mutable_downlink();
    fill_downlink_received(s, down);
    set(*down.mutable_delivered(), gate_.delivered());
    gate_.add_write_errors(down);

    fill_uplink_sent(u, unsent_, status);
    gate_.add_input(*status.mutable_uplink());
    fill_terminal(s, status);
    gate_.add_relay(*status.mutable_terminal());

    auto& r = *status.mutable_radio() = state_;
    r.set_locked(locked_);
    r.set_mean_snr_db(mean_snr_ > 0 ? 10 * std::log10(mean_snr_) : 0);
    // A radio that started again counts from the beginning.
    const auto since_reset = [](std::uint64_t now, std::uint64_t then) {
        return now > then ? now - then : 0;
    };
    r.set_overflows(since_reset(state_.overflows(), overflows_at_reset_));
    r.set_clipped(since_reset(state_.clipped(), clipped_at_reset_));
    status.set_stale_messages(stale_);
}

void terminal_station::flush_telemetry() {
    frames_.flush();
    ip_.flush();
}

void terminal_station::reset_counters() {
    overflows_at_reset_ = state_.overflows();
    clipped_at_reset_ = state_.clipped();
}

namespace {
std::string built_in_predictors() {
    std::string all;
    for (const auto name : setting::phy_predictor_choices)
        all.append(all.empty() ? "" : ", ").append(name);
    return all;
}
}  // namespace

void terminal_station::reconfigure(config::settings& next,
                                   const std::vector<std::string>& changed) {
    for (const auto& key : changed) next.check_station(key, "terminal");
    const macd_config wanted = translate(next);
    const auto has_changed = [&](const char* key) {
        return std::ranges::find(changed, key) != changed.end();
    };
    const bool new_predictor = has_changed(config::name::phy_predictor);
    if (new_predictor && read_extension_name(wanted.predictor))
        throw next.refuse(
            config::name::phy_predictor,
            "own code is loaded at the start of a run only; valid in a running cell: " +
                built_in_predictors());
    uplink_.reconfigure(wanted.uplink);
    if (has_changed(config::name::link_combining))
        receiver_.settings().set_combining(wanted.link.combining);
    if (new_predictor) receiver_.settings().set_predictor(wanted.predictor);
    receiver_.tell(*port_);
}

void terminal_station::say_goodbye(const stop_reason& why) {
    clear_message();
    message_.set_now(now_.value);
    message_.set_stop(why.words);
    message_.set_cause(why.cause);
    port_->to_peer(message_);
}

}  // namespace wip::host
