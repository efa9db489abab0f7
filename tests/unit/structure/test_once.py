# SPDX-License-Identifier: GPL-3.0-or-later
"""Values are written once: where a second language or the firmware has to repeat one, both are
compared."""

import ast
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import tree

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host/cli"))
from openwip_cli import air
from openwip_cli.campaign.settings import OF_LINUX
from openwip_cli.cell import attenuator_tables as attenuator
from openwip_cli.messages.attenuator import STEP_DB
from openwip_cli.runs import ns3_tcp
from openwip_cli.settings import table


def number(path, name):
    """The value of a constant in C++: `name = 10'000` or name{127}."""
    text = (TOP / path).read_text()
    found = re.search(rf"\b{name}(?: = |{{)(-?[\d'.e]+)", text)
    if not found:
        raise AssertionError(f"{path} has no {name}")
    value = float(found[1].replace("'", ""))
    return int(value) if value == int(value) else value


def constants(path):
    """Numbers, words and sequences of words that stand in a Python file."""
    for node in ast.walk(ast.parse((TOP / path).read_text())):
        if isinstance(node, ast.Constant):
            yield node.value
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)) and all(
            isinstance(e, ast.Constant) for e in node.elts
        ):
            yield tuple(e.value for e in node.elts)


def python(*folders):
    return [
        pathlib.Path(TOP, name).relative_to(TOP)
        for folder in folders
        for name in map(str, sorted((TOP / folder).rglob("*.py")))
    ]


