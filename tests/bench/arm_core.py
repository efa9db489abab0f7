#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The core for 64-bit ARM, made on this machine by Debian's cross compiler, and its tests in QEMU
(preset arm64-core). Nothing is installed: the libraries for 64-bit ARM are fetched with apt-get and
unpacked in a folder (network; 15 MB, unpacked 90 MB).

    python3 tests/bench/arm_core.py [--jobs N] [--tests REGEX] [--folder FOLDER]

Packages: g++-aarch64-linux-gnu qemu-user-static cmake ninja-build pkg-config. It prints JSON:
seconds, and the counts of the tests. QEMU computes every instruction in software: a test takes 10
to 50 times as long as on a processor. Exit code 1: a test failed; 2: it cannot begin."""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time
from typing import NoReturn

sys.path.append(str(pathlib.Path(__file__).parent))
import junit_counts

TOP = pathlib.Path(__file__).resolve().parents[2]
MIRROR, KEYS = "http://deb.debian.org/debian", "/usr/share/keyrings/debian-archive-keyring.gpg"
# Releases of Debian whose cross compiler is known to work, and its name there.
VOLK = {"bookworm": "libvolk2-dev", "trixie": "libvolk-dev"}
LIBRARIES = ("libc6-dev", "libfftw3-dev", "libeigen3-dev", "libyaml-cpp-dev", "libgtest-dev")
TOOLS = (
    "aarch64-linux-gnu-g++",
    "qemu-aarch64-static",
    "cmake",
    "ninja",
    "pkg-config",
    "apt-get",
    "dpkg-deb",
)


def stop(why: str, code: int = 2) -> NoReturn:
    print(f"arm_core.py: {why}", file=sys.stderr)
    raise SystemExit(code)


def run(*argv: str | pathlib.Path, log: pathlib.Path, may_fail: bool = False) -> int:
    with log.open("a") as out:
        code = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        ).returncode
    if code and not may_fail:
        stop(f"{argv[0]} ended with exit code {code}; all that it said is in {log}", 1)
    return code


def sysroot(folder: pathlib.Path, release: str, log: pathlib.Path) -> pathlib.Path:
    """The folder with the libraries, made once for each release."""
    root, apt = folder / f"sysroot-{release}", folder / "apt"
    if (root / "made").exists():
        return root
    for old in (root, apt):
        shutil.rmtree(old, ignore_errors=True)
    for place in ("state/lists/partial", "cache/archives/partial"):
        (apt / place).mkdir(parents=True)
    (apt / "status").touch()  # nothing is installed there
    (apt / "sources.list").write_text(
        f"deb [arch=arm64 signed-by={KEYS}] {MIRROR} {release} main\n"
    )
    options = [
        word
        for setting in (
            "APT::Architecture=arm64",
            "APT::Architectures::=arm64",
            f"Dir::State={apt}/state",
            f"Dir::State::status={apt}/status",
            f"Dir::Cache={apt}/cache",
            f"Dir::Etc::sourcelist={apt}/sources.list",
            "Dir::Etc::sourceparts=-",
            "Acquire::Languages=none",
            "Debug::NoLocking=1",
        )
        for word in ("-o", setting)
    ]
    run("apt-get", *options, "update", "-q", log=log)
    run(
        "apt-get",
        *options,
        "install",
        "-y",
        "-q",
        "--download-only",
        "--no-install-recommends",
        *LIBRARIES,
        VOLK[release],
        log=log,
    )
    (root / "usr/lib").mkdir(parents=True)
    (root / "lib").symlink_to("usr/lib")
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        run(
            "sh",
            "-c",
            'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$1"',
            package,
            root,
            log=log,
        )
    shutil.rmtree(apt)
    (root / "made").touch()
    return root


def main() -> int:
    p = argparse.ArgumentParser(description="the core for 64-bit ARM and its tests, in QEMU")
    p.add_argument(
        "--folder",
        type=pathlib.Path,
        default=pathlib.Path("/var/tmp/openwip-arm64"),
        help="libraries, build and log (default /var/tmp/openwip-arm64)",
    )
    p.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count(),
        help="of the build and of the tests (default: one for each core)",
    )
    p.add_argument(
        "--tests", metavar="REGEX", help="only these tests, as ctest -R has them (default: all)"
    )
    given = p.parse_args()
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    if release not in VOLK:
        stop(
            f"this is {release or 'a release without a name'}, and the libraries have to be those"
            f" of the cross compiler; valid: {', '.join(VOLK)}"
        )
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        stop(
            f"{missing[0]} is missing; needed: g++-aarch64-linux-gnu qemu-user-static cmake"
            " ninja-build pkg-config, and Debian's apt-get and dpkg-deb"
        )
    if given.jobs < 1:
        stop(f"--jobs is {given.jobs}; valid: 1 or more")
    given.folder.mkdir(parents=True, exist_ok=True)
    build, log, tests = (
        given.folder / "build",
        given.folder / "arm_core.log",
        given.folder / "tests.xml",
    )
    log.write_text("")
    tests.unlink(missing_ok=True)
    os.environ["OPENWIP_SYSROOT"] = str(sysroot(given.folder.resolve(), release, log))
    os.chdir(TOP)  # presets are looked for where cmake is started
    began = time.monotonic()
    run("cmake", "--preset", "arm64-core", "-B", build, log=log)
    run("cmake", "--build", build, "--", "-j", str(given.jobs), log=log)
    built = time.monotonic()
    code = run(
        "ctest",
        "--test-dir",
        build,
        "-j",
        str(given.jobs),
        "--output-on-failure",
        "--output-junit",
        tests.resolve(),
        *(["-R", given.tests] if given.tests else []),
        log=log,
        may_fail=True,
    )
    print(
        json.dumps(
            {
                "release": release,
                "processor": "aarch64 (QEMU)",
                "build_seconds": round(built - began),
                "test_seconds": round(time.monotonic() - built),
                "tests": junit_counts.counts(tests),
                "log": str(log),
            },
            indent=1,
        )
    )
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
