# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of `openwip top`: the latest message of each topic and the differences of the last
seconds. Messages in, metrics out; no clock and no socket here."""

import collections
from typing import Any, NamedTuple

from ..shapes import Link, MacStatus, SlotSample, TcpFlow, Telemetry, VerdictMessage
from . import key_figures, link_counts, meaning
from .key_figures import Figure as KeyFigure

TOPICS = ("status", "slot", "event", "air", "tcp", "cpu", "verdict")
# The rows show the figures of these publishers; the status is the receiver's.
PUBLISHERS = {
    "status": "terminal",
    "air": "observer",
    "cpu": "observer",
    "tcp": "observer",
    "verdict": "keeper",
}
WINDOW_S = 1.0  # interval over which rates and histograms are computed
STALE_S = 3.0  # a message that is older is not shown as if it were current
KEPT_STATUSES = 700  # ten a second, for the longest window (--interval 60)
MOST_TERMINALS = 250  # on a UMTS link; other links have at most 25


class Terminal(NamedTuple):
    """One of several. None: not known."""

    snr_db: float | None = None
    nmse: float | None = None
    locked: bool = True
    link: Link | None = None  # metrics of the last second
    bins: int | None = None  # granted in the latest slot seen
    queued: int | None = None  # packets at the base station
    arrived: int | None = None  # packets, since the start


class Figures:
    def __init__(self, window_s: float = WINDOW_S) -> None:
        self.window_ns = int(max(window_s, WINDOW_S) * 1e9)
        # ns
        self.statuses: dict[str, collections.deque[tuple[int, MacStatus]]] = {
            "base": collections.deque(maxlen=KEPT_STATUSES)
        }
        self.latest: dict[tuple[str, str], tuple[int, Telemetry]] = {}  # (source, topic); ns
        # source -> terminal; ns
        self.slots: dict[str, dict[int, tuple[int, SlotSample]]] = {"base": {}, "terminal": {}}
        self.events: collections.Counter[int] = collections.Counter()
        self.slot = 0

    def take(self, message: Any) -> None:
        """A telemetry.Message."""
        now, t = message.received_ns, message.telemetry
        if message.topic == "slot":
            if t.user < MOST_TERMINALS:
                self.slots.setdefault(message.source, {})[t.user] = (now, t.slot_sample)
            return
        self.latest[message.source, message.topic] = (now, t)
        if message.source in ("base", "terminal"):
            self.slot = max(self.slot, t.slot) if message.topic == "status" else self.slot
        if message.topic == "status":
            kept = self.statuses.setdefault(message.source, collections.deque(maxlen=KEPT_STATUSES))
            kept.append((now, t.mac))
            # The first that is kept is the one whose age is nearest to the window: eleven statuses,
            # ten a second, are one second although each comes a little earlier or later.
            while len(kept) > 2 and (now - kept[0][0]) + (now - kept[1][0]) >= 2 * self.window_ns:
                kept.popleft()
        elif message.topic == "event":
            self.events[t.event.severity] += max(1, t.event.count)

    def fresh(self, source: str, topic: str, now_ns: int) -> Telemetry | None:
        """The latest one, None when it is too old."""
        found = self.latest.get((source, topic))
        return found[1] if found and now_ns - found[0] <= STALE_S * 1e9 else None

    def mac(self, station: str, now_ns: int) -> MacStatus | None:
        t = self.fresh(station, "status", now_ns)
        return t.mac if t else None

    def link(self, user: int | None = None) -> Link | None:
        """The metrics of the last second (to the nearest status), computed as in the report; None:
        there are fewer than two statuses. `user`: a single terminal; None: the whole cell."""
        kept = self.statuses["base"]
        if len(kept) < 2:
            return None
        before, after = kept[0][1], kept[-1][1]
        if user is not None:
            if user >= min(len(before.users), len(after.users)):
                return None
            before, after = before.users[user], after.users[user]
        return link_counts.link_interval(before, after) if after.slot > before.slot else None

    def row(self, name: str, now_ns: int) -> list[tuple[KeyFigure, float | None]]:
        """The key figures that apply to what is there, and their values; None: not known."""
        found: list[tuple[KeyFigure, float | None]] = []
        for figure in key_figures.row(name, "top"):
            if figure.topic == key_figures.GROWN:
                link = self.link()
                found.append((figure, figure.reported({"link": link}) if link else None))
                continue
            t = self.fresh(PUBLISHERS[figure.topic], figure.topic, now_ns)
            message = t and key_figures.message_of(t, figure.topic)
            if message is None or figure.applies(message):
                found.append((figure, None if message is None else figure.value(message)))
        return found

    def nof_terminals(self, now_ns: int) -> int:
        """The number of terminals by the stations' statuses; 1 when they do not list them."""
        listed = [
            len(mac.users) for mac in (self.mac(s, now_ns) for s in ("base", "terminal")) if mac
        ]
        return min(MOST_TERMINALS, max(1, *listed, 1))

    def terminals(self, now_ns: int) -> list[Terminal]:
        """The metrics of each of several terminals; [] for a single one."""
        n, (base, terminal) = (
            self.nof_terminals(now_ns),
            (self.mac(s, now_ns) for s in ("base", "terminal")),
        )
        grants = self.grants(now_ns)

        def one(u: int) -> "Terminal":
            at_base = base.users[u] if base and u < len(base.users) else None
            user_status = terminal.users[u] if terminal and u < len(terminal.users) else None
            receiver_state = (
                user_status.radio
                if user_status and user_status.radio.HasField("mean_snr_db")
                else None
            )
            return Terminal(
                snr_db=receiver_state.mean_snr_db if receiver_state else None,
                nmse=receiver_state.prediction_nmse if receiver_state else None,
                locked=user_status.radio.locked if user_status else True,
                link=self.link(u) if at_base else None,
                bins=grants.count(u) if grants else None,
                queued=at_base.downlink.queued.packets if at_base else None,
                arrived=user_status.downlink.delivered.packets if user_status else None,
            )

        return [one(u) for u in range(n)] if n > 1 else []

    def samples(self, station: str, now_ns: int) -> dict[int, SlotSample]:
        """The latest slot samples by terminal, without those that are too old."""
        return {
            u: s
            for u, (at, s) in sorted(self.slots.get(station, {}).items())
            if now_ns - at <= STALE_S * 1e9
        }

    def grants(self, now_ns: int) -> bytes:
        """The terminal that each bin was granted to in the latest slot seen, from 0; 255: none; b""
        when not known, or if there is one terminal only."""
        samples = self.samples("base", now_ns)
        return (
            next((s.user for s in samples.values()), b"") if self.nof_terminals(now_ns) > 1 else b""
        )

    def snr_db(self, now_ns: int) -> list[float]:
        """SNR by bin: measured by the terminal, else as the base station reports it. With several
        terminals it is that of the terminal that has the bin. [] when not known."""
        grants = self.grants(now_ns)
        for station in ("terminal", "base"):
            found = {
                u: list(s.snr_db or s.true_snr_db) for u, s in self.samples(station, now_ns).items()
            }
            found = {u: values for u, values in found.items() if values}
            if found and grants:
                return [
                    found[u][b] if u in found and b < len(found[u]) else float("nan")
                    for b, u in enumerate(grants)
                ]
            if found:
                return next(iter(found.values()))
        return []

    def bits(self, now_ns: int) -> bytes:
        """Bits per symbol by bin of the latest slot seen; b"" when not known."""
        for station in ("base", "terminal"):
            found = [
                s.bits_per_symbol
                for s in self.samples(station, now_ns).values()
                if s.bits_per_symbol
            ]
            if found:
                return bytes(max(column) for column in zip(*found))
        return b""

    def verdict(self, now_ns: int) -> VerdictMessage | None:
        t = self.fresh("keeper", "verdict", now_ns)
        return t.verdict if t else None

    def replays(self, now_ns: int) -> bool:
        verdict = self.verdict(now_ns)
        return verdict is not None and meaning.is_replayed(verdict)

    def flows(self, now_ns: int) -> tuple[list[TcpFlow], int] | None:
        """(flows, the busiest first, and how many were left out), None when nothing is known."""
        t = self.fresh("observer", "tcp", now_ns)
        if t is None:
            return None
        flows = sorted(
            t.tcp.flow,
            key=lambda f: (f.bytes_acknowledged + f.bytes_received, f.local),
            reverse=True,
        )
        # Both ends of a flow may be here: the end that sends says more.
        ends, shown = set(), []
        for f in sorted(flows, key=lambda f: f.bytes_acknowledged, reverse=True):
            if (f.remote, f.local) not in ends:
                ends.add((f.local, f.remote))
                shown.append(f)
        return shown, t.tcp.left_out
