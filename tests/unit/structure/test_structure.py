# SPDX-License-Identifier: GPL-3.0-or-later
"""The allowed directions between folders, and the purity of the layers that never touch a clock."""
import pathlib
import re
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]

# Include path prefix -> layer. Every layer lists the layers that it may include.
LAYER_OF_PREFIX = {
    "types": "types", "phy": "phy", "port": "port", "wire": "wire", "rlc": "rlc", "link": "link",
    "schema": "schema", "sample": "sample", "bin": "bin", "packet": "packet",
    "profiles": "profiles",
    "air": "channels", "vusrp": "channels",
    "wip": "blocks", "peer": "peer", "runtime": "runtime", "config": "host", "tun": "host", "app": "host", "trace": "host",
    "emulator": "host", "observer": "host",
    "channel": "host", "tcpl": "host", "capture": "host", "gui": "gui",
}
ALLOWED = {
    "blocks/types": {"types"},
    "blocks/phy": {"types", "phy"},
    "blocks/include": {"types", "phy", "blocks"},
    "blocks/lib": {"types", "phy", "port", "schema", "sample", "profiles", "peer", "blocks"},
    "blocks/python": {"types", "phy", "port", "schema", "blocks"},
    "mac/port": {"types", "port"},
    "mac/wire": {"types", "wire"},
    "mac/rlc": {"types", "wire", "rlc"},
    "mac/link": {"types", "wire", "rlc", "link", "port"},
    "channels/sample": {"types", "sample"},
    # The symbol channel detects with the receiver's constellations and computes with the link's error rates.
    "channels/bin": {"types", "phy", "port", "link", "sample", "bin"},
    "channels/packet": {"types", "sample", "packet"},
    "channels/profiles": {"types", "sample", "profiles"},
    "channels/air": {"types", "schema", "sample", "profiles", "runtime", "channels"},
    "channels/vusrp": {"types", "channels"},
    "host": {"types", "port", "wire", "rlc", "link", "schema", "sample", "bin", "packet", "profiles",
             "channels", "peer", "runtime", "host"},
    # Lines of messages between processes, for flowgraphs and host alike.
    "host/peer": {"peer"},
    # What programs ask of the scheduler: the medium too.
    "host/runtime": {"runtime"},
    # A reader of what every process publishes, and of nothing else: it runs on another machine as well.
    "host/gui": {"schema", "gui"},
    # One more than the rest of host: it runs the receiver's predictor over a bin-level channel (--predictor).
    "host/channel": {"types", "phy", "link", "sample", "bin", "profiles", "host"},
}
PURE = ("blocks/types", "blocks/phy", "mac/port", "mac/wire", "mac/rlc", "mac/link",
        "channels/sample", "channels/bin", "channels/packet")
IMPURE = re.compile(r"steady_clock|system_clock|random_device|std::rand\b|gettimeofday|"
                    r"clock_gettime|std::thread|std::jthread|\bsocket\(|#include <zmq|"
                    r"#include <gnuradio/|#include <uhd/")
INCLUDE = re.compile(r'^\s*#include "([^"/]+)/', re.M)


def sources(folder):
    for path in sorted((TOP / folder).rglob("*")):
        if path.suffix in (".h", ".cpp", ".cc", ".hpp"):
            yield path


class Structure(unittest.TestCase):
    def test_includes_follow_the_allowed_directions(self):
        wrong, seen = [], 0
        for folder, allowed in ALLOWED.items():
            own = [other for other in ALLOWED if other.startswith(folder + "/")]
            for path in sources(folder):
                if any(path.is_relative_to(TOP / other) for other in own):
                    continue    # judged by the rule of its own folder
                seen += 1
                for prefix in INCLUDE.findall(path.read_text()):
                    layer = LAYER_OF_PREFIX.get(prefix)
                    if layer is not None and layer not in allowed:
                        wrong.append(f"{path.relative_to(TOP)} includes {prefix}/")
        self.assertGreater(seen, 20)
        self.assertEqual(wrong, [])

    def test_pure_layers_touch_no_clock_thread_socket_or_gnu_radio(self):
        wrong = []
        for folder in PURE:
            for path in sources(folder):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    if IMPURE.search(line.split("//")[0]):
                        wrong.append(f"{path.relative_to(TOP)}:{number}: {line.strip()}")
        self.assertEqual(wrong, [])

    def test_nothing_includes_tests(self):
        for folder in ALLOWED:
            for path in sources(folder):
                self.assertNotIn('#include "tests/', path.read_text(), path)

    def test_every_source_names_its_licence(self):
        listed = subprocess.run(["git", "-C", TOP, "ls-files"], capture_output=True, text=True)
        if listed.returncode != 0:
            self.skipTest("not a git checkout")
        missing = [name for name in listed.stdout.split()
                   if name.endswith((".h", ".cpp", ".cc", ".py", ".proto", ".cmake"))
                   and (TOP / name).exists()
                   and "SPDX-License-Identifier" not in (TOP / name).read_text()[:400]]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
