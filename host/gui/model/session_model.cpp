// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/model/session_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "gui/model/meaning.h"

namespace wip::gui {
namespace {

using openwip::telemetry::Telemetry;

// Most samples kept. With the defaults of macd (100 samples a second) they are ten minutes of
// slots, about 40 MB in all. Several terminals share three times as much.
constexpr std::size_t most_columns = 60'000, most_status = 12'000, most_receiver = 600,
                      most_packets = 300'000, most_tcp = 60'000, most_verdicts = 12'000,
                      most_events = 5'000, most_names = 200;
// Publishers differ by their buffers, not by seconds; a slot further away is another run, or a
// damaged number. Two messages in a row have to agree before the axis follows.
constexpr std::int64_t largest_step_back = 3 * slots_per_second;
constexpr std::int64_t largest_step_ahead = 20 * slots_per_second;  // slots: 20 s
constexpr float sane_db = 200;

template <typename Repeated>
bool copy_db(const Repeated& from, std::array<float, nof_bins>& to) {
    if (from.empty()) return true;
    if (from.size() != nof_bins) return false;
    for (int b = 0; b < nof_bins; ++b) {
        const float db = from.Get(b);
        to[static_cast<std::size_t>(b)] =
            std::isfinite(db) ? std::clamp(db, -sane_db, sane_db) : unknown;
    }
    return true;
}

bool copy_bytes(const std::string& from, std::array<std::uint8_t, nof_bins>& to) {
    if (from.empty()) return true;
    if (from.size() != nof_bins) return false;
    std::memcpy(to.data(), from.data(), nof_bins);
    return true;
}

bool all_below(const std::string& bytes, int limit) {
    return std::ranges::all_of(bytes, [=](char c) { return static_cast<std::uint8_t>(c) < limit; });
}

// Index of a name in a list that strangers cannot grow without bound.
std::uint16_t index_of(std::vector<std::string>& names, const std::string& name) {
    const auto at = std::ranges::find(names, name);
    if (at != names.end()) return static_cast<std::uint16_t>(at - names.begin());
    if (names.size() >= most_names) return static_cast<std::uint16_t>(names.size() - 1);
    names.push_back(name.substr(0, 120));
    return static_cast<std::uint16_t>(names.size() - 1);
}

// "terminal" is the first one, "terminal2" the second; -1: no terminal.
int user_of_station(const std::string& station) {
    constexpr std::string_view name = "terminal";
    if (!station.starts_with(name)) return -1;
    const int number = std::atoi(station.c_str() + name.size());
    return number >= 2 && number <= static_cast<int>(most_users) ? number - 1 : 0;
}

std::string address_of(const std::string& address_and_port) {
    return address_and_port.substr(0, address_and_port.rfind(':'));
}

float ms(std::int64_t ns) { return static_cast<float>(static_cast<double>(ns) * 1e-6); }

}  // namespace

session_model::history::history(std::uint32_t users)
    : columns(0), base_points(0), terminal_points(0), receiver_points(0) {
    set_capacity(users);
}

void session_model::history::set_capacity(std::uint32_t users) {
    const auto share = [users](std::size_t most) {
        return users == 1 ? most : std::min(most, 3 * most / (users + 1));
    };
    columns.set_capacity(share(most_columns));
    base_points.set_capacity(share(most_status));
    terminal_points.set_capacity(share(most_status));
    receiver_points.set_capacity(share(most_receiver));
}

session_model::session_model()
    : of_user_(1, history(1)),
      all_(1),
      packets_(most_packets),
      tcp_points_(most_tcp),
      verdict_points_(most_verdicts),
      fader_points_(most_status),
      attenuator_points_(most_status),
      drop_reasons_{""} {}

void session_model::clear() {
    const auto runs = runs_ + 1;
    const auto revision = revision_ + 1;
    const auto user = wanted_user_;
    *this = session_model();
    runs_ = runs;
    revision_ = revision;
    wanted_user_ = user;
    oldest_change_ = 0;
}

std::uint64_t session_model::revision_of(Telemetry::WhatCase kind) const {
    return revisions_[static_cast<std::size_t>(kind) % revisions_.size()];
}

std::int64_t session_model::oldest_slot() const {
    std::int64_t oldest = newest_;
    if (!columns().empty()) oldest = std::min(oldest, columns().front().slot);
    if (!base_points().empty()) oldest = std::min(oldest, base_points().front().slot);
    return oldest;
}

void session_model::show_user(int user) {
    if (user == wanted_user_) return;
    wanted_user_ = std::max(user, all_users);
    oldest_change_ = 0;
    ++revision_;
}

const openwip::control::MacStatus& session_model::of_shown_user(
    const openwip::control::MacStatus& status) const {
    const int user = shown_user();
    return user >= 0 && user < status.users_size() ? status.users(user) : status;
}

void session_model::see_user(std::uint32_t user) {
    if (user < of_user_.size()) return;
    if (of_user_.size() == 1) all_ = of_user_[0];
    of_user_.resize(user + 1, history(user + 1));
    for (auto& h : of_user_) h.set_capacity(user + 1);
    all_.set_capacity(user + 1);
    oldest_change_ = 0;
}

bool session_model::follow_slot(const std::string& source, const Telemetry& m) {
    const std::int64_t slot = m.slot();
    // A sender that does not count slots has the last one that it received: 0 at first, and never
    // ahead.
    const bool counts_slots = m.has_mac() || m.has_slot_sample() || m.has_receiver();
    if (!counts_slots)
        return newest_ == 0 || slot <= newest_ + largest_step_ahead || is_of_run_before(m);
    // A source is compared with itself: when the reader was held up, the messages of one come in
    // long before those of the other, and that is no new run.
    const auto last = last_slots_.find(source);
    const bool back = last != last_slots_.end() && slot < last->second - largest_step_back;
    const bool ahead = newest_ != 0 && slot > newest_ + largest_step_ahead;
    if (back || ahead) {
        const auto before = doubtful_.find(source);
        if (before == doubtful_.end() || std::abs(before->second - slot) > largest_step_back) {
            doubtful_[source] = slot;
            return false;
        }
        if (back) {
            const std::int64_t before_restart = newest_;
            clear();
            newest_before_ = before_restart;
        }
    }
    doubtful_.erase(source);
    last_slots_[source] = slot;
    newest_ = std::max(newest_, slot);
    return true;
}

bool session_model::is_of_run_before(const Telemetry& m) const {
    const bool counts_slots = m.has_mac() || m.has_slot_sample() || m.has_receiver();
    return !counts_slots && newest_ != 0 && m.slot() > newest_ + largest_step_ahead &&
           m.slot() <= newest_before_ + largest_step_ahead;
}

bool session_model::take(const std::string& source, const Telemetry& m) {
    if (!follow_slot(source, m)) return false;
    if (is_of_run_before(m)) return true;
    const std::int64_t slot = m.slot();
    bool good = true;
    switch (m.what_case()) {
        case Telemetry::kMac:
            good = take_status(slot, m.mac());
            break;
        case Telemetry::kSlotSample:
            good = take_slot(slot, m.user(), m.slot_sample());
            break;
        case Telemetry::kReceiver:
            good = take_receiver(slot, m.user(), m.receiver());
            break;
        case Telemetry::kPackets:
            good = take_packets(m.packets());
            break;
        case Telemetry::kEvent:
            good = take_event(slot, m.event());
            break;
        case Telemetry::kAir:
            air_ = m.air();
            if (const auto p = level_point(slot, air_)) fader_points_.push(*p);
            break;
        case Telemetry::kTcp:
            good = take_tcp(slot, m.tcp());
            break;
        case Telemetry::kCpu:
            cpu_ = m.cpu();
            break;
        case Telemetry::kVerdict:
            if (!std::isfinite(m.verdict().goodput_bps()) ||
                !std::isfinite(m.verdict().capacity_bps()))
                return false;
            verdict_ = m.verdict();
            if (!is_replayed(verdict_))
                verdict_points_.push(
                    {slot, verdict_.valid(), verdict_.goodput_bps(), verdict_.capacity_bps()});
            break;
        case Telemetry::kAttenuator:
            if (const auto p = level_point(slot, m.attenuator())) {
                attenuator_points_.push(*p);
                attenuator_ = m.attenuator();
            } else {
                good = false;
            }
            break;
        case Telemetry::kFrames:
        case Telemetry::kIp:
        case Telemetry::WHAT_NOT_SET:
            break;  // these topics are for capture programs
    }
    if (!good) return false;
    revisions_[static_cast<std::size_t>(m.what_case()) % revisions_.size()] = ++revision_;
    return true;
}

bool session_model::take_slot(std::int64_t slot, std::uint32_t user,
                              const openwip::telemetry::SlotSample& s) {
    slot_column seen;
    // A terminal's prediction is for another slot (horizon); what counted in this one, the base
    // says.
    const bool from_base = s.horizon() == 0 && !s.predicted_snr_db().empty();
    if (!copy_db(s.snr_db(), seen.measured_db) || !copy_db(s.true_snr_db(), seen.true_db) ||
        !copy_db(s.predicted_snr_db(), seen.predicted_db) ||
        !copy_bytes(s.bits_per_symbol(), seen.bits) || !copy_bytes(s.outcome(), seen.outcome) ||
        !copy_bytes(s.retransmissions(), seen.retransmissions) ||
        !copy_bytes(s.user(), seen.user) || !all_below(s.bits_per_symbol(), 9) ||
        !all_below(s.outcome(), 4))
        return false;
    if (user >= most_users) return false;
    see_user(user);
    history& h = of_user_[user];
    if (!h.columns.empty() && slot < h.columns.front().slot &&
        h.columns.size() >= h.columns.capacity())
        return true;  // older than anything that is kept
    const std::int64_t before = h.columns.empty() ? slot : h.columns.back().slot;
    slot_column& at = h.columns.at_slot(slot);
    if (slot > before)
        h.spacing += 0.1 * (std::min<double>(static_cast<double>(slot - before), 1500) - h.spacing);
    const bool first_queue = at.queued_packets < 0 && !s.retransmissions().empty();
    if (!s.snr_db().empty()) at.measured_db = seen.measured_db;
    if (!s.true_snr_db().empty()) at.true_db = seen.true_db;
    if (from_base) at.predicted_db = seen.predicted_db;
    if (!s.bits_per_symbol().empty()) at.bits = seen.bits;
    // Both stations have a view of a frame; the one that decides about its repetition counts.
    const bool base_says = !s.retransmissions().empty() || !s.user().empty();
    if (!s.outcome().empty() && (base_says || !at.outcome_of_base)) {
        at.outcome = seen.outcome;
        at.outcome_of_base = base_says;
    }
    if (!s.retransmissions().empty()) {
        at.retransmissions = seen.retransmissions;
        at.queued_packets = s.queued_packets();
        at.queued_bytes = static_cast<std::int64_t>(s.queued_bytes());
    }
    if (!s.user().empty()) {
        at.user = seen.user;
        at.grants_known = true;
    }
    if (of_user_.size() > 1) merge(at, user, first_queue);
    oldest_change_ = std::min(oldest_change_, slot);
    return true;
}

// Whichever of base station and terminal speaks last of a slot completes its column.
void session_model::merge(const slot_column& part, std::uint32_t user, bool first_queue) {
    auto& columns = all_.columns;
    if (!columns.empty() && part.slot < columns.front().slot &&
        columns.size() >= columns.capacity())
        return;
    all_.spacing = of_user_[user].spacing;
    slot_column& all = columns.at_slot(part.slot);
    if (part.grants_known && !all.grants_known) {
        all.user = part.user;
        all.grants_known = true;
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (all.user[b] == nobody) all.bits[b] = all.outcome[b] = 0;
    }
    if (first_queue) {
        all.queued_packets = std::max<std::int64_t>(all.queued_packets, 0) + part.queued_packets;
        all.queued_bytes = std::max<std::int64_t>(all.queued_bytes, 0) + part.queued_bytes;
    }
    for (std::size_t b = 0; b < nof_bins && all.grants_known; ++b) {
        if (all.user[b] != user) continue;
        all.measured_db[b] = part.measured_db[b];
        all.predicted_db[b] = part.predicted_db[b];
        all.true_db[b] = part.true_db[b];
        all.bits[b] = part.bits[b];
        all.outcome[b] = part.outcome[b];
        all.retransmissions[b] = part.retransmissions[b];
    }
}

void session_model::push_base(history& to, std::int64_t slot,
                              const openwip::control::MacStatus& s) {
    base_point p;
    p.slot = slot;
    p.bits_acknowledged = s.base().payload_bits_acknowledged();
    p.frames_sent = s.base().frames_sent();
    p.frames_failed = s.base().frames_failed();
    p.frames_dropped = s.base().frames_given_up();
    const auto copy = [](const auto& from, auto& into) {
        for (int i = 0; i < std::min<int>(from.size(), static_cast<int>(into.size())); ++i)
            into[static_cast<std::size_t>(i)] = from.Get(i);
    };
    copy(s.base().modulation_histogram(), p.modulation);
    copy(s.base().retransmission_histogram(), p.retransmissions);
    p.queued_packets = s.downlink().queued().packets();
    p.queued_bytes = s.downlink().queued().bytes();
    p.dropped_packets = dropped_packets(s.downlink());
    const auto& d = s.delay_injection();
    p.injection = {d.samples(), d.spikes(),    d.held(),         d.held_now(),
                   d.held_ms(), d.pdelay_ms(), d.threshold_ms(), d.delay_ms()};
    const auto& b = s.bearer();
    p.bearer = {b.window_used(), b.sdus_held(), b.retransmissions(), b.polls()};
    const auto& m = s.mobility();
    p.mobility = {m.rate_bps() * 1e-3, m.waiting_packets(), m.handing_over()};
    to.base_points.push(p);
}

void session_model::push_terminal(history& to, std::int64_t slot,
                                  const openwip::control::MacStatus& s) {
    to.terminal_points.push({slot, s.uplink().queued().packets(),
                             s.bearer().status_pdus() + s.bearer().status_piggybacked()});
}

bool session_model::take_status(std::int64_t slot, const openwip::control::MacStatus& s) {
    const bool base = s.role() == "base";
    if ((!base && s.role() != "terminal") || s.users_size() > static_cast<int>(most_users))
        return false;
    if (s.users_size() > 1) see_user(static_cast<std::uint32_t>(s.users_size()) - 1);
    (base ? base_ : terminal_) = s;
    (base ? has_base_ : has_terminal_) = true;
    const auto push = base ? push_base : push_terminal;
    push(of_all(), slot, s);
    for (int u = 0; u < s.users_size() && of_user_.size() > 1; ++u)
        push(of_user_[static_cast<std::size_t>(u)], slot, s.users(u));
    return true;
}

bool session_model::take_receiver(std::int64_t slot, std::uint32_t user,
                                  const openwip::telemetry::ReceiverSample& s) {
    const auto size = [](const auto& field) { return static_cast<int>(field.size()); };
    if ((size(s.symbols_of_bin()) != 0 && size(s.symbols_of_bin()) != nof_bins) ||
        (size(s.bits_per_symbol()) != 0 && size(s.bits_per_symbol()) != nof_bins) ||
        (s.channel_size() != 0 && s.channel_size() != 2 * nof_subcarriers) ||
        !all_below(s.bits_per_symbol(), 9) || user >= most_users)
        return false;
    std::size_t symbols = 0;
    for (const char n : s.symbols_of_bin()) symbols += static_cast<std::uint8_t>(n);
    if (s.points().size() != 2 * symbols) return false;
    if (s.spectrum_dbfs_size() != 0 && s.spectrum_dbfs_size() != fft_size) return false;
    for (const auto* values : {&s.channel(), &s.spectrum_dbfs()})
        for (const float x : *values)
            if (!std::isfinite(x)) return false;
    see_user(user);
    of_user_[user].receiver_points.push({slot, user, s});
    if (of_user_.size() > 1) all_.receiver_points.push({slot, user, s});
    return true;
}

bool session_model::take_packets(const openwip::telemetry::PacketBatch& batch) {
    for (const auto& r : batch.packet()) {
        const double slot = slots_of_ns(r.left_ns());
        // A slot that no run reaches would stay at the end of the ring for ever.
        if (r.left_ns() < 0 || slot > static_cast<double>(newest_ + largest_step_ahead) ||
            r.user() >= most_users)
            return false;
    }
    for (const auto& r : batch.packet()) {
        if (r.uplink()) continue;  // The views show the downlink only.
        packet_point p;
        p.slot = slots_of_ns(r.left_ns());
        p.number = r.number();
        p.part_ms = {ms(r.queue_ns()), ms(r.scheduling_ns()), ms(r.air_ns()),
                     ms(r.retransmission_ns()), ms(r.reordering_ns())};
        p.total_ms = ms(r.left_ns() - r.arrived_ns());
        p.bytes = r.bytes();
        p.user = static_cast<std::uint8_t>(r.user());
        p.dropped = r.dropped().empty()
                        ? std::uint8_t{0}
                        : static_cast<std::uint8_t>(index_of(drop_reasons_, r.dropped()));
        packets_.push(p);
    }
    return true;
}

bool session_model::take_event(std::int64_t slot, const openwip::telemetry::Event& e) {
    constexpr std::size_t longest = 300;  // characters
    events_.push_back({slot, ++event_serial_, static_cast<int>(e.severity()),
                       e.source().substr(0, longest), e.kind().substr(0, longest),
                       e.reason().substr(0, longest), e.count()});
    if (events_.size() > most_events) events_.pop_front();
    return true;
}

bool session_model::take_tcp(std::int64_t slot, const openwip::telemetry::TcpSample& sample) {
    for (const auto& f : sample.flow()) {
        if (!std::isfinite(f.rtt_ms()) || !std::isfinite(f.rto_ms())) return false;
        const auto flow = index_of(flows_, f.station() + " " + f.local() + " > " + f.remote());
        if (flow_ends_.size() < flows_.size()) {
            const int user = user_of_station(f.station());
            flow_ends_.push_back({user, address_of(f.remote())});
            if (user >= 0) user_at_[address_of(f.local())] = user;
        }
        tcp_points_.push({slot, flow, static_cast<double>(f.cwnd_segments()),
                          static_cast<double>(f.ssthresh_segments()), f.rtt_ms(), f.rto_ms(),
                          f.retransmitted_segments(), f.bytes_acknowledged()});
    }
    return true;
}

bool session_model::shows_flow(std::uint16_t flow) const {
    if (shown_user() == all_users) return true;
    const flow_end& end = flow_ends_[flow];
    if (end.user >= 0) return end.user == shown_user();
    const auto at = user_at_.find(end.other_address);
    return at != user_at_.end() && at->second == shown_user();
}

}  // namespace wip::gui
