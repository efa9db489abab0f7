// SPDX-License-Identifier: GPL-3.0-or-later
#include "macd/base_station.h"

#include <algorithm>

#include "link/cell_scheduler.h"
#include "macd/slot_codec.h"
#include "station/link_settings.h"
#include "station/mac_status.h"
#include "station/slot_sample.h"
#include "types/hyperframe.h"
#include "types/slot_time.h"
#include "wire/feedback_bits.h"

namespace wip::host {
namespace {

// Furthest jump of a slot number that is taken for a gap (an overflow, a late restart of a stream)
// and not for a damaged message: one second.
constexpr slot_count largest_gap{slots_per_second};
constexpr std::size_t most_open_requests = 64;  // requests of the flowgraph for a plan
// The first requests of a flowgraph are answered before the terminal's clock is known, or the loop
// of plan and report could not begin.
constexpr int requests_without_clock = 3;
// Topic `slot` publishes, at a time, at most this number of slots whose frames have all been
// acknowledged or have failed.
constexpr slot_count most_settled{48};
// An uplink packet may be up to 15000 slots on its way (uplink.delay_slots).
constexpr slot_count longest_uplink{15000 + slots_per_second};

bool near(slot a, slot b, slot_count limit) {
    const auto d = a - b;
    return d <= limit && -d <= limit;
}

std::uint64_t since(std::uint64_t start, std::uint64_t now) {
    return now > start ? now - start : 0;
}

void add(packets_bytes& count, std::size_t bytes) {
    ++count.packets;
    count.bytes += bytes;
}

}  // namespace

base_station::base_station(const macd_config& config, tun_device& tun, station_port& port)
    : port_(&port),
      gate_(tun),
      ip_(port.telemetry()),
      frames_(port.telemetry(), config.link.profile),
      link_(config.link),
      lead_(config.transmit_lead_slots),
      loop_(feedback_slots + config.fader_slots),
      free_running_(config.transmit_lead_slots > 0),
      rules_config_(config.rules),
      mac_(config.link),
      packets_(config.telemetry.packets_per_second, mac_, port),
      to_base_(config.to_base, packet_model::to_base_purpose),
      from_base_(config.from_base, packet_model::from_base_purpose) {
    to_base_.deliver_to([this](const link_packet& p) {
        packets_.set_now(sample_time(), wired_now_ - p.offered_ns);
        mac_.on_sdu(p.data, next_slot());
        return 0;
    });
    from_base_.deliver_to([this](const link_packet& p) {
        ip_.add(ip_log::way::out, ip_log::link::up, p.data, p.due_ns);
        return gate_.write(p.data);
    });
}

void base_station::load_rules() {
    const openwip_cell cell = cell_of(link_, 1, cell_config{}.averaging_slots);
    rules_.emplace(rules_config_, cell);
    mac_.use(rules_->scheduler(), cell);
    mac_.use(rules_->adaptation());
}

void base_station::on_report(const openwip::slot_link::SlotReport&) {
    port_->malformed("slot link", "a receiver's report at the base station");
}

void base_station::on_request(const openwip::slot_link::SlotRequest& request) {
    if (!plausible_slot(request.air())) {
        port_->malformed("slot link", "slot number out of range");
        return;
    }
    const slot sent(request.air());
    // Slots before this one that were not sent: they are reported once, so also by a request that
    // is dropped.
    for (const std::int64_t lost : request.not_sent()) mac_.on_not_sent(asked_.here(slot(lost)));
    // The clock of a radio goes on while its station stalls, however long that is, and may
    // begin anew.
    const bool far = free_running_ ? asked_.offer(sent) == slot_clock::verdict::doubtful
                                   : planned_any_ && !near(sent, planned_, largest_gap);
    const slot air = asked_.here(sent);
    if (far) {
        port_->malformed("slot link", "slot number far from the last one");
        return;
    }
    missed_ = {request.late_slots(), request.underflows(), request.late_plans(),
               request.slots_left_out()};
    const auto place = std::lower_bound(requests_.begin(), requests_.end(), air);
    if (place == requests_.end() || *place != air) requests_.insert(place, air);
    if (requests_.size() > most_open_requests) {
        port_->malformed("slot link", "too many open requests");
        requests_.pop_back();
    }
    if (!free_running_) answer_requests();
}

// The event loop has read all messages that waited. A radio does not wait, so after a stall only
// the last request is for a slot that can still be sent.
void base_station::caught_up() {
    if (!free_running_ || requests_.empty()) return;
    requests_.erase(requests_.begin(), requests_.end() - 1);
    answer_requests();
}

void base_station::peer_came() {
    loop_to_tell_ = link_.retransmission_delay_slots;
    tell_loop();
    packets_.peer_came();
}

bool base_station::clock_allows(slot air) const {
    return clock_.known() && clock_.value() + loop_ >= air;
}

bool base_station::flowgraph_can_wait() const {
    return !free_running_ && answered_ >= requests_without_clock && !clock_allows(next_slot());
}

void base_station::answer_requests() {
    while (!requests_.empty()) {
        const slot air = requests_.front();
        const bool at_once = free_running_ || answered_ < requests_without_clock;
        if (!at_once && !clock_allows(air)) return;
        requests_.erase(requests_.begin());
        if (answered_ < requests_without_clock) ++answered_;
        if (planned_any_ && air <= planned_) {
            // Asked again for a slot that has been planned: its frames are gone, but the
            // transmitter must not be left waiting. An empty slot, and ARQ repeats the frames.
            ++stale_;
            slot_plan empty;
            empty.air = air;
            empty.grant = quiet_grant(last_grant_, air);
            send_plan(empty);
            continue;
        }
        tun_alive_ = read_tun() && tun_alive_;
        plan_and_send(air);
    }
}

void base_station::plan_and_send(slot air) {
    packets_.set_now(sample_time());
    mac_.plan(air, plan_);
    planned_ = air;
    planned_any_ = true;
    last_grant_ = plan_.grant;
    send_plan(plan_);
    publish_settled();
    if (port_->telemetry().due(topic::frames, air))
        frames_.add(plan_, plan_message_.plan().grant(), mac_.record(air), packets_.journal());
    frames_.slot_done(air);
    ip_.slot_done(air);
    packets_.slot_done(air);
    port_->slot_done(air);
}

// Sends a plan with the slot number by which the transmitter asked for it.
void base_station::send_plan(const slot_plan& plan) {
    write_plan(plan, *plan_message_.mutable_plan());
    plan_message_.mutable_plan()->set_air(asked_.there(plan.air).value);
    port_->to_flowgraph(plan_message_);
}

// One slot each time, except after a gap in the requests.
void base_station::publish_settled() {
    auto& out = port_->telemetry();
    const slot last = mac_.resolved();
    for (slot j = std::max(published_ + slot_count(1), last - most_settled); j <= last; ++j) {
        published_ = j;
        if (!out.due(topic::slot, j) || mac_.record(j).air != j) continue;
        auto& sample = *out.message(topic::slot).mutable_slot_sample();
        fill_sample(mac_.record(j), sample);
        auto& user = *sample.mutable_user();
        user.resize(nof_bins);
        for (std::size_t b = 0; b < nof_bins; ++b)
            user[b] = sample.bits_per_symbol()[b] != 0 ? '\0' : no_user;
        out.publish(topic::slot, j);
    }
}

void base_station::on_peer(std::span<const std::uint8_t> message) {
    if (!uplink_message_.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
        port_->malformed("uplink", "not an Uplink message");
        return;
    }
    const auto& m = uplink_message_;
    if (!m.stop().empty()) {
        port_->peer_ends(m.cause(), m.stop());
        return;
    }
    if (!plausible_slot(m.now())) {
        port_->malformed("uplink", "slot number out of range");
        return;
    }
    tell_loop();
    if (free_running_ && !planned_any_) {
        deliver_at_once(m);
        return;
    }
    if (free_running_) renumber(uplink_message_);
    const slot now(m.now());
    const auto verdict = clock_.offer(now);
    switch (verdict) {
        case slot_clock::verdict::advanced:
            break;
        case slot_clock::verdict::stale:
            ++stale_;
            break;
        // a message whose clock is not accepted still has valid packets
        case slot_clock::verdict::doubtful:
            // While the terminal has no lock, renumber() has written this station's own slot number
            // into its message.
            if (m.locked() || !free_running_)
                port_->malformed("uplink", "clock far from the last one");
            break;
    }
    take_packets(m);
    if (m.has_packet_reports() && verdict != slot_clock::verdict::doubtful)
        packets_.on_reports(m.packet_reports(), now);
    if (m.has_feedback()) {
        if (const char* why = read_feedback(m.feedback(), feedback_in_)) {
            port_->malformed("uplink", why);
        } else if (!planned_any_ || feedback_in_.air > planned_ ||
                   !near(feedback_in_.air, now, largest_gap)) {
            port_->malformed("uplink", "feedback for a slot that was not sent");
        } else {
            add(feedback_, feedback_bytes);
            mac_.on_feedback(feedback_in_);
        }
    }
    deliver_arrived();
    if (!free_running_) answer_requests();
}

// Converts slot numbers to this station's count. Numbers of slots that the terminal has received
// agree with it modulo a hyperframe. Without lock, or in a false one (a station receives nothing
// that was not sent), a terminal counts by its own clock, which is not known here: then its slot is
// taken to be the one that is on the air.
void base_station::renumber(openwip::uplink::Uplink& m) const {
    const auto in_own_count = [this](std::int64_t sent) {
        return nearest_that_fits(planned_, sent).value;
    };
    const std::int64_t sent = m.now(), received = in_own_count(sent);
    const bool possible = received <= planned_.value && planned_ - slot(received) < largest_gap;
    m.set_now(m.locked() && possible ? received : (planned_ - lead_).value);
    for (auto& p : *m.mutable_packets())
        if (plausible_slot(p.arrival())) p.set_arrival(p.arrival() - sent + m.now());
    if (m.has_feedback() && plausible_slot(m.feedback().air()))
        m.mutable_feedback()->set_air(in_own_count(m.feedback().air()));
    if (!m.has_packet_reports()) return;
    for (auto& w : *m.mutable_packet_reports()->mutable_report())
        if (plausible_slot(w.complete()))
            w.set_complete(std::min(in_own_count(w.complete()), m.now()));
}

// No slot has been planned, so there is no count into which the terminal's could be turned.
void base_station::deliver_at_once(const openwip::uplink::Uplink& m) {
    for (const auto& p : m.packets()) {
        add(uplink_in_, p.data().size());
        from_base_.offer({reinterpret_cast<const std::uint8_t*>(p.data().data()), p.data().size()},
                         wired_now_);
    }
    move_wires();
}

void base_station::take_packets(const openwip::uplink::Uplink& m) {
    for (const auto& p : m.packets()) {
        add(uplink_in_, p.data().size());
        if (!plausible_slot(p.arrival()) ||
            !near(slot(p.arrival()), slot(m.now()), longest_uplink)) {
            port_->malformed("uplink", "packet with an impossible arrival");
            add(uplink_bad_arrival_, p.data().size());
            continue;
        }
        add(uplink_queued_, p.data().size());
        const auto after = [](slot a, const arriving_packet& b) { return a < b.arrival; };
        arriving_.insert(
            std::upper_bound(arriving_.begin(), arriving_.end(), slot(p.arrival()), after),
            {slot(p.arrival()), {p.data().begin(), p.data().end()}});
    }
}

void base_station::deliver_arrived() {
    move_wires();
    while (!arriving_.empty() && clock_.value() >= arriving_.front().arrival - slot_count(1)) {
        const auto& data = arriving_.front().data;
        --uplink_queued_.packets;
        uplink_queued_.bytes -= data.size();
        // The message may have been late; an arrival time that is past is set to now.
        uplink_now_ = std::clamp(slot_start_ns(arriving_.front().arrival), uplink_now_, wired_now_);
        from_base_.offer(data, uplink_now_);
        arriving_.pop_front();
    }
    from_base_.advance(wired_now_);
}

void base_station::move_wires() {
    const std::int64_t now = !free_running_ ? sample_time()
                             : planned_any_ ? slot_start_ns(planned_ - lead_ + slot_count(1))
                                            : 0;
    wired_now_ = std::max(wired_now_, now);
    to_base_.advance(wired_now_);
    from_base_.advance(wired_now_);
}

std::int64_t base_station::sample_time() const {
    return clock_.known() ? slot_start_ns(clock_.value() + slot_count(1)) : 0;
}

bool base_station::read_tun() {
    const std::int64_t time = sample_time();
    move_wires();
    return gate_.read_all([&](std::span<const std::uint8_t> p) {
        // The wired network keeps the order of packets and loses none that it has taken.
        const auto number = mac_.statistics().in.packets + to_base_.statistics().queued.packets;
        const bool taken = to_base_.offer(p, wired_now_);
        ip_.add(ip_log::way::in, ip_log::link::down, p, time,
                taken ? std::optional(number) : std::nullopt);
        to_base_.advance(wired_now_);
    });
}

bool base_station::on_tun() { return read_tun() && tun_alive_; }

slot base_station::next_slot() const { return planned_any_ ? planned_ + slot_count(1) : slot(0); }

party base_station::waits_for() const {
    // all requests are answered, so the flowgraph owes the next one
    if (requests_.empty()) return party::flowgraph;
    return party::peer;
}

void base_station::fill(openwip::control::MacStatus& status) const {
    const auto& s = mac_.statistics();
    status.set_slot(planned_.value);

    auto& down = *status.mutable_downlink();
    fill_downlink_sent(s, down);
    gate_.add_input(down);

    auto& up = *status.mutable_uplink();
    set(*up.mutable_in(), uplink_in_);
    set(*up.mutable_delivered(), gate_.delivered());
    set(*up.mutable_queued(), uplink_queued_);
    add_drop(up, "impossible_arrival", uplink_bad_arrival_);
    gate_.add_write_errors(up);
    set(*status.mutable_uplink_feedback(), feedback_);

    add_wired(to_base_.sums(), from_base_.sums(), status);

    fill_base(s, status);
    if (rules_) fill_rules(rules_->costs(), status);
    auto& r = *status.mutable_radio();
    r.set_late_slots(since(missed_at_reset_.late, missed_.late));
    r.set_underflows(since(missed_at_reset_.underflows, missed_.underflows));
    r.set_late_plans(since(missed_at_reset_.late_plans, missed_.late_plans));
    r.set_slots_left_out(since(missed_at_reset_.skipped, missed_.skipped));
    status.set_stale_messages(stale_);
}

void base_station::reset_counters() { missed_at_reset_ = missed_; }

void base_station::flush_telemetry() {
    frames_.flush();
    ip_.flush();
    packets_.flush();
}

void base_station::reconfigure(config::settings& next, const std::vector<std::string>& changed) {
    for (const auto& key : changed) next.check_station(key, "base");
    const macd_config all = translate(next);
    const link_config& wanted = all.link;
    mac_.reconfigure(wanted);
    to_base_.reconfigure(all.to_base);
    from_base_.reconfigure(all.from_base);
    packets_.set_rate(all.telemetry.packets_per_second);
    if (wanted.retransmission_delay_slots != link_.retransmission_delay_slots)
        loop_to_tell_ = wanted.retransmission_delay_slots;
    link_ = wanted;
    tell_loop();
}

// Sends the retransmission delay, as far ahead as which the terminal predicts.
void base_station::tell_loop() {
    if (loop_to_tell_ == 0) return;
    openwip::uplink::DownlinkControl note;
    note.set_loop_slots(static_cast<std::uint32_t>(loop_to_tell_));
    if (port_->to_peer(note)) loop_to_tell_ = 0;
}

void base_station::say_goodbye(const stop_reason& why) {
    openwip::uplink::DownlinkControl note;
    note.set_stop(why.words);
    note.set_cause(why.cause);
    port_->to_peer(note);
}

}  // namespace wip::host
