// SPDX-License-Identifier: GPL-3.0-or-later
#include "packet/emulated_uplink.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <string>

#include "queue/packet_queue.h"
#include "types/grid.h"
#include "types/require.h"
#include "types/slot_time.h"
#include "wire/feedback_bits.h"
#include "wire/ip_header.h"

namespace wip {
void uplink_config::check() const {
    check_range(kbps, setting::uplink_kbps);
    check_range(delay_slots, setting::uplink_delay_slots);
    check_range(loss, setting::uplink_loss);
    check_range(feedback_loss, setting::uplink_feedback_loss);
    check_range(queue_packets, setting::uplink_queue_packets);
    queue.check("uplink.");
    const double longest =
        std::floor(most_on_the_way * 8 * static_cast<double>(slots_per_second) / (kbps * 1000));
    if (longest < delay_slots)
        check_range(
            "uplink.delay_slots", delay_slots, 0, longest,
            text_of(most_on_the_way / 1e6) + " MB on the way at uplink.kbps = " + text_of(kbps));
}

struct emulated_uplink::state {
    // Random events that are the same on every platform (the standard distributions are not).
    class random_events {
    public:
        explicit random_events(std::uint64_t seed) : engine_(seed) {}
        bool hits(double probability) {
            return static_cast<double>(engine_() >> 11) * 0x1p-53 < probability;
        }

    private:
        std::mt19937_64 engine_;
    };

    explicit state(const uplink_config& c)
        : config(c),
          bits_per_second(std::llround(c.kbps * 1000)),
          packet_losses(c.seed),
          feedback_losses(c.seed ^ 0x9e3779b97f4a7c15U),
          queue(c.queue, [this](const queued_packet& p, queue_drop why) {
              const bool managed = why == queue_drop::managed;
              (managed ? statistics.dropped_queue_managed : statistics.dropped_queue_full)
                  .add(p.bytes());
          }) {}

    bool put_on_line(std::int64_t now);
    void run_slot(std::int64_t now, std::vector<uplink_packet>& out);
    void count_queue();

    uplink_config config;
    std::int64_t bits_per_second;
    random_events packet_losses, feedback_losses;
    packet_queue queue;
    queued_packet on_line;  // the packet that is being sent, if `busy`
    bool busy = false;
    std::int64_t units_left = 0;  // rest of that packet, in units of 1/1500 bit
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
        refuse("seed of the uplink", std::to_string(config.seed),
               std::to_string(s.config.seed) + ", as when the uplink began");
    s.config = config;
    s.bits_per_second = std::llround(config.kbps * 1000);
    s.queue.reconfigure(config.queue);
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
    const auto limit = static_cast<std::size_t>(s.config.queue_packets);
    queued_packet p = s.queue.make(packet);
    p.tag = tag;
    p.came_ns = offered_ns;
    // If no packet is on the line, the first one that waits goes there and takes no room in the
    // queue.
    const std::size_t room = s.busy ? limit - 1 : limit;
    const bool taken = s.queue.push(std::move(p), slot_start_ns(now), room);
    s.count_queue();
    return taken;
}

void emulated_uplink::state::count_queue() {
    statistics.queued = queue.waiting();
    if (busy) statistics.queued.add(on_line.bytes());
    statistics.marked = queue.marked();
}

bool emulated_uplink::state::put_on_line(std::int64_t now) {
    if (busy) return true;
    // Packets that come later than this slot are not sent in it.
    if (queue.empty() || queue.first_arrival_ns() > slot_start_ns(slot(now))) return false;
    busy = queue.pop(slot_start_ns(slot(now)), on_line);
    units_left = static_cast<std::int64_t>(on_line.bytes()) * 8 * slots_per_second;
    return busy;
}

void emulated_uplink::state::run_slot(std::int64_t now, std::vector<uplink_packet>& out) {
    std::int64_t units = bits_per_second;
    while (units > 0 && put_on_line(now)) {
        const std::int64_t part = std::min(units, units_left);
        units -= part;
        units_left -= part;
        if (units_left > 0) break;
        busy = false;
        const std::size_t bytes = on_line.bytes();
        auto& where =
            packet_losses.hits(config.loss) ? statistics.dropped_lost : statistics.delivered;
        where.add(bytes);
        if (&where == &statistics.delivered)
            out.push_back({slot(now + 2 + config.delay_slots), std::move(on_line.data), on_line.tag,
                           on_line.came_ns});
    }
    count_queue();
}

std::vector<uplink_packet> emulated_uplink::on_slot(slot now) {
    auto& s = *state_;
    std::vector<uplink_packet> out;
    if (!s.started) {
        s.started = true;
        s.next = now.value;
    }
    if (now.value < s.next)
        throw std::logic_error("emulated uplink: on_slot(" + std::to_string(now.value) +
                               ") after on_slot(" + std::to_string(s.next - 1) + ")");
    // Slots left out: the line went on meanwhile, for as long as it had something to send.
    for (; s.next < now.value && (s.busy || !s.queue.empty()); ++s.next) s.run_slot(s.next, out);
    s.run_slot(now.value, out);
    s.next = now.value + 1;
    return out;
}

bool emulated_uplink::feedback_lost() {
    auto& s = *state_;
    s.statistics.feedback.add(feedback_bytes);
    const bool lost = s.feedback_losses.hits(s.config.feedback_loss);
    if (lost) s.statistics.feedback_lost.add(feedback_bytes);
    return lost;
}

}  // namespace wip
