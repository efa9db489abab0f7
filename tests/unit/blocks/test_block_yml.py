# SPDX-License-Identifier: GPL-3.0-or-later
"""Every GRC block of blocks/grc fits the Python block it makes: parses, names the same parameters
with the same defaults, the same ports, and makes a block with its defaults."""

import pathlib
import re
import unittest

import yaml
from gnuradio import wip
from gnuradio.grc.core.utils.extract_docs import docstring_from_make

GRC = pathlib.Path(__file__).resolve().parents[3] / "blocks" / "grc"


def python_signature(cls):
    """{argument: default as text} from the signature that pybind11 puts first in the docstring."""
    line = re.search(r"__init__\(self: [^,)]*(?:, )?(.*)\) -> None", cls.__init__.__doc__).group(1)
    return dict(re.findall(r"(\w+): [\w\[\]]+ = (\[[^]]*\]|'[^']*'|[^,]+)", line))


def plain(name, text):
    """A default as a Python value. An empty list of bins means all of them."""
    value = eval(text, {"__builtins__": {"list": list, "range": range}})
    return list(range(25)) if name == "bins" and value == [] else value


class BlockYml(unittest.TestCase):
    def setUp(self):
        self.blocks = {
            p.name: yaml.safe_load(p.read_text()) for p in sorted(GRC.glob("*.block.yml"))
        }
        self.assertEqual(len(self.blocks), 15)

    def each(self):
        return [
            (block, getattr(wip, block["id"].removeprefix("wip_")))
            for block in self.blocks.values()
        ]

    def test_id_file_name_and_category_agree(self):
        for name, block in self.blocks.items():
            self.assertEqual(name, f"{block['id']}.block.yml")
            self.assertRegex(
                block["category"], r"^\[OpenWIP\]/(Link|Channel|Receiver chain|Modulation)$"
            )

    def test_parameters_and_defaults_are_those_of_the_python_block(self):
        # GRC shows messages by default: a block dropped into a graph should have something to show.
        differs_on_purpose = {("wip_slot_receiver", "message_period")}
        for block, cls in self.each():
            signature = python_signature(cls)
            self.assertEqual([p["id"] for p in block["parameters"]], list(signature))
            for p in block["parameters"]:
                if (block["id"], p["id"]) in differs_on_purpose:
                    continue
                default = repr(p["default"]) if p["dtype"] == "string" else p["default"]
                self.assertEqual(
                    plain(p["id"], default), plain(p["id"], signature[p["id"]]), p["id"]
                )

    def test_the_make_template_passes_every_parameter_by_name(self):
        for block, _ in self.each():
            made = block["templates"]["make"]
            self.assertTrue(made.startswith(f"wip.{block['id'].removeprefix('wip_')}("))
            names = re.findall(r"(\w+)=\$\{(\w+)\}", made)
            self.assertEqual([a for a, _ in names], [p["id"] for p in block["parameters"]])
            self.assertTrue(all(a == b for a, b in names))

    def test_defaults_make_a_block_and_meet_the_asserts(self):
        for block, cls in self.each():
            values = {
                p["id"]: p["default"] if p["dtype"] == "string" else plain(p["id"], p["default"])
                for p in block["parameters"]
            }
            cls(**values)
            for line in block["asserts"]:
                expression = re.fullmatch(r"\$\{ (.*) \}", line).group(1)
                self.assertTrue(eval(expression, dict(values)), expression)

    def test_asserts_refuse_what_the_block_refuses(self):
        wrong = {
            "cell": [-2, 64],
            "start_slot": [-1],
            "modulation": [0, 9],
            "bins": [[25], [3, 2]],
            "timeout_s": [0.0, 61.0],
            "restart_slots": [0, 15001],
            "nof_slots": [-1],
            "horizon": [-1, 65],
            "predictor": ["best", ""],
            "message_period": [-1],
            "bits_per_symbol": [0, 9],
            "noise_variance": [0.0],
            "delays_ns": [[], [-1.0], [12501.0], [0.0, 1.0]],
            "powers_db": [[101.0], [-101.0]],
            "doppler_hz": [-1.0, 2001.0],
            "fading": ["rice"],
            "snr_db": [-31.0, 101.0],
            "cfo_hz": [1.1e6],
            "clock_ppm": [101.0, -101.0],
            "linewidth_hz": [-1.0, 10001.0],
            "image_rejection_db": [2.0, 201.0],
            "dc_dbfs": [1.0, -201.0],
            "bits": [-1, 1, 17],
            "channel": ["typical", ""],
            "shadowing_db": [-1.0, 21.0],
            "transmissions": [0, 9],
            "update_slots": [0, 15001],
            "lowest_gain_db": [1.0],
            "highest_gain_db": [-1.0],
            "speed_kmh": [-2.0, 501.0],
            "user": [-1, 64],
            "noise_dbfs": [-201.0, 101.0],
        }
        for block, cls in self.each():
            good = {
                p["id"]: p["default"] if p["dtype"] == "string" else plain(p["id"], p["default"])
                for p in block["parameters"]
            }
            expressions = [
                re.fullmatch(r"\$\{ (.*) \}", line).group(1) for line in block["asserts"]
            ]
            for key, values in wrong.items():
                for value in values if key in good else []:
                    bad = {**good, key: value}
                    self.assertFalse(all(eval(e, dict(bad)) for e in expressions), (key, value))
                    if key == "timeout_s":
                        bad["endpoint"] = "ipc:///tmp/openwip-test-nobody"
                    with self.assertRaises(ValueError, msg=(key, value)):
                        cls(**bad)

    def test_the_channels_offered_are_the_definitions_that_are_built_in(self):
        block = self.blocks["wip_fading_channel.block.yml"]
        (channel,) = [p for p in block["parameters"] if p["id"] == "channel"]
        profiles = {p.stem for p in (GRC.parents[1] / "channels" / "profiles").glob("*.yaml")}
        self.assertEqual(set(channel["options"]), profiles | {"taps"})
        for name in channel["options"]:
            wip.fading_channel(channel=name)

    def test_every_parameter_is_explained_and_every_port_has_a_name(self):
        """The explanation is in the block's code, whose help GRC shows."""
        for block, cls in self.each():
            self.assertNotIn("documentation", block)
            (shown,) = docstring_from_make(
                block["id"], block["templates"]["imports"], block["templates"]["make"]
            ).values()
            self.assertEqual(shown, cls.__doc__)
            self.assertGreater(len(shown.partition("\n\n")[0]), 60, block["id"])
            for p in block["parameters"]:
                self.assertRegex(shown, rf"(?m)^(\w+, )*{p['id']}(, \w+)* +\S.{{5,}}")
            for port in (*block.get("inputs", []), *block.get("outputs", [])):
                self.assertTrue(port.get("label") or port.get("id"), block["id"])

    def test_numbers_with_a_unit_name_it(self):
        units = {
            "_hz": "Hz",
            "_db": "dB",
            "_s": "s",
            "_ns": "ns",
            "_ppm": "ppm",
            "_dbfs": "dBFS",
            "_slots": "lots",
        }
        for block, _ in self.each():
            for p in block["parameters"]:
                for ending, unit in units.items():
                    if p["id"].endswith(ending):
                        self.assertIn(unit, p["label"], (block["id"], p["id"]))

    def test_every_assert_says_in_words_what_is_valid(self):
        for block, _ in self.each():
            for line in block["asserts"]:
                self.assertRegex(line, r"^\$\{ \(.*\) and '[A-Z][^']{5,}' \}$", block["id"])

    def test_ports_are_those_of_the_block(self):
        for block, cls in self.each():
            made = cls()
            for side, ports in (
                ("inputs", made.message_ports_in()),
                ("outputs", made.message_ports_out()),
            ):
                from gnuradio.gr import pmt

                names = {str(n) for n in pmt.to_python(ports)} - {"system"}
                listed = {p["id"] for p in block.get(side, []) if p["domain"] == "message"}
                self.assertEqual(listed, names, side)
            for side, signature in (
                ("inputs", made.input_signature()),
                ("outputs", made.output_signature()),
            ):
                streams = [p for p in block.get(side, []) if p["domain"] == "stream"]
                self.assertEqual(len(streams), signature.max_streams())
                width = {"complex": 8, "float": 4, "byte": 1}
                sizes = [width[p["dtype"]] * p.get("vlen", 1) for p in streams]
                self.assertEqual(
                    sizes, [signature.sizeof_stream_item(port) for port in range(len(sizes))]
                )


if __name__ == "__main__":
    unittest.main()
