# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line and the scenario files of ./openwip station."""

import pathlib
import tempfile
import unittest
from unittest import mock

from openwip_schema import control_pb2
from station_support import HERE, KEYS, answering, parse

from openwip_cli.cell import cell as cells
from openwip_cli.cell import faders, processes, remote, station
from openwip_cli.errors import BadInput
from openwip_cli.machine import places
from openwip_cli.runs import options as run_options
from openwip_cli.runs import station_options


class CommandLine(unittest.TestCase):
    def refused(self, *arguments):
        with self.assertRaises(BadInput) as caught:
            parse(*arguments)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_what_is_wrong_is_one_line_with_what_would_be_valid(self):
        for arguments, word in (
            ((), "base|terminal"),
            (("relay",), "base|terminal"),
            (("base",), "--radio"),
            (("base", "--radio", "type=b200"), "--peer"),
            (("base", "--radio", "x", "--peer", "no host"), "valid: HOST"),
            (("base", "--radio", "x", "--peer", "127.0.0.1:70000"), "valid: HOST"),
            (("base", "--radio", "x", "--peer", "no.such.host.invalid"), "can be reached"),
            (("terminal", "--radio", "x", "--peer", "192.0.2.1"), "--keys"),
            (
                ("base", "--radio", "x", "--peer", "127.0.0.1"),
                "on this machine, where every user reaches a port, it needs --keys DIR",
            ),
            (("base", *HERE, "--keys", "/nowhere"), "server.key"),
            (("terminal", *HERE, "--keys", "/nowhere"), "client.key"),
            (("base", *HERE, "--clock-source", "gps"), "internal"),
            (("base", *HERE, "--freq", "0"), "1000000.."),
            (("base", *HERE, "--transmit-lead-slots", "1"), "0|2..45"),
            (("base", *HERE, "--transmit-lead-slots", "13"), "valid: 10.66 ms or more"),
            (("base", *HERE, "--predictor", "ar"), "--predictor"),
            (("terminal", *HERE, "--edge-samples", "8"), "--edge-samples"),
            (("base", *HERE, "--air", "medium"), "valid: radio, cabled"),
            (("base", *HERE, "--fader", "ipc:///x"), "valid: with --air cabled"),
            (
                ("base", *HERE, "--air", "cabled", "--retransmission-delay-ms", "7.3"),
                "valid: 8 ms or more",
            ),
            (
                ("base", *HERE, "--power", "5", "--transmit-gain", "0"),
                "--power is 5 with --transmit-gain 0; valid: one of the two",
            ),
            *(
                (
                    (role, *HERE, *gain),
                    (
                        "it is now --transmit-gain, of the transmitter, or --receive-gain, of the"
                        f" receiver; valid here: --{side}-gain"
                    ),
                )
                for role, side in (("base", "transmit"), ("terminal", "receive"))
                for gain in (("--gain", "3"), ("--gain=3",))
            ),
            (("base", *HERE, "--receive-gain", "3"), "unrecognized arguments: --receive-gain 3"),
            (
                ("terminal", *HERE, "--transmit-gain", "3"),
                "unrecognized arguments: --transmit-gain 3",
            ),
            (("base", *HERE, "--transmit", "3"), "unrecognized arguments: --transmit 3"),
            (("base", *HERE, "--power", "101"), "--power"),
            (("terminal", *HERE, "--power", "5"), "--power"),
            (("base", *HERE, "--duration", "soon"), "--duration"),
            (("base", *HERE, "--snr", "20"), "--snr"),
        ):
            self.assertIn(word, self.refused(*arguments), arguments)

    def test_the_radios_clock_does_not_wait_so_lead_and_delay_are_those_of_such_a_clock(self):
        _, options = parse("base", *HERE)
        # A radio's lead is 6 slots. Its loop is 12, and 3 more are for 2 ms of the network between
        # the computers.
        self.assertEqual(
            (
                options.scenario["link.transmit_lead_slots"],
                options.scenario.retransmission_delay_slots,
            ),
            (6, 15),
        )
        _, options = parse(
            "terminal", *HERE, "--retransmission-delay-ms", "12", "--predictor", "ar"
        )
        self.assertEqual(
            (options.scenario.retransmission_delay_slots, options.scenario["phy.predictor"]),
            (18, "ar"),
        )

    def test_a_scenario_file_of_the_demo_runs_over_radios(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write(
                "{air: {over: radio, fade: transmitter, speed: 0.5}, channel: {model: epa, snr_db:"
                " 25}, link: {bins: 12}, phy: {predictor: ar}, seed: 3}"
            )
            f.flush()
            wanted, options = parse("base", *HERE, "--config", f.name, "--bins", "7")
            self.assertEqual(
                (options.scenario["link.bins"], wanted.unused), (7, ["air.speed", "phy.predictor"])
            )
            self.assertEqual(
                processes.transmitter_options(options.scenario)[-1],
                f"epa,speed_kmh=30.0,shadowing=off,user=0,noise_dbfs={round(options.scenario.noise_dbfs, 4)},seed=3",
            )
            with mock.patch.object(station, "write_config", return_value="x.yaml"):
                radio = station.processes(
                    cells.Cell("x"),
                    options.scenario,
                    "base",
                    wanted.radio,
                    wanted.peer,
                    places.default(),
                )[1].argv
            # for ./openwip set --control
            self.assertEqual(
                radio[radio.index("--channel-control") + 1], "ipc:///run/openwip/x/base.channel"
            )
            wanted, options = parse("terminal", *HERE, "--config", f.name)
            self.assertEqual(
                (options.scenario["link.bins"], options.scenario["phy.predictor"]), (12, "ar")
            )
            self.assertEqual(
                wanted.unused, ["air.fade", "air.speed", "channel.model", "channel.snr_db"]
            )
            with self.assertRaisesRegex(
                BadInput,
                "^--air is 'radio'; valid in a demo: medium, cabled; .*openwip station base",
            ):
                run_options.parse_demo(["--config", f.name])
            for over in ("medium", "cabled"):
                more = ["--fade", "way"] if over == "cabled" else []
                self.assertEqual(
                    run_options.parse_demo(["--config", f.name, "--air", over, *more]).scenario[
                        "link.bins"
                    ],
                    12,
                )

    def test_a_scenario_file_says_what_the_attenuator_plays_and_whether_it_waits_for_its_trigger(
        self,
    ):
        plays = "port: /dev/x, trace: t.h5, at_zero_db: 54, start: external"
        for attenuator, refused in (
            (plays, None),
            (plays.replace("external", "soon"), "attenuator.start is 'soon'; valid: run|external"),
            (
                "port: /dev/x, start: external",
                "--attenuator-start is external with --attenuator-trace none, so nothing is to be",
            ),
            (
                "start: external",
                (
                    "--attenuator-start is external with --attenuator none, so there is no attenuator"
                ),
            ),
            (
                plays.replace("t.h5", "t.txt"),
                "--attenuator-trace is 't.txt'; valid: none, a table FILE.csv",
            ),
            (
                "port: /dev/x, trigger: external",
                "unknown key attenuator.trigger; valid: attenuator.port, ",
            ),
        ):
            with self.subTest(attenuator), tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
                f.write(f"{{air: {{over: radio}}, attenuator: {{{attenuator}}}}}")
                f.flush()
                if refused:
                    self.assertIn(refused, self.refused("base", *HERE, "--config", f.name))
                    continue
                self.assertEqual(
                    parse("base", *HERE, "--config", f.name)[1].scenario["attenuator.start"],
                    "external",
                )
                # The station without an attenuator.
                wanted, options = parse(
                    "terminal", *HERE, "--config", f.name, "--attenuator", "none"
                )
                self.assertEqual(
                    (options.scenario["attenuator.trace"], options.scenario["attenuator.start"]),
                    ("none", "run"),
                )
                self.assertEqual(
                    wanted.unused,
                    [
                        "attenuator.at_zero_db",
                        "attenuator.port",
                        "attenuator.start",
                        "attenuator.trace",
                    ],
                )

    def test_a_trace_is_not_for_a_channel_in_the_base_stations_flowgraph(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("{air: {over: radio, fade: transmitter}, channel: {model: t.h5}}")
            f.flush()
            self.assertIn(
                "--fade is transmitter with --channel t.h5, and the base station plays no traces; valid: way",
                self.refused("base", *HERE, "--config", f.name),
            )
            self.assertEqual(
                parse("terminal", *HERE, "--config", f.name)[0].unused,
                ["air.fade", "channel.model"],
            )

    def test_with_a_fader_between_the_stations_the_base_station_sends_bursts_and_the_loop_is_longer(
        self,
    ):
        for more, slots in (((), 3), (("--fader-delay-samples", "46080"), 10)):
            for role in ("terminal", "base"):
                _, options = parse(role, *HERE, "--air", "cabled", *more)
                self.assertEqual(
                    (
                        options.scenario.cabled,
                        options.scenario.fader_slots,
                        options.scenario.retransmission_delay_slots,
                    ),
                    (True, slots, 15 + slots),
                )
        self.assertIn("--bursts-first", processes.transmitter_options(options.scenario))
        self.assertNotIn(
            "--bursts-first", processes.transmitter_options(parse("base", *HERE)[1].scenario)
        )
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("{air: {over: cabled, fade: transmitter}, fader: {delay_samples: 15360}}")
            f.flush()
            self.assertEqual(
                parse("terminal", *HERE, "--config", f.name)[1].scenario.fader_slots, 4
            )
            self.assertIn(
                "--fade is transmitter with --air cabled, whose fader has the channel",
                self.refused("base", *HERE, "--config", f.name),
            )
            self.assertEqual(
                parse("base", *HERE, "--config", f.name, "--air", "radio")[1].scenario.fader_slots,
                0,
            )

    def test_a_fader_that_can_be_asked_says_its_delay_and_the_loop_follows(self):
        air = control_pb2.AirStatus(
            nodes=[{"name": "terminal"}], clock="fader", delay_samples=46080
        )
        with (
            tempfile.TemporaryDirectory() as folder,
            answering(f"ipc://{folder}/x", control_pb2.Reply(ok=True, air=air).SerializeToString()),
        ):
            for more, samples, slots in (
                ((), 46080, 10),
                (("--fader-delay-samples", "51200"), 51200, 11),
            ):
                arguments = [
                    "base",
                    *HERE,
                    "--air",
                    "cabled",
                    "--fader",
                    f"ipc://{folder}/x",
                    *more,
                ]
                chosen = station_options.parse(arguments, faders.delay_of)[1].scenario
                self.assertEqual(
                    (
                        chosen["fader.delay_samples"],
                        chosen.fader_slots,
                        chosen.retransmission_delay_slots,
                    ),
                    (samples, slots, 15 + slots),
                )
        arguments = ["terminal", *HERE, "--air", "cabled", "--fader", "ipc:///nowhere/x"]
        with (
            mock.patch.object(faders, "ANSWER_S", 0.1),
            self.assertRaisesRegex(BadInput, "where no fader answers"),
        ):
            station_options.parse(arguments, faders.delay_of)
        # Before anything is built nobody is asked, and what may have room is not refused.
        self.assertEqual(
            parse(*arguments, "--retransmission-delay-ms", "8")[1].scenario["fader.delay_samples"],
            256,
        )

    def test_the_base_station_listens_where_the_other_computer_is_and_the_terminal_connects_there(
        self,
    ):
        for text, where in (
            ("127.0.0.1", "tcp://127.0.0.1:7680"),
            ("localhost:99", "tcp://127.0.0.1:99"),
            ("[::1]:5", "tcp://[::1]:5"),
        ):
            for role in ("base", "terminal"):
                found = station.peer(role, text, KEYS).endpoint
                self.assertIn(found, (where, where.replace("127.0.0.1", "[::1]")), role)

    def test_keys_of_the_command_keys_are_taken_by_both(self):
        with tempfile.TemporaryDirectory() as folder:
            remote.make_keys(pathlib.Path(folder, "k"))
            for role in ("base", "terminal"):
                self.assertEqual(
                    parse(role, *HERE, "--keys", f"{folder}/k")[0].peer.keys, f"{folder}/k"
                )


if __name__ == "__main__":
    unittest.main()
