// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/am_receiver.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wip::umts {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace

am_receiver::am_receiver(const am_config& config, deliver_fn deliver)
    : config_(config),
      deliver_(std::move(deliver)),
      content_(config.pdu_bytes),
      reread_(config.pdu_bytes) {
    config.check();
    const auto pdus_of_longest =
        static_cast<unsigned>(config.largest_sdu / (config.pdu_bytes - 3) + 4);
    ring_.resize(std::bit_ceil(static_cast<unsigned>(config.window) + pdus_of_longest));
    for (auto& s : ring_) s.bytes.resize(static_cast<std::size_t>(config.pdu_bytes));
    sdu_.reserve(longest_sdu);
    missing_.reserve(static_cast<std::size_t>(config.window) + 1);
}

const am_receiver::stored* am_receiver::find(std::int64_t sn) const {
    if (sn < 0) return nullptr;
    const stored& s = ring_[static_cast<std::size_t>(sn) % ring_.size()];
    return s.sn == sn ? &s : nullptr;
}

void am_receiver::reset(std::uint32_t epoch) {
    for (auto& s : ring_) release_octets(s, s.held), s.sn = -1;
    next_ = highest_ = floor_sn_ = 0;
    floor_segment_ = 0;
    epoch_ = epoch;
    status_wanted_ = false;
    move_ack_.reset();
    prohibited_until_ns_ = 0;
    next_periodic_ns_ = -1;
}

std::span<const std::uint8_t> am_receiver::on_pdu(std::span<const std::uint8_t> pdu,
                                                  std::int64_t now_ns) {
    if (static_cast<int>(pdu.size()) != config_.pdu_bytes ||
        !read_pdu(data_mode::acknowledged, pdu, content_)) {
        ++counts_.malformed;
        return {};
    }
    ++counts_.pdus;
    const std::span<const std::uint8_t> status = content_.status_offset == 0
                                                     ? std::span<const std::uint8_t>{}
                                                     : pdu.subspan(content_.status_offset);
    if (content_.poll) status_wanted_ = true;
    if (next_periodic_ns_ < 0 && config_.status_period_ns > 0)
        next_periodic_ns_ = now_ns + config_.status_period_ns;
    const std::int64_t ahead = (content_.sn - next_ % sn_space + sn_space) % sn_space;
    const std::int64_t sn = next_ + ahead;
    if (ahead >= config_.window) {
        ++counts_.outside;
        return status;
    }
    if (find(sn) != nullptr) {
        ++counts_.duplicates;
        return status;
    }
    stored& s = at(sn);
    release_octets(s, s.held);
    s.sn = sn;
    hold(s);
    std::ranges::copy(pdu, s.bytes.begin());
    s.segments = static_cast<int>(content_.segments.size());
    s.open = content_.open();
    s.first_ends = !content_.segments.empty() && content_.segments.front().ends;
    s.head_done = false;
    highest_ = std::max(highest_, sn + 1);
    if (!config_.in_sequence) {
        finish(sn);
        finish_spanning(sn + 1);
    }
    slide();
    counts_.most_held = std::max(counts_.most_held, counts_.held);
    if (config_.status_missing && next_ < highest_) status_wanted_ = true;
    return status;
}

// Keeps the parts of the PDU in content_ that belong to an SDU which may still become whole.
void am_receiver::hold(stored& s) {
    const std::size_t first_kept = s.sn == floor_sn_ ? static_cast<std::size_t>(floor_segment_) : 0;
    for (std::size_t i = first_kept; i < content_.segments.size(); ++i)
        s.held += content_.segments[i].bytes;
    counts_.held += s.held;
}

void am_receiver::release_octets(stored& s, int octets) {
    s.held -= octets;
    counts_.held -= octets;
}

void am_receiver::slide() {
    for (; find(next_) != nullptr; ++next_)
        if (config_.in_sequence) finish(next_);
    highest_ = std::max(highest_, next_);
}

// Delivers the SDU that continues from the previous PDU or begins with this one, if it is complete.
void am_receiver::finish_spanning(std::int64_t end) {
    const stored* e = find(end);
    while (e != nullptr && !e->first_ends && e->segments == 1) e = find(++end);
    if (e != nullptr && e->first_ends) finish_head(end);
}

// Delivers all SDUs that end in this PDU, as far as they are complete.
void am_receiver::finish(std::int64_t sn) {
    const stored& s = at(sn);
    if (s.first_ends) finish_head(sn);
    if (s.segments < 2) return;
    read_pdu(data_mode::acknowledged, s.bytes, reread_);
    const int from = sn == floor_sn_ ? std::max(1, floor_segment_) : 1;
    for (int i = from; i < s.segments; ++i) {
        // A segment that is not the first begins its SDU, and this one ends it, too.
        if (!reread_.segments[static_cast<std::size_t>(i)].ends) break;
        assemble(sn, i, sn, i);
        read_pdu(data_mode::acknowledged, s.bytes, reread_);
    }
}

