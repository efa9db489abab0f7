# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip station: its command line, its two processes, and what is judged of one station
alone."""

import contextlib
import io
import json
import os
import pathlib
import tempfile
import threading
import types
import unittest
from unittest import mock

import zmq
from openwip_schema import control_pb2
from test_so_far import bursts, statuses

from openwip_cli.cell import cell as cells
from openwip_cli.cell import faders, remote, station
from openwip_cli.commands import fader
from openwip_cli.errors import BadInput
from openwip_cli.figures import checks, fading, one_station
from openwip_cli.figures.facts import Heard
from openwip_cli.machine import places
from openwip_cli.runs import options as run_options
from openwip_cli.runs import station as station_run
from openwip_cli.runs import station_options

FOLDER = tempfile.TemporaryDirectory()
unittest.addModuleCleanup(FOLDER.cleanup)
KEYS = f"{FOLDER.name}/keys"
remote.make_keys(KEYS)
HERE = ("--radio", "type=b200", "--peer", "127.0.0.1", "--keys", KEYS)


def parse(*arguments):
    return station_options.parse(list(arguments))


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
            (("base", *HERE, "--transmit-lead-slots", "1"), "2..12"),
            (("base", *HERE, "--predictor", "ar"), "--predictor"),
            (("terminal", *HERE, "--edge-samples", "8"), "--edge-samples"),
            (("base", *HERE, "--air", "medium"), "valid: radio, cabled"),
            (("base", *HERE, "--fader", "ipc:///x"), "valid: with --air cabled"),
            (
                ("base", *HERE, "--air", "cabled", "--retransmission-delay-ms", "7.3"),
                "valid: 8..32",
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
        # 2 ms of LAN
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
                cells.transmitter_options(options.scenario)[-1],
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
        for said, refused in (
            (plays, None),
            (plays.replace("external", "soon"), "attenuator.start is 'soon'; valid: run|external"),
            (
                "port: /dev/x, start: external",
                "--attenuator-start is external without --attenuator-trace; valid: run, or with",
            ),
            (
                "start: external",
                (
                    "--attenuator-start is external without an attenuator; valid: with --attenuator"
                    " PORT"
                ),
            ),
            (
                plays.replace("t.h5", "t.txt"),
                "--attenuator-trace is 't.txt'; valid: none, a table FILE.csv",
            ),
            (
                "port: /dev/x, trigger: external",
                "unknown key attenuator.trigger; known: attenuator.port, ",
            ),
        ):
            with self.subTest(said), tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
                f.write(f"{{air: {{over: radio}}, attenuator: {{{said}}}}}")
                f.flush()
                if refused:
                    self.assertIn(refused, self.refused("base", *HERE, "--config", f.name))
                    continue
                self.assertEqual(
                    parse("base", *HERE, "--config", f.name)[1].scenario["attenuator.start"],
                    "external",
                )
                # At the station that has none.
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
                "--fade is 'transmitter' with --channel t.h5; valid: way",
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
        self.assertIn("--bursts-first", cells.transmitter_options(options.scenario))
        self.assertNotIn(
            "--bursts-first", cells.transmitter_options(parse("base", *HERE)[1].scenario)
        )
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("{air: {over: cabled, fade: transmitter}, fader: {delay_samples: 15360}}")
            f.flush()
            self.assertEqual(
                parse("terminal", *HERE, "--config", f.name)[1].scenario.fader_slots, 4
            )
            self.assertIn(
                "--fade is 'transmitter' with --air cabled",
                self.refused("base", *HERE, "--config", f.name),
            )
            self.assertEqual(
                parse("base", *HERE, "--config", f.name, "--air", "radio")[1].scenario.fader_slots,
                0,
            )

    def test_a_fader_that_can_be_asked_says_its_delay_and_the_loop_follows(self):
        air = control_pb2.AirStatus(nodes=["terminal:3"], clock="fader", delay_samples=46080)
        with (
            tempfile.TemporaryDirectory() as folder,
            answering(f"ipc://{folder}/x", control_pb2.Reply(ok=True, air=air).SerializeToString()),
        ):
            for more, samples, slots in (
                ((), 46080, 10),
                (("--fader-delay-samples", "51200"), 51200, 11),
            ):
                said = ["base", *HERE, "--air", "cabled", "--fader", f"ipc://{folder}/x", *more]
                chosen = station_options.parse(said, faders.delay_of)[1].scenario
                self.assertEqual(
                    (
                        chosen["fader.delay_samples"],
                        chosen.fader_slots,
                        chosen.retransmission_delay_slots,
                    ),
                    (samples, slots, 15 + slots),
                )
        said = ["terminal", *HERE, "--air", "cabled", "--fader", "ipc:///nowhere/x"]
        with (
            mock.patch.object(faders, "ANSWER_S", 0.1),
            self.assertRaisesRegex(BadInput, "where no fader answers"),
        ):
            station_options.parse(said, faders.delay_of)
        # Before anything is built nobody is asked, and what may have room is not refused.
        self.assertEqual(
            parse(*said, "--retransmission-delay-ms", "8")[1].scenario["fader.delay_samples"], 256
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
        said = " ".join(wanted.radio.options("base"))
        for words in (
            "--args type=b200",
            "--transmit-gain 20",
            "--freq 2450000000",
            "--clock-source external",
            "--time-source gpsdo",
            "--start-in",
        ):
            self.assertIn(words, said)
        self.assertTrue(
            str(cells.flowgraph("base", places.default())[1]).endswith("base_station.py")
        )

    def test_each_station_has_the_gain_of_its_side(self):
        for role, side in (("base", "transmit"), ("terminal", "receive")):
            said = parse(role, *HERE, f"--{side}-gain", "20")[0].radio.options(role)
            self.assertEqual(
                [(a, b) for a, b in zip(said, said[1:]) if "gain" in a], [(f"--{side}-gain", "20")]
            )

    def test_a_power_is_asked_for_instead_of_a_gain_and_at_a_base_station(self):
        said = parse("base", *HERE, "--power", "-10.5")[0].radio.options("base")
        self.assertEqual(
            (said[said.index("--tx-power") + 1], "--transmit-gain" in said), ("-10.5", False)
        )

    @unittest.skipIf(os.geteuid() != 0, "only root's files are believed")
    def test_a_power_beyond_what_the_mask_was_judged_for_is_warned_of(self):
        for power in (None, -10.5, station.MASKED_DBM):
            self.assertEqual(station.beside_the_carrier(power), "")
        self.assertIn(
            "-4.9 dBm: beside the carrier the mask of TS 36.104 (Local Area) was judged up to -5"
            " dBm only",
            station.beside_the_carrier(-4.9),
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


def judged(*known, **more):
    return checks.judge(one_station.facts_of(*known, **more))


class Verdict(unittest.TestCase):
    def status(self, role, slot=15000, **radio):
        s = control_pb2.MacStatus(role=role, slot=slot)
        for d in (s.downlink, s.uplink):
            getattr(d, "in").packets = d.delivered.packets = 3
            getattr(d, "in").bytes = d.delivered.bytes = 300
        for name, value in ({"locked": True} | radio).items():
            setattr(s.radio, name, value)
        return s

    def judge(self, now, until=None, tun=None, returns=0, **more):
        first = self.status(now.role, 0)
        return judged(now.role, first, until or now, now, tun, returns, **more)

    def test_both_are_valid_when_nothing_is_wrong(self):
        tun = {"to_macd": (3, 300), "from_macd": (3, 300)}
        for role in ("base", "terminal"):
            self.assertEqual(self.judge(self.status(role), tun=tun)["reasons"], [])

    def test_each_thing_that_is_wrong_is_a_reason(self):
        lost = self.status("terminal")
        lost.downlink.delivered.packets = 2
        for now, more, word in (
            (self.status("base", late_slots=16), {}, "late: 16 slots of 15000"),
            (self.status("terminal", lock_losses=2), {}, "lock: lost 2 times"),
            (self.status("terminal", locked=False), {}, "lock: there is none"),
            (self.status("terminal", overflows=1), {}, "overflowed"),
            (lost, {}, "sums: downlink at the terminal"),
            (
                self.status("base"),
                {"tun": {"to_macd": (4, 300), "from_macd": (3, 300)}},
                "sums: downlink, kernel to base.macd",
            ),
            (self.status("base"), {"returns": 2}, "left and came back 2 times"),
            (self.status("base"), {"returns": -1}, "never came"),
            (
                self.status("base"),
                {"noted": ["base.radio stood"]},
                "surroundings: base.radio stood",
            ),
            (
                self.status("base"),
                {"heard": Heard(lost={"base": 2})},
                "telemetry: 2 messages of base lost",
            ),
        ):
            found = self.judge(now, **more)
            self.assertFalse(found["valid"])
            self.assertIn(word, " ".join(found["reasons"]))

    def test_a_share_of_slots_that_a_free_running_clock_may_miss(self):
        self.assertTrue(self.judge(self.status("base", late_slots=15))["valid"])

    def test_a_core_that_stood_still_is_behind_what_was_late(self):
        stood = {
            "least_ms": 2.0,
            "count": 2,
            "longest_ms": 49.0,
            "together_ms": 60.0,
            "held_back": {"count": 1, "longest_ms": 49.0, "together_ms": 49.0},
        }
        for now in (self.status("base", late_slots=16), self.status("terminal", overflows=1)):
            reasons = judged(now.role, self.status(now.role, 0), now, now, None, 0, None, stood)[
                "reasons"
            ]
            self.assertIn(
                "real-time throttling: the kernel held the slot path back 1 times", reasons[0]
            )
            self.assertIn("the machine stood still for 2 ms or more 2 times", reasons[1])
        said = one_station.result("terminal", now, now) | {
            "verdict": {"valid": True, "reasons": []},
            "standstills": stood,
        }
        self.assertIn(
            "  stalls       the machine stood still for 2 ms or more 2 times, 49.0 ms at longest",
            one_station.screen(said),
        )
        fine = self.status("base", late_slots=15)
        self.assertEqual(
            judged("base", self.status("base", 0), fine, fine, None, 0, None, stood)["reasons"],
            [],
        )

    def test_what_the_machine_did_not_grant_is_on_the_screen_of_both(self):
        machine = {
            "realtime_priority": {"base.macd": False, "base.radio": True},
            "memory_locked": {"base.macd": True, "base.radio": False},
            "page_faults": {"base.radio": {"minor": 3, "major": 2}},
        }
        for role in ("base", "terminal"):
            now = self.status(role)
            said = one_station.screen(
                one_station.result(role, now, now)
                | {
                    "verdict": {"valid": True, "reasons": []},
                    "machine": machine,
                }
            )
            self.assertIn(
                "  machine      without real-time priority: base.macd; memory not locked:"
                " base.radio; waited for pages from disk: base.radio 2 times",
                said,
            )

    def test_a_radio_that_clips_is_told_while_it_runs_and_at_the_end(self):
        # of 15000 slots a sample in 10,000
        first, limit = self.status("terminal", clipped=7), 7680
        for clipped, words in ((7 + limit, False), (8 + limit, True)):
            now, said = self.status("terminal", 30000, clipped=clipped), []
            found = one_station.result("terminal", first, now)
            self.assertEqual(
                (found["radio"]["clipped"], found["radio"]["samples"]), (clipped - 7, 76_800_000)
            )
            screen = one_station.screen(found | {"verdict": {"valid": True, "reasons": []}})
            self.assertIn(f"{clipped - 7} samples at full scale", screen)
            follow = station_run.Follower("terminal", said.append)
            for status in (first, now, now):
                follow(status)
            self.assertEqual(
                (sum("the radio clips" in line for line in said), "the radio clips" in screen),
                (words, words),
            )
        self.assertNotIn(
            "clips",
            one_station.screen(
                one_station.result("base", first, now) | {"verdict": {"valid": True, "reasons": []}}
            ),
        )

    def test_a_second_terminal_is_mentioned_at_both_ends_each_time_that_it_is_turned_away(self):
        for role, words in (
            ("terminal", "turned away: the base station has another terminal"),
            ("base", "another terminal with the same key was turned away"),
        ):
            said = []
            follow = station_run.Follower(role, said.append)
            for refused in (0, 1, 1, 2):
                now = self.status(role)
                now.peers_refused = refused
                follow(now)
            self.assertEqual(sum(line.startswith(words) for line in said), 2, said)

    def test_what_follows_the_other_stations_end_is_not_judged(self):
        ended = self.status("terminal", locked=False, lock_losses=1)
        self.assertTrue(self.judge(ended, until=self.status("terminal"))["valid"])

    def cabled(self, role, heard=8, there_first=False):
        """(what the report says, reasons) of a station that can ask the fader."""
        cell = statuses(1)
        cell.air.delay_samples = 10240
        cell.air.soundings.add(to="terminal", residual_db=-30, limit_db=-25, **{"from": "base"})
        bursts(cell, lambda c, h: h.__delitem__(slice(heard + 1 if heard else 0, None)))
        before, first, now = (
            control_pb2.AirStatus(lost_samples=5, fader_radios={"late": 2}),
            self.status(role, 0),
            self.status(role),
        )
        cell.air.lost_samples, cell.air.fader_radios.late, cell.air.least_lead_us = 7, 2, -580
        now.radio.bursts.extend(cell.terminal.radio.bursts)
        first.peer_connected = there_first
        found = one_station.fader_of(role, first, now, before, cell.air)
        return (
            found,
            judged(role, first, now, now, None, 0, found)["reasons"],
            one_station.result(role, first, now)
            | {
                "fader": found,
                "verdict": {"valid": True, "reasons": []},
            },
        )

    def test_a_fader_that_can_be_asked_is_judged_as_in_a_demo(self):
        lost = "fader: 2 samples lost at its receivers (0 overflows)"  # of 7, 5 were before
        found, reasons, said = self.cabled("terminal")
        self.assertEqual((found["through_radios"]["heard"], reasons), (8, [lost]))
        self.assertIn("dB off in 8 of 8 bursts", one_station.screen(said))
        self.assertIn(
            "-0.58 ms of it left at worst (the software USRPs stood still with it: nothing was"
            " lost); 2 samples lost, 0 times too late,",
            one_station.screen(said),
        )
        self.assertEqual(
            self.cabled("terminal", heard=0)[1],
            [lost, "fader: through the radios 0 bursts of 8 were heard"],
        )
        late = self.cabled("terminal", heard=0, there_first=True)
        self.assertEqual(late[1], [lost])
        self.assertIn("the base station was there first", one_station.screen(late[2]))
        found, reasons, said = self.cabled("base")
        self.assertEqual((found["through_radios"], reasons), (None, [lost]))
        self.assertIn("through the radios as the terminal's report says", one_station.screen(said))

    def test_fading_beyond_full_scale_makes_a_station_invalid_whoever_makes_the_channel(self):
        for clipped, wrong in (
            (512, []),
            (
                513,
                [
                    "clipping: 513 of 5120000 samples of the faded signal were beyond full scale"
                    " (limit 0.0001): less power before the channel"
                ],
            ),
        ):
            for role in ("base", "terminal"):
                before, air = (
                    control_pb2.AirStatus(slots=100, clipped=9),
                    control_pb2.AirStatus(slots=1100, clipped=9 + clipped, delay_samples=10240),
                )
                air.soundings.add(to="terminal", residual_db=-30, limit_db=-25, **{"from": "base"})
                now = self.status(role)
                fader = fading.fader_of(air, None, before)
                self.assertEqual(
                    judged(role, self.status(role, 0), now, now, None, 0, fader)["reasons"],
                    wrong,
                )
            faded = fading.faded(before, air)
            found = judged("base", self.status("base", 0), now, now, None, 0, faded=faded)
            self.assertEqual((found["reasons"], found["checks"]["clipping"]), (wrong, not wrong))
        self.assertIn(
            f"  clipped      {clipped} samples of the faded signal",
            one_station.screen(
                one_station.result("base", now, now) | {"faded": faded, "verdict": found}
            ),
        )

    def test_the_channel_of_the_own_flowgraph_is_asked_at_the_begin_and_at_the_end(self):
        self.assertEqual(station_run.own_channel(None).faded(), (None, []))
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(faders, "ANSWER_S", 0.2):
            with answering(
                f"ipc://{folder}/x",
                control_pb2.Reply(
                    ok=True, air=control_pb2.AirStatus(slots=5, clipped=7)
                ).SerializeToString(),
            ):
                own = station_run.own_channel(f"ipc://{folder}/x")
                own.before.slots = 3
                self.assertEqual(own.faded(), ({"clipped": 0, "slots": 2}, []))
            self.assertEqual(own.faded(), (None, [f"the channel at ipc://{folder}/x"]))

    def test_without_a_fader_to_ask_a_terminal_says_what_it_heard_and_how_to_compare_it(self):
        now = self.status("terminal")
        now.radio.bursts.add(centre=5, noise=0.5, response=[1.0, 2.0])
        self.assertIsNone(one_station.fader_of("terminal", now, now, None, None))
        said = one_station.result("terminal", now, now) | {
            "bursts_heard": one_station.heard(now),
            "verdict": {"valid": True, "reasons": []},
        }
        self.assertEqual(
            said["bursts_heard"], [{"centre": 5, "noise": 0.5, "response": [1.0, 2.0]}]
        )
        self.assertIn("1 bursts of the base station heard, not compared", one_station.screen(said))
        self.assertIn("./openwip fader compare CONFIG FILE", one_station.screen(said))


class Compare(unittest.TestCase):
    """./openwip fader compare CONFIG REPORT."""

    def compare(
        self,
        heard,
        control=None,
        report=None,
        commanded=lambda c: None,
        reply=None,
        fader_says=lambda air: None,
    ):
        """(exit code, what it prints)"""
        cell = statuses(1)

        def spoil(c, h):
            [b.update(noise=0.0) for b in h if "noise" not in b]
            [commanded(b) for b in c]

        bursts(cell, spoil)
        cell.air.clock, cell.air.delay_samples = "fader", 10240
        cell.air.soundings.add(to="terminal", residual_db=-30, limit_db=-25, **{"from": "base"})
        fader_says(cell.air)
        cell.air.nodes.extend(("base:2", "terminal:3"))
        with tempfile.TemporaryDirectory() as folder:
            config, file = pathlib.Path(folder, "fader.yaml"), pathlib.Path(folder, "terminal.json")
            config.write_text(
                f"air: {{control: 'ipc://{folder}/control'}}" if control is None else control
            )
            said = heard(one_station.heard(control_pb2.MacStatus(radio=cell.terminal.radio)))
            file.write_text(json.dumps({"bursts_heard": said}) if report is None else report)
            said_by_it = (
                control_pb2.Reply(ok=True, air=cell.air).SerializeToString()
                if reply is None
                else reply
            )
            with (
                answering(f"ipc://{folder}/control", said_by_it),
                contextlib.redirect_stdout(io.StringIO()) as out,
            ):
                return (
                    fader.main(["compare", str(config), str(file)], places.default()),
                    out.getvalue(),
                )

    def test_what_a_distant_terminal_heard_is_judged_where_the_fader_is(self):
        code, said = self.compare(lambda h: h)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"^ok    through the radios: -3\d.\d dB off in 8 of 8 bursts")
        code, said = self.compare(lambda h: h[:3])
        self.assertEqual(code, 1)
        self.assertIn("fader: through the radios 2 bursts of 8 were heard", said)
        code, said = self.compare(
            lambda h: [*h[:4], h[4] | {"response": [2 * v for v in h[4]["response"]]}, *h[5:]]
        )
        self.assertEqual((code, said[:6]), (1, "COSTS "))

    def test_what_the_fader_itself_lost_or_sounded_is_judged_there_too(self):
        self.assertIn("ok    the fader since it began: nothing lost", self.compare(lambda h: h)[1])
        for spoil, words in (
            (
                lambda air: setattr(air, "lost_samples", 7),
                "7 samples lost at its receivers (0 overflows)",
            ),
            (
                lambda air: air.fader_radios.MergeFrom(control_pb2.RadioEvents(late=2)),
                "lost at its transmitters (2 late, 0 underflows",
            ),
            (
                lambda air: setattr(air.soundings[0], "residual_db", -20),
                "the channel is -20.0 dB off the commanded one (limit -25.0 dB)",
            ),
            (
                lambda air: (setattr(air, "clipped", 520), setattr(air, "slots", 1000)),
                "clipping: 520 of 5120000 samples",
            ),
            (lambda air: air.ClearField("soundings"), "its channel was not sounded"),
        ):
            code, said = self.compare(lambda h: h, fader_says=spoil)
            self.assertEqual((code, said[:25]), (1, "ok    through the radios: "[:25]), said)
            self.assertIn("COSTS the fader since it began: ", said)
            self.assertIn(words, said)

    def test_what_could_not_be_judged_is_not_ok(self):
        for commanded, why in (
            (lambda c: c.update(snr_db=-3.0), "the channel is below its noise"),
            (lambda c: c.update(not_judged="impairments of a path"), "impairments of a path"),
        ):
            code, said = self.compare(lambda h: h, commanded=commanded)
            self.assertEqual(code, 1, said)
            self.assertRegex(
                said,
                f"^COSTS through the radios: not judged: {why}: whether the terminal hears the"
                " channel commanded is not known",
            )

    def test_a_burst_that_no_receiver_measured_is_refused(self):
        for wrong, words in (
            ({"response": []}, r"bursts_heard\[0\].response has 0 numbers; valid: 64,"),
            ({"response": [1.0, 2.0]}, "has 2 numbers; valid: 64,"),
            ({"response": [0.0] * 64}, "not all zero"),
            ({"response": [float("nan")] * 64}, "finite"),
            ({"noise": float("inf")}, "noise is inf; valid: 0 and more"),
            ({"noise": -1.0}, "noise is -1; valid"),
        ):
            with self.subTest(words), self.assertRaisesRegex(BadInput, words):
                self.compare(lambda h: [b | wrong for b in h])

    def test_who_answers_and_is_no_fader_is_refused_here_and_at_a_station(self):
        air = control_pb2.AirStatus(nodes=["base:2", "terminal:3"], clock="realtime")
        for reply, words in (
            (
                control_pb2.Reply(ok=True, mac=control_pb2.MacStatus()),
                "with nodes none; valid: a fader with one of the name terminal",
            ),
            (control_pb2.Reply(ok=True, air=air), "valid: a fader with one"),
            (
                control_pb2.Reply(ok=True, air=control_pb2.AirStatus(nodes=["x:1"], clock="fader")),
                "with nodes x; valid: a fader with one",
            ),
            (control_pb2.Reply(ok=True), "where no fader answers"),
            (control_pb2.Reply(error="no"), "where no fader answers"),
            (None, "where no fader answers"),
        ):
            said = b"\xff\xff\xff" if reply is None else reply.SerializeToString()
            with (
                self.subTest(words),
                self.assertRaisesRegex(BadInput, f"fader.yaml: air.control is 'ipc:.*{words}"),
            ):
                self.compare(lambda h: h, reply=said)
            with (
                tempfile.TemporaryDirectory() as folder,
                answering(f"ipc://{folder}/x", said),
                self.assertRaisesRegex(BadInput, f"^--fader is 'ipc:.*{words}"),
            ):
                station_run.fader_of(f"ipc://{folder}/x", 10240)

    def test_a_fader_on_another_computer_is_asked_with_keys_and_listens_with_keys(self):
        with self.assertRaisesRegex(
            BadInput, "--fader tcp://192.0.2.1:7690: beyond this machine it needs --keys DIR"
        ):
            station_run.fader_of("tcp://192.0.2.1:7690", 10240)
        with (
            tempfile.TemporaryDirectory() as folder,
            self.assertRaisesRegex(BadInput, f"{folder}/client.key: No such file"),
        ):
            station_run.fader_of("tcp://192.0.2.1:7690", 10240, folder)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("air: {name: x}")
            f.flush()
            for arguments, words in (
                (("--listen", "tcp://192.0.2.1:7690"), "beyond this machine it needs --keys DIR"),
                (("--keys", "x"), "--keys without --listen"),
                (("--listen", "192.0.2.1"), "is no address"),
                (
                    ("--listen", "tcp://127.0.0.1:7690"),
                    "every user reaches a port, it needs --keys DIR",
                ),
                (
                    ("--listen", "tcp://127.0.0.1:7690", "--keys", KEYS),
                    "has air.control = None; valid: ipc://",
                ),
            ):
                with self.subTest(arguments), self.assertRaisesRegex(BadInput, words):
                    fader.main([f.name, *arguments], places.default())

    def test_a_fader_that_answers_no_sense_at_the_end_of_a_run_is_a_reason(self):
        air = control_pb2.AirStatus(nodes=["terminal:3"], clock="fader", delay_samples=10240)
        with tempfile.TemporaryDirectory() as folder:
            with answering(
                f"ipc://{folder}/x", control_pb2.Reply(ok=True, air=air).SerializeToString()
            ):
                asked = station_run.fader_of(f"ipc://{folder}/x", 10240)
                self.assertEqual(asked.status(), (air, []))
            for said in (b"\xff\xff\xff", b""):
                with answering(f"ipc://{folder}/x", said):
                    self.assertEqual(
                        asked.status(),
                        (None, [f"the fader at ipc://{folder}/x"]),
                    )

    def test_what_is_no_report_and_a_fader_that_is_not_there_are_one_line(self):
        for more, words in (
            ({"report": "{}"}, "has no bursts of a terminal; valid: --json FILE of"),
            ({"report": "[[]]"}, "has no bursts"),
            ({"report": "no"}, "has no bursts"),
            ({"control": "air: {name: x}"}, "air.control is None, where no fader answers"),
            ({"control": "[]"}, "where no fader answers"),
            ({"control": "air: [1]"}, "air.control is None, where no fader answers"),
            ({"control": "air: {control: 'ipc:///nowhere/x'}"}, "no fader answers"),
        ):
            with (
                mock.patch.object(faders, "ANSWER_S", 0.5),
                self.assertRaisesRegex(BadInput, words) as caught,
            ):
                self.compare(lambda h: h, **more)
            self.assertNotIn("\n", str(caught.exception))


@contextlib.contextmanager
def answering(endpoint, reply):
    """A process whose control says these bytes, whatever the question."""
    with zmq.Context.instance().socket(zmq.REP) as socket:
        socket.linger = 0
        socket.bind(endpoint)
        done = threading.Event()

        def serve():
            while not done.is_set():
                if socket.poll(20):
                    socket.recv()
                    socket.send(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
