# SPDX-License-Identifier: GPL-3.0-or-later
"""The values that are read from the result of a run. A metric is a name, with an argument after a
colon where it has one:
`modulation_share:2` is the share of frames sent with 2 bits per symbol."""

import contextlib
import copy
import dataclasses
import enum
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from ..air import SYMBOLS_PER_BIN
from ..errors import BadInput, not_valid
from ..runs.failure import Failure
from . import stopping
from .grid import Point
from .plan import Experiment, Run
from .store import Read, State, Stored

PACKET_BITS = 12000  # bits of a packet of 1500 bytes
Report: TypeAlias = dict[str, Any]  # the report of one run
# Arguments: report, point, and the text after the metric's colon.
Reading: TypeAlias = Callable[[Report, Point, Any], float]


def _shares(counts: list[int]) -> list[float]:
    total = sum(counts)
    return [c / total if total else 0.0 for c in counts]


def _flow(key: str, scale: float = 1.0) -> Reading:
    def read(r: Report, point: Point, _: object) -> float:
        return r["workload"]["flows"][str(point["flow_kb"])][key] * scale

    return read


def _useful(r: Report, *_: object) -> float:
    """The share of the bytes sent by TCP that it sent for the first time."""
    sent, again = (
        sum(s[key] for s in r["workload"]["each"]) for key in ("bytes_sent", "bytes_retransmitted")
    )
    return 1 - again / sent if sent else 0.0


def _of_each(key: str) -> Reading:
    """The mean of the users."""
    return lambda r, *_: sum(s[key] for s in r["workload"]["each"]) / len(r["workload"]["each"])


def _stations(r: Report) -> list[float]:
    """The rate that each station's connection had acknowledged, Mbit/s: the nth flow is the nth
    station's (virtual_work.plan_of)."""
    since = {f["flow"]: f["since"] for f in r["flows"] if "since" in f}
    return [since[n]["bytes_acked"] * 8e-6 / since[n]["seconds"] for n in sorted(since)]


def _station(r: Report, _: object, number: str) -> float:
    """Points of the grid with fewer stations do not have it: IndexError."""
    if not str(number).isdigit() or not int(number):
        raise BadInput(
            f"there is no metric station_mbps:{number}; valid: station_mbps:1 for the first"
            " station, and so on"
        )
    return _stations(r)[int(number) - 1]


def _jain(r: Report, *_: object) -> float:
    """1: all have the same; 1/n: one of n has all."""
    each = _stations(r)
    return sum(each) ** 2 / (len(each) * sum(x * x for x in each))


def _of_work(key: str) -> Reading:
    return lambda r, *_: r["workload"][key]


def _frames_per_packet(r: Report, *_: object) -> float:
    shares = _shares(r["link"]["modulation_histogram"])
    mean = sum(k * s for k, s in enumerate(shares))
    return PACKET_BITS / (SYMBOLS_PER_BIN * mean)


def _retransmissions(r: Report, *_: object) -> float:
    """Transmissions that were retransmissions, share of all transmissions."""
    counts = r["link"]["retransmission_histogram"]
    repeated = sum(n * c for n, c in enumerate(counts))
    sent = repeated + sum(counts)
    return repeated / sent if sent else 0.0


def _within(r: Report, _: object, ms: float) -> float:
    """Share of the packets sent that arrived within so many ms."""
    w = r["workload"]
    return sum(d <= float(ms) * 1000 for d in w["delays_us"]) / w["sent"]


def _quantile(r: Report, _: object, q: float) -> float:
    delays = sorted(d / 1000 for d in r["workload"]["delays_us"])
    return delays[min(len(delays) - 1, int(float(q) * len(delays)))]


def _bearer(over: str, under: str | None = None) -> Reading:
    """Counts of the bearer's downlink, or of the uplink where they begin with `up.`; a ratio of
    two."""

    def count(r: Report, name: str) -> float:
        way, _, field = name.rpartition(".")
        return sum(r["bearer"][way or "down"][f] for f in field.split("+"))

    def read(r: Report, *_: object) -> float:
        return count(r, over) / count(r, under) if under else count(r, over)

    return read


def _session_kbps(r: Report, point: Point, _: object) -> float:
    """The bits of all PDUs of the downlink over the time of the downloads, which lie apart: nothing
    is sent between them."""
    flows = r["workload"]["flows"].values()
    return r["bearer"]["down"]["pdu_bits"] / 1e3 / sum(f["session_s"] * f["times"] for f in flows)