// Delivers the SDU that the first segment of this PDU ends, if it is complete.
bool am_receiver::finish_head(std::int64_t end) {
    stored& e = at(end);
    if (e.head_done || end < floor_sn_ || (end == floor_sn_ && floor_segment_ > 0)) return false;
    std::int64_t begin = end;
    int segment = 0;
    for (; begin > floor_sn_; --begin) {
        const stored* before = find(begin - 1);
        if (before == nullptr) return false;
        if (!before->open) break;
        if (before->segments > 1) {
            --begin;
            segment = before->segments - 1;
            break;
        }
    }
    if (begin == floor_sn_) segment = std::max(segment, floor_segment_);
    e.head_done = true;
    return assemble(begin, segment, end, 0);
}

bool am_receiver::assemble(std::int64_t begin, int segment, std::int64_t end, int end_segment) {
    sdu_.clear();
    for (std::int64_t sn = begin; sn <= end; ++sn) {
        stored& s = at(sn);
        read_pdu(data_mode::acknowledged, s.bytes, reread_);
        const std::size_t which = static_cast<std::size_t>(sn == begin ? segment : 0);
        const std::size_t i = sn == end ? static_cast<std::size_t>(end_segment) : which;
        if (i >= reread_.segments.size()) return false;  // a part of it was discarded by an MRW
        const auto& piece = reread_.segments[i];
        release_octets(s, piece.bytes);
        if (sdu_.size() + piece.bytes > longest_sdu) return false;
        sdu_.insert(sdu_.end(), s.bytes.begin() + piece.offset,
                    s.bytes.begin() + piece.offset + piece.bytes);
        if (piece.trim && !sdu_.empty()) sdu_.pop_back();
    }
    if (sdu_.empty()) return false;
    ++counts_.sdus;
    deliver_(sdu_, {epoch_, end, end_segment + 1});
    return true;
}

void am_receiver::on_move(const window_move& m) {
    ++counts_.moves;
    const std::int64_t ahead = (m.sn - next_ % sn_space + sn_space) % sn_space;
    if (ahead <= config_.window) {
        const std::int64_t to = next_ + ahead;
        for (; next_ < to; ++next_)
            if (config_.in_sequence && find(next_) != nullptr) finish(next_);
        if (to > floor_sn_ || (to == floor_sn_ && m.n > floor_segment_)) {
            drop_before(to, m.n);
            // Before this, the beginning of the next SDU could not be distinguished from the rest
            // of an earlier one.
            if (!config_.in_sequence) finish_spanning(m.n == 0 ? to : to + 1);
        }
        slide();
    }
    // The acknowledgement has the number of the request, not that of the receiver's later progress,
    // so that an answer to an older request cannot be taken for one to a newer request.
    move_ack_ = m;
}

// Drops all octets before (PDU, segment) that have not been handed out.
void am_receiver::drop_before(std::int64_t sn, int segment) {
    if (find(sn) != nullptr) {
        stored& s = at(sn);
        read_pdu(data_mode::acknowledged, s.bytes, reread_);
        // If SDUs are delivered out of sequence, all but the first have been handed out with the
        // PDU.
        const int to = std::min(config_.in_sequence ? segment : std::min(segment, 1), s.segments);
        for (int i = sn == floor_sn_ ? floor_segment_ : 0; i < to && !(i == 0 && s.head_done); ++i)
            release_octets(s, reread_.segments[static_cast<std::size_t>(i)].bytes);
    }
    floor_sn_ = sn;
    floor_segment_ = segment;
    for (stored& s : ring_)
        if (s.sn < floor_sn_) release_octets(s, s.held);
}

bool am_receiver::status_due(std::int64_t now_ns) const {
    return move_ack_ || (status_wanted_ && now_ns >= prohibited_until_ns_);
}

void am_receiver::acknowledge(status_writer& out, std::int64_t now_ns) {
    if (move_ack_ && out.move_ack(*move_ack_)) move_ack_.reset();
    if (!status_wanted_ || now_ns < prohibited_until_ns_) {
        out.no_more();
        return;
    }
    missing_.clear();
    for (std::int64_t sn = next_; sn < highest_; ++sn) {
        if (find(sn) != nullptr) continue;
        if (!missing_.empty() && missing_.back().first + missing_.back().count == sn)
            ++missing_.back().count;
        else
            missing_.push_back({sn, 1});
    }
    out.acknowledge({highest_, missing_}, config_.format);
    status_wanted_ = false;
    prohibited_until_ns_ = now_ns + config_.status_prohibit_ns;
    ++counts_.statuses;
}

void am_receiver::advance(std::int64_t now_ns) {
    if (next_periodic_ns_ < 0 || now_ns < next_periodic_ns_) return;
    status_wanted_ = true;
    while (next_periodic_ns_ <= now_ns) next_periodic_ns_ += config_.status_period_ns;
}

std::int64_t am_receiver::next_wakeup() const {
    if (move_ack_) return 0;
    const std::int64_t status = status_wanted_ ? prohibited_until_ns_ : never;
    return next_periodic_ns_ < 0 ? status : std::min(status, next_periodic_ns_);
}

}  // namespace wip::umts
