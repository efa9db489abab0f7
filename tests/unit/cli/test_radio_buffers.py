# SPDX-License-Identifier: GPL-3.0-or-later
"""Buffers and packets that a station asks of its radio."""

import pathlib
import sys
import unittest
import unittest.mock

from openwip_cli.cell import processes, station
from openwip_cli.commands import radio_findings
from openwip_cli.runs import station_options
from openwip_cli.settings import radios, rules, scenario

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "flowgraphs/apps"))
import radio_buffers


def never(arguments):
    raise AssertionError(f"searched for {arguments}")


def asked(arguments, find=never):
    return radio_buffers.with_defaults(arguments, radios.defaults_for(arguments, find))


class RadioBuffers(unittest.TestCase):
    def test_a_b210_gets_more_frames_than_its_own_4_ms(self):
        self.assertEqual(
            asked("type=b200,serial=30AB"), "type=b200,serial=30AB,num_recv_frames=256"
        )

    def test_a_device_that_is_named_by_its_serial_number_alone_is_searched_for(self):
        for given, wanted in (
            ("serial=30AB", "serial=30AB,num_recv_frames=256"),
            ("", "num_recv_frames=256"),
        ):
            self.assertEqual(
                asked(given, lambda _: [{"type": "b200", "product": "B210", "serial": "30AB"}]),
                wanted,
            )

    def test_a_software_radio_has_those_of_what_it_plays(self):
        for product, more in (("b210", ",num_recv_frames=256"), ("x310", "")):
            given = f"type=vusrp,product={product}"
            self.assertEqual(asked(given), given + more)

    def test_what_the_user_gives_wins(self):
        given = "type=b200, num_recv_frames=32"
        self.assertEqual(asked(given), given)

    def test_devices_that_have_enough_or_are_unknown_or_several_get_nothing(self):
        for kind in ("x300", "mpmd", "vusrp", "another"):
            self.assertEqual(asked(f"type={kind},addr=1"), f"type={kind},addr=1")
        for found in ([], [{"type": "b200"}, {"type": "x300"}], [{}]):
            self.assertEqual(asked("name=a", lambda _, found=found: found), "name=a")

    def test_a_radio_whose_duc_drops_all_until_an_end_of_burst_gets_short_bursts(self):
        for product, slots in (("b210", 0), ("N310", 64), ("e320", 64), ("X310", 64)):
            self.assertEqual(radios.station_defaults(product).burst_slots, slots, product)
        self.assertEqual(radios.defaults_for("type=b200", never).burst_slots, 0)

    def test_every_product_has_a_loop_that_a_cell_can_have(self):
        for product in radios.products():
            of = radios.station_defaults(product)
            self.assertGreaterEqual(of.delay_slots, of.lead_slots + rules.feedback_slots())
            cell_of = scenario.Scenario({"air.clock": "realtime", "radio.product": product})
            self.assertEqual(cell_of["link.transmit_lead_slots"], of.lead_slots)

    def test_the_lead_is_that_of_the_base_stations_radio(self):
        table = {"one": dict(radios.products()["x310"])}
        table["one"]["station"] = table["one"]["station"] | {"lead_slots": 4, "delay_slots": 9}
        with (
            unittest.mock.patch.object(
                radios, "products", lambda: radios._table()["products"] | table
            ),
            unittest.mock.patch.object(radios, "model", lambda name: name),
        ):
            for values in ({"radio.product": "one"}, {"radio.base": "product=one"}):
                made = scenario.Scenario({"air.clock": "realtime"} | values)
                self.assertEqual(made["link.transmit_lead_slots"], 4)
                self.assertEqual(made.retransmission_delay_slots, 9)

    def test_a_station_asks_the_device_where_its_arguments_leave_the_product_open(self):
        table = {name: dict(p) for name, p in radios.products().items()}
        table["x310"]["station"] = table["x310"]["station"] | {"lead_slots": 4, "delay_slots": 9}
        peer = ["base", "--peer", "elsewhere"]
        with (
            unittest.mock.patch.object(radios, "products", lambda: table),
            unittest.mock.patch.object(station, "peer", lambda *_: None),
        ):
            for given, found, lead, delay in (
                ("addr=192.168.40.2", [{"type": "x300", "product": "X310"}], 4, 9),
                ("addr=192.168.40.2", [{"type": "mpmd", "product": "n310"}], 6, 12),
                ("addr=192.168.40.2", [], 6, 12),
                ("type=vusrp,product=x310", None, 4, 9),
            ):
                options = station_options.parse(
                    [*peer, "--radio", given],
                    find=never if found is None else lambda _, found=found: found,
                )[1]
                self.assertEqual(options.scenario["link.transmit_lead_slots"], lead, given)
                self.assertEqual(
                    options.scenario.retransmission_delay_slots,
                    delay + station_options.BETWEEN_SLOTS,
                )

    def test_a_loop_that_was_measured_is_held_against_the_defaults_of_its_product(self):
        table = {name: dict(p) for name, p in radios.products().items()}
        table["x310"]["station"] = table["x310"]["station"] | {"lead_slots": 4, "delay_slots": 9}
        with unittest.mock.patch.object(radios, "products", lambda: table):
            for product, lead in (("X310", 4), ("B210", 6), ("UNKNOWN", 6)):
                found = {
                    "product": product,
                    "transmit": {"lead_us": 1000.0},
                    "receive": dict.fromkeys(
                        ("median_us", "one_in_thousand_us", "one_in_ten_thousand_us"), 500.0
                    ),
                }
                self.assertIn(
                    f"{lead} and", str(radio_findings.loop_finding("loop", found, 0)), product
                )

    def test_no_length_of_packets_is_asked_for_unless_the_user_tells_one(self):
        self.assertEqual(radio_buffers.stream_arguments(None), "")
        self.assertEqual(radio_buffers.stream_arguments(1000), "spp=1000")

    def test_only_a_software_radio_without_a_product_is_told_packets_of_a_slot(self):
        self.assertEqual(processes.packet_options(radios.Radio("")), ["--spp", "5120"])
        self.assertEqual(processes.packet_options(radios.Radio("product=b210")), [])


if __name__ == "__main__":
    unittest.main()
