# SPDX-License-Identifier: GPL-3.0-or-later
"""Buffers and packets that a station asks of its radio."""

import pathlib
import sys
import unittest

from openwip_cli.cell import cell
from openwip_cli.settings import radios

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "flowgraphs/apps"))
import radio_buffers


def never(arguments):
    raise AssertionError(f"searched for {arguments}")


class RadioBuffers(unittest.TestCase):
    def test_a_b210_gets_more_frames_than_its_own_4_ms(self):
        self.assertEqual(
            radio_buffers.with_defaults("type=b200,serial=30AB", never),
            "type=b200,serial=30AB,num_recv_frames=256",
        )

    def test_a_device_that_is_named_by_its_serial_number_alone_is_searched_for(self):
        for given, wanted in (
            ("serial=30AB", "serial=30AB,num_recv_frames=256"),
            ("", "num_recv_frames=256"),
        ):
            self.assertEqual(
                radio_buffers.with_defaults(
                    given, lambda asked: [{"type": "b200", "serial": "30AB"}]
                ),
                wanted,
            )

    def test_a_software_radio_has_those_of_what_it_plays(self):
        for product, more in (("b210", ",num_recv_frames=256"), ("x310", "")):
            given = f"type=vusrp,product={product}"
            self.assertEqual(radio_buffers.with_defaults(given, never), given + more)

    def test_what_the_user_gives_wins(self):
        given = "type=b200, num_recv_frames=32"
        self.assertEqual(radio_buffers.with_defaults(given, never), given)

    def test_devices_that_have_enough_or_are_unknown_or_several_get_nothing(self):
        for kind in ("x300", "mpmd", "vusrp", "another"):
            self.assertEqual(
                radio_buffers.with_defaults(f"type={kind},addr=1", never), f"type={kind},addr=1"
            )
        for found in ([], [{"type": "b200"}, {"type": "x300"}], [{}]):
            self.assertEqual(
                radio_buffers.with_defaults("name=a", lambda asked, found=found: found), "name=a"
            )

    def test_no_length_of_packets_is_asked_for_unless_the_user_tells_one(self):
        self.assertEqual(radio_buffers.stream_arguments(None), "")
        self.assertEqual(radio_buffers.stream_arguments(1000), "spp=1000")

    def test_only_a_software_radio_without_a_product_is_told_packets_of_a_slot(self):
        self.assertEqual(cell.packet_options(radios.Radio("")), ["--spp", "5120"])
        self.assertEqual(cell.packet_options(radios.Radio("product=b210")), [])


if __name__ == "__main__":
    unittest.main()
