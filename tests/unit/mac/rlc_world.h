// SPDX-License-Identifier: GPL-3.0-or-later
// Two acknowledged RLC entities with an air between them that loses, doubles and swaps PDUs as the
// test says. Time is counted in transmission time intervals of 10 ms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "types/splitmix64.h"
#include "umts/am_entity.h"

namespace wip::umts {

constexpr std::int64_t tti_ns = 10'000'000;

class rlc_world {
public:
    struct given {
        std::vector<std::uint8_t> data;
        int delivered = 0, discarded = 0;
    };
    struct side {
        std::unique_ptr<am_entity> entity;
        std::map<sdu_position, std::uint64_t> placed;
        std::vector<given> sdus;
        std::vector<std::uint64_t> arrived;  // SDUs of the other side that arrived, by number
    };
    // Whether this PDU, which side `from` has sent, is lost.
    using lose_fn = std::function<bool(int from, const std::vector<std::uint8_t>& pdu)>;

    rlc_world(const am_config& c, int delay_ttis, int pdus_per_tti = 1)
        : config_(c), delay_(delay_ttis), per_tti_(pdus_per_tti) {
        for (int s = 0; s < 2; ++s) {
            am_entity::events e;
            e.placed = [this, s](std::uint64_t id, const sdu_position& p, auto) {
                sides[s].placed[p] = id;
            };
            e.discarded = [this, s](std::uint64_t id) { ++sides[s].sdus[id].discarded; };
            e.deliver = [this, s](std::span<const std::uint8_t> sdu, const sdu_position& p) {
                deliver(s, sdu, p);
            };
            sides[s].entity = std::make_unique<am_entity>(c, std::move(e));
        }
    }

    bool give(int from, std::vector<std::uint8_t> data) {
        auto& s = sides[from];
        s.sdus.push_back({data, 0, 0});
        if (s.entity->on_sdu(data, s.sdus.size() - 1, now * tti_ns)) return true;
        s.sdus.pop_back();
        return false;
    }
    // SDU of `bytes` octets that tell it from the others.
    bool give(int from, int bytes) {
        std::vector<std::uint8_t> data(static_cast<std::size_t>(bytes));
        splitmix64 r(sides[from].sdus.size() * 2 + static_cast<unsigned>(from) + 1);
        for (auto& b : data) b = static_cast<std::uint8_t>(r.next());
        return give(from, std::move(data));
    }

    void step() {
        for (int s = 0; s < 2; ++s) {
            auto& air = air_[s];
            while (!air.empty() && air.front().due <= now) {
                if (heard) heard(s, air.front().pdu);
                sides[1 - s].entity->on_pdu(air.front().pdu, now * tti_ns);
                air.pop_front();
            }
        }
        for (int s = 0; s < 2; ++s) {
            auto& e = *sides[s].entity;
            e.advance(now * tti_ns);
            for (int n = 0; n < per_tti_; ++n) {
                std::vector<std::uint8_t> pdu(static_cast<std::size_t>(config_.pdu_bytes));
                if (!e.next_pdu(pdu, now * tti_ns)) break;
                if (seen) seen(s, pdu);
                if (lose && lose(s, pdu)) continue;
                const int extra = late ? late() : 0;
                auto& air = air_[s];
                const on_air p{now + delay_ + extra, pdu};
                air.insert(std::ranges::upper_bound(air, p.due, {}, &on_air::due), p);
                if (twice && twice())
                    air.insert(std::ranges::upper_bound(air, p.due + 1, {}, &on_air::due),
                               {p.due + 1, pdu});
            }
        }
        ++now;
    }
    void run(int ttis) {
        for (int i = 0; i < ttis; ++i) step();
    }
    // Whether neither side waits for anything. There may be status PDUs in the air.
    bool quiet() const {
        return sides[0].entity->transmitter().held_sdus() == 0 &&
               sides[1].entity->transmitter().held_sdus() == 0;
    }

    std::int64_t now = 0;
    side sides[2];
    lose_fn lose;
    std::function<void(int from, const std::vector<std::uint8_t>&)> seen, heard;
    std::function<void(int side, std::span<const std::uint8_t>, const sdu_position&)> assembled;
    std::function<int()> late;
    std::function<bool()> twice;
    int altered = 0, unknown = 0;

private:
    struct on_air {
        std::int64_t due;
        std::vector<std::uint8_t> pdu;
    };
    void deliver(int to, std::span<const std::uint8_t> sdu, const sdu_position& p) {
        if (assembled) assembled(to, sdu, p);
        auto& from = sides[1 - to];
        const auto at = from.placed.find(p);
        if (at == from.placed.end()) {
            ++unknown;
            return;
        }
        auto& g = from.sdus[at->second];
        if (!std::ranges::equal(sdu, g.data)) ++altered;
        ++g.delivered;
        sides[to].arrived.push_back(at->second);
    }
    am_config config_;
    int delay_, per_tti_;
    std::deque<on_air> air_[2];
};

}  // namespace wip::umts
