# SPDX-License-Identifier: GPL-3.0-or-later
"""No file is longer than 500 lines, and neither code nor pages grow unseen: docs/develop.md says what was asked, and why it is more."""
import unittest

import sizes

LONGEST_FILE = 500      # lines
LONGEST_PAGE = 7000     # words
ONE_TABLE = {"mac/schema/settings.yaml": 620}      # an entry a setting
# Of each part: lines of product, words of its pages. More than asked; who gets below lowers it, who needs more says why (docs/develop.md).
AT_MOST = {
    "house": (72_800, 25_550),
    "UMTS": (6_460, 6_600),
    "WLAN": (2_040, 4_960),
    "cabled, attenuator, firmware": (6_900, 6_750),
    "radios and devices": (6_350, 5_900),
    "virtual time, ns-3, campaigns": (9_600, 7_670),
}
COMMAND_AT_MOST = 20_770     # lines of host/cli, whatever part they are of


@unittest.skipIf(sizes.tracked() is None, "not a git checkout")
class Sizes(unittest.TestCase):
    def test_no_file_is_longer_than_five_hundred_lines(self):
        of = sizes.lines()
        self.assertGreater(len(of), 1400)
        self.assertEqual({name: n for name, n in of.items() if n > ONE_TABLE.get(name, LONGEST_FILE)}, {})

    def test_no_page_is_longer_than_it_can_be_read(self):
        of = sizes.words()
        self.assertGreater(len(of), 30)
        self.assertEqual({name: n for name, n in of.items() if n > LONGEST_PAGE}, {})

    def test_no_part_grows_unseen(self):
        of = sizes.parts()
        self.assertEqual(set(of), set(AT_MOST))
        self.assertEqual({part: (n["product"], n["words"]) for part, n in of.items()
                          if n["product"] > AT_MOST[part][0] or n["words"] > AT_MOST[part][1]}, {})
        self.assertLessEqual(sizes.sums()["host/cli"], COMMAND_AT_MOST)

    def test_every_part_is_found_by_its_names(self):
        for name, part in (("mac/umts/cell.h", "UMTS"), ("docs/wlan.md", "WLAN"), ("firmware/board/main.cpp", "cabled, attenuator, firmware"),
                           ("channels/vusrp/device.cpp", "radios and devices"), ("host/simulator/main.cpp", "virtual time, ns-3, campaigns"),
                           ("blocks/include/gnuradio/wip/snr_predictor.h", "house"), ("host/cli/openwip_cli/runs/demo.py", "house")):
            self.assertEqual(sizes.part_of(name), part)


if __name__ == "__main__":
    unittest.main()
