// SPDX-License-Identifier: GPL-3.0-or-later
// An RLC entity that gets packets of its own, and PDUs of anybody: bytes, and right PDUs of a peer
// that are damaged. Whatever comes, it ends each interval, sends PDUs that read as such, holds no
// more than its queue and its window, and its SDUs end up with it or are given up.
#include <cstdint>
#include <vector>

#include "fuzz_input.h"
#include "umts/am_entity.h"
#include "umts/um_entity.h"

using namespace wip;
using namespace wip::umts;
using namespace wip::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz_input in(data, size);
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
    const std::vector<std::uint8_t> sdu(600, 1);
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
    return 0;
}
