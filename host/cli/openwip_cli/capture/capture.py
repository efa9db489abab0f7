# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip capture: IP and link frames of a running cell as pcapng (docs/captures.md). The work is done by
wip_capture (host/capture); here it is found out what it needs to know of the cell."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import yaml

from . import wireshark
from ..cell import cell as cells
from ..commands import commands
from ..figures import report
from ..machine import system
from ..errors import BadInput
from ..settings.scenario import Integer, OneLineParser, Real, check_cell_name

PROGRAM = "host/capture/wip_capture"
ONLY = ("ip", "frames")
END_PATIENCE_S = 10


def value(kind, flag):
    """An argparse type that refuses with flag, value and what would be valid."""
    def read(text):
        try:
            return kind.read(text)
        except (ValueError, TypeError, OverflowError):
            raise BadInput(f"{flag} is {text!r}; valid: {kind.valid}") from None
    return read


def add_limits(p):
    p.add_argument("--seconds", type=value(Real(0.001, 1e6), "--seconds"), metavar="S", help="end after S seconds of air time")
    p.add_argument("--count", type=value(Integer(1, 1 << 40), "--count"), metavar="N", help="end after N packets")
    p.add_argument("--only", metavar="ip|frames", help="IP at the TUNs, or link frames (default both)")
    p.add_argument("--snap", type=value(Integer(64, 65535), "--snap"), metavar="N",
                   help="keep N bytes of each packet, 64..65535 (default all)")


def parse(arguments):
    p = OneLineParser(prog="./openwip capture", allow_abbrev=False, description=(
        "IP packets at both TUNs and link frames of a running cell, as pcapng for Wireshark."))
    p.add_argument("--name", default="demo", help="name of the cell (default demo)")
    p.add_argument("-o", dest="file", metavar="FILE|-", help="pcapng file, or - for standard output (default CELL.pcapng)")
    add_limits(p)
    p.add_argument("--install-wireshark", action="store_true",
                   help="put the dissector, the capture interfaces and the profile OpenWIP into Wireshark's folders")
    p.add_argument("--uninstall", action="store_true", help="remove them again")
    given = p.parse_args(arguments)
    if given.install_wireshark and given.uninstall:
        raise BadInput("--install-wireshark with --uninstall: one of them")
    check_cell_name(given.name)
    check_only(given.only)
    return given


def check_only(only):
    if only is not None and only not in ONLY:
        raise BadInput(f"--only is {only!r}; valid: {', '.join(ONLY)}")


