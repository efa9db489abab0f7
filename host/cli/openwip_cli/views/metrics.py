# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip metrics: key figures of a running cell for Prometheus. A page that is asked for shows
the last message of each publisher; a publisher that has stopped is left out of it, so that no old
figure passes for a new one, except openwip_up, which is 0 then. Names, units and texts:
mac/schema/key_figures.yaml."""

import contextlib
import http.server
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from ..cell.running import cell_lives, running_cell
from ..errors import BadInput, not_valid
from ..figures import key_figures
from ..machine import rights
from ..machine.places import Places
from ..messages import telemetry
from ..settings.command_line import Parser
from ..settings.kinds import Integer
from ..shapes import Telemetry
from . import follow

TOPICS = ("status", "air", "tcp", "cpu", "verdict", "event")
STALE_S = 10.0
MOST_CONNECTIONS = 16  # simultaneous readers of the page
CONNECTION_S = 10.0  # seconds for the request and the page together

# name in Prometheus (counters without _total, which it adds): kind, help
METRICS = {f.metric: (f.kind, f.help) for f in key_figures.every().values() if f.metric}
# The metrics that this process counts itself.
OWN = {name: f.metric for name, f in key_figures.every().items() if f.metric and not f.topic}


class Put(Protocol):
    def __call__(self, name: str, value: float, **labels: str) -> None: ...


class Latest:
    """The latest values received. One thread writes, the server's threads read."""

    def __init__(self, reader: telemetry.Reader) -> None:
        self.reader, self.lock = reader, threading.Lock()
        # the last message by source and topic
        self.messages: dict[tuple[str, str], telemetry.Message] = {}
        self.events: dict[tuple[str, str, str], int] = {}  # source, kind, reason

    def take(self, messages: list[telemetry.Message]) -> None:
        for m in messages:
            with self.lock:
                self.messages[m.source, m.topic] = m
                if m.topic == "event":
                    e = m.telemetry.event
                    key = (m.source, e.kind, e.reason)
                    # reasons are few; whatever comes is bounded
                    if key in self.events or len(self.events) < 1000:
                        self.events[key] = self.events.get(key, 0) + max(1, e.count)

    def fresh(self) -> list[tuple[str, str, Telemetry]]:
        """[(source, topic, Telemetry)] of those that still publish."""
        limit = time.monotonic_ns() - STALE_S * 1e9
        with self.lock:
            return [
                (s, t, m.telemetry) for (s, t), m in self.messages.items() if m.received_ns >= limit
            ]


def samples_of(put: Put, source: str, topic: str, t: Telemetry) -> None:
    """All samples of one message; an event has none."""
    if topic == "event":
        return
    message = key_figures.message_of(t, topic)
    for figure in key_figures.every().values():
        if figure.metric and figure.topic == topic:
            for labels, value in figure.readings(message):
                whose = {"station": source} if topic == "status" else {}
                put(figure.metric, value / figure.divisor, **whose, **labels)


class Collector:
    """The page that prometheus_client asks for."""

    def __init__(self, latest: Latest, failed_connections: Callable[[], int] = lambda: 0) -> None:
        self.latest, self.failed_connections = latest, failed_connections

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        # values by name and labels
        samples: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}

        def put(name: str, value: float, **labels: str) -> None:
            samples.setdefault(name, {})[tuple(labels.items())] = value

        fresh = self.latest.fresh()
        for source, topic, t in fresh:
            samples_of(put, source, topic, t)
        reader, received = self.latest.reader, {s for s, _, _ in fresh}
        for source in sorted({s for s, _ in list(reader.counts)}):
            put(OWN["up"], int(source in received), publisher=source)
            put(OWN["messages"], reader.received(source), publisher=source)
            put(OWN["lost"], reader.lost(source), publisher=source)
        for source, n in reader.malformed.items():
            put(OWN["refused"], n + reader.future[source], publisher=source)
        put(OWN["failed_connections"], self.failed_connections())
        with self.latest.lock:
            for (source, kind, reason), n in self.latest.events.items():
                put(OWN["events"], n, publisher=source, kind=kind, reason=reason)
        for name, by_labels in samples.items():
            kind, text = METRICS[name]
            labels = [k for k, _ in next(iter(by_labels))]
            family = (GaugeMetricFamily if kind == "gauge" else CounterMetricFamily)(
                name, text, labels=labels
            )
            for key, value in by_labels.items():
                family.add_metric([v for _, v in key], value)
            yield family


