// SPDX-License-Identifier: GPL-3.0-or-later
#include "cell_world.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "frame_error.h"
#include "mac_scope.h"
#include "types/slot_time.h"
#include "wire/ip_header.h"

namespace wip::sim {
cell_world::cell_world(const world_config& config)
    : config_(config),
      random_(config.seed),
      base_(config.link, config.first_sn),
      terminal_(config.link, [this](std::span<const std::uint8_t> p, bool d) { delivered(p, d); }),
      horizon_(config.link.retransmission_delay_slots),
      heard_sn_(config.first_sn),
      next_sn_(config.first_sn),
      oracle_(std::make_unique<packet_oracle>(config.link, config.first_sn)) {
    terminal_.report_to(&reports_);
    aired_.first_new_sn = static_cast<wire_sn>(config.first_sn);
    if (!config.follow_packets) return;
    journal_ = std::make_unique<packet_journal>([this](const packet_record& r) {
        const mac_scope outside(false);
        try {
            oracle_->on_record(r);
        } catch (const std::logic_error& e) {
            violated(e.what());
        }
    });
    base_.follow_packets(journal_.get());
}

cell_world::~cell_world() = default;

void cell_world::reconfigure(const link_config& link) {
    base_.reconfigure(link);
    oracle_->set_packing(link.packing);
    config_.link = link;
    horizon_ = link.retransmission_delay_slots;
}

void cell_world::violated(const std::string& what) const {
    throw std::logic_error("slot " + std::to_string(now_) + ", seed " +
                           std::to_string(config_.seed) + ": " + what);
}

void cell_world::mix(std::uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8) digest_ = (digest_ ^ (value & 0xff)) * 1099511628211U;
}

void cell_world::offer() {
    const auto& t = config_.traffic;
    const auto one = [&] {
        packet_kind kind;
        kind.version = random_.hits(t.ipv6) ? 6 : 4;
        kind.bytes = t.least_bytes + random_.up_to(t.most_bytes - t.least_bytes + 1);
        if (kind.version == 6) kind.bytes = std::max(kind.bytes, 48);
        if (random_.hits(t.zeros)) kind.fill = 0;
        kind.nested = kind.version == 4 && random_.hits(t.nested);
        if (kind.nested) kind.protocol = 4;
        kind.crafted = t.crafted > 0 && random_.hits(t.crafted);
        if (t.filled > 0 && random_.hits(t.filled)) kind.fill = random_.up_to(256);
        if (t.protocols > 0 && random_.hits(t.protocols)) kind.protocol = random_.up_to(256);
        const std::uint32_t number = next_number_++;
        // Some time in the slot before; never back.
        arrival_ns_ = std::max(arrival_ns_, slot_start_ns(slot(now_ - 1))) + number % 977;
        if (journal_) journal_->set_now(arrival_ns_);
        auto packet = make_packet(number, kind);
        const bool is_ip = t.not_ip <= 0 || !random_.hits(t.not_ip);
        if (!is_ip) packet.push_back(0);
        oracle_->on_offer(static_cast<int>(packet.size()), arrival_ns_,
                          is_ip ? "queue_full" : "not_ip");
        const bool accepted = [&] {
            const mac_scope mac;
            return base_.on_sdu(packet, slot(now_));
        }();
        if (accepted && !is_ip) violated("accepted what is no IP packet");
        if (accepted) oracle_->on_accepted();
        packets_.push_back({kind, accepted, false});
        return accepted || !is_ip;
    };
    if (t.saturate) {
        // Fills the queue up to its limit, and now and then beyond it.
        for (int i = 0; i < 200; ++i)
            if (!one()) break;
        return;
    }
    for (owed_ += t.packets_per_slot * 2 * random_.uniform(); owed_ >= 1; owed_ -= 1) one();
}

