# SPDX-License-Identifier: GPL-3.0-or-later
"""A real browser in a namespace behind the terminal loads pages of a server behind the gateway, over
a fading link: IPv4 and IPv6, an MTU of 576, 1500 and 9000 bytes. Left out where no Chromium is."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from demo_support import wait_until
from emulate_support import PRIVILEGED
from openwip_cli.ratings import browser
from outside_support import CELL, HOST, LAN, NET, Computer, Tap, openwip, sh

CHROMIUM = browser.find()
FADING = (
    *("emulate", "--name", CELL, "--duration", "1", "--channel", "jakes", "--snr", "18"),
    *("--speed-kmh", "30", "--pacing-limit-ms", "10000", "--keep", "--gateway"),
    *("--attach", f"terminal=netns:{LAN}"),
)
SERVER4, SERVER6 = "192.0.2.1", "2001:db8::1"
BYTES = 120_000


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
@unittest.skipUnless(CHROMIUM, "no Chromium is installed (Debian package chromium)")
class Pages(Computer, unittest.TestCase):
    def serve(self):
        """A page that shows how much of its script has come, and of what family its request was."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.profile = pathlib.Path(folder.name, "profile")
        pages = pathlib.Path(folder.name, "pages")
        pages.mkdir()
        (pages / "index.html").write_text(
            "<!doctype html><p id=told>nothing</p><script src=data.js></script>"
            "<script>document.getElementById('told').textContent ="
            " 'came ' + data.length + ' from ' + location.hostname</script>"
        )
        (pages / "data.js").write_text(f"const data = '{'x' * BYTES}';\n")
        server = subprocess.Popen(
            [
                *("ip", "netns", "exec", NET, sys.executable, "-m", "http.server"),
                *("-d", str(pages), "--bind", "::", "8000"),  # IPv4 as well
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertTrue(
            wait_until(lambda: ":8000" in sh("ss", "-Htln", inside=NET), 20), "no server"
        )

    def dual_stack(self, mtu):
        """The computer has IPv6, and forwards it already."""
        for name in (HOST, NET):
            sh("ip", "-n", name, "link", "set", "eth0", "mtu", str(mtu))
        sh("ip", "-n", NET, "address", "add", f"{SERVER6}/64", "dev", "eth0", "nodad")
        sh("ip", "-n", HOST, "address", "add", "2001:db8::2/64", "dev", "eth0", "nodad")
        sh("ip", "-n", HOST, "route", "add", "default", "via", SERVER6)
        sh("sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1", inside=HOST)
        self.before = self.state()

    def load(self, address):
        """The text of the page once it is complete."""
        done = subprocess.run(
            [
                *("ip", "netns", "exec", LAN, CHROMIUM, "--headless", "--no-sandbox"),
                *("--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update"),
                *(f"--user-data-dir={self.profile}", "--dump-dom", f"http://{address}:8000/"),
            ],
            capture_output=True,
            text=True,
            timeout=240,
            env=os.environ | {"HOME": str(self.profile.parent)},
        )
        return done.stdout + done.stderr[-2000:] * ("came" not in done.stdout)

    def check(self, mtu, ipv6):
        if ipv6:
            self.dual_stack(max(1500, mtu))
        self.serve()
        options = ["--mtu", str(mtu), *(("--ipv6", "on") if ipv6 else ())]
        code, out, err = openwip(*FADING, *options, inside=HOST, timeout=240)
        self.assertIn(code, (0, 1), out + err)  # the pace of a busy computer is not the question
        tap = Tap(f"owip-{CELL}-terminal")
        for host, name in (
            (SERVER4, SERVER4),
            *(((f"[{SERVER6}]", f"[{SERVER6}]"),) if ipv6 else ()),
        ):
            self.assertIn(f"came {BYTES} from {name}", self.load(host))
        sizes = [len(p) for p in tap.packets()[1]]
        self.assertLessEqual(max(sizes), mtu)
        self.assertGreater(max(sizes), 0.8 * min(mtu, 9000))
        code, out, err = openwip("down", "--name", CELL, inside=HOST)
        self.assertEqual(code, 0, out + err)
        self.expect_nothing_left()

    def test_an_mtu_of_576_which_ipv6_does_not_have(self):
        self.check(576, ipv6=False)

    def test_an_mtu_of_1500(self):
        self.check(1500, ipv6=True)

    def test_an_mtu_of_9000(self):
        self.check(9000, ipv6=True)


if __name__ == "__main__":
    unittest.main()
