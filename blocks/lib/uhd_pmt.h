// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the pmt messages of gr-uhd. A time (rx_time, tx_time) is tuple(uint64 full seconds, double
// fraction). A transmit event ("async_msgs" of the sink) is pair(symbol uhd_async_msg, dict) with
// event_code = list of symbols and, mostly, time_spec = a time. Messages from outside never throw:
// a value that is no time is nullopt, an event that is not known is `other`.
#pragma once

#include <pmt/pmt.h>

#include <optional>

#include "sample_clock.h"
#include "types/quantity.h"

namespace wip {

enum class uhd_event_kind { late, underflow, other };

struct uhd_event {
    uhd_event_kind kind = uhd_event_kind::other;
    std::optional<sample> time;  // device time of the event
};

// A time as it is, among the samples of the cell's rate, and as the nearest of them.
std::optional<split_time> read_seconds(const pmt::pmt_t& value);
std::optional<sample_time> read_sample_time(const pmt::pmt_t& value);
std::optional<sample> read_time(const pmt::pmt_t& value);
uhd_event read_uhd_event(const pmt::pmt_t& message);

}  // namespace wip