// The terminal's report about a packet tells which packet it is: where it started in the stream.
void cell_world::delivered(std::span<const std::uint8_t> packet, bool damaged) {
    const mac_scope outside(false);
    const packet_report& report = reports_.reports().back();
    if (report.bytes != packet.size()) violated("a report about another length than was delivered");
    const std::int64_t at = oracle_->packet_at(report.sn, report.nibble);
    if (at < 0) violated("delivered bytes that start no packet");
    const auto number = static_cast<std::uint32_t>(at + 1);
    const auto packet_violated = [&](const std::string& what) {
        violated("packet " + std::to_string(number) + " " + what);
    };
    mix(number);
    packet_track& t = packets_[number];
    if (t.delivered) packet_violated("delivered twice");
    if (config_.link.in_order && number < last_delivered_)
        packet_violated("delivered after " + std::to_string(last_delivered_));
    t.delivered = true;
    last_delivered_ = number;
    oracle_->on_delivered(number - 1, damaged, now_);
    const auto sent = make_packet(number, t.kind);
    if (!damaged) {
        if (!std::ranges::equal(sent, packet)) packet_violated("altered");
        ++intact_;
        return;
    }
    if (!config_.link.deliver_corrupt) packet_violated("delivered damaged without leave");
    if (sent.size() != packet.size())
        packet_violated("of " + std::to_string(sent.size()) + " bytes delivered damaged with " +
                        std::to_string(packet.size()));
    ++damaged_;
    const auto header = static_cast<std::ptrdiff_t>(t.kind.version == 4 ? 20 : 40);
    if (std::equal(sent.begin(), sent.begin() + header, packet.begin())) return;
    if (t.kind.version == 6 || !read_ip_header(packet))
        packet_violated("delivered with a damaged header");
    ++altered_headers_;
}

void cell_world::black_out(blackout_kind kind, std::int64_t slots) {
    blackout_ = kind;
    blackout_left_ = slots;
}

void cell_world::skip(std::int64_t slots) {
    if (slots > blackout_left_ || std::ranges::any_of(flight_, &in_flight::used))
        violated("something happens in the slots that are skipped");
    now_ += slots;
    blackout_left_ -= slots;
}

void cell_world::update_channel() {
    const auto& c = config_.channel;
    if (blackout_left_ > 0 && !gain_[0].empty() && gain_[0].size() > std::size_t(horizon_)) return;
    const double mean = std::sqrt(std::pow(10, c.mean_snr_db / 10));
    const bool still = !c.fading && !gain_[0].empty();  // the channel does not change
    for (auto& g : gain_) {
        if (still) break;
        if (!g.empty()) g.pop_front();
        while (static_cast<std::int64_t>(g.size()) <= horizon_) {
            if (!c.fading) {
                g.emplace_back(mean, 0.0);
                continue;
            }
            const double a = g.empty() ? 0 : c.coherence;
            const double b = std::sqrt((1 - a * a) / 2) * mean;
            const std::complex<double> old = g.empty() ? 0 : g.back();
            g.push_back(a * old + std::complex<double>(b * random_.gauss(), b * random_.gauss()));
        }
    }
    if (outage_left_ > 0)
        --outage_left_;
    else if (c.outage_slots > 0 && random_.hits(c.outage_start))
        outage_left_ = c.outage_slots;
    if (burst_left_ > 0)
        --burst_left_;
    else if (c.burst_slots > 0 && random_.hits(c.burst_start))
        burst_left_ = c.burst_slots;
}

slot_report cell_world::transmit(const slot_plan& plan) {
    const auto& c = config_.channel;
    slot_report r;
    r.air = plan.air;
    const bool dark = blackout_left_ > 0 && blackout_ != blackout_kind::feedback;
    r.locked = outage_left_ == 0 && (!dark || blackout_ == blackout_kind::grants);
    if (!r.locked) return r;
    const double mean = std::pow(10, c.mean_snr_db / 10);
    const double s = c.prediction_nmse > 0 ? 1 - std::sqrt(1 - 2 * c.prediction_nmse) : 0;
    if (!c.fading && s <= 0) {
        r.snr_db.fill(static_cast<float>(c.mean_snr_db));
        r.predicted_snr_db = r.snr_db;
    }
    for (std::size_t b = 0; b < nof_bins && (c.fading || s > 0); ++b) {
        r.snr_db[b] = static_cast<float>(10 * std::log10(std::norm(gain_[b].front()) + 1e-12));
        const auto ahead = gain_[b][static_cast<std::size_t>(horizon_)];
        double predicted = std::norm(ahead);
        if (s > 0) {  // conditional mean: g^ = (1 - s) g + noise, power |g^|^2 + s
            const double n = std::sqrt(s * (1 - s) * mean / 2);
            predicted = std::norm((1 - s) * ahead +
                                  std::complex<double>(n * random_.gauss(), n * random_.gauss())) +
                        s * mean;
        }
        r.predicted_snr_db[b] = static_cast<float>(10 * std::log10(predicted + 1e-12));
    }
    r.prediction_nmse = static_cast<float>(c.prediction_nmse);
    if (random_.hits(c.grant_loss) || dark) {
        r.outcome.fill(frame_outcome::unknown);
        return r;
    }
    std::array<std::uint8_t, grant_bytes> bits;
    if (!pack_grant(plan.grant, config_.link.profile, bits)) violated("grant does not pack");
    const auto grant = unpack_grant(bits, config_.link.profile);
    if (!grant) violated("grant does not unpack");
    r.grant_ok = true;
    r.grant = *grant;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const int k = grant->bins[b].bits_per_symbol;
        if (k == 0) continue;
        const double p_ok =
            c.frame_error >= 0 ? 1 - c.frame_error : frame_ok(k, std::norm(gain_[b].front()));
        const bool good = burst_left_ == 0 && random_.hits(p_ok);
        r.outcome[b] = good ? frame_outcome::good : frame_outcome::bad;
        r.payload[b] = plan.payload[b];
        if (!good) {
            const int errors = 1 + random_.up_to(8);
            for (int e = 0; e < errors; ++e) {
                auto& byte = r.payload[b][static_cast<std::size_t>(
                    random_.up_to(static_cast<int>(r.payload[b].size())))];
                byte = static_cast<std::uint8_t>(byte ^ (1 << random_.up_to(8)));
            }
        }
    }
    return r;
}

