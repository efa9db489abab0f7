# SPDX-License-Identifier: GPL-3.0-or-later
"""The supervisor: the parent of all processes of a cell.

A launcher that is killed cannot clean up after itself. So it forks, before anything exists, a small
process in a session of its own, and that one makes the namespaces, starts the processes and removes
everything. Whoever dies, somebody is left who knows it at once:

  a process of the cell  the supervisor (pidfd): writes `why`, ends the others, tells the launcher;
                         without observer and verdict monitor it goes on, and says so
  the launcher           the supervisor (end of file on their socket): ends everything, unless the
                         launcher had said `detach` (--keep)
  the supervisor             the launcher (end of file): removes everything; the processes themselves
                         get SIGTERM from the kernel (PR_SET_PDEATHSIG)

It looks at what the cell stands on (surroundings.py): a namespace or the run folder that is deleted
from outside ends the cell, an interface that stays down ends a run, and a stalled process
is named before those that miss it.

Launcher and supervisor talk in JSON over a SOCK_SEQPACKET pair."""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..errors import BadInput, CellDied, describe_os_error, how_ended, without_middle
from ..machine import outputs, own_files, procfs, reason, rights, system
from ..machine.placement import Placement
from ..machine.reason import Cause, Reason
from ..machine.surroundings import Surroundings
from .cell import SUPERVISOR, Cell
from .process import FIRST_DESCRIPTOR, Process

GRACE_S = 1.3  # seconds after SIGTERM; processes promise to end within 1 s
CAUSE_S = 0.1  # seconds to tell the cause of a death from its consequences
ENDED_S = 12.0  # seconds for the whole end, where a process does not end
DEPENDENCY = 3  # exit code of a process that lost another one that it needs
MAX_MESSAGE = 1 << 17  # bytes
MOST_DESCRIPTORS = 8  # descriptors that one process is handed at most
LONGEST_WORDS = 1000  # characters of a last line


class Noted:
    """The last MOST lines of all that were noted in the life of a cell, and how many came before
    them."""

    MOST = 1000

    def __init__(self, text: str = "") -> None:
        """`text`: the lines, as text() returned them."""
        before, *lines = text.splitlines() or ["0"]
        self.before, self.lines = int(before), lines

    def add(self, line: str) -> None:
        self.lines.append(line)
        if len(self.lines) > self.MOST:
            del self.lines[0]
            self.before += 1

    def text(self) -> str:
        return "".join(f"{line}\n" for line in (str(self.before), *self.lines))

    def __len__(self) -> int:
        return self.before + len(self.lines)

    def since(self, count: int) -> list[str]:
        """The lines added since there were `count` of them, as far as they are kept."""
        return self.lines[max(0, count - self.before) :]


# --- in the supervisor process ---


