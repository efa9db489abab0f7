# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of a station to a SigMF recording, while it runs (docs/iq.md).

The block records (wip.slot_receiver, wip.slot_transmitter: start_recording); here are the names of the
files, the metadata, and the socket over which ./openwip iq record starts and stops it: ZeroMQ REP, JSON,
{"do": "start", "file": BASE, "begin_slot": a, "end_slot": b}, {"do": "status"}, {"do": "stop"}; the answer has
"ok", and "error" or what was asked for."""
import datetime
import json
import os
import threading
import time
from typing import Any

from tree import SAMPLE_RATE, SLOT_SAMPLES

VERSION = "1.2.0"              # of SigMF
EXTENSION_VERSION = "1.1.0"    # of host/cli/openwip_cli/iq/sigmf-openwip.schema.json
DATA, META, SLOTS = ".sigmf-data", ".sigmf-meta", ".openwip-slots"


class Recording:
    """Of one block. `settings`: what the metadata says of the station: role, hardware, frequency_hz, receiver."""

    def __init__(self, block: Any, settings: dict[str, Any]) -> None:
        self.block, self.settings = block, settings
        self.lock = threading.Lock()
        self.base: str | None = None

    def start(self, base: str, begin_slot: int = -1, end_slot: int = -1, from_start: bool = False, nof_slots: int = -1) -> None:
        """RuntimeError names what is wrong."""
        with self.lock:
            receives = self.settings["role"] == "terminal"
            self.block.start_recording(base + DATA, base + SLOTS if receives else "", begin_slot, end_slot, nof_slots)
            self.base, self.from_start, self.began = base, from_start, time.time()

    def status(self) -> dict[str, Any]:
        with self.lock:
            status = self.block.status()
            return self.block.recording() | {"air": status.get("air", status.get("next_slot"))}

    def stop(self) -> tuple[str, dict[str, Any]]:
        """Name of the metadata file."""
        with self.lock:
            facts = self.block.stop_recording()
            assert self.base is not None        # or the block had refused
            path = self.base + META
            partial = path + ".part"
            with open(partial, "w", encoding="utf-8") as f:
                json.dump(self.metadata(facts), f, indent=1)
                f.write("\n")
            os.rename(partial, path)
            self.base = None
            return path, facts

    def stop_if_running(self) -> None:
        if self.base is not None:
            self.stop()

    def metadata(self, facts: dict[str, Any]) -> dict[str, Any]:
        s = self.settings
        stretches = facts["stretches"]
        origin = stretches[0]["first_sample"] if stretches else 0

        def wall(sample: int) -> str:
            when = self.began + (sample - origin) / SAMPLE_RATE
            return datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

        whole = {
            "core:datatype": "cf32_le", "core:sample_rate": SAMPLE_RATE, "core:version": VERSION,
            "core:num_channels": 1, "core:recorder": "OpenWIP", "core:hw": s["hardware"],
            "core:description": ("received by the terminal" if s["role"] == "terminal"
                                 else "transmitted by the base station"),
            "core:extensions": [{"name": "openwip", "version": EXTENSION_VERSION, "optional": True}],
            "openwip:role": s["role"], "openwip:samples": facts["samples"],
            "openwip:samples_lost": facts["samples_lost"], "openwip:reports": facts["reports"],
            "openwip:reports_lost": facts["reports_lost"],
            "openwip:from_start": self.from_start,
            "openwip:first_slot": -(-origin // SLOT_SAMPLES),
        }
        if s["role"] == "terminal":
            whole["openwip:receiver"] = s["receiver"]
        if facts["error"]:
            whole["openwip:error"] = facts["error"]
        captures: list[dict[str, Any]] = []
        gaps: list[dict[str, Any]] = []
        previous_end = None
        for stretch, following in zip(stretches, [*stretches[1:], {"index": facts["samples"]}]):
            first, index = stretch["first_sample"], stretch["index"]
            captures.append({"core:sample_start": index, "core:global_index": first,
                             "core:frequency": s["frequency_hz"], "core:datetime": wall(first),
                             "openwip:slot": first // SLOT_SAMPLES,
                             "openwip:slot_sample": first % SLOT_SAMPLES})
            if previous_end is not None:
                by = "recorder" if stretch["lost_by_recorder"] else "radio"
                gaps.append({"core:sample_start": index, "core:sample_count": 0, "core:label": "gap",
                             "core:comment": f"{first - previous_end} samples before this one are missing: lost by "
                                             + ("the recording, the disk did not follow" if by == "recorder"
                                                else "the radio"),
                             "openwip:lost_samples": first - previous_end, "openwip:lost_by": by})
            previous_end = first + following["index"] - index
        return {"global": whole, "captures": captures, "annotations": gaps}


class Control(threading.Thread):
    """The socket. Only the user of this process connects."""

    def __init__(self, endpoint: str, recording: Recording) -> None:
        super().__init__(daemon=True)
        import zmq
        self.recording = recording
        self.socket = zmq.Context.instance().socket(zmq.REP)
        self.socket.linger = 0
        before = os.umask(0o177)
        try:
            self.socket.bind(endpoint)
        finally:
            os.umask(before)

    def run(self) -> None:
        import zmq
        while True:
            try:
                raw = self.socket.recv()
            except zmq.ZMQError:
                return
            try:
                answer = {"ok": True} | self.answer(json.loads(raw))
            except (RuntimeError, OSError, ValueError, KeyError, TypeError, AttributeError) as e:
                answer = {"ok": False, "error": " ".join(str(e).split()) or type(e).__name__}
            self.socket.send_string(json.dumps(answer))

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "start":
            self.recording.start(str(request["file"]), int(request.get("begin_slot", -1)), int(request.get("end_slot", -1)))
            return {}
        if request["do"] == "status":
            return self.recording.status()
        if request["do"] == "stop":
            path, facts = self.recording.stop()
            return {"meta": path} | facts
        raise ValueError(f"do: {request['do']!r}; valid: start, status, stop")