cell_world::nibbles cell_world::coverage(const bin_grant& g, const frame_track& f) const {
    nibbles n;
    const int room = frame_payload_nibbles(config_.link.profile, g.bits_per_symbol);
    const int from = g.whole ? 0 : g.offset;
    for (int i = from; i < std::min(from + room, f.length); ++i) n.set(static_cast<std::size_t>(i));
    return n;
}

// A unit may carry nibbles behind its own that other units answer for (rlc/unit.h). How many are
// its own is not on the air; but it went at the lowest modulation that holds them.
cell_world::nibbles cell_world::answers_for(const bin_grant& g, const frame_track& f) const {
    if (!g.retransmission || g.whole) return coverage(g, f);
    nibbles n;
    const int lower = g.bits_per_symbol - 1;
    const int least = lower == 0 ? 1 : frame_payload_nibbles(config_.link.profile, lower) + 1;
    for (int i = g.offset; i < std::min(g.offset + least, f.length); ++i)
        n.set(static_cast<std::size_t>(i));
    return n;
}

void cell_world::check_plan(const slot_plan& plan, std::uint64_t overflows_before) {
    const std::int64_t first_new = next_sn_;
    if (plan.grant.first_new_sn != static_cast<wire_sn>(first_new))
        violated("first new SN is not the next one");
    if (plan.grant.frame_number != frame_number_of(plan.air)) violated("frame number");
    const std::int64_t edge = first_new - plan.grant.window_edge;
    while (!frames_.empty() && frames_.begin()->first < edge) frames_.erase(frames_.begin());
    while (!waiting_.empty() && *waiting_.begin() < edge) waiting_.erase(waiting_.begin());
    int used = 0;
    bool fresh = false;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = plan.grant.bins[b];
        if (g.bits_per_symbol == 0) {
            if (!plan.payload[b].empty()) violated("payload in an unused bin");
            continue;
        }
        ++used;
        if (g.bits_per_symbol > max_bits_per_symbol) violated("modulation");
        if (static_cast<int>(plan.payload[b].size()) !=
            frame_payload_bytes(config_.link.profile, g.bits_per_symbol))
            violated("payload size");
        if (!g.retransmission) {
            fresh = true;
            if (g.sn != static_cast<wire_sn>(next_sn_)) violated("new SNs not consecutive");
            frame_track& f = frames_[next_sn_];
            f.sn = next_sn_++;
            f.length = frame_payload_nibbles(config_.link.profile, g.bits_per_symbol);
            f.last_whole = now_;
            f.last_sent[0] = now_;
            for (auto& t : f.times) t = 1;
            continue;
        }
        frame_track* const held = find_frame(g.sn);
        if (held == nullptr) violated("retransmission of a frame that is not held");
        frame_track& f = *held;
        const auto before = f.last_sent.find(g.offset);
        if (before != f.last_sent.end() && before->second > settled_)
            violated("unit sent again too early");
        if (f.last_whole > settled_) violated("frame sent again too early");
        const nibbles n = coverage(g, f);
        if (n.none()) violated("empty unit");
        if (f.answered.test(g.offset)) violated("acknowledged part sent again");
        f.due &= ~n;
        if (f.due.none()) waiting_.erase(f.sn);
        f.last_sent[g.offset] = now_;
        if (g.whole) f.last_whole = now_;
        for (std::size_t i = 0; i < f.times.size(); ++i)
            if (n.test(i) && f.times[i] < 255) ++f.times[i];
    }
    if (used > config_.link.bins) violated("more bins than the terminal has");
    if (fresh && base_.statistics().grant_overflows == overflows_before && !waiting_.empty())
        violated("new frame while SN " + std::to_string(*waiting_.begin()) + " waits");
}

