// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/um_entity.h"

#include <algorithm>

namespace wip::umts {

um_transmitter::um_transmitter(const um_config& config, placed_fn placed, discarded_fn discarded)
    : config_(config),
      placed_(std::move(placed)),
      discarded_(std::move(discarded)),
      builder_(data_mode::unacknowledged, config.pdu_bytes, false) {
    sdus_.resize(static_cast<std::size_t>(config.queue_sdus));
    for (auto& h : sdus_) h.data.reserve(static_cast<std::size_t>(config.largest_sdu));
    data_.reserve(static_cast<std::size_t>(config.pdu_bytes));
}

bool um_transmitter::on_sdu(std::span<const std::uint8_t> sdu, std::int64_t now_ns,
                            std::uint64_t id) {
    if (count_ == sdus_.size() || sdu.empty() ||
        static_cast<int>(sdu.size()) > config_.largest_sdu) {
        ++counts_.refused;
        return false;
    }
    held& h = sdus_[(front_ + count_++) % sdus_.size()];
    h.data.assign(sdu.begin(), sdu.end());
    h.id = id;
    h.since_ns = now_ns;
    h.taken = 0;
    return true;
}

void um_transmitter::drop_front() {
    front_ = (front_ + 1) % sdus_.size();
    --count_;
}

void um_transmitter::advance(std::int64_t now_ns) {
    while (config_.discard_ns > 0 && count_ > 0 && front().taken == 0 &&
           now_ns - front().since_ns >= config_.discard_ns) {
        ++counts_.discarded;
        discarded_(front().id);
        drop_front();
    }
}

bool um_transmitter::next_pdu(std::span<std::uint8_t> pdu, std::int64_t now_ns) {
    advance(now_ns);
    if (!has_pdu()) return false;
    const auto number = static_cast<std::int64_t>(counts_.pdus);
    if (carry_ != pdu_builder::carry::nothing)
        placed_(carried_id_, {0, number, 1}, carried_first_pdu_);
    data_.clear();
    builder_.begin(static_cast<std::uint16_t>(sn_), carry_,
                   begins_ && count_ > 0 && front().taken == 0);
    begins_ = false;
    while (count_ > 0 && !builder_.full()) {
        held& h = front();
        if (h.taken == 0) h.first_pdu = number;
        const auto part = builder_.take(static_cast<int>(h.data.size()) - h.taken);
        data_.insert(data_.end(), h.data.begin() + h.taken, h.data.begin() + h.taken + part.bytes);
        h.taken += part.bytes;
        if (h.taken < static_cast<int>(h.data.size())) break;
        ++counts_.sdus;
        if (part.ends) {
            placed_(h.id, {0, number, part.li}, h.first_pdu);
        } else {
            carried_id_ = h.id;
            carried_first_pdu_ = h.first_pdu;
        }
        drop_front();
        advance(now_ns);
    }
    carry_ = builder_.carried();
    // After a PDU that ends with the end of an SDU, or with padding, the next one begins with an
    // SDU.
    begins_ = carry_ == pdu_builder::carry::nothing && (count_ == 0 || front().taken == 0);
    builder_.finish(data_, pdu);
    sn_ = (sn_ + 1) % um_sn_space;
    ++counts_.pdus;
    return true;
}

um_receiver::um_receiver(const um_config& config, deliver_fn deliver)
    : config_(config), deliver_(std::move(deliver)), content_(config.pdu_bytes) {
    sdu_.reserve(longest_sdu);
}

void um_receiver::on_pdu(std::span<const std::uint8_t> pdu) {
    if (static_cast<int>(pdu.size()) != config_.pdu_bytes ||
        !read_pdu(data_mode::unacknowledged, pdu, content_)) {
        ++counts_.malformed;
        return;
    }
    ++counts_.pdus;
    if (next_ >= 0 && content_.sn != next_) {
        counts_.missing +=
            static_cast<std::uint64_t>((content_.sn - next_ + um_sn_space) % um_sn_space);
        whole_ = false;
        sdu_.clear();
    }
    next_ = (content_.sn + 1) % um_sn_space;
    if (content_.begins) {
        whole_ = true;
        sdu_.clear();
    }
    end_ = 0;
    for (const auto& piece : content_.segments) {
        if (sdu_.size() + piece.bytes > longest_sdu) whole_ = false;
        if (whole_)
            sdu_.insert(sdu_.end(), pdu.begin() + piece.offset,
                        pdu.begin() + piece.offset + piece.bytes);
        if (piece.trim && !sdu_.empty()) sdu_.pop_back();
        if (!piece.ends) continue;
        ++end_;
        if (whole_ && !sdu_.empty()) {
            ++counts_.sdus;
            deliver_(sdu_);
        }
        sdu_.clear();
        whole_ = true;  // an end is where the next one begins
    }
}

std::span<const std::uint8_t> tm_pdu(std::span<const std::uint8_t> sdu, int pdu_bytes, int index) {
    const auto from = static_cast<std::size_t>(index * pdu_bytes);
    if (from >= sdu.size()) return {};
    return sdu.subspan(from, std::min(static_cast<std::size_t>(pdu_bytes), sdu.size() - from));
}

void tm_receiver::on_pdu(std::span<const std::uint8_t> pdu) {
    damaged_ |= pdu.empty() || sdu_.size() + pdu.size() > longest_sdu;
    if (!damaged_) sdu_.insert(sdu_.end(), pdu.begin(), pdu.end());
}

void tm_receiver::end_of_interval() {
    if (!damaged_ && !sdu_.empty()) deliver_(sdu_);
    sdu_.clear();
    damaged_ = false;
}

}  // namespace wip::umts
