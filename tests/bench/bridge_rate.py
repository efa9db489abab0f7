#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The packet rate of ./openwip bridge (docs/results/wlan.md): datagrams as fast as one socket sends
them, from the wired side to the mobile one; packets a second, and the bridge's processor time for
each. `python3 tests/bench/bridge_rate.py [SECONDS]`, as root."""

import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("openwip-rate-a", "openwip-rate-b")
SIZES = (64, 576, 1500)  # bytes of the IP packets
HEADERS = 28  # bytes of IPv4 and UDP
SEND = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("10.42.0.2", 5000))
end, data, n = time.monotonic() + float(sys.argv[2]), bytes(int(sys.argv[1])), 0
while time.monotonic() < end:
    for _ in range(100):
        s.send(data)
    n += 100
print(n)
"""
RECEIVE = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)      # SO_RCVBUFFORCE
s.bind(("10.42.0.2", 5000))
s.settimeout(20)
print("listens", flush=True)
s.recv(2000)
s.settimeout(1)
n = 1
try:
    while True:
        s.recv(2000)
        n += 1
except socket.timeout:
    print(n)
"""


def inside(name, code, *arguments):
    return subprocess.Popen(
        ["ip", "netns", "exec", name, sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )


def cpu_s(pid):
    """The processor time of user and kernel."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(bridge, seconds):
    bridge.stdout.readline()
    pid = int(subprocess.check_output(["pgrep", "-P", str(bridge.pid)], text=True))
    print(" bytes   sent/s  came/s    lost  us of processor time a packet")
    for size in SIZES:
        receiver = inside(NAMES[1], RECEIVE)
        receiver.stdout.readline()
        before = cpu_s(pid)
        sent = int(inside(NAMES[0], SEND, size - HEADERS, seconds).communicate()[0])
        came = int(receiver.communicate()[0])
        print(
            f"{size:6}  {sent / seconds:7.0f}  {came / seconds:6.0f} "
            f" {100 * (1 - came / sent):4.1f} %  {1e6 * (cpu_s(pid) - before) / came:5.1f}",
            flush=True,
        )


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    for name in NAMES:
        subprocess.run(["ip", "netns", "add", name], check=True)
    bridge = subprocess.Popen(
        [TOP / "openwip", "bridge", *NAMES, "--delay-injection", "adaptive"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENWIP_NO_BUILD": "1"},
    )
    try:
        measure(bridge, seconds)
    finally:
        bridge.kill()
        bridge.wait()
        for name in NAMES:
            subprocess.run(["ip", "netns", "delete", name], check=False)


if __name__ == "__main__":
    main()