def _handover(key: str) -> Reading:
    """A value of the first handover of a run."""
    return lambda r, *_: r["workload"]["handovers"][0][key]


def _again_after(r: Report, _: object, number: str) -> float:
    """IndexError: there were fewer."""
    if not int(number):
        raise BadInput(
            "there is no metric again_after_s:0; valid: again_after_s:1 for the first handover, and"
            " so on"
        )
    return float(r["workload"]["handovers"][0]["again_s"][int(number) - 1])


METRICS: dict[str, tuple[str, Reading]] = {
    "goodput_mbps": ("TCP throughput (Mbit/s)", lambda r, *_: r["workload"]["goodput_bps"] / 1e6),
    "tcp_retransmits": ("retransmitted TCP segments", lambda r, *_: r["workload"]["retransmits"]),
    "tcp_rtt_ms": ("mean round trip of TCP (ms)", lambda r, *_: r["workload"]["rtt_ms"]),
    "prediction_nmse": ("prediction error (NMSE)", lambda r, *_: r["emulator"]["prediction_nmse"]),
    "frame_error_rate": ("frame error rate", lambda r, *_: r["link"]["frame_error_rate"]),
    "link_goodput_mbps": ("link goodput (Mbit/s)", lambda r, *_: r["link"]["goodput_bps"] / 1e6),
    "retransmissions": ("retransmitted link frames (share)", _retransmissions),
    "retransmission_share": (
        "share of frames",
        lambda r, _, n: _shares(r["link"]["retransmission_histogram"])[int(n)],
    ),
    "done_within": (
        "share of frames done within n retransmissions",
        lambda r, _, n: sum(_shares(r["link"]["retransmission_histogram"])[: int(n) + 1]),
    ),
    "modulation_share": (
        "share of frames",
        lambda r, _, k: _shares(r["link"]["modulation_histogram"])[int(k)],
    ),
    "frames_per_packet": ("frames per packet of 1500 bytes", _frames_per_packet),
    "flow_mbps": ("throughput (Mbit/s)", _flow("goodput_bps", 1e-6)),
    "flow_s": ("completion time (s)", _flow("session_s")),
    "flow_rtts": ("completion time (round trips)", _flow("session_rtts")),
    "acked_kb": (
        "acknowledged data of a user (kB)",
        lambda r, *_: _of_each("bytes_acked")(r, *_) / 1e3,
    ),
    "sent_kb": (
        "data that a user's TCP sent, with what it sent again (kB)",
        lambda r, *_: _of_each("bytes_sent")(r, *_) / 1e3,
    ),
    "acked_of_sent": (
        "acknowledged data, of what TCP sent",
        lambda r, *_: _of_each("bytes_acked")(r, *_) / _of_each("bytes_sent")(r, *_),
    ),
    "useful": ("useful transmission ratio", _useful),
    "station_mbps": ("throughput of a station (Mbit/s)", _station),
    "jain": ("fairness (Jain's index)", _jain),
    "timeouts": ("timeouts", _of_work("timeouts")),
    "timeouts_spurious": ("spurious timeouts", _of_work("timeouts_spurious")),
    "timeouts_real": ("real timeouts", _of_work("timeouts_real")),
    "rtt_ms": ("mean round-trip time (ms)", _of_work("rtt_ms")),
    "given_up": (
        "frames dropped at the retry limit",
        lambda r, *_: r["packets"]["uplink"]["dropped"].get("wlan_retry_limit", 0),
    ),
    "dropped": (
        "packets that the link dropped",
        lambda r, *_: sum(
            sum(r["packets"][way]["dropped"].values()) for way in ("downlink", "uplink")
        ),
    ),
    "download_s": ("download time (s)", _flow("last_byte_s")),
    "download_ip_kbps": (
        "download rate (kbit/s of IP)",
        lambda r, p, _: p["flow_kb"]
        * 8
        * p["mtu"]
        / (p["mtu"] - 40)
        / _flow("last_byte_s")(r, p, _),
    ),
    "flow_retransmitted": (
        "retransmitted TCP segments (share)",
        lambda r, p, _: _flow("retransmits")(r, p, _) / _flow("segments")(r, p, _),
    ),
    "flow_timeouts": ("timeouts of a download", _flow("timeouts")),
    "flow_recoveries": ("recoveries from duplicate ACKs of a download", _flow("fast_retransmits")),
    "flow_rtt_ms": ("mean round trip of TCP (ms)", _flow("rtt_ms")),
    "packet_rtt_ms": (
        "mean round trip of a packet (ms)",
        lambda r, *_: r["workload"]["packet_rtt"]["mean_ms"],
    ),
    "packet_delay_ms": (
        "delay of a packet (ms)",
        lambda r, _, n: r["workload"]["packet_delay"]["percentiles_ms"][int(n)],
    ),
    "marked": (
        "packets marked by the downlink queue (share)",
        lambda r, *_: r["packets"]["downlink"]["marked"] / r["packets"]["downlink"]["in"],
    ),
    "queue_dropped": (
        "packets dropped by the downlink queue (share)",
        lambda r, *_: sum(
            r["packets"]["downlink"]["dropped"].get(why, 0)
            for why in ("queue_full", "queue_managed")
        )
        / r["packets"]["downlink"]["in"],
    ),
    "flow_first_retransmission_s": (
        "first retransmission of TCP, where there is one (s)",
        _flow("first_retransmission_s"),
    ),
    "rtt_before_s": ("round trip before the handover (s)", _handover("rtt_s")),
    "again_after_s": (
        "nth retransmission of TCP after the beginning of the handover (s)",
        _again_after,
    ),
    "idle_after_s": (
        "silence of the sender after the end of the handover (s)",
        _handover("idle_s"),
    ),
    "longest_idle_s": (
        "longest silence of the sender from the end of the handover on (s)",
        _handover("longest_idle_s"),
    ),
    "recovered_s": (
        "from the end of the handover until all that was on the way is acknowledged (s)",
        _handover("recovered_s"),
    ),
    "send_window": ("mean send window (segments)", _flow("window")),
    "send_window_varies": (
        "deviation of the send window (share of its mean)",
        lambda r, p, _: math.sqrt(max(0.0, _flow("window_variance")(r, p, _)))
        / _flow("window")(r, p, _),
    ),
    "session_kbps": (
        "throughput of a session, retransmissions and status PDUs included (kbit/s)",
        _session_kbps,
    ),
    "peak_kbps": (
        "throughput in intervals with any PDU (kbit/s)",
        lambda r, *_: r["bearer"]["down"]["busy_rate_bps"] / 1e3,
    ),
    "terminal_buffer_kb": (
        "most held by the terminal's RLC (kB)",
        lambda r, *_: r["bearer"]["down"]["received_octets_most"] / 1e3,
    ),
    "sdu_loss": (
        "packets dropped by the RLC (share)",
        lambda r, *_: r["packets"]["downlink"]["dropped"].get("rlc_given_up", 0)
        / r["packets"]["downlink"]["in"],
    ),
    "status_share": (
        "status PDUs for each PDU of data",
        _bearer("up.status_pdus+status_piggybacked", "pdus"),
    ),
    "pdu_retransmissions": (
        "PDUs that are retransmissions (share)",
        _bearer("retransmissions", "pdus"),
    ),
    "voip_loss": ("packet loss", lambda r, *_: r["workload"]["loss"]),
    "voip_within": ("share of packets within the delay", _within),
    "voip_quantile": ("delay (ms)", _quantile),
    "voip_reordered": ("packets reordered", lambda r, *_: r["workload"]["reordered"]),
}


