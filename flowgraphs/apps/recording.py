# SPDX-License-Identifier: GPL-3.0-or-later
"""Samples of a station to a SigMF recording, while it runs (docs/how-to/iq.md).

The block records (wip.slot_receiver, wip.slot_transmitter: start_recording); here are the metadata,
and the socket over which ./openwip iq record starts and stops it: a Unix stream socket. A
connection carries one request and its answer, both JSON. Requests are {"do": "start", "file": BASE,
"begin_slot": a, "end_slot": b}, {"do": "status"} and {"do": "stop"}; the answer has "ok", and
"error" or what was asked for.

The flowgraph of a cell has no right to make files. The client opens new ones (WRITTEN of
openwip_cli.iq.recordings says which and in which order), and hands the descriptors over: with
"start" over the socket, or, with --record-iq, to the process when it starts. Here they have the
names /proc/self/fd/N."""

import argparse
import contextlib
import datetime
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from program import bad_input
from tree import SAMPLE_RATE, SLOT_SAMPLES, NewFiles

VERSION = "1.2.0"  # version of SigMF
EXTENSION_VERSION = "1.1.0"  # version of host/cli/openwip_cli/iq/sigmf-openwip.schema.json
DATA, META, SLOTS = ".sigmf-data", ".sigmf-meta", ".openwip-slots"
PATIENCE_S = 2.0  # seconds to wait for a client that connects and sends nothing
LARGEST_QUESTION, MOST_DESCRIPTORS = 1 << 16, 4  # bytes; file descriptors


