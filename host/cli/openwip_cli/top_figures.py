# SPDX-License-Identifier: GPL-3.0-or-later
"""What `openwip top` knows: the latest message of each topic and the differences of the last seconds. Messages in,
figures out; no clock and no socket here."""
import collections

from . import accounting

TOPICS = ("status", "slot", "event", "air", "tcp", "cpu", "verdict")
WINDOW_S = 1.0        # of rates and histograms, at least
STALE_S = 3.0         # without a message: not shown as if it were now
KEPT_STATUSES = 64    # ten a second


class Figures:
    def __init__(self, window_s=WINDOW_S):
        self.window_ns = int(max(window_s, WINDOW_S) * 1e9)
        self.statuses = {"base": collections.deque(maxlen=KEPT_STATUSES)}     # (ns, MacStatus)
        self.latest = {}         # (source, topic) -> (ns, Telemetry)
        self.events = collections.Counter()
        self.last_event = None
        self.slot = 0

    def take(self, message):
        """A telemetry.Message."""
        now, t = message.received_ns, message.telemetry
        if message.topic == "slot" and t.user:
            return      # several terminals: the bins of the first are shown
        self.latest[message.source, message.topic] = (now, t)
        if message.source in ("base", "terminal"):
            self.slot = max(self.slot, t.slot) if message.topic == "status" else self.slot
        if message.topic == "status":
            kept = self.statuses.setdefault(message.source, collections.deque(maxlen=KEPT_STATUSES))
            kept.append((now, t.mac))
            while len(kept) > 2 and kept[1][0] <= now - self.window_ns:
                kept.popleft()
        elif message.topic == "event":
            self.events[t.event.severity] += max(1, t.event.count)
            self.last_event = t.event

    def fresh(self, source, topic, now_ns):
        """The latest one, None when it is too old."""
        found = self.latest.get((source, topic))
        return found[1] if found and now_ns - found[0] <= STALE_S * 1e9 else None

    def mac(self, station, now_ns):
        t = self.fresh(station, "status", now_ns)
        return t.mac if t else None

    def link(self):
        """Of the last second or more, as in the report; None while there are not two statuses."""
        kept = self.statuses["base"]
        if len(kept) < 2 or kept[-1][1].slot <= kept[0][1].slot:
            return None
        return accounting.link_interval(kept[0][1], kept[-1][1])

    def sample(self, now_ns):
        """The SlotSample to show: the terminal's (measured), else the base station's."""
        for station in ("terminal", "base"):
            t = self.fresh(station, "slot", now_ns)
            if t and len(t.slot_sample.snr_db or t.slot_sample.true_snr_db):
                return t.slot_sample
        return None

    def bits(self, now_ns):
        """Bits per symbol by bin of the latest slot seen; b"" when not known."""
        for station in ("base", "terminal"):
            t = self.fresh(station, "slot", now_ns)
            if t and t.slot_sample.bits_per_symbol:
                return t.slot_sample.bits_per_symbol
        return b""

    def verdict(self, now_ns):
        t = self.fresh("keeper", "verdict", now_ns)
        return t.verdict if t else None

    def flows(self, now_ns):
        """(flows, the busiest first, and how many were left out), None when nothing is known."""
        t = self.fresh("observer", "tcp", now_ns)
        if t is None:
            return None
        flows = sorted(t.tcp.flow, key=lambda f: (f.bytes_acknowledged + f.bytes_received, f.local), reverse=True)
        # Both ends of a flow may be here: the end that sends says more.
        ends, shown = set(), []
        for f in sorted(flows, key=lambda f: f.bytes_acknowledged, reverse=True):
            if (f.remote, f.local) not in ends:
                ends.add((f.local, f.remote))
                shown.append(f)
        return shown, t.tcp.left_out
