# SPDX-License-Identifier: GPL-3.0-or-later
"""Scripted publishers, wip_capture, and what capinfos and tshark say of its file."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import zmq

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from tshark_with_lua import TSHARK

TOP = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
DISSECTOR = TOP / "host/capture/wireshark/openwip.lua"
TOOLS = ("tshark", "capinfos")
MISSING = [t for t in TOOLS if shutil.which(t) is None]
START_NS = 1_700_000_000_123_456_789


# Skips a test or a class without the readers of its files, which check the capture.
with_tools = unittest.skipIf(
    MISSING, f"{', '.join(MISSING)} not installed: run ./openwip setup (package tshark)"
)


class Publishers:
    """PUB sockets of a base station and a terminal."""

    def __init__(self, folder):
        self.context = zmq.Context()
        self.sockets = {}
        for station in ("base", "terminal"):
            socket = self.context.socket(zmq.XPUB)
            socket.sndhwm = 0
            socket.linger = 2000
            socket.bind(self.endpoint(folder, station))
            self.sockets[station] = socket

    @staticmethod
    def endpoint(folder, station):
        return f"ipc://{folder}/{station}.telemetry"

    def wait_for_reader(self, topics=3):
        """Waits until both sockets have their subscriptions."""
        for socket in self.sockets.values():
            for _ in range(topics):
                if not socket.poll(10000):
                    raise AssertionError("nobody subscribed")
                socket.recv()

    def publish(self, station, topic, message):
        self.sockets[station].send_multipart([topic.encode(), message.SerializeToString()])

    def close(self, linger_ms=2000):
        self.context.destroy(linger=linger_ms)


def start(folder, *arguments, **kwargs):
    return subprocess.Popen(
        [
            BUILD / "host/capture/wip_capture",
            "--base",
            Publishers.endpoint(folder, "base"),
            "--terminal",
            Publishers.endpoint(folder, "terminal"),
            "--start-ns",
            str(START_NS),
            *map(str, arguments),
        ],
        stderr=subprocess.PIPE,
        text=True,
        **kwargs,
    )


def ended(process, timeout=30):
    """(exit code, what it said); a process that hangs is killed and fails the test."""
    try:
        _, output = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, output


def capture(cell, folder, *arguments, topics=3):
    """(file, standard error of wip_capture): captures the telemetry of a scripted cell."""
    file = pathlib.Path(folder, "capture.pcapng")
    process = start(folder, "-o", file, *arguments)
    publishers = Publishers(folder)
    try:
        publishers.wait_for_reader(topics)
        cell.send(publishers.publish)
    finally:
        publishers.close(60_000)  # the cell ends, when all has been read: so does the capture
    code, output = ended(process)
    if code != 0:
        raise AssertionError(f"wip_capture ended with {code}: {output}")
    return file, output


def tool(*argv, check=True):
    done = subprocess.run(
        [str(a) for a in argv],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"LC_ALL": "C.UTF-8"},
    )
    output = "\n".join(
        line for line in done.stderr.splitlines() if "could be dangerous" not in line
    )
    if check and (done.returncode != 0 or output):
        raise AssertionError(
            f"{argv[0]} ended with {done.returncode}: {output}\n{done.stdout[-1000:]}"
        )
    return done.stdout


def tshark(file, *arguments, two_pass=True):
    return tool(
        *TSHARK,
        "-n",
        "-X",
        f"lua_script:{DISSECTOR}",
        *(["-2"] if two_pass else []),
        "-r",
        file,
        *arguments,
    )


def with_extcap(folder, argv):
    """The command line with `folder` as Wireshark's extcap folder. As root Wireshark takes none
    from the
    environment: then it is mounted over the machine's, for this command alone."""
    if os.geteuid() != 0:
        return ["env", f"WIRESHARK_EXTCAP_DIR={folder}", *argv]
    lines = tool("tshark", "-G", "folders").splitlines()
    # 4.0, 4.4
    place = next(
        line.split(":", 1)[1].strip()
        for line in lines
        if line.startswith(("Extcap path", "Global Extcap path"))
    )
    return [
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount --bind "$0" "$1" && shift && exec "$@"',
        str(folder),
        place,
        *argv,
    ]


def fields(file, names, display_filter=None, two_pass=True):
    """One {name: [values]} for each packet."""
    flags = [x for name in names for x in ("-e", name)]
    text = tshark(
        file,
        "-T",
        "fields",
        "-E",
        "separator=|",
        "-E",
        "occurrence=a",
        "-E",
        "aggregator=;",
        *flags,
        *(["-Y", display_filter] if display_filter else []),
        two_pass=two_pass,
    )
    return [
        {n: v.split(";") if v else [] for n, v in zip(names, line.split("|"))}
        for line in text.splitlines()
    ]


def decoded(file, display_filter):
    """The layers of each packet, as tshark's JSON has them."""
    return [
        p["_source"]["layers"] for p in json.loads(tshark(file, "-T", "json", "-Y", display_filter))
    ]
