# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a program can judge of its configuration (channel, trace file, ranges of impairments): it is asked before anything is made."""
import pathlib
import re
import subprocess
from typing import Any

from ..errors import BadInput
from ..machine import scratch
from ..text import to_yaml


def check_config(program: pathlib.Path | str, tree: dict[str, Any], flag: str = "--check") -> None:
    """BadInput says what the program says."""
    with scratch.file(to_yaml(tree)) as file:
        done = subprocess.run([program, "--config", file, flag], capture_output=True, text=True)
    if done.returncode:
        raise BadInput(last_line(done.stderr, file))


def last_line(text: str, file: pathlib.Path | str) -> str:
    """What the program refused, without its name and that of a file that is gone."""
    line = (text.strip().splitlines() or ["it failed"])[-1]
    return re.sub(rf"^(wip_\w+|macd|air): ({re.escape(str(file))}(:\d+)?: )?", "", line)
