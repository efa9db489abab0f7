# SPDX-License-Identifier: GPL-3.0-or-later
"""A recording through the receiver once more: a flowgraph whose source reads the file instead of a
USRP, the same slot_receiver with the same settings, and its reports beside those of the live one.

From the first sample of the run the receiver is a function of its samples: every report has to be
the same, bit by bit. From the middle it first has to lock, and then differs in what it has learned
before: how it tracks, what it predicts, and the copies of failed frames that it had kept for
combining."""

import pathlib
from collections.abc import Sequence
from typing import Any

from ..air import SAMPLE_RATE
from ..errors import BadInput, RecordFailed
from ..machine import scratch
from ..shapes import SlotReport
from .recordings import BYTES_PER_SAMPLE, Recording, read_reports


def run(recording: Recording) -> list[bytes]:
    """Serialised SlotReports of the replay."""
    with scratch.folder() as folder:
        reports = folder / "reports"
        receive(recording, reports)
        return read_reports(reports)


def receive(recording: Recording, reports: pathlib.Path) -> None:
    """The receiver's SlotReports to a file."""
    from gnuradio import gr, wip

    from .source import Source

    top, source = gr.top_block("replay"), Source(recording)
    receiver = wip.slot_receiver(**recording.whole["openwip:receiver"])
    receiver.start_recording("", str(reports))
    top.connect(source, receiver)
    top.run()
    if source.failure:
        raise BadInput(f"the samples of the recording cannot be read: {source.failure}")
    lost = receiver.stop_recording()["reports_lost"]
    if lost:
        raise RecordFailed(
            f"{lost} slot reports of the replay were lost, because {reports.parent} cannot be"
            " written as fast as they come"
        )


def compare(
    recording: Recording, live_raw: Sequence[bytes], replayed_raw: Sequence[bytes]
) -> dict[str, Any]:
    """The comparison of both series of reports: counts of those that are equal and of those that
    differ; the entry "same" is the verdict."""
    from openwip_schema import slot_link_pb2

    parse = slot_link_pb2.SlotReport.FromString
    live = {r.air: (raw, r) for raw in live_raw for r in [parse(raw)]}
    replayed = {r.air: (raw, r) for raw in replayed_raw for r in [parse(raw)]}
    g = recording.whole
    # The receiver looks a little beyond a slot's end: of a recording that was cut at a slot, the
    # last reports have no counterpart.
    whole = (
        g["openwip:from_start"] and not g["openwip:samples_lost"] and not g["openwip:reports_lost"]
    )
    common = sorted(set(live) & set(replayed))
    locked = [a for a in common if replayed[a][1].locked and live[a][1].locked]
    result = {
        "whole": whole,
        "slots_live": len(live_raw),
        "slots_replayed": len(replayed_raw),
        "compared": len(common),
        "identical": sum(live[a][0] == replayed[a][0] for a in common),
        "locked_in_both": len(locked),
        "first_locked_slot": locked[0] if locked else None,
        "grants_same": 0,
        "frames": 0,
        "outcomes_same": 0,
        "payloads_same": 0,
        "contradictions": 0,
        "snr_same": 0,
        "snr_largest_difference_db": 0.0,
        "predictions_same": 0,
        "prediction_largest_difference_db": 0.0,
        "first_difference": next(
            (
                {"slot": a, "what": difference(live[a][1], replayed[a][1])}
                for a in common
                if live[a][0] != replayed[a][0]
            ),
            None,
        ),
    }
    for air in locked:
        count_slot(result, live[air][1], replayed[air][1])
    tail = 2
    result["same"] = (
        bool(common)
        and result["identical"] == len(common) >= max(len(live_raw), len(replayed_raw)) - tail
        if whole
        else (bool(locked) and result["contradictions"] == 0)
    )
    return result


def check_reports(recording: Recording, raw: Sequence[bytes]) -> None:
    from google.protobuf.message import DecodeError
    from openwip_schema import slot_link_pb2

    for number, report in enumerate(raw):
        try:
            slot_link_pb2.SlotReport.FromString(report)
        except DecodeError:
            raise BadInput(
                f"slot reports {recording.slots_path}: report {number} is not a slot report; valid:"
                " a report as a receiver wrote it"
            ) from None


def last_slot(raw: Sequence[bytes]) -> int:
    """The slot number of the last of these serialised reports; -1: there are no reports."""
    from openwip_schema import slot_link_pb2

    return slot_link_pb2.SlotReport.FromString(raw[-1]).air if raw else -1


def count_slot(result: dict[str, Any], live: SlotReport, replayed: SlotReport) -> None:
    from openwip_schema import slot_link_pb2

    result["grants_same"] += live.grant == replayed.grant
    if live.grant and replayed.grant and live.grant != replayed.grant:
        result["contradictions"] += 1
    own = {b.bin: b for b in replayed.bins}
    for b in live.bins:
        result["frames"] += 1
        other = own.get(b.bin)
        if other is None:
            continue
        result["outcomes_same"] += b.outcome == other.outcome
        result["payloads_same"] += b.payload == other.payload
        # Two good frames with different content in the same place cannot both be right.
        both_good = b.outcome == other.outcome == slot_link_pb2.GOOD
        result["contradictions"] += both_good and b.payload != other.payload
    for key, name in (("snr", "snr_db"), ("prediction", "predicted_snr_db")):
        ours_db, others_db = list(getattr(live, name)), list(getattr(replayed, name))
        largest = max((abs(x - y) for x, y in zip(ours_db, others_db)), default=0.0)
        result[f"{key}{'s' if key == 'prediction' else ''}_same"] += ours_db == others_db
        key = f"{key}_largest_difference_db"
        result[key] = max(result[key], round(largest, 4))


def difference(live: SlotReport, replayed: SlotReport) -> list[str]:
    """Names of the fields that differ."""
    return [
        field.name
        for field in live.DESCRIPTOR.fields
        if (
            list(getattr(live, field.name)) != list(getattr(replayed, field.name))
            if field.label == field.LABEL_REPEATED
            else getattr(live, field.name) != getattr(replayed, field.name)
        )
    ]


def seconds(recording: Recording) -> float:
    return recording.samples / SAMPLE_RATE


def megabytes(recording: Recording) -> float:
    return recording.samples * BYTES_PER_SAMPLE / 1e6
