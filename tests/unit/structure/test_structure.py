# SPDX-License-Identifier: GPL-3.0-or-later
"""The allowed directions between folders, and the purity of the layers that never touch a clock."""

import pathlib
import re
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]

# A room: the first part of an include path, with the second where that has rooms of its own. Every
# folder lists the rooms that it may include besides itself.
PHY = (
    "math",
    "grid",
    "ofdm",
    "qam",
    "coding",
    "prediction",
    "estimation",
    "sync",
    "detection",
    "transmitter",
    "receiver",
)
RECEIVING = {"phy/" + room for room in PHY}
MAC = {"types", "port", "wire", "queue", "rlc", "journal", "link"}
ALLOWED = {
    "blocks/types": set(),
    # The services that a process asks of the operating system: time, priority, memory, files,
    # rights.
    "blocks/os": {"types"},
    # Lines of messages between processes, for flowgraphs and host alike.
    "blocks/peer": {"types"},
    "blocks/phy/math": {"types"},
    "blocks/phy/grid": {"types", "phy/math"},
    "blocks/phy/ofdm": {"types", "phy/math", "phy/grid"},
    "blocks/phy/qam": {"types", "phy/math"},
    "blocks/phy/coding": {"types", "phy/math", "phy/grid"},
    "blocks/phy/prediction": {"types", "phy/math", "phy/grid"},
    "blocks/phy/estimation": {"types", "phy/math", "phy/grid", "phy/ofdm"},
    "blocks/phy/sync": {"types", "phy/math", "phy/grid", "phy/ofdm", "phy/estimation"},
    "blocks/phy/detection": {
        "types",
        "phy/math",
        "phy/grid",
        "phy/qam",
        "phy/coding",
        "phy/estimation",
    },
    "blocks/phy/transmitter": {
        "types",
        "phy/math",
        "phy/grid",
        "phy/ofdm",
        "phy/qam",
        "phy/coding",
    },
    "blocks/phy/receiver": {"types"} | RECEIVING - {"phy/transmitter"},
    "blocks/include": {"types", "wip"} | RECEIVING,
    "blocks/lib": (
        {"types", "os", "port", "schema", "sample", "profiles", "mix", "fader", "medium", "peer"}
        | {"extension", "iq", "wip"}
        | RECEIVING
    ),
    "blocks/python": {"types", "port", "schema", "wip"} | RECEIVING,
    "mac/port": {"types"},
    # All headers of mac/schema but the conversions of enums are generated.
    "mac/schema": {"types"},
    "mac/calendar": {"types", "port"},
    "mac/wire": {"types"},
    "mac/queue": {"types", "wire"},
    "mac/rlc": {"types", "wire"},
    "mac/journal": {"types", "wire", "rlc"},
    "mac/relay": {"types", "port", "wire"},
    "mac/link": MAC,
    "mac/uplink": MAC,
    "mac/wlan": {"types", "port", "journal"},
    "mac/handover": {"types", "port", "wire", "journal"},
    "mac/delivery": {"types", "port", "queue", "journal"},
    # Another link behind the packet port.
    "mac/umts": {"types", "port", "wire", "journal"},
    "channels/sample": {"types"},
    # The symbol channel detects with the receiver's constellations and computes with the link's
    # error rates.
    "channels/bin": {"types", "phy/qam", "phy/detection", "port", "link", "sample"},
    "channels/packet": {"types", "port", "wire", "queue", "link", "sample"},
    "channels/cell": {"sample", "bin", "packet", "profiles", "uplink"} | MAC,
    # The cells of WCDMA, without a link.
    "channels/cells": {"types", "sample"},
    "channels/mix": {"types", "sample"},
    "channels/fader": {"types", "sample", "mix"},
    "channels/yaml": {"types"},
    "channels/profiles": {"types", "sample", "yaml"},
    # The medium hands its memory over at a socket.
    "channels/air": {"types", "sample", "mix", "peer", "os"},
    "channels/vusrp": {"types", "sample", "air", "os", "yaml"},
    "host/config": {"types", "yaml"},
    "host/tun": {"types"},
    # The side of a process that the operating system and others see; it knows nothing of the MAC.
    "host/runtime": {"types", "os", "config", "peer", "schema"},
    "host/trace": {"types", "os", "bin", "sample"},
    # A stretch of samples to a file or to a spectrum, and a radio's clock: for flowgraphs and for
    # programs without GNU Radio.
    "host/iq": {"types", "os", "phy/ofdm"},
    # Code of the user's own, loaded and checked; flowgraphs and host alike ask for it.
    "host/extension": {"types", "os", "port", "phy/prediction"},
    # The surroundings of a MAC, in macd and in the emulator.
    "host/station": ({"config", "packet", "relay", "runtime", "schema", "tun", "extension"} | MAC),
    "host/macd": (
        {"os", "packet", "runtime", "station", "schema", "config", "peer", "tun", "extension"} | MAC
    ),
    # Ends of flows on Linux's sockets, and the plans that ns-3 reads as well.
    "host/flow": {"types"},
    # A Linux kernel as a participant of the calendar.
    "host/virtual": {"types", "port", "calendar", "flow"},
    "host/emulator": (
        {
            "os",
            "bin",
            "sample",
            "calendar",
            "cell",
            "cells",
            "extension",
            "umts",
            "handover",
            "delivery",
            "packet",
            "profiles",
            "relay",
            "wlan",
            "runtime",
            "station",
            "schema",
            "config",
            "peer",
            "trace",
            "tun",
            "virtual",
        }
        | MAC
    ),
    # The emulator's links under ns-3.
    "host/simulator": {
        "types",
        "port",
        "wire",
        "packet",
        "emulator",
        "flow",
        "station",
        "tcpl",
        "virtual",
        "runtime",
        "config",
    },
    "host/medium": {
        "os",
        "types",
        "sample",
        "mix",
        "air",
        "profiles",
        "peer",
        "runtime",
        "schema",
        "config",
        "trace",
    },
    # Radios on cables: the fader behind UHD, controlled as the medium is, calibrated as any radio
    # is looked at.
    "host/cabled": {
        "iq",
        "os",
        "types",
        "sample",
        "mix",
        "fader",
        "medium",
        "radio",
        "peer",
        "runtime",
        "schema",
        "config",
        "trace",
    },
    "host/observer": {"os", "types", "runtime", "schema", "config", "peer", "tun"},
    "host/split": {"types", "runtime", "schema", "config", "peer"},
    "host/tcpl": {
        "os",
        "types",
        "wire",
        "packet",
        "relay",
        "runtime",
        "station",
        "schema",
        "config",
        "peer",
        "tun",
        "virtual",
    },
    "host/capture": {"os", "types", "runtime", "schema", "config"},
    # host/channel runs the receiver's predictor over a bin-level channel (--predictor).
    "host/channel": {
        "os",
        "types",
        "link",
        "sample",
        "bin",
        "profiles",
        "trace",
        "config",
        "runtime",
        "extension",
        "phy/prediction",
    },
    # UHD's radios, looked at without a cell.
    "host/radio": {"iq", "os", "types", "runtime", "config"},
    # A reader of what every process publishes, and of nothing else: it runs on another machine as
    # well.
    "host/gui/model": {"types", "schema"},
    "host/gui/plot": {"types", "gui/model"},
    "host/gui/cell": {"types", "schema", "gui/model"},
    # The controls are made from the table of settings.
    "host/gui/views": {"types", "config", "schema", "gui/model", "gui/plot", "gui/cell"},
    "host/gui": {"types", "config", "schema", "gui/model", "gui/plot", "gui/cell", "gui/views"},
    # The attenuator's firmware shares nothing with the rest but its schema.
    "firmware/core": set(),
    "firmware/board": {"core"},
    "firmware/third_party": set(),
}
# The floors, each of which uses those before it alone: the picture of
# docs/explanation/architecture.md. blocks/ has the ground floors and the roof.
FLOORS = (
    ("blocks/types", "blocks/os", "blocks/peer"),
    ("blocks/phy",),
    ("mac",),
    ("channels",),
    ("host",),
    ("blocks/include", "blocks/lib", "blocks/python"),
)
TOPS = ("blocks", "mac", "channels", "host")
PURE = (
    "blocks/types",
    "blocks/phy",
    "mac/port",
    "mac/calendar",
    "mac/wire",
    "mac/queue",
    "mac/rlc",
    "mac/journal",
    "mac/relay",
    "mac/link",
    "mac/wlan",
    "mac/umts",
    "channels/sample",
    "channels/bin",
    "channels/packet",
    "channels/cell",
    "channels/cells",
    "channels/mix",
    "firmware/core",
)
IMPURE = re.compile(
    r"steady_clock|system_clock|random_device|std::rand\b|gettimeofday|"
    r"clock_gettime|std::thread|std::jthread|\bsocket\(|#include <zmq|"
    r"#include <gnuradio/|#include <uhd/"
)
INCLUDE = re.compile(r'^\s*#include "([^"]+)/', re.M)


