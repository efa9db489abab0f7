# SPDX-License-Identifier: GPL-3.0-or-later
"""The two processes of ./openwip station: their configuration and their arguments."""

import os
import pathlib
import tempfile
import types
import unittest

from station_support import HERE, KEYS, parse

from openwip_cli.cell import cell as cells
from openwip_cli.cell import processes, station
from openwip_cli.machine import places
from openwip_cli.runs import station as station_run


class Processes(unittest.TestCase):
    def test_macd_is_told_where_its_interface_is_and_that_the_other_station_may_leave(self):
        wanted, options = parse("terminal", *HERE, "--uplink-kbps", "777")
        cell = cells.Cell("x7", 1, False)
        self.assertEqual((cell.stations, cell.namespaces), (["terminal"], ["owip-x7-terminal"]))
        tree = station.macd_config(cell, options.scenario, "terminal", wanted.peer)
        self.assertEqual(
            (tree["tun"]["namespace"], tree["tun"]["address"]), ("owip-x7-terminal", "10.42.0.2/30")
        )
        self.assertEqual(
            (tree["endpoints"]["uplink"], tree["endpoints"]["uplink_keys"]),
            ("tcp://127.0.0.1:7680", KEYS),
        )
        self.assertEqual((tree["peer_may_leave"], tree["uplink"]["kbps"]), (True, 777))

    def test_the_flowgraph_starts_from_now_with_the_sources_that_were_asked_for(self):
        wanted, _ = parse(
            "base",
            *HERE,
            "--transmit-gain",
            "20",
            "--clock-source",
            "external",
            "--time-source",
            "gpsdo",
            "--freq",
            "2.45e9",
        )
        reported = " ".join(wanted.radio.options("base"))
        for words in (
            "--args type=b200",
            "--transmit-gain 20",
            "--freq 2450000000",
            "--clock-source external",
            "--time-source gpsdo",
            "--start-in",
        ):
            self.assertIn(words, reported)
        self.assertTrue(
            str(processes.flowgraph("base", places.default())[1]).endswith("base_station.py")
        )

    def test_each_station_has_the_gain_of_its_side(self):
        for role, side in (("base", "transmit"), ("terminal", "receive")):
            reported = parse(role, *HERE, f"--{side}-gain", "20")[0].radio.options(role)
            self.assertEqual(
                [(a, b) for a, b in zip(reported, reported[1:]) if "gain" in a],
                [(f"--{side}-gain", "20")],
            )

    def test_a_power_is_asked_for_instead_of_a_gain_and_at_a_base_station(self):
        reported = parse("base", *HERE, "--power", "-10.5")[0].radio.options("base")
        self.assertEqual(
            (reported[reported.index("--tx-power") + 1], "--transmit-gain" in reported),
            ("-10.5", False),
        )

    @unittest.skipIf(os.geteuid() != 0, "only root's files are believed")
    def test_a_power_beyond_what_the_mask_was_evaluated_for_is_warned_of(self):
        for power in (None, -10.5, station.MASKED_DBM):
            self.assertEqual(station.adjacent_channel_warning(power), "")
        self.assertIn(
            "-4.9 dBm: beside the carrier the mask of TS 36.104 (Local Area) was evaluated up to -5"
            " dBm only",
            station.adjacent_channel_warning(-4.9),
        )

    def test_what_the_radio_made_of_a_power_is_told(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder, "base.radio.log")
            log.write_text(
                "base_station: the radio runs at 8.3 MS/s\n"
                '{"carrier_dbm": -10.0, "gain_db": 84.75}\nready\n'
            )
            here = types.SimpleNamespace(run=pathlib.Path(folder))
            self.assertEqual(station_run.carrier(here), "carrier of -10.0 dBm: gain 84.75 dB")
            log.write_text("ready\n")
            self.assertEqual(station_run.carrier(here), "the radio does not say its power")


if __name__ == "__main__":
    unittest.main()
