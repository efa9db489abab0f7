# SPDX-License-Identifier: GPL-3.0-or-later
"""gqrx, unmodified, on the software USRP as each product: on a screen of its own, with a sound card
that plays nowhere, asked over its remote control. Its signal meter shows the noise of the medium."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

PRODUCTS = {
    "b210": "product=b210,num_recv_frames=256",
    "x310": "product=x310,master_clock_rate=184.32e6",
    "n310": "product=n310,master_clock_rate=122.88e6",
    "e320": "product=e320,master_clock_rate=30.72e6",
}
NEEDED = ("gqrx", "pulseaudio", "xvfb-run")
MISSING = [name for name in NEEDED if not shutil.which(name)]
START_S, LOOKS = 120, 12


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Receiver:
    """gqrx with these device arguments."""

    def __init__(self, folder, arguments):
        self.folder, self.port = folder, free_port()
        config = folder / "gqrx.conf"
        config.write_text(
            "[General]\nconfigversion=3\ncrashed=false\n"
            f'[input]\ndevice="uhd,type=vusrp,speed=0.1,ppm=0,{arguments}"\n'
            "sample_rate=7680000\nfrequency=1800000000\nbandwidth=20000000\n"
            f"[remote_control]\nenabled=true\nport={self.port}\n"
            "allowed_hosts=127.0.0.1, ::ffff:127.0.0.1\n"
        )
        sound = folder / "sound"
        environment = os.environ | {
            "HOME": str(folder),
            "XDG_RUNTIME_DIR": str(folder),
            "PULSE_SERVER": f"unix:{sound}",
        }
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment}
        module = f"module-native-protocol-unix socket={sound} auth-anonymous=1"
        self.processes = [
            subprocess.Popen(
                [
                    *("pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1"),
                    *("--use-pid-file=no", "-L", f"{module} auth-cookie-enabled=0"),
                    *("-L", "module-null-sink"),
                ],
                **quiet,
            )
        ]
        deadline = time.monotonic() + START_S
        while not sound.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.processes.append(
            subprocess.Popen(
                ["xvfb-run", "-a", "gqrx", "-c", config], start_new_session=True, **quiet
            )
        )
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    self.close()
                    raise AssertionError("gqrx does not answer") from None
                time.sleep(0.3)

    def ask(self, question):
        with socket.create_connection(("127.0.0.1", self.port), 5) as s:
            s.sendall(question.encode() + b"\n")
            return s.makefile().readline().strip()

    def strength(self):
        """dBFS in its channel, the mean of some looks; it has samples once it says anything."""
        found = []
        for _ in range(10 * LOOKS):
            value = float(self.ask("l STRENGTH"))
            if -190 < value < 0:
                found.append(value)
            if len(found) == LOOKS:
                return sum(found) / LOOKS
            time.sleep(0.2)
        raise AssertionError(f"gqrx shows no signal: {found}")

    def close(self):
        for process in reversed(self.processes):
            # xvfb-run is a script; its gqrx and its X server have to end with it
            if process.args[0] == "xvfb-run":
                os.killpg(process.pid, signal.SIGTERM)
            else:
                process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@unittest.skipIf(MISSING, f"not installed: {', '.join(MISSING)}")
class Gqrx(unittest.TestCase):
    def shown(self, product, noise_dbfs):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            receiver = Receiver(
                pathlib.Path(folder), f"{PRODUCTS[product]},faults=0,noise_dbfs={noise_dbfs}"
            )
            try:
                self.assertEqual(float(receiver.ask("f")), 1.8e9)
                self.assertEqual(receiver.ask("M AM 10000"), "RPRT 0")
                self.assertEqual(receiver.ask("U DSP 1"), "RPRT 0")
                return receiver.strength()
            finally:
                receiver.close()

    def test_its_meter_follows_the_noise_of_the_medium(self):
        """Without the DC offset of a receiver, which it shows else."""
        found = {product: self.shown(product, -60) for product in PRODUCTS}
        for product, low in found.items():
            # the level in some kHz of the 7.68 MHz, at the gain with which gqrx starts
            with self.subTest(product=product):
                self.assertLess(low, -40, found)
        self.assertAlmostEqual(self.shown("b210", -40) - found["b210"], 20, delta=3)


if __name__ == "__main__":
    unittest.main()
