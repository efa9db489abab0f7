# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the tests of statements: an experiment with results made by hand, and what a statement
says of it."""

import unittest

from world import SMALL, World, results

from openwip_cli.campaign import statements

NOISE = {1: 0.03, 2: -0.02, 3: 0.01, 4: -0.02}


class Case(unittest.TestCase):
    GRID = "channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]"

    def experiment(self, grid=None, settings="{allocation: static}"):
        text = SMALL.replace(
            "channel: [jakes, winner]\n  modulation: [adaptive, 1, 2, 3]", grid or self.GRID
        )
        w = World(text.replace("{allocation: static}", settings))
        self.addCleanup(w.close)
        return w.experiment()

    def evaluate(self, statement, values, grid=None, **kwargs):
        """`values(point)`: throughput, to which every realisation adds its own and some noise;
        None: absent. It may ask for the realisation, too."""

        def result_of(point, r):
            v = values(point) if values.__code__.co_argcount == 1 else values(point, r)
            return None if v is None else {"goodput_mbps": v + 0.5 * r + NOISE[r]}

        return statements.evaluate(
            results(self.experiment(grid, **kwargs), result_of),
            {"id": "x", "says": "y", "source": "z", "metric": "goodput_mbps"} | statement,
        )
