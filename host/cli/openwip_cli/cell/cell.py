# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell on this machine: its names, its run directory, and how to remove whatever is left of it.

Run directory /run/openwip/CELL (mode 2750, root's; the account that its processes become may enter
and read it. Only root makes, renames and removes anything there, and what root reads back from it
has to be root's: own_files.py):
  state.json   who made it and what it made (namespaces), written before anything is made
  pids/NAME    "pid start-time" of each process
  why          why the cell ends; every process repeats it as its last line
  *.yaml *.log and the ipc sockets
The directory is also the lock: whoever holds flock on it owns the cell. A directory that nobody
holds is what a kill -9 left. Somebody may delete it: so a namespace itself says whose it is
(system.make_namespace), and the supervisor, which holds the directory, can be found by that."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
from collections.abc import Sequence
from typing import Any

from ..errors import BadInput
from ..machine import media, own_files, procfs, system
from . import outside

RUN_ROOT = pathlib.Path("/run/openwip")
SUPERVISOR_ENDS_S = 5  # seconds that a supervisor takes: it ends its processes first
ADDRESS = {"base": "10.42.0.1", "terminal": "10.42.0.2"}
ADDRESS6 = {"base": "fd42:10:42::1", "terminal": "fd42:10:42::2"}
# Addresses of a controller: towards the wired network and towards the bearer.
WIRED_ADDRESS, RADIO_ADDRESS = "10.42.254.1/32", "10.42.254.2/32"
STATIONS = ("base", "terminal")
# stands between the base station's server and the bearer (runs/split_tcp.py)
CONTROLLER = "controller"
SUPERVISOR = "owip-keeper"  # process name of the supervisor
PIDS = "pids"  # folder in the run directory
MARK = "openwip cell "  # mark of a namespace; the name of its cell follows


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
        """The station with the interface of the link on the base station's side: the controller,
        where there is one."""
        return CONTROLLER if system.namespace_exists(self.namespace(CONTROLLER)) else "base"

    @property
    def noted(self) -> pathlib.Path:
        """A line for everything that was not as it should be for a while: the supervisor's, for the
        verdict monitor."""
        return self.run / "noted"

    def endpoint(self, socket: str) -> str:
        return f"ipc://{self.run}/{socket}"

    def line(self, socket: str) -> str:
        """Endpoint of a connection between two processes of the slot path, in shared memory
        (blocks/peer)."""
        return f"shm://{self.run}/{socket}"

    @property
    def state(self) -> dict[str, Any]:
        return self._read_json("state.json") or {}

    @property
    def replay(self) -> dict[str, Any] | None:
        """{"file", "start_ns"} of a cell that plays recorded samples (iq/replay_cell.py), None of
        any other."""
        return self._read_json("replay.json")

    def _read_json(self, name: str) -> dict[str, Any] | None:
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
                raise no_directory(e) from None
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                return False
            self.release()  # the directory has been removed meanwhile
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
        """The option by which commands name this cell."""
        return "" if self.name == "demo" else f" --name {self.name}"

    def is_up(self) -> bool:
        """Whether somebody owns the cell. A directory without an owner in which there is nothing is
        removed: a launcher that was killed as it began has left it."""
        try:
            fd = os.open(self.run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except NotADirectoryError as e:
            raise no_directory(e) from None
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # two who look do not see each other
            self._remove_empty(fd)
        except BlockingIOError:
            return True
        finally:
            os.close(fd)
        return False

    def _remove_empty(self, fd: int) -> None:
        """Removes the directory of which `fd` has the shared lock, if it is as a launcher that was
        killed as it began has left it."""
        if set(os.listdir(fd)) - {PIDS}:
            return
        with contextlib.suppress(OSError):  # somebody begins with it, or has removed it
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.stat(self.run)):
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(PIDS, dir_fd=fd)
                os.rmdir(self.run)
                RUN_ROOT.rmdir()  # it stays while there are other cells

    def owns_directory(self) -> bool:
        """The directory is there, and the one that this process has locked."""
        with contextlib.suppress(OSError):
            return self.lock is not None and os.path.samestat(
                os.fstat(self.lock), os.stat(self.run)
            )
        return False

    def prepare_directory(self) -> None:
        """Files made here belong to the account's group, so that its processes reach them after
        they gave up their privileges; nobody else enters."""
        _, _, group = system.account()
        assert self.lock is not None, "only the owner of a cell prepares its directory"
        # By descriptor: the directory that is locked, even if its name leads elsewhere.
        os.fchown(self.lock, 0, group)
        os.fchmod(self.lock, 0o2750)
        with contextlib.suppress(FileExistsError):
            os.mkdir(PIDS, dir_fd=self.lock)
        pids = os.open(
            PIDS, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.lock
        )
        try:
            os.fchmod(pids, 0o2750)
        finally:
            os.close(pids)

    # --- what is left of it ---

    def recorded_processes(self) -> list[tuple[int, int]]:
        """(pid, start time) of each process, as the supervisor has written them down."""
        found = []
        for path in (self.run / PIDS).glob("*"):
            with contextlib.suppress(OSError, ValueError):
                pid, started = own_files.read(path).split()
                found.append((int(pid), int(started)))
        return found

    def made_namespaces(self) -> list[str]:
        """The namespaces of this cell that exist: those in its state file, and those that bear its
        mark."""
        written = [n for n in self.state.get("namespaces", []) if system.namespace_exists(n)]
        own_name = re.compile(re.escape(self.namespace("")) + rf"(base|terminal\d*|{CONTROLLER})")
        return written + [
            n
            for n in namespaces_made()
            if n not in written and own_name.fullmatch(n) and system.mark_of(n) == self.mark
        ]

    def supervisors(self) -> list[tuple[int, int]]:
        """(pid, start time) of other supervisors of a cell of this name whose directory has been
        deleted."""
        return [
            p for p in system.holders(f"{self.run} (deleted)", SUPERVISOR) if p[0] != os.getpid()
        ]

    def medium_files(self) -> list[pathlib.Path]:
        """Files at which the medium of this cell and its radios met, if it has gone and left
        them."""
        return media.left(self.name)

    def leftovers(self) -> list[str]:
        """The parts of this cell that exist, one name each."""
        left = [f"namespace {n}" for n in self.made_namespaces()]
        left += [
            f"process {pid}"
            for pid, started in self.recorded_processes()
            if procfs.start_time(pid) == started
        ]
        left += [f"supervisor {pid}" for pid, _ in self.supervisors()]
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
            left += system.kill_all(
                self.supervisors(), SUPERVISOR_ENDS_S
            )  # the supervisor removes what it made
            namespaces = {n: system.namespace_identity(n) for n in self.made_namespaces()}
        left += system.kill_all(
            self.recorded_processes() if processes is None else processes, grace
        )
        outside.undo(self)
        for name, identity in namespaces.items():
            inside = system.kill_all(system.processes_in_namespace(identity), grace=0.3)
            left += inside
            if identity is not None and system.namespace_identity(name) == identity and not inside:
                system.delete_namespace(name)
        pids = sorted({pid for pid, _ in left})
        if self.run.exists() and not self.owns_directory():
            # By now another cell has this name: the directory was deleted, which made room for it.
            return pids
        if left:
            return pids
        media.remove(self.name)
        shutil.rmtree(self.run, ignore_errors=True)
        with contextlib.suppress(OSError):
            RUN_ROOT.rmdir()  # it stays while there are other cells
        return pids


def no_directory(e: OSError) -> BadInput:
    return BadInput(f"{e.filename} exists and is no directory: remove it, or use --name")


def namespaces_made() -> list[str]:
    """Names of namespaces that may be a cell's."""
    with contextlib.suppress(OSError):
        return sorted(n for n in os.listdir(system.namespace_file("")) if n.startswith("owip-"))
    return []


def names() -> list[str]:
    """The names of all cells of this machine of which anything exists."""
    marks = [m for n in namespaces_made() if (m := system.mark_of(n)) and m.startswith(MARK)]
    return sorted(
        {d.name for d in RUN_ROOT.glob("*") if d.is_dir()} | {m.removeprefix(MARK) for m in marks}
    )


def up() -> list[str]:
    """The names of the cells that somebody owns. Empty directories of others are removed."""
    folders = (d.name for d in RUN_ROOT.glob("*") if d.is_dir() and not d.is_symlink())
    return sorted(name for name in folders if Cell(name).is_up())
