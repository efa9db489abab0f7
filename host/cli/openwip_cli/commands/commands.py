# SPDX-License-Identifier: GPL-3.0-or-later
"""down, status, exec, bench, switch-table, curves, channel."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from ..cell import cell as cells
from ..figures import report
from ..machine import system
from ..errors import BadInput, CellDied
from ..settings.scenario import OneLineParser, check_cell_name

DOWN_PATIENCE_S = 6


def parser(command, **kwargs):
    p = OneLineParser(prog=f"./openwip {command}", allow_abbrev=False, **kwargs)
    p.add_argument("--name", default="demo", help="name of the cell (default demo)")
    return p


def down_cell(cell):
    """Returns what was done, in words."""
    if not cell.run.exists() and not cell.leftovers():
        return None
    was_up = not cell.acquire()
    if was_up:
        state = cell.state
        keeper = state.get("keeper")
        if keeper and system.start_time(keeper[0]) == keeper[1]:
            os.kill(keeper[0], signal.SIGTERM)
        deadline = time.monotonic() + DOWN_PATIENCE_S
        while time.monotonic() < deadline and not cell.acquire():
            time.sleep(0.05)
        if cell.lock is None:   # it hangs: by force, and then as for a killed one
            owners = [tuple(p) for p in (state.get("keeper"), state.get("launcher")) if p]
            system.kill_all(owners, grace=0)
            for _ in range(40):
                if cell.acquire():
                    break
                time.sleep(0.05)
            else:
                raise BadInput(f"cell '{cell.name}' cannot be taken from process {owners}")
    left = cell.leftovers()
    cell.remove()
    cell.release()
    if was_up:
        return f"cell '{cell.name}' is down"
    return f"removed what was left of cell '{cell.name}': {', '.join(left)}" if left else None


def down(arguments):
    p = parser("down")
    p.add_argument("--all", action="store_true", help="every cell of this machine")
    given = p.parse_args(arguments)
    system.require_root()
    names = cells.names() if given.all else [check_cell_name(given.name)]
    done = [text for name in names if (text := down_cell(cells.Cell(name)))]
    print("\n".join(done) or "nothing is up, nothing was left")
    return 0


def running_cell(name):
    system.require_root()
    cell = cells.Cell(check_cell_name(name))
    if not cell.is_up():
        raise BadInput("no cell is up: start one with ./openwip demo --keep")
    return cell


def status(arguments):
    given = parser("status").parse_args(arguments)
    cell = running_cell(given.name)
    from ..messages import control

    def ask(socket):
        try:
            return control.Control(cell.endpoint(socket)).status(1.0)
        except control.NoAnswer:
            return None

    print(report.status_screen(cell, *(ask(s) for s in ("air.control", "base.control", "terminal.control"))))
    return 0


def execute(arguments):
    p = parser("exec", usage="./openwip exec [--name CELL] base|terminal -- COMMAND...")
    if "--" not in arguments:
        raise BadInput("write ./openwip exec base|terminal -- COMMAND...")
    at = arguments.index("--")
    p.add_argument("station", choices=cells.STATIONS)
    given, command = p.parse_args(arguments[:at]), arguments[at + 1:]
    if not command:
        raise BadInput("no command after --")
    cell = running_cell(given.name)
    if cell.namespace(given.station) not in cell.state.get("namespaces", [cell.namespace(given.station)]):
        raise BadInput(f"cell '{cell.name}' has no {given.station}: it is a replay of recorded samples; valid: terminal")
    if shutil.which(command[0]) is None:
        print(f"openwip: {command[0]}: command not found", file=sys.stderr)
        return 127
    # The Python path of the launcher is not the command's business.
    environment = {k: v for k, v in os.environ.items()
                   if not k.startswith("OPENWIP_") and k not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
    os.execvpe("ip", ["ip", "netns", "exec", cell.namespace(given.station), *command], environment)


def bench(arguments, build):
    p = OneLineParser(prog="./openwip bench", allow_abbrev=False)
    p.add_argument("--json", metavar="FILE", nargs="?", const="-", default="-",
                   help="write there instead of standard output")
    given = p.parse_args(arguments)
    folder = pathlib.Path(build) / "tests" / "bench"
    programs = sorted(f for f in folder.glob("bench_*") if f.is_file() and os.access(f, os.X_OK))
    if not programs:
        raise BadInput(f"no benchmark in {folder}: run ./openwip build")
    results = {}
    for program in programs:
        print(f"bench: {program.name}", file=sys.stderr, flush=True)
        done = subprocess.run([program], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise CellDied(f"{program.name} ended with exit code {done.returncode}")
        try:
            results[program.name] = json.loads(done.stdout)
        except ValueError:
            results[program.name] = {"error": "no JSON", "text": done.stdout[-2000:]}
    text = json.dumps(results, indent=2)
    if given.json == "-":
        print(text)
    else:
        pathlib.Path(given.json).write_text(text + "\n")
    return 0 if all("error" not in r for r in results.values() if isinstance(r, dict)) else 1


def switch_table(arguments, build):
    program = pathlib.Path(build) / "mac" / "link" / "switch_table"
    if not program.exists():
        raise BadInput(f"{program} is not built: run ./openwip build")
    os.execv(program, [str(program), *arguments])


def curves(arguments, top, build):
    program = pathlib.Path(build) / "tests" / "curves" / "curve_points"
    if not program.exists():
        raise BadInput(f"{program} is not built: run ./openwip build")
    script = str(pathlib.Path(top) / "tests" / "curves" / "curves.py")
    os.execv(sys.executable, [sys.executable, script, "--program", str(program), *arguments])


def run(command, arguments, top, build):
    try:
        if command == "down":
            return down(arguments)
        if command == "status":
            return status(arguments)
        if command == "exec":
            return execute(arguments)
        if command == "bench" and arguments[:1] == ["slot-path"]:
            from . import bench_slot_path
            return bench_slot_path.main(arguments[1:], top)
        if command == "bench":
            return bench(arguments, build)
        if command == "switch-table":
            return switch_table(arguments, build)
        if command == "curves":
            return curves(arguments, top, build)
        if command == "iq":
            from ..iq import command as iq
            return iq.run(arguments)
        if command == "channel":
            from ..channel import command as channel
            return channel.run(arguments, top, build)
    except CellDied as e:
        print(f"openwip: {e}", file=sys.stderr)
        return 3
    raise BadInput(f"unknown command {command}")
