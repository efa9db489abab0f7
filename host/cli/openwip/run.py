# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs as a function call: the command line of ./openwip, and its report."""

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from openwip_cli.errors import INVALID, VALID, BadInput, Stop, not_valid
from openwip_cli.machine import places

REPORTING = ("demo", "emulate")  # the commands whose --json is the report of a run


class RunFailed(Stop):
    """A run that has no report: str() is the error of the command, `code` is its exit code (2: an
    option or a file is wrong; 3: a process of the cell died; 130: interrupted)."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def option_words(options: dict[str, Any]) -> list[str]:
    """snr=20, generator=True, keep=False -> --snr 20 --generator: an underscore is a dash, True is
    an option without a value, False and None are no option, a list is several values. A mapping is
    an option that is repeated: sysctl={"a": 1, "b": 2} -> --sysctl a=1 --sysctl b=2."""
    words: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        if isinstance(value, Mapping):
            for key, one in value.items():
                words += ["--" + name.replace("_", "-"), f"{key}={one}"]
            continue
        words.append("--" + name.replace("_", "-"))
        if isinstance(value, Sequence) and not isinstance(value, str):
            words += map(str, value)
        elif value is not True:
            words.append(str(value))
    return words


def run(command: str = "emulate", **options: Any) -> dict[str, Any]:
    """Runs a cell from its start to its verdict and returns the report (docs/reference/demo.md).

    command  "emulate" (the link, in one process) or "demo" (software USRPs)
    options  those of the command line, named as there with "_" for "-": duration=5 (s of air
             time), snr=20 (dB), bins=25, config="cell.yaml", generator=True, record="run.h5",
             time="virtual", sysctl={"net.ipv4.tcp_sack": 0}, ...

    In the report `verdict` says whether the run is valid and why not; an invalid run is returned
    as well. Keys end in their units (goodput_bps, rtt_ms). A cell with interfaces needs root;
    emulate with generator=True, time="virtual" or time="ns3" does not.

    Raises RunFailed: the command ended without a report. OpenWipError: the command is unknown."""
    if command not in REPORTING:
        raise not_valid("command", repr(command), ", ".join(REPORTING))
    if "json" in options:
        raise BadInput(
            "json is given, but run() returns the report as a dictionary anyway; valid: no"
            " argument json"
        )
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run(
            [launcher(), command, *option_words(options), f"--json={report}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
        if done.returncode not in (VALID, INVALID) or not report.exists():
            last = done.stderr.strip().rpartition("\n")[2].removeprefix("openwip: ")
            raise RunFailed(last or f"openwip {command} ended without a report", done.returncode)
        return dict(json.loads(report.read_text()))


def launcher() -> str:
    """Path of ./openwip, of the tree or the installation that this package belongs to."""
    path = places.default().top / "openwip"
    if not os.access(path, os.X_OK):
        raise BadInput(f"there is no launcher at {path}: set OPENWIP_TOP to the tree of OpenWIP")
    return str(path)