class Once(unittest.TestCase):
    def test_numbers_of_the_air_interface_are_those_of_the_cpp_side(self):
        grid = "blocks/types/grid.h"
        for name, there in (
            ("SAMPLE_RATE", "sample_rate_hz"),
            ("SLOT_SAMPLES", "slot_samples"),
            ("SLOTS_PER_SECOND", "slots_per_second"),
            ("BINS", "nof_bins"),
            ("SPECTRUM_POINTS", "fft_size"),
            ("SYMBOLS_PER_BIN", "payload_symbols_per_bin"),
        ):
            self.assertEqual(getattr(air, name), number(grid, there), name)
        self.assertEqual(air.SUBCARRIERS, air.BINS * number(grid, "subcarriers_per_bin"))

    def test_rate_and_slot_stand_in_one_python_file(self):
        files = python("host", "flowgraphs", "blocks")
        self.assertGreater(len(files), 100)
        self.assertEqual(
            {
                str(f)
                for f in files
                if {air.SAMPLE_RATE, air.SLOT_SAMPLES}
                & {c for c in constants(f) if type(c) in (int, float)}
            },
            {"host/cli/openwip_cli/air.py"},
        )

    def test_what_is_made_of_the_table_and_kept_in_the_tree_is_that_of_today(self):
        """Ranges and defaults of the core, and the lists in the blocks of GNU Radio Companion."""
        made = "blocks/types/setting_limits.h"
        with tempfile.TemporaryDirectory() as folder:
            top = pathlib.Path(folder)
            shutil.copytree(TOP / "blocks/grc", top / "blocks/grc")
            done = subprocess.run(
                [
                    sys.executable,
                    "-I",
                    "-B",
                    TOP / "host/cli/settings_code.py",
                    TOP / "mac/schema/settings.yaml",
                    "--tree",
                    top,
                ],
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for path in (made, *(f"blocks/grc/{p.name}" for p in (TOP / "blocks/grc").iterdir())):
                self.assertEqual((top / path).read_text(), (TOP / path).read_text(), path)

    def test_every_channel_of_the_table_has_a_definition_and_the_other_way_round(self):
        self.assertEqual(
            sorted(table.column("channel.model", "choices", ())),
            sorted(p.stem for p in (TOP / "channels/profiles").glob("*.yaml")),
        )

    def test_choices_of_clocks_stand_in_one_place(self):
        sources = tuple(table.column("nodes.*.clock_source", "choices", ("fader",)))
        for words, where in (
            (("real", "virtual", "ns3"), {"host/cli/openwip_cli/runs/options.py"}),
            (sources, set()),
        ):
            self.assertEqual(
                {str(f) for f in python("host", "flowgraphs") if words in constants(f)},
                where,
                words,
            )

    def test_the_carrier_has_one_range(self):
        for key in ("fader.frequency_hz", "paths[].carrier_hz"):
            kind = table.kind_of(key, ("fader",))
            self.assertEqual(
                (kind.low, kind.high),
                (
                    number("channels/sample/motion.h", "lowest_carrier_hz"),
                    number("channels/sample/motion.h", "highest_carrier_hz"),
                ),
                key,
            )
        wrong = [
            name
            for name in tree.code()
            if name.startswith(("flowgraphs/", "host/", "channels/", "blocks/"))
            and re.search(r"carrier.*\b1e(?:8|9|11)\b|1e11", (TOP / name).read_text())
            and not name.endswith(".yaml")
        ]
        self.assertEqual(wrong, [])

    def test_an_snr_has_one_range_and_noise_another(self):
        asked = {
            "snr": (
                [("channel.snr_db", p) for p in table.programs("channel.snr_db")]
                + [("paths[].trace_snr_db", "medium"), ("channel.bins_db", "emulator")]
            ),
            "noise": [("nodes.*.noise_dbfs", p) for p in table.programs("nodes.*.noise_dbfs")],
        }
        for what, unit in (("snr", "db"), ("noise", "dbfs")):
            limits = tuple(
                number("channels/sample/snr_range.h", f"{end}_{what}_{unit}")
                for end in ("lowest", "highest")
            )
            for key, program in asked[what]:
                kind = table.kind_of(key, table.views(program))
                kind = getattr(kind, "kind", getattr(kind, "number", kind))
                self.assertEqual((kind.low, kind.high), limits, (key, program))

    def test_a_flowgraph_asks_the_table_for_what_is_a_setting(self):
        for key, program, flag in (
            ("radio.edge_samples", "demo", "--edge-samples"),
            ("link.transmit_lead_slots", "macd", "--lead"),
            ("fader.frequency_hz", "fader", "--freq"),
            ("phy.predictor", "demo", "--predictor"),
        ):
            text = "".join(
                (TOP / "flowgraphs/apps" / f"{name}.py").read_text()
                for name in ("command_options", "base_station", "terminal")
            )
            self.assertNotIn(f'add_argument("{flag}"', text)
            self.assertIn(f'setting(p, "{key}"', text)
            self.assertTrue(table.setting(key, program).kind.valid)

    def test_a_sender_of_ns3_has_one_name(self):
        found = re.findall(
            r'^    sender{"([^"]+)"', (TOP / "host/simulator/senders.cpp").read_text(), re.M
        )
        self.assertEqual(tuple(found), ns3_tcp.SENDERS)
        self.assertEqual(table.column("experiment.congestion_control", "choices", ()), list(found))
        # each sender of Linux is also one of ns-3
        self.assertLessEqual(set(OF_LINUX), set(found))

    def test_the_attenuators_command_has_the_limits_of_its_firmware(self):
        core = "firmware/core/"
        self.assertEqual(
            attenuator.PERIOD_MS, (1, number(core + "instrument.cpp", "max_period_ticks"))
        )
        self.assertEqual(
            attenuator.SILENCE_MS,
            (
                number(core + "instrument.h", "min_silence_ticks"),
                number(core + "instrument.h", "max_silence_ticks"),
            ),
        )
        self.assertEqual(attenuator.NOF_CHANNELS, number(core + "layout.h", "nof_chips"))
        self.assertEqual(
            attenuator.MOST_DB, number(core + "attenuation.h", "max_in_series") * STEP_DB
        )


if __name__ == "__main__":
    unittest.main()
