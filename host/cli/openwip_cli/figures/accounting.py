# SPDX-License-Identifier: GPL-3.0-or-later
"""Capacity, sums and verdict. Plain functions of status messages: no clock, no socket."""

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.message import Message

from ..air import CRC_BITS, SAMPLE_RATE, SLOT_SAMPLES, SLOTS_PER_SECOND, SYMBOLS_PER_BIN
from ..shapes import (
    AirStatus,
    Capacity,
    Change,
    Clipped,
    Count,
    Direction,
    EndSums,
    Fader,
    Interface,
    Link,
    MacStatus,
    Missed,
    OneSum,
    PacketsBytes,
    PathSums,
    RadioState,
    Realtime,
    ThroughRadios,
    Verdict,
)
from . import standstills, through_radios

MTU = 1500
USUAL_MSS = 1448  # TCP payload of a packet with timestamps

FACTOR_TOLERANCE = 0.005  # of the real-time factor
# of the slots, and of an emulator's packets but for one, may be released later than the pacing
# limit
BEHIND_SHARE = 0.01
# of the samples of a channel made before a transmitter: what a terminal says of its own receiver
CLIPPED_SHARE = 1e-4
LATE_SHARE = 1e-3  # of the slots, on a clock that runs freely
# checks that a slot path without a core cannot pass
TIMING = ("fader", "pacing", "late_slots", "lock")
RESTLESS = (
    "sums: packets still passed after the traffic had ended, so what went in at one end was not"
    " compared with what came out at the other"
)
# of the time an application may be ready and without a core (docs/reference/demo.md)
WAITING_LIMIT = 0.5


