# SPDX-License-Identifier: GPL-3.0-or-later
"""Some errors of a configuration only the program itself can find (channel, trace file, ranges of
impairments): it checks them before anything is made."""

import pathlib
import re
import subprocess
from typing import Any

from ..errors import BadInput, Stop, cause_of
from ..machine import scratch
from ..text import to_yaml


def check_config(program: pathlib.Path | str, tree: dict[str, Any], flag: str = "--check") -> None:
    """BadInput says what the program says."""
    with scratch.file(to_yaml(tree)) as file:
        done = subprocess.run([program, "--config", file, flag], capture_output=True, text=True)
    if done.returncode:
        raise refusal(done, file)


def refusal(done: subprocess.CompletedProcess[str], file: pathlib.Path | str) -> Stop:
    """BadInput where the program refused its input."""
    why = why_ended(done, file)
    return BadInput(why) if done.returncode == BadInput.code else Stop(why)


def why_ended(done: subprocess.CompletedProcess[str], file: pathlib.Path | str = "") -> str:
    """cause_of() a program, without its name and that of a file that is gone."""
    line = cause_of(pathlib.Path(done.args[0]).name, done.returncode, done.stderr)
    return re.sub(rf"^((wip_\w+|macd|air): )?({re.escape(str(file))}(:\d+)?: )?", "", line)