class Server(http.server.ThreadingHTTPServer):
    """Answers with the page. There are at most MOST_CONNECTIONS at a time: another one ends the
    oldest. One that lasts longer than CONNECTION_S is ended. A client that is slow, resets or sends
    nonsense is counted, and has no other effect."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], latest: Latest) -> None:
        self.failed_connections = 0
        self.connections: dict[socket.socket, float] = {}  # began
        self.lock = threading.Lock()
        from prometheus_client import CollectorRegistry, exposition

        self.exposition, self.registry = exposition, CollectorRegistry(auto_describe=False)
        self.registry.register(Collector(latest, lambda: self.failed_connections))
        super().__init__(address, Page)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self.lock:
            if len(self.connections) >= MOST_CONNECTIONS:
                self.end(min(self.connections, key=self.connections.__getitem__))
            self.connections[request] = time.monotonic()
        super().process_request(request, client_address)

    def end(self, connection: socket.socket) -> None:
        """Closes the connection, which its thread then notices."""
        self.connections.pop(connection, None)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def service_actions(self) -> None:
        limit = time.monotonic() - CONNECTION_S
        with self.lock:
            for connection in [c for c, began in self.connections.items() if began < limit]:
                self.end(connection)

    def shutdown_request(self, request: Any) -> None:
        with self.lock:
            self.connections.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        self.count_failed()

    def count_failed(self) -> None:
        with self.lock:
            self.failed_connections += 1


class Page(http.server.BaseHTTPRequestHandler):
    timeout = 5  # seconds without a byte after which a client is disconnected
    server: Server
    answered = False

    def do_GET(self) -> None:
        encode, kind = self.server.exposition.choose_encoder(self.headers.get("Accept") or "")
        page = encode(self.server.registry)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)
        self.answered = True

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # the client may have gone
            super().handle()

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        if not self.answered:
            self.server.count_failed()

    def log_message(self, *_: object) -> None:
        pass


def serve(latest: Latest, listen: str, port: int) -> tuple[Server, int]:
    """The HTTP server, in threads of its own; returns (server, port in use)."""
    try:
        server = Server((listen, port), latest)
    except OSError as e:
        raise BadInput(
            f"--listen {listen} --port {port}: {e.strerror}; valid: an address of this machine and"
            " a port that is free"
        ) from None
    return server, server.server_address[1]


def begin(server: Server) -> None:
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()


def main(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "metrics",
        "Serves the key figures of a running cell (goodput, SNR, queue, ...) to Prometheus, until"
        " Ctrl-C or until the cell ends.",
        "demo",
    )
    p.value(
        "--port",
        Integer(0, 65535),
        default=9464,
        metavar="N",
        help=(
            "TCP port at which Prometheus fetches the key figures; 0: any free port (default 9464)"
        ),
    )
    p.add_argument(
        "--listen",
        default="127.0.0.1",
        metavar="ADDRESS",
        help=(
            "IPv4 address of this machine to listen at (default 127.0.0.1, which other machines"
            " cannot reach; there is no access control)"
        ),
    )
    given = p.parse_args(arguments)
    try:
        listen = str(ipaddress.IPv4Address(given.listen))
    except ValueError:
        raise not_valid("--listen", repr(given.listen), "an IPv4 address of this machine") from None
    cell = running_cell(given.name)
    rights.hold_only(rights.TO_BECOME_THE_ACCOUNT_AND_LISTEN)
    with follow.following(telemetry.endpoints_of(cell), TOPICS) as reader:
        latest = Latest(reader)
        server, port = serve(latest, listen, given.port)
        rights.become_account(follows=False)
        begin(server)
        print(f"http://{listen}:{port}/metrics", flush=True)
        try:
            for messages in follow.messages(reader, lambda: cell_lives(cell)):
                latest.take(messages)
        finally:
            server.shutdown()
    return 0
