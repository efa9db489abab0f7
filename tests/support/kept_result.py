# SPDX-License-Identifier: GPL-3.0-or-later
"""Results that are kept in the tree, as docs/results/data/NAME.json: what was measured, and how it
is measured again. docs/generators/result_tables.py makes the tables of the pages from them."""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

TOP = pathlib.Path(__file__).resolve().parents[2]
if str(TOP / "host/cli") not in sys.path:
    sys.path.insert(0, str(TOP / "host/cli"))


def commit() -> str:
    """The commit of this tree; `+` behind it: there are changes since."""
    done = subprocess.run(
        ["git", "-C", TOP, "-c", "safe.directory=*", "describe", "--always", "--dirty=+"],
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or "unknown"


def about(command: str) -> dict[str, Any]:
    """How it was measured. `command` is what measures it again, as one types it in the tree."""
    from openwip_cli.campaign import one_run  # imported here, since it loads the protobuf messages

    machine = one_run.machine()
    return {
        "command": command,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "commit": commit(),
        "processor": machine["processor"],
        "cores": machine["cores"],
        "load": round(os.getloadavg()[0], 1),
    }


def text_of(command: str, result: dict[str, Any]) -> str:
    """A result as JSON; `result` has no key `about` of its own."""
    text = json.dumps({"about": about(command), **result}, indent=1)
    # A list of numbers stands on one line.
    return re.sub(r"\[\s+([-\d.eE,\s]+?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text)


def write(path: pathlib.Path | str, command: str, result: dict[str, Any]) -> None:
    """Writes a result into a file, as text_of() has it."""
    pathlib.Path(path).write_text(text_of(command, result) + "\n")
