#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Experiments A1 to C2 in virtual time, small size, some minutes on two cores: a tier of its own,
`./openwip test -C chapter6 -R chapter6` (docs/how-to/develop.md)."""

import unittest

import statements_support


class Chapter6(statements_support.Statements):
    NOT_SEEN = {
        "A1 asymptote",
        "A1 doubling",
        "A2 distribution",
        "A3 table-0.1",
        "A3 crossing",
        "A4 frames",
        "B2 falling",
        "B3 model",
        "B3 rtt",
        "B2 flat-64k",
        "B2 falling-64k",
        "C2 three-ms",
    }


if __name__ == "__main__":
    unittest.main()