# The argument after the colon, for metrics that have one.
WHOLE = r"\d+"
PERCENTILE = r"\d\d?|100"
NUMBERS = {WHOLE: "a whole number", PERCENTILE: "a whole number 0..100"}
ARGUMENTS = (
    dict.fromkeys(
        (
            "retransmission_share",
            "done_within",
            "modulation_share",
            "station_mbps",
            "again_after_s",
        ),
        WHOLE,
    )
    | {"packet_delay_ms": PERCENTILE}
    | dict.fromkeys(("voip_within", "voip_quantile"), r"\d+(\.\d+)?")
)


def split(metric: str, whose: str = "") -> tuple[str, str | None]:
    """`whose`: part of a file, where the metric has to be whole."""
    name, _, argument = str(metric).partition(":")
    if name not in METRICS:
        raise BadInput(f"{whose}unknown metric {name}; valid: {', '.join(METRICS)}")
    if (argument or whose) and not re.fullmatch(pattern := ARGUMENTS.get(name, ""), argument):
        raise not_valid(
            f"{whose}metric",
            repr(metric),
            f"{name}:NUMBER, {NUMBERS.get(pattern, 'a number')}" if pattern else name,
        )
    return name, argument or None


def label(metric: str) -> str:
    name, argument = split(metric)
    words = METRICS[name][0]
    return f"percentile {argument} of the {words}" if name == "packet_delay_ms" else words