def sources(folder):
    for path in sorted((TOP / folder).rglob("*")):
        if path.suffix in (".h", ".cpp", ".cc", ".hpp"):
            yield path


def room_of(include):
    """The room of `#include "phy/ofdm/ofdm.h"`: phy/ofdm."""
    parts = include.split("/")
    return "/".join(parts[:2]) if parts[0] in ("phy", "gui") else parts[0]


def own_room(folder):
    if folder.startswith("blocks/phy/"):
        return folder.removeprefix("blocks/")
    parts = folder.split("/", 1)[1]
    return "wip" if parts == "include" else parts


def floor_of(folder):
    """The index of the folder's floor; None: the firmware, which has none."""
    for n, floor in enumerate(FLOORS):
        if any(folder == part or folder.startswith(part + "/") for part in floor):
            return n
    return None


class Structure(unittest.TestCase):
    def test_includes_follow_the_allowed_directions(self):
        wrong, seen = [], 0
        rooms = set(map(own_room, ALLOWED)).union(*ALLOWED.values())
        for folder, allowed in ALLOWED.items():
            inner = [other for other in ALLOWED if other.startswith(folder + "/")]
            for path in sources(folder):
                if any(path.is_relative_to(TOP / other) for other in inner):
                    continue  # evaluated by the rule of its own folder
                seen += 1
                for include in INCLUDE.findall(path.read_text()):
                    room = room_of(include)
                    if room not in allowed and room != own_room(folder) and room in rooms:
                        wrong.append(f"{path.relative_to(TOP)} includes {room}/")
        self.assertGreater(seen, 300)
        self.assertEqual(wrong, [])

    def test_no_import_between_the_floors_runs_back_up(self):
        floors = {own_room(folder): floor_of(folder) for folder in ALLOWED}
        self.assertEqual(
            [f for f in ALLOWED if floor_of(f) is None and not f.startswith("firmware/")], []
        )
        back = [
            f"{folder} may include {room}, which is on a higher floor"
            for folder, rooms in ALLOWED.items()
            if not folder.startswith("firmware/")
            for room in rooms
            if floors[room] > floor_of(folder)
        ]
        self.assertEqual(back, [])

    def test_a_header_of_another_folder_is_named_with_its_folder(self):
        """Otherwise the rules above do not apply to it. What stands beside its user, or is
        generated for it, needs no folder; blocks/python belongs to blocks/lib."""
        generated = {"switch_table_values.h"}
        wrong = [
            f"{path.relative_to(TOP)} includes {name}"
            for folder in ALLOWED
            if not folder.startswith("firmware/")
            for path in sources(folder)
            for name in re.findall(r'^\s*#include "([^"/]+)"', path.read_text(), re.M)
            if name not in generated
            and not any((at / name).exists() for at in (path.parent, TOP / "blocks/lib"))
        ]
        self.assertEqual(wrong, [])

    def test_every_source_is_in_a_room_with_a_rule(self):
        lost = [
            str(path.relative_to(TOP))
            for top in (*TOPS, "firmware")
            for path in sources(top)
            if not any(path.is_relative_to(TOP / folder) for folder in ALLOWED)
        ]
        self.assertEqual(lost, [])

    def test_the_rules_have_no_circle(self):
        before = {
            own_room(folder): {r for r in rooms if r != own_room(folder)}
            for folder, rooms in ALLOWED.items()
        }
        done = set()
        while len(done) < len(before):
            free = [
                room
                for room, needs in before.items()
                if room not in done and needs & set(before) <= done
            ]
            self.assertTrue(free, f"a circle among {sorted(set(before) - done)}")
            done |= set(free)

    def test_pure_layers_touch_no_clock_thread_socket_or_gnu_radio(self):
        wrong = []
        for folder in PURE:
            for path in sources(folder):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    if IMPURE.search(line.split("//")[0]):
                        wrong.append(f"{path.relative_to(TOP)}:{number}: {line.strip()}")
        self.assertEqual(wrong, [])

    def test_what_is_thrown_says_whose_failure_it_is(self):
        """types/failure.h: bad_input, machine_error, peer_error, from which exit codes follow;
        tests and tools throw what they like."""
        wrong = [
            f"{path.relative_to(TOP)}: {line.strip()}"
            for folder in ALLOWED
            for path in sources(folder)
            for line in path.read_text().splitlines()
            if re.search(
                r"throw (std::)?(runtime_error|system_error|exception|range_error)\b|class \w+"
                r" (final )?: public std::\w*(error|exception)\b",
                line,
            )
        ]
        self.assertEqual(
            wrong,
            [
                f"blocks/types/failure.h: class {kind} : public std::runtime_error {{"
                for kind in ("bad_input", "machine_error", "peer_error")
            ],
        )

    def test_nothing_is_used_that_one_of_the_releases_lacks(self):
        """Finds code that does not compile on Ubuntu 22.04 (protobuf 3.12: first two) or 24.04 (GNU
        Radio's logger wants a literal, which 22.04's cannot take; its macros do both).
        tests/bench/fresh_machine.py tries all of it."""
        lacking = re.compile(r"\)->Assign\(|\brequest\.has_(stop|configure_yaml)\(|\bd_logger->")
        self.assertEqual(
            [
                f"{path.relative_to(TOP)}: {line.strip()}"
                for folder in ALLOWED
                for path in sources(folder)
                for line in path.read_text().splitlines()
                if lacking.search(line)
            ],
            [],
        )

    def test_clang_14_compiles_it(self):
        """The compiler of the fuzz targets in Debian 12 (docs/how-to/develop.md): with libstdc++ 12 it has
        no std::ranges::subrange, which these return."""
        lacking = re.compile(
            r"std::(views::|ranges::(unique|remove|remove_if|rotate|partition|stable_partition|equal_range|search|search_n|find_end|subrange)\b)"
        )
        self.assertEqual(
            [
                f"{path.relative_to(TOP)}: {line.strip()}"
                for folder in ALLOWED
                for path in sources(folder)
                for line in path.read_text().splitlines()
                if lacking.search(line)
            ],
            [],
        )

    def test_nothing_includes_tests(self):
        for folder in ALLOWED:
            for path in sources(folder):
                self.assertNotIn('#include "tests/', path.read_text(), path)

    def test_every_source_names_its_licence(self):
        listed = subprocess.run(["git", "-C", TOP, "ls-files"], capture_output=True, text=True)
        if listed.returncode != 0:
            self.skipTest("not a git checkout")
        missing = [
            name
            for name in listed.stdout.split()
            if name.endswith((".h", ".cpp", ".cc", ".py", ".proto", ".cmake", ".sh"))
            and (TOP / name).exists()
            and "SPDX-License-Identifier" not in (TOP / name).read_text()[:400]
        ]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
