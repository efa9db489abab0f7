# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip extcap: the protocol by which Wireshark asks a program for capture interfaces (extcap).
Every cell that is up is one interface, `openwip-CELL`.

A cell belongs to root, and Wireshark mostly does not run as root: then the capture itself is
started through
`sudo -n` as the account of the cells, by a program that can do nothing else; both have to be
allowed (docs/how-to/captures.md)."""

import argparse
import os
import shutil
import sys

from ..cell import cell as cells
from ..errors import BadInput, not_valid
from ..machine import system
from ..machine.places import Places
from ..settings.command_line import Parser, check_cell_name
from . import capture

PREFIX = "openwip-"
HELP = "docs/how-to/captures.md"
LIVE_CAPTURE = "/usr/local/lib/openwip/openwip-live-capture"
UPPER_PDU = 252  # link type "upper PDU"; each interface inside the capture has its own


def parse(arguments: list[str]) -> argparse.Namespace:
    p = Parser("extcap", "Wireshark's extcap protocol.")
    for flag in ("interfaces", "dlts", "config"):
        p.add_argument(f"--extcap-{flag}", action="store_true")
    p.add_argument("--capture", action="store_true")
    for flag in ("interface", "version", "capture-filter", "reload-option"):
        p.add_argument(f"--extcap-{flag}", nargs="?", metavar="X")
    p.add_argument("--fifo", metavar="FILE")
    p.add_argument(
        "--name", metavar="CELL", help="name of the cell, if it is not that of the interface"
    )
    p.add_argument("--debug", nargs="?", help=argparse.SUPPRESS)
    p.add_argument("--debug-file", help=argparse.SUPPRESS)
    capture.add_limits(p)
    return p.parse_args(arguments)


def running_cells() -> list[str]:
    """Names. Another user than root sees the folders of all cells, and cannot see whether they
    live."""
    try:
        names = sorted(d.name for d in cells.RUN_ROOT.iterdir() if d.is_dir())
    except OSError:
        return []
    return [n for n in names if os.geteuid() != 0 or cells.Cell(n).is_up()]


def list_options(name: str) -> None:
    def say(number: int, call: str, display: str, kind: str, **more: str) -> None:
        extra = "".join(f"{{{k}={v}}}" for k, v in more.items())
        print(f"arg {{number={number}}}{{call={call}}}{{display={display}}}{{type={kind}}}{extra}")

    say(
        0,
        "--name",
        "Cell",
        "string",
        default=name,
        tooltip="Name of the cell (--name of demo and emulate)",
    )
    say(1, "--only", "Capture", "selector", tooltip="IP packets at the TUNs, link frames, or both")
    for value_, display, default in (
        ("both", "IP packets and link frames", "true"),
        ("ip", "IP packets only", "false"),
        ("frames", "link frames only", "false"),
    ):
        print(f"value {{arg=1}}{{value={value_}}}{{display={display}}}{{default={default}}}")
    say(
        2,
        "--snap",
        "Bytes of each packet",
        "integer",
        range="64,65535",
        default="65535",
        tooltip="Of a frame cut short the IP packets cannot be put together",
    )


def cell_of(given: argparse.Namespace) -> str:
    if given.name:
        return check_cell_name(given.name)
    interface = given.extcap_interface or ""
    if not interface.startswith(PREFIX):
        raise not_valid("--extcap-interface", repr(interface), f"{PREFIX}CELL")
    return check_cell_name(interface.removeprefix(PREFIX))


def start_capture(given: argparse.Namespace) -> None:
    if not given.fifo:
        raise BadInput("--fifo is missing; valid: --fifo FILE, into which the capture is written")
    name = cell_of(given)
    given.only = None if given.only == "both" else given.only
    capture.check_only(given.only)
    limits = capture.limits(given)
    command = [
        os.environ["OPENWIP_TOP"] + "/openwip",
        "capture",
        "--name",
        name,
        "-o",
        "-",
        *limits,
    ]
    if os.geteuid() != 0:
        if shutil.which("sudo") is None or not os.path.exists(LIVE_CAPTURE):
            raise BadInput(
                "only root may capture from a cell: start Wireshark with sudo, or allow"
                f" {LIVE_CAPTURE} ({HELP})"
            )
        command = ["sudo", "-n", "-u", system.ACCOUNT, LIVE_CAPTURE, "--name", name, *limits]
    try:
        # The FIFO is opened for writing only: Wireshark holds the other end, and writing fails once
        # Wireshark has ended.
        fifo = os.open(given.fifo, os.O_WRONLY)
    except OSError as e:
        raise BadInput(
            f"--fifo {given.fifo}: cannot be opened: {e.strerror}; valid: a FIFO or file that can"
            " be written"
        ) from None
    os.dup2(fifo, 1)
    sys.stderr.flush()
    os.execvp(command[0], command)


def main(arguments: list[str], _places: Places) -> int:
    given = parse(arguments)
    if given.extcap_interfaces:
        print(
            "extcap {version=1.0}{display=OpenWIP"
            f" cells}}{{help=file://{os.environ.get('OPENWIP_TOP', '')}/{HELP}}}"
        )
        for name in running_cells():
            print(f"interface {{value={PREFIX}{name}}}{{display=OpenWIP cell '{name}'}}")
    elif given.extcap_dlts:
        cell_of(given)
        print(
            f"dlt {{number={UPPER_PDU}}}{{name=OPENWIP}}{{display=OpenWIP: IP at the TUNs and link"
            " frames}"
        )
    elif given.extcap_config:
        list_options(cell_of(given))
    elif given.capture:
        start_capture(given)
    else:
        raise BadInput(
            "no extcap option is given; valid: --extcap-interfaces, --extcap-dlts,"
            " --extcap-config or --capture"
        )
    return 0
