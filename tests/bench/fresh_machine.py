#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command of ./openwip as the first one on a machine with nothing installed, and others after it
on the same machine: what is committed of this tree, in the root file system of a release, which
debootstrap makes once (network, root; some GB). The kernel, its clock, processor and devices are
this machine's.

    sudo python3 tests/bench/fresh_machine.py jammy emulate --duration 5
    sudo python3 tests/bench/fresh_machine.py --lists none trixie demo --duration 5 --then test

debootstrap leaves the package lists in the file system; the images of containers have none (--lists
none). Without --lists both are tried. A command that fails does not keep the next one from running;
the exit code is the highest of all. The machine is thrown away at the end. With --machine FOLDER it
stays there, and a later call with the same folder goes on on it:

    sudo python3 tests/bench/fresh_machine.py --lists none --machine /var/tmp/m trixie test -R name
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

sys.path.append(str(pathlib.Path(__file__).parent))
import junit_counts

TOP = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = "http://deb.debian.org/debian"
# Ubuntu has its packages for x86-64 on one server and those for other processors on another one.
UBUNTU = (
    "http://archive.ubuntu.com/ubuntu"
    if platform.machine() == "x86_64"
    else "http://ports.ubuntu.com/ubuntu-ports"
)
RELEASES = {
    "bookworm": (DEBIAN, "main"),
    "trixie": (DEBIAN, "main"),
    "jammy": (UBUNTU, "main,universe"),
    "noble": (UBUNTU, "main,universe"),
}
# Found in all releases of Ubuntu since; Debian's may not know the newest one by name.
SCRIPT = "/usr/share/debootstrap/scripts/gutsy"
THEN = "--then"  # separates two commands
BUILD_LOG, TESTS = "build/openwip-build.log", "build/openwip-tests.xml"  # files of the tree
WARNING = re.compile(r"^\S+:\d+:\d+: warning: .*", re.M)  # a warning of a compiler
IN_NAMESPACE = ["unshare", "--mount", "--propagation", "private"]
# $1 root file system, $2 folder of the run, $3 "kept": with its package lists, then the command.
# PIP_CERT, the authorities by which pip reaches its index behind this network's proxy, is taken
# along as the name server is. Mounts are this process's own and go with it; the disk that the
# command wrote to is there for the next one.
INSIDE = """set -e
base=$1 run=$2 lists=$3; shift 3
mkdir -p "$run/upper" "$run/work" "$run/top"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$run/upper,workdir=$run/work" "$run/top"
mount -t proc proc "$run/top/proc"
for of in dev sys; do mount --rbind "/$of" "$run/top/$of"; done
for of in tmp run; do mount -t tmpfs tmpfs "$run/top/$of"; done
if [ ! -e "$run/top/openwip" ]; then
  [ "$lists" = kept ] || rm -rf "$run/top/var/lib/apt/lists" "$run/top/var/cache/apt"
  cp /etc/resolv.conf /etc/hosts "$run/top/etc/"
  [ -z "${PIP_CERT:-}" ] || cp "$PIP_CERT" "$run/top/etc/authorities-of-the-network.crt"
  cp -a "$run/tree" "$run/top/openwip"
fi
exec chroot "$run/top" /usr/bin/env -i ${PIP_CERT:+PIP_CERT=/etc/authorities-of-the-network.crt} HOME=/root TERM=dumb DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c 'cd /openwip && exec "$@"' sh "$@"
"""


