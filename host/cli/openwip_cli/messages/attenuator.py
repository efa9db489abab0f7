# SPDX-License-Identifier: GPL-3.0-or-later
"""The attenuator controller on its serial line: lines of SCPI, and frames (firmware/core/frame.h:
0x00, COBS of message and CRC-32, 0x00) with the messages of mac/schema/attenuator.proto."""

import collections
import os
import select
import termios
import time
import tty
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from openwip_schema import attenuator_pb2 as pb

from ..errors import NoAnswer, Refused, not_valid

STEP_DB = 0.25
STATES = ("idle", "armed", "playing", "ended", "stopped", "silent")
ANSWER_S = 1.0
TRIES = 3  # attempts at a request, since bytes of a serial line may be damaged
MOST_BYTES = 240  # levels in one message
KEEP_ALIVE_S = 0.02  # seconds; the controller stops after 0.1 s of silence


# Errors of SCPI and, above 0, of the device (firmware/core/error_queue.cpp), by which a request can
# be refused.
ERRORS = {
    -108: "Parameter not allowed",
    -211: "Trigger ignored",
    -221: "Settings conflict",
    -222: "Data out of range",
    -223: "Too much data",
    -224: "Illegal parameter value",
    -241: "Hardware missing",
    -250: "Mass storage error",
    205: "Steps out of sequence",
}


def refused(what: str, number: int, words: str = "") -> Refused:
    """The controller has answered with an error. `words`: its text, where the answer has one."""
    words = words or ERRORS.get(number, "")
    return Refused(
        f"the attenuator refuses the command {what} with SCPI error"
        f" {number}{f' ({words})' * bool(words)}"
    )


def stuff(data: bytes) -> bytes:
    """COBS."""
    out = bytearray()
    for block in data.split(b"\0"):
        while len(block) >= 254:
            out += b"\xff" + block[:254]
            block = block[254:]
        out += bytes([len(block) + 1]) + block
    return bytes(out)


def unstuff(data: bytes) -> bytes:
    out, at = bytearray(), 0
    while at < len(data):
        code = data[at]
        if code == 0 or at + code > len(data):
            raise ValueError("not a COBS frame (consistent overhead byte stuffing)")
        out += data[at + 1 : at + code]
        at += code
        if code < 255 and at < len(data):
            out.append(0)
    return bytes(out)


def frame(message: bytes) -> bytes:
    return b"\0" + stuff(message + zlib.crc32(message).to_bytes(4, "little")) + b"\0"


class Line:
    """Sorts incoming bytes into lines of text and messages of whole frames."""

    def __init__(self, port: str) -> None:
        try:
            self.fd = os.open(port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            tty.setraw(self.fd)
            attributes = termios.tcgetattr(self.fd)
            attributes[4] = attributes[5] = termios.B921600
            termios.tcsetattr(self.fd, termios.TCSANOW, attributes)
        except (OSError, termios.error) as e:
            raise not_valid(
                "--port",
                port,
                "a serial port (./openwip attenuator list)",
                more=f": {(e.args[-1] if e.args else e)}",
            ) from None
        self.port = port
        self.lines: collections.deque[str] = collections.deque()
        self.messages: collections.deque[bytes] = collections.deque()
        self._text, self._frame, self._inside = bytearray(), bytearray(), False

    def close(self) -> None:
        os.close(self.fd)

    def send(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self.fd, data) :]
            except BlockingIOError:
                select.select([], [self.fd], [], ANSWER_S)
            except OSError as e:
                raise NoAnswer(f"{self.port}: {e.strerror}") from None

    def receive(self, timeout_s: float) -> None:
        if not select.select([self.fd], [], [], max(0.0, timeout_s))[0]:
            return
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return
        except OSError as e:
            raise NoAnswer(f"{self.port}: {e.strerror}") from None
        for byte in data:
            self._take(byte)

    def _take(self, byte: int) -> None:
        if byte:
            (self._frame if self._inside else self._text).append(byte)
            if not self._inside and byte == 10:
                self.lines.append(self._text.decode("ascii", "replace").strip())
                self._text.clear()
            return
        if not self._inside or not self._frame:
            self._inside = True
            self._frame.clear()
            return
        self._inside = False
        try:
            whole = unstuff(bytes(self._frame))
        except ValueError:
            return
        if len(whole) >= 4 and zlib.crc32(whole[:-4]).to_bytes(4, "little") == whole[-4:]:
            self.messages.append(whole[:-4])


