# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m openwip_cli supervise FOLDER --run COMMAND ...: starts one run of a campaign and sees
to it that FOLDER/runs/KEY.json is there after it, the run's own or that of a failed run
(failure.py). A pool starts it (pool.py), or on a node the Snakefile.

The run writes FOLDER/runs/KEY.made, which is renamed to KEY.json when the run has ended: taking
KEY.json away disturbs no run. A run that ended for a cause of the machine (killed, no memory) is
tried again at once. One that takes longer than its limit is ended. Standard error of the run is
FOLDER/logs/KEY.log, whose existence shows that the run was started."""

import argparse
import contextlib
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time

from ..errors import EXHAUSTED, VALID, Terminated
from ..machine import system
from ..machine.places import Places
from ..text import of_file, of_json
from . import failure, pool

TRIES = 3  # attempts at a run that failed because of the machine
END_S = 20.0  # seconds in which a run takes its cell down


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser("supervise")
    p.add_argument("folder", metavar="FOLDER", type=pathlib.Path, help="the campaign's folder")
    p.add_argument(
        "--run",
        metavar="COMMAND",
        required=True,
        help="command line that makes OUT from SPEC, which it is given, as one word",
    )
    p.add_argument("--key", required=True, help="which run: FOLDER/specs/KEY.json")
    p.add_argument("--limit-s", type=float, required=True, help="a run that takes longer is ended")
    p.add_argument(
        "--ended",
        type=pathlib.Path,
        help="empty file, made when the result is there (for Snakemake)",
    )
    p.add_argument(
        "--with-parent",
        type=int,
        metavar="PID",
        required=True,
        help="end when the process PID ends, which has to be the parent of this one",
    )
    return p


def memory_kills() -> int:
    """Number of processes that the kernel has ended for want of memory since it started."""
    with contextlib.suppress(OSError, ValueError):
        return next(
            (
                int(line.split()[1])
                for line in pathlib.Path("/proc/vmstat").read_text().splitlines()
                if line.startswith("oom_kill ")
            ),
            0,
        )
    return 0


def end(child: "subprocess.Popen[bytes]", signum: int) -> None:
    for s in (signum, signal.SIGKILL):
        child.send_signal(s)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(END_S)
            return


def run_once(argv: list[str], log: pathlib.Path, limit_s: float) -> failure.Failure:
    """Runs the command. Returns how it ended, as the failure if there is no result."""
    kills, began, timed_out = memory_kills(), time.monotonic(), False
    with open(log, "ab") as words:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stderr=words,
            preexec_fn=system.follower(),
            # The log takes any amount of output.
            env=os.environ | {"OPENWIP_TRACEBACK": "1"},
        )
    try:
        child.wait(limit_s)
    except subprocess.TimeoutExpired:
        timed_out = True
        end(child, signal.SIGTERM)
    except Terminated as e:
        end(child, e.signum)
        raise
    return failure.of_exit(
        child.returncode,
        failure.last_line(log),
        time.monotonic() - began,
        timed_out,
        memory_kills() > kills,
    )


def main(arguments: list[str], _: Places) -> int:
    given = parser().parse_args(arguments)
    pool.with_parent(given.with_parent)
    spec, out, log = (
        given.folder / part / f"{given.key}{ending}"
        for part, ending in (("specs", ".json"), ("runs", ".json"), ("logs", ".log"))
    )
    try:
        out.lstat()
    except FileNotFoundError:
        supervise(given, spec, out, log)
    except OSError as e:  # something may be there, which is not replaced unseen
        print(f"openwip: {out}: {e.strerror}", file=sys.stderr)
        return EXHAUSTED
    if given.ended:
        given.ended.parent.mkdir(exist_ok=True)
        given.ended.touch()
    return VALID


def supervise(
    given: argparse.Namespace, spec: pathlib.Path, out: pathlib.Path, log: pathlib.Path
) -> None:
    made = out.with_suffix(pool.MADE)
    if pool.hand_over(made, out):  # a result that a lost supervisor did not hand over
        return
    log.parent.mkdir(exist_ok=True)
    log.write_bytes(b"")
    argv = [*shlex.split(given.run), str(spec), str(made), "--with-parent", str(os.getpid())]
    tries: list[failure.Failure] = []
    while not tries or tries[-1].cause.is_of_the_machine and len(tries) < TRIES:
        tries.append(run_once(argv, log, given.limit_s))
        if pool.hand_over(made, out):
            return
    try:
        run_spec = of_json(of_file(spec))
    except (OSError, ValueError):
        run_spec = None  # the run's own output is the reason of the failure
    failure.write(out, failure.run_of(given.key, run_spec, tries))
