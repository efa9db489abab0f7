# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata that the flowgraph cannot know of its recording: hash, where the receiver was
locked, the cell's settings, the verdict of the run."""

import json
import pathlib
from collections.abc import Sequence
from typing import Any

from ..air import SLOT_SAMPLES
from ..cell.cell import Cell
from ..machine import outputs
from ..shapes import SlotReport
from ..text import of_yaml
from .recordings import Recording, sha512


def cell_settings(cell: Cell) -> dict[str, Any]:
    """Settings for the metadata of a recording, from the configuration files of a running cell."""
    base = of_yaml((cell.run / "base.yaml").read_text())
    air = of_yaml((cell.run / "air.yaml").read_text())
    return {
        "openwip:name": cell.name,
        "openwip:seed": air["air"]["seed"],
        "openwip:bins": base["link"]["bins"],
        "openwip:link": base["link"],
        "openwip:air": {"nodes": air["nodes"], "paths": air["paths"]},
    }


def complete(path: pathlib.Path | str, facts: dict[str, Any]) -> Recording:
    """Adds hash, locked stretches and `facts` (keys of the global object); returns the
    recording."""
    recording = Recording(path)
    meta = recording.meta
    meta["global"] |= facts
    meta["global"]["core:sha512"] = sha512(recording.data_path)
    if recording.slots_path.exists() and meta["global"]["openwip:role"] == "terminal":
        from openwip_schema import slot_link_pb2

        reports = [slot_link_pb2.SlotReport.FromString(r) for r in recording.reports()]
        cells = [r.state.cell for r in reports if r.HasField("state") and r.locked]
        if cells:
            meta["global"]["openwip:cell"] = cells[-1]
        meta["annotations"] = sorted(
            recording.gaps + locked_stretches(recording, reports),
            key=lambda a: a["core:sample_start"],
        )
    outputs.write_whole(recording.meta_path, json.dumps(meta, indent=1) + "\n")
    return Recording(path)


def locked_stretches(recording: Recording, reports: Sequence[SlotReport]) -> list[dict[str, Any]]:
    from openwip_schema import slot_link_pb2

    stretches: list[dict[str, Any]] = []
    at: dict[str, Any] | None = None
    for report in reports:
        if not report.locked:
            at = None
            continue
        if at is None:
            at = {
                "core:label": "locked",
                "openwip:first_slot": report.air,
                "openwip:slots": 0,
                "openwip:grants": 0,
                "openwip:frames_good": 0,
                "openwip:frames_bad": 0,
            }
            stretches.append(at)
        at["openwip:slots"] += 1
        at["openwip:grants"] += report.grant_ok
        at["openwip:frames_good"] += sum(b.outcome == slot_link_pb2.GOOD for b in report.bins)
        at["openwip:frames_bad"] += sum(b.outcome == slot_link_pb2.BAD for b in report.bins)
    for s in stretches:
        begin = index_of(recording, s["openwip:first_slot"] * SLOT_SAMPLES)
        end = index_of(recording, (s["openwip:first_slot"] + s["openwip:slots"]) * SLOT_SAMPLES)
        s["core:sample_start"], s["core:sample_count"] = begin, end - begin
    return stretches


def index_of(recording: Recording, sample: int) -> int:
    """The index in the file of the sample with this time, or of the next one after it."""
    best = 0
    for capture in recording.captures:
        if capture["core:global_index"] <= sample:
            best = capture["core:sample_start"] + sample - capture["core:global_index"]
    return max(0, min(best, recording.samples))
