// SPDX-License-Identifier: GPL-3.0-or-later
// An 802.11b cell (wlan/wlan_cell.h) with sources that always have packets, and errors by a script.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "wlan/wlan_cell.h"

namespace wip::wlan {

inline constexpr std::int64_t ms = 1'000'000, s = 1000 * ms;
inline constexpr std::size_t size = 1500;  // bytes of a packet

// An attempt fails if the given function of its number says so.
class scripted final : public attempt_errors {
public:
    explicit scripted(std::function<bool(int)> fails) : fails_(std::move(fails)) {}
    bool fails(std::int64_t) override { return fails_(next_++); }

private:
    std::function<bool(int)> fails_;
    int next_ = 0;
};

// A cell with sources that always have packets waiting in the queues they feed.
class world {
public:
    explicit world(const wlan_config& c, const wlan_cell::make_errors& errors = {})
        : cell(c, errors),
          up(static_cast<std::size_t>(c.stations)),
          down(static_cast<std::size_t>(c.stations)) {
        cell.uplink().deliver_to([this](const link_packet& p) { return note(up, p); });
        cell.downlink().deliver_to([this](const link_packet& p) { return note(down, p); });
    }
    void saturate(packet_link& link, int tag, int queued = 5) {
        fed.push_back({&link, tag, queued});
    }

    void run_until(std::int64_t end) {
        for (; now < end; now = std::min(end, std::max(now + 1, cell.next_wakeup()))) {
            cell.advance(now);
            for (auto& f : fed)
                while (waiting(f) < static_cast<std::uint64_t>(f.queued))
                    f.link->offer(std::vector<std::uint8_t>(size), now, f.tag), ++f.given;
        }
        cell.advance(end);
        for (auto* link : {&cell.uplink(), &cell.downlink()})
            EXPECT_EQ(link->sums().missing(), packets_bytes{});
        for (int i = 0; i < cell.stations(); ++i)
            EXPECT_EQ(cell.uplink_sums(i).delivered.packets, up[static_cast<std::size_t>(i)]);
    }
    std::uint64_t dropped(packet_link& link, const std::string& why) const {
        for (const auto& d : link.sums().dropped)
            if (d.reason == why) return d.count.packets;
        throw std::logic_error(why);
    }

    wlan_cell cell;
    std::vector<std::uint64_t> up, down;  // packets delivered, by station
    std::int64_t now = 0;
    std::int64_t last_due = 0;

private:
    struct feed {
        packet_link* link;
        int tag, queued;
        std::uint64_t given = 0;
    };
    // Packets in the queue that a feed fills.
    std::uint64_t waiting(const feed& f) {
        if (f.link == &cell.downlink()) return f.given - down[static_cast<std::size_t>(f.tag)];
        return cell.queued(cell.nodes() - cell.stations() + f.tag).packets;
    }
    int note(std::vector<std::uint64_t>& where, const link_packet& p) {
        ++where[static_cast<std::size_t>(p.tag)];
        last_due = p.due_ns;
        return 0;
    }
    std::vector<feed> fed;
};

inline wlan_cell::make_errors scripted_errors(std::function<bool(int)> fails) {
    return [fails](int, int) { return std::make_unique<scripted>(fails); };
}

}  // namespace wip::wlan
