# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio Companion itself refuses what the blocks refuse: a flowgraph with a bad value does not
compile, and the message says in words what is valid. One compiler run for all of them."""

import os
import pathlib
import unittest

import yaml

TOP = pathlib.Path(__file__).resolve().parents[3]
BAD = {
    "cell": ["-2", "64"],
    "start_slot": ["-1"],
    "modulation": ["0", "9"],
    "bins": ["[25]", "[3, 2]"],
    "timeout_s": ["0", "61"],
    "restart_slots": ["0", "15001"],
    "nof_slots": ["-1"],
    "transmissions": ["0", "9"],
    "lead_slots": ["1", "49"],
    "update_slots": ["0", "15001"],
    "horizon": ["-1", "65"],
    "predictor": ["best"],
    "message_period": ["-1"],
    "bits_per_symbol": ["0", "9"],
    "noise_variance": ["0"],
    "delays_ns": ["[]", "[-1]", "[0, 1]"],
    "powers_db": ["[101]"],
    "doppler_hz": ["-1", "2001"],
    "fading": ["rice"],
    "snr_db": ["-31", "101"],
    "shadowing_db": ["-1", "21"],
    "channel": ["typical"],
    "cfo_hz": ["1.1e6"],
    "clock_ppm": ["101"],
    "linewidth_hz": ["-1"],
    "image_rejection_db": ["2", "201"],
    "dc_dbfs": ["1"],
    "bits": ["1", "17"],
    "seed": ["-1"],
    "lowest_gain_db": ["1"],
    "in_clock": ["0"],
    "in_divider": ["0", "100001"],
    "out_clock": ["-1"],
    "out_divider": ["0"],
    "first": ["-1"],
    "speed_kmh": ["-2", "501"],
    "shadowing": ["soft", "21"],
    "user": ["-1", "64"],
    "noise_dbfs": ["-201", "101"],
}
# Anything that makes a port or a string; they have no bad values.
FREE = {"combining", "control", "endpoint", "gain_db", "highest_gain_db", "timed_gain"}


class Asserts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ["GRC_BLOCKS_PATH"] = str(TOP / "blocks" / "grc")
        from gnuradio import gr
        from gnuradio.grc.core.platform import Platform

        cls.platform = Platform(
            version=gr.version(),
            version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()),
            prefs=gr.prefs(),
        )
        cls.platform.build_library()

    def errors(self, key, **values):
        graph = self.platform.make_flow_graph()
        block = graph.new_block(key)
        block.params["id"].set_value("it")
        for name, value in values.items():
            block.params[name].set_value(value)
        graph.rewrite()
        block.validate()
        return [
            message for _, message in block.iter_error_messages() if "not connected" not in message
        ]

    def blocks(self):
        for path in sorted((TOP / "blocks" / "grc").glob("*.block.yml")):
            yield yaml.safe_load(path.read_text())

    def test_defaults_are_fine(self):
        for block in self.blocks():
            self.assertEqual(self.errors(block["id"]), [], block["id"])

    def test_every_bad_value_is_refused_in_words(self):
        for block in self.blocks():
            for parameter in block["parameters"]:
                if parameter["id"] in FREE:
                    continue
                for value in BAD[parameter["id"]]:
                    with self.subTest(block=block["id"], parameter=parameter["id"], value=value):
                        reported = self.errors(block["id"], **{parameter["id"]: value})
                        self.assertEqual(
                            [m for m in reported if "Assertion" in m and " and '" in m] != [],
                            True,
                            reported,
                        )

    def test_a_gain_outside_the_range_of_the_radio_is_refused(self):
        for gain, refused in (("-11", True), ("21", True), ("20", False)):
            reported = self.errors(
                "wip_slot_receiver", gain_db=gain, lowest_gain_db="-10", highest_gain_db="20"
            )
            self.assertEqual(any("Receive gain at first" in m for m in reported), refused, reported)
        # Without gain control the level is not changed.
        self.assertEqual(self.errors("wip_slot_receiver", gain_db="21"), [])


if __name__ == "__main__":
    unittest.main()