def base(release: str, folder: pathlib.Path) -> pathlib.Path:
    root, (mirror, components) = folder / release, RELEASES[release]
    if not (root / "made").exists():
        shutil.rmtree(root, ignore_errors=True)
        # Ubuntu's keys are no package of Debian's; what is made is thrown away.
        options = [
            "--variant=minbase",
            f"--components={components}",
            *(["--no-check-gpg"] if mirror == UBUNTU else []),
        ]
        subprocess.run(
            [
                "debootstrap",
                *options,
                release,
                root,
                mirror,
                *([SCRIPT] if mirror == UBUNTU else []),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (root / "etc/apt/sources.list").write_text(
            "".join(
                f"deb {mirror} {release}{pocket} {components.replace(',', ' ')}\n"
                for pocket in ("", "-updates")
            )
        )
        (root / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n")
        (root / "made").touch()
    return root


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument(
        "--folder",
        type=pathlib.Path,
        default=pathlib.Path("/var/tmp/openwip-fresh"),
        help="where the root file systems stay",
    )
    p.add_argument(
        "--lists",
        choices=("kept", "none"),
        help="the package lists at the start (default: one run with them and one without)",
    )
    p.add_argument(
        "--machine",
        type=pathlib.Path,
        help="where the machine stays; one that is there goes on (default: thrown away at the end)",
    )
    p.add_argument("release", choices=RELEASES)
    p.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        help=f"of ./openwip, several with {THEN} between them; without one: demo --duration 5",
    )
    given = p.parse_args()
    commands = split(given.command or ["demo", "--duration", "5"])
    if [] in commands:
        p.error(
            f"{' '.join(given.command)!r} has a {THEN} without a command on both sides; valid:"
            f" COMMAND [OPTIONS] {THEN} COMMAND [OPTIONS]"
        )
    if given.machine and not given.lists:
        p.error("--machine is one machine, and without --lists two are made; valid: --lists none")
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        p.error("root and debootstrap are needed (apt-get install debootstrap)")
    given.folder.mkdir(parents=True, exist_ok=True)
    root = base(given.release, given.folder)
    return max(
        one_machine(given.folder, given.release, root, lists, commands, given.machine)
        for lists in ([given.lists] if given.lists else ["none", "kept"])
    )


def split(words: list[str]) -> list[list[str]]:
    """The commands between which THEN stands."""
    commands: list[list[str]] = [[]]
    for word in words:
        if word == THEN:
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def one_machine(
    folder: pathlib.Path,
    release: str,
    root: pathlib.Path,
    lists: str,
    commands: list[list[str]],
    kept: pathlib.Path | None = None,
) -> int:
    """Runs the commands one after another in one copy of the root file system, prints what came of
    them and returns the highest exit code. `kept`: the folder of a copy that stays."""
    with contextlib.ExitStack() as thrown_away:
        run = (
            str(kept.resolve())
            if kept
            else thrown_away.enter_context(
                tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True)
            )
        )
        if not pathlib.Path(run, "tree").exists():
            subprocess.run(["git", "clone", "--quiet", TOP, f"{run}/tree"], check=True)
        done = [
            one_command(
                pathlib.Path(run),
                root,
                lists,
                command,
                folder / f"{release}-lists-{lists}-{n}-{command[0]}.log",
            )
            for n, command in enumerate(commands, 1)
        ]
        commit = subprocess.run(
            ["git", "-C", f"{run}/tree", "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    print(
        json.dumps(
            {
                "release": release,
                "processor": platform.machine(),
                "commit": commit,
                "lists": lists,
                "commands": done,
            },
            indent=1,
        ),
        flush=True,
    )
    return max(int(d["exit_code"]) for d in done)


def one_command(
    run: pathlib.Path, root: pathlib.Path, lists: str, command: list[str], log: pathlib.Path
) -> dict[str, Any]:
    """The outcome of one command: `tests` has the counts of ctest, `warnings` those of the
    compiler; null where nothing was tested or built."""
    # The file as the command sees it; before the first command it does not exist.
    tree = run / "upper" / "openwip"
    for stale in (TESTS, BUILD_LOG):
        (tree / stale).unlink(missing_ok=True)
    began = time.monotonic()
    with log.open("w") as out:
        done = subprocess.run(
            [*IN_NAMESPACE, "sh", "-c", INSIDE, "sh", root, run, lists, "./openwip", *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    seconds = round(time.monotonic() - began)
    built = tree / BUILD_LOG
    return {
        "command": command,
        "exit_code": done.returncode,
        "seconds": seconds,
        "tests": junit_counts.counts(tree / TESTS),
        "warnings": (
            WARNING.findall(built.read_text(errors="replace")) if built.exists() else None
        ),
        "said": [
            line
            for line in log.read_text(errors="replace").splitlines()
            if line.startswith(("verdict", "openwip:", "100%"))
        ],
        "log": str(log),
    }


if __name__ == "__main__":
    sys.exit(main())
