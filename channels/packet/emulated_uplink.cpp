// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/emulated_uplink.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <stdexcept>
#include <string>

#include "types/grid.h"
#include "types/require.h"
#include "wire/feedback_bits.h"
#include "wire/ip_header.h"

namespace wip {
void uplink_config::check() const {
    check_range("kbps", kbps, setting::uplink_kbps);
    check_range("delay_slots", delay_slots, setting::uplink_delay_slots);
    check_range("loss", loss, setting::uplink_loss);
    check_range("feedback_loss", feedback_loss, setting::uplink_feedback_loss);
    check_range("queue_packets", queue_packets, setting::uplink_queue_packets);
    const double longest =
        std::floor(most_on_the_way * 8 * static_cast<double>(slots_per_second) / (kbps * 1000));
    if (longest < delay_slots)
        check_range("delay_slots", delay_slots, 0, longest,
                    text_of(most_on_the_way / 1e6) + " MB on the way at kbps = " + text_of(kbps));
}

struct emulated_uplink::state {
    // Dice that fall alike on every platform (the standard distributions do not).
    class dice {
    public:
        explicit dice(std::uint64_t seed) : engine_(seed) {}
        bool hits(double probability) {
            return static_cast<double>(engine_() >> 11) * 0x1p-53 < probability;
        }

    private:
        std::mt19937_64 engine_;
    };

    struct waiting_packet {
        std::int64_t since = 0;  // slot from which it may be sent
        std::vector<std::uint8_t> data;
        int tag = 0;
        std::int64_t offered_ns = 0;
    };

    explicit state(const uplink_config& c)
        : config(c),
          bits_per_second(std::llround(c.kbps * 1000)),
          packet_dice(c.seed),
          feedback_dice(c.seed ^ 0x9e3779b97f4a7c15U) {}

    void run_slot(std::int64_t now, std::vector<uplink_packet>& out);

    uplink_config config;
    std::int64_t bits_per_second;
    dice packet_dice, feedback_dice;
    std::deque<waiting_packet> queue;
    std::int64_t left = 0;  // units of 1/1500 bit of the first packet still to send
    bool started = false;
    std::int64_t next = 0;
    uplink_statistics statistics;
};

emulated_uplink::emulated_uplink(const uplink_config& config) {
    config.check();
    state_ = std::make_unique<state>(config);
}
emulated_uplink::~emulated_uplink() = default;
emulated_uplink::emulated_uplink(emulated_uplink&&) noexcept = default;
emulated_uplink& emulated_uplink::operator=(emulated_uplink&&) noexcept = default;

void emulated_uplink::reconfigure(const uplink_config& config) {
    config.check();
    auto& s = *state_;
    if (config.seed != s.config.seed)
        throw std::invalid_argument("seed: cannot change in a running uplink");
    s.config = config;
    s.bits_per_second = std::llround(config.kbps * 1000);
}

const uplink_statistics& emulated_uplink::statistics() const { return state_->statistics; }

bool emulated_uplink::on_sdu(std::span<const std::uint8_t> packet, slot now, int tag,
                             std::int64_t offered_ns) {
    auto& s = *state_;
    const auto count = [&](packets_bytes& where) { where.add(packet.size()); };
    count(s.statistics.in);
    const auto header = read_ip_header(packet);
    if (!header || header->total_bytes != packet.size()) {
        count(s.statistics.dropped_not_ip);
        return false;
    }
    if (static_cast<int>(s.queue.size()) >= s.config.queue_packets) {
        count(s.statistics.dropped_queue_full);
        return false;
    }
    if (s.queue.empty()) s.left = static_cast<std::int64_t>(packet.size()) * 8 * slots_per_second;
    s.queue.push_back({now.value, {packet.begin(), packet.end()}, tag, offered_ns});
    count(s.statistics.queued);
    return true;
}

void emulated_uplink::state::run_slot(std::int64_t now, std::vector<uplink_packet>& out) {
    std::int64_t units = bits_per_second;
    while (!queue.empty() && units > 0 && queue.front().since <= now) {
        const std::int64_t part = std::min(units, left);
        units -= part;
        left -= part;
        if (left > 0) return;
        auto packet = std::move(queue.front());
        queue.pop_front();
        if (!queue.empty())
            left = static_cast<std::int64_t>(queue.front().data.size()) * 8 * slots_per_second;
        const std::size_t bytes = packet.data.size();
        statistics.queued.take(bytes);
        auto& where =
            packet_dice.hits(config.loss) ? statistics.dropped_lost : statistics.delivered;
        where.add(bytes);
        if (&where == &statistics.delivered)
            out.push_back({slot(now + 2 + config.delay_slots), std::move(packet.data), packet.tag,
                           packet.offered_ns});
    }
}

std::vector<uplink_packet> emulated_uplink::on_slot(slot now) {
    auto& s = *state_;
    std::vector<uplink_packet> out;
    if (!s.started) {
        s.started = true;
        s.next = now.value;
    }
    if (now.value < s.next)
        throw std::logic_error("on_slot(" + std::to_string(now.value) + ") after on_slot(" +
                               std::to_string(s.next - 1) + ")");
    // Slots left out: the line went on meanwhile, for as long as it had something to send.
    for (; s.next < now.value && !s.queue.empty(); ++s.next) s.run_slot(s.next, out);
    s.run_slot(now.value, out);
    s.next = now.value + 1;
    return out;
}

bool emulated_uplink::feedback_lost() {
    auto& s = *state_;
    s.statistics.feedback.add(feedback_bytes);
    const bool lost = s.feedback_dice.hits(s.config.feedback_loss);
    if (lost) s.statistics.feedback_lost.add(feedback_bytes);
    return lost;
}

}  // namespace wip
