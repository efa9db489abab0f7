# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip capture: IP and link frames of a running cell as pcapng (docs/how-to/captures.md). The
work is done by wip_capture (host/capture); this module collects its arguments from the cell."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..cell.cell import Cell
from ..cell.running import running_cell
from ..errors import BadInput, how_ended, not_valid
from ..figures import report
from ..machine import outputs, system
from ..machine.places import Places, operand, version
from ..messages import control
from ..settings.command_line import OUTPUT, Parser
from ..settings.kinds import Integer, Real
from ..shapes import Verdict
from ..text import of_yaml, to_yaml
from . import wireshark

PROGRAM = "host/capture/wip_capture"
ONLY = ("ip", "frames")
FORMATS = ("pcapng", "pcap")
END_PATIENCE_S = 10


def add_limits(p: Parser) -> None:
    p.value(
        "--duration",
        Real(0.001, 1e6),
        was="--seconds",
        metavar="S",
        help="end after this time in seconds, counted in samples of the radio",
    )
    p.value(
        "--count",
        Integer(1, 1 << 40),
        metavar="N",
        help="end after this number of packets and frames",
    )
    p.add_argument(
        "--only",
        metavar="ip|frames",
        help="capture only IP packets at the TUN interfaces, or only link frames (default both)",
    )
    p.value(
        "--snap",
        Integer(64, 65535),
        metavar="N",
        help="number of bytes of each packet to keep, 64..65535 (default all)",
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    p = Parser(
        "capture",
        "Captures the IP packets at the TUN interfaces of both stations and the link frames of a"
        " running cell, as pcapng for Wireshark.",
        "demo",
    )
    p.add_argument(
        "-o",
        dest="file",
        names=OUTPUT,
        metavar="FILE|-",
        help="file to write, or - for standard output (default CELL.pcapng, or CELL.pcap)",
    )
    add_limits(p)
    p.add_argument(
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        help=(
            "pcap: for readers that take one link type in a file, such as tcpdump; only with --only"
            " (default pcapng)"
        ),
    )
    p.add_argument(
        "--install-wireshark",
        action="store_true",
        help=(
            "install the dissector of OpenWIP's link frames, its capture interfaces and its"
            " profile in Wireshark's folders"
        ),
    )
    p.add_argument(
        "--uninstall",
        action="store_true",
        help="remove from Wireshark's folders what --install-wireshark has put there",
    )
    given = p.parse_args(arguments)
    if given.install_wireshark and given.uninstall:
        raise BadInput("--install-wireshark is given with --uninstall; valid: one of the two")
    check_only(given.only)
    if given.format == "pcap" and given.only is None:
        raise BadInput(
            "--format is pcap without --only, and a pcap file holds packets of one link type;"
            " valid: --only ip, or --only frames"
        )
    return given


def check_only(only: str | None) -> None:
    if only is not None and only not in ONLY:
        raise not_valid("--only", repr(only), ", ".join(ONLY))


def limits(given: argparse.Namespace) -> list[str]:
    """The options of wip_capture that are the user's."""
    return [
        word
        for flag in ("seconds", "count", "only", "snap")
        if getattr(given, flag) is not None
        for word in (f"--{flag}", f"{getattr(given, flag)}")
    ]


def endpoints(cell: Cell, terminals: int) -> list[str]:
    replay = cell.replay
    first = (
        ["--base", cell.endpoint("base.telemetry")]
        if replay is None
        else ["--start-ns", str(replay["start_ns"])]
        if replay["start_ns"] is not None
        else []
    )
    return [
        *first,
        "--terminal",
        cell.endpoint("terminal.telemetry"),
        "--keeper",
        cell.endpoint("keeper.telemetry"),
        "--terminals",
        str(terminals),
        *(["--user", system.account()[0]] if os.geteuid() == 0 else []),
    ]


def pdus(configuration: dict[str, Any] | None) -> list[str]:
    """The options of wip_capture for a cell with this link (its emulator's configuration): its
    frames are PDUs of UMTS."""
    return ["--pdus"] if ((configuration or {}).get("link") or {}).get("kind") == "umts" else []


def comments(cell: Cell, places: Places, configurations: list[tuple[str, str]]) -> list[str]:
    """The comments of the capture's section: what was captured."""
    texts = [
        f"cell '{cell.name}', OpenWIP {version(places.top)}",
        *(f"{name}:\n{text.rstrip()}" for name, text in configurations),
    ]
    return [word for text in texts for word in ("--comment", text)]


def arguments_of(cell: Cell, given: argparse.Namespace, file: str, places: Places) -> list[str]:
    """The command line of wip_capture for a cell that runs."""
    namespaces = cell.state.get("namespaces", [])
    configurations = [(f.name, f.read_text()) for f in sorted(cell.run.glob("*.yaml"))]
    terminals, live = len(namespaces), []
    if cell.replay is None:
        try:
            air = control.Control(cell.endpoint("air.control")).status(2.0)
        except control.NoAnswer:
            raise BadInput(
                f"cell '{cell.name}' is up, but its medium does not answer yet; try again"
            ) from None
        terminals, emulator = max(1, terminals - 1), dict(configurations).get("emulator.yaml")
        live = [
            *(pdus(of_yaml(emulator)) if emulator else []),
            "--start-ns",
            str(time.time_ns() - round(air.wall_seconds * 1e9)),
        ]
    return [
        places.program(PROGRAM),
        "-o",
        operand(file),
        *endpoints(cell, terminals),
        *live,
        *comments(cell, places, configurations),
        *limits(given),
        *["--pcap"] * (getattr(given, "format", None) == "pcap"),
    ]


def main(arguments: list[str], places: Places) -> int:
    if arguments[:1] == ["plot"]:
        from . import plot

        return plot.main(arguments[1:])
    given = parse(arguments)
    if given.install_wireshark or given.uninstall:
        return (
            wireshark.install(places.top)
            if given.install_wireshark
            else wireshark.uninstall(places.top)
        )
    file = given.file or f"{given.name}.{given.format}"
    if file != "-":
        file = outputs.checked("-o", file)
    argv = arguments_of(running_cell(given.name), given, file, places)
    sys.stderr.flush()
    os.execv(argv[0], argv)


# --- the capture of a whole run (demo --capture, emulate --capture) ---


def last_words(verdict: Verdict | None) -> str:
    """The result of the run, for --end-file: the verdict (None: there is none) and the cause of its
    end; a line each, whatever a reason holds (a failed program's output is quoted whole)."""
    if verdict is None:
        return "\nthe run was broken off\n"
    words = ": ".join(filter(None, [report.verdict_word(verdict), "; ".join(verdict["reasons"])]))
    return f"verdict: {' '.join(words.split())}\nthe run has ended\n"


class Recording:
    """A capture that is started before the stations, so that it misses nothing. Its failure is
    reported, and is no reason for the run to end."""

    def __init__(
        self,
        cell: Cell,
        file: str,
        configuration: dict[str, Any],
        speed: float,
        places: Places,
        progress: Callable[[str], None],
    ) -> None:
        self.progress, self.file = progress, file
        self.not_written: str | None = None  # why the file does not have all of the run
        # unnamed, so that a kill leaves no file behind
        self.last_words = tempfile.TemporaryFile("w")
        self.stderr_file = tempfile.TemporaryFile("w+")
        self.process: subprocess.Popen[bytes] | None = subprocess.Popen(
            [
                places.program(PROGRAM),
                "-o",
                operand(file),
                *endpoints(cell, len(cell.terminals)),
                "--speed",
                f"{speed:g}",
                "--wait",
                "120",
                "--end-file",
                f"/proc/self/fd/{self.last_words.fileno()}",
                *pdus(configuration),
                *comments(cell, places, [("configuration", to_yaml(configuration))]),
            ],
            stdin=subprocess.DEVNULL,
            stderr=self.stderr_file,
            pass_fds=[self.last_words.fileno()],
            preexec_fn=system.follower(),
        )

    def end(self, verdict: Verdict | None = None) -> None:
        """Ends the capture; call it before the cell ends, with the verdict. A second call does
        nothing."""
        if self.process is None:
            return
        if self.process.poll() is None:  # still running: we end it
            self.last_words.write(last_words(verdict))
            self.last_words.flush()
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            # Root without CAP_KILL may not end it.
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait(1)
        code, self.process = self.process.returncode, None
        self.stderr_file.seek(0)
        lines = [line.removeprefix("openwip ") for line in self.stderr_file.read().splitlines()]
        for line in lines:
            self.progress(line)
        if code != 0:
            how = (
                f"{PROGRAM} cannot be ended"
                if code is None
                else (
                    how_ended(code)
                    if code < 0 or not lines
                    else lines[-1].removeprefix("capture: ")
                )
            )
            self.not_written = f"--capture {self.file}: {how}"
        self.last_words.close()
        self.stderr_file.close()


@contextlib.contextmanager
def recording(
    cell: Cell,
    file: str | None,
    configuration: dict[str, Any],
    speed: float,
    places: Places,
    progress: Callable[[str], None],
) -> Iterator[Recording | None]:
    """Yields a recording, or None without a file. However the block ends, the file is complete
    afterwards."""
    running = (
        None if file is None else Recording(cell, file, configuration, speed, places, progress)
    )
    try:
        yield running
    finally:
        if running:
            running.end()