def of_part(part: dict[str, Any]) -> list[str]:
    """The metrics that a figure or a statement uses."""
    also = [str(part["x_metric"])] if "x_metric" in part else []
    arguments = part.get("categories") or (
        part.get("over") if isinstance(part.get("over"), list) else None
    )
    return also + (
        [f"{part['metric']}:{a}" for a in arguments]
        if arguments
        else [str(part["metric"])]
        if "metric" in part
        else []
    )


def metrics_of(experiment: Experiment) -> list[str]:
    """The metrics of the figures and statements of an experiment file, in its order."""
    return list(
        dict.fromkeys(
            m
            for part in (*experiment.tree["figures"], *experiment.tree["statements"])
            for m in of_part(part)
        )
    )


def watched(experiment: Experiment) -> str:
    """The metrics that progress and the stopping rule look at."""
    if not (names := metrics_of(experiment)):
        raise BadInput(
            f"experiment file {experiment.path}: no figure and no statement has the key metric;"
            " valid: at least one figure or statement with a metric"
        )
    return (experiment.until and experiment.until.metric) or names[0]


def value_of(result: Report, point: Point, metric: str) -> float:
    """LookupError: the run has none, such as the round trip of a connection that never came
    about."""
    name, argument = split(metric)
    try:
        value = float(METRICS[name][1](result, point, argument))
    except (TypeError, ZeroDivisionError):  # None, or a share of nothing
        value = math.nan
    if math.isnan(value):
        raise LookupError(f"a run of {point.text()} has no {metric}")
    return value


class Lack(str, enum.Enum):
    """Why a run has no value."""

    ABSENT = "not run"
    UNREADABLE = "unreadable"  # its file cannot be read
    DAMAGED = "damaged"  # its file is not a result of it
    FAILED = "failed"  # it ended without a result
    INVALID = "invalid"  # its verdict is invalid


def lack_of(stored: Stored) -> Lack | None:
    if stored.run is None:
        return {
            State.ABSENT: Lack.ABSENT,
            State.UNREADABLE: Lack.UNREADABLE,
            State.INVALID: Lack.DAMAGED,
        }[stored.state]
    return None if stored.counts else Lack.FAILED if stored.failure else Lack.INVALID


@dataclasses.dataclass(frozen=True)
class Lacking:
    """A run that was planned and has no value. `failure`: why it failed, if it did."""

    key: str
    label: str
    lack: Lack
    why: str
    failure: Failure | None = None
    shared: str = ""  # the database, where it is that which cannot be read


class Gone(LookupError):
    """A result that was read before cannot be read any more."""


