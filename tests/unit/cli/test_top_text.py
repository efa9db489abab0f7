# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers and names on the screen of `openwip top`."""

import math
import unittest

from openwip_cli.views import top_text

MOST = 2**64 - 1  # largest value of a counter


class Numbers(unittest.TestCase):
    def test_no_number_is_wider_than_its_column(self):
        for value in (
            0,
            1,
            -1,
            999.96,
            1000,
            99999,
            100000,
            1e6,
            12345678,
            MOST,
            -MOST,
            1e300,
            math.inf,
            math.nan,
            None,
        ):
            self.assertLessEqual(len(top_text.number(value)), 7, value)
            self.assertLessEqual(len(top_text.count(value)), 6, value)
        for value in (0, 1e-9, 0.5, 1, 12.5, 1e30, -1e30, math.nan, math.inf):
            self.assertLessEqual(len(top_text.share(value)), 8, value)

    def test_control_characters_do_not_reach_the_terminal(self):
        self.assertEqual(top_text.clean("a\x1b[2J\n\u7532"), "a?[2J??")


if __name__ == "__main__":
    unittest.main()
