// SPDX-License-Identifier: GPL-3.0-or-later
// Three worlds, by the first byte.
//
// Hostile: an acknowledged RLC entity that gets packets of its own, and PDUs of anybody: bytes, and
// right PDUs of a peer that are damaged. Whatever comes, it ends each interval, sends PDUs that
// read as such, holds no more than its queue and its window, and gives up no SDU that it never had.
//
// Clean: two acknowledged entities whose PDUs are lost, late and doubled, but not damaged. Each SDU
// that is put together is one that was given, octet by octet, once, in order where that is asked
// for; in the end, without losses, each has arrived or been given up, and with `never` arrived (but
// for a RESET, which takes along what it finds).
//
// Unacknowledged and transparent: PDUs that are lost, fewer than 128 in a row. The same octets,
// once, in order; each SDU arrives of which no PDU was lost, nor the one before it.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "fuzz_input.h"
#include "rlc_world.h"
#include "umts/am_entity.h"
#include "umts/rlc_entity.h"
#include "umts/um_entity.h"

using namespace wip;
using namespace wip::umts;
using namespace wip::fuzz;

namespace {

std::vector<std::uint8_t> octets(std::uint64_t seed, int bytes) {
    std::vector<std::uint8_t> sdu(static_cast<std::size_t>(bytes));
    splitmix64 r(seed);
    for (auto& b : sdu) b = static_cast<std::uint8_t>(r.next());
    return sdu;
}

void clean(fuzz_input& in) {
    am_config c;
    c.pdu_bytes = 8 + in.u8();
    c.window = 1 + in.in(0, 63);
    c.queue_sdus = 20;
    c.largest_sdu = 600;
    c.in_sequence = in.flag();
    c.special_he = in.flag();
    c.format = static_cast<missing_format>(in.in(0, 2));
    c.discard = static_cast<discard_mode>(in.in(0, 3));
    c.discard_ns = (5 + in.in(0, 50)) * tti_ns;
    c.max_dat = 1 + in.in(0, 3);
    const int triggers = in.u8();
    c.poll_pdus = (triggers & 1) != 0 ? 1 + in.in(0, 8) : 0;
    c.poll_sdus = (triggers & 2) != 0 ? 1 + in.in(0, 3) : 0;
    c.poll_period_ns = (triggers & 4) != 0 ? (1 + in.in(0, 30)) * tti_ns : 0;
    c.poll_prohibit_ns = (triggers & 8) != 0 ? in.in(0, 10) * tti_ns : 0;
    c.status_missing = (triggers & 16) != 0;
    // A period has two intervals at least, as a bearer requires: with one, each PDU would be a
    // status.
    c.status_period_ns = (triggers & 32) != 0 ? (2 + in.in(0, 30)) * tti_ns : 0;
    c.poll_counted = (triggers & 64) != 0 ? poll_counting::always : poll_counting::never;
    c.status_prohibit_ns = in.in(0, 20) * tti_ns;
    c.poll_timer_ns = (5 + in.in(0, 40)) * tti_ns;
    c.max_reset = 32;
    rlc_world w(c, 1 + in.in(0, 7), 1 + in.in(0, 11));
    int what = 0;
    bool fair = false;
    w.lose = [&](int from, const auto&) { return !fair && (what & (4 << from)) != 0; };
    w.late = [&] { return !fair && (what & 16) != 0 ? 1 : 0; };
    // PDUs are late or come twice, but not both: an old PDU that arrives after a RESET cannot be
    // distinguished from a new one.
    w.twice = [&] { return !fair && (what & 48) == 32; };
    for (int t = 0; t < 300 && !in.empty(); ++t) {
        what = in.u8();
        for (int s = 0; s < 2; ++s)
            if ((what & (1 << s)) != 0) w.give(s, 1 + in.u8() * 2);
        if ((what & 64) != 0) w.sides[what >> 7].entity->ask_for_window(1 + in.in(0, 63));
        w.step();
        expect(w.altered == 0 && w.unknown == 0, "an SDU that nobody gave");
    }
    fair = true;
    // One PDU of five octets each round trip takes longer than that for a full queue, but moves.
    std::array<std::int64_t, 4> at{};
    for (int t = 0, all = 0; t < 20'000 && all < 1'000'000 && !w.quiet(); ++t, ++all) {
        w.step();
        std::array<std::int64_t, 4> now{};
        for (std::size_t s = 0; s < 2; ++s) {
            const am_transmitter& sender = w.sides[s].entity->transmitter();
            now[2 * s] = sender.acknowledged();
            now[2 * s + 1] = static_cast<std::int64_t>(sender.held_sdus());
        }
        if (std::exchange(at, now) != now) t = 0;
    }
    expect(w.quiet(), "an SDU waits for ever");
    w.run(50);
    for (const auto& side : w.sides)
        expect(side.entity->receiver().counts().held == 0, "octets that nobody waits for");
    expect(w.altered == 0 && w.unknown == 0, "an SDU that nobody gave");
    const bool resets = w.sides[0].entity->counts().resets + w.sides[1].entity->counts().resets > 0;
    for (int s = 0; s < 2; ++s) {
        for (const auto& g : w.sides[s].sdus) {
            expect(g.delivered <= 1, "an SDU that arrived twice");
            expect(resets || g.delivered + g.discarded >= 1, "an SDU that is nowhere");
            expect(resets || c.discard != discard_mode::never || g.delivered == 1,
                   "an SDU given up that never is");
        }
        expect(!c.in_sequence || std::ranges::is_sorted(w.sides[s].arrived), "another order");
    }
}

void without_acknowledgement(fuzz_input& in, rlc_mode mode) {
    am_config c;
    c.pdu_bytes = 8 + in.u8();
    c.queue_sdus = 20;
    c.largest_sdu = 600;
    if (in.flag()) {
        c.discard = discard_mode::timer;
        c.discard_ns = (1 + in.in(0, 20)) * tti_ns;
    }
    const int per_tti = 1 + in.in(0, 11);
    struct sdu {
        std::vector<std::uint8_t> data;
        std::int64_t first = -1, last = -1;
        bool delivered = false, gone = false;
    };
    std::vector<sdu> given;
    std::map<sdu_position, std::uint64_t> placed;
    std::set<std::int64_t> lost;
    std::uint64_t next = 0;
    rlc_entity::events e;
    e.placed = [&](std::uint64_t id, const sdu_position& p, std::int64_t first) {
        given[id].first = first;
        given[id].last = p.sn;
        placed[p] = id;
    };
    e.discarded = e.too_long = [&](std::uint64_t id) {
        expect(given[id].last < 0 && !given[id].gone, "what has been sent is given up");
        given[id].gone = true;
    };
    rlc_entity::events of_receiver;
    of_receiver.deliver = [&](std::span<const std::uint8_t> data, const sdu_position& p) {
        const auto at = placed.find(p);
        expect(at != placed.end() && at->second >= next, "an SDU that nobody gave, or again");
        next = at->second + 1;
        expect(std::ranges::equal(data, given[at->second].data), "other octets");
        given[at->second].delivered = true;
    };
    const auto sender = make_entity(mode, c, c, std::move(e));
    const auto receiver = make_entity(mode, c, c, std::move(of_receiver));
    std::vector<std::uint8_t> room(static_cast<std::size_t>(c.pdu_bytes));
    int in_a_row = 0;
    for (std::int64_t now = 0; now < 4000; ++now) {
        const bool end = in.empty() || now >= 300;
        const int what = end ? 0 : in.u8();
        const std::int64_t t = now * tti_ns;
        if ((what & 1) != 0) {
            given.push_back({octets(given.size() + 1, 1 + in.u8() * 2)});
            if (!sender->on_sdu(given.back().data, given.size() - 1, t)) given.pop_back();
        }
        sender->begin_interval(per_tti, per_tti, t);
        for (int n = 0; n < per_tti; ++n) {
            const auto sent = sender->next_pdu(room, t);
            if (sent.bytes == 0) break;
            const bool lose = (what & 2) != 0 && (what >> (n % 4 + 2) & 1) != 0 && in_a_row < 127;
            in_a_row = lose ? in_a_row + 1 : 0;
            if (lose) lost.insert(sent.number);
            receiver->on_pdu(std::span(room).first(lose ? 0 : sent.bytes), sent.number, t);
        }
        receiver->end_of_interval();
        if (end && !sender->has_pdu(t)) break;
    }
    expect(!sender->has_pdu(0), "an SDU waits for ever");
    for (const auto& g : given) {
        if (g.last < 0) continue;
        const std::int64_t from = g.first - (mode == rlc_mode::unacknowledged ? 1 : 0);
        const auto hit = lost.lower_bound(from);
        if (hit == lost.end() || *hit > g.last) expect(g.delivered, "an SDU lost for nothing");
        if (mode == rlc_mode::transparent)
            expect(!lost.contains(g.last) || !g.delivered, "a torso");
    }
}

void hostile(fuzz_input& in) {
    am_config c;
    c.pdu_bytes = 8 + in.u8();
    c.window = 1 + in.in(0, 63);
    c.queue_sdus = 20;
    c.largest_sdu = 600;
    c.in_sequence = in.flag();
    c.special_he = in.flag();
    c.format = static_cast<missing_format>(in.in(0, 2));
    c.discard = static_cast<discard_mode>(in.in(0, 3));
    c.discard_ns = 50'000'000;
    c.max_dat = 1 + in.in(0, 3);
    c.status_prohibit_ns = in.flag() ? 20'000'000 : 0;
    const std::vector<std::uint8_t> sdu = octets(1, 600);
    std::uint64_t given = 0, gone = 0;
    am_entity::events e;
    e.discarded = [&](std::uint64_t id) {
        expect(id < given, "an SDU given up that was never there");
        ++gone;
    };
    e.deliver = [](std::span<const std::uint8_t> s, const sdu_position&) {
        expect(!s.empty() && s.size() <= longest_sdu, "the size of an SDU");
    };
    am_entity own(c, std::move(e)), peer(c, {});
    um_receiver unacknowledged({.pdu_bytes = c.pdu_bytes}, [](auto) {});
    std::vector<std::uint8_t> pdu(static_cast<std::size_t>(c.pdu_bytes));
    pdu_content content(c.pdu_bytes);
    status_content status;
    for (std::int64_t now = 0; now < 300 && !in.empty(); ++now) {
        const std::int64_t t = now * 10'000'000;
        const int what = in.u8();
        if ((what & 1) != 0) {
            const auto n = static_cast<std::size_t>(1 + in.u8() * 2);
            if (own.on_sdu(std::span(sdu).first(n), given, t)) ++given;
            peer.on_sdu(std::span(sdu).first(n), 0, t);
        }
        if ((what & 2) != 0) {
            const auto bytes = in.block();
            own.on_pdu(bytes, t);
            unacknowledged.on_pdu(bytes);
        }
        peer.advance(t);
        if ((what & 4) != 0 && peer.next_pdu(pdu, t)) {
            if ((what & 8) != 0) pdu[in.u16() % pdu.size()] ^= in.u8();
            own.on_pdu(pdu, t);
            unacknowledged.on_pdu(pdu);
        }
        own.advance(t);
        for (int n = 0; n < 4 && own.next_pdu(pdu, t); ++n) {
            expect(read_pdu(data_mode::acknowledged, pdu, content) || read_reset(pdu) ||
                       read_status(pdu, status),
                   "a PDU that cannot be read");
            if ((what & 16) != 0) peer.on_pdu(pdu, t);
        }
        const auto& s = own.transmitter();
        expect(s.next_sn() - s.acknowledged() <= c.window, "more than the window is outstanding");
        expect(s.waiting_sdus() <= 20, "more waits than the queue holds");
        expect(own.receiver().highest() - own.receiver().expected() <= c.window,
               "received beyond the window");
    }
    expect(gone <= given, "more given up than was given");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
    switch (in.in(0, 3)) {
        case 0:
            hostile(in);
            break;
        case 1:
            clean(in);
            break;
        case 2:
            without_acknowledgement(in, rlc_mode::unacknowledged);
            break;
        default:
            without_acknowledgement(in, rlc_mode::transparent);
    }
    return 0;
}
