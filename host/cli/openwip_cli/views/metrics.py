# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip metrics: key figures of a running cell for Prometheus. A page that is asked for shows
the last message of each publisher; a publisher that has stopped is left out of it, so that no old
figure passes for a new one, except openwip_up, which is 0 then. Names, units and texts: METRICS."""

import contextlib
import http.server
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from ..cell.running import cell_lives, running_cell
from ..errors import BadInput
from ..machine import rights
from ..machine.places import Places
from ..messages import telemetry
from ..settings.command_line import Parser
from ..settings.kinds import Integer
from ..shapes import Direction, MacStatus, Telemetry
from . import follow

TOPICS = ("status", "air", "tcp", "cpu", "verdict", "event")
STALE_S = 10.0
MOST_CONNECTIONS = 16
CONNECTION_S = 10.0  # for the request and the page together

G, C = "gauge", "counter"
# name (counters without _total, which Prometheus adds), kind, help; of what is one field of a
# message, or of each of its entries, topic and field, and by what it is divided.
METRICS: dict[str, tuple[Any, ...]] = {
    "openwip_up": (G, "1 while the publisher's telemetry comes, 0 when it has stopped"),
    "openwip_verdict_valid": (
        G,
        "verdict of the run so far: 1 valid, 0 invalid; no throughput means anything without it",
        "verdict",
        "valid",
        1,
    ),
    "openwip_verdict_reasons": (G, "reasons why the run is invalid so far"),
    "openwip_run_seconds": (G, "seconds of the run so far", "verdict", "seconds", 1),
    "openwip_goodput_bits_per_second": (
        G,
        "link payload acknowledged over the last second, as the observer of the verdict has it",
        "verdict",
        "goodput_bps",
        1,
    ),
    "openwip_capacity_bits_per_second": (
        G,
        "payload of link frames that the air interface can carry with the modulation sent",
        "verdict",
        "capacity_bps",
        1,
    ),
    "openwip_slot": (C, "slots of air time, 0.667 ms each, as last planned or received"),
    "openwip_packets": (C, "IP packets by direction, at this station, by what became of them"),
    "openwip_bytes": (
        C,
        "bytes of IP packets by direction, at this station, by what became of them",
    ),
    "openwip_packets_dropped": (C, "IP packets dropped, by reason"),
    "openwip_queue_packets": (G, "IP packets waiting"),
    "openwip_queue_bytes": (G, "bytes of IP packets waiting"),
    "openwip_frames": (C, "link frames of the downlink by what became of them"),
    "openwip_frames_sent_modulation": (C, "link frames sent by bits per symbol"),
    "openwip_frames_sent_retransmission": (C, "link frames by number of retransmissions"),
    "openwip_payload_acknowledged_bits": (C, "link payload that was acknowledged, bits"),
    "openwip_receiver_locked": (G, "1 while the receiver is locked"),
    "openwip_receiver_lock_losses": (C, "locks lost"),
    "openwip_receiver_snr_decibels": (G, "mean SNR per subcarrier"),
    "openwip_receiver_cfo_hertz": (G, "carrier frequency offset"),
    "openwip_receiver_evm_percent": (G, "error vector magnitude"),
    "openwip_receiver_gain_decibels": (G, "receiver gain"),
    "openwip_receiver_prediction_nmse": (G, "normalised mean square error of the predicted SNR"),
    "openwip_malformed_messages": (C, "messages that a process dropped because they did not parse"),
    "openwip_air_real_time_factor": (G, "air time by wall time", "air", "real_time_factor", 1),
    "openwip_air_slots_behind": (
        C,
        "slots released later than the pacing limit",
        "air",
        "slots_behind",
        1,
    ),
    "openwip_air_late": (C, "transmissions that came after their time", "air", "late", 1),
    "openwip_air_pacing_p99_seconds": (
        G,
        "99th percentile of how late slots were released",
        "air",
        "pacing_p99_us",
        1e6,
    ),
    "openwip_tcp_congestion_window_segments": (G, "congestion window", "tcp", "cwnd_segments", 1),
    "openwip_tcp_rtt_seconds": (G, "smoothed round-trip time", "tcp", "rtt_ms", 1000),
    "openwip_tcp_rto_seconds": (G, "retransmission time-out", "tcp", "rto_ms", 1000),
    "openwip_tcp_retransmitted_segments": (
        C,
        "segments retransmitted",
        "tcp",
        "retransmitted_segments",
        1,
    ),
    "openwip_tcp_acknowledged_bytes": (C, "bytes acknowledged", "tcp", "bytes_acknowledged", 1),
    "openwip_process_cpu_cores": (
        G,
        "processor cores in use over the last interval",
        "cpu",
        "cores",
        1,
    ),
    "openwip_process_cpu_seconds": (
        C,
        "processor time since the start of the process",
        "cpu",
        "seconds",
        1,
    ),
    "openwip_process_resident_bytes": (G, "resident memory", "cpu", "resident_bytes", 1),
    "openwip_cpu_pressure_ratio": (G, "share of time in which some task waited for a core"),
    "openwip_events": (C, "events by kind and reason, since this program listens"),
    "openwip_telemetry_messages": (C, "telemetry messages received, since this program listens"),
    "openwip_telemetry_lost_messages": (C, "telemetry messages lost, since this program listens"),
    "openwip_telemetry_refused_messages": (
        C,
        "telemetry messages that did not parse or are of a later version",
    ),
    "openwip_failed_connections": (
        C,
        "connections to this page that asked for nothing, were too slow or broke off",
    ),
}


# and their fields
LABELS = {
    "tcp": (("station", "station"), ("local", "local"), ("remote", "remote")),
    "cpu": (("process", "name"),),
}


class Put(Protocol):
    def __call__(self, name: str, value: float, **labels: str) -> None: ...


class Latest:
    """What was heard last. One thread writes, the server's threads read."""

    def __init__(self, reader: telemetry.Reader) -> None:
        self.reader, self.lock = reader, threading.Lock()
        self.messages: dict[tuple[str, str], telemetry.Message] = {}  # by source and topic
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


