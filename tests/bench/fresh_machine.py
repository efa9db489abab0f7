#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command of ./openwip as the first one on a machine with nothing installed: what is committed of this tree, in the root file system
of a release, which debootstrap makes once (network, root; some GB). The kernel, its clock and devices are this machine's.

    sudo python3 tests/bench/fresh_machine.py jammy emulate --duration 5
    sudo python3 tests/bench/fresh_machine.py --lists none trixie demo --duration 5

debootstrap leaves the package lists in the file system; the images of containers have none (--lists none). Without --lists both are tried.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
DEBIAN, UBUNTU = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
RELEASES = {"bookworm": (DEBIAN, "main"), "trixie": (DEBIAN, "main"), "jammy": (UBUNTU, "main,universe"), "noble": (UBUNTU, "main,universe")}
SCRIPT = "/usr/share/debootstrap/scripts/gutsy"     # of all releases of Ubuntu since; Debian's may not know the newest by name
# $1 root file system, $2 folder of the run, $3 "kept": with its package lists, then the command. Mounts are this process's own and go with it.
INSIDE = """set -e
base=$1 run=$2 lists=$3; shift 3
mkdir -p "$run/upper" "$run/work" "$run/top"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$run/upper,workdir=$run/work" "$run/top"
mount -t proc proc "$run/top/proc"
for of in dev sys; do mount --rbind "/$of" "$run/top/$of"; done
for of in tmp run; do mount -t tmpfs tmpfs "$run/top/$of"; done
[ "$lists" = kept ] || rm -rf "$run/top/var/lib/apt/lists" "$run/top/var/cache/apt"
cp /etc/resolv.conf /etc/hosts "$run/top/etc/"
cp -a "$run/tree" "$run/top/openwip"
exec chroot "$run/top" /usr/bin/env -i HOME=/root TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c 'cd /openwip && exec ./openwip "$@"' sh "$@"
"""


def base(release: str, folder: pathlib.Path) -> pathlib.Path:
    root, (mirror, components) = folder / release, RELEASES[release]
    if not (root / "made").exists():
        shutil.rmtree(root, ignore_errors=True)
        # Ubuntu's keys are no package of Debian's; what is made is thrown away.
        options = ["--variant=minbase", f"--components={components}", *(["--no-check-gpg"] if mirror == UBUNTU else [])]
        subprocess.run(["debootstrap", *options, release, root, mirror, *([SCRIPT] if mirror == UBUNTU else [])], check=True, stdout=subprocess.DEVNULL)
        (root / "etc/apt/sources.list").write_text("".join(
            f"deb {mirror} {release}{pocket} {components.replace(',', ' ')}\n" for pocket in ("", "-updates")))
        (root / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\n")
        (root / "made").touch()
    return root


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/var/tmp/openwip-fresh"), help="where the root file systems stay")
    p.add_argument("--lists", choices=("kept", "none"), help="the package lists at the start (default: one run with them and one without)")
    p.add_argument("release", choices=RELEASES)
    p.add_argument("command", nargs=argparse.REMAINDER, help="of ./openwip; without one: demo --duration 5")
    given = p.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        p.error("root and debootstrap are needed (apt-get install debootstrap)")
    given.folder.mkdir(parents=True, exist_ok=True)
    root, command = base(given.release, given.folder), given.command or ["demo", "--duration", "5"]
    return max(first_command(given.folder, given.release, root, lists, command) for lists in ([given.lists] if given.lists else ["none", "kept"]))


def first_command(folder: pathlib.Path, release: str, root: pathlib.Path, lists: str, command: list[str]) -> int:
    """Runs it in a copy of the root file system, prints what came of it and returns its exit code."""
    log = folder / f"{release}-lists-{lists}.log"
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as run, log.open("w") as out:
        subprocess.run(["git", "clone", "--quiet", TOP, f"{run}/tree"], check=True)
        began = time.monotonic()
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, "sh", root, run, lists, *command],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
    print(json.dumps({"release": release, "lists": lists, "command": command, "exit_code": done.returncode, "seconds": round(time.monotonic() - began),
                      "said": [line for line in log.read_text(errors="replace").splitlines() if line.startswith(("verdict", "openwip:", "100%"))], "log": str(log)}, indent=1))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
