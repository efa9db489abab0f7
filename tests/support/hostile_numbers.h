// SPDX-License-Identifier: GPL-3.0-or-later
// Texts that a user may write where a number is expected: each is read alike everywhere, or
// refused.
#pragma once

#include <array>

namespace wip::test {

inline constexpr std::array hostile_numbers{"1e-310",
                                            "4.9e-324",
                                            "1e-400",
                                            "1e400",
                                            "-1e400",
                                            "nan",
                                            "-nan",
                                            "inf",
                                            "-inf",
                                            ".inf",
                                            ".nan",
                                            "-0",
                                            "+-1",
                                            "--1",
                                            "0x10",
                                            "010",
                                            "1e5",
                                            "1e",
                                            "1.5",
                                            "1,5",
                                            "1_000",
                                            "''",
                                            "~",
                                            "9223372036854775807",
                                            "9223372036854775808",
                                            "-9223372036854775808",
                                            "18446744073709551616",
                                            "340282366920938463463374607431768211456",
                                            "179769313486231570000000000000000000000e270",
                                            "2147483648",
                                            "4294967296",
                                            "[1]",
                                            "{a: 1}",
                                            "1 2",
                                            "true",
                                            "one"};

}  // namespace wip::test