class Supervisor:
    def __init__(self, cell: Cell, channel: socket.socket) -> None:
        self.cell = cell
        self.channel: socket.socket | None = channel
        self.children: dict[str, tuple[int, int]] = {}  # name -> (pid, pidfd)
        self.essential: dict[str, int] = {}  # name -> pid of those whose death ends the cell
        # Irregularities that were temporary; the verdict monitor reads them.
        self.noted = Noted()
        # The folder to which logs are copied at the end, and the run's input files.
        self.logs: tuple[str, list[str]] | None = None
        self.wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write)
        for signum in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def send(self, **message: object) -> None:
        if self.channel is not None:
            with contextlib.suppress(OSError):
                self.channel.send(json.dumps(message).encode())

    def prepare(self) -> None:
        """Directory and namespaces. What will be made is written down first."""
        cell = self.cell
        cell.prepare_directory()
        cell.write_state(
            {
                "cell": cell.name,
                "namespaces": cell.namespaces,
                "keeper": [os.getpid(), procfs.start_time(os.getpid())],
                "launcher": [os.getppid(), procfs.start_time(os.getppid())],
            }
        )
        log = own_files.open_log(cell.run / "keeper.log")
        null = os.open(os.devnull, os.O_RDWR)
        for fd, source in ((0, null), (1, log), (2, log)):
            os.dup2(source, fd)
        for name in cell.namespaces:
            system.make_namespace(name, cell.mark)
        self.surroundings = Surroundings(cell)
        self.send(event="ready")

    def start(self, message: dict[str, Any]) -> None:
        name, argv = message["name"], message["argv"]
        if message.get("namespace"):
            argv = ["ip", "netns", "exec", message["namespace"], *argv]
        log = own_files.open_log(self.cell.run / f"{name}.log")
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(signum, signal.SIG_DFL)
                system.die_with_parent(parent)
                os.umask(0o007)
                if message.get("cores"):
                    os.sched_setaffinity(0, message["cores"])
                hand_on(message["descriptors"])
                if message.get("of_the_group"):
                    os.setgroups([system.account()[2]])
                if message.get("capabilities") is not None:
                    rights.limit(message["capabilities"])
                os.dup2(log, 1)
                os.dup2(log, 2)
                os.execvpe(argv[0], argv, os.environ | message["environment"])
            except OSError as e:
                os.write(2, f"{argv[0]}: {e.strerror}\n".encode())
            finally:
                os._exit(127)
        for fd in (log, *message["descriptors"]):
            os.close(fd)
        started = procfs.start_time(pid)
        own_files.create(self.cell.run / "pids" / name, f"{pid} {started}")
        self.children[name] = (pid, system.open_pidfd(pid))
        if message.get("essential", True):
            self.essential[name] = pid
        self.send(event="started", name=name, pid=pid, started=started)

    def last_words(self, name: str) -> str:
        try:
            last_line = own_files.read(self.cell.run / f"{name}.log", last_bytes=4000).decode(
                errors="replace"
            )
            lines = [line for line in last_line.splitlines() if line.strip()]
            return without_middle(lines[-1], LONGEST_WORDS) if lines else ""
        except OSError:
            return ""

    def reap(self, name: str) -> int:
        """The exit code of the process; less than 0: minus the signal that killed it."""
        pid, pidfd = self.children.pop(name)
        os.close(pidfd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def who_died(self) -> tuple[Reason, str, int]:
        """(why, name, exit code) of the death that is the cause. A process that depends on the dead
        one may end before the kernel has taken that one down. So among processes that end within
        CAUSE_S a killed one counts as the cause rather than one that ended by itself, and a stalled
        process, which the others missed, rather than the latter."""
        deadline = time.monotonic() + CAUSE_S
        dead: list[tuple[int, str, int]] = []  # in the order of their ends: (rank, name, exit code)
        while ((left := deadline - time.monotonic()) > 0 or not dead) and self.children:
            ready, _, _ = select.select(
                [fd for _, fd in self.children.values()], [], [], max(0.0, left)
            )
            for name in [n for n, (_, fd) in self.children.items() if fd in ready]:
                code = self.reap(name)
                rank = (
                    4
                    if name not in self.essential
                    else (
                        0
                        if code == -signal.SIGKILL
                        else 1
                        if code < 0
                        else 3
                        if code == DEPENDENCY
                        else 2
                    )
                )
                dead.append((rank, name, code))
        rank, name, code = min(dead, key=lambda d: d[0])
        how = how_ended(code)
        stalled = self.surroundings.not_running(self.essential) if rank >= 2 else None
        if stalled:
            return Reason(Cause.SILENT, f"{stalled}; {name} {how}"), name, code
        return Reason(Cause.DIED, f"{name} {how}"), name, code

    def lose(self, name: str) -> None:
        """Reports the death of a dispensable process, without which the cell goes on."""
        how = how_ended(self.reap(name))
        (self.cell.run / "pids" / name).unlink(missing_ok=True)
        last_line = self.last_words(name)
        print(f"{name} {how}; its last line: {last_line}", file=sys.stderr, flush=True)
        self.send(event="lost", name=name, how=how, last_line=last_line)

    def end(self, why: Reason, died: str | None = None, code: int | None = None) -> None:
        """Reports why the cell ends, ends its processes and removes everything; the supervisor
        exits afterwards. `died`: the process that is the cause; `code`: its exit code."""
        cell = self.cell
        with contextlib.suppress(OSError):
            reason.write(cell.run, why)
        words: list[tuple[str, str]] = []
        if died is not None:
            self.send(event="dying", why=why.words)
        # one after the other: a radio that loses its medium or its macd would report a failure
        else:
            self.end_processes([n for n in self.children if n.endswith(".radio")], words)
        self.end_processes(list(self.children), words)
        if died is not None and (last_line := self.last_words(died)):
            words.insert(0, (died, last_line))
        not_copied = copy_logs(cell, *self.logs) if self.logs else None
        # The processes that have not been reaped, from the supervisor's memory: those that could
        # not be ended.
        children = [
            (pid, started)
            for pid, _ in self.children.values()
            if (started := procfs.start_time(pid)) is not None
        ]
        left = cell.remove(grace=0.3, processes=children, namespaces=self.surroundings.namespaces)
        names = {pid: name for name, (pid, _) in self.children.items()}
        self.send(
            event="ended",
            why=why.words,
            died=died,
            code=code,
            last_words=words[:12],
            logs_not_copied=not_copied,
            not_ended=[f"{names.get(pid, 'a process in its namespace')} ({pid})" for pid in left],
        )

    def end_processes(self, names: list[str], words: list[tuple[str, str]]) -> None:
        """SIGTERM, after GRACE_S SIGKILL, until they are gone; their last words are added to
        `words`."""
        by_fd = {self.children[n][1]: n for n in names}

        def ended(pidfd: int) -> None:
            name = by_fd[pidfd]
            code = self.reap(name)
            last_line = self.last_words(name)
            words.append(
                (name, last_line if code >= 0 else f"{how_ended(code)}; last line: {last_line}")
            )

        system.end_all(by_fd, GRACE_S, ended)

    def look_around(self) -> bool:
        """Looks at the cell's surroundings; returns True if that ended the cell."""
        broken, down, over = self.surroundings.look(self.essential)
        for words in over:
            print(words, file=sys.stderr, flush=True)
            self.send(event="noted", why=words)
            self.noted.add(words)
            with contextlib.suppress(OSError):
                own_files.replace(self.cell.noted, self.noted.text())
        # The user of a kept cell may try things, such as setting an interface down.
        if broken is None and self.channel is not None:
            broken = down
        if broken is not None:
            self.end(Reason(Cause.GONE, broken))
        return broken is not None

    def loop(self) -> None:
        """Handles events until the cell ends."""
        while True:
            watched: list[int | socket.socket] = [
                self.wake_read,
                *(fd for _, fd in self.children.values()),
            ]
            if self.channel is not None:
                watched.append(self.channel)
            ready, _, _ = select.select(watched, [], [], self.surroundings.patience())
            if self.surroundings.patience() == 0 and self.look_around():
                return None
            dead = [name for name, (_, fd) in self.children.items() if fd in ready]
            if any(name in self.essential for name in dead):
                return self.end(*self.who_died())
            for name in dead:
                self.lose(name)
            if self.wake_read in ready:
                os.read(self.wake_read, 64)
                return self.end(Reason(Cause.ASKED, "stopped by ./openwip down"))
            if self.channel is not None and self.channel in ready:
                try:
                    data, descriptors, *_ = socket.recv_fds(
                        self.channel, MAX_MESSAGE, MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
                    )
                except ConnectionResetError:  # the launcher ended with unread messages
                    data = b""
                if not data:
                    return self.end(Reason(Cause.DIED, "the launcher was killed"))
                message = json.loads(data)
                if message["do"] == "start":
                    self.start(message | {"descriptors": descriptors})
                elif message["do"] == "logs":
                    self.logs = message["folder"], message["inputs"]
                elif message["do"] == "blame":
                    stalled = self.surroundings.not_running(self.essential)
                    why = f"{stalled}; {message['why']}" if stalled else message["why"]
                    return self.end(Reason(Cause.SILENT, why))
                elif message["do"] == "detach":
                    self.send(event="detached")
                    self.channel.close()
                    self.channel = None
                elif message["do"] == "end":
                    return self.end(Reason(Cause[message["cause"]], message["why"]))


def hand_on(descriptors: Sequence[int]) -> None:
    """Gives the descriptors the numbers FIRST_DESCRIPTOR and those after it; called in a child
    before it executes a program."""
    aside = [
        fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR + MOST_DESCRIPTORS)
        for fd in descriptors
    ]
    for n, fd in enumerate(aside):
        os.dup2(fd, FIRST_DESCRIPTOR + n)


