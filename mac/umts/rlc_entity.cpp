// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/rlc_entity.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "umts/am_entity.h"
#include "umts/ring.h"
#include "umts/um_entity.h"

namespace wip::umts {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

class acknowledged final : public rlc_entity {
public:
    acknowledged(const am_config& sends, const am_config& takes, events e)
        : entity_(sends, takes,
                  {std::move(e.placed), std::move(e.discarded), std::move(e.deliver)}) {}
    bool on_sdu(std::span<const std::uint8_t> sdu, std::uint64_t id, std::int64_t now_ns) override {
        return entity_.on_sdu(sdu, id, now_ns);
    }
    void on_pdu(std::span<const std::uint8_t> pdu, std::int64_t, std::int64_t now_ns) override {
        if (!pdu.empty()) entity_.on_pdu(pdu, now_ns);
    }
    void begin_interval(int, int, std::int64_t now_ns) override { entity_.advance(now_ns); }
    sent next_pdu(std::span<std::uint8_t> pdu, std::int64_t now_ns) override {
        const std::uint64_t before = entity_.transmitter().counts().retransmissions;
        if (!entity_.next_pdu(pdu, now_ns)) return {};
        const bool data = (pdu[0] & 0x80U) != 0;
        return {pdu.size(), data ? (pdu[0] & 0x7fU) << 5 | pdu[1] >> 3 : -1,
                entity_.transmitter().counts().retransmissions != before};
    }
    bool has_pdu(std::int64_t now_ns) const override { return entity_.has_pdu(now_ns); }
    std::int64_t next_wakeup(std::int64_t now_ns) const override {
        return entity_.next_wakeup(now_ns);
    }
    rlc_counts counts() const override {
        const auto& t = entity_.transmitter();
        return {.pdus = t.counts().pdus,
                .retransmissions = t.counts().retransmissions,
                .polls = t.counts().polls,
                .status_pdus = entity_.counts().status_pdus,
                .piggybacked = entity_.counts().piggybacked,
                .resets = entity_.counts().resets,
                .window_used = t.next_sn() - t.acknowledged(),
                .discarded = t.counts().discarded,
                .held = t.held_sdus(),
                .received = entity_.receiver().counts().held,
                .most_received = entity_.receiver().counts().most_held};
    }
    void on_arrival(std::int64_t number) override {
        entity_.on_arrival(static_cast<std::uint16_t>(number));
    }
    void on_loss(std::int64_t number) override {
        entity_.on_loss(static_cast<std::uint16_t>(number));
    }
    void ask_for_window(int pdus) override { entity_.ask_for_window(pdus); }
    bool failed() const override { return entity_.failed(); }
    std::uint32_t epoch() const override { return entity_.epoch(); }

private:
    am_entity entity_;
};

um_config unacknowledged_of(const am_config& c) {
    return {.pdu_bytes = c.pdu_bytes,
            .queue_sdus = c.queue_sdus,
            .largest_sdu = c.largest_sdu,
            .discard_ns = c.discard == discard_mode::timer ? c.discard_ns : 0};
}

class unacknowledged final : public rlc_entity {
public:
    unacknowledged(const am_config& sends, const am_config& takes, events e)
        : transmitter_(unacknowledged_of(sends), std::move(e.placed), std::move(e.discarded)),
          receiver_(unacknowledged_of(takes),
                    [this](std::span<const std::uint8_t> sdu) {
                        deliver_(sdu, {0, number_, receiver_.end()});
                    }),
          deliver_(std::move(e.deliver)) {}
    bool on_sdu(std::span<const std::uint8_t> sdu, std::uint64_t id, std::int64_t now_ns) override {
        return transmitter_.on_sdu(sdu, now_ns, id);
    }
    void on_pdu(std::span<const std::uint8_t> pdu, std::int64_t number, std::int64_t) override {
        number_ = number;
        if (!pdu.empty()) receiver_.on_pdu(pdu);
    }
    void begin_interval(int, int, std::int64_t now_ns) override { transmitter_.advance(now_ns); }
    sent next_pdu(std::span<std::uint8_t> pdu, std::int64_t now_ns) override {
        const auto number = static_cast<std::int64_t>(transmitter_.counts().pdus);
        if (!transmitter_.next_pdu(pdu, now_ns)) return {};
        return {pdu.size(), number, false};
    }
    bool has_pdu(std::int64_t) const override { return transmitter_.has_pdu(); }
    std::int64_t next_wakeup(std::int64_t now_ns) const override {
        return transmitter_.has_pdu() ? now_ns : never;
    }
    rlc_counts counts() const override {
        const um_counts& c = transmitter_.counts();
        return {.pdus = c.pdus, .discarded = c.discarded, .held = transmitter_.held_sdus()};
    }

private:
    um_transmitter transmitter_;
    um_receiver receiver_;
    std::int64_t number_ = 0;
    std::function<void(std::span<const std::uint8_t>, const sdu_position&)> deliver_;
};

class transparent final : public rlc_entity {
public:
    transparent(const am_config& sends, events e)
        : config_(unacknowledged_of(sends)),
          events_(std::move(e)),
          receiver_([this](std::span<const std::uint8_t> sdu) {
              events_.deliver(sdu, {0, received_number_, 1});
          }) {}
    bool on_sdu(std::span<const std::uint8_t> sdu, std::uint64_t id, std::int64_t now_ns) override {
        if (static_cast<int>(queue_.size()) >= config_.queue_sdus || sdu.empty() ||
            static_cast<int>(sdu.size()) > config_.largest_sdu)
            return false;
        held& h = queue_.push();
        h.data.assign(sdu.begin(), sdu.end());
        h.id = id;
        h.since_ns = now_ns;
        return true;
    }
    void on_pdu(std::span<const std::uint8_t> pdu, std::int64_t number, std::int64_t) override {
        received_number_ = number;
        receiver_.on_pdu(pdu);
    }
    void end_of_interval() override { receiver_.end_of_interval(); }
    void begin_interval(int pdus, int most, std::int64_t now_ns) override {
        for (; !queue_.empty(); queue_.pop()) {
            const held& h = queue_.front();
            if (config_.discard_ns > 0 && now_ns - h.since_ns >= config_.discard_ns) {
                ++counts_.discarded;
                events_.discarded(h.id);
            } else if (pdus_of(h) > most) {
                events_.too_long(h.id);
            } else {
                break;
            }
        }
        pdu_index_ = 0;
        sending_ = !queue_.empty() && pdus_of(queue_.front()) <= pdus;
    }
    sent next_pdu(std::span<std::uint8_t> pdu, std::int64_t) override {
        if (!sending_) return {};
        held& h = queue_.front();
        if (pdu_index_ == 0) events_.placed(h.id, {0, next_, 1}, next_);
        const auto part = tm_pdu(h.data, config_.pdu_bytes, pdu_index_++);
        std::ranges::copy(part, pdu.begin());
        ++counts_.pdus;
        const sent s{part.size(), next_, false};
        if (pdu_index_ == pdus_of(h)) {
            sending_ = false;
            ++next_;
            queue_.pop();
        }
        return s;
    }
    bool has_pdu(std::int64_t) const override { return !queue_.empty(); }
    std::int64_t next_wakeup(std::int64_t now_ns) const override {
        return queue_.empty() ? never : now_ns;
    }
    rlc_counts counts() const override {
        rlc_counts c = counts_;
        c.held = queue_.size();
        return c;
    }

private:
    struct held {
        std::vector<std::uint8_t> data;
        std::uint64_t id = 0;
        std::int64_t since_ns = 0;
    };
    int pdus_of(const held& h) const {
        return tm_pdus(static_cast<int>(h.data.size()), config_.pdu_bytes);
    }

    um_config config_;
    events events_;
    tm_receiver receiver_;
    ring<held> queue_;
    std::int64_t next_ = 0, received_number_ = 0;  // numbers of SDUs
    int pdu_index_ = 0;                            // of its PDUs in this interval
    bool sending_ = false;  // the first SDU of the queue is sent in this interval
    rlc_counts counts_;
};

}  // namespace

std::unique_ptr<rlc_entity> make_entity(rlc_mode mode, const am_config& sends,
                                        const am_config& takes, rlc_entity::events e) {
    switch (mode) {
        case rlc_mode::transparent:
            return std::make_unique<transparent>(sends, std::move(e));
        case rlc_mode::unacknowledged:
            return std::make_unique<unacknowledged>(sends, takes, std::move(e));
        case rlc_mode::acknowledged:
            break;
    }
    return std::make_unique<acknowledged>(sends, takes, std::move(e));
}

}  // namespace wip::umts