def direction_samples(put: Put, source: str, name: str, direction: Direction) -> None:
    for what in ("in", "delivered"):
        count = getattr(direction, what)
        put("openwip_packets", count.packets, station=source, direction=name, what=what)
        put("openwip_bytes", count.bytes, station=source, direction=name, what=what)
    put("openwip_queue_packets", direction.queued.packets, station=source, direction=name)
    put("openwip_queue_bytes", direction.queued.bytes, station=source, direction=name)
    for drop in direction.dropped:
        put(
            "openwip_packets_dropped",
            drop.count.packets,
            station=source,
            direction=name,
            reason=drop.reason,
        )


def status_samples(put: Put, source: str, mac: MacStatus) -> None:
    put("openwip_slot", max(0, mac.slot), station=source)
    put("openwip_malformed_messages", mac.malformed_messages, station=source)
    for name in ("downlink", "uplink"):
        direction_samples(put, source, name, getattr(mac, name))
    if mac.HasField("base"):
        b = mac.base
        for what in ("sent", "acknowledged", "failed", "given_up"):
            put("openwip_frames", getattr(b, f"frames_{what}"), station=source, what=what)
        for bits, n in enumerate(b.modulation_histogram):
            put("openwip_frames_sent_modulation", n, station=source, bits_per_symbol=str(bits))
        for times, n in enumerate(b.retransmission_histogram):
            put("openwip_frames_sent_retransmission", n, station=source, retransmissions=str(times))
        put("openwip_payload_acknowledged_bits", b.payload_bits_acknowledged, station=source)
    if mac.HasField("terminal") and mac.HasField("radio"):
        r = mac.radio
        put("openwip_receiver_locked", int(r.locked), station=source)
        put("openwip_receiver_lock_losses", r.lock_losses, station=source)
        for name, value in (
            ()
            if not r.HasField("mean_snr_db")
            else (
                ("snr_decibels", r.mean_snr_db),
                ("cfo_hertz", r.cfo_hz),
                ("evm_percent", r.evm_percent),
                ("gain_decibels", r.gain_db),
                ("prediction_nmse", r.prediction_nmse),
            )
        ):
            put(f"openwip_receiver_{name}", value, station=source)


