# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip set and ./openwip get: the settings of a running cell by the keys of its scenario
(controls.py)."""

import argparse
import contextlib
import dataclasses
import json
from collections.abc import Callable
from typing import Any

from ..air import SLOTS_PER_SECOND
from ..cell import cell as cells
from ..cell import faders, remote
from ..cell.running import running_cell
from ..errors import BadInput, not_valid
from ..machine import outputs, system
from ..machine.places import Places
from ..messages import control
from ..settings import controls, page
from ..settings.command_line import FOLDER, Parser, check_cell_name
from ..settings.scenario import text_of
from ..text import of_yaml

PROCESSES = ("base", "terminal", "air")
ATTENUATOR = "attenuator"  # process of a cell that has an attenuator
READ_BACK_S = 3.0  # seconds; a receiver builds its new predictor first


class RunningSettings:
    """The settings of one cell, as its processes report them. `endpoint(socket)` names their
    sockets. A medium, fader or attenuator may run without a cell: it is then the only process that
    is asked, and only its own settings are shown."""

    def __init__(
        self,
        name: str,
        endpoint: Callable[[str], str],
        keys: control.Keys | None = None,
        launched: dict[str, Any] | None = None,
        processes: tuple[str, ...] = PROCESSES,
    ) -> None:
        self.name = name
        self.controls = {p: control.Control(endpoint(f"{p}.control"), keys) for p in processes}
        # the scenario, nested; empty for a remote cell, whose scenario is not known
        self.launched = launched or {}
        self.read()
        self.kind = "emulate" if "terminals" in self.effective.get("base", {}) else "demo"
        self.paths = (
            [str(path) for path in self.effective.get("air", {}).get("paths", {})]
            if self.kind == "demo"
            else []
        )
        self.rows = controls.with_paths(controls.table(self.kind), self.paths)
        if "base" not in self.controls:
            self.rows = {
                key: row
                for key, row in self.rows.items()
                if row.process in self.controls
                and ("channel" in controls.parts(key) or not row.why_not)
            }
        elif ATTENUATOR not in self.controls:
            self.rows |= {
                key: dataclasses.replace(row, process=None, why_not="the cell has no attenuator")
                for key, row in self.rows.items()
                if row.process == ATTENUATOR
            }

    def find(self, key: str, path: str | None) -> controls.Control:
        """The setting with this key; with `path` (SENDER:RECEIVER), that of this path. Raises
        BadInput."""
        if path is not None and path not in self.paths:
            raise not_valid(
                "--path",
                path,
                ", ".join(self.paths) or "no --path, because an emulated link has no paths",
            )
        if path is None:
            return controls.find(self.rows, key)
        of_path = {
            row.key.removeprefix(controls.path_key(path, "")): row
            for row in self.rows.values()
            if row.key.startswith(controls.path_key(path, ""))
        }
        return controls.find(of_path, key)

    def shown(self, path: str | None) -> list[controls.Control]:
        """Every setting once, or those of a path."""
        if path is not None:
            self.find("channel.model", path)
            return [
                row for row in self.rows.values() if row.key.startswith(controls.path_key(path, ""))
            ]
        if len(self.paths) > 1:
            return [
                row
                for row in self.rows.values()
                if controls.path_key(self.paths[0], row.key) not in self.rows
            ]
        return [row for row in self.rows.values() if not row.key.startswith("paths.")]

    def read(self) -> None:
        """Asks all processes for their settings. Raises BadInput if one does not answer."""
        self.status, self.effective = {}, {}
        for process, socket in self.controls.items():
            try:
                status = socket.status(3.0)
            except control.NoAnswer as e:
                raise BadInput(str(e)) from None
            self.status[process] = status
            self.effective[process] = of_yaml(status.effective_yaml) or {}

    def value(self, key: str) -> str | None:
        """The current value of a setting, as text; None if it is not known here."""
        row = self.rows[key]
        if row.process is None:
            return inside(self.launched, key)
        terminal = self.status.get("terminal")
        radio = terminal.radio if terminal else None
        # the receiver reports its predictor itself
        if self.kind == "demo" and radio and radio.predictor:
            if key == "phy.predictor":
                return radio.predictor
            if key == "link.combining":
                return "on" if radio.combining else "off"
        return inside(self.effective[row.process], row.process_key)

    def set(self, wanted: dict[str, str]) -> dict[str, int]:
        """Changes the settings `wanted` ({key: canonical text}), all of them or none. Returns
        {process: slot from which they hold}. Raises BadInput if a process refuses or does not
        answer."""
        self.read()  # reads the values to restore if a process refuses
        trees: dict[str, dict[str, Any]] = {}
        before: dict[str, dict[str, Any]] = {}
        for key, text in wanted.items():
            row = self.rows[key]
            put(trees.setdefault(row.process or "", {}), row.process_key, text)
            put(before.setdefault(row.process or "", {}), row.process_key, self.value(key))
        slots, done = {}, []
        for process in trees:
            try:
                slots[process] = self.controls[process].configure(trees[process]).effective_slot
                done.append(process)
            except control.NoAnswer as e:
                for earlier in done:
                    with contextlib.suppress(control.NoAnswer):
                        self.controls[earlier].configure(before[earlier])
                if isinstance(e, control.Refused):
                    raise BadInput(
                        f"{str(e).removeprefix('configure: ')}; nothing changed"
                    ) from None
                raise BadInput(str(e)) from None
        return slots

    def read_back(
        self, wanted: dict[str, str], timeout_s: float = READ_BACK_S
    ) -> dict[str, str | None]:
        """Waits until the processes report these values. Returns {key: reported value} of the
        settings that still differ."""
        other: dict[str, str | None] = {}

        def all_say_so() -> bool:
            nonlocal other
            self.read()
            other = {k: self.value(k) for k, v in wanted.items() if not same(self.value(k), v)}
            return not other

        system.wait_until(all_say_so, timeout_s)
        return other


def inside(tree: object, key: str) -> str | None:
    for name in controls.parts(key):
        if not isinstance(tree, dict) or name not in tree:
            return None
        tree = tree[name]
    return text_of(tree)


def put(tree: dict[str, Any], key: str, value: str | None) -> None:
    *path, leaf = controls.parts(key)
    for name in path:
        tree = tree.setdefault(name, {})
    tree[leaf] = value


def same(a: str | None, b: str) -> bool:
    if a == b:
        return True
    with contextlib.suppress(TypeError, ValueError):
        return abs(float(a or "") - float(b)) <= 1e-6 * max(1, abs(float(b)))
    return False


def connect(given: argparse.Namespace) -> "RunningSettings":
    if given.control:
        keys = remote.keys_of("--control", given.control, given.keys)
        with contextlib.suppress(*faders.SILENT):
            running = RunningSettings(
                given.control, lambda _: given.control, keys, processes=("air",)
            )
            if ATTENUATOR in running.effective["air"]:
                return RunningSettings(
                    given.control, lambda _: given.control, keys, processes=(ATTENUATOR,)
                )
            if running.paths:
                return running
        raise not_valid(
            "--control",
            given.control,
            "air.control of a medium or fader, --listen of a fader, attenuator.control of a cell",
            more=", where no channel answers",
        )
    if given.remote:
        endpoint, keys = remote.client(given.remote, given.keys)
        return RunningSettings(given.remote, endpoint, keys)
    if given.keys:
        raise BadInput(
            "--keys is given without --remote and --control; valid: with one of them, as a cell of"
            " this"
            " machine needs none"
        )
    cell = running_cell(given.name)
    if cell.replay is not None:
        raise BadInput(
            f"cell '{cell.name}' is a replay of {cell.replay['file']}, which has the settings"
            " of its"
            " recording; valid: a cell that is no replay, as none of them can change"
        )
    launched = {}
    with contextlib.suppress(OSError, ValueError):
        launched = json.loads((cell.run / "run.json").read_text())["scenario"]
    attenuator = (ATTENUATOR,) * (cell.run / "attenuator.control").exists()
    return RunningSettings(cell.name, cell.endpoint, None, launched, (*PROCESSES, *attenuator))


def parser(command: str, usage: str) -> Parser:
    p = Parser(command, usage=usage)
    p.add_argument(
        "--name",
        type=check_cell_name,
        default=None,
        help="name of the cell (default: demo, or the only one that is up)",
    )
    p.add_argument(
        "--remote",
        metavar="tcp://HOST:PORT",
        help="address of a cell on another computer, which that cell's option --listen gave",
    )
    p.add_argument(
        "--keys",
        names=FOLDER,
        metavar="DIR",
        help=(
            "folder with the encryption keys that ./openwip keys has made, for --remote or"
            " --control tcp://ADDR:PORT"
        ),
    )
    p.add_argument(
        "--control",
        metavar="ENDPOINT",
        help=(
            "control endpoint of a medium or fader without a cell (its air.control, or a fader's"
            " --listen)"
        ),
    )
    p.add_argument(
        "--path",
        metavar="SENDER:RECEIVER",
        help=(
            "path between two radios of the medium or fader to which the settings channel.* belong"
            " (docs/how-to/cabled.md)"
        ),
    )
    return p


def chosen_name(given: argparse.Namespace) -> argparse.Namespace:
    """The cell that is meant when no name is given."""
    if given.control:
        if given.remote or given.name:
            raise BadInput(
                "--control names a medium or fader without a cell, and --name or --remote a cell;"
                " valid: --control alone"
            )
        return given
    if not given.remote:
        system.require_root()  # only root can see whether a cell is up
    if given.name is None:
        up = [] if given.remote else cells.up()
        given.name = "demo" if "demo" in up or len(up) != 1 else up[0]
        if len(up) > 1 and "demo" not in up:
            raise BadInput(f"several cells are up, and --name is missing; valid: {', '.join(up)}")
    return given


def with_unit(text: str | None, row: controls.Control) -> str:
    if not text:
        return "-"
    return (
        f"{text} {row.unit}"
        if row.unit and text.replace(".", "").replace("-", "").isdigit()
        else text
    )


def set_main(arguments: list[str], _places: Places) -> int:
    p = parser(
        "set",
        "./openwip set [--name CELL | --control ENDPOINT] [--path SENDER:RECEIVER] KEY=VALUE...",
    )
    p.add_argument(
        "assignments",
        nargs="+",
        metavar="KEY=VALUE",
        help="setting of the running cell and its new value, such as channel.snr_db=12",
    )
    given = chosen_name(p.parse_args(arguments))
    for a in given.assignments:
        if "=" not in a or a.startswith("="):
            raise not_valid("the setting", repr(a), "KEY=VALUE (./openwip get lists the keys)")
    running = connect(given)
    wanted = {}
    for a in given.assignments:
        key, _, text = a.partition("=")
        row = running.find(key, given.path)
        wanted[row.key] = row.check(text)
    old = {k: running.value(k) for k in wanted}
    slots = running.set(wanted)
    other = running.read_back(wanted)
    width = max(map(len, wanted))
    for key in wanted:
        row = running.rows[key]
        slot = slots.get(row.process or "", 0)
        when = (
            f"  from slot {slot} ({slot / SLOTS_PER_SECOND:.3f} s)"
            if slot
            else "  at once"
            if running.value(key) != old[key]
            else "  as it was"
        )
        print(
            f"{key:<{width}}  {with_unit(old[key], row)} ->"
            f" {with_unit(running.value(key), row)}{when}"
        )
    for key, value in other.items():
        print(f"openwip: {key}: asked for {wanted[key]}, the cell still says {value}", flush=True)
    return 1 if other else 0


def get_main(arguments: list[str], _places: Places) -> int:
    p = parser(
        "get",
        "./openwip get [--name CELL | --control ENDPOINT] [--path SENDER:RECEIVER] [--json[=FILE]]"
        " [--describe [--markdown]] [KEY...]",
    )
    p.add_argument(
        "keys_asked",
        nargs="*",
        metavar="KEY",
        help="setting of the running cell to print, such as channel.snr_db, or the beginning of"
        " several, such as channel (default: all)",
    )
    p.json("the values of the settings, or with --describe their table,")
    p.add_argument(
        "--describe",
        action="store_true",
        help="describe what can be set: process, type, valid values, unit; needs no running cell",
    )
    p.add_argument(
        "--markdown",
        action="store_true",
        help="with --describe: print the page docs/reference/settings.md, with every setting of"
        " every program",
    )
    p.add_argument(
        "--kind", choices=controls.CELLS, help="with --describe: only settings of one kind of cell"
    )
    given = p.parse_args(arguments)
    outputs.check_given("--json", given.json)
    if given.describe:
        return describe(given)
    running = connect(chosen_name(given))
    rows = [running.find(k, given.path) for k in given.keys_asked] or running.shown(given.path)
    values = {r.key: running.value(r.key) for r in rows}
    outputs.write_json(given.json, {"cell": running.name, "kind": running.kind, "values": values})
    width = max(len(r.key) for r in rows)
    for r in rows:
        note = (
            f"   (fixed: {r.why_not})"
            if r.why_not and given.keys_asked
            else "   (fixed)"
            if r.why_not
            else ""
        )
        outputs.say(given.json, f"{r.key:<{width}}  {with_unit(values[r.key], r)}{note}")
    return 0


def describe(given: argparse.Namespace) -> int:
    if given.markdown:
        print(page.markdown(), end="")
        return 0
    for key in given.keys_asked:
        for kind in [given.kind] if given.kind else controls.CELLS:
            controls.find(controls.table(kind), key)
    tree = controls.describe(given.kind)
    for kind, rows in tree["cells"].items():
        tree["cells"][kind] = [
            r for r in rows if not given.keys_asked or r["key"] in given.keys_asked
        ]
    outputs.write_json(given.json, tree, indent=1)
    if given.json == "-":
        return 0
    for kind, rows in tree["cells"].items():
        print(f"{kind}:")
        for r in rows:
            what = r["valid"] if r["changeable"] else f"fixed: {r['why_not']}"
            print(f"  {r['key']:<30} {r['process'] or 'launcher':<9} {what}")
        if any(r["path_key"] for r in rows):
            print(
                "  of one path of several:"
                f" {', '.join(r['path_key'] for r in rows if r['path_key'])}"
            )
    return 0