class Reports(Mapping[int, Report]):
    """{realisation: result} of a point, each read from the store when it is asked for."""

    def __init__(self, keys: dict[int, str], read: Read) -> None:
        self._keys, self._read = keys, read

    def __getitem__(self, realisation: int) -> Report:
        """Gone: it cannot be read any more."""
        stored = self._read(self._keys[realisation])
        if stored.run is None:
            raise Gone(f"run {self._keys[realisation]}: {stored.why or 'its result is gone'}")
        return dict(stored.run["result"])

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Results:
    """Values of an experiment's runs, by point and realisation. Invalid runs are not in it, nor
    runs of a point beyond its stopping rule. Only the metrics of the experiment's figures and
    statements are kept, not the results."""

    def __init__(self, experiment: Experiment, read: Read) -> None:
        """`read(key)`: the stored result of a run, or why there is none (store.Store.read)."""
        self.experiment = experiment
        self.found: dict[Point, Reports] = {}  # point -> {realisation: result}
        # all points of the grid, whether they have results or not
        self.planned: list[Point] = experiment.points
        # point -> those over which it is the mean: itself, but for averaged()
        self.parts: dict[Point, list[Point]] = {}
        self.repeated = 0
        self.lacking: dict[str, Lacking] = {}
        self.lacks: dict[Point, set[str]] = {}  # point -> keys of its runs that are lacking
        self.used: set[Point] = set()  # points that were asked for (evaluate)
        self.kept: dict[Point, dict[str, dict[int, float]]] = {}  # point -> metric -> values
        seen: set[str] = set()
        asked = set(metrics_of(experiment))
        if experiment.until:
            asked.add(watched(experiment))
        for point in experiment.points:
            keys: dict[int, str] = {}
            values: dict[str, dict[int, float]] = {name: {} for name in asked}
            watch = stopping.Watch(experiment.until) if experiment.until else None
            for realisation in range(1, experiment.realisations + 1):
                run = experiment.run(point, realisation)
                result = self._take(run, read(run.key), run.key in seen)
                seen.add(run.key)
                if result is None:
                    self.lacks.setdefault(point, set()).add(run.key)
                    continue
                keys[realisation] = run.key
                for name in asked:
                    with contextlib.suppress(LookupError):
                        values[name][realisation] = value_of(result, point, name)
                if watch and (value := values[watched(experiment)].get(realisation)) is not None:
                    if watch.add(value):
                        break
            if keys:
                self.found[point], self.parts[point] = Reports(keys, read), [point]
                self.kept[point] = values
        self.runs = len(seen)

    def _take(self, run: Run, stored: Stored, again: bool) -> Report | None:
        """`again`: another point has the same run."""
        self.repeated += len(stored.run["attempts"]) - 1 if stored.run and not again else 0
        if lack := lack_of(stored):
            attempts = stored.run["attempts"] if stored.run else []
            why = stored.why or (
                stored.failure.text()
                if stored.failure
                else (
                    str(attempts[-1]["reasons"][0])
                    if attempts and attempts[-1].get("reasons")
                    else ""
                )
            )
            self.lacking[run.key] = Lacking(
                run.key, run.label, lack, why, stored.failure, str(stored.shared or "")
            )
            return None
        assert stored.run is not None
        return dict(stored.run["result"])

    def number(self, lack: Lack) -> int:
        """How many runs lack a value for that reason."""
        return sum(each.lack == lack for each in self.lacking.values())

    @property
    def absent(self) -> int:
        return self.number(Lack.ABSENT)

    @property
    def invalid(self) -> int:
        return self.number(Lack.INVALID)

    def observed(self) -> "Results":
        """The same, with a list of its own of the points that are asked for from now on."""
        other = copy.copy(self)
        other.used = set()
        return other

    def lacking_of_used(self) -> list[Lacking]:
        """Runs that are lacking of the points that were asked for."""
        keys = {
            key
            for used in self.used
            for p, keys in self.lacks.items()
            if p == used or p.matches(dict(used.settings))
            for key in keys
        }
        return [self.lacking[key] for key in sorted(keys)]

    def averaged(self, over: list[str]) -> "Results":
        """The same with one point for all that differ in nothing but these settings: the mean of a
        metric over them, in the realisations that all of them have. One of them without results:
        none."""
        if not over:
            return self
        other, groups = copy.copy(self), dict[Point, list[Point]]()
        for p in self.experiment.points:
            groups.setdefault(
                Point(tuple((k, v) for k, v in p.settings if k not in over)), []
            ).append(p)
        other.planned = list(groups)
        other.parts = {
            p: parts for p, parts in groups.items() if all(part in self.found for part in parts)
        }
        return other

    def where(self, **wanted: object) -> list[Point]:
        """Points with these settings that have results, in the order of the grid."""
        self.used |= {p for p in self.planned_where(**wanted) if p not in self.parts}
        return [p for p in self.parts if p.matches(wanted)]

    def planned_where(self, **wanted: object) -> list[Point]:
        """The points with these settings, also those that have no results."""
        return [p for p in self.planned if p.matches(wanted)]

    def one(self, wanted: dict[str, Any]) -> Point:
        points = self.where(**wanted)
        if len(points) != 1:
            raise LookupError(
                f"{len(points)} points of the grid with results have {wanted}; valid: one"
            )
        return points[0]

    def values(self, point: Point, metric: str) -> dict[int, float]:
        """{realisation: value} of those that have one. LookupError: none has."""
        self.used.add(point)
        each = [self._values_of(p, metric) for p in self.parts[point]]
        common = [r for r in each[0] if all(r in values for values in each[1:])]
        if not common:
            raise LookupError(f"no run of {point.text()} has {metric}")
        return {r: sum(values[r] for values in each) / len(each) for r in common}

    def _values_of(self, point: Point, metric: str) -> dict[int, float]:
        """The values at a point of the grid. A metric of no figure is read from the results."""
        kept = self.kept[point]
        if metric not in kept:
            kept[metric] = {}
            for r, result in self.found[point].items():
                with contextlib.suppress(LookupError):
                    kept[metric][r] = value_of(result, point, metric)
        return kept[metric]
