// SPDX-License-Identifier: GPL-3.0-or-later
#include "umts/rlc_capture.h"

#include <string_view>

namespace wip::umts {
namespace {

constexpr std::string_view signature = "umts-rlc";
constexpr std::uint8_t tag_payload = 1, tag_channel = 2, tag_mode = 3, tag_direction = 4,
                       tag_urnti = 5, tag_bearer = 6, tag_li = 7;
constexpr std::uint8_t ps_dtch = 4;       // logical channel of packet-switched user data
constexpr std::uint16_t udp_port = 9999;  // the framing has none of its own
constexpr int ip_bytes = 20, udp_bytes = 8;

void put_big_endian(std::vector<std::uint8_t>& out, std::uint32_t value, int bytes) {
    while (bytes-- > 0) out.push_back(static_cast<std::uint8_t>(value >> 8 * bytes));
}

}  // namespace

rlc_channel channel_of(rlc_mode mode, bool downlink, int user, std::size_t pdu_bytes) {
    const auto lis =
        mode == rlc_mode::unacknowledged ? data_mode::unacknowledged : data_mode::acknowledged;
    return {.mode = mode,
            .downlink = downlink,
            .urnti = static_cast<std::uint32_t>(user) + 1,
            .wide_li = li_bytes(lis, static_cast<int>(pdu_bytes)) == 2};
}

void frame_pdu(const rlc_channel& c, std::span<const std::uint8_t> pdu,
               std::vector<std::uint8_t>& out) {
    const std::size_t framing = signature.size() + (c.user_data ? 2 : 0) + 2 + 2 + 5 + 2 + 2 + 1;
    const auto udp = static_cast<std::uint32_t>(udp_bytes + framing + pdu.size());
    out.clear();
    put_big_endian(out, 0x4500, 2);
    put_big_endian(out, ip_bytes + udp, 2);
    put_big_endian(out, 0, 4);
    out.push_back(64);                            // time to live
    out.push_back(17);                            // UDP
    put_big_endian(out, 0, 2);                    // checksum, below
    constexpr std::uint32_t server = 0x0a2a0001;  // 10.42.0.1
    put_big_endian(out, c.downlink ? server : server + c.urnti, 4);
    put_big_endian(out, c.downlink ? server + c.urnti : server, 4);
    std::uint32_t sum = 0;
    for (int i = 0; i < ip_bytes; i += 2)
        sum += static_cast<std::uint32_t>(out[static_cast<std::size_t>(i)] << 8 |
                                          out[static_cast<std::size_t>(i) + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    out[10] = static_cast<std::uint8_t>(~sum >> 8);
    out[11] = static_cast<std::uint8_t>(~sum);
    put_big_endian(out, udp_port, 2);
    put_big_endian(out, udp_port, 2);
    put_big_endian(out, udp, 2);
    put_big_endian(out, 0, 2);
    out.insert(out.end(), signature.begin(), signature.end());
    if (c.user_data) {
        put_big_endian(out, tag_channel, 1);
        put_big_endian(out, ps_dtch, 1);
    }
    put_big_endian(out, tag_mode, 1);
    put_big_endian(out, static_cast<std::uint32_t>(c.mode), 1);
    put_big_endian(out, tag_direction, 1);
    put_big_endian(out, c.downlink ? 1 : 0, 1);
    put_big_endian(out, tag_urnti, 1);
    put_big_endian(out, c.urnti, 4);
    put_big_endian(out, tag_bearer, 1);
    put_big_endian(out, c.radio_bearer, 1);
    put_big_endian(out, tag_li, 1);
    put_big_endian(out, c.wide_li ? 2 : 1, 1);
    put_big_endian(out, tag_payload, 1);
    out.insert(out.end(), pdu.begin(), pdu.end());
}

}  // namespace wip::umts
