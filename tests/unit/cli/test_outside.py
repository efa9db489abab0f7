# SPDX-License-Identifier: GPL-3.0-or-later
"""The options by which a cell is connected to what is outside of it."""

import argparse
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from openwip_cli.cell import outside
from openwip_cli.errors import BadInput
from openwip_cli.runs import options
from openwip_cli.runs.station_options import parse as parse_station


def parsed(*arguments, stations=outside.STATIONS):
    parser = argparse.ArgumentParser()
    outside.add_options(parser, stations)
    return outside.read(parser.parse_args(arguments), stations)


class CommandLine(unittest.TestCase):
    def test_what_is_asked_for(self):
        self.assertFalse(parsed().asked)
        self.assertTrue(parsed("--gateway").gateway)
        wanted = parsed("--attach", "base=netns:web", "--attach", "terminal=if:eth1.5")
        self.assertEqual(
            {s: str(p) for s, p in wanted.attached.items()},
            {"base": "netns:web", "terminal": "if:eth1.5"},
        )
        self.assertEqual(
            parsed("--attach", "base=pid:77").attached["base"].namespace, "/proc/77/ns/net"
        )

    def test_what_is_wrong_is_one_line_with_what_would_be_valid(self):
        for text in (
            "base",
            "base=",
            "base=netns:",
            "base=pid:x",
            "base=pid:0",
            "base=if:",
            "base=if:a/b",
            "base=usb:1",
            "air=if:eth1",
            "base=netns:../../proc",
            "base=if:longer-than-15-characters",
        ):
            with self.subTest(text), self.assertRaises(BadInput) as caught:
                parsed("--attach", text)
            self.assertIn(
                "valid: base|terminal=netns:NAME, pid:PID or if:NAME", str(caught.exception)
            )
        with self.assertRaisesRegex(BadInput, "twice"):
            parsed("--attach", "base=pid:1", "--attach", "base=pid:2")
        with self.assertRaisesRegex(BadInput, "a different namespace or interface for each"):
            parsed("--attach", "base=if:e", "--attach", "terminal=if:e")
        with self.assertRaisesRegex(BadInput, "valid: terminal=netns"):
            parsed("--attach", "base=if:e", stations=("terminal",))

    def test_between_is_short_for_two_interfaces(self):
        given = options.parse_emulate(["--between", "e1", "e2"]).outside
        self.assertEqual(
            {s: str(p) for s, p in given.attached.items()}, {"base": "if:e1", "terminal": "if:e2"}
        )
        for arguments, words in (
            (["--between", "e1", "e2", "--attach", "base=if:e3"], "one of the two"),
            (["--between", "e1", "e/2"], "valid: two interfaces"),
            (["--between", "e1", "e2", "--terminals", "3"], "--terminals is 3"),
            (["--gateway", "--split-tcp", "all"], "valid: without --split-tcp"),
            (["--ipv6", "on", "--split-tcp", "all"], "valid: without --split-tcp"),
            (["--gateway", "--generator"], "which starts no cell"),
            (["--ipv6", "on", "--time", "virtual"], "which starts no cell"),
        ):
            with self.subTest(arguments), self.assertRaises(BadInput) as caught:
                options.parse_emulate(arguments)
            self.assertIn(words, str(caught.exception))

    def test_of_a_station_its_own_side_can_be_attached(self):
        radio = ["--radio", "type=b200", "--peer", "127.0.0.1", "--keys", "/nonexistent"]
        with self.assertRaises(BadInput) as caught:
            parse_station(["terminal", "--gateway", *radio])
        self.assertIn("--gateway", str(caught.exception))


class Masquerading(unittest.TestCase):
    def test_the_table_is_the_cells_own(self):
        text = outside.masquerade("openwip-demo", ['oifname "gateway0"'])
        self.assertTrue(text.startswith("table inet openwip-demo {"))
        self.assertIn('oifname "gateway0" masquerade\n', text)
        self.assertNotIn("flush", text)


class Undoing(unittest.TestCase):
    def test_what_was_written_down_is_undone_once(self):
        with tempfile.TemporaryDirectory() as folder:
            cell = mock.Mock(run=pathlib.Path(folder))
            written = outside.Written(cell)
            written.add("table", "openwip-x")
            written.add("links", "openwip-gw7")
            knob = pathlib.Path(folder) / "forwarding"
            knob.write_text("1")
            written.add("forwarding", ["eth9", "0"])
            self.assertEqual(
                json.loads((cell.run / outside.WRITTEN).read_text()),
                {
                    "table": "openwip-x",
                    "forwarding": [["eth9", "0"]],
                    "links": ["openwip-gw7"],
                    "moved": [],
                },
            )
            with (
                mock.patch.object(outside.subprocess, "run") as ran,
                mock.patch.object(outside, "knob", lambda interface: knob),
            ):
                outside.undo(cell)
                self.assertEqual(
                    [call.args[0] for call in ran.call_args_list],
                    [
                        ["nft", "delete", "table", "inet", "openwip-x"],
                        ["ip", "link", "del", "dev", "openwip-gw7"],
                    ],
                )
                self.assertEqual(knob.read_text(), "0")
                ran.reset_mock()
                outside.undo(cell)
                ran.assert_not_called()


if __name__ == "__main__":
    unittest.main()
