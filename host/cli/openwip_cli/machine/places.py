# SPDX-License-Identifier: GPL-3.0-or-later
"""Where this tree, its build and its Python are (./openwip says so in the environment), and which version it is."""
import contextlib
import functools
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
from typing import NamedTuple

from ..errors import BadInput
from . import outputs

KERNEL = "virtual-time/linux"       # of the build: User Mode Linux, made by host/virtual/build-kernel


class Places(NamedTuple):
    top: pathlib.Path
    build: pathlib.Path
    python: str

    def program(self, name: str) -> str:
        """Path of one of the build; BadInput: it is not there."""
        self.check_built(name)
        return str(self.build / name)

    def check_built(self, *parts: str) -> None:
        missing = [p for p in parts if not (self.build / p).exists()]
        if missing:
            raise BadInput(f"not built yet ({', '.join(missing)} missing in {self.build}): run ./openwip build")

    def module(self, command: str, *arguments: object) -> list[str]:
        """The command line of one of this package's commands."""
        return [self.python, str(self.top / "host" / "cli"), command, *map(str, arguments)]


def default() -> "Places":
    top = pathlib.Path(os.environ.get("OPENWIP_TOP", pathlib.Path(__file__).resolve().parents[4]))
    return Places(top, pathlib.Path(os.environ.get("OPENWIP_BUILD", top / "build")), os.environ.get("OPENWIP_PYTHON", sys.executable))


def first_line(*argv: str, cwd: pathlib.Path | str | None = None) -> str:
    """Of what a program says of itself."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, cwd=cwd)
        return (done.stdout or done.stderr).splitlines()[0].strip() if done.returncode == 0 else "unknown"
    except (OSError, IndexError, subprocess.TimeoutExpired):
        return "unknown"


@functools.cache
def version(top: pathlib.Path | str) -> str:
    return first_line("git", "-c", "safe.directory=*", "describe", "--always", "--dirty", "--tags", cwd=top)


def kept_line(places: Places, *argv: str) -> str:
    """The same, kept in the build folder while its file and the libraries are the same ones: it costs a run of a campaign a tenth of its time."""
    program, kept = shutil.which(argv[0]), places.build / "versions" / argv[0]
    if program is None:
        return "unknown"
    about = os.stat(program)
    # What it prints is its library's, and which one that is, is up to these.
    cache = pathlib.Path("/etc/ld.so.cache")
    libraries = os.environ.get("LD_LIBRARY_PATH"), cache.stat().st_mtime_ns if cache.exists() else None
    of = [*argv, program, about.st_ino, about.st_size, about.st_mtime_ns, *libraries]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(kept.read_text())
        if found["of"] == of:
            return str(found["line"])
    line = first_line(*argv)
    if line != "unknown":
        with contextlib.suppress(OSError):      # a build of somebody else's
            kept.parent.mkdir(exist_ok=True)
            outputs.write_whole(kept, json.dumps({"of": of, "line": line}) + "\n")
    return line


@functools.cache
def versions(places: Places) -> dict[str, str]:
    return {
        "openwip": version(places.top),
        "gnuradio": kept_line(places, "gnuradio-config-info", "--version"),
        "uhd": kept_line(places, "uhd_config_info", "--version").removeprefix("UHD ").strip(),
        "kernel": platform.release(),
        "iperf3": kept_line(places, "iperf3", "--version").removeprefix("iperf ").split(" ")[0],
        "python": platform.python_version(),
    }


def virtual_kernel(places: Places) -> dict[str, str]:
    """Which Linux the TCP of virtual time is, beside `kernel`, which is the host's: as it says itself, and the hash of what it was made of."""
    kernel, made_of = places.build / KERNEL, "unknown"
    with contextlib.suppress(OSError, IndexError):
        made_of = kernel.with_name("made-of").read_text().split()[0][:16]
    return {"virtual_kernel": first_line(str(kernel), "--version"), "virtual_kernel_made_of": made_of}
