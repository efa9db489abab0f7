# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell on this machine: its names, its run directory, the configuration of its processes, and how
to remove whatever is left of it.

Run directory /run/openwip/CELL (mode 2750, root's; the account that its processes become may enter
and read it. Only root makes, renames and removes anything there, and what root reads back from it
has to be root's: own_files.py):
  state.json   who made it and what it made (namespaces), written before anything is made
  pids/NAME    "pid start-time" of each process
  why          why the cell ends; every process repeats it as its last line
  *.yaml *.log and the ipc sockets
The directory is also the lock: whoever holds flock on it owns the cell. A directory that nobody
holds is what a kill -9 left. Somebody may delete it: so a namespace itself says whose it is
(system.make_namespace), and the keeper, which holds the directory, can be found by that."""

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import shutil
from collections.abc import Sequence
from typing import Any

from ..air import SLOT_SAMPLES
from ..errors import BadInput
from ..machine import media, own_files, rights, system
from ..machine.places import Places
from ..settings import inputs, radios, table
from ..settings.scenario import NOMINAL_TRANSMIT_DBFS, SETTINGS, Scenario, text_of
from ..text import to_yaml

# of the build
MACD, MEDIUM, FADER = "host/macd/macd", "host/medium/air", "host/cabled/wip_fader"
RUN_ROOT = pathlib.Path("/run/openwip")
TRANSMITTER = "base.channel"  # control of a channel in the base station's flowgraph
KEEPER_ENDS_S = 5  # it ends its processes first
ADDRESS = {"base": "10.42.0.1", "terminal": "10.42.0.2"}
# of a controller, at the wired network and at the bearer
WIRED_ADDRESS, RADIO_ADDRESS = "10.42.254.1/32", "10.42.254.2/32"
STATIONS = ("base", "terminal")
CONTROLLER = "controller"  # between the base station's server and the bearer (runs/split_tcp.py)
FIRST_DESCRIPTOR = 10  # of those that a process is handed
# above the stations' (host/runtime/realtime.h), where its clock does not wait for them
FADER_PRIORITY = 11
# above a transmitter's (flowgraphs/apps/station.py), where its clock waits for nobody: a clock that
# stood still while others worked would then go on by more than a radio's store lasts
MEDIUM_PRIORITY = 12
KEEPER = "owip-keeper"  # the name of that process
MARK = "openwip cell "  # in a namespace, before the name of its cell


@dataclasses.dataclass
class Process:
    name: str
    argv: list
    environment: dict
    namespace: str | None = None
    essential: bool = True  # its death ends the cell; that of an observer is reported only
    slot_path: bool = False  # a slot goes through it (placement.py)
    apart: bool = False  # and need not wait for it, on a clock that does not
    # all that it may ever hold; None: root's, of a program that gives them up itself
    capabilities: tuple | None = None
    of_the_group: bool = False  # it is of the account's group, for sockets that are the account's
    descriptors: tuple = ()  # handed to it as FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + 1, ...


class Cell:
    def __init__(
        self, name: str = "demo", terminals: int = 1, base: bool = True, controller: bool = False
    ) -> None:
        """`base`: there is a base station; a replay of recorded samples has none. `controller`: one
        is to be made."""
        self.name = name
        self.terminals = ["terminal" if n == 1 else f"terminal{n}" for n in range(1, terminals + 1)]
        self.stations = ["base"] * base + self.terminals
        self.controller = [CONTROLLER] * controller
        self.run = RUN_ROOT / name
        self.lock: int | None = None

    def namespace(self, station: str) -> str:
        return f"owip-{self.name}-{station}"

    @property
    def mark(self) -> str:
        return MARK + self.name

    @property
    def namespaces(self) -> list[str]:
        return [self.namespace(s) for s in (*self.stations, *self.controller)]

    @property
    def link_end(self) -> str:
        """Where the link's interface on the base station's side is: at the controller, where there
        is one."""
        return CONTROLLER if system.namespace_exists(self.namespace(CONTROLLER)) else "base"

    @property
    def noted(self) -> pathlib.Path:
        """A line for everything that was not as it should be for a while: the keeper's, for the
        judge."""
        return self.run / "noted"

    def endpoint(self, socket: str) -> str:
        return f"ipc://{self.run}/{socket}"

    def line(self, socket: str) -> str:
        """Between two processes of the slot path: shared memory (host/peer)."""
        return f"shm://{self.run}/{socket}"

    @property
    def state(self) -> dict[str, Any]:
        return self._said("state.json") or {}

    @property
    def replay(self) -> dict[str, Any] | None:
        """{"file", "start_ns"} of a cell that plays recorded samples (iq/replay_cell.py), None of
        any other."""
        return self._said("replay.json")

    def _said(self, name: str) -> dict[str, Any] | None:
        with contextlib.suppress(OSError, ValueError):
            return json.loads(own_files.read(self.run / name))
        return None

    def write_state(self, state: dict[str, Any]) -> None:
        own_files.replace(self.run / "state.json", json.dumps(state, indent=1))

    # --- ownership ---

    def acquire(self) -> bool:
        """Become the owner: True, or False when somebody else is. Creates the directory."""
        while True:
            try:
                RUN_ROOT.mkdir(exist_ok=True)
                os.chmod(RUN_ROOT, 0o755)  # whatever the umask
                self.run.mkdir(mode=0o700, exist_ok=True)
                fd = os.open(self.run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except (FileExistsError, NotADirectoryError) as e:
                raise BadInput(
                    f"{e.filename} exists and is no directory: remove it, or use --name"
                ) from None
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return False
            self.release()  # of a directory that is gone meanwhile
            self.lock = fd
            if self.owns_directory():
                return True
            self.release()  # the former owner removed the directory between open and flock

    def release(self) -> None:
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    @property
    def named(self) -> str:
        """Of commands that mean it."""
        return "" if self.name == "demo" else f" --name {self.name}"

    def is_up(self) -> bool:
        if not (up := self.run.exists() and not self.acquire()):
            self.release()
        return up

    def owns_directory(self) -> bool:
        """The directory is there, and the one that this process has locked."""
        with contextlib.suppress(OSError):
            return self.lock is not None and os.path.samestat(
                os.fstat(self.lock), os.stat(self.run)
            )
        return False

    def prepare_directory(self) -> None:
        """What is made here is of the account's group, so that its processes reach it after they
        gave up their privileges; nobody else enters."""
        _, _, group = system.account()
        assert self.lock is not None, "only the owner of a cell prepares its directory"
        # the directory that is locked, whatever stands at its name
        os.fchown(self.lock, 0, group)
        os.fchmod(self.lock, 0o2750)
        with contextlib.suppress(FileExistsError):
            os.mkdir("pids", dir_fd=self.lock)
        pids = os.open(
            "pids", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.lock
        )
        try:
            os.fchmod(pids, 0o2750)
        finally:
            os.close(pids)

    # --- what is left of it ---

    def recorded_processes(self) -> list[tuple[int, int]]:
        """(pid, start time) of each process, as the keeper has written them down."""
        found = []
        for path in (self.run / "pids").glob("*"):
            with contextlib.suppress(OSError, ValueError):
                pid, started = own_files.read(path).split()
                found.append((int(pid), int(started)))
        return found

    def made_namespaces(self) -> list[str]:
        """Those of this cell that exist: as it wrote down, and as they say themselves."""
        written = [n for n in self.state.get("namespaces", []) if system.namespace_exists(n)]
        mine = re.compile(re.escape(self.namespace("")) + rf"(base|terminal\d*|{CONTROLLER})")
        return written + [
            n
            for n in namespaces_made()
            if n not in written and mine.fullmatch(n) and system.mark_of(n) == self.mark
        ]

    def keepers(self) -> list[tuple[int, int]]:
        """(pid, start time) of other keepers of a cell of this name whose directory has been
        deleted."""
        return [p for p in system.holders(f"{self.run} (deleted)", KEEPER) if p[0] != os.getpid()]

    def medium_files(self) -> list[pathlib.Path]:
        """Where the medium of this cell and its radios met, if it has gone and left them."""
        return media.left(self.name)

    def leftovers(self) -> list[str]:
        """What of this cell exists, one name each."""
        left = [f"namespace {n}" for n in self.made_namespaces()]
        left += [
            f"process {pid}"
            for pid, started in self.recorded_processes()
            if system.start_time(pid) == started
        ]
        left += [f"keeper {pid}" for pid, _ in self.keepers()]
        left += [f"{p}, of a medium that has gone" for p in self.medium_files()]
        left += [f"directory {self.run}"] if self.run.exists() and any(self.run.iterdir()) else []
        return left

    def remove(
        self,
        grace: float = 1.0,
        processes: Sequence[tuple[int, int]] | None = None,
        namespaces: dict[str, tuple[int, int] | None] | None = None,
    ) -> list[int]:
        """End and delete everything of this cell, for the owner only. Repeating it does no harm.
        `processes` (pid, start time) and `namespaces` (name -> identity): for whoever remembers
        them; else what was written down and what the namespaces say counts. Returns the pids of
        those that could not be ended; what leads to them stays, so that it can be repeated by
        somebody with more rights."""
        left = []
        if namespaces is None:
            left += system.kill_all(self.keepers(), KEEPER_ENDS_S)  # it removes what it made
            namespaces = {n: system.namespace_identity(n) for n in self.made_namespaces()}
        left += system.kill_all(
            self.recorded_processes() if processes is None else processes, grace
        )
        for name, identity in namespaces.items():
            inside = system.kill_all(system.processes_in_namespace(identity), grace=0.3)
            left += inside
            if identity is not None and system.namespace_identity(name) == identity and not inside:
                system.delete_namespace(name)
        pids = sorted({pid for pid, _ in left})
        if self.run.exists() and not self.owns_directory():
            # the name is another cell's by now: whoever deleted the directory made room for it
            return pids
        if left:
            return pids
        media.remove(self.name)
        shutil.rmtree(self.run, ignore_errors=True)
        with contextlib.suppress(OSError):
            RUN_ROOT.rmdir()  # unless there are other cells
        return pids


def namespaces_made() -> list[str]:
    """Names of namespaces that may be a cell's."""
    with contextlib.suppress(OSError):
        return sorted(n for n in os.listdir(system.namespace_file("")) if n.startswith("owip-"))
    return []


def names() -> list[str]:
    """Of all cells of this machine of which there is anything."""
    marks = [m for n in namespaces_made() if (m := system.mark_of(n)) and m.startswith(MARK)]
    return sorted(
        {d.name for d in RUN_ROOT.glob("*") if d.is_dir()} | {m.removeprefix(MARK) for m in marks}
    )


def up() -> list[str]:
    return sorted(d.name for d in RUN_ROOT.glob("*") if d.is_dir() and Cell(d.name).is_up())


# --- configuration of the processes ---


def mac_config(cell: Cell, scenario: Scenario, role: str) -> dict[str, Any]:
    """Of a macd: every setting of the scenario that it has, and what belongs to the cell."""
    s = scenario
    given = inputs.for_process(s.values, SETTINGS)
    values = {
        theirs: given[ours]
        for theirs, ours in table.process_keys("macd", "demo").items()
        if given.get(ours) is not None
    }
    values |= {"link.fader_slots": s.fader_slots}
    return table.nested(values) | {
        "role": role,
        "name": cell.name,
        "tun": {"name": "wip0", "address": f"{ADDRESS[role]}/30", "mtu": 1500},
        "endpoints": {
            "slot_link": cell.line(f"{role}.slot"),
            "uplink": cell.line("uplink"),
            "control": cell.endpoint(f"{role}.control"),
            "telemetry": cell.endpoint(f"{role}.telemetry"),
        },
        "user": system.account()[0],
        # The peer is quiet for as long as the medium takes to start its radios; slower at low
        # speed.
        "peer_timeout_s": max(2, round(2 / s.speed)),
    }


def air_config(cell: Cell, scenario: Scenario) -> dict[str, Any]:
    s = scenario
    radio = radios.radios(s)
    base, terminal = radio["base"].level_db, radio["terminal"].level_db
    # The latency of a multipath filter is taken off the delay of the path, so with 6 samples a
    # change of the channel while it runs does not move the signal.
    path = {
        "from": "base",
        "to": "terminal",
        "gain_db": round(-base - terminal, 4) + 0.0,
        "delay_samples": 6,
        "channel": s["channel.model"],
        "shadowing": s["channel.shadowing"],
        "user": s["channel.user"],
    }
    if s.plays_trace:
        path |= {
            "channel": str(pathlib.Path(s["channel.model"]).resolve()),
            "trace_snr_db": s["channel.snr_db"],
        }
    if s.speed_kmh is not None:
        path["speed_kmh"] = s.speed_kmh
    own = {
        key.removeprefix("air."): s[key]
        for key in table.keys_of("medium")
        if key.startswith("air.") and key in s.values
    }
    air = own | {
        "name": cell.name,
        "speed": s.speed,
        "quantum": SLOT_SAMPLES,
        "wait_for": {"transmitters": 1, "receivers": 1},
        "seed": s["seed"],
        "control": cell.endpoint("air.control"),
        "user": system.account()[0],
    }
    if s["air.clock"] == "realtime":
        air["priority"] = MEDIUM_PRIORITY
    if s.fade_in_transmitter:
        return {
            "air": air | {"fader": cell.endpoint(TRANSMITTER)},
            "nodes": {"base": {}, "terminal": {"impairments": s["impairments"]}},
            "paths": [{key: path[key] for key in ("from", "to", "gain_db")}],
        }
    noise = {"noise_dbfs": round(s.noise_dbfs - terminal, 4)}
    if not s.cabled:
        sent = {"transmit_dbfs": round(NOMINAL_TRANSMIT_DBFS + base, 4)} if base else {}
        return {
            "air": air,
            "nodes": {"base": sent, "terminal": noise | {"impairments": s["impairments"]}},
            "paths": [path],
        }
    # The medium is two cables, with the fader's radios at their ends.
    return {
        "air": (
            air
            | {
                "wait_for": {"transmitters": 2, "receivers": 2},
                "fader": cell.endpoint("fader.control"),
            }
        ),
        "nodes": {
            "base": {},
            "fader-base": {},
            "fader-terminal": {},
            "terminal": {"impairments": s["impairments"]},
        },
        "paths": [
            {
                "from": "base",
                "to": "fader-base",
                "gain_db": round(-base - radio["fader-base"].level_db, 4) + 0.0,
            },
            {
                "from": "fader-terminal",
                "to": "terminal",
                "gain_db": round(-radio["fader-terminal"].level_db - terminal, 4) + 0.0,
            },
        ],
    }


def fader_config(cell: Cell, scenario: Scenario) -> dict[str, Any]:
    """With the channel that the medium would have. A product with two channels is one device at
    both cables."""
    medium = air_config(cell, scenario.replaced({"air.over": "medium"}))
    path, of = medium["paths"][0], radios.radios(scenario)
    gains = {"base": "receive_gain_db", "terminal": "transmit_gain_db"}
    one = radios.two_channels(of["fader-base"])
    radio = {
        node: {
            "radio": ",".join(
                filter(
                    None,
                    (
                        f"type=vusrp,air={cell.name},node="
                        + ("fader-base:fader-terminal" if one else f"fader-{node}"),
                        of[f"fader-{node}"].arguments,
                    ),
                )
            ),
            "channel": i if one else 0,
            gain: of[f"fader-{node}"].gain,
        }
        for i, (node, gain) in enumerate(gains.items())
    }
    air = {
        "name": cell.name,
        "seed": scenario["seed"],
        "control": cell.endpoint("fader.control"),
        "user": system.account()[0],
    }
    # its samples are due, whatever a station computes: a search for the lock takes long
    if scenario["air.clock"] == "realtime":
        air["priority"] = FADER_PRIORITY
    return {
        "air": air,
        "fader": {"delay_samples": scenario["fader.delay_samples"], "start_delay_s": 0.05},
        "nodes": {
            "base": radio["base"],
            "terminal": radio["terminal"] | {"noise_dbfs": round(scenario.noise_dbfs, 4)},
        },
        "paths": [path | {"gain_db": 0.0}],
    }


def write_config(cell: Cell, name: str, tree: dict[str, Any]) -> str:
    """Of a process, into the run folder: its path."""
    path = cell.run / f"{name}.yaml"
    own_files.create(path, to_yaml(tree))
    return str(path)


def write_configs(cell: Cell, scenario: Scenario) -> None:
    write_config(cell, "air", air_config(cell, scenario))
    if scenario.cabled:
        write_config(cell, "fader", fader_config(cell, scenario))
    for role in STATIONS:
        write_config(cell, role, mac_config(cell, scenario, role))


def radio_environment(cell: Cell, places: Places) -> dict[str, str]:
    return {
        "OPENWIP_RUN": str(cell.run),
        "PYTHONPATH": str(places.build / "python"),
        "UHD_MODULE_PATH": str(places.build / "uhd_modules"),
        "GR_CONF_CONTROLPORT_ON": "False",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def flowgraph(role: str, places: Places) -> list[str]:
    return [
        str(places.python),
        str(
            places.top
            / "flowgraphs"
            / "apps"
            / ("base_station.py" if role == "base" else "terminal.py")
        ),
    ]


def transmitter_options(scenario: Scenario, control: str = "") -> list[str]:
    options = [
        "--edge-samples",
        str(scenario["radio.edge_samples"]),
        "--lead",
        str(scenario["link.transmit_lead_slots"]),
    ]
    if not scenario.cabled and not scenario.fade_in_transmitter:
        return options
    options.append("--bursts-first")
    if scenario.cabled:
        return options
    channel = {
        "speed_kmh": -1 if scenario.speed_kmh is None else scenario.speed_kmh,
        "shadowing": text_of(scenario["channel.shadowing"]),
        "user": scenario["channel.user"],
        "noise_dbfs": round(scenario.noise_dbfs, 4),
        "seed": scenario["seed"],
    }
    return [
        *options,
        "--channel-control",
        control,
        "--channel",
        ",".join(
            [scenario["channel.model"], *(f"{key}={value}" for key, value in channel.items())]
        ),
    ]


def receiver_options(scenario: Scenario) -> list[str]:
    return [
        "--horizon",
        str(scenario.retransmission_delay_slots),
        "--combining",
        scenario["link.combining"],
        "--predictor",
        inputs.for_process(scenario.values, SETTINGS)["phy.predictor"],
        "--gain-control",
        scenario["phy.gain_control"],
    ]


def packet_options(radio: radios.Radio) -> list[str]:
    """A software USRP without a product releases whole slots: with one packet a slot, a slot wakes
    each thread once."""
    return [] if radio.arguments else ["--spp", str(SLOT_SAMPLES)]


def cell_processes(
    cell: Cell,
    scenario: Scenario,
    places: Places,
    record_iq: dict[str, list[str]] | None = None,
    record_to: dict[str, tuple[int, ...]] | None = None,
) -> list[Process]:
    """In the order of starting: the medium and the MACs bind, the radios attach. `record_iq`: more
    arguments of a station's flowgraph, by station; `record_to`: descriptors of the files that it
    records to."""
    more, files = record_iq or {}, record_to or {}
    run = cell.run
    common, radio = {"OPENWIP_RUN": str(run)}, radio_environment(cell, places)
    radio_of = radios.radios(scenario)

    def station(role: str, *extra: str) -> list[str]:
        return [
            *flowgraph(role, places),
            "--args",
            ",".join(
                filter(None, (f"type=vusrp,air={cell.name},node={role}", radio_of[role].arguments))
            ),
            "--endpoint",
            cell.line(f"{role}.slot"),
            "--freq",
            "1.8e9",
            "--record-endpoint",
            cell.endpoint(f"{role}.iq"),
            "--least-rights",
            *more.get(role, ()),
            "--start-time",
            "0.1",
            *extra,
        ]

    def mac(role: str) -> "Process":
        return Process(
            f"{role}.macd",
            [str(places.path(MACD)), "--config", str(run / f"{role}.yaml")],
            common,
            cell.namespace(role),
            slot_path=True,
        )

    fader = (
        [
            Process(
                "fader",
                [
                    str(places.path(FADER)),
                    "--config",
                    str(run / "fader.yaml"),
                    *more.get("fader", ()),
                ],
                radio,
                slot_path=True,
                apart=True,
                capabilities=rights.SLOT_PATH,
            )
        ]
        if scenario.cabled
        else []
    )
    return [
        Process(
            "air",
            [str(places.path(MEDIUM)), "--config", str(run / "air.yaml")],
            common,
            slot_path=True,
            capabilities=rights.SLOT_PATH,
        ),
        *fader,
        mac("base"),
        mac("terminal"),
        Process(
            "base.radio",
            station(
                "base",
                "--transmit-gain",
                f"{radio_of['base'].gain:g}",
                *transmitter_options(scenario, cell.endpoint(TRANSMITTER)),
            ),
            radio,
            slot_path=True,
            capabilities=rights.to_load(rights.RADIO, places.top, places.build),
            of_the_group=True,
            descriptors=files.get("base", ()),
        ),
        Process(
            "terminal.radio",
            station(
                "terminal",
                "--receive-gain",
                f"{radio_of['terminal'].gain:g}",
                *packet_options(radio_of["terminal"]),
                *receiver_options(scenario),
            ),
            radio,
            slot_path=True,
            capabilities=rights.to_load(rights.RADIO, places.top, places.build),
            of_the_group=True,
            descriptors=files.get("terminal", ()),
        ),
    ]
