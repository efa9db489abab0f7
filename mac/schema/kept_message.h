// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a message that is a oneof and nothing else (ToMacd, ToFlowgraph), and keeps the memory of
// its usual case. ParseFromArray() of the whole message deletes the case that it held, with every
// string in it, and makes a new one: for a slot of 25 bins that is more than 50 allocations. Here
// the case that comes in every slot is parsed in its place.
//
// The result is that of ParseFromArray() for any bytes: what is not exactly one field of the usual
// number is left to it. Fields beside the oneof, which the type does not know, may stay from an
// earlier message; nobody reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace wip {

// The body of a message that consists of this field alone, a submessage; nothing: it is another
// message, or is encoded in another way. `number` is 1 to 15.
inline std::optional<std::span<const std::uint8_t>> body_of_only_field(
    std::span<const std::uint8_t> message, int number) noexcept {
    constexpr int length_delimited = 2, bits_of_group = 7, most_groups = 5;
    if (message.empty() || message[0] != (number << 3 | length_delimited)) return std::nullopt;
    std::uint64_t bytes = 0;
    for (std::size_t i = 1; i < message.size() && i <= most_groups; ++i) {
        bytes |= std::uint64_t{message[i] & 0x7FU} << (bits_of_group * (i - 1));
        if (message[i] >= 0x80) continue;
        const auto body = message.subspan(i + 1);
        return bytes == body.size() ? std::optional(body) : std::nullopt;
    }
    return std::nullopt;
}

// Parses `in` into `out`; `usual` is the accessor of the usual case and `number` its field, for
// example parse_kept(m, &ToMacd::mutable_report, ToMacd::kReportFieldNumber, in). Returns false,
// with `out` in an unspecified state, when `in` is not a message of that type.
template <class Message, class Usual>
bool parse_kept(Message& out, Usual* (Message::*usual)(), int number,
                std::span<const std::uint8_t> in) {
    const auto parse = [](auto& message, std::span<const std::uint8_t> bytes) {
        return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    };
    if (const auto body = body_of_only_field(in, number)) return parse(*(out.*usual)(), *body);
    return parse(out, in);
}

}  // namespace wip
