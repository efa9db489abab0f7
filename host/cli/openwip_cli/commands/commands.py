# SPDX-License-Identifier: GPL-3.0-or-later
"""down, status, exec, bench, switch-table, curves, channel."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from typing import Any

from ..cell import cell as cells
from ..cell.cell import Cell
from ..cell.running import running_cell
from ..cell.supervisor import not_ended as supervisor_words
from ..errors import BadInput, CellDied, how_ended
from ..figures import report
from ..machine import outputs, procfs, rights, system
from ..machine.places import Places, callers_python
from ..messages import control
from ..settings.command_line import Parser

DOWN_PATIENCE_S = 6


def down_cell(cell: Cell) -> str | None:
    """Returns what was done, in words. CellDied: processes of it could not be ended."""
    # A launcher that was killed before it had a supervisor has left an empty directory, and
    # acquire() makes one.
    directory = [f"directory {cell.run}"] if cell.run.exists() else []
    if not directory and not cell.leftovers():
        return None
    was_up = not cell.acquire()
    if was_up:
        state = cell.state
        supervisor = state.get("keeper")
        if supervisor and procfs.start_time(supervisor[0]) == supervisor[1]:
            os.kill(supervisor[0], signal.SIGTERM)
        # The supervisor hangs: the cell is ended by force, like one whose supervisor was killed.
        if not system.wait_until(cell.acquire, DOWN_PATIENCE_S):
            owners = [(p[0], p[1]) for p in (state.get("keeper"), state.get("launcher")) if p]
            system.kill_all(owners, grace=0)
            if not system.wait_until(cell.acquire, 2):
                raise BadInput(
                    f"cell '{cell.name}' cannot be ended: its processes"
                    f" {', '.join(str(pid) for pid, _ in owners)} do not end even when they are"
                    " killed"
                )
    left = cell.leftovers() or directory
    not_ended = cell.remove()
    cell.release()
    if not_ended:
        raise CellDied(supervisor_words(cell, list(map(str, not_ended))))
    if was_up:
        return f"cell '{cell.name}' is down"
    return f"removed what was left of cell '{cell.name}': {', '.join(left)}" if left else None


def down(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "down",
        "Ends a running cell, or removes what a killed one has left.",
        "demo",
    )
    p.add_argument("--all", action="store_true", help="end all cells that run on this computer")
    given = p.parse_args(arguments)
    rights.require_for_a_cell()
    names = cells.names() if given.all else [given.name]
    done, failed = [], []
    for name in names:
        try:
            done += [text] if (text := down_cell(cells.Cell(name))) else []
        except CellDied as e:
            failed.append(f"cell '{name}': {e}")
    if failed:
        raise CellDied("; ".join([*done, *failed]))
    others = "" if done else ", ".join(cells.up())
    print(
        "\n".join(done)
        or "nothing is up, nothing was left"
        + (f" of '{given.name}'; up: {others} (--name)" if others else "")
    )
    return 0


def status(arguments: list[str], _places: Places) -> int:
    given = Parser(
        "status", "Prints the state of the processes of a running cell.", "demo"
    ).parse_args(arguments)
    cell = running_cell(given.name)

    def ask(socket: str) -> Any:
        try:
            return control.Control(cell.endpoint(socket)).status(1.0)
        except control.NoAnswer:
            return None

    print(
        report.status_screen(
            cell, *(ask(s) for s in ("air.control", "base.control", "terminal.control"))
        )
    )
    return 0


def execute(arguments: list[str], _places: Places) -> int | None:
    p = Parser(
        "exec",
        "Runs a command in the network namespace of a station of a running cell.",
        "demo",
        usage="./openwip exec [--name CELL] base|terminal -- COMMAND...",
    )
    at = arguments.index("--") if "--" in arguments else len(arguments)
    p.add_argument(
        "station",
        choices=cells.STATIONS,
        help="station of the cell in whose network namespace the command after -- runs",
    )
    given, command = p.parse_args(arguments[:at]), arguments[at + 1 :]
    if not command:
        raise BadInput(
            "exec without a command; valid: ./openwip exec [--name CELL] base|terminal --"
            " COMMAND..."
        )
    cell = running_cell(given.name)
    if cell.namespace(given.station) not in cell.state.get(
        "namespaces", [cell.namespace(given.station)]
    ):
        raise BadInput(
            f"cell '{cell.name}' has no {given.station}: it is a replay of recorded samples; valid:"
            " terminal"
        )
    if shutil.which(command[0]) is None:
        print(f"openwip: {command[0]}: command not found", file=sys.stderr)
        return 127
    # The Python of the launcher is not the command's business.
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("OPENWIP_", "PYTHON"))
    } | callers_python
    os.execvpe("ip", ["ip", "netns", "exec", cell.namespace(given.station), *command], environment)


def bench(arguments: list[str], places: Places) -> int:
    if arguments[:1] == ["slot-path"]:
        sys.path.append(str(places.top / "tests" / "bench"))
        return int(importlib.import_module("bench_slot_path").main(arguments[1:], places))
    p = Parser("bench", "Measures the speed of the parts of OpenWIP on this computer.")
    p.json("the results of all benchmarks", was_a_word=True)
    p.add_argument(
        "--least",
        action="store_true",
        help="run each benchmark as briefly as possible, to see that it runs and not how fast it"
        " is",
    )
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json)
    folder = places.build / "tests" / "bench"
    programs = sorted(f for f in folder.glob("bench_*") if f.is_file() and os.access(f, os.X_OK))
    if not programs:
        raise BadInput(f"there is no benchmark in {folder}: run ./openwip build")
    results = {}
    for program in programs:
        print(f"bench: {program.name}", file=sys.stderr, flush=True)
        done = subprocess.run(
            [program, *(["least"] if given.least else [])], stdout=subprocess.PIPE, text=True
        )
        if done.returncode != 0:
            raise CellDied(f"{program.name} {how_ended(done.returncode)}")
        try:
            results[program.name] = json.loads(done.stdout)
        except ValueError:
            results[program.name] = {"error": "no JSON", "text": done.stdout[-2000:]}
    outputs.write_json(given.json or "-", results)
    return 0 if all("error" not in r for r in results.values() if isinstance(r, dict)) else 1


def switch_table(arguments: list[str], places: Places) -> None:
    program = places.program("mac/link/switch_table")
    os.execv(program, [program, *arguments])


def curves(arguments: list[str], places: Places) -> None:
    script = str(places.top / "tests" / "curves" / "curves.py")
    os.execv(
        sys.executable,
        [
            sys.executable,
            script,
            "--program",
            places.program("tests/curves/curve_points"),
            *arguments,
        ],
    )