def copy_logs(cell: Cell, folder: str, inputs: Sequence[str]) -> str | None:
    """Copies the logs; returns why not all of them could be copied, or None. Each file is copied
    completely or not at all. A file of `inputs` is not replaced."""

    def found() -> Iterator[tuple[str, bytes]]:
        for path in sorted(cell.run.iterdir()):
            if path.suffix in (".log", ".yaml") or path.name == reason.FILE:
                try:
                    yield path.name, own_files.read(path)
                except OSError as e:  # the folder may contain something that another user planted
                    print(f"{path.name} not copied: {e}", file=sys.stderr)

    try:
        outputs.write_into(folder, found(), inputs)
    except OSError as e:
        return f"{e.filename or ''}: {e.strerror or e}".removeprefix(": ")
    return None


def not_ended(cell: Cell, processes: Sequence[str]) -> str:
    """A sentence about processes that could not be ended."""
    return (
        f"this root account lacks the capabilities to end these processes, which go on running:"
        f" {', '.join(processes)}; as root with all capabilities, run ./openwip down{cell.named}"
    )


def _supervisor_main(cell: Cell, channel: socket.socket) -> NoReturn:
    code = 0
    try:
        os.setsid()
        system.set_process_name(SUPERVISOR)
        supervisor = Supervisor(cell, channel)
        try:
            supervisor.prepare()
            supervisor.loop()
        except BadInput as e:
            cell.remove()
            supervisor.send(event="refused", why=str(e))
        except OSError as e:  # for example, the disk is full
            why = f"the supervisor cannot go on: {describe_os_error(e)}"
            print(why, file=sys.stderr)
            cell.remove()
            supervisor.send(event="ended", why=why, last_words=[])
    except OSError as e:  # the cause cannot be written either
        print(f"the supervisor cannot go on: {describe_os_error(e)}", file=sys.stderr)
        code = 1
    except BaseException:
        traceback.print_exc()
        cell.remove()
        code = 1
    finally:
        sys.stderr.flush()
        os._exit(code)


