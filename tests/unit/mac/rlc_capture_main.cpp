// SPDX-License-Identifier: GPL-3.0-or-later
// Links of the RLC for an independent oracle: what their receivers got as a capture into FILE, and
// on standard output the SDUs that they put together, "U-RNTI direction bearer octets" each, as
// tests/support/reassembled_sdus.lua says them of tshark. Bearers have even numbers where LIs have
// 15 bits.
//
// rlc_capture worlds FIRST WORLDS FILE: random ones, each with its own seed and U-RNTI; a last line
// of counts. See draw_worlds below for what is drawn. Behind an SDU's octets: > if the sender left
// an octet alone behind it, < if it did before it (9.2.2.8). What is delivered is compared with
// what was given, here: altered, also what was never given; disordered, though order was asked for;
// repeated; undelivered, though nothing was lost for good; unfinished, links that did not end.
// rlc_capture case am|um PDU_BYTES SDU_BYTES SDUS FILE [SN ...]: so many SDUs in PDUs that come in
// the order named, or as they were sent.
// rlc_capture bearer FILE: packets of 30 to 270 octets down a bearer of unacknowledged mode, framed
// as its capture has them.
//
// tshark 4.0 (packet-umts_rlc.c, add_fragment) keeps the ends of SDUs in the order in which they
// came and puts together what lies between one and the next, when the last PDU of it comes. So a
// PDU with an end that overtakes another, as after each loss, gives it wrong SDUs. The captures of
// the worlds are in the order of arrival, doubled PDUs with them, but for this: a PDU in which an
// SDU ends waits until all before it have come. What it has of an SDU that lost a PDU in
// unacknowledged mode, or an octet that is left alone in a PDU, it keeps for ever, and spoils with
// it the SDU that has the same number 128 PDUs later. So what follows a loss or such an octet is
// another bearer, from the next PDU on that says that an SDU begins with it; what is delivered
// between is not said, but compared with what was given as well.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "rlc_world.h"
#include "types/failure.h"
#include "umts/bearer.h"
#include "umts/rlc_capture.h"
#include "umts/um_entity.h"
#include "virtual/pcap_file.h"

using namespace wip;
using namespace wip::umts;

namespace {

using octets = std::vector<std::uint8_t>;

struct capture {
    rlc_channel channel{.user_data = true};
    explicit capture(const char* name) : file(name) {}
    virtual_time::pcap_file file;
    octets framed;
    std::string reported;
    std::int64_t spacing_ns = 1'000'000, frames = 0;
    std::uint64_t sdus = 0;

