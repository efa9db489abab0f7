// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/status.h"

#include <algorithm>
#include <array>

#include "umts/pdu.h"

namespace wip::umts {
namespace {

enum super_field : std::uint8_t {
    field_no_more,
    field_window,
    field_ack,
    field_list,
    field_bitmap,
    field_rlist,
    field_mrw,
    field_mrw_ack,
    field_poll
};

constexpr unsigned most_words = 15;

bool add(std::vector<std::uint16_t>& missing, unsigned sn) {
    if (missing.size() == missing.capacity()) return false;
    missing.push_back(static_cast<std::uint16_t>(sn % sn_space));
    return true;
}

bool read_list(bit_reader& in, status_content& out) {
    const unsigned pairs = in.get(4);
    if (pairs == 0) return false;
    for (unsigned i = 0; i < pairs; ++i) {
        const unsigned sn = in.get(12), more = in.get(4);
        for (unsigned k = 0; k <= more; ++k)
            if (!add(out.missing, sn + k)) return false;
    }
    return true;
}

bool read_bitmap(bit_reader& in, status_content& out) {
    const unsigned bits = (in.get(4) + 1) * 8, first = in.get(12);
    for (unsigned i = 0; i < bits; ++i)
        if (in.get(1) == 0 && !add(out.missing, first + i)) return false;
    return true;
}

bool read_rlist(bit_reader& in, status_content& out) {
    const unsigned words = in.get(4);
    unsigned at = in.get(12), number = 0, shift = 0;
    if (!add(out.missing, at)) return false;
    bool burst = false;
    for (unsigned i = 0; i < words; ++i) {
        const unsigned word = in.get(4);
        if (word == 1 && shift == 0 && !burst) {
            burst = true;
            continue;
        }
        number |= word >> 1 << shift;
        shift += 3;
        if (shift > 12) return false;
        if ((word & 1) == 0) continue;
        if (burst) {
            for (unsigned k = 1; k <= number; ++k)
                if (!add(out.missing, at + k)) return false;
        } else if (!add(out.missing, at + number)) {
            return false;
        }
        at += number;
        number = shift = 0;
        burst = false;
    }
    return shift == 0 && !burst;
}

bool read_move(bit_reader& in, status_content& out) {
    const unsigned length = std::max(1U, in.get(4));
    window_move m;
    for (unsigned i = 0; i < length; ++i) m.sn = static_cast<std::uint16_t>(in.get(12));
    m.n = static_cast<std::uint8_t>(in.get(4));
    out.move = m;
    return true;
}

}  // namespace

bool read_status(std::span<const std::uint8_t> pdu, status_content& out) noexcept {
    out.ack.reset();
    out.window.reset();
    out.poll.reset();
    out.move.reset();
    out.move_ack.reset();
    out.missing.clear();
    bit_reader in(pdu);
    in.get(1);
    if (in.get(3) != static_cast<unsigned>(control_type::status)) return false;
    const auto sn = [&in] { return static_cast<std::uint16_t>(in.get(12)); };
    for (bool ok = true; ok && !in.over();) {
        switch (in.get(4)) {
            case field_no_more:
                return !in.over();
            case field_window:
                out.window = sn();
                break;
            case field_ack:
                out.ack = sn();
                return !in.over();  // always the last
            case field_list:
                ok = read_list(in, out);
                break;
            case field_bitmap:
                ok = read_bitmap(in, out);
                break;
            case field_rlist:
                ok = read_rlist(in, out);
                break;
            case field_mrw:
                ok = read_move(in, out);
                break;
            case field_mrw_ack: {
                const auto n = static_cast<std::uint8_t>(in.get(4));
                out.move_ack = window_move{sn(), n};
                break;
            }
            case field_poll:
                out.poll = sn();
                break;
            default:
                return false;
        }
    }
    return false;
}

status_writer::status_writer(std::span<std::uint8_t> out) : out_(out) {
    out_.put(0, 1);
    out_.put(static_cast<unsigned>(control_type::status), 3);
}

bool status_writer::move(const window_move& m) {
    if (!fits(24)) return false;
    out_.put(field_mrw, 4);
    out_.put(1, 4);
    sn(m.sn);
    out_.put(m.n, 4);
    return true;
}

bool status_writer::move_ack(const window_move& m) {
    if (!fits(20)) return false;
    out_.put(field_mrw_ack, 4);
    out_.put(m.n, 4);
    sn(m.sn);
    return true;
}

bool status_writer::window(int size) {
    if (!fits(16)) return false;
    out_.put(field_window, 4);
    sn(size);
    return true;
}

void status_writer::no_more() { out_.put(field_no_more, 4); }

void status_writer::acknowledge(const receiver_state& s, missing_format format) {
    const std::int64_t acknowledged = s.missing.empty()                  ? s.end
                                      : format == missing_format::list   ? list(s)
                                      : format == missing_format::bitmap ? bitmap(s)
                                                                         : rlist(s);
    out_.put(field_ack, 4);
    sn(acknowledged);
}

// Each of the three writes as many fields as fit, and returns the SN up to which they are complete.
std::int64_t status_writer::list(const receiver_state& s) {
    std::array<missing_run, most_words> pairs;
    std::size_t run = 0;
    int skip = 0;  // PDUs of the run that have been written
    while (run < s.missing.size()) {
        std::size_t n = 0;
        for (; n < most_words && run < s.missing.size() && fits(8 + 16 * (n + 1)); ++n) {
            const auto& r = s.missing[run];
            pairs[n] = {r.first + skip, std::min(r.count - skip, 16)};
            skip += pairs[n].count;
            if (skip == r.count) ++run, skip = 0;
        }
        if (n == 0) return s.missing[run].first + skip;
        out_.put(field_list, 4);
        out_.put(static_cast<unsigned>(n), 4);
        for (std::size_t i = 0; i < n; ++i) {
            sn(pairs[i].first);
            out_.put(static_cast<unsigned>(pairs[i].count - 1), 4);
        }
    }
    return s.end;
}

std::int64_t status_writer::bitmap(const receiver_state& s) {
    std::int64_t at = s.missing.front().first;
    const auto& last = s.missing.back();
    const std::int64_t end = last.first + last.count;
    std::size_t run = 0;
    while (at < end) {
        if (!fits(20 + 8)) return at;
        const auto octets = std::min<std::int64_t>(
            {(end - at + 7) / 8, 16, static_cast<std::int64_t>(out_.left() - 16 - 20) / 8});
        // Bits of PDUs after the last missing one are 1; the ACK field limits what they
        // acknowledge.
        out_.put(field_bitmap, 4);
        out_.put(static_cast<unsigned>(octets - 1), 4);
        sn(at);
        for (std::int64_t i = 0; i < octets * 8; ++i, ++at) {
            while (run < s.missing.size() && at >= s.missing[run].first + s.missing[run].count)
                ++run;
            out_.put(run < s.missing.size() && at >= s.missing[run].first ? 0 : 1, 1);
        }
    }
    return s.end;
}

std::int64_t status_writer::rlist(const receiver_state& s) {
    std::array<std::uint8_t, most_words> words;
    std::size_t run = 0;
    int skip = 0;
    while (run < s.missing.size()) {
        if (!fits(20)) return s.missing[run].first + skip;
        const std::size_t most = std::min<std::size_t>(most_words, (out_.left() - 16 - 20) / 4);
        const std::int64_t first = s.missing[run].first + skip;
        std::int64_t at = first;
        std::size_t n = 0;
        const auto number = [&](unsigned v, bool burst) {
            std::size_t m = n;
            std::array<std::uint8_t, 6> w;
            std::size_t k = 0;
            if (burst) w[k++] = 1;
            do {
                w[k++] = static_cast<std::uint8_t>((v & 7) << 1 | (v < 8 ? 1 : 0));
                v >>= 3;
            } while (v != 0 && k < w.size());
            if (m + k > most) return false;
            std::copy_n(w.begin(), k, words.begin() + static_cast<std::ptrdiff_t>(m));
            n = m + k;
            return true;
        };
        ++skip;  // the field FSN is the first one
        bool more = true;
        while (more && run < s.missing.size()) {
            const auto& r = s.missing[run];
            if (skip < r.count) {
                if (skip == 0) {
                    more = number(static_cast<unsigned>(r.first - at), false);
                    if (more) at = r.first, skip = 1;
                    continue;
                }
                const int burst = r.count - skip;
                more = number(static_cast<unsigned>(burst), true);
                if (more) at += burst, skip = r.count;
            } else {
                ++run;
                skip = 0;
            }
        }
        out_.put(field_rlist, 4);
        out_.put(static_cast<unsigned>(n), 4);
        sn(first);
        for (std::size_t i = 0; i < n; ++i) out_.put(words[i], 4);
    }
    return s.end;
}

void write_reset(const reset_content& r, std::span<std::uint8_t> pdu) noexcept {
    std::ranges::fill(pdu, std::uint8_t{0});
    bit_writer out(pdu);
    out.put(0, 1);
    out.put(static_cast<unsigned>(r.type), 3);
    out.put(r.rsn ? 1 : 0, 1);
    out.put(0, 3);
    out.put(r.hfni & 0xfffffU, 20);
}

std::optional<reset_content> read_reset(std::span<const std::uint8_t> pdu) noexcept {
    bit_reader in(pdu);
    in.get(1);
    reset_content r;
    r.type = static_cast<control_type>(in.get(3));
    r.rsn = in.get(1) != 0;
    const bool reserved = in.get(3) != 0;
    r.hfni = in.get(20);
    if (reserved || in.over() ||
        (r.type != control_type::reset && r.type != control_type::reset_ack))
        return {};
    return r;
}

std::optional<control_type> control_type_of(std::span<const std::uint8_t> pdu) noexcept {
    if (pdu.empty() || (pdu[0] & 0x80) != 0 || pdu[0] >> 4 > 2) return {};
    return static_cast<control_type>(pdu[0] >> 4);
}

}  // namespace wip::umts