class Recording:
    """The recording of one block. `settings`: the values of the station in the metadata: role,
    hardware, frequency_hz, receiver."""

    def __init__(self, block: Any, settings: dict[str, Any]) -> None:
        self.block, self.settings = block, settings
        self.lock = threading.Lock()
        self.base: str | None = None

    def start(
        self,
        base: str,
        begin_slot: int = -1,
        end_slot: int = -1,
        from_start: bool = False,
        nof_slots: int = -1,
        descriptors: Sequence[int] = (),
    ) -> None:
        """RuntimeError or OSError names what is wrong. Without `descriptors` the files BASE... are
        made here. `descriptors` belong to this object, and are closed by it, once the recording has
        started."""
        endings = (DATA, META, SLOTS) if self.settings["role"] == "terminal" else (DATA, META)
        if descriptors and len(descriptors) != len(endings):
            raise RuntimeError(
                f"{len(descriptors)} descriptors were handed over; valid: {len(endings)}, of"
                f" {', '.join(endings)}"
            )
        with self.lock:
            made = None if descriptors else NewFiles(base + ending for ending in endings)
            data, meta, *slots = made.fds if made else descriptors
            try:
                self.block.start_recording(
                    f"/proc/self/fd/{data}",
                    f"/proc/self/fd/{slots[0]}" if slots else "",
                    begin_slot,
                    end_slot,
                    nof_slots,
                )
                self.meta = os.dup(meta)
                if made:
                    made.give_names()
            finally:
                if made:
                    made.close()
            for fd in descriptors:
                os.close(fd)
            self.base, self.from_start, self.began = base, from_start, time.time()

    def status(self) -> dict[str, Any]:
        with self.lock:
            status = self.block.status()
            return self.block.recording() | {"air": status.get("air", status.get("next_slot"))}

    def stop(self) -> tuple[str, dict[str, Any]]:
        """Stops the recording and writes the metadata. Returns the name of their file, and what the
        block reports of the recording."""
        with self.lock:
            facts = self.block.stop_recording()
            assert self.base is not None  # otherwise the block would have refused it
            path, self.base = self.base + META, None
            with open(self.meta, "w", encoding="utf-8") as f:
                json.dump(self.metadata(facts), f, indent=1)
                f.write("\n")
            return path, facts

    def stop_if_running(self) -> None:
        if self.base is not None:
            try:
                self.stop()
            except OSError as e:
                print(
                    f"the metadata of the recording cannot be written: {e.strerror}",
                    file=sys.stderr,
                    flush=True,
                )

    def metadata(self, facts: dict[str, Any]) -> dict[str, Any]:
        s = self.settings
        stretches = facts["stretches"]
        origin = stretches[0]["first_sample"] if stretches else 0

        def wall(sample: int) -> str:
            when = self.began + (sample - origin) / SAMPLE_RATE
            return datetime.datetime.fromtimestamp(when, datetime.timezone.utc).strftime(
                "%Y-%m-%dT%H:%M:%S.%fZ"
            )

        whole = {
            "core:datatype": "cf32_le",
            "core:sample_rate": SAMPLE_RATE,
            "core:version": VERSION,
            "core:num_channels": 1,
            "core:recorder": "OpenWIP",
            "core:hw": s["hardware"],
            "core:description": (
                "received by the terminal"
                if s["role"] == "terminal"
                else "transmitted by the base station"
            ),
            "core:extensions": [
                {"name": "openwip", "version": EXTENSION_VERSION, "optional": True}
            ],
            "openwip:role": s["role"],
            "openwip:samples": facts["samples"],
            "openwip:samples_lost": facts["samples_lost"],
            "openwip:reports": facts["reports"],
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
            captures.append(
                {
                    "core:sample_start": index,
                    "core:global_index": first,
                    "core:frequency": s["frequency_hz"],
                    "core:datetime": wall(first),
                    "openwip:slot": first // SLOT_SAMPLES,
                    "openwip:slot_sample": first % SLOT_SAMPLES,
                }
            )
            # The part of a sample by which the samples of the stretch were taken later than their
            # numbers say (sigmf-openwip.schema.json).
            if stretch["later"]:
                captures[-1]["openwip:later"] = stretch["later"]
            if previous_end is not None:
                by = "recorder" if stretch["lost_by_recorder"] else "radio"
                gaps.append(
                    {
                        "core:sample_start": index,
                        "core:sample_count": 0,
                        "core:label": "gap",
                        "core:comment": (
                            f"{first - previous_end} samples before this one are missing: lost by "
                            + (
                                "the recording, the disk did not follow"
                                if by == "recorder"
                                else "the radio"
                            )
                        ),
                        "openwip:lost_samples": first - previous_end,
                        "openwip:lost_by": by,
                    }
                )
            previous_end = first + following["index"] - index
        return {"global": whole, "captures": captures, "annotations": gaps}


class Control(threading.Thread):
    """Serves the socket, to which only the user of this process can connect."""

    def __init__(self, path: str, recording: Recording) -> None:
        super().__init__(daemon=True)
        self.recording = recording
        self.socket = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # the socket of a process that has ended
        before = os.umask(0o177)
        try:
            self.socket.bind(path)
        finally:
            os.umask(before)
        self.socket.listen()

    def run(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):  # the client has gone
                connection.settimeout(PATIENCE_S)
                connection.sendall(json.dumps(self.answered(connection)).encode())

    def answered(self, connection: socket.socket) -> dict[str, Any]:
        descriptors: list[int] = []
        try:
            raw = b""
            while True:
                data, received, *_ = socket.recv_fds(
                    connection, LARGEST_QUESTION, MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
                )
                descriptors += received
                raw += data
                if not data or len(raw) > LARGEST_QUESTION:
                    break
            return {"ok": True} | self.answer(json.loads(raw), descriptors)
        except (RuntimeError, OSError, ValueError, KeyError, TypeError, AttributeError) as e:
            what = {"not_written": True} if isinstance(e, OSError) else {}
            return {
                "ok": False,
                "error": (
                    " ".join(str(getattr(e, "strerror", None) or e).split()) or type(e).__name__
                ),
            } | what
        finally:
            for fd in descriptors:
                os.close(fd)

    def answer(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        if request["do"] == "start":
            base = str(request["file"])
            if not descriptors:
                raise ValueError(
                    "no descriptors of the files were handed over; valid: one for each file"
                )
            self.recording.start(
                base,
                int(request.get("begin_slot", -1)),
                int(request.get("end_slot", -1)),
                descriptors=descriptors,
            )
            descriptors.clear()  # the recording owns the descriptors now
            return {}
        if request["do"] == "status":
            return self.recording.status()
        if request["do"] == "stop":
            path, facts = self.recording.stop()
            return {"meta": path} | facts
        raise ValueError(f"do is {request['do']!r}; valid: start, status, stop")


def recording_of(
    block: Any, options: argparse.Namespace, role: str, receiver: dict[str, Any] | None = None
) -> "Recording":
    """Makes the recording of the block's samples: running already with --record-iq, startable with
    --record-endpoint."""
    made = Recording(
        block,
        {
            "role": role,
            "hardware": f"USRP, {options.args}",
            "frequency_hz": options.freq,
            "receiver": receiver,
        },
    )
    try:
        if options.record_iq:
            made.start(
                options.record_iq,
                nof_slots=options.record_iq_slots or -1,
                from_start=True,
                descriptors=[int(n) for n in options.record_iq_descriptors.split(",") if n],
            )
        if options.record_endpoint:
            Control(options.record_endpoint.removeprefix("ipc://"), made).start()
    except (RuntimeError, OSError) as e:
        bad_input(f"--record-iq or --record-endpoint: {e}")
    return made
