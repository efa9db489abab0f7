# SPDX-License-Identifier: GPL-3.0-or-later
"""Options and scenario files of ./openwip demo: what is accepted, and how the rest is refused."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.cell import attenuator_tables, configuration, remote
from openwip_cli.cell import cell as cells
from openwip_cli.channel import logs
from openwip_cli.errors import BadInput
from openwip_cli.runs import options
from openwip_cli.settings import scenario


def parse(*arguments):
    return options.parse_demo(list(arguments))


class Options(unittest.TestCase):
    def refused(self, pattern, *arguments):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            parse(*arguments)
        self.assertNotIn("\n", str(caught.exception))

    def file(self, text):
        f = tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False)
        self.addCleanup(os.unlink, f.name)
        with f:
            f.write(text)
        return f.name

    def test_every_default_is_valid_by_its_own_rule(self):
        for s in scenario.SETTINGS:
            with self.subTest(s.key):
                self.assertEqual(s.kind.read(s.default), s.default)

    def test_spikes_and_outages_come_from_a_file_that_is_checked_line_by_line(self):
        name = self.file("# two of them\n1.5 0.25\n\n86400.125 2  # a day later\n")
        for flag, key in (("--outages", "umts.outages"), ("--spikes", "umts.spikes")):
            s = options.parse_emulate(["--link", "umts", flag, name]).scenario
            self.assertEqual(s[key], [1.5, 0.25, 86400.125, 2])
            self.assertEqual(scenario.text_of(s[key]), "1.5,0.25,86400.125,2")
            for text, output in (
                ("1 2\n3\n", "line 2 is '3'"),
                ("1 2 3", "line 1"),
                ("1 two", "line 1 is '1 two'"),
                ("-1 2", "line 1"),
                ("1 nan", "line 1"),
                ("5 2\n6 1\n", "line 2 begins at 6 s, before the one above it is over .7 s"),
                ("# none\n", "the file is empty"),
                (
                    "".join(f"{n} 0.5\n" for n in range(1001)),
                    "has 1001 lines or more; valid: up to 1000",
                ),
            ):
                with (
                    self.subTest(flag=flag, text=text[:20]),
                    self.assertRaisesRegex(BadInput, f"{flag} .*{output}") as caught,
                ):
                    options.parse_emulate([flag, self.file(text)])
                self.assertNotIn("\n", str(caught.exception))
            with self.assertRaisesRegex(BadInput, f"{flag} /: cannot be read: Is a directory"):
                options.parse_emulate([flag, "/"])
            # A name that is too long.
            with self.assertRaisesRegex(BadInput, f"{flag} is '1,1,"):
                options.parse_emulate([flag, "1," * 200])
            with self.assertRaisesRegex(BadInput, f"{flag} is 'no/such/file'; valid: up to 2000"):
                options.parse_emulate([flag, "no/such/file"])
            self.assertEqual(
                options.parse_emulate(["--link", "umts", flag, "1,2"]).scenario[key], [1, 2]
            )
            self.assertEqual(
                options.parse_emulate(
                    ["--link", "umts", flag, self.file("0.1 0.2\n0.3 1\n")]
                ).scenario[key],
                [0.1, 0.2, 0.3, 1],
            )

    def test_spikes_and_outages_of_a_scenario_file_are_numbers_or_such_a_file(self):
        name = self.file("1.5 0.25\n4 2\n")
        for key in ("spikes", "outages"):
            for value in (name, "[1.5, 0.25, 4, 2]", "'1.5,0.25,4,2'"):
                s = options.parse_emulate(
                    ["--config", self.file(f"umts: {{{key}: {value}}}")]
                ).scenario
                self.assertEqual(s[f"umts.{key}"], [1.5, 0.25, 4, 2])
            for value, output in (
                (self.file("3"), f"umts.{key} .*: line 1 is '3'"),
                ("no/such/file", f"umts.{key} is 'no/such/file'; valid: up to 2000"),
                (f"'{'1,' * 300}'", ".* valid: up to 2000"),
                ("[1, true]", ".* valid: up to 2000"),
            ):
                with (
                    self.subTest(key=key, value=value),
                    self.assertRaisesRegex(BadInput, f"^scenario file .*: {output}") as caught,
                ):
                    options.parse_emulate(["--config", self.file(f"umts: {{{key}: {value}}}")])
                self.assertNotIn("\n", str(caught.exception))

    def test_lost_blocks_come_from_a_file_of_ones_and_zeros(self):
        for flag, key in (
            ("--error-trace", "umts.error_trace"),
            ("--up-error-trace", "umts.up_error_trace"),
        ):
            for text, runs in (
                ("0001\n1\n0 1 # two, then one\n", [3, 2, 1, 1]),
                ("1 1 0", [0, 2, 1]),
                ("1", [0, 1]),
            ):
                name = self.file(text)
                self.assertEqual(
                    options.parse_emulate(["--link", "umts", flag, name]).scenario[key], runs
                )
                self.assertEqual(
                    options.parse_emulate(
                        ["--config", self.file(f"{key.replace('.', ': {', 1)}: {name}}}")]
                    ).scenario[key],
                    runs,
                )
            self.assertEqual(
                options.parse_emulate(["--link", "umts", flag, "5,2"]).scenario[key], [5, 2]
            )
            for text, output in (
                ("01\n012\n", "line 2 is '012'"),
                ("# none\n", "the file is empty"),
                ("01" * 10001, "it has 20002 runs of equal blocks"),
            ):
                with (
                    self.subTest(flag=flag, text=text[:20]),
                    self.assertRaisesRegex(BadInput, f"{flag} .*{output}") as caught,
                ):
                    options.parse_emulate([flag, self.file(text)])
                self.assertNotIn("\n", str(caught.exception))

    def test_a_setting_of_another_link_is_refused_on_the_command_line(self):
        for given, output in (
            (
                ["--bearer", "umts-64"],
                "--bearer is given with --link ofdm; valid: with --link umts",
            ),
            (
                ["--cell-users", "30", "--link", "wlan"],
                "--cell-users is given with --link wlan; valid: with --link umts",
            ),
            (
                ["--cell-users", "30", "--link", "umts"],
                "--cell-users is given, but no block errors come from the cells; valid: .*",
            ),
            (
                ["--block-errors", "0.1", "--link", "umts", "--error-model", "cells"],
                "--block-errors is 0.1 with --error-model cells, which decides which blocks are lost;"
                " valid: .*",
            ),
            (
                ["--link", "umts", "--retry-limit", "3"],
                "--retry-limit is given with --link umts; valid: with --link wlan",
            ),
            (
                ["--link", "umts", "--wired-loss", "0.1"],
                "--wired-loss is given with --link umts without --split-tcp, .*; valid: with --split-tcp, .*",
            ),
        ):
            with self.assertRaisesRegex(BadInput, f"^{output}$"):
                options.parse_emulate(given)
        for link in (
            ["ofdm"],
            ["wlan"],
            ["umts", "--split-tcp", "all"],
            ["umts", "--config", self.file("wired: {loss: 0.1}")],
        ):
            options.parse_emulate(
                ["--link", *link, *(["--wired-loss", "0.1"] if "--config" not in link else [])]
            )
        options.parse_emulate(
            ["--link", "wlan", "--retry-limit", "3", "--config", self.file("umts: {max_dat: 3}")]
        )

    def test_what_the_channel_does_not_look_at_is_refused_on_the_command_line(self):
        for given, output in (
            (
                ["--bins-db", "3,4"],
                "--bins-db is given with --channel jakes; valid: with --channel static",
            ),
            (
                ["--channel", "static", "--speed-kmh", "3"],
                "--speed-kmh is given with --channel static; valid: with a channel that moves",
            ),
            (
                ["--channel", "awgn", "--speed-kmh", "3"],
                "--speed-kmh is given with --channel awgn; valid: with a channel that moves",
            ),
        ):
            with self.assertRaisesRegex(BadInput, f"^{output}$"):
                options.parse_emulate(given)
        self.refused(
            "^--speed-kmh is given with --channel awgn; valid: with a channel that moves$",
            "--speed-kmh",
            "3",
        )
        options.parse_emulate(
            [
                "--channel",
                "static",
                "--bins-db",
                "3,4",
                "--config",
                self.file("channel: {speed_kmh: 3}"),
            ]
        )
        options.parse_emulate(
            ["--config", self.file("channel: {bins_db: [3]}"), "--speed-kmh", "3"]
        )
        # The channel fades by itself, without a speed.
        options.parse_emulate(["--link", "wlan", "--channel", "static", "--speed-kmh", "3"])

    def test_the_generator_has_no_cell_that_files_and_cores_could_be_of(self):
        for flag, value in (
            ("--cores", "0"),
            ("--logs", "x"),
            ("--name", "x"),
            ("--record", "x.h5"),
            ("--capture", "x"),
            ("--keep", None),
        ):
            with self.assertRaisesRegex(
                BadInput,
                f"^{flag} is given with --generator, which starts no cell of processes; valid: --json$",
            ):
                options.parse_emulate(["--generator", flag, *([value] if value else [])])

    def test_two_options_with_one_file_are_refused_before_anything_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            one, link = os.path.join(folder, "one"), os.path.join(folder, "link")
            os.symlink(one, link)
            for first, second in (
                ("--json", "--capture"),
                ("--json", "--record"),
                ("--record", "--capture"),
            ):
                for parse_all in (options.parse_demo, options.parse_emulate):
                    with self.assertRaisesRegex(
                        BadInput, f"{second} .*: cannot be written: that file is given twice"
                    ):
                        parse_all([first, one, second, link])
            pathlib.Path(one).write_text("link: {bins: 3}")
            self.refused(
                "--json .*: cannot be written: that file is given twice",
                "--config",
                one,
                f"--json={one}",
            )
            parse("--json=/dev/null", "--capture", "/dev/null")
            parse("--json", "-", "--config", one)

    def test_files_that_have_no_end_are_refused(self):
        """The machine's memory would be full before they are."""
        for flag in ("--spikes", "--outages", "--error-trace", "--up-error-trace"):
            with self.assertRaisesRegex(
                BadInput, f"{flag} /dev/zero: cannot be read: has more than 64 MiB"
            ):
                options.parse_emulate(["--link", "umts", flag, "/dev/zero"])
        with self.assertRaisesRegex(BadInput, "/dev/zero: cannot be read: is no regular file"):
            logs.Log("/dev/zero")
        with self.assertRaisesRegex(BadInput, "/dev/zero: cannot be read: has more than 64 MiB"):
            attenuator_tables.read_table("/dev/zero")
        with self.assertRaisesRegex(BadInput, "/dev/zero is no key file"):
            remote.read_key_file("/dev/zero", secret=False)

    def test_ports_to_split_are_taken_as_yaml_reads_them(self):
        for value, wanted in (
            ("off", "off"),
            ("all", "all"),
            ("80", "80"),
            ("[80, 5001-5010]", "80,5001-5010"),
            ("'80,443'", "80,443"),
        ):
            s = options.parse_emulate(
                ["--config", self.file(f"{{link: {{kind: umts}}, split_tcp: {{ports: {value}}}}}")]
            ).scenario
            self.assertEqual(s["split_tcp.ports"], wanted)
        for value in ("on", "", "[]", "[80, off]", "[80, [81]]", "{80: 81}", "80.5"):
            with (
                self.subTest(value),
                self.assertRaisesRegex(
                    BadInput,
                    "split_tcp.ports is .*; valid: off, all, or ports and ranges such as 80",
                ),
            ):
                options.parse_emulate(["--config", self.file(f"split_tcp: {{ports: {value}}}")])

    def test_impairments_come_from_a_scenario_file_and_reach_the_medium(self):
        name = self.file(
            "channel: {model: jakes}\nimpairments: [{cfo_hz: 3000}, {tone: {dbfs: -30, hz:"
            " 1.0e+6}}]"
        )
        wanted = [{"cfo_hz": 3000}, {"tone": {"dbfs": -30, "hz": 1e6}}]
        options = parse("--config", name)
        self.assertEqual(options.scenario["impairments"], wanted)
        air = configuration.air_config(cells.Cell("x"), options.scenario)
        self.assertEqual(air["nodes"]["terminal"]["impairments"], wanted)
        self.assertEqual(air["paths"][0]["channel"], "jakes")
        for bad in (
            "3",
            "{cfo_hz: 1}",
            "[cfo_hz]",
            "[{cfo: 3}]",
            "[{cfo_hz: fast}]",
            "[{cfo_hz: true}]",
            "[{noise: 3}]",
            "[{tone: {power: 3}}]",
            "[{cfo_hz: 1, dc_dbfs: -40}]",
        ):
            with self.subTest(bad):
                self.refused(
                    "impairments is .*; valid: a list such as",
                    "--config",
                    self.file(f"impairments: {bad}"),
                )

    @staticmethod
    def beside(setting):
        """The options that make a value possible."""
        of_realtime = {
            "link.transmit_lead_slots": ("--retransmission-delay-ms", "32"),
            "link.loop": (),
        }
        if setting.key == "channel.speed_kmh":
            return ("--channel", "jakes")
        if setting.key.startswith("attenuator."):
            trace = [
                w
                for key, file in (("at_zero_db", "a.h5"), ("start", "a.csv"))
                if setting.key == f"attenuator.{key}"
                for w in ("--attenuator-trace", file)
            ]
            return (
                "--air",
                "cabled",
                *trace,
                *(("--attenuator", "/dev/x") if setting.key != "attenuator.port" else ()),
            )
        return (
            ("--clock", "realtime", *of_realtime[setting.key]) if setting.key in of_realtime else ()
        )

    def test_every_flag_reaches_its_setting(self):
        for s in (x for x in scenario.SETTINGS if x.flag):
            kind = getattr(s.kind, "kind", s.kind)
            value = (
                kind.high
                if hasattr(kind, "high")
                else "ppm=1"
                if kind.name == "text"
                else kind.read(kind.words[-1])
            )
            value = {
                "attenuator.port": "/dev/x",
                "attenuator.trace": "a.csv",
                "attenuator.channels": [1, 3],
                "attenuator.levels_db": [3.5],
                "link.scheduler": "library:mine.so",
                "link.adaptation": "library:mine.so",
                "phy.predictor": "library:mine.so",
            }.get(s.key, value)
            with self.subTest(s.flag):
                self.assertEqual(
                    parse(
                        s.flag,
                        scenario.text_of(value) if isinstance(value, list) else str(value),
                        *self.beside(s),
                    ).scenario[s.key],
                    value,
                )

    def test_one_outside_every_range_is_refused_with_flag_value_and_range(self):
        for s in (x for x in scenario.SETTINGS if x.flag):
            kind = getattr(s.kind, "kind", s.kind)
            outside = [kind.low - 1, kind.high + 1] if hasattr(kind, "low") else ["sideways"]
            if getattr(kind, "least", 0):
                outside.append(kind.least - 1 if kind.name == "integer" else kind.least / 2)
            for value in outside:
                with self.subTest(s.flag, value=value):
                    self.refused(f"^{s.flag} is '{value}'; valid: ", s.flag, str(value))

    def test_what_is_no_number_is_refused(self):
        for text in ("", "nan", "inf", "ten", "1e999", "1.5.2"):
            self.refused("^--snr is ", f"--snr={text}")
        self.refused("^--bins is '2.5'", "--bins", "2.5")

    def test_an_unknown_option_is_refused_and_abbreviations_are_unknown(self):
        self.refused("unrecognized arguments: --frequency", "--frequency", "3")
        self.refused("unrecognized arguments: --bin", "--bin", "3")

    def test_an_option_without_value_is_refused(self):
        self.refused("--bins: expected one argument", "--bins")

    def test_a_cell_name_is_short_and_plain(self):
        for name in ("", "a/b", "..", "Demo", "x" * 13, "é"):
            self.refused("^--name is ", "--name", name)

    def test_the_command_line_goes_over_the_file_and_the_file_over_the_defaults(self):
        path = self.file("link: {bins: 7, modulation: 4, combining: off}\nseed: 9\n")
        s = parse("--config", path, "--bins", "8").scenario
        self.assertEqual(
            (
                s["link.bins"],
                s["link.modulation"],
                s["link.combining"],
                s["seed"],
                s["uplink.kbps"],
            ),
            (8, 4, "off", 9, 500),
        )

    def test_the_tree_of_a_scenario_is_a_scenario_file_with_the_same_settings(self):
        import yaml

        s = parse("--bins", "5", "--modulation", "2", "--udp-mbps", "1.5").scenario
        path = self.file(yaml.safe_dump(s.tree()))
        self.assertEqual(parse("--config", path).scenario.values, s.values)

    def test_a_bad_file_is_refused_with_its_name_and_the_key(self):
        for text, pattern in (
            ("link: [1", "is not YAML"),
            ("- 1\n- 2\n", "has no settings; valid: groups of them"),
            ("just words\n", "has no settings; valid: groups of them"),
            ("link: 3\n", "link: has no settings; valid: groups"),
            ("link: {bnis: 3}\n", "unknown key link.bnis; valid: link.bins, "),
            ("lnik: {bins: 3}\n", "unknown key lnik"),
            ("link: {bins: 26}\n", "link.bins is 26; valid: 1..25"),
            ("link: {bins: true}\n", "link.bins is True; valid: 1..25"),
            ("link: {bins: [1]}\n", r"link.bins is \[1\]; valid: 1..25"),
            ("channel: {snr_db: .nan}\n", "channel.snr_db is '.nan'"),
            ("\0\1\2", "is not YAML"),
            (
                "link:\n  bins: 3\n  bins: 4\n",
                r"^scenario file .* has link\.bins twice; valid: once \(line 3\)$",
            ),
            ("seed: 1\nlink: " + 200_000 * "[", r"has lists nested more than 100 deep \(line 2\)"),
        ):
            with self.subTest(text):
                self.refused(pattern, "--config", self.file(text))

    def test_a_binary_or_missing_file_or_a_folder_is_refused(self):
        path = self.file("")
        pathlib.Path(path).write_bytes(bytes(range(128, 256)))
        self.refused("is not YAML", "--config", path)
        self.refused("No such file", "--config", "/nonexistent.yaml")
        self.refused("Is a directory", "--config", "/tmp")
        self.refused("/dev/zero has more than 1 MiB", "--config", "/dev/zero")

    def test_the_shell_entry_says_one_line_and_ends_with_2(self):
        for arguments in (
            ["demo", "--bins", "99"],
            ["demo", "--nosuch"],
            ["exec", "terminal"],
            ["nosuch"],
            ["down", "--name", "../x"],
            ["demo", "--json=/nonexistent/x.json"],
            ["exec", "moon", "--", "ls"],
            ["demo", "--config", "/dev/null/x"],
        ):
            with self.subTest(arguments):
                done = subprocess.run(
                    [TOP / "openwip", *arguments],
                    capture_output=True,
                    text=True,
                    cwd="/",
                    env=os.environ | {"OPENWIP_NO_BUILD": "1"},
                )
                self.assertEqual(done.returncode, 2)
                output = [line for line in done.stderr.splitlines() if line.startswith("openwip: ")]
                self.assertEqual(len(output), 1)
                self.assertNotIn("Traceback", done.stderr)

    def test_the_help_says_what_zero_means_and_what_a_station_has_instead(self):
        def output(*arguments):
            done = subprocess.run(
                [TOP / "openwip", *arguments, "--help"],
                capture_output=True,
                text=True,
                cwd="/",
                env=os.environ | {"OPENWIP_NO_BUILD": "1"},
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return " ".join(done.stdout.split())

        emulate = output("emulate")
        self.assertIn(
            "--down-kbps KBIT/S downlink rate of the UMTS bearer; 0: the rate of the bearer"
            " profile;"
            " 0|1..20000 kbit/s (default 0)",
            emulate,
        )
        self.assertIn(
            "--retry-limit ATTEMPTS maximum number of attempts to send a WLAN frame; 0: the limits of"
            " IEEE 802.11, 7 attempts or 4 after an RTS; 0..255 attempts (default 0)",
            emulate,
        )
        self.assertNotIn("a name, or a file", emulate + output("demo"))
        # In the form that the page shows.
        self.assertEqual(
            [
                emulate.count(f" {room}: --")
                for room in ("link", "wlan", "umts", "wired", "traffic")
            ],
            [1] * 5,
        )
        self.assertIn(
            "(2; 8 with air.clock = realtime, 10 at a station when not given)",
            output("station", "terminal"),
        )
        self.assertIn(
            "--wired-delay-ms MS one-way delay of the wired network between server and base"
            " station,"
            " in each direction; 0..60000 ms (default 10)",
            output("bridge"),
        )
        self.assertIn(
            "usage: ./openwip exec [--name CELL] base|terminal -- COMMAND...", output("exec")
        )


if __name__ == "__main__":
    unittest.main()
