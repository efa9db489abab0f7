#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments of UMTS that Linux runs, small size: a tier of its own, `./openwip test -C umts -R
umts_statements` (docs/how-to/develop.md). At this size some statements come out otherwise than on the
pages."""

import unittest

import statements_support


class Umts(statements_support.Statements):
    NAMES = RUN = [
        "U-A1",
        "U-A4",
        "U-A5",
        "U-A6",
        "U-A7",
        "U-B1",
        "U-B2",
        "U-B4",
        "U-B6",
        "U-B8",
        "U-B9",
        "U-B11",
        "U-B12",
    ]
    KEEP = "OPENWIP_UMTS"  # environment variable: folder that is kept
    # the statements that do not hold at this size
    NOT_SEEN = {
        "U-A1 second-50",
        "U-A1 second-100",
        "U-A1 prohibit-low",
        "U-A1 prohibit-high",
        "U-A1 rtt-prohibit",
        "U-A1 rtt-model-18",
        "U-A1 rtt-model-20",
        "U-A1 rtt-model-22",
        "U-A1 average",
        "U-A1 average-low",
        "U-A4 plain",
        "U-A4 plain-sack",
        "U-A4 sack-longer",
        "U-A4 retransmitted-sack",
        "U-A4 rtt-order",
        "U-A4 rtt-eifel-in-order",
        "U-A4 first-again",
        "U-A4 again-sack",
        "U-A4 again-both",
        "U-A5 later",
        "U-A5 download",
        "U-A5 less-longer",
        "U-A5 less-later",
        "U-A5 again-gain",
        "U-A5 gain-short",
        "U-A5 gain-long",
        "U-A7 all",
        "U-B1 reno-384-576",
        "U-B1 reno-128-576",
        "U-B1 in-sequence-384-576",
        "U-B1 without-rlc-384-576",
        "U-B1 without-rlc-128-576",
        "U-B1 in-sequence-timeouts",
        "U-B2 eifel-384-576",
        "U-B2 westwood-384-576",
        "U-B2 westwood-384-1500",
        "U-B2 westwood-128-576",
        "U-B2 both-better",
        "U-B2 eifel-again",
        "U-B4 slower-128-1500",
        "U-B4 three-four-1500",
        "U-B4 window-100-3-384-576",
        "U-B4 window-200-3-384-576",
        "U-B4 window-size-128-576",
        "U-B8 proxy-384-1500",
        "U-B8 proxy-128-576",
        "U-B8 shortcut-384-1500",
        "U-B9 out-384-1500",
        "U-B9 out-128-576",
        "U-B9 in-384-576",
        "U-B9 in-timeouts",
        "U-B9 in-timeouts-384",
        "U-B12 same",
        "U-B12 split-westwood",
    }
    NOT_MEASURED = {"U-A4 fack"}


if __name__ == "__main__":
    unittest.main()
