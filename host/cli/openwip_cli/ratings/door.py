# SPDX-License-Identifier: GPL-3.0-or-later
"""The way of the subject's browser to the pages: the door listens where the browser is, and fetches
what it asks for from the content server, through the link of the run.

The server stands at the base station, the door's own connections begin at the terminal: sockets are
made in the namespaces of the cell, the threads stay here. As browsers of 2006 did, the door has at
most two connections to the host at a time, and each serves one request; a third request waits. A
browser that leaves ends its connections at once. What a page sends to /log stays here and does not
cross the link."""

import contextlib
import http.client
import http.server
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import content

CONNECTIONS = 2  # simultaneous connections to the content server
SILENCE_S = 300.0  # seconds without data on a connection; a page takes minutes on the slowest link
CHUNK = 4096  # bytes that are read at a time
LONGEST_LOG = 1 << 16  # bytes of a page's message to /log
Connect = Callable[[], socket.socket]


class Server(http.server.ThreadingHTTPServer):
    """A server with a thread for each connection, none of which keeps the process alive.
    `listening`: a socket that listens already, wherever it was made."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[http.server.BaseHTTPRequestHandler],
        listening: socket.socket | None = None,
    ) -> None:
        super().__init__(address, handler, bind_and_activate=listening is None)
        if listening is not None:
            self.socket.close()
            self.socket = listening
            self.server_address = listening.getsockname()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)

    def server_bind(self) -> None:
        """Binds without looking up the host's name, for which the base class asks a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone is no error."""

    def __enter__(self) -> "Server":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: the log of the run is the only record that is kept of a subject."""

    def answer(self, status: int, kind: str, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            "Cache-Control": "no-store",
            **headers,
        }.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)


class ContentHandler(Handler):
    """The content server: a connection for each request, as then."""

    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        found = content.find(self.path)
        if found is None:
            self.answer(404, "text/plain", b"there is no such page\n")
        else:
            self.answer(200, *found)


class Traffic:
    """The requests of a run: path, bytes, and when each began and ended, in seconds after the first
    one."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.began: float | None = None
        self.requests: list[dict[str, Any]] = []
        self.reported: dict[str, Any] = {}

    def now(self) -> float:
        with self.lock:
            if self.began is None:
                self.began = time.monotonic()
            return round(time.monotonic() - self.began, 4)

    def add(self, **request: Any) -> None:
        with self.lock:
            self.requests.append(request)

    def report_values(self, values: dict[str, Any]) -> None:
        with self.lock:
            self.reported |= values

    def report(self) -> dict[str, Any]:
        """The values that the page has reported, and counts of what came through the door."""
        with self.lock:
            whole = [r for r in self.requests if r["whole"]]
            return dict(self.reported) | {
                "requests": len(self.requests),
                "whole": len(whole),
                "bytes": sum(r["bytes"] for r in self.requests),
                "last_byte_s": max((r["end_s"] for r in whole), default=None),
            }


class Upstream:
    """The connections through the link: at most `most` at a time."""

    def __init__(self, connect: Connect, most: int = CONNECTIONS) -> None:
        self.connect, self.places = connect, threading.Semaphore(most)
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()

    @contextlib.contextmanager
    def response(self, path: str) -> Iterator[http.client.HTTPResponse]:
        with self.places:
            link = self.connect()
            with self.lock:
                self.open.add(link)
            answered, whole = http.client.HTTPResponse(link), False
            try:
                link.settimeout(SILENCE_S)
                link.sendall(f"GET {path} HTTP/1.0\r\nHost: content\r\n\r\n".encode())
                answered.begin()
                yield answered
                whole = True
            finally:
                with self.lock:
                    self.open.discard(link)
                if not whole:
                    end_at_once(link)
                answered.close()
                link.close()

    def close(self) -> None:
        """The run is over: what is still coming is no longer waited for."""
        with self.lock:
            for link in self.open:
                end_at_once(link)
                with contextlib.suppress(OSError):
                    link.shutdown(socket.SHUT_RDWR)


def end_at_once(link: socket.socket) -> None:
    """Closing the socket resets the connection, so that the sender stops."""
    with contextlib.suppress(OSError):
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Door:
    """The present state behind the door: the upstream and the log of the present run. Between
    runs there is none, and the browser is answered so."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.upstream: Upstream | None = None
        self.traffic = Traffic()

    @contextlib.contextmanager
    def opened(self, upstream: Upstream) -> Iterator[Traffic]:
        with self.lock:
            self.upstream, self.traffic = upstream, Traffic()
        try:
            yield self.traffic
        finally:
            with self.lock:
                self.upstream = None
            upstream.close()

    def present(self) -> tuple[Upstream | None, Traffic]:
        with self.lock:
            return self.upstream, self.traffic


def handler_of(door: Door) -> type[Handler]:
    class DoorHandler(Handler):
        def do_GET(self) -> None:
            upstream, traffic = door.present()
            if upstream is None:
                self.answer(503, "text/plain", b"no run is under way\n")
                return
            began, passed, whole = traffic.now(), 0, False
            try:
                with upstream.response(self.path) as answered:
                    self.send_response(answered.status)
                    for name in ("Content-Type", "Content-Length", "Cache-Control"):
                        self.send_header(name, answered.headers[name])
                    self.end_headers()
                    while data := answered.read1(CHUNK):
                        passed += len(data)
                        self.wfile.write(data)
                    whole = passed == int(answered.headers["Content-Length"])
                    if not whole:
                        raise ConnectionError("the content server broke off")
            except (OSError, http.client.HTTPException):
                self.close_connection = True
            finally:
                traffic.add(
                    path=self.path, bytes=passed, begin_s=began, end_s=traffic.now(), whole=whole
                )

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if self.path != "/log" or not length.isdecimal() or int(length) > LONGEST_LOG:
                self.close_connection = True
                self.answer(404, "text/plain", b"there is no such page\n", Connection="close")
                return
            with contextlib.suppress(ValueError):
                values = json.loads(self.rfile.read(int(length)))
                if isinstance(values, dict):
                    door.present()[1].report_values(kept(values))
            self.answer(204, "text/plain", b"")

    return DoorHandler


NUMBERS = ("initial_s", "total_s")
OF_EVENT = ("t_s", "at_s", "stood_s", "kbps")
MOST_EVENTS = 1000  # events of the browser that a run keeps


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def kept(values: dict[str, Any]) -> dict[str, Any]:
    """The part of a page's message that a log may have: times and events, and no other text."""
    found: dict[str, Any] = {n: round(values[n], 4) for n in NUMBERS if is_number(values.get(n))}
    if isinstance(events := values.get("events"), list):
        found["events"] = [
            {"what": str(event.get("what"))[:20]}
            | {n: event[n] for n in OF_EVENT if is_number(event.get(n))}
            for event in events[:MOST_EVENTS]
            if isinstance(event, dict)
        ]
    return found
