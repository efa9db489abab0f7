// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "sample_clock.h"
#include "uhd_pmt.h"

namespace {

using namespace wip;

pmt::pmt_t time(std::uint64_t full, double fraction) {
    return pmt::make_tuple(pmt::from_uint64(full), pmt::from_double(fraction));
}

pmt::pmt_t event(const char* code, const pmt::pmt_t& when = pmt::PMT_NIL) {
    auto dict = pmt::dict_add(pmt::make_dict(), pmt::mp("event_code"), pmt::list1(pmt::mp(code)));
    if (!pmt::is_null(when)) dict = pmt::dict_add(dict, pmt::mp("time_spec"), when);
    return pmt::cons(pmt::mp("uhd_async_msg"), dict);
}

TEST(uhd_pmt, tells_late_from_underflow_from_the_rest) {
    EXPECT_EQ(read_uhd_event(event("time_error")).kind, uhd_event_kind::late);
    EXPECT_EQ(read_uhd_event(event("underflow")).kind, uhd_event_kind::underflow);
    EXPECT_EQ(read_uhd_event(event("underflow_in_packet")).kind, uhd_event_kind::underflow);
    EXPECT_EQ(read_uhd_event(event("seq_error_in_burst")).kind, uhd_event_kind::underflow);
    EXPECT_EQ(read_uhd_event(event("burst_ack")).kind, uhd_event_kind::other);
}

TEST(uhd_pmt, reads_the_time_of_an_event) {
    const auto e = read_uhd_event(event("underflow", time(3, 0.1)));
    ASSERT_TRUE(e.time.has_value());
    EXPECT_EQ(e.time->value, 3 * sample_rate_hz + 768000);
    EXPECT_FALSE(read_uhd_event(event("underflow")).time.has_value());
}

TEST(uhd_pmt, what_is_no_time_is_refused) {
    EXPECT_FALSE(read_time(pmt::PMT_NIL));
    EXPECT_FALSE(read_time(pmt::mp("rx_time")));
    EXPECT_FALSE(read_time(time(1, 1.5)));
    EXPECT_FALSE(read_time(time(1, -0.1)));
    EXPECT_FALSE(read_time(time(~std::uint64_t{0}, 0)));
    EXPECT_FALSE(read_time(pmt::make_tuple(pmt::mp("a"), pmt::mp("b"))));
    EXPECT_TRUE(read_time(pmt::cons(pmt::from_uint64(1), pmt::from_double(0.5))));
}

TEST(uhd_pmt, messages_that_are_no_event_count_as_other) {
    for (const auto& m : {pmt::PMT_NIL, pmt::PMT_T, pmt::mp("x"), pmt::from_long(3),
                          pmt::cons(pmt::mp("uhd_async_msg"), pmt::mp("x")),
                          pmt::cons(pmt::from_long(1), pmt::from_long(2)),
                          pmt::init_u8vector(2, std::vector<std::uint8_t>{1, 2})})
        EXPECT_EQ(read_uhd_event(m).kind, uhd_event_kind::other);
}

}  // namespace
