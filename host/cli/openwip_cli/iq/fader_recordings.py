# SPDX-License-Identifier: GPL-3.0-or-later
"""Recordings of what a fader receives and sends: which there are, and their metadata from what
wip_fader has written about them."""

import importlib
import json
import os
import pathlib
import sys
import time
from typing import Any

from ..air import SAMPLE_RATE
from ..machine import outputs
from ..machine.places import Places
from ..text import of_yaml
from . import metadata, recordings

FACTS = ".facts"  # ending of the file in which wip_fader describes a recording
SIDES = {"input": "received from", "output": "sent to"}


def used_sides(config: str) -> list[tuple[str, str]]:
    """(node, side) of all that is recorded."""
    tree = of_yaml(pathlib.Path(config).read_text(encoding="utf-8"))
    ends = [
        (str(p[end]), side)
        for p in tree["paths"]
        for end, side in (("from", "input"), ("to", "output"))
    ]
    return list(dict.fromkeys(ends))


def read_facts(file: pathlib.Path, timeout_s: float) -> dict[str, Any]:
    end = time.monotonic() + timeout_s
    while True:
        try:
            return dict(json.loads(file.read_text(encoding="utf-8")))
        except ValueError:  # nothing, or not all of it, is written
            if time.monotonic() > end:
                raise TimeoutError from None
            time.sleep(0.05)


def complete(
    base: str,
    node: str,
    side: str,
    config: str,
    places: Places,
    more: dict[str, Any] | None = None,
    timeout_s: float = 0,
) -> recordings.Recording:
    """Metadata of one side, as the stations' recordings have it. TimeoutError: the fader has not
    ended it by then."""
    sys.path.append(str(places.top / "flowgraphs" / "apps"))
    recording = importlib.import_module("recording")
    tree = of_yaml(pathlib.Path(config).read_text(encoding="utf-8"))
    name = f"{base}-{node}-{side}"
    facts = read_facts(pathlib.Path(name + FACTS), timeout_s)
    side_recording = recording.Recording(
        None,
        {
            "role": "fader",
            "hardware": tree["nodes"][node]["radio"],
            "frequency_hz": tree.get("fader", {}).get("frequency_hz", 1.8e9),
        },
    )
    side_recording.from_start, side_recording.began = (
        False,
        os.path.getmtime(name + FACTS) - facts["samples"] / SAMPLE_RATE,
    )
    meta = side_recording.metadata(facts)
    meta["global"] |= {
        "core:description": f"{SIDES[side]} {node} by the fader",
        "openwip:node": node,
        "openwip:side": side,
    }
    outputs.write_whole(name + recordings.META, json.dumps(meta, indent=1) + "\n")
    pathlib.Path(name + FACTS).unlink()
    return metadata.complete(
        name, {"openwip:seed": tree.get("air", {}).get("seed", 1)} | (more or {})
    )
