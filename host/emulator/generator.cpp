// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/generator.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ostream>
#include <vector>

#include "emulator/delayed_path.h"
#include "runtime/message_json.h"
#include "wire/ip_header.h"

namespace wip::emulator {
namespace {

constexpr std::size_t header_bytes = 20, number_bytes = 4;
// Slots after the last packet at which waiting ends: every packet has arrived or was given up long
// before.
constexpr int longest_drain_slots = 60 * static_cast<int>(slots_per_second);

class packet_maker {
public:
    explicit packet_maker(int bytes) : packet_(static_cast<std::size_t>(bytes)) {
        const auto high = static_cast<std::uint8_t>(bytes >> 8);
        const auto low = static_cast<std::uint8_t>(bytes);
        const std::uint8_t header[header_bytes] = {0x45, 0, high, low, 0, 0, 0,  0,  64, 17,
                                                   0,    0, 10,   42,  0, 1, 10, 42, 0,  2};
        std::copy(header, header + header_bytes, packet_.begin());
        const std::uint32_t sum = ~internet_sum(std::span(packet_).first(header_bytes));
        packet_[10] = static_cast<std::uint8_t>(sum >> 8);
        packet_[11] = static_cast<std::uint8_t>(sum);
    }
    std::span<const std::uint8_t> make(std::uint32_t number) {
        for (std::size_t i = 0; i < number_bytes; ++i)
            packet_[header_bytes + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
        std::memset(packet_.data() + header_bytes + number_bytes, pattern(number),
                    packet_.size() - header_bytes - number_bytes);
        return packet_;
    }
    static std::uint32_t number_of(std::span<const std::uint8_t> packet) {
        std::uint32_t n = 0;
        for (std::size_t i = 0; i < number_bytes; ++i) n = n << 8 | packet[header_bytes + i];
        return n;
    }
    bool intact(std::span<const std::uint8_t> packet) {
        return packet.size() == packet_.size() &&
               std::ranges::equal(packet, make(number_of(packet)));
    }

private:
    static int pattern(std::uint32_t number) {
        return static_cast<int>(number * 2654435761U >> 24);
    }
    std::vector<std::uint8_t> packet_;
};

}  // namespace

void generate(const emulator_config& config, const generator_config& g, std::ostream& out) {
    if (config.kind != link_kind::ofdm)
        throw config::error(
            "--generate is given with link.kind = umts or wlan; valid: with link.kind = ofdm");
    cell_path path(config);
    path.load_rules(config);
    emulated_cell& cell = path.cell;
    const int users = cell.users();
    packet_maker maker(g.packet_bytes), checker(g.packet_bytes);
    std::vector<std::uint32_t> next(static_cast<std::size_t>(users), 1), seen = next;
    std::uint64_t altered = 0, out_of_order = 0;
    double owed = 0;
    // Packets are counted between two times. first_ns and last_ns are the arrivals of the first and
    // the last one of them.
    std::int64_t count_from = 0, count_until = 0, first_ns = -1, last_ns = -1;
    std::uint64_t counted_packets = 0, counted_bytes = 0;

    const auto offer = [&] {
        if (g.rate_pps > 0) {
            for (owed += static_cast<double>(g.rate_pps) / slots_per_second; owed >= 1; owed -= 1)
                for (int u = 0; u < users; ++u)
                    cell.into_queue(u, maker.make(next[static_cast<std::size_t>(u)]++));
            return;
        }
        for (int u = 0; u < users; ++u)
            while (cell.into_queue(u, maker.make(next[static_cast<std::size_t>(u)]++))) {
            }
    };
    const auto take = [&](emulated_cell::side, int user, std::span<const std::uint8_t> packet,
                          std::int64_t due) {
        if (due > count_from && due <= count_until) {
            if (first_ns >= 0) {
                ++counted_packets;
                counted_bytes += packet.size();
            } else {
                first_ns = due;
            }
            last_ns = due;
        }
        auto& last = seen[static_cast<std::size_t>(user)];
        if (!checker.intact(packet)) {
            ++altered;
            return;
        }
        const std::uint32_t number = packet_maker::number_of(packet);
        if (number < last) ++out_of_order;
        last = std::max(last, number);
    };
    cell.deliver_to(take);
    nlohmann::json result;
    const auto statuses = [&](const char* when) {
        openwip::control::MacStatus base, terminal;
        path.fill_base(base);
        path.fill_terminal(terminal);
        // The interface of the server would have taken these packets: nothing comes up here.
        base.mutable_uplink()->mutable_delivered();
        result[when] = {{"base", host::to_json(base)}, {"terminal", host::to_json(terminal)}};
    };

    const auto begin =
        static_cast<std::int64_t>(std::llround(g.warm_up_seconds * slots_per_second));
    const auto end = begin + static_cast<std::int64_t>(std::llround(g.seconds * slots_per_second));
    count_from = slot_start(slot(begin));
    count_until = slot_start(slot(end));
    slot k;
    const auto t0 = std::chrono::steady_clock::now();
    for (; k.value < end; ++k) {
        if (k.value == begin) statuses("first");
        offer();
        cell.run_slot(k);
        cell.release(slot_start(k + slot_count(1)));
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - t0;
    statuses("last");
    for (int i = 0; i < longest_drain_slots && !cell.idle(); ++i, ++k) {
        cell.run_slot(k);
        cell.release(slot_start(k + slot_count(1)));
    }
    statuses("drained");
    result["slots"] = end;
    result["wall_seconds"] = wall.count();
    result["real_time_factor"] = static_cast<double>(end) / slots_per_second / wall.count();
    result["arrivals"] = {{"packets", counted_packets},
                          {"bytes", counted_bytes},
                          {"seconds", static_cast<double>(last_ns - first_ns) * 1e-9}};
    result["packets_altered"] = altered;
    result["packets_out_of_order"] = out_of_order;
    result["drained_slots"] = k.value - end;
    out << result << "\n";
}

}  // namespace wip::emulator