def capacity(
    bins: int,
    modulation: int | str,
    histogram: Sequence[int],
    mss: int,
    packing: bool,
    crc_bits: int = CRC_BITS,
) -> Capacity:
    """Of the air interface, bit/s, from raw symbols down to TCP payload. `mss`: TCP payload bytes
    of a full packet of 1500 bytes. `histogram`: of the frames sent by bits per symbol. `crc_bits`:
    of a frame, 0 in profile `wipemu`."""
    adaptive = modulation == "adaptive"
    k = (
        sum(k * n for k, n in enumerate(histogram)) / max(1, sum(histogram[1:]))
        if adaptive
        else int(modulation)
    )
    frames = SLOTS_PER_SECOND * bins
    payload = frames * SYMBOLS_PER_BIN * k
    profile = frames * (SYMBOLS_PER_BIN * k - crc_bits) if k else 0.0
    share = mss / MTU
    which = f"mean {k:.2f} bits/symbol of the frames sent" if adaptive else f"{k} bits/symbol"
    how = [
        f"payload = {SLOTS_PER_SECOND} slots/s x {bins} bins x {SYMBOLS_PER_BIN} symbols x {which}",
        (
            f"profile = payload less the {crc_bits}-bit CRC of each frame"
            if crc_bits
            else "profile = payload: error detection is ideal and takes no bits"
        ),
        f"TCP payload = profile x {mss}/{MTU} ({MTU - mss} bytes of IP and TCP headers a packet)",
    ]
    if not packing and not adaptive:
        bits = SYMBOLS_PER_BIN * k - crc_bits
        filled = MTU * 8 / (-(-MTU * 8 // bits) * bits)
        share *= filled
        how.append(f"x {filled:.4f}: without packing the last frame of a packet is part empty")
    elif not packing:
        how.append(
            "without packing the last frame of a packet is part empty: not deducted, since it "
            "depends on the modulation of each frame"
        )
    return {
        "payload_bps": payload,
        "profile_bps": profile,
        "tcp_payload_bps": profile * share,
        "bits_per_symbol": k,
        "how": how,
    }


def crc_bits(profile: str | None) -> int:
    """Of a frame. In `wipemu` error detection is ideal."""
    return 0 if profile == "wipemu" else CRC_BITS


def wlan_capacity(
    rate_mbps: float, control_mbps: float, short_preamble: bool, with_rts: bool, mss: int
) -> Capacity:
    """Of an 802.11b cell with one sender and no errors (mac/wlan/dcf_times.h)."""

    def frame(octets: int, mbps: float) -> int:
        return (96 if short_preamble else 192) + math.ceil(octets * 8 / mbps)

    answer = 10 + frame(14, control_mbps)
    turn_us = (
        50
        + 15.5 * 20
        + with_rts * (frame(20, control_mbps) + answer + 10)
        + frame(MTU + 36, rate_mbps)
        + answer
    )
    bps = MTU * 8e6 / turn_us
    return {
        "payload_bps": rate_mbps * 1e6,
        "profile_bps": bps,
        "tcp_payload_bps": bps * mss / MTU,
        "bits_per_symbol": 0,
        "how": [
            (
                f"packets of {MTU} bytes in {turn_us:.0f} us each: DIFS, mean backoff, frame at"
                f" {rate_mbps:g} Mbit/s, SIFS, ACK"
            ),
            (
                f"TCP payload = {mss}/{MTU} of it; acknowledgements take air from it, more hops"
                " several times"
            ),
        ],
    }


def capacity_of(scenario: Any, histogram: Sequence[int], mss: int, base: MacStatus) -> Capacity:
    """`base`: the base station's status."""
    if base.bearer.rate_bps:
        return bearer_capacity(base.bearer.rate_bps, mss, len(base.users))
    if scenario.values.get("link.kind") == "wlan":
        return wlan_capacity(
            float(scenario["wlan.rate_mbps"]),
            float(scenario["wlan.control_rate_mbps"]),
            scenario["wlan.short_preamble"] == "on",
            scenario["wlan.rts_threshold"] < MTU + 36,
            mss,
        )
    return capacity(
        scenario["link.bins"],
        scenario["link.modulation"],
        histogram,
        mss,
        scenario["link.packing"] == "on",
        crc_bits(scenario.values.get("link.profile")),
    )


def bearer_capacity(rate_bps: float, mss: int, users: int) -> Capacity:
    """The same of a UMTS bearer, whose rate is that of packets and the octet or two that end each;
    0 `users`: of one alone."""
    return {
        "payload_bps": rate_bps,
        "profile_bps": rate_bps,
        "tcp_payload_bps": rate_bps * mss / MTU,
        "bits_per_symbol": 0.0,
        "how": [
            "payload = profile = the"
            f" {f'rate of all {users} bearers together' if users else 'rate of the bearer'}; TCP"
            f" payload = profile x {mss}/{MTU} ({MTU - mss} bytes of IP and TCP headers a packet)"
        ],
    }


def counts_of(message: "Message", *prefixes: str) -> dict[str, Any]:
    """Fields of a message whose names begin so: what a receiver counts is named in the schema
    alone."""
    return {
        f.name: getattr(message, f.name)
        for f in message.DESCRIPTOR.fields
        if f.name.startswith(prefixes)
    }


def link_interval(before: MacStatus, after: MacStatus) -> Link:
    """Differences of two base-station statuses."""
    a, b = before.base, after.base
    sent, failed = b.frames_sent - a.frames_sent, b.frames_failed - a.frames_failed
    seconds = (after.slot - before.slot) / SLOTS_PER_SECOND

    def differences(old: Sequence[int], new: Sequence[int], length: int) -> list[int]:
        old, new = list(old) + [0] * length, list(new) + [0] * length
        return [new[i] - old[i] for i in range(length)]

    bits = b.payload_bits_acknowledged - a.payload_bits_acknowledged
    return {
        "goodput_bps": bits / seconds if seconds > 0 else 0.0,
        "seconds": seconds,
        "frames_sent": sent,
        "frames_acknowledged": b.frames_acknowledged - a.frames_acknowledged,
        "frames_failed": failed,
        "frame_error_rate": failed / sent if sent else 0.0,
        "frames_given_up": b.frames_given_up - a.frames_given_up,
        "frames_split": b.frames_split - a.frames_split,
        "feedback_missing": b.feedback_missing - a.feedback_missing,
        "slots_not_sent": b.slots_not_sent - a.slots_not_sent,
        "grant_overflows": b.grant_overflows - a.grant_overflows,
        "window_stalls": b.window_stalls - a.window_stalls,
        "retransmission_histogram": differences(
            a.retransmission_histogram, b.retransmission_histogram, 31
        ),
        "modulation_histogram": differences(a.modulation_histogram, b.modulation_histogram, 9),
    }


# --- sums ---
# A count is (packets, bytes). A direction has two ends: the sender takes packets from its TUN, the
# receiver hands them to its own.

GIVEN_UP = "retransmissions_exceeded"  # sender: a frame of the packet used up its retransmissions
LOST = "lost_frame"  # receiver: the same packets, seen from the other end


def _count(message: PacketsBytes) -> Count:
    return Count(message.packets, message.bytes)


def _add(*counts: Count) -> Count:
    return Count(sum(c[0] for c in counts), sum(c[1] for c in counts))


def _subtract(a: Count, b: Count) -> Count:
    return Count(a[0] - b[0], a[1] - b[1])


def _text(count: tuple[int, int]) -> str:
    return f"{count[0]} packets, {count[1]} bytes"


class End:
    """One end of a direction, from a status message."""

    def __init__(self, direction: Direction) -> None:
        self.came_in = _count(getattr(direction, "in"))
        self.delivered, self.queued = _count(direction.delivered), _count(direction.queued)
        self.dropped = {d.reason: _count(d.count) for d in direction.dropped}
        self.copies = _count(direction.copies)

    @property
    def accounted(self) -> Count:
        return _add(self.delivered, self.queued, *self.dropped.values())

    def report(self) -> EndSums:
        def part(i: int) -> OneSum:
            return {
                "in": self.came_in[i],
                "delivered": self.delivered[i],
                "queued": self.queued[i],
                "dropped": {r: c[i] for r, c in self.dropped.items()},
            }

        of = part(0)
        return {
            "in": of["in"],
            "delivered": of["delivered"],
            "queued": of["queued"],
            "dropped": of["dropped"],
            "bytes": part(1),
        }


class Path:
    """A direction from TUN to TUN. What the receiver lost for want of a frame is what the sender
    gave up, so it is counted once, at the sender. A packet that the sender gave up may have arrived
    after all (its acknowledgement was lost): counted as `delivered_although_given_up`."""

    def __init__(self, sender: Direction, receiver: Direction) -> None:
        self.sender, self.receiver = End(sender), End(receiver)
        whole = End.__new__(End)
        whole.came_in, whole.delivered = self.sender.came_in, self.receiver.delivered
        whole.queued = _add(self.sender.queued, self.receiver.queued)
        whole.dropped = dict(self.sender.dropped)
        for reason, count in self.receiver.dropped.items():
            if reason != LOST:
                whole.dropped[reason] = _add(whole.dropped.get(reason, Count()), count)
        self.whole = whole
        self.surplus = _subtract(whole.accounted, whole.came_in)

    @property
    def given_up(self) -> Count:
        return self.sender.dropped.get(GIVEN_UP, Count())

    def report(self) -> PathSums:
        of = self.whole.report()
        return {
            "in": of["in"],
            "delivered": of["delivered"],
            "queued": of["queued"],
            "dropped": of["dropped"],
            "bytes": of["bytes"],
            "delivered_although_given_up": max(0, self.surplus.packets),
            "sender": self.sender.report(),
            "receiver": self.receiver.report(),
        }


def paths_of(base: MacStatus, terminal: MacStatus) -> dict[str, Path]:
    return {
        "downlink": Path(base.downlink, terminal.downlink),
        "uplink": Path(terminal.uplink, base.uplink),
    }


def check_sums(
    paths: dict[str, Path], tun: dict[str, Interface] | None, drained: bool = True
) -> list[str]:
    """Reasons why the sums do not match; none when they do. `tun`: the kernel's own counts of the
    interfaces, tun["base"]["to_macd"] = (packets, bytes) and so on, or None. Not `drained`: packets
    are under way, so each end is judged alone."""
    wrong = []

    def equal(what: str, left: tuple[int, int], right: tuple[int, int]) -> None:
        if left != right:
            wrong.append(f"sums: {what}: {_text(left)} against {_text(right)}")

    for name, sender_name, receiver_name in (
        ("downlink", "base", "terminal"),
        ("uplink", "terminal", "base"),
    ):
        path = paths[name]
        sender, receiver = path.sender, path.receiver
        equal(
            f"{name} at the {sender_name}, in against delivered + queued + dropped",
            sender.came_in,
            sender.accounted,
        )
        equal(
            f"{name} at the {receiver_name}, in against delivered + queued + dropped",
            receiver.came_in,
            receiver.accounted,
        )
        if not drained:
            continue
        if path.whole.queued != (0, 0):
            wrong.append(f"sums: {name} not drained, {_text(path.whole.queued)} left")
        if not all(0 <= path.surplus[i] <= path.given_up[i] for i in (0, 1)):
            wrong.append(
                f"sums: {name} from TUN to TUN, in against delivered + queued + dropped: "
                f"{_text(path.whole.came_in)} against {_text(path.whole.accounted)}"
            )
        if tun:
            # Drops in the kernel in front of macd are in its `in`, but were never read.
            unread = _add(
                *(
                    c
                    for r, c in sender.dropped.items()
                    if r in ("kernel_queue_full", "tun_read_error")
                )
            )
            # A multicast packet was read once, and is in `in` once for each terminal.
            equal(
                f"{name}, kernel to {sender_name}.macd",
                tun[sender_name]["to_macd"],
                _subtract(sender.came_in, _add(unread, sender.copies)),
            )
            equal(
                f"{name}, {receiver_name}.macd to kernel",
                receiver.delivered,
                tun[receiver_name]["from_macd"],
            )
    return wrong


# --- verdict ---


class Statuses:
    """Of one moment (about): medium, base station, terminal."""

    def __init__(self, air: AirStatus, base: MacStatus, terminal: MacStatus) -> None:
        self.air, self.base, self.terminal = air, base, terminal

    @property
    def begun(self) -> bool:
        """Is there anything to measure?"""
        return self.base.slot > 0 and self.terminal.radio.locked

    @property
    def counts(self) -> bytes:
        s = [
            d.SerializeToString(deterministic=True)
            for m in (self.base, self.terminal)
            for d in (m.downlink, m.uplink)
        ]
        return b"".join(s)

    @property
    def queued(self) -> bool:
        return any(
            d.queued.packets for m in (self.base, self.terminal) for d in (m.downlink, m.uplink)
        )


@dataclasses.dataclass
class Observed:
    """What a verdict is made of, at the end of a run or so far. None: there is no such thing in
    this run."""

    paths: dict[str, Path]
    realtime: Realtime | None = None
    tun: dict[str, Interface] | None = None
    drained: bool = True
    # False: packets passed between any two readings at the end, so counts of the two ends are of
    # two moments
    came_to_rest: bool = True
    lock_losses: int | None = None
    changes: Sequence[Change] = ()  # changes_of() the processes
    telemetry: list[str] | None = None  # reasons
    waiting: float | None = None  # share_of_waiting() of the applications
    traffic: list[str] | None = None  # reasons
    # reasons: processes that stood still, interfaces that were down
    surroundings: Sequence[str] = ()
    fader: Fader | None = None  # fader_of() a medium whose channel a fader has
    transmitter: ThroughRadios | None = None  # transmitter_of()


def observed(air_before: AirStatus, now: Statuses, **more: Any) -> "Observed":
    """Since a status of the medium until these Statuses."""
    return Observed(
        paths=paths_of(now.base, now.terminal),
        realtime=realtime_of(air_before, now.air, missed(now.air, now.base.radio)),
        # the emulator has no receiver, and no mode
        lock_losses=now.terminal.radio.lock_losses if now.terminal.radio.mode else None,
        fader=fader_of(now.air, now.terminal.radio),
        transmitter=transmitter_of(now.air, now.terminal.radio),
        changes=changes_of(base=now.base, terminal=now.terminal, air=now.air),
        **more,
    )


def missed(air: AirStatus, transmitter: RadioState) -> Missed:
    """Slots that missed their time, by reason (mac/schema/receiver.proto); `late` as the medium
    counts it where that is more; what it counts at a fader's radios is the fader's."""

    def of(name: str) -> int:
        return int(getattr(air, name) - getattr(air.fader_radios, name))

    return {
        "late": max(of("late"), transmitter.late_slots),
        "underflows": max(of("underflows"), transmitter.underflows),
        "late_plans": transmitter.late_plans,
        "left_out": transmitter.slots_left_out,
    }


def sum_of(missed_slots: Missed) -> int:
    return (
        missed_slots.get("late", 0)
        + missed_slots.get("underflows", 0)
        + missed_slots.get("late_plans", 0)
        + missed_slots.get("left_out", 0)
    )


def judge(o: Observed, more: Sequence[tuple[str, list[str]]] = ()) -> Verdict:
    """The rules, in one place. The verdict at the end and the one so far are both made here.
    `more`: checks of one kind of run."""
    # first: the cause of others
    checks = [("surroundings", [f"surroundings: {w}" for w in o.surroundings])]
    if o.fader is not None:
        checks.append(("fader", check_fader(o.fader)))
    if o.transmitter is not None:
        checks.append(("transmitter", o.transmitter["wrong"]))
    if o.realtime is not None:
        checks += [
            ("pacing", check_pacing(o.realtime)),
            ("late_slots", check_late(o.realtime)),
            ("clipping", check_clipping(o.realtime)),
        ]
    if o.lock_losses is not None:
        checks.append(("lock", lock_reasons(o.lock_losses, o.changes)))
    if o.realtime is not None and any(reasons for name, reasons in checks if name in TIMING):
        checks.insert(
            1,
            (
                "throttling",
                standstills.throttling(o.realtime.get("standstills"), o.realtime.get("share")),
            ),
        )
    checks.append(
        (
            "sums",
            check_sums(o.paths, o.tun, o.drained and o.came_to_rest)
            + ([] if o.came_to_rest else [RESTLESS]),
        )
    )
    if o.telemetry is not None:
        checks.append(("telemetry", o.telemetry))
    if o.realtime is not None:
        checks.append(("applications", check_waiting(o.waiting)))
    if o.traffic is not None:
        checks.append(("traffic", o.traffic))
    return verdict([*checks, *more])


def verdict(checks: Sequence[tuple[str, list[str]]]) -> Verdict:
    """`checks`: (name, list of reasons). Valid when none has a reason."""
    reasons = [r for _, found in checks for r in found]
    return {
        "valid": not reasons,
        "reasons": reasons,
        "checks": {name: not found for name, found in checks},
    }


def with_reasons(judged: Verdict, check: str, reasons: list[str]) -> Verdict:
    """What is known later."""
    return (
        judged
        if not reasons
        else {
            "valid": False,
            "reasons": judged["reasons"] + reasons,
            "checks": judged["checks"] | {check: False},
        }
    )


def realtime_of(before: AirStatus, after: AirStatus, missed_slots: Missed) -> Realtime:
    """Of the measured interval, from two statuses of the medium."""
    wall = after.wall_seconds - before.wall_seconds
    air = (after.now - before.now) / SAMPLE_RATE
    return {
        "factor": air / (wall * after.speed) if wall > 0 else 0.0,
        "speed": after.speed,
        "slots": after.slots - before.slots,
        "late_slots": sum_of(missed_slots),
        "missed": missed_slots,
        "slots_behind": after.slots_behind - before.slots_behind,
        "released": after.released - before.released,
        "released_behind": after.released_behind - before.released_behind,
        "pacing_limit_us": after.pacing_limit_us,
        "pacing_us": {
            "median": after.pacing_median_us,
            "p99": after.pacing_p99_us,
            "p999": after.pacing_p999_us,
            "max": after.pacing_max_us,
        },
        "underflows": after.underflows,
        "overflows": after.overflows,
        "clock": after.clock,
        "clipped": max(0, after.clipped - before.clipped),
    }


def check_pacing(realtime: Realtime) -> list[str]:
    wrong = []
    if abs(realtime["factor"] - 1) > FACTOR_TOLERANCE:
        wrong.append(
            f"pacing: real-time factor {realtime['factor']:.4f}, valid: "
            f"{1 - FACTOR_TOLERANCE:g}..{1 + FACTOR_TOLERANCE:g}"
        )
    for what, behind, there, allowed in (
        ("slots", realtime["slots_behind"], realtime["slots"], 0),
        ("packets", realtime["released_behind"], realtime["released"], 1),
    ):
        if behind > max(allowed, BEHIND_SHARE * there):
            wrong.append(
                f"pacing: {behind} of {there} {what} were released more "
                f"than {realtime['pacing_limit_us'] / 1000:g} ms late (limit {BEHIND_SHARE:.0%})"
            )
    return wrong


def fader_of(
    air: AirStatus, terminal: RadioState | None, before: AirStatus | None = None
) -> Fader | None:
    """What a report says of the fader; None: there is none. `terminal`: of its radio, None where it
    is not known; `before`: of a fader that was there before the run."""
    if not air.delay_samples:
        return None
    lost = air.lost_samples - (before.lost_samples if before else 0)
    clipped, radios, then = faded(before, air), air.fader_radios, before and before.fader_radios

    def since(name: str) -> int:
        return int(getattr(radios, name) - (getattr(then, name) if then else 0))

    return {
        "delay_samples": air.delay_samples,
        "delay_us": air.delay_samples / SAMPLE_RATE * 1e6,
        "least_lead_us": air.least_lead_us,
        "lost_samples": lost,
        "clipped": clipped["clipped"],
        "slots": clipped["slots"],
        "late": since("late"),
        "underflows": since("underflows"),
        "overflows": since("overflows"),
        "stalls": since("stalls"),
        "silences": since("silences"),
        "soundings": [
            {
                "from": getattr(s, "from"),
                "to": s.to,
                "residual_db": s.residual_db,
                "limit_db": s.limit_db,
                "not_judged": s.not_judged,
            }
            for s in air.soundings
        ],
        "through_radios": (
            None if terminal is None else through_radios.compare(air.bursts, terminal.bursts)
        ),
    }


def transmitter_of(air: AirStatus, terminal: RadioState) -> ThroughRadios | None:
    """The sounding of a channel in the base station's flowgraph, which has no delay; None: there is
    none."""
    return (
        through_radios.compare(air.bursts, terminal.bursts, "transmitter")
        if air.fader_paths and not air.delay_samples
        else None
    )


def faded(before: AirStatus | None, after: AirStatus) -> Clipped:
    """What a channel before a transmitter clipped, of how much; from two of its statuses, the first
    may be None."""
    return {
        "clipped": after.clipped - (before.clipped if before else 0),
        "slots": after.slots - (before.slots if before else 0),
    }


def check_fader(fader: Fader) -> list[str]:
    """What its radios lost, and its channel as it was measured at the start: in itself
    (channels/fader/sounding.h), and by the stations. Not the least lead: it is of the computer's
    clock, and a medium that stood still with the fader takes the piece all the same. A piece that
    no transmitter took in time is late or an underflow."""
    lost, overflows, silences, late, underflows = (
        fader["lost_samples"],
        fader["overflows"],
        fader["silences"],
        fader["late"],
        fader["underflows"],
    )
    stalls, soundings, through = fader["stalls"], fader["soundings"], fader["through_radios"]
    wrong = (
        [f"fader: {lost} samples lost at its receivers ({overflows} overflows)"]
        if lost + overflows
        else []
    )
    if silences:
        wrong.append(f"fader: its receivers were silent {silences} times, for a second and more")
    if stalls:
        wrong.append(f"fader: its transmitters took nothing for a second, {stalls} times")
    if late + underflows:
        wrong.append(
            f"fader: samples left too late and were lost at its transmitters ({late} late,"
            f" {underflows} underflows; {fader['least_lead_us'] / 1000:.2f} ms left at worst): a"
            " longer delay"
        )
    if not soundings:
        wrong.append("fader: its channel was not sounded")
    return (
        wrong
        + [
            f"fader: from {s['from']} to {s['to']} the channel is {s['residual_db']:.1f} dB off the"
            f" commanded one (limit {s['limit_db']:.1f} dB)"
            for s in soundings
            if not s["not_judged"] and not s["residual_db"] <= s["limit_db"]
        ]
        + (through["wrong"] if through else [])
    )


def check_clipping(of: Clipped | Fader | Realtime) -> list[str]:
    """Fading that a fader's or a station's transmitter has no room for is another channel. `of`:
    faded(), or the measured interval."""
    clipped, samples = of["clipped"], of["slots"] * SLOT_SAMPLES
    return (
        []
        if clipped <= CLIPPED_SHARE * samples
        else [
            f"clipping: {clipped} of {samples} samples of the faded signal were beyond full scale"
            f" (limit {CLIPPED_SHARE:g}): less power before the channel"
        ]
    )


def check_late(realtime: Realtime) -> list[str]:
    """A clock that waits leaves no slot behind; one that runs freely may, but so few that nothing
    measured is theirs."""
    late, slots = realtime["late_slots"], realtime["slots"]
    allowed = LATE_SHARE * slots if realtime["clock"] == "realtime" else 0
    if late <= allowed:
        return []
    limit = f" of {slots} (limit {LATE_SHARE:.1%})" if allowed else ""
    return [
        f"late: {late} slots{limit} missed their time:"
        f" {missed_words(realtime['missed'])}{standstills.words(realtime.get('standstills'))}"
    ]


def check_page_faults(faults: dict[str, dict[str, int]]) -> list[str]:
    """On a clock that does not wait: whoever waits for the disk makes slots late, at the radio or
    behind it. `faults`: of slot_path.PageFaults."""
    major = {name: f["major"] for name, f in faults.items() if f["major"]}
    return (
        [
            f"page faults: {', '.join(f'{name} waited {n} times' for name, n in major.items())} for"
            " a page from the disk"
        ]
        if major
        else []
    )


def missed_words(missed_slots: Missed) -> str:
    words = {
        "late": "too late at the radio",
        "underflows": "the radio ran out of samples",
        "late_plans": "not planned in time",
        "left_out": "not made in time",
    }
    return ", ".join(f"{n} {words[reason]}" for reason, n in missed_slots.items() if n) or "none"


def share_of_waiting(waited_s: float, lived_s: float, interval_s: float) -> float:
    """Of processes of one kind: the share of their lives in which they were ready and had no core.
    Several at once count as their mean. What lived for less than a second, or a tenth of the
    interval, is judged as if it had lived so long: its waiting cannot have mattered to the rest."""
    return waited_s / max(lived_s, 0.1 * interval_s, 1.0)


def check_waiting(share: float | None) -> list[str]:
    """`share`: of the application that waited most; None: not known, which is no reason."""
    if share is None or share <= WAITING_LIMIT:
        return []
    return [
        f"applications: one waited for a processor core {share:.0%} of the time (limit"
        f" {WAITING_LIMIT:.0%}): what they sent and received is this machine's doing, not the"
        " link's"
    ]


# --- changed by hand ---

ABOUT_A_CHANNEL = ("channel.", "paths.")
ABOUT_THE_LINK = (*ABOUT_A_CHANNEL, "link.", "phy.", "uplink.", "scheduling.")


def changes_of(**statuses: MacStatus | AirStatus) -> list[Change]:
    """Settings that somebody changed while the run went on: what each process says it was asked, by
    slot."""
    found: list[Change] = [
        {
            "slot": c.slot,
            "time_s": round(c.slot / SLOTS_PER_SECOND, 3),
            "process": process,
            "key": c.key,
            "from": getattr(c, "from"),
            "to": c.to,
        }
        for process, status in statuses.items()
        for c in status.changes
    ]
    return sorted(found, key=lambda c: (c["slot"], c["process"], c["key"]))


def mark_capacity(capacity: Capacity, changes: Sequence[Change]) -> Capacity:
    """The capacity is computed from the settings at the start. With others in between, the goodput
    cannot be compared with it, and the report says so; the verdict is about time and sums, which a
    change does not touch."""
    about = [c for c in changes if c["key"].startswith(ABOUT_THE_LINK)]
    capacity["settings_changed"] = bool(about)
    if about:
        capacity["how"] = [
            *capacity["how"],
            (
                f"of the settings at the start: {len(about)} changed by hand during the run, "
                "so the share says nothing about the link"
            ),
        ]
    return capacity


def lock_reasons(losses: int, changes: Sequence[Change]) -> list[str]:
    """A lost lock makes a run invalid, unless somebody changed the channel: then it is what was
    asked for."""
    asked_for = any(c["key"].startswith(ABOUT_A_CHANNEL) for c in changes)
    return [f"lock: lost {losses} times"] if losses and not asked_for else []
