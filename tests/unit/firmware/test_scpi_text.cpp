// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/scpi_text.h"

using namespace wip::attenuator;

namespace {

std::int64_t number_of(std::string_view text) {
    const auto r = next_parameter(text);
    EXPECT_EQ(r.error, scpi_error::none) << text;
    EXPECT_EQ(r.value.is, parameter::kind::number) << text;
    return r.value.thousandths;
}

}  // namespace

TEST(ScpiText, AHeaderIsItsShortOrItsLongFormAndNothingBetween) {
    constexpr std::string_view pattern = "INPut#:ATTenuation[:LEVel]";
    for (const auto* good :
         {"INP:ATT", "inp:att", "INPUT:ATTENUATION", "Input1:Att:Lev", "INP1:ATTENUATION:LEVEL"})
        EXPECT_TRUE(match_header(good, pattern).matches) << good;
    for (const auto* bad : {"", "INP", "INPU:ATT", "INP:ATTE", "INP:ATT:LEVE", "INP:ATT1",
                            "INP:ATT:LEV:LEV", "ATT", "INP1A:ATT", "INP::ATT"})
        EXPECT_FALSE(match_header(bad, pattern).matches) << bad;
}

TEST(ScpiText, ANumberBehindAWordIsItsSuffix) {
    EXPECT_EQ(match_header("INP:ATT", "INPut#:ATTenuation").suffix, 1);
    EXPECT_EQ(match_header("INP7:ATT", "INPut#:ATTenuation").suffix, 7);
    EXPECT_EQ(match_header("INP0:ATT", "INPut#:ATTenuation").suffix, 0);
    EXPECT_EQ(match_header("INP99999999999999999999:ATT", "INPut#:ATTenuation").suffix, 1000);
    EXPECT_FALSE(match_header("SYST1:VERS", "SYSTem:VERSion").matches);
}

TEST(ScpiText, ANodeInBracketsMayBeLeftOut) {
    EXPECT_TRUE(match_header("SYST:ERR", "SYSTem:ERRor[:NEXT]").matches);
    EXPECT_TRUE(match_header("SYST:ERR:NEXT", "SYSTem:ERRor[:NEXT]").matches);
    EXPECT_FALSE(match_header("SYST:ERR:COUN", "SYSTem:ERRor[:NEXT]").matches);
    EXPECT_TRUE(match_header("STAT:OPER:ENAB", "STATus:OPERation:ENABle").matches);
}

TEST(ScpiText, NumbersAreReadAsTheyAreWritten) {
    EXPECT_EQ(number_of("12"), 12'000);
    EXPECT_EQ(number_of("-0.25"), -250);
    EXPECT_EQ(number_of("+31.75"), 31'750);
    EXPECT_EQ(number_of(".5"), 500);
    EXPECT_EQ(number_of("5."), 5'000);
    EXPECT_EQ(number_of("1e1"), 10'000);
    EXPECT_EQ(number_of("1.25E+01"), 12'500);
    EXPECT_EQ(number_of("1250 E -2"), 12'500);
    EXPECT_EQ(number_of("0.0004999"), 0);
    EXPECT_EQ(number_of("0.0005"), 1);
    EXPECT_EQ(number_of("0e32000"), 0);
    EXPECT_EQ(number_of("1e-32000"), 0);
    EXPECT_EQ(number_of("1e32000"), 1'000'000'000'000);
    EXPECT_EQ(number_of("123456789012345678901234567890"), 1'000'000'000'000);
}

TEST(ScpiText, ANumberMayHaveAUnit) {
    auto r = next_parameter("3.5 dB , 4");
    EXPECT_EQ(r.value.thousandths, 3'500);
    EXPECT_EQ(r.value.suffix, "dB");
    EXPECT_EQ(r.rest, ", 4");
    r = next_parameter("100ms");
    EXPECT_EQ(r.value.suffix, "ms");
    r = next_parameter("2 EX");
    EXPECT_EQ(r.value.suffix, "EX");
    EXPECT_EQ(r.value.thousandths, 2'000);
}

TEST(ScpiText, WhatIsNoNumberHasItsError) {
    EXPECT_EQ(next_parameter("").error, scpi_error::missing_parameter);
    EXPECT_EQ(next_parameter("-").error, scpi_error::numeric_data);
    EXPECT_EQ(next_parameter(".").error, scpi_error::numeric_data);
    EXPECT_EQ(next_parameter("1e+").error, scpi_error::numeric_data);
    EXPECT_EQ(next_parameter("1e32001").error, scpi_error::exponent_too_large);
    EXPECT_EQ(next_parameter(std::string(256, '1')).error, scpi_error::too_many_digits);
    EXPECT_EQ(next_parameter("(1)").error, scpi_error::syntax);
}

TEST(ScpiText, StringsMayHoldTheirQuoteTwice) {
    auto r = next_parameter("\"a;\"\"b\" , 1");
    EXPECT_EQ(r.value.is, parameter::kind::string);
    EXPECT_EQ(r.value.text, "a;\"\"b");
    EXPECT_EQ(r.rest, ", 1");
    EXPECT_EQ(next_parameter("'it").error, scpi_error::invalid_string);
}

TEST(ScpiText, EveryErrorHasWords) {
    for (int n = -500; n <= 300; ++n) {
        const auto words = words_of(static_cast<scpi_error>(n));
        EXPECT_FALSE(words.empty());
        EXPECT_EQ(words.find('"'), std::string_view::npos);
    }
}