def samples_of(put: Put, source: str, topic: str, t: Telemetry) -> None:
    """All samples of one message."""
    if topic == "status":
        status_samples(put, source, t.mac)
    elif topic == "verdict":
        put("openwip_verdict_reasons", len(t.verdict.reason))
    elif topic == "cpu" and t.cpu.HasField("pressure_percent"):
        put("openwip_cpu_pressure_ratio", t.cpu.pressure_percent / 100)
    entries: dict[str, Iterable[object]] = {
        "air": [t.air],
        "verdict": [t.verdict],
        "tcp": t.tcp.flow,
        "cpu": t.cpu.process,
    }
    for name, (_, _, *of) in METRICS.items():
        for entry in entries[topic] if of and of[0] == topic else ():
            put(
                name,
                getattr(entry, of[1]) / of[2],
                **{label: getattr(entry, key) for label, key in LABELS.get(topic, ())},
            )


class Collector:
    """What prometheus_client asks for a page."""

    def __init__(self, latest: Latest, failed_connections: Callable[[], int] = lambda: 0) -> None:
        self.latest, self.failed_connections = latest, failed_connections

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        samples: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}  # by name and labels

        def put(name: str, value: float, **labels: str) -> None:
            samples.setdefault(name, {})[tuple(labels.items())] = value

        fresh = self.latest.fresh()
        for source, topic, t in fresh:
            samples_of(put, source, topic, t)
        reader, heard = self.latest.reader, {s for s, _, _ in fresh}
        for source in sorted({s for s, _ in list(reader.counts)}):
            put("openwip_up", int(source in heard), publisher=source)
            put("openwip_telemetry_messages", reader.received(source), publisher=source)
            put("openwip_telemetry_lost_messages", reader.lost(source), publisher=source)
        for source, n in reader.malformed.items():
            put("openwip_telemetry_refused_messages", n + reader.future[source], publisher=source)
        put("openwip_failed_connections", self.failed_connections())
        with self.latest.lock:
            for (source, kind, reason), n in self.latest.events.items():
                put("openwip_events", n, publisher=source, kind=kind, reason=reason)
        for name, by_labels in samples.items():
            kind, text, *_ = METRICS[name]
            labels = [k for k, _ in next(iter(by_labels))]
            family = (GaugeMetricFamily if kind == G else CounterMetricFamily)(
                name, text, labels=labels
            )
            for key, value in by_labels.items():
                family.add_metric([v for _, v in key], value)
            yield family


class Server(http.server.ThreadingHTTPServer):
    """Answers with the page. There are at most MOST_CONNECTIONS at a time: another one ends the
    oldest. One that lasts longer than CONNECTION_S is ended. A client that is slow, resets or asks
    nonsense is counted and otherwise nobody's business."""

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
        """Its thread finds it closed."""
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
    timeout = 5  # of a client that says nothing
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
        with contextlib.suppress(OSError):  # it has gone
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
        "Key figures of a running cell for Prometheus, until Ctrl-C or the cell's end.",
        "demo",
    )
    p.value(
        "--port",
        Integer(0, 65535),
        default=9464,
        metavar="N",
        help="TCP port; 0: any that is free (default 9464)",
    )
    p.add_argument(
        "--listen",
        default="127.0.0.1",
        metavar="ADDRESS",
        help=(
            "IPv4 address of this machine (default 127.0.0.1: "
            "nobody else; there is no access control)"
        ),
    )
    given = p.parse_args(arguments)
    try:
        listen = str(ipaddress.IPv4Address(given.listen))
    except ValueError:
        raise BadInput(
            f"--listen is {given.listen!r}; valid: an IPv4 address of this machine"
        ) from None
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