    void take(std::span<const std::uint8_t> pdu) {
        frame_pdu(channel, pdu, framed);
        file.write(frames++ * spacing_ns, framed);
    }
    void say(std::span<const std::uint8_t> sdu, bool left_before = false,
             bool left_behind = false) {
        static constexpr char digits[] = "0123456789abcdef";
        reported += std::to_string(channel.urnti) + (channel.downlink ? " 1 " : " 0 ") +
                    std::to_string(channel.radio_bearer) + ' ';
        for (const auto b : sdu) {
            reported += digits[b >> 4];
            reported += digits[b & 15];
        }
        if (left_before || left_behind) reported += ' ';
        if (left_before) reported += '<';
        if (left_behind) reported += '>';
        reported += '\n';
        ++sdus;
    }
    void begin(rlc_mode mode, std::uint32_t urnti, int pdu_bytes) {
        const bool am = mode == rlc_mode::acknowledged;
        channel = {.mode = mode, .urnti = urnti, .user_data = true};
        channel.wide_li =
            li_bytes(am ? data_mode::acknowledged : data_mode::unacknowledged, pdu_bytes) == 2;
        channel.radio_bearer = channel.wide_li ? 2 : 1;
        // tshark takes a number that comes again within 5 s for a duplicate: 128 of them last
        // longer.
        spacing_ns = am ? 1'000'000 : 100'000'000;
        frames = 0;
    }
};

// The counts of all worlds.
struct tally {
    std::uint64_t am = 0, um = 0, wrapped = 0, pdus = 0, lost = 0, late = 0, doubled = 0,
                  unsorted = 0, held = 0, sorted = 0, overtaken = 0, not_evaluated = 0,
                  unfinished = 0, altered = 0, disordered = 0, repeated = 0, undelivered = 0;
};

struct dice {
    splitmix64 r;
    // lo .. hi
    int within(int lo, int hi) {
        return lo + static_cast<int>(r.next() % static_cast<unsigned>(hi - lo + 1));
    }
    bool hits(int percent) { return within(0, 99) < percent; }
};

octets draw_sdu(dice& d, int bytes) {
    octets sdu(static_cast<std::size_t>(bytes));
    for (auto& b : sdu) b = static_cast<std::uint8_t>(d.r.next());
    // No version of IP, which would be dissected further.
    if (sdu[0] >> 4 == 4 || sdu[0] >> 4 == 6) sdu[0] ^= 0x80;
    // More zeros at the ends than chance has: they look like an octet that is left alone.
    if (sdu.front() < 16) sdu.front() = 0;
    if (sdu.back() < 64) sdu.back() = 0;
    return sdu;
}

// LIs of 7 bits, or of 15. tshark reads 16 of them at most in a PDU.
struct sizes {
    int pdu, header, longest;
    sizes(dice& d, data_mode mode)
        : pdu(d.hits(75) ? d.within(8, 126) : d.within(127, 400)),
          header(header_bytes(mode)),
          longest(d.within(2, 8) * pdu) {}
    int sdu(dice& d) const {
        // A size about that which fills PDUs exactly, if SDU and PDU begin together.
        if (d.hits(20)) return d.within(1, 4) * (pdu - header) + d.within(-3, 2);
        return d.within(pdu / 10 + 1, longest);
    }
};

struct arrival {
    int sn;
    bool ends;
    octets pdu;
};

void take_as_tshark_can(const std::vector<arrival>& came, capture& to, tally& t) {
    std::set<int> taken;
    std::map<int, std::vector<const arrival*>> held;
    int next = 0, highest = -1;
    const auto take = [&](const arrival& a) {
        to.take(a.pdu);
        ++t.pdus;
        if (a.sn < highest) ++t.unsorted;
        highest = std::max(highest, a.sn);
        taken.insert(a.sn);
        while (taken.contains(next)) ++next;
    };
    for (const auto& a : came) {
        if (a.ends && a.sn > next) {
            held[a.sn].push_back(&a);
            ++t.held;
            continue;
        }
        take(a);
        for (auto h = held.begin(); h != held.end() && h->first == next; h = held.erase(h))
            for (const auto* each : h->second) take(*each);
    }
}

// Octets behind the last end of a PDU with LIs of 15 bits.
int octets_behind(data_mode mode, const pdu_content& c, int pdu_bytes) {
    if (li_bytes(mode, pdu_bytes) != 2 || c.segments.empty() || !c.segments.back().ends) return 0;
    return pdu_bytes - c.segments.back().offset - c.segments.back().bytes;
}

// Which of the SDUs that end in this PDU have an octet behind them that is left alone: the first is
// 1. One that is padding, or a status, has an LI that says so.
std::vector<int> left_alone(data_mode mode, const pdu_content& c,
                            std::span<const std::uint8_t> pdu) {
    std::vector<int> which;
    for (int i = 0; const auto& s : c.segments)
        if (++i; s.ends && s.trim) which.push_back(i);
    if (octets_behind(mode, c, static_cast<int>(pdu.size())) == 1 && c.status_offset == 0) {
        const auto last_li = static_cast<std::size_t>(c.segments.front().offset) - 2;
        if ((pdu[last_li] << 7 | pdu[last_li + 1] >> 1) != 0x7fff)
            which.push_back(static_cast<int>(c.segments.size()));
    }
    return which;
}

// Two ends, each with SDUs for the other. 0 to 30 % of the PDUs are lost, 0 to 30 % are up to 8
// intervals late, 0 to 20 % come twice; window, order of delivery, form and prohibit time of the
// status, delay, PDUs of an interval are drawn, too.
void acknowledged(dice& d, std::uint32_t urnti, capture& to, tally& t) {
    const sizes z(d, data_mode::acknowledged);
    am_config c;
    c.pdu_bytes = z.pdu;
    c.window = d.within(4, 64);
    c.queue_sdus = 16;
    c.largest_sdu = std::max(z.longest, 4 * z.pdu);
    c.in_sequence = d.hits(50);
    c.special_he = d.hits(50);
    c.format = static_cast<missing_format>(d.within(0, 2));
    c.status_prohibit_ns = d.within(0, 8) * tti_ns;
    c.max_dat = 1000;
    const int lost = d.within(0, 30), late = d.within(0, 30), doubled = d.within(0, 20);
    rlc_world w(c, d.within(1, 4), d.within(1, 4));
    std::vector<arrival> came[2];
    pdu_content content(z.pdu);
    w.heard = [&](int from, const auto& pdu) {
        if (!read_pdu(data_mode::acknowledged, pdu, content)) return;
        bool ends = content.segments.empty();
        for (const auto& s : content.segments) ends |= s.ends;
        came[from].push_back({content.sn, ends, pdu});
    };
    to.begin(rlc_mode::acknowledged, urnti, z.pdu);
    std::set<std::uint64_t> left_behind[2];
    w.seen = [&](int from, const auto& pdu) {
        if (!read_pdu(data_mode::acknowledged, pdu, content)) return;
        const auto& placed = w.sides[from].placed;
        for (const int end : left_alone(data_mode::acknowledged, content, pdu))
            if (const auto at = placed.find({0, content.sn, end}); at != placed.end())
                left_behind[from].insert(at->second);
    };
    w.assembled = [&](int side, std::span<const std::uint8_t> sdu, const sdu_position& p) {
        const auto& left = left_behind[1 - side];
        const auto at = w.sides[1 - side].placed.find(p);
        const bool known = at != w.sides[1 - side].placed.end();
        to.channel.downlink = side == 1;
        to.say(sdu, known && at->second > 0 && left.contains(at->second - 1),
               known && left.contains(at->second));
    };
    w.lose = [&](int, const auto&) { return d.hits(lost) && ++t.lost > 0; };
    w.late = [&] { return d.hits(late) && ++t.late > 0 ? d.within(1, 8) : 0; };
    w.twice = [&] { return d.hits(doubled) && ++t.doubled > 0; };
    int left[2] = {d.within(1, 12), d.within(0, 6)};
    int steps = 0;
    for (; (left[0] + left[1] > 0 || !w.quiet()) && steps < 20000; ++steps) {
        for (int s = 0; s < 2; ++s)
            if (left[s] > 0 && d.hits(40) && w.give(s, draw_sdu(d, z.sdu(d)))) --left[s];
        w.step();
    }
    const bool ended = left[0] + left[1] == 0 && w.quiet();
    t.unfinished += ended ? 0 : 1;
    w.run(13);  // PDUs that are still on their way
    t.altered += static_cast<std::uint64_t>(w.altered + w.unknown);
    for (const auto& side : w.sides) {
        const bool sorted = std::ranges::is_sorted(side.arrived);
        ++(sorted ? t.sorted : c.in_sequence ? t.disordered : t.overtaken);
        for (const auto& g : side.sdus) {
            t.repeated += g.delivered > 1 ? 1 : 0;
            t.undelivered += ended && g.delivered == 0 ? 1 : 0;
        }
    }
    ++t.am;
    for (int from = 0; from < 2; ++from) {
        to.channel.downlink = from == 0;
        take_as_tshark_can(came[from], to, t);
    }
}

// One link in unacknowledged mode. On a third of them nothing is lost, else up to 30 %. One in
// eight has enough SDUs for its sequence numbers to wrap around.
void unacknowledged(dice& d, std::uint32_t urnti, capture& to, tally& t) {
    const sizes z(d, data_mode::unacknowledged);
    um_config c;
    c.pdu_bytes = z.pdu;
    c.queue_sdus = 16;
    c.largest_sdu = std::max(z.longest, 4 * z.pdu);
    um_transmitter sender(c);
    to.begin(rlc_mode::unacknowledged, urnti, z.pdu);
    bool evaluated = true, renew = false;
    std::vector<octets> given;
    std::size_t next = 0, delivered = 0, ended = 0;
    std::set<std::size_t> left_behind;
    um_receiver receiver(c, [&](auto sdu) {
        ++delivered;
        std::size_t i = next;
        while (i < given.size() && !std::ranges::equal(given[i], sdu)) ++i;
        if (i < given.size())
            next = i + 1;
        else
            // also counts SDUs that came twice or late, which this mode never delivers
            ++t.altered;
        if (evaluated)
            to.say(sdu, i > 0 && left_behind.contains(i - 1), left_behind.contains(i));
        else
            ++t.not_evaluated;
    });
    const int lost = d.hits(33) ? 0 : d.within(1, 30);
    int left = d.hits(12) ? d.within(30, 120) : d.within(1, 16), pdus = 0;
    const int busy = d.within(10, 60), per_interval = d.within(1, 4);
    octets pdu(static_cast<std::size_t>(z.pdu));
    pdu_content content(z.pdu);
    bool whole = true;
    int steps = 0;
    for (; (left > 0 || sender.has_pdu()) && steps < 20000; ++steps) {
        if (left > 0 && d.hits(busy)) {
            const auto sdu = draw_sdu(d, z.sdu(d));
            if (sender.on_sdu(sdu, 0)) given.push_back(sdu), --left;
        }
        for (int n = 0; n < per_interval && sender.next_pdu(pdu, 0); ++n, ++pdus) {
            read_pdu(data_mode::unacknowledged, pdu, content);
            for (const int end : left_alone(data_mode::unacknowledged, content, pdu))
                left_behind.insert(ended + static_cast<std::size_t>(end) - 1);
            for (const auto& s : content.segments) ended += s.ends ? 1 : 0;
            if (d.hits(lost)) {
                evaluated = whole = false;
                renew = true;
                ++t.lost;
                continue;
            }
            if (renew && content.begins) {
                renew = false;
                evaluated = to.channel.radio_bearer < 254;
                to.channel.radio_bearer += evaluated ? 2 : 0;
            }
            if (evaluated) to.take(pdu), ++t.pdus;
            renew |= octets_behind(data_mode::unacknowledged, content, z.pdu) == 1;
            receiver.on_pdu(pdu);
        }
    }
    ++t.um;
    const bool done = left == 0 && !sender.has_pdu();
    t.unfinished += done ? 0 : 1;
    if (done && whole && delivered < given.size()) t.undelivered += given.size() - delivered;
    t.wrapped += pdus > um_sn_space ? 1 : 0;
}

void draw_worlds(std::uint64_t first, std::uint64_t worlds, capture& to) {
    tally t;
    for (auto w = first; w < first + worlds; ++w) {
        dice d{splitmix64(w)};
        const auto urnti = static_cast<std::uint32_t>(1 + w - first);
        (d.hits(70) ? acknowledged : unacknowledged)(d, urnti, to, t);
    }
    for (const auto& [name, count] : {std::pair("acknowledged", t.am),
                                      {"unacknowledged", t.um},
                                      {"wrapped", t.wrapped},
                                      {"pdus", t.pdus},
                                      {"lost", t.lost},
                                      {"late", t.late},
                                      {"doubled", t.doubled},
                                      {"unsorted", t.unsorted},
                                      {"held", t.held},
                                      {"sorted", t.sorted},
                                      {"overtaken", t.overtaken},
                                      {"sdus", to.sdus},
                                      {"unjudged", t.not_evaluated},
                                      {"unfinished", t.unfinished},
                                      {"altered", t.altered},
                                      {"disordered", t.disordered},
                                      {"repeated", t.repeated},
                                      {"undelivered", t.undelivered}})
        to.reported += std::string(name) + '=' + std::to_string(count) + ' ';
    to.reported.back() = '\n';
}

std::vector<octets> sent_acknowledged(const am_config& c, int sdu_bytes, int sdus) {
    rlc_world w(c, 1, 8);
    std::vector<octets> sent;
    w.seen = [&](int from, const auto& pdu) {
        if (from == 0 && (pdu[0] & 0x80) != 0) sent.push_back(pdu);
    };
    dice d{splitmix64(1)};
    for (int given = 0; given < sdus || !w.quiet(); w.step())
        if (given < sdus && w.give(0, draw_sdu(d, sdu_bytes))) ++given;
    return sent;
}

std::vector<octets> sent_unacknowledged(const um_config& c, int sdu_bytes, int sdus) {
    um_transmitter sender(c);
    std::vector<octets> sent;
    dice d{splitmix64(1)};
    octets pdu(static_cast<std::size_t>(c.pdu_bytes));
    for (int i = 0; i < sdus; ++i) sender.on_sdu(draw_sdu(d, sdu_bytes), 0);
    while (sender.next_pdu(pdu, 0)) sent.push_back(pdu);
    return sent;
}

[[noreturn]] void refuse_argument(const char* name, const char* given, const std::string& valid) {
    std::fprintf(stderr, "rlc_capture: %s is %s; valid: %s\n", name, given, valid.c_str());
    std::exit(2);
}

std::uint64_t number(const char* name, const char* given, std::uint64_t low, std::uint64_t high) {
    std::uint64_t value = 0;
    const char* end = given + std::strlen(given);
    const auto read = std::from_chars(given, end, value);
    if (read.ec != std::errc() || read.ptr != end || value < low || value > high)
        refuse_argument(name, given, std::to_string(low) + " .. " + std::to_string(high));
    return value;
}

void one_case(int argc, char** argv, capture& to) {
    const std::string mode = argv[2];
    if (mode != "am" && mode != "um") refuse_argument("mode", argv[2], "am, um");
    const bool am = mode == "am";
    const int pdu_bytes = static_cast<int>(number("PDU_BYTES", argv[3], 8, 5000)),
              sdu_bytes = static_cast<int>(number("SDU_BYTES", argv[4], 1, longest_sdu)),
              sdus = static_cast<int>(number("SDUS", argv[5], 1, 10000));
    am_config a;
    a.pdu_bytes = pdu_bytes;
    a.largest_sdu = sdu_bytes;
    um_config u;
    u.pdu_bytes = pdu_bytes;
    u.queue_sdus = sdus;
    u.largest_sdu = sdu_bytes;
    const auto sent =
        am ? sent_acknowledged(a, sdu_bytes, sdus) : sent_unacknowledged(u, sdu_bytes, sdus);
    std::vector<std::size_t> order;
    for (int i = 7; i < argc; ++i) order.push_back(number("SN", argv[i], 0, sent.size() - 1));
    if (order.empty())
        for (std::size_t i = 0; i < sent.size(); ++i) order.push_back(i);
    to.begin(am ? rlc_mode::acknowledged : rlc_mode::unacknowledged, 1, pdu_bytes);
    am_receiver acknowledged(a, [&](auto sdu, const auto&) { to.say(sdu); });
    um_receiver unacknowledged(u, [&](auto sdu) { to.say(sdu); });
    for (const auto i : order) {
        to.take(sent[i]);
        if (am)
            acknowledged.on_pdu(sent[i], 0);
        else
            unacknowledged.on_pdu(sent[i]);
    }
}

void one_bearer(capture& to) {
    bearer_config c;
    c.profile = *find_bearer_profile("umts-384");
    c.mode = rlc_mode::unacknowledged;
    bearer b(c);
    b.watch([&](bearer::way w, std::span<const std::uint8_t> pdu, std::int64_t, bool) {
        to.channel = channel_of(c.mode, w == bearer::way::down, 0, pdu.size());
        to.channel.user_data = true;
        to.take(pdu);
    });
    b.downlink().deliver_to([&](const link_packet& p) {
        to.say(p.data);
        return 0;
    });
    dice d{splitmix64(1)};
    // Fewer PDUs than numbers: tshark takes one that comes again soon for a duplicate.
    for (int i = 0; i < 30; ++i) {
        b.downlink().offer(draw_sdu(d, 30 + 8 * i), i * 10'000'000);
        b.downlink().advance(i * 10'000'000);
    }
    b.downlink().advance(10'000'000'000);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    const bool worlds = what == "worlds" && argc == 5;
    const bool whole_bearer = what == "bearer" && argc == 3;
    if (!worlds && !whole_bearer && (what != "case" || argc < 7)) {
        std::fprintf(stderr,
                     "%s: worlds FIRST WORLDS FILE, case am|um PDU_BYTES SDU_BYTES SDUS FILE "
                     "[SN ...], or bearer FILE\n",
                     argv[0]);
        return 2;
    }
    const char* name = argv[worlds ? 4 : whole_bearer ? 2 : 6];
    try {
        capture to(name);
        if (worlds)
            draw_worlds(number("FIRST", argv[2], 0, 1'000'000'000'000),
                        number("WORLDS", argv[3], 1, 100'000), to);
        else if (whole_bearer)
            one_bearer(to);
        else
            one_case(argc, argv, to);
        std::fwrite(to.reported.data(), 1, to.reported.size(), stdout);
    } catch (const machine_error&) {
        refuse_argument("FILE", name, "one that can be written");
    }
    return 0;
}
