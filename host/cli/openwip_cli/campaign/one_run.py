# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip experiment-run SPEC OUT: one run, one file (docs/how-to/campaigns.md). Campaigns call
it, here or on another machine."""

import contextlib
import errno
import itertools
import pathlib
import platform
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..cell import cell as cells
from ..errors import EXHAUSTED, USED_UP, VALID, BadInput, CellDied, not_valid
from ..figures import checks
from ..machine import outputs, placement, rights, system
from ..machine.places import Places, versions, virtual_kernel
from ..runs import emulate, pool, tcpl, transfers
from ..settings import emulator, inputs
from ..settings.command_line import FILE, Parser
from ..settings.scenario import Scenario
from ..text import of_file, of_json
from . import in_ns3, in_virtual_time, workloads
from .settings import ATTEMPTS

# name of the abstract sockets that number the runs on this machine
CELL_SOCKETS = "openwip-experiment-run"


def parser() -> Parser:
    p = Parser(
        "experiment-run",
        "Makes one run of an experiment; experiment and campaign start many of these at a time.",
    )
    p.add_argument(
        "spec",
        names=FILE,
        metavar="SPEC",
        help="file with the specification of a run, specs/KEY.json of a campaign",
    )
    p.add_argument(
        "out",
        metavar="OUT",
        help="file for the result, which is written in one piece when the run is over",
    )
    p.add_argument(
        "--with-parent",
        type=int,
        metavar="PID",
        help="end when the process PID ends, which has to be the parent of this one",
    )
    return p


def read_spec(path: pathlib.Path) -> dict[str, Any]:
    try:
        spec = of_json(of_file(path))
    except (OSError, ValueError) as e:
        raise BadInput(
            f"specification {path}: {getattr(e, 'strerror', None) or 'it is not JSON'}"
        ) from None
    kinds: tuple[dict[str, type], ...] = (
        {"emulator": dict, "workload": dict},
        {"tcp-l": dict, "settings": dict, "name": str},
    )
    if not isinstance(spec, dict) or not any(
        all(isinstance(spec.get(part), group[part]) for part in group) for group in kinds
    ):
        raise BadInput(
            f"specification {path}: lacks the key emulator or the key workload; valid: a file"
            " specs/KEY.json that ./openwip experiment has written"
        )
    if not isinstance(spec.get("inputs", {}), dict):
        raise not_valid(
            f"specification {path}: inputs",
            repr(spec["inputs"]),
            "a mapping of files to their SHA-256",
        )
    return spec


@contextlib.contextmanager
def reserved_cell(prefix: str) -> Iterator[tuple[str, placement.Placement]]:
    """Yields a cell name and cores that no other run on this machine uses. A run holds its number
    by an abstract socket, which disappears with its process."""
    for index in itertools.count():
        with socket.socket(socket.AF_UNIX) as mine:
            try:
                mine.bind(f"\0{CELL_SOCKETS}-{index}")
            except OSError as e:
                # any other error would come again with the next number
                if e.errno != errno.EADDRINUSE:
                    raise
                continue
            # if it is up, its supervisor may just be ending it
            if not cells.Cell(f"{prefix}{index}").is_up():
                yield f"{prefix}{index}", placement.of_several(index)
                return


def emulator_of(spec: dict[str, Any], places: Places) -> dict[str, Any]:
    """Settings of the emulator for a run. Names of files are relative to the top of the tree,
    wherever the run is made."""
    return inputs.under(spec["emulator"], emulator.SETTINGS, places.top)


def inputs_of(spec: dict[str, Any], places: Places) -> dict[str, str]:
    """{file that the run reads: SHA-256}. Raises BadInput if a file has changed since the run was
    planned."""
    now = inputs.hashes(spec.get("emulator", {}), emulator.SETTINGS, places.top)
    for name, content in spec.get("inputs", {}).items():
        if now.get(name) != content:
            raise BadInput(
                f"{name} has SHA-256 {now.get(name, 'unknown')[:16]}..., but had"
                f" {str(content)[:16]}... when this run was planned: the file has changed since;"
                " valid: the file as it was, or another --out"
            )
    return now


def attempt(
    spec: dict[str, Any], places: Places, progress: Callable[[str], None]
) -> dict[str, Any]:
    if "tcp-l" in spec and spec.get("time") in transfers.WITHOUT_CLOCK:
        return transfers.run_without_clock(
            spec["time"], spec["tcp-l"], Scenario(spec["settings"], tcpl.SETTINGS), places
        )
    if spec.get("time") == "virtual":
        with reserved_cell("x") as (_, cores):
            return in_virtual_time.run(
                emulator_of(spec, places), spec["workload"], progress, places=places, cores=cores
            )
    if spec.get("time") == "ns3":
        return in_ns3.run(
            emulator_of(spec, places), spec["workload"], spec.get("tcp"), progress, places=places
        )
    with reserved_cell(spec.get("name", "x")) as (name, cores):
        if "tcp-l" in spec:
            return transfers.run_one(
                spec["tcp-l"], Scenario(spec["settings"], tcpl.SETTINGS), name, places, cores=cores
            )
        return emulate.run(
            emulator_of(spec, places),
            workloads.make(spec["workload"], places),
            progress,
            places=places,
            name=name,
            cores=cores,
        )


def may_be_repeated(spec: dict[str, Any], result: dict[str, Any] | None) -> bool:
    """Whether another attempt makes sense, since the machine may be less busy then. A run in
    virtual time would have the same outcome. `result`: the result of an invalid run; None: its cell
    died."""
    return spec.get("time", "real") == "real" and (
        "tcp-l" not in spec
        or result is None
        or checks.failed(result["verdict"], checks.Name.PACING)
    )


def attempts_of(
    spec: dict[str, Any],
    places: Places,
    progress: Callable[[str], None],
    one: Callable[..., dict[str, Any]] = attempt,
) -> dict[str, Any]:
    """An attempt whose verdict is invalid, or whose cell died, is repeated, and counted."""
    attempts: list[dict[str, Any]] = []
    result: dict[str, Any] | None = None
    while not attempts or (
        len(attempts) < ATTEMPTS and not attempts[-1]["valid"] and may_be_repeated(spec, result)
    ):
        began = time.monotonic()
        try:
            result = one(spec, places, progress)
            valid, reasons = bool(result["verdict"]["valid"]), list(result["verdict"]["reasons"])
        except CellDied as e:
            valid, reasons, result = (
                False,
                [f"died: {e}", *(f"{n}: {words}" for n, words in e.last_words)],
                None,
            )
        progress(f"attempt {len(attempts) + 1}: {'valid' if valid else reasons[0]}")
        attempts.append(
            {"valid": valid, "reasons": reasons, "seconds": round(time.monotonic() - began, 2)}
        )
    return {"valid": attempts[-1]["valid"], "attempts": attempts, "result": result}


def machine() -> dict[str, Any]:
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return {
        "name": platform.node(),
        "processor": model[1] if model else platform.machine(),
        "cores": len(placement.usable()),
    }


def main(arguments: list[str], places: Places) -> int:
    """Exits with EXHAUSTED, where other commands fail, if this machine ran out of memory, files or
    processes: another attempt may succeed."""
    try:
        return make(arguments, places)
    except (MemoryError, OSError) as e:
        if isinstance(e, OSError) and e.errno not in USED_UP:
            raise
        print(
            ": ".join(
                str(w)
                for w in (
                    "openwip: this machine cannot",
                    getattr(e, "strerror", "no more memory"),
                    getattr(e, "filename", None),
                )
                if w
            ),
            file=sys.stderr,
        )
        return EXHAUSTED


def make(arguments: list[str], places: Places) -> int:
    given = parser().parse_args(arguments)
    if given.with_parent:
        pool.with_parent(given.with_parent)
    path = pathlib.Path(given.spec)
    spec, out = read_spec(path), outputs.check("OUT", given.out, path)
    if spec.get("time", "real") == "real":
        rights.require_for_a_cell()
        system.require_tun()

    def progress(text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    read = inputs_of(spec, places)
    made = attempts_of(spec, places, progress)
    now = inputs_of(spec, places)
    if changed := sorted(
        name for name in now.keys() | read.keys() if now.get(name) != read.get(name)
    ):
        raise BadInput(
            f"{', '.join(changed)}: changed while the run read it; valid: a file that does not"
            " change during the run"
        )
    of_run = versions(places) | (virtual_kernel(places) if spec.get("time") == "virtual" else {})
    pool.write_json(
        out,
        {"key": path.stem, "spec": spec}
        | made
        | ({"inputs": read} if read else {})
        | {"machine": machine(), "versions": of_run, "ended": time.strftime("%Y-%m-%dT%H:%M:%S%z")},
    )
    return VALID