# --- in the launcher ---


class SupervisorClient:
    """The launcher's end. Every wait goes through pause() or wait(), which raise CellDied as soon
    as a process or the supervisor itself is gone."""

    def __init__(self, cell: Cell) -> None:
        """`cell` is owned (cell.acquire()). Forks: call it before there are threads."""
        self.cell = cell
        self.placement = Placement()  # placement of the processes that it starts
        own_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            own_end.close()
            _supervisor_main(cell, child_end)
        child_end.close()
        self.channel = own_end
        self.pids: dict[str, int] = {}
        self.started: dict[int, int] = {}  # pid -> start time, of all
        self.lost: list[str] = []  # reasons of the verdict: dispensable processes that died
        # and irregularities of the cell's surroundings that were temporary
        self.noted: list[str] = []
        self.logs_folder = ""  # argument of keep_logs()
        # why the logs could not be copied, once the cell has ended
        self.not_written: str | None = None
        # processes that could not be ended, once the cell should have
        self.not_ended: list[str] = []
        self.over = False
        self._await("ready", 10)

    def send(self, descriptors: Sequence[int] = (), **message: object) -> None:
        with contextlib.suppress(OSError):  # the end of file that follows reports what happened
            socket.send_fds(self.channel, [json.dumps(message).encode()], list(descriptors))

    def start(self, process: Process) -> None:
        self.send(
            process.descriptors,
            do="start",
            name=process.name,
            argv=process.argv,
            environment=process.environment,
            of_the_group=process.of_the_group,
            namespace=process.namespace,
            essential=process.essential,
            capabilities=process.capabilities,
            cores=self.placement.cores_of(process.slot_path, process.apart),
        )
        answer = self._await("started", 10)
        self.pids[process.name] = answer["pid"]
        self.started[answer["pid"]] = answer["started"]

    def pause(self, seconds: float, fds: Sequence[int] = ()) -> list[int]:
        """Wait so long, or until one of `fds` is readable; returns the readable ones."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self.channel, *fds], [], [], left)
            if self.channel in ready:
                self._receive()
                continue
            if ready or left == 0:
                return ready

    def wait_until(
        self, condition: Callable[[], bool], timeout: float, every: float = 0.05
    ) -> bool:
        """condition() true within `timeout` seconds?"""
        return system.wait_until(condition, timeout, every, self.pause)

    def keep_logs(self, folder: str, inputs: Sequence[str] = ()) -> None:
        self.send(
            do="logs",
            folder=os.path.join(os.getcwd(), folder),
            inputs=[os.path.abspath(i) for i in inputs],
        )
        self.logs_folder = folder

    def blame(self, why: str) -> NoReturn:
        """The launcher is not answered: ends the cell. The supervisor knows better than it who is to
        blame; raises CellDied."""
        self.send(do="blame", why=why)
        self._await("ended", ENDED_S)
        raise CellDied(why, [])

    def detach(self) -> None:
        self.send(do="detach")
        self._await("detached", 5)
        self.over = True

    def end(self, why: str, cause: Cause = Cause.ASKED) -> None:
        """End the cell and wait until nothing of it is left. Never raises."""
        if self.over:
            return
        self.send(do="end", why=why, cause=cause.name)
        with contextlib.suppress(
            CellDied
        ):  # the reason is sent, or taken from here if the supervisor does not answer
            self._await("ended", ENDED_S)

    def _await(self, event: str, timeout: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout
        while select.select([self.channel], [], [], max(0, deadline - time.monotonic()))[0]:
            message = self._receive()
            if message["event"] == event:
                return message
        os.kill(self.pid, signal.SIGKILL)
        return self._supervisor_is_gone(Reason(Cause.SILENT, "the supervisor did not answer"))

    def _receive(self) -> dict[str, Any]:
        try:
            data = self.channel.recv(MAX_MESSAGE)
        except OSError:
            data = b""
        if not data:
            os.waitpid(self.pid, 0)
            self._supervisor_is_gone(Reason(Cause.DIED, "the supervisor was killed"))
        message = json.loads(data)
        if message["event"] == "refused":
            self.over = True
            os.waitpid(self.pid, 0)
            raise BadInput(message["why"])
        if message["event"] == "lost":
            self.lost.append(
                f"telemetry: {message['name']} {message['how']} ({message['last_line']})"
            )
            self.pids.pop(message["name"], None)
        if message["event"] == "noted":
            if len(self.noted) < Noted.MOST:
                self.noted.append(message["why"])
            elif len(self.noted) == Noted.MOST:
                self.noted.append(f"more of that kind: only the first {Noted.MOST} are listed")
        if message["event"] == "dying":
            return self._await("ended", ENDED_S)
        if message["event"] == "ended":
            self.over = True
            os.waitpid(self.pid, 0)
            self.not_ended = message.get("not_ended", [])
            if self.not_ended:
                message["last_words"].append(("supervisor", not_ended(self.cell, self.not_ended)))
            if message.get("logs_not_copied"):
                self.not_written = (
                    f"--logs {self.logs_folder}: cannot be written: {message['logs_not_copied']}"
                )
                message["last_words"].append(("supervisor", self.not_written))
            raise CellDied(
                message["why"], message["last_words"], message.get("died"), message.get("code")
            )
        return message

    def _supervisor_is_gone(self, why: Reason) -> dict[str, Any]:
        """Removes the cell and raises CellDied; the second time it does nothing."""
        if self.over:
            return {}
        self.over = True
        with contextlib.suppress(OSError):
            reason.write(self.cell.run, why)
        made = {n: system.namespace_identity(n) for n in self.cell.namespaces}
        left = self.cell.remove(processes=list(self.started.items()), namespaces=made)
        names = {pid: name for name, pid in self.pids.items()}
        self.not_ended = [f"{names.get(pid, 'a process')} ({pid})" for pid in left]
        raise CellDied(
            why.words, [("launcher", not_ended(self.cell, self.not_ended))] if left else []
        )
