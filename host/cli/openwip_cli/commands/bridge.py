# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip bridge SERVER TERMINAL: joins two network namespaces that are there already. Whatever
goes between them passes delay injection and a wire. It is one process with an interface in each and
its sockets in a file system that no path leads to, so that nothing is left of it, however it ends.
Lines KEY=VALUE on standard input change it while it runs, `status` tells what delay injection has
done, and so does the end by Ctrl-C."""

import argparse
import contextlib
import ctypes
import ipaddress
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
from typing import Any

from ..errors import BadInput, CellDied, Terminated, cause_of, how_ended, not_valid
from ..figures import link_counts, report
from ..machine import system
from ..machine.places import Places
from ..messages import control
from ..settings import controls, table
from ..settings.command_line import Parser
from ..settings.emulator import NAME, SETTINGS
from ..settings.scenario import text_of
from ..text import to_yaml
from .settings_command import RunningSettings

PROGRAM = "host/emulator/wip_emulator"
GROUPS = ("delay_injection.", "wired.")
NETNS = pathlib.Path("/run/netns")
# System call numbers, the same on every architecture since Linux 5.2.
_FSOPEN, _FSCONFIG, _FSMOUNT, _CREATE = 430, 431, 432, 6


def memory_folder() -> int:
    """A file system in memory, by a descriptor alone."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(*arguments: object) -> int:
        result: int = libc.syscall(*arguments)
        if result < 0:
            raise BadInput(
                "cannot mount a file system in memory for the bridge's sockets:"
                f" {os.strerror(ctypes.get_errno())}; valid: as root, on Linux 5.2 or later"
            )
        return result

    made = call(_FSOPEN, b"tmpfs", 0)
    call(_FSCONFIG, made, _CREATE, None, None, 0)
    folder = call(_FSMOUNT, made, 0, 0)
    os.close(made)
    os.set_inheritable(folder, True)
    return folder


def check_namespace(name: str) -> str:
    """Root's own: what another user made is not entered."""
    path = NETNS / name
    if not re.fullmatch(r"[\w.-]{1,64}", name) or not path.exists():
        raise BadInput(
            f"network namespace {name!r} does not exist; valid: one that ip netns list shows"
        )
    if any(p.stat().st_uid != 0 for p in (NETNS, path)):
        raise BadInput(
            f"network namespace {name}: its file {path} does not belong to root; valid: a"
            " namespace that root has made"
        )
    return name


def check_address(text: str) -> str:
    with contextlib.suppress(ValueError):
        if "/" in text:
            return str(ipaddress.IPv4Interface(text))
    raise not_valid("address", repr(text), "an IPv4 address with its prefix, such as 10.42.0.1/30")


def parse(arguments: list[str]) -> argparse.Namespace:
    p = Parser(
        "bridge",
        "Connects two network namespaces by an emulated wire with a delay, and holds back TCP"
        " acknowledgements between them (delay injection).",
    )
    p.add_argument(
        "server", help="network namespace of the server's side, as ip netns list shows it"
    )
    p.add_argument(
        "terminal",
        help="network namespace of the terminal's (mobile) side, as ip netns list shows it",
    )
    p.add_argument(
        "--addresses",
        nargs=2,
        metavar="ADDRESS/PREFIX",
        default=["10.42.0.1/30", "10.42.0.2/30"],
        help="IPv4 addresses of the two network interfaces (default 10.42.0.1/30 10.42.0.2/30)",
    )
    p.add_argument(
        "--tun",
        default="wip0",
        help="name of the network interface (TUN) in each of the two namespaces (default wip0)",
    )
    for s in SETTINGS:
        if s.key.startswith(GROUPS):
            p.setting(s, dest=s.key)
    given = p.parse_args(arguments)
    if given.server == given.terminal:
        raise BadInput(
            f"server and terminal are both {given.server}; valid: two different network namespaces"
        )
    given.addresses = [check_address(a) for a in given.addresses]
    return given


def config(given: argparse.Namespace) -> dict[str, Any]:
    values = vars(given)
    keys = table.process_keys("emulator", NAME)
    tree = table.nested(
        {
            process_key: text_of(values[key])
            for process_key, key in keys.items()
            if values.get(key) is not None
        }
    )
    ends = {
        end: {"namespace": namespace, "tun": given.tun, "address": address}
        for end, namespace, address in zip(
            ("server", "terminal"), (given.server, given.terminal), given.addresses
        )
    }
    for end in ends:
        ends[end] |= tree.get(end, {})
    return tree | ends | {"name": "bridge", "user": system.account()[0], "link": {"kind": "wire"}}