class Attenuator:
    def __init__(self, port: str, answer_s: float = ANSWER_S) -> None:
        self.line, self._answer_s, self._id = Line(port), answer_s, 0

    def __enter__(self) -> "Attenuator":
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def find(self, timeout_s: float = 5.0) -> str:
        """Waits until the device answers, and returns its name. Commands that were sent before it
        listened are lost."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            try:
                name = self.ask("*IDN?", 0.3)
            except NoAnswer:
                continue
            if name.startswith("OpenWIP,attenuator,"):
                # Answers to queries that were repeated come before the reply to a frame sent after
                # them.
                self.status()
                self.line.lines.clear()
                return name
        raise NoAnswer(
            f"{self.line.port}: no OpenWIP attenuator answers the query *IDN? at this serial port;"
            " valid: a port of ./openwip attenuator list"
        )

    def ask(self, line: str, timeout_s: float | None = None) -> str:
        timeout_s = timeout_s or self._answer_s
        self.line.lines.clear()
        self.line.send(line.encode("ascii") + b"\n")
        end = time.monotonic() + timeout_s
        while not self.line.lines:
            if time.monotonic() >= end:
                raise NoAnswer(
                    f"{self.line.port}: the attenuator does not answer the command {line} within"
                    f" {timeout_s} s"
                )
            self.line.receive(end - time.monotonic())
        return self.line.lines.popleft()

    def errors(self) -> list[tuple[int, str]]:
        """The queue, which is empty then."""
        found = []
        while not (answer := self.ask("SYST:ERR?")).startswith("0,"):
            number, _, words = answer.partition(",")
            found.append((int(number), words.strip('"')))
        return found

    def command(self, line: str) -> None:
        """One that answers nothing. Refused, if it has put an error into the queue."""
        self.ask("*CLS;*OPC?")
        if self.ask(f"{line};*OPC?") != "1":
            raise NoAnswer(
                f"{self.line.port}: the attenuator's answer to the command {line} is not the"
                " expected 1"
            )
        if found := self.errors():
            raise refused(line, *found[0])

    def request(self, **what: Any) -> pb.Reply:
        """Sends a request and returns the reply. A request that is lost on the way is repeated, and
        steps that came twice are counted once."""
        self._id = self._id % 0xFFFF + 1
        data = frame(pb.Request(id=self._id, **what).SerializeToString())
        for _ in range(TRIES):
            self.line.send(data)
            end = time.monotonic() + self._answer_s
            while (left := end - time.monotonic()) > 0:
                self.line.receive(left)
                while self.line.messages:
                    reply = pb.Reply.FromString(self.line.messages.popleft())
                    if reply.id == self._id:
                        return reply
        raise NoAnswer(
            f"{self.line.port}: the attenuator does not answer the request {next(iter(what))},"
            f" which was sent {TRIES} times, within {self._answer_s} s each"
        )

    def done(self, **what: Any) -> pb.Status:
        """The status after it; Refused if it was not done."""
        reply = self.request(**what)
        if reply.error:
            raise refused(next(iter(what)), reply.error)
        return reply.status

    def status(self) -> pb.Status:
        return self.request(status=pb.Empty()).status

    def play(
        self,
        channels: Sequence[int],
        table: bytes,
        period_ms: int = 1,
        external: bool = False,
        seen: Callable[[pb.Status], None] = lambda status: None,
        ready: Callable[[], bool] = lambda: True,
    ) -> pb.Status:
        """The table, a byte of quarter dB for each channel (from 1, ascending) and step; the status
        at the end. `seen` gets each one on the way. It begins when the ring is full and `ready`, or
        with the edge at the input."""
        mask = sum(1 << (c - 1) for c in channels)
        nof_steps, most = len(table) // len(channels), MOST_BYTES // len(channels)
        status = self.done(
            open=pb.Open(
                channels=mask, period_ticks=period_ms, trigger=pb.EXTERNAL if external else pb.BUS
            )
        )
        active = (pb.ARMED, pb.PLAYING)
        triggered = external
        while status.state in active:
            first = status.received
            room = min(status.free, most, nof_steps - first)
            # A full message, or the end; small ones while the ring is as good as full would only
            # cost the line.
            if room == min(most, nof_steps - first) and room > 0:
                data = table[first * len(channels) : (first + room) * len(channels)]
                what: dict[str, Any] = {
                    "steps": pb.Steps(first=first, levels=data, last=first + room == nof_steps)
                }
            elif not triggered and ready():
                triggered = True
                what = {"trigger": pb.Empty()}
            else:
                time.sleep(KEEP_ALIVE_S)
                what = {"status": pb.Empty()}
            reply = self.request(**what)
            status = reply.status
            # Steps for a playback that is over (a trigger for one that runs): the status says so.
            if reply.error and status.state == pb.ARMED:
                raise refused(next(iter(what)), reply.error)
            seen(status)
        return status

    def stop(self) -> None:
        self.request(stop=pb.Empty())
