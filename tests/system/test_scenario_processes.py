# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration and arguments of the processes of a cell, as a scenario gives them."""

import pathlib
import unittest

from openwip_cli.cell import cell as cells
from openwip_cli.cell import configuration, processes
from openwip_cli.errors import BadInput
from openwip_cli.machine.places import Places
from openwip_cli.runs import options


def parse(*arguments):
    return options.parse_demo(list(arguments))


class Derived(unittest.TestCase):
    def test_noise_level_of_the_snr(self):
        # -15 dBFS over 500 subcarriers, noise over 768: 16 dB below a subcarrier's signal.
        self.assertAlmostEqual(parse("--snr", "16").scenario.noise_dbfs, -29.1361, places=4)

    def test_the_speed_reaches_the_path(self):
        for arguments, speed in ((("--speed-kmh", "75"), 75), ((), 30)):
            path = configuration.air_config(
                cells.Cell("x"), parse("--channel", "jakes", *arguments).scenario
            )["paths"][0]
            self.assertEqual(path["speed_kmh"], speed)

    def test_retransmission_delay_is_rounded_up_to_slots_and_at_least_three(self):
        for ms, slots in (("2", 3), ("2.1", 4), ("4", 6), ("8", 12), ("16", 24), ("32", 48)):
            self.assertEqual(
                parse("--retransmission-delay-ms", ms).scenario.retransmission_delay_slots, slots
            )

    def test_settings_reach_the_configuration_of_the_processes(self):
        s = parse(
            "--bins",
            "3",
            "--modulation",
            "5",
            "--combining",
            "off",
            "--channel",
            "flat",
            "--snr",
            "20",
            "--seed",
            "77",
            "--uplink-kbps",
            "900",
            "--speed",
            "0.5",
        ).scenario
        cell = cells.Cell("x")
        mac = configuration.mac_config(cell, s, "base")
        self.assertEqual(
            (
                mac["link"]["bins"],
                mac["link"]["modulation"],
                mac["link"]["combining"],
                mac["uplink"]["kbps"],
                mac["seed"],
            ),
            (3, 5, "off", 900, 77),
        )
        air = configuration.air_config(cell, s)
        self.assertEqual(
            (air["air"]["speed"], air["air"]["seed"], air["paths"][0]["channel"]), (0.5, 77, "flat")
        )
        radio = {
            p.name: p
            for p in processes.cell_processes(
                cell, s, Places(pathlib.Path("/t"), pathlib.Path("/b"), "python3")
            )
        }["terminal.radio"]
        self.assertEqual(radio.argv[radio.argv.index("--combining") + 1], "off")

    def test_a_free_running_clock_has_its_own_lead_and_delay(self):
        for arguments, lead, delay in (
            ((), 0, 3),
            (("--clock", "realtime"), 6, 12),
            (
                (
                    "--clock",
                    "realtime",
                    "--transmit-lead-slots",
                    "3",
                    "--retransmission-delay-ms",
                    "4",
                ),
                3,
                6,
            ),
        ):
            s = parse(*arguments).scenario
            cell = cells.Cell("x")
            self.assertEqual(
                (s["link.transmit_lead_slots"], s.retransmission_delay_slots), (lead, delay)
            )
            self.assertEqual(
                configuration.mac_config(cell, s, "base")["link"]["transmit_lead_slots"], lead
            )
            by_name = {
                p.name: p
                for p in processes.cell_processes(
                    cell, s, Places(pathlib.Path("/t"), pathlib.Path("/b"), "python3")
                )
            }
            argv = by_name["base.radio"].argv
            self.assertEqual(argv[argv.index("--lead") + 1], str(lead))
            argv = by_name["terminal.radio"].argv
            self.assertEqual(argv[argv.index("--horizon") + 1], str(delay))
        self.assertEqual(
            configuration.air_config(cells.Cell("x"), parse("--clock", "realtime").scenario)["air"][
                "clock"
            ],
            "realtime",
        )

    def test_the_loop_follows_the_delay_of_the_fader(self):
        for arguments, samples, delay in (
            ((), 10240, 6),
            (("--fader-delay-samples", "10241"), 10241, 7),
            (("--clock", "realtime", "--fader-delay-samples", "65280"), 65280, 26),
        ):
            s = parse("--air", "cabled", *arguments).scenario
            cell = cells.Cell("x")
            self.assertEqual(s.retransmission_delay_slots, delay)
            self.assertEqual(configuration.fader_config(cell, s)["fader"]["delay_samples"], samples)
            # A clock that does not wait takes its samples when they are due: before a station's
            # search for the lock.
            self.assertEqual(
                configuration.fader_config(cell, s)["air"].get("priority"),
                11 if "realtime" in arguments else None,
            )
            self.assertEqual(
                configuration.mac_config(cell, s, "base")["link"]["fader_slots"], s.fader_slots
            )
        for arguments, words in (
            (("--retransmission-delay-ms", "3"), r"link\.fader_slots = 3 .*valid: 4 ms or more"),
            (
                ("--clock", "realtime", "--retransmission-delay-ms", "7"),
                r"link\.fader_slots = 3 .*valid: 8 ms or more",
            ),
        ):
            with self.assertRaisesRegex(BadInput, words):
                parse("--air", "cabled", *arguments)
        with self.assertRaisesRegex(
            BadInput, "--record-iq-fader is 'x' without a fader; valid: with --air cabled"
        ):
            parse("--record-iq-fader", "x")
        self.assertEqual(
            set(parse("--air", "cabled", "--record-iq-fader", "nowhere-yet").record_iq), {"fader"}
        )
        s = parse("--air", "cabled", "--product", "b200").scenario
        radios = configuration.fader_config(cells.Cell("x"), s)["nodes"]
        self.assertIn("product=b200,ppm=0", radios["base"]["radio"])
        self.assertGreater(radios["base"]["receive_gain_db"], 0)

    def test_a_lead_that_leaves_no_time_or_is_for_nothing_is_refused(self):
        for arguments, words in (
            (
                ("--transmit-lead-slots", "6"),
                "--transmit-lead-slots is 6 with --clock lockstep.*valid: 0, or",
            ),
            (
                ("--clock", "realtime", "--transmit-lead-slots", "10"),
                r"its 12 slots are fewer than --transmit-lead-slots = 10 .*valid: 8\.66 ms or more",
            ),
            (("--clock", "realtime", "--transmit-lead-slots", "1"), r"is '1'; valid: 0\|2\.\.45"),
            (
                ("--clock", "realtime", "--speed", "0.5"),
                "--speed is 0.5 with --clock realtime, which waits for nobody; valid: auto, 1, or",
            ),
            (("--clock", "gpsdo"), "--clock"),
        ):
            with self.assertRaisesRegex(BadInput, words, msg=arguments):
                parse(*arguments)

    def test_awgn_and_channels_that_move_by_themselves_have_no_speed(self):
        for model in ("awgn", "static", "hst", "hst-tunnel", "two-user", "n-user", "winner"):
            scenario = parse("--channel", model).scenario
            self.assertNotIn(
                "speed_kmh", configuration.air_config(cells.Cell("x"), scenario)["paths"][0]
            )
        self.assertEqual(parse("--channel", "blackout").scenario.speed_kmh, 30)
        self.assertEqual(parse("--channel", "winner", "--speed-kmh", "20").scenario.speed_kmh, 20)

    def test_a_channel_in_the_transmitter_is_the_one_that_the_medium_would_have(self):
        scenario = parse(
            "--fade",
            "transmitter",
            "--channel",
            "etu",
            "--snr",
            "20",
            "--shadowing",
            "3",
            "--product",
            "b210",
        ).scenario
        self.assertEqual(
            processes.transmitter_options(scenario)[-2:],
            ["--channel", "etu,speed_kmh=30.0,shadowing=3,user=0,noise_dbfs=-33.1361,seed=1"],
        )
        air = configuration.air_config(cells.Cell("x"), scenario)
        self.assertEqual(
            air["paths"],
            [
                {
                    "from": "base",
                    "to": "terminal",
                    "gain_db": configuration.air_config(
                        cells.Cell("x"), parse("--product", "b210").scenario
                    )["paths"][0]["gain_db"],
                }
            ],
        )
        self.assertEqual(
            (
                air["nodes"]["terminal"],
                "--channel" in processes.transmitter_options(parse().scenario),
            ),
            ({"impairments": []}, False),
        )
        self.assertIn("base.channel", air["air"]["fader"])
        with self.assertRaisesRegex(
            BadInput,
            "^--fade is transmitter with --air cabled, whose fader has the channel; valid: way,"
            " or --air medium or radio$",
        ):
            parse("--fade", "transmitter", "--air", "cabled")

    def test_the_relay_for_damaged_segments_needs_damaged_packets(self):
        with self.assertRaisesRegex(BadInput, "--tcp-l is on with --deliver-corrupt off"):
            parse("--tcp-l", "on")
        scenario = parse("--tcp-l", "on", "--deliver-corrupt", "on").scenario
        self.assertEqual(
            configuration.mac_config(cells.Cell("x"), scenario, "terminal")["link"]["tcp_l"], "on"
        )

    def test_shadowing_and_user_reach_the_path(self):
        path = configuration.air_config(
            cells.Cell("x"),
            parse("--channel", "two-user", "--user", "1", "--shadowing", "4.5").scenario,
        )["paths"][0]
        self.assertEqual((path["user"], path["shadowing"]), (1, 4.5))
        for arguments in (
            ("--channel", "hst", "--speed-kmh", "3"),
            ("--channel", "two-user", "--user", "2"),
            ("--shadowing", "much"),
            ("--shadowing", "21"),
            ("--user", "64"),
        ):
            with self.assertRaises(BadInput, msg=arguments):
                parse(*arguments)


if __name__ == "__main__":
    unittest.main()
