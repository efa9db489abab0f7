#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian packages on a machine with nothing installed: `apt-get install ./openwip_*.deb`, then a
command of `openwip` (demo, without one), in the root file system of a release that debootstrap
makes (fresh_machine.py; network, root). FOLDER is where cpack wrote the packages
(docs/how-to/installing.md).

    sudo python3 tests/bench/fresh_packages.py build-debian bookworm demo

It prints the steps with their times as JSON; --json FILE keeps them. Exit code 1: a step failed, or
the command took longer than --within."""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

sys.path.append(str(pathlib.Path(__file__).parent))
sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
import fresh_machine
import kept_result

COMMAND = "sudo python3 tests/bench/fresh_packages.py".split()  # as it is kept with a result
INSTALL = "apt-get install -y -q --no-install-recommends".split()


def install_and_run(
    folder: pathlib.Path, root: pathlib.Path, packages: pathlib.Path, command: list[str]
) -> list[dict[str, Any]]:
    """The steps on one machine, each with its seconds and exit code; a step that fails is the
    last one."""
    steps: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as run:
        pathlib.Path(run, "tree").mkdir()
        for package in sorted(packages.glob("*.deb")):
            shutil.copy(package, f"{run}/tree")
        names = [f"./{p.name}" for p in sorted(packages.glob("openwip_*.deb"))]
        for words in (["apt-get", "update", "-q"], [*INSTALL, *names], ["openwip", *command]):
            began = time.monotonic()
            # Arguments of INSIDE: root file system, folder of the run, and what becomes of apt's
            # package lists: kept, or none (removed).
            done = subprocess.run(
                [
                    *fresh_machine.IN_NAMESPACE,
                    *("sh", "-c", fresh_machine.INSIDE, "sh", root, run, "none"),
                    *words,
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
            lines = done.stdout.splitlines()
            steps.append(
                {
                    "command": " ".join(words),
                    "seconds": round(time.monotonic() - began, 1),
                    "exit_code": done.returncode,
                    "verdict": next((line for line in lines if line.startswith("verdict")), ""),
                }
            )
            if done.returncode:
                steps[-1]["end"] = lines[-20:]
                break
    return steps


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument(
        "--folder",
        type=pathlib.Path,
        default=pathlib.Path("/var/tmp/openwip-fresh"),
        help="where the root file systems stay",
    )
    p.add_argument(
        "--within", type=float, default=120, metavar="S", help="for the command (default 120 s)"
    )
    p.add_argument("--json", metavar="FILE", help="keep the steps in FILE")
    p.add_argument("packages", type=pathlib.Path, metavar="FOLDER", help="where cpack wrote them")
    p.add_argument("release", choices=fresh_machine.RELEASES)
    p.add_argument("command", nargs=argparse.REMAINDER, help="of openwip; without one: demo")
    given = p.parse_args()
    if not list(given.packages.glob("openwip_*.deb")):
        p.error(f"{given.packages} has no openwip_*.deb; valid: the folder in which cpack ran")
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        p.error("root and debootstrap are needed (apt-get install debootstrap)")
    given.folder.mkdir(parents=True, exist_ok=True)
    root = fresh_machine.base(given.release, given.folder)
    command = given.command or ["demo"]
    steps = install_and_run(given.folder, root, given.packages, command)
    print(json.dumps(steps, indent=1))
    if given.json:
        within = [] if given.within == p.get_default("within") else [f"--within={given.within:g}"]
        words = [*COMMAND, *within, str(given.packages), given.release, *command]
        kept_result.write(
            given.json,
            shlex.join(words),
            {"release": given.release, "within_s": given.within, "steps": steps},
        )
    return int(any(s["exit_code"] for s in steps) or steps[-1]["seconds"] > given.within)


if __name__ == "__main__":
    sys.exit(main())
