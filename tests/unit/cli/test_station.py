# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip station: its command line, its two processes, and what is judged of one station alone."""
import pathlib
import tempfile
import unittest

from openwip_cli.cell import cell as cells, remote, station
from openwip_cli.errors import BadInput
from openwip_cli.figures import one_station
from openwip_cli.machine import places
from openwip_cli.runs import options as run_options, station_options
from openwip_schema import control_pb2

HERE = ("--radio", "type=b200", "--peer", "127.0.0.1")


def parse(*arguments):
    return station_options.parse(list(arguments))


class CommandLine(unittest.TestCase):
    def refused(self, *arguments):
        with self.assertRaises(BadInput) as caught:
            parse(*arguments)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_what_is_wrong_is_one_line_with_what_would_be_valid(self):
        for arguments, word in (((), "base|terminal"), (("relay",), "base|terminal"), (("base",), "--radio"),
                                (("base", "--radio", "type=b200"), "--peer"),
                                (("base", "--radio", "x", "--peer", "no host"), "valid: HOST"),
                                (("base", "--radio", "x", "--peer", "127.0.0.1:70000"), "valid: HOST"),
                                (("base", "--radio", "x", "--peer", "no.such.host.invalid"), "can be reached"),
                                (("terminal", "--radio", "x", "--peer", "192.0.2.1"), "--keys"),
                                (("base", *HERE, "--keys", "/nowhere"), "server.key"), (("terminal", *HERE, "--keys", "/nowhere"), "client.key"),
                                (("base", *HERE, "--clock-source", "gps"), "internal"),
                                (("base", *HERE, "--freq", "0"), "1000000.."),
                                (("base", *HERE, "--transmit-lead-slots", "1"), "2..12"),
                                (("base", *HERE, "--predictor", "ar"), "--predictor"), (("terminal", *HERE, "--edge-samples", "8"), "--edge-samples"),
                                (("base", *HERE, "--duration", "soon"), "--duration"), (("base", *HERE, "--snr", "20"), "--snr")):
            self.assertIn(word, self.refused(*arguments), arguments)

    def test_the_radios_clock_does_not_wait_so_lead_and_delay_are_those_of_such_a_clock(self):
        _, options = parse("base", *HERE)
        self.assertEqual((options.scenario["link.transmit_lead_slots"], options.scenario.retransmission_delay_slots), (6, 15))     # 2 ms of LAN
        _, options = parse("terminal", *HERE, "--retransmission-delay-ms", "12", "--predictor", "ar")
        self.assertEqual((options.scenario.retransmission_delay_slots, options.scenario["phy.predictor"]), (18, "ar"))

    def test_a_scenario_file_of_the_demo_runs_over_radios(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as f:
            f.write("{air: {over: radio, fade: transmitter, speed: 0.5}, channel: {model: epa, snr_db: 25}, link: {bins: 12}, phy: {predictor: ar}, seed: 3}")
            f.flush()
            wanted, options = parse("base", *HERE, "--config", f.name, "--bins", "7")
            self.assertEqual((options.scenario["link.bins"], wanted.unused), (7, ["air.speed", "phy.predictor"]))
            self.assertEqual(cells.transmitter_options(options.scenario)[-1],
                             f"epa,speed_kmh=30.0,shadowing=off,user=0,noise_dbfs={round(options.scenario.noise_dbfs, 4)},seed=3")
            wanted, options = parse("terminal", *HERE, "--config", f.name)
            self.assertEqual((options.scenario["link.bins"], options.scenario["phy.predictor"]), (12, "ar"))
            self.assertEqual(wanted.unused, ["air.fade", "air.speed", "channel.model", "channel.snr_db"])
            with self.assertRaisesRegex(BadInput, "^--air is 'radio'; valid in a demo: medium, cabled; .*openwip station base"):
                run_options.parse_demo(["--config", f.name])
            for over in ("medium", "cabled"):
                more = ["--fade", "way"] if over == "cabled" else []
                self.assertEqual(run_options.parse_demo(["--config", f.name, "--air", over, *more]).scenario["link.bins"], 12)

    def test_the_base_station_listens_where_the_other_computer_is_and_the_terminal_connects_there(self):
        for text, where in (("127.0.0.1", "tcp://127.0.0.1:7680"), ("localhost:99", "tcp://127.0.0.1:99"), ("[::1]:5", "tcp://[::1]:5")):
            for role in ("base", "terminal"):
                found = station.peer(role, text, None).endpoint
                self.assertIn(found, (where, where.replace("127.0.0.1", "[::1]")), role)

    def test_keys_of_the_command_keys_are_taken_by_both(self):
        with tempfile.TemporaryDirectory() as folder:
            remote.make_keys(pathlib.Path(folder, "k"))
            for role in ("base", "terminal"):
                self.assertEqual(parse(role, *HERE, "--keys", f"{folder}/k")[0].peer.keys, f"{folder}/k")


class Processes(unittest.TestCase):
    def test_macd_is_told_where_its_interface_is_and_that_the_other_station_may_leave(self):
        wanted, options = parse("terminal", *HERE, "--uplink-kbps", "777")
        cell = cells.Cell("x7", 1, False)
        self.assertEqual((cell.stations, cell.namespaces), (["terminal"], ["owip-x7-terminal"]))
        tree = station.macd_config(cell, options.scenario, "terminal", wanted.peer)
        self.assertEqual((tree["tun"]["namespace"], tree["tun"]["address"]), ("owip-x7-terminal", "10.42.0.2/30"))
        self.assertEqual((tree["endpoints"]["uplink"], tree["endpoints"]["uplink_keys"]), ("tcp://127.0.0.1:7680", ""))
        self.assertEqual((tree["peer_may_leave"], tree["uplink"]["kbps"]), (True, 777))

    def test_the_flowgraph_starts_from_now_with_the_sources_that_were_asked_for(self):
        wanted, _ = parse("base", *HERE, "--gain", "20", "--clock-source", "external", "--time-source", "gpsdo", "--freq", "2.45e9")
        said = " ".join(wanted.radio.options("base"))
        for words in ("--args type=b200", "--tx-gain 20", "--freq 2450000000", "--clock-source external", "--time-source gpsdo", "--start-in"):
            self.assertIn(words, said)
        self.assertTrue(str(cells.flowgraph("base", places.default())[1]).endswith("base_station.py"))


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
        return one_station.judge(now.role, first, until or now, now, tun, more.get("telemetry", []), more.get("noted", []), returns)

    def test_both_are_valid_when_nothing_is_wrong(self):
        tun = {"to_macd": (3, 300), "from_macd": (3, 300)}
        for role in ("base", "terminal"):
            self.assertEqual(self.judge(self.status(role), tun=tun)["reasons"], [])

    def test_each_thing_that_is_wrong_is_a_reason(self):
        lost = self.status("terminal")
        lost.downlink.delivered.packets = 2
        for now, more, word in ((self.status("base", late_slots=16), {}, "late: 16 slots of 15000"),
                                (self.status("terminal", lock_losses=2), {}, "lock: lost 2 times"),
                                (self.status("terminal", locked=False), {}, "lock: there is none"),
                                (self.status("terminal", overflows=1), {}, "overflowed"), (lost, {}, "sums: downlink at the terminal"),
                                (self.status("base"), {"tun": {"to_macd": (4, 300), "from_macd": (3, 300)}}, "sums: kernel to base.macd"),
                                (self.status("base"), {"returns": 2}, "left and came back 2 times"), (self.status("base"), {"returns": -1}, "never came"),
                                (self.status("base"), {"noted": ["base.radio stood"]}, "surroundings: base.radio stood"),
                                (self.status("base"), {"telemetry": ["telemetry: lost"]}, "telemetry: lost")):
            found = self.judge(now, **more)
            self.assertFalse(found["valid"])
            self.assertIn(word, " ".join(found["reasons"]))

    def test_a_share_of_slots_that_a_free_running_clock_may_miss(self):
        self.assertTrue(self.judge(self.status("base", late_slots=15))["valid"])

    def test_what_follows_the_other_stations_end_is_not_judged(self):
        ended = self.status("terminal", locked=False, lock_losses=1)
        self.assertTrue(self.judge(ended, until=self.status("terminal"))["valid"])


if __name__ == "__main__":
    unittest.main()