// The nearest SN with these 16 bits that lies behind the next one.
cell_world::frame_track* cell_world::find_frame(wire_sn sn) {
    const auto it = frames_.find(next_sn_ - 1 - static_cast<wire_sn>(next_sn_ - 1 - sn));
    return it == frames_.end() ? nullptr : &it->second;
}

void cell_world::check_feedback(const slot_report& report, const slot_feedback& feedback) {
    if (feedback.air.value != now_) violated("feedback for another slot");
    if (!feedback.grant_ok) {
        if (feedback.ack != 0) violated("ACK without a grant");
        return;
    }
    last_grant_ = now_;
    heard_sn_ = next_sn_;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = report.grant.bins[b];
        const bool acknowledged = (feedback.ack >> b & 1U) != 0;
        if (g.bits_per_symbol == 0) {
            if (acknowledged) violated("ACK of a bin that was not sent");
            continue;
        }
        frame_track& f = *find_frame(g.sn);
        const nibbles n = coverage(g, f);
        const bool good = report.outcome[b] == frame_outcome::good;
        if (good) f.there |= n;
        const auto unit_violated = [&](const std::string& what) {
            violated(what + ": SN " + std::to_string(f.sn) + " of " + std::to_string(f.length) +
                     " nibbles, " + (g.whole ? "whole" : "from " + std::to_string(g.offset)) +
                     (g.last ? " to its end" : "") + " at " + std::to_string(g.bits_per_symbol));
        };
        if (good && !acknowledged) unit_violated("no ACK of a good frame");
        if (acknowledged && (n & ~f.there).any()) unit_violated("ACK of what has not arrived");
    }
}

// The base station's knowledge of slot `s` from plan(s + delay) on.
void cell_world::resolve(std::int64_t s) {
    settled_ = std::max(settled_, s);
    for (; !flight_.empty() && flight_.front().slot <= s; flight_.pop_front())
        answer(flight_.front());
}

void cell_world::answer(const in_flight& in) {
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const bin_grant& g = in.grant.bins[b];
        if (g.bits_per_symbol == 0) continue;
        frame_track* const held = find_frame(g.sn);
        if (held == nullptr) continue;
        frame_track& f = *held;
        if (in.slot > settled_) {  // the slot was not sent
            f.last_sent[g.offset] = settled_;
            f.last_whole = std::min(f.last_whole, settled_);
        }
        const nibbles n = coverage(g, f);
        if ((in.acked >> b & 1U) != 0) {
            f.acked |= n;
            f.answered |= answers_for(g, f);
            if (static_cast<int>(f.answered.count()) == f.length) oracle_->on_acknowledged(f.sn);
            f.due &= ~n;
        } else {
            f.due |= n & ~f.acked;
            // A part of it may be on the way in another unit.
            if (g.retransmission && !g.whole)
                for (const auto& later : flight_) {
                    if (later.slot <= in.slot) continue;
                    for (const auto& lg : later.grant.bins)
                        if (lg.bits_per_symbol != 0 && lg.sn == g.sn) f.due &= ~coverage(lg, f);
                }
        }
        // Given up: the base station says so by its window edge only once it is the oldest.
        for (const auto times : f.times)
            if (times > config_.link.max_retransmissions) f.dropped = true;
        if (f.dropped) f.due.reset();
        if (f.due.any())
            waiting_.insert(f.sn);
        else
            waiting_.erase(f.sn);
    }
}

void cell_world::hear(const slot_feedback& feedback) {
    const mac_scope mac;
    base_.on_feedback(feedback);
}

