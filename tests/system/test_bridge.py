# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip bridge: two namespaces that were there before, joined; what it refuses; what a kill leaves: nothing."""
import os
import pathlib
import signal
import subprocess
import sys
import unittest

from demo_support import wait_until
from openwip_cli.commands import bridge
from openwip_cli.errors import BadInput

NAMES = ("openwip-br-a", "openwip-br-b")
PRIVILEGED = os.geteuid() == 0 and os.path.exists("/dev/net/tun")


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


class Refusals(unittest.TestCase):
    def test_what_is_wrong_is_named(self):
        for arguments, words in ((["a", "a"], "namespace a is named twice"), (["a"], "terminal"),
                                 (["a", "b", "--addresses", "10.0.0.1", "10.0.0.2/30"], "address '10.0.0.1'; valid: an IPv4"),
                                 (["a", "b", "--delay-injection", "some"], "--delay-injection is 'some'; valid: off.static")):
            with self.subTest(arguments), self.assertRaisesRegex(BadInput, words):
                bridge.parse(arguments)
        with self.assertRaisesRegex(BadInput, "namespace '../x' is not there"):
            bridge.check_namespace("../x")

    def test_what_is_not_roots_is_not_entered(self):
        class Theirs(type(pathlib.Path())):
            def stat(self, **_):
                return os.stat_result((0o100444, 0, 0, 1, 1000, 1000, 0, 0, 0, 0))
            exists = lambda self: True      # noqa: E731
        before, bridge.NETNS = bridge.NETNS, Theirs("/run/netns")
        self.addCleanup(setattr, bridge, "NETNS", before)
        with self.assertRaisesRegex(BadInput, "is not root's"):
            bridge.check_namespace("theirs")


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class Live(unittest.TestCase):
    def setUp(self):
        for name in NAMES:
            ip("netns", "delete", name)
            self.assertEqual(ip("netns", "add", name).returncode, 0)
            self.addCleanup(ip, "netns", "delete", name)

    def interfaces(self):
        return [ip("-n", name, "link", "show", "wip0").returncode == 0 for name in NAMES]

    def test_packets_pass_settings_change_and_a_kill_leaves_nothing(self):
        process = subprocess.Popen([sys.executable, "-m", "openwip_cli", "bridge", *NAMES, "--wired-delay-ms", "5",
                                    "--delay-injection", "adaptive"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertIn("10.42.0.2/30 in openwip-br-b", process.stdout.readline())
        ping = ["netns", "exec", NAMES[0], "ping", "-n", "-q", "-c", "3", "-i", "0.05", "-W", "10", "10.42.0.2"]
        self.assertEqual(ip(*ping).returncode, 0)
        for line, answer in (("delay_injection.mode=static", "delay_injection.mode = static"),
                             ("delay_injection.mode=x", "valid: off|static|adaptive"), ("wired.delay_ms=1", "wired.delay_ms")):
            process.stdin.write(line + "\n")
            process.stdin.flush()
            self.assertIn(answer, process.stdout.readline())
        self.assertEqual(ip(*ping).returncode, 0)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertTrue(wait_until(lambda: self.interfaces() == [False, False], 10))


if __name__ == "__main__":
    unittest.main()
