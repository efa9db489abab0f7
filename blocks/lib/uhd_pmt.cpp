// SPDX-License-Identifier: GPL-3.0-or-later
#include "uhd_pmt.h"

#include <string>

namespace wip {

namespace {

uhd_event_kind kind_of(const pmt::pmt_t& code) {
    if (!pmt::is_symbol(code)) return uhd_event_kind::other;
    const std::string name = pmt::symbol_to_string(code);
    if (name == "time_error") return uhd_event_kind::late;
    if (name.starts_with("underflow") || name.starts_with("seq_error"))
        return uhd_event_kind::underflow;
    return uhd_event_kind::other;
}

}  // namespace

std::optional<split_time> read_seconds(const pmt::pmt_t& spec) {
    pmt::pmt_t full, fraction;
    if (pmt::is_tuple(spec) && pmt::length(spec) == 2) {
        full = pmt::tuple_ref(spec, 0);
        fraction = pmt::tuple_ref(spec, 1);
    } else if (pmt::is_pair(spec)) {
        full = pmt::car(spec);
        fraction = pmt::cdr(spec);
    }
    if (!full || !fraction || !pmt::is_real(fraction)) return std::nullopt;
    std::uint64_t seconds = 0;
    if (pmt::is_uint64(full))
        seconds = pmt::to_uint64(full);
    else if (pmt::is_integer(full))
        seconds = static_cast<std::uint64_t>(pmt::to_long(full));
    else
        return std::nullopt;
    const double f = pmt::to_double(fraction);
    if (seconds > longest_time_s || !(f >= 0 && f < 1)) return std::nullopt;
    return split_time{seconds, f};
}

std::optional<sample_time> read_sample_time(const pmt::pmt_t& spec) {
    const auto t = read_seconds(spec);
    return t ? std::optional(sample_time_of(t->full, t->fraction)) : std::nullopt;
}

std::optional<sample> read_time(const pmt::pmt_t& spec) {
    const auto t = read_sample_time(spec);
    return t ? std::optional(t->nearest) : std::nullopt;
}

uhd_event read_uhd_event(const pmt::pmt_t& message) {
    uhd_event event;
    try {
        const pmt::pmt_t dict = pmt::is_pair(message) && pmt::is_symbol(pmt::car(message))
                                    ? pmt::cdr(message)
                                    : message;
        pmt::pmt_t codes = pmt::dict_ref(dict, pmt::mp("event_code"), pmt::PMT_NIL);
        if (pmt::is_symbol(codes)) codes = pmt::list1(codes);
        for (; pmt::is_pair(codes); codes = pmt::cdr(codes))
            if (const auto kind = kind_of(pmt::car(codes)); kind != uhd_event_kind::other)
                event.kind = kind;
        event.time = read_time(pmt::dict_ref(dict, pmt::mp("time_spec"), pmt::PMT_NIL));
    } catch (const pmt::exception&) {
        return {};
    }
    return event;
}

}  // namespace wip