void cell_world::check_sums() const {
    const auto& b = base_.statistics();
    if (b.in.packets != b.queued.packets + b.sent.packets + b.dropped_queue_full.packets +
                            b.dropped_not_ip.packets + b.dropped_retransmissions.packets)
        violated("packets at the base station do not add up");
    if (b.in.bytes != b.queued.bytes + b.sent.bytes + b.dropped_queue_full.bytes +
                          b.dropped_not_ip.bytes + b.dropped_retransmissions.bytes)
        violated("bytes at the base station do not add up");
    std::uint64_t flying = 0;
    for (const auto& f : flight_) flying += static_cast<std::uint64_t>(std::popcount(f.used));
    if (b.frames_sent != b.frames_acknowledged + b.frames_failed + flying)
        violated("transmissions do not add up");
    std::uint64_t by_modulation = 0;
    for (const auto n : b.modulation) by_modulation += n;
    if (by_modulation != b.frames_sent) violated("modulation histogram");
    const auto& t = terminal_.statistics();
    if (t.delivered.packets > b.in.packets) violated("more delivered than sent");
    if (t.started_over != 0) violated("the terminal started over");
    // 30 slots until the base station gives up on a terminal, which it knows a retransmission delay
    // later.
    if (next_sn_ - heard_sn_ > (30 + 48) * nof_bins) violated("too many frames sent blind");
}

void cell_world::step(bool with_traffic) {
    const std::int64_t delay = config_.link.retransmission_delay_slots;
    update_channel();
    if (with_traffic) offer();
    while (!held_feedback_.empty() && held_feedback_.front().air.value <= now_ - delay) {
        hear(held_feedback_.front());
        held_feedback_.pop_front();
    }
    resolve(now_ - delay);
    const std::uint64_t overflows = base_.statistics().grant_overflows;
    if (journal_) journal_->set_now(slot_start_ns(slot(now_)));
    slot_plan plan = [this] {
        const mac_scope mac;
        return base_.plan(slot(now_));
    }();
    oracle_->on_plan(plan, slot_start_ns(slot(now_)));
    if (plan.air.value != now_) violated("plan of another slot");
    check_plan(plan, overflows);

    in_flight fly;
    fly.slot = now_;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (plan.grant.bins[b].bits_per_symbol != 0) fly.used |= 1U << b;
        mix(plan.grant.bins[b].sn +
            (static_cast<std::uint64_t>(plan.grant.bins[b].bits_per_symbol) << 32));
        for (const auto byte : plan.payload[b]) digest_ = (digest_ ^ byte) * 1099511628211U;
    }
    fly.grant = plan.grant;
    const bool sent = config_.channel.not_sent <= 0 || !random_.hits(config_.channel.not_sent);
    if (!sent) plan.grant = quiet_grant(aired_, plan.air);
    aired_ = plan.grant;
    const slot_report report = transmit(plan);
    oracle_->on_report(report);
    const slot_feedback feedback = [&] {
        const mac_scope mac;
        const slot_feedback f = terminal_.on_slot(report);
        if (journal_)
            journal_->on_reports(reports_.reports(), reports_.count(), terminal_.decided_before(),
                                 slot(now_));
        return f;
    }();
    reports_.clear();
    mix(feedback.ack);
    if (sent)
        check_feedback(report, feedback);
    else if (feedback.ack != 0)
        violated("ACK of what was not sent");
    const bool mute = blackout_left_ > 0 &&
                      (blackout_ == blackout_kind::feedback || blackout_ == blackout_kind::all);
    if (!random_.hits(config_.channel.feedback_loss) && !mute) {
        if (feedback.locked && feedback.grant_ok) fly.acked = feedback.ack;
        if (config_.early_feedback)
            hear(feedback);
        else
            held_feedback_.push_back(feedback);
    }
    flight_.push_back(std::move(fly));
    if (!sent) {
        {
            const mac_scope mac;
            base_.on_not_sent(slot(now_));
        }
        answer(flight_.back());
        flight_.pop_back();
    }
    check_sums();
    if (blackout_left_ > 0) --blackout_left_;
    ++now_;
}

void cell_world::run(int slots, bool with_traffic) {
    for (int i = 0; i < slots; ++i) step(with_traffic);
}

bool cell_world::drain(std::int64_t most_slots) {
    std::int64_t idle_since = -1;
    for (std::int64_t i = 0; i < most_slots; ++i) {
        if (idle_since < 0 && base_.idle()) idle_since = now_;
        if (idle_since >= 0 && last_grant_ >= idle_since) {
            run(config_.link.retransmission_delay_slots + 3, false);
            return true;
        }
        step(false);
    }
    return false;
}

}  // namespace wip::sim
