// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/am_transmitter.h"

#include <algorithm>
#include <limits>

namespace wip::umts {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace

am_transmitter::am_transmitter(const am_config& config, placed_fn placed, discarded_fn discarded)
    : config_(config),
      placed_(std::move(placed)),
      discarded_(std::move(discarded)),
      builder_(data_mode::acknowledged, config.pdu_bytes, config.special_he),
      window_(config.window) {
    config.check();
    ring_.resize(static_cast<std::size_t>(config.window) + 1);
    for (auto& s : ring_) s.bytes.resize(static_cast<std::size_t>(config.pdu_bytes));
    // Room for the SDUs of the queue, and for those that are sent and not acknowledged, at one PDU
    // each. If they are shorter there may be more.
    sdus_.resize(static_cast<std::size_t>(config.queue_sdus + config.window));
    for (auto& h : sdus_) h.data.reserve(static_cast<std::size_t>(config.largest_sdu));
    data_.reserve(static_cast<std::size_t>(config.pdu_bytes));
}

bool am_transmitter::on_sdu(std::span<const std::uint8_t> data, std::uint64_t id,
                            std::int64_t now_ns) {
    if (waiting_sdus() >= static_cast<std::size_t>(config_.queue_sdus) || data.empty() ||
        static_cast<int>(data.size()) > config_.largest_sdu) {
        ++counts_.refused;
        return false;
    }
    if (count_ == sdus_.size()) grow();
    held& h = sdu(count_++);
    h.data.assign(data.begin(), data.end());
    h.id = id;
    h.since_ns = now_ns;
    h.first_sn = h.end_sn = -1;
    h.taken = h.end = 0;
    h.is_discarded = false;
    return true;
}

void am_transmitter::grow() {
    std::rotate(sdus_.begin(), sdus_.begin() + static_cast<std::ptrdiff_t>(front_), sdus_.end());
    carried_sdu_ = (carried_sdu_ + sdus_.size() - front_) % sdus_.size();
    front_ = 0;
    sdus_.resize(2 * sdus_.size());
}

bool am_transmitter::can_make_pdu() const {
    return !blocked_by_discard_ && next_sn_ < first_sn_ + window_ &&
           (unsent_ < count_ || carry_ != pdu_builder::carry::nothing);
}

// Makes the PDU with the number next_sn_ from the queued SDUs.
void am_transmitter::make_pdu() {
    stored& s = at(next_sn_);
    s.transmissions = 0;
    s.acknowledged = s.waiting = s.is_obsolete = s.ends_sdu = false;
    data_.clear();
    builder_.begin(static_cast<std::uint16_t>(next_sn_ % sn_space), carry_, false);
    const auto ended = [&](held& h, int end) {
        h.end_sn = next_sn_;
        h.end = end;
        s.ends_sdu = true;
        if (!h.is_discarded) placed_(h.id, {epoch_, next_sn_, end}, h.first_sn);
    };
    if (carry_ != pdu_builder::carry::nothing) ended(sdus_[carried_sdu_], 1);
    carry_ = pdu_builder::carry::nothing;
    while (unsent_ < count_ && !builder_.full()) {
        held& h = sdu(unsent_);
        if (h.first_sn < 0) {
            h.first_sn = next_sn_;
            h.begins_pdu = !s.ends_sdu;
        }
        const auto part = builder_.take(static_cast<int>(h.data.size()) - h.taken);
        data_.insert(data_.end(), h.data.begin() + h.taken, h.data.begin() + h.taken + part.bytes);
        h.taken += part.bytes;
        if (h.taken < static_cast<int>(h.data.size())) break;
        if (part.ends)
            ended(h, part.li);
        else
            carried_sdu_ = (front_ + unsent_) % sdus_.size();
        ++unsent_;
    }
    carry_ = builder_.carried();
    s.padding_place = builder_.finish(data_, s.bytes);
    ++next_sn_;
}

// The lowest SN that waits for retransmission; -1: none.
std::int64_t am_transmitter::retransmission() const {
    if (waiting_ == 0) return -1;
    for (std::int64_t sn = first_sn_; sn < next_sn_; ++sn)
        if (at(sn).waiting) return sn;
    return -1;
}

// The PDU that a poll without a PDU of its own goes with; -1: nothing is outstanding.
std::int64_t am_transmitter::poll_candidate() const {
    for (std::int64_t sn = next_sn_ - 1; sn >= first_sn_; --sn)
        if (!at(sn).acknowledged && !at(sn).is_obsolete) return sn;
    return -1;
}

bool am_transmitter::has_pdu() const {
    return waiting_ > 0 || can_make_pdu() || (poll_due_ && poll_candidate() >= 0);
}

std::size_t am_transmitter::padding_ahead() const {
    const auto size = static_cast<std::size_t>(config_.pdu_bytes);
    if (const std::int64_t sn = retransmission(); sn >= 0) return at(sn).padding_place.room(size);
    if (!can_make_pdu()) {
        const std::int64_t old = poll_due_ ? poll_candidate() : -1;
        return old < 0 ? 0 : at(old).padding_place.room(size);
    }
    const auto li = static_cast<std::size_t>(li_bytes(data_mode::acknowledged, config_.pdu_bytes));
    std::size_t used = 2 + li + (carry_ == pdu_builder::carry::nothing ? 0 : li);
    for (std::size_t i = unsent_; i < count_ && used < size; ++i)
        used += sdu(i).data.size() - static_cast<std::size_t>(sdu(i).taken) + li;
    return used < size ? size - used : 0;
}

bool am_transmitter::next_pdu(std::span<std::uint8_t> pdu, std::span<const std::uint8_t> status,
                              std::int64_t now_ns) {
    std::int64_t sn = retransmission();
    bool first_time = false;
    if (sn < 0 && can_make_pdu()) {
        make_pdu();
        sn = next_sn_ - 1;
        first_time = true;
    }
    if (sn < 0 && poll_due_ && (sn = poll_candidate()) >= 0) ++counts_.for_polls;
    if (sn < 0) return false;
    send(sn, pdu, status, first_time, now_ns);
    return true;
}

// Whether this PDU triggers a poll. The counters since the last poll include it already.
bool am_transmitter::poll_wanted(const stored& s, bool first_time) const {
    const bool last = first_time ? !can_make_pdu() : waiting_ == 0;
    if (last && (first_time ? config_.poll_last : config_.poll_last_retransmitted)) return true;
    if (config_.poll_pdus > 0 && pdus_since_poll_ >= config_.poll_pdus) return true;
    if (config_.poll_sdus > 0 && s.ends_sdu && first_time && sdus_since_poll_ >= config_.poll_sdus)
        return true;
    return config_.poll_window_percent > 0 && first_time &&
           (next_sn_ - first_sn_) * 100 >= std::int64_t{config_.poll_window_percent} * window_;
}

void am_transmitter::send(std::int64_t sn, std::span<std::uint8_t> pdu,
                          std::span<const std::uint8_t> status, bool first_time,
                          std::int64_t now_ns) {
    stored& s = at(sn);
    if (s.waiting) s.waiting = false, --waiting_;
    ++s.transmissions;
    ++counts_.pdus;
    if (!first_time) ++counts_.retransmissions;
    ++pdus_since_poll_;
    if (first_time && s.ends_sdu) ++sdus_since_poll_;
    if (poll_period_ns_ < 0 && config_.poll_period_ns > 0)
        poll_period_ns_ = now_ns + config_.poll_period_ns;
    bool poll = poll_due_ || poll_wanted(s, first_time);
    if (poll && now_ns < prohibited_until_ns_) {
        poll_deferred_ = true;
        poll_due_ = poll = false;
    }
    if (poll) {
        poll_due_ = poll_deferred_ = false;
        pdus_since_poll_ = sdus_since_poll_ = 0;
        prohibited_until_ns_ = now_ns + config_.poll_prohibit_ns;
        polled_up_to_ = next_sn_;
        if (config_.poll_timer_ns > 0) poll_timer_ns_ = now_ns + config_.poll_timer_ns;
        ++counts_.polls;
    }
    std::ranges::copy(s.bytes, pdu.begin());
    if (!status.empty() && status.size() <= s.padding_place.room(pdu.size()))
        put_status(pdu, s.padding_place, status);
    set_poll(pdu, poll);
}

// True if the status is older than one that has been processed since: it came late.
bool am_transmitter::is_stale(const status_content& c) const {
    constexpr int reach = sn_space / 4;
    const auto behind = [&](std::uint16_t sn) {
        const std::int64_t ahead = absolute(sn) - first_sn_;
        return ahead > next_sn_ - first_sn_ && ahead >= sn_space - reach;
    };
    return (c.ack && behind(*c.ack)) || std::ranges::any_of(c.missing, behind);
}

// Whether a status mentions PDUs that were never sent.
bool am_transmitter::is_wrong(const status_content& c) const {
    return (c.ack && absolute(*c.ack) > next_sn_) ||
           std::ranges::any_of(c.missing,
                               [&](std::uint16_t sn) { return absolute(sn) >= next_sn_; });
}

bool am_transmitter::on_status(const status_content& c) {
    if (is_stale(c)) return true;
    if (is_wrong(c)) return false;
    const int before = window_;
    if (c.window && *c.window > 0) window_ = std::min<int>(*c.window, config_.window);
    if (c.move_ack) on_move_ack(*c.move_ack);
    const std::int64_t last_at_max_dat = take_missing(c);
    if (c.ack) take_ack(absolute(*c.ack));
    if (last_at_max_dat >= 0) on_max_dat(last_at_max_dat);
    slide();
    // The PDU that was sent last is now the last of the smaller window, and it carried no poll.
    if (window_ < before && config_.poll_last && next_sn_ >= first_sn_ + window_)
        poll_due_ |= poll_candidate() >= 0;
    return true;
}

void am_transmitter::on_arrival(std::uint16_t number) {
    const std::int64_t sn = absolute(number);
    if (sn >= next_sn_) return;
    stored& s = at(sn);
    if (s.waiting) s.waiting = false, --waiting_;
    s.acknowledged = true;
    slide();
}

void am_transmitter::on_loss(std::uint16_t number) {
    const std::int64_t sn = absolute(number);
    if (sn >= next_sn_) return;
    stored& s = at(sn);
    if (s.acknowledged || s.is_obsolete || s.waiting) return;
    s.waiting = true;
    ++waiting_;
}

// The last of the missing PDUs that has been sent max_dat times; -1: none. The others wait to be
// sent again.
std::int64_t am_transmitter::take_missing(const status_content& c) {
    const bool counted = max_dat_counts();
    std::int64_t last_at_max_dat = -1;
    ++status_count_;
    for (const auto m : c.missing) {
        const std::int64_t sn = absolute(m);
        // An MRW_ACK in the same status may have moved the window.
        if (sn >= next_sn_) continue;
        stored& s = at(sn);
        s.named_in_status = status_count_;
        if (sn == polled_up_to_ - 1) poll_timer_ns_ = -1;  // the poll is answered
        if (s.acknowledged || s.is_obsolete || s.waiting) continue;
        if (counted && s.transmissions >= config_.max_dat) {
            last_at_max_dat = std::max(last_at_max_dat, sn);
        } else {
            s.waiting = true;
            ++waiting_;
        }
    }
    return last_at_max_dat;
}

void am_transmitter::take_ack(std::int64_t up_to) {
    if (up_to > next_sn_) return;
    bool poll_answered = true;
    for (std::int64_t sn = first_sn_; sn < up_to; ++sn) {
        stored& s = at(sn);
        if (s.named_in_status == status_count_) {
            poll_answered &= sn >= polled_up_to_;
            continue;
        }
        if (s.waiting) s.waiting = false, --waiting_;
        s.acknowledged = true;
    }
    if (poll_answered && up_to >= polled_up_to_) poll_timer_ns_ = -1;
}

// Whether the receiver has all PDUs of the SDU, and knows where it begins. If the SDU begins a PDU,
// that takes the PDU before it.
bool am_transmitter::got_through(const held& h) const {
    if (h.end_sn < 0) return false;
    for (std::int64_t sn = std::max(h.first_sn - (h.begins_pdu ? 1 : 0), first_sn_); sn <= h.end_sn;
         ++sn)
        if (!at(sn).acknowledged) return false;
    return true;
}

// Discards the first `sdus` of the held SDUs, and their PDUs that hold nothing else.
void am_transmitter::discard_up_to(std::size_t sdus) {
    bool any = false;
    for (std::size_t i = 0; i < sdus; ++i) {
        held& h = sdu(i);
        if (h.is_discarded || got_through(h)) continue;
        h.is_discarded = any = true;
        ++counts_.discarded;
        discarded_(h.id);
    }
    if (!any) return;
    held& last = sdu(sdus - 1);
    std::int64_t sn = next_sn_;
    int n = 0;
    if (last.first_sn < 0) {
        // Nothing of the last SDU was sent. An earlier one may have been sent in part.
        blocked_by_discard_ |=
            carry_ != pdu_builder::carry::nothing || (unsent_ < sdus && sdu(unsent_).first_sn >= 0);
        unsent_ = std::max(unsent_, sdus);
        carry_ = pdu_builder::carry::nothing;
    } else if (last.end_sn < 0) {
        // The rest of the last SDU is not sent; the next PDU begins with another SDU.
        blocked_by_discard_ = true;
        last.end_sn = next_sn_;
        unsent_ = std::max(unsent_, sdus);
        carry_ = pdu_builder::carry::nothing;
    } else {
        sn = last.end_sn;
        n = last.end;
        read_pdu(data_mode::acknowledged, at(sn).bytes, content_);
        if (n >= static_cast<int>(content_.segments.size())) ++sn, n = 0;
        n = std::min(n, 15);  // the field has 4 bits; later ends of this PDU are not discarded
    }
    if (sn <= first_sn_ && n == 0 && !blocked_by_discard_) {
        slide();
        return;  // nothing that the receiver could wait for
    }
    for (std::int64_t k = first_sn_; k < sn && k < next_sn_; ++k) {
        stored& s = at(k);
        if (s.waiting) s.waiting = false, --waiting_;
        s.is_obsolete = true;
    }
    move_ = window_move{static_cast<std::uint16_t>(sn % sn_space), static_cast<std::uint8_t>(n)};
    move_sn_ = sn;
    moves_sent_ = 0;
    move_due_ = true;
    move_timer_ns_ = -1;
}

// This PDU has been sent max_dat times: discards the SDUs up to and including its own, or asks for
// a RESET.
void am_transmitter::on_max_dat(std::int64_t sn) {
    if (config_.discard == discard_mode::reset) {
        reset_due_ = true;
        return;
    }
    std::size_t n = 0;
    while (n < count_ && sdu(n).first_sn >= 0 && sdu(n).first_sn <= sn) ++n;
    discard_up_to(n);
}

void am_transmitter::on_move_ack(const window_move& m) {
    if (!move_) return;
    // How far the SN is ahead of the one in the MRW, modulo the SN space.
    const int ahead = (m.sn - move_->sn + sn_space) % sn_space;
    if (ahead >= sn_space / 2 || ahead > next_sn_ - move_sn_ + 1) return;
    if (ahead == 0 ? m.n != move_->n : blocked_by_discard_) return;
    for (std::int64_t sn = first_sn_; sn < move_sn_ && sn < next_sn_; ++sn) {
        stored& s = at(sn);
        if (s.waiting) s.waiting = false, --waiting_;
        s.acknowledged = true;
    }
    move_.reset();
    move_due_ = blocked_by_discard_ = false;
    move_timer_ns_ = -1;
    slide();
}

void am_transmitter::slide() {
    while (first_sn_ < next_sn_ && at(first_sn_).acknowledged) ++first_sn_;
    while (count_ > 0) {
        const held& h = sdu(0);
        const bool sent = h.end_sn >= 0 && h.end_sn < first_sn_;
        // An SDU is also removed if it was discarded before any of it, or before the rest of it,
        // was sent.
        if (!sent && !(h.is_discarded && unsent_ > 0 && (h.first_sn < 0 || h.end_sn <= first_sn_)))
            break;
        if (carry_ != pdu_builder::carry::nothing && carried_sdu_ == front_) break;
        drop_front();
    }
    if (first_sn_ == next_sn_) poll_timer_ns_ = -1;
}

void am_transmitter::drop_front() {
    front_ = (front_ + 1) % sdus_.size();
    --count_;
    if (unsent_ > 0) --unsent_;
}

void am_transmitter::move_sent(std::int64_t now_ns) {
    move_due_ = false;
    ++moves_sent_;
    ++counts_.moves;
    move_timer_ns_ = now_ns + config_.mrw_timer_ns;
}

void am_transmitter::advance(std::int64_t now_ns) {
    if (poll_timer_ns_ >= 0 && now_ns >= poll_timer_ns_) {
        poll_timer_ns_ = -1;
        poll_due_ |= poll_candidate() >= 0;
    }
    if (poll_period_ns_ >= 0 && now_ns >= poll_period_ns_) {
        while (poll_period_ns_ <= now_ns) poll_period_ns_ += config_.poll_period_ns;
        poll_due_ |= poll_candidate() >= 0 || can_make_pdu();
    }
    if (now_ns < prohibited_until_ns_) {
        poll_deferred_ |= poll_due_;
        poll_due_ = false;
    } else if (poll_deferred_) {
        poll_deferred_ = false;
        poll_due_ |= poll_candidate() >= 0 || can_make_pdu();
    }
    if (poll_due_ && polls_count() && waiting_ == 0 && !can_make_pdu()) {
        const std::int64_t sn = poll_candidate();
        if (sn >= 0 && at(sn).transmissions >= config_.max_dat) {
            on_max_dat(sn);
            poll_due_ = !reset_due_ && poll_candidate() >= 0;
        }
    }
    if (move_ && move_timer_ns_ >= 0 && now_ns >= move_timer_ns_) {
        move_timer_ns_ = -1;
        if (moves_sent_ >= config_.max_mrw)
            reset_due_ = true;
        else
            move_due_ = true;
    }
    if (config_.discard == discard_mode::timer) {
        std::size_t n = 0;
        while (n < count_ && now_ns - sdu(n).since_ns >= config_.discard_ns) ++n;
        while (n > 0 && (sdu(n - 1).is_discarded || got_through(sdu(n - 1)))) --n;
        discard_up_to(n);
    }
}

std::int64_t am_transmitter::next_wakeup() const {
    std::int64_t next = never;
    for (const std::int64_t t : {poll_timer_ns_, poll_period_ns_, move_timer_ns_})
        if (t >= 0) next = std::min(next, t);
    if (poll_deferred_) next = std::min(next, prohibited_until_ns_);
    if (config_.discard == discard_mode::timer)
        for (std::size_t i = 0; i < count_; ++i)
            if (!sdu(i).is_discarded && !got_through(sdu(i)))
                return std::min(next, sdu(i).since_ns + config_.discard_ns);
    return next;
}

void am_transmitter::reset(std::uint32_t epoch) {
    for (std::size_t i = 0; i < count_ && (sdu(i).first_sn >= 0 || sdu(i).is_discarded); ++i) {
        held& h = sdu(i);
        if (h.is_discarded || got_through(h)) continue;
        ++counts_.discarded;
        discarded_(h.id);
    }
    while (count_ > 0 && (sdu(0).first_sn >= 0 || sdu(0).is_discarded)) {
        if (unsent_ == 0) ++unsent_;
        drop_front();
    }
    unsent_ = 0;
    epoch_ = epoch;
    first_sn_ = next_sn_ = polled_up_to_ = 0;
    window_ = config_.window;
    waiting_ = pdus_since_poll_ = sdus_since_poll_ = 0;
    carry_ = pdu_builder::carry::nothing;
    poll_due_ = poll_deferred_ = move_due_ = reset_due_ = blocked_by_discard_ = false;
    poll_timer_ns_ = poll_period_ns_ = move_timer_ns_ = -1;
    prohibited_until_ns_ = 0;
    move_.reset();
}

}  // namespace wip::umts