def counts(running: RunningSettings) -> str:
    try:
        d = running.controls["base"].status(3.0).delay_injection
    except control.NoAnswer as e:
        return f"delay injection: {e}"
    last = (
        f"; last: pdelay {d.pdelay_ms:.1f}, threshold {d.threshold_ms:.1f}, D {d.delay_ms:.1f} ms"
        if d.samples
        else ""
    )
    return (
        f"delay injection: {report.injection_words(link_counts.counts_of(d, ''))}, {d.held_now}"
        f" now{last}"
    )


def change(running: RunningSettings, line: str) -> None:
    key, equal, text = line.strip().partition("=")
    if line.strip() == "status":
        print(counts(running), flush=True)
        return
    try:
        if not equal:
            raise not_valid("the line on standard input", repr(line.strip()), "KEY=VALUE, status")
        row = controls.find(
            {name: row for name, row in running.rows.items() if name.startswith(GROUPS)}, key
        )
        running.set({row.key: row.check(text)})
        print(f"{row.key} = {row.check(text)}", flush=True)
    except BadInput as e:
        print(f"openwip: {e}", file=sys.stderr, flush=True)


def main(arguments: list[str], places: Places) -> int:
    given = parse(arguments)
    system.require_root()
    system.require_tun()
    for name in (given.server, given.terminal):
        check_namespace(name)
    places.check_built(PROGRAM, "python/openwip_schema")
    folder, me = memory_folder(), os.getpid()

    def begin() -> None:
        os.setpgrp()  # Ctrl-C is for this process, which asks that one for its counts first
        system.die_with_parent(me, signal.SIGKILL)

    with tempfile.TemporaryFile("w+") as f:
        f.write(to_yaml(config(given)))
        f.seek(0)
        os.set_inheritable(f.fileno(), True)
        process = subprocess.Popen(
            [places.program(PROGRAM), "--config", f"/proc/self/fd/{f.fileno()}"],
            pass_fds=[f.fileno(), folder],
            env=os.environ | {"OPENWIP_RUN": f"/proc/self/fd/{folder}"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=begin,
        )
    return run(given, process, folder)


def run(given: argparse.Namespace, process: subprocess.Popen[str], folder: int) -> int:
    def endpoint(socket: str) -> str:
        return f"ipc:///proc/self/fd/{folder}/{socket}"

    running = None
    with contextlib.suppress(KeyboardInterrupt, Terminated):
        base = control.Control(endpoint("base.control"))
        while process.poll() is None and not base.answers():
            pass
        if process.poll() is None:
            running = RunningSettings("bridge", endpoint)
            print(
                f"{given.tun} {given.addresses[0]} in {given.server}, {given.addresses[1]} in"
                f" {given.terminal}; Ctrl-C ends it",
                flush=True,
            )
            follow(running, process)
    if process.poll() is None:
        if running:
            print(counts(running), flush=True)
        process.send_signal(signal.SIGTERM)
    rest = process.communicate()[1]
    if process.returncode == BadInput.code:
        raise BadInput(cause_of("wip_emulator", process.returncode, rest))
    if running is None or process.returncode not in (0, -signal.SIGTERM):
        raise CellDied(
            f"the bridge {how_ended(process.returncode)}",
            [("emulator", w) for w in rest.splitlines()[-3:]],
        )
    return 0


def follow(running: RunningSettings, process: subprocess.Popen[str]) -> None:
    """Applies the settings that come at standard input, until a signal or the end of the
    process."""
    sources, left = [sys.stdin, process.stderr], b""
    while process.poll() is None:
        for source in select.select(sources, [], [], 1)[0]:
            # readline() would keep what came with a line, where select does not see it
            data = os.read(source.fileno(), 1 << 16)
            if source is process.stderr:
                continue
            if not data:
                sources.remove(source)  # nothing comes from there any more; traffic goes on
            *lines, left = (left + (data or b"\n" * bool(left))).split(b"\n")
            for line in lines:
                change(running, line.decode(errors="replace"))
