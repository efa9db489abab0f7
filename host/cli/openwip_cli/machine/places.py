# SPDX-License-Identifier: GPL-3.0-or-later
"""Where this tree, its build and its Python are (./openwip says so in the environment), and which version it is."""
import functools
import os
import pathlib
import platform
import subprocess
import sys
from typing import Any, NamedTuple

from ..errors import BadInput


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

    def module(self, command: str, *arguments: Any) -> list[Any]:
        """The command line of one of this package's commands."""
        return [self.python, "-m", "openwip_cli", command, *map(str, arguments)]


def default() -> "Places":
    top = pathlib.Path(os.environ.get("OPENWIP_TOP", pathlib.Path(__file__).resolve().parents[4]))
    return Places(top, pathlib.Path(os.environ.get("OPENWIP_BUILD", top / "build")),
                  os.environ.get("OPENWIP_PYTHON", sys.executable))


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


@functools.cache
def versions(places: Places) -> dict[str, Any]:
    return {
        "openwip": version(places.top),
        "gnuradio": first_line("gnuradio-config-info", "--version"),
        "uhd": first_line("uhd_config_info", "--version").removeprefix("UHD ").strip(),
        "kernel": platform.release(),
        "iperf3": first_line("iperf3", "--version").removeprefix("iperf ").split(" ")[0],
        "python": platform.python_version(),
    }