def check_file(flag, path):
    """Before anything is started: a file that cannot be written."""
    if path is None or path == "-":
        return
    target = pathlib.Path(path)
    if target.is_dir():
        raise BadInput(f"{flag} {path}: is a directory")
    if not target.parent.is_dir():
        raise BadInput(f"{flag} {path}: there is no directory {target.parent}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise BadInput(f"{flag} {path}: cannot be written")


def program(build):
    path = pathlib.Path(build) / PROGRAM
    if not path.exists():
        raise BadInput(f"not built yet ({path} is missing): run ./openwip build")
    return str(path)


def limits(given):
    """The options of wip_capture that are the user's."""
    return [word for flag in ("seconds", "count", "only", "snap") if getattr(given, flag) is not None
            for word in (f"--{flag}", f"{getattr(given, flag)}")]


def endpoints(cell, terminals):
    replay = cell.replay
    first = (["--base", cell.endpoint("base.telemetry")] if replay is None else
             ["--start-ns", str(replay["start_ns"])] if replay["start_ns"] is not None else [])
    return [*first, "--terminal", cell.endpoint("terminal.telemetry"),
            "--keeper", cell.endpoint("keeper.telemetry"), "--terminals", str(terminals),
            *(["--user", system.account()[0]] if os.geteuid() == 0 else [])]


def version(top):
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(["git", "-c", "safe.directory=*", "-C", top, "describe", "--always", "--dirty", "--tags"],
                              capture_output=True, text=True, timeout=5)
        if done.returncode == 0:
            return done.stdout.strip()
    return "unknown"


def comments(cell, top, configurations):
    """Of the capture's section: what was captured."""
    texts = [f"cell '{cell.name}', OpenWIP {version(top)}",
             *(f"{name}:\n{text.rstrip()}" for name, text in configurations)]
    return [word for text in texts for word in ("--comment", text)]


def arguments_of(cell, given, file, top, build):
    """The command line of wip_capture for a cell that runs."""
    namespaces = cell.state.get("namespaces", [])
    configurations = [(f.name, f.read_text()) for f in sorted(cell.run.glob("*.yaml"))]
    if cell.replay is not None:
        return [program(build), "-o", file, *endpoints(cell, len(namespaces)), *comments(cell, top, configurations),
                *limits(given)]
    from ..messages import control
    try:
        air = control.Control(cell.endpoint("air.control")).status(2.0)
    except control.NoAnswer:
        raise BadInput(f"cell '{cell.name}' is up, but its medium does not answer yet; try again") from None
    started = time.time_ns() - round(air.wall_seconds * 1e9)
    return [program(build), "-o", file, *endpoints(cell, max(1, len(namespaces) - 1)),
            "--start-ns", str(started), *comments(cell, top, configurations), *limits(given)]


def main(arguments, top, build):
    given = parse(arguments)
    if given.install_wireshark or given.uninstall:
        return wireshark.install(top) if given.install_wireshark else wireshark.uninstall(top)
    file = given.file or f"{given.name}.pcapng"
    check_file("-o", file)
    argv = arguments_of(commands.running_cell(given.name), given, file, top, build)
    sys.stderr.flush()
    os.execv(argv[0], argv)


# --- the capture of a whole run (demo --capture, emulate --capture) ---

def last_words(verdict):
    """Of the run, for --end-file: the verdict (None: there is none), what ended it; a line each, whatever a reason
    holds (a program that failed is quoted with all that it said)."""
    if verdict is None:
        return "\nthe run was broken off\n"
    words = ": ".join(filter(None, [report.verdict_word(verdict), "; ".join(verdict["reasons"])]))
    return f"verdict: {' '.join(words.split())}\nthe run has ended\n"


class Recording:
    """Started before the stations, so that it misses nothing. That the capture fails is said, and is no
    reason for the run to end."""

    def __init__(self, cell, file, configuration, speed, places, progress):
        top, build, _ = places
        self.progress = progress
        self.last_words = tempfile.NamedTemporaryFile("w", prefix="openwip-", suffix=".end")
        self.said = tempfile.TemporaryFile("w+")
        parent = os.getpid()
        self.process = subprocess.Popen(
            [program(build), "-o", file, *endpoints(cell, len(cell.terminals)), "--speed", f"{speed:g}",
             "--wait", "120", "--end-file", self.last_words.name,
             *comments(cell, top, [("configuration", yaml.safe_dump(configuration, sort_keys=False))])],
            stdin=subprocess.DEVNULL, stderr=self.said, preexec_fn=lambda: system.die_with_parent(parent))

    def end(self, verdict=None):
        """Before the cell ends, with the verdict; again, it does nothing."""
        if self.process is None:
            return
        if self.process.poll() is None:     # ended by us, by nobody else
            self.last_words.write(last_words(verdict))
            self.last_words.flush()
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None
        self.said.seek(0)
        for line in self.said.read().splitlines():
            self.progress(line.removeprefix("openwip "))
        self.last_words.close()
        self.said.close()


class NoRecording:
    """Of a run without --capture."""

    def end(self, verdict=None):
        pass


@contextlib.contextmanager
def recording(cell, file, configuration, speed, places, progress):
    """However the block ends, the file is whole afterwards."""
    running = NoRecording() if file is None else Recording(cell, file, configuration, speed, places, progress)
    try:
        yield running
    finally:
        running.end()
