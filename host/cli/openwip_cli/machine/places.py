# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths of this tree, its build and its Python, which ./openwip passes in the environment, and
the version of the tree."""

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

# A file of the build: User Mode Linux, made by host/virtual/build-kernel.
KERNEL = "virtual-time/linux"

COMPILED = "OPENWIP_COMPILED"  # folder of what Python compiles, in the many runs of a campaign
# The caller's environment variables for other Pythons, which `exec` hands on.
callers_python: dict[str, str] = {}


def isolated() -> list[str]:
    """Options of Python with which every program of this tree is started that has its modules from
    host/cli, or none."""
    compiled = os.environ.get(COMPILED)
    return ["-I", *(("-X", f"pycache_prefix={compiled}") if compiled else ("-B",))]


def built(build: pathlib.Path | str, name: str) -> pathlib.Path:
    """Path of a file of the build: `name` itself below a build folder; in an installation, whose
    programs lie in one folder, openwip-NAME (cmake/openwip_install.cmake gives the same name)."""
    path = pathlib.Path(build, name)
    if not path.exists():
        last = path.name.removeprefix("openwip-").removeprefix("wip_").replace("_", "-")
        installed = pathlib.Path(build, f"openwip-{last}")
        return installed if installed.exists() else path
    return path


class Places(NamedTuple):
    top: pathlib.Path
    build: pathlib.Path
    python: str

    def program(self, name: str) -> str:
        """Path of one of the build; BadInput: it is not there."""
        self.check_built(name)
        return str(self.path(name))

    def path(self, name: str) -> pathlib.Path:
        """The path of a file of the build, which need not exist."""
        return built(self.build, name)

    def check_built(self, *parts: str) -> None:
        missing = [p for p in parts if not self.path(p).exists()]
        if missing:
            raise BadInput(
                f"not built yet ({', '.join(missing)} missing in {self.build}): run ./openwip build"
            )

    def module(self, command: str, *arguments: object) -> list[str]:
        """The command line of one of this package's commands."""
        return self.script(self.top / "host" / "cli", command, *arguments)

    def script(self, file: pathlib.Path | str, *arguments: object) -> list[str]:
        """The command line of a Python program: nothing of the caller's environment or of the
        folder of the call is taken for ours."""
        return [self.python, *isolated(), str(file), *map(str, arguments)]


def default() -> "Places":
    top = pathlib.Path(os.environ.get("OPENWIP_TOP", pathlib.Path(__file__).resolve().parents[4]))
    build = top / "build"
    with contextlib.suppress(OSError):  # only an installation has this file
        for line in (top / "installation").read_text().splitlines():
            if line.startswith("programs: "):
                build = (top / line.removeprefix("programs: ")).resolve()
    return Places(
        top,
        pathlib.Path(os.environ.get("OPENWIP_BUILD", build)),
        os.environ.get("OPENWIP_PYTHON", sys.executable),
    )


def operand(name: str) -> str:
    """A file that the user has named, as an argument of another program, which would take one that
    begins with "-" for an option."""
    return f"./{name}" if name.startswith("-") and name != "-" else name


def own_environment() -> None:
    """Takes the caller's variables for Python (PYTHONSAFEPATH, PYTHONWARNINGS, PYTHONPATH, ...) out
    of the environment of everything that is started from now on, and sets those that our programs
    need: a worker of a campaign and Snakemake import this package by its name."""
    callers_python.update(
        {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
    )
    for name in callers_python:
        del os.environ[name]
    top, build, _ = default()
    os.environ |= {"PYTHONPATH": f"{build}/python:{top}/host/cli", "PYTHONNOUSERSITE": "1"}
    if compiled := os.environ.get(COMPILED):
        os.environ["PYTHONPYCACHEPREFIX"] = compiled
    else:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if (modules := f"{build}/python") not in sys.path:
        sys.path.insert(1, modules)


def output_of(*argv: str, cwd: pathlib.Path | str | None = None) -> str | None:
    """The text that a program writes to its standard output, or to its standard error if it writes
    to that alone. None: the program cannot be run, or fails."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=10, cwd=cwd)
        return done.stdout or done.stderr if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def first_line(*argv: str) -> str:
    """The first line that a program says of itself."""
    lines = (output_of(*argv) or "").splitlines()
    return lines[0].strip() if lines else "unknown"


@functools.cache
def version(top: pathlib.Path | str) -> str:
    """The version by `git describe --dirty`. That command writes the index, which with sudo would
    make it root's in a user's clone. An installation has a file that names its commit."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(top, "installation").read_text().splitlines():
            if line.startswith("commit: "):
                return line.removeprefix("commit: ")
    if not pathlib.Path(top, ".git").exists():  # otherwise git would find a clone in a folder above
        return "unknown"
    git = (
        "env",
        "-u",
        "GIT_DIR",
        "-u",
        "GIT_WORK_TREE",
        "-u",
        "GIT_INDEX_FILE",
        "git",
        "--no-optional-locks",
        "-c",
        "safe.directory=*",
    )
    name = output_of(*git, "describe", "--always", "--tags", cwd=top)
    # The output has a line for the branch and one for each changed file.
    status = output_of(*git, "status", "--porcelain", "--branch", "--untracked-files=no", cwd=top)
    return (
        "unknown"
        if name is None or status is None
        else name.strip() + ("-dirty" if len(status.splitlines()) > 1 else "")
    )


def kept_line(places: Places, *argv: str) -> str:
    """first_line(), kept in the build folder for as long as the program's file and the libraries
    stay the same: calling the program takes a tenth of the time of a run of a campaign."""
    program, kept = shutil.which(argv[0]), places.build / "versions" / argv[0]
    if program is None:
        return "unknown"
    about = os.stat(program)
    # The program's library prints the version, and these files decide which library that is.
    cache = pathlib.Path("/etc/ld.so.cache")
    libraries = (
        os.environ.get("LD_LIBRARY_PATH"),
        (cache.stat().st_mtime_ns if cache.exists() else None),
    )
    made_from = [*argv, program, about.st_ino, about.st_size, about.st_mtime_ns, *libraries]
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        found = json.loads(kept.read_text())
        if found["of"] == made_from:
            return str(found["line"])
    line = first_line(*argv)
    if line != "unknown":
        with contextlib.suppress(OSError):  # the build folder may belong to somebody else
            kept.parent.mkdir(exist_ok=True)
            outputs.write_whole(kept, json.dumps({"of": made_from, "line": line}) + "\n")
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
    """The Linux whose TCP virtual time uses (`kernel` is that of the host): its version, and the
    hash of its sources."""
    kernel, made_of = places.build / KERNEL, "unknown"
    with contextlib.suppress(OSError, IndexError):
        made_of = kernel.with_name("made-of").read_text().split()[0][:16]
    return {
        "virtual_kernel": first_line(str(kernel), "--version"),
        "virtual_kernel_made_of": made_of,
    }
