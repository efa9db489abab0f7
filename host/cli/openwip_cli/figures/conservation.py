# SPDX-License-Identifier: GPL-3.0-or-later
"""Packets and bytes are conserved: what went in is delivered, queued or dropped. A count is (packets,
bytes). A direction has two ends: the sender takes packets from its TUN, the receiver hands them to
its own. Here the counts are put beside each other; checks.py compares them."""

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

from ..shapes import Count, Direction, EndSums, Interface, MacStatus, OneSum, PacketsBytes, PathSums

RETRANSMISSIONS_EXCEEDED = (
    "retransmissions_exceeded"  # sender: a frame of the packet used up its retransmissions
)
LOST = "lost_frame"  # receiver: the same packets, seen from the other end


def count_of(message: PacketsBytes) -> Count:
    return Count(message.packets, message.bytes)


def added(*counts: Count) -> Count:
    return Count(sum(c[0] for c in counts), sum(c[1] for c in counts))


def less(a: Count, b: Count) -> Count:
    return Count(a[0] - b[0], a[1] - b[1])


class End:
    """One end of a direction, from a status message."""

    def __init__(self, direction: Direction) -> None:
        self.came_in = count_of(getattr(direction, "in"))
        self.delivered, self.queued = count_of(direction.delivered), count_of(direction.queued)
        self.dropped = {d.reason: count_of(d.count) for d in direction.dropped}
        self.copies = count_of(direction.copies)
        self.marked = count_of(direction.marked)  # part of came_in

    @property
    def accounted(self) -> Count:
        return added(self.delivered, self.queued, *self.dropped.values())

    def report(self) -> EndSums:
        def part(i: int) -> OneSum:
            return {
                "in": self.came_in[i],
                "delivered": self.delivered[i],
                "queued": self.queued[i],
                "dropped": {r: c[i] for r, c in self.dropped.items()},
            }

        packets = part(0)
        return {
            "in": packets["in"],
            "delivered": packets["delivered"],
            "queued": packets["queued"],
            "dropped": packets["dropped"],
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
        whole.queued = added(self.sender.queued, self.receiver.queued)
        whole.dropped = dict(self.sender.dropped)
        for reason, count in self.receiver.dropped.items():
            if reason != LOST:
                whole.dropped[reason] = added(whole.dropped.get(reason, Count()), count)
        self.whole = whole
        self.surplus = less(whole.accounted, whole.came_in)

    @property
    def retransmissions_exceeded(self) -> Count:
        return self.sender.dropped.get(RETRANSMISSIONS_EXCEEDED, Count())

    def report(self) -> PathSums:
        whole = self.whole.report()
        return {
            "in": whole["in"],
            "delivered": whole["delivered"],
            "queued": whole["queued"],
            "dropped": whole["dropped"],
            "bytes": whole["bytes"],
            "delivered_although_given_up": max(0, self.surplus.packets),
            "marked": self.sender.marked.packets + self.receiver.marked.packets,
            "sender": self.sender.report(),
            "receiver": self.receiver.report(),
        }


def paths_of(base: MacStatus, terminal: MacStatus) -> dict[str, Path]:
    return {
        "downlink": Path(base.downlink, terminal.downlink),
        "uplink": Path(terminal.uplink, base.uplink),
    }


class Equal(NamedTuple):
    """Two counts of the same packets."""

    what: str
    left: Count
    right: Count


@dataclasses.dataclass
class Sums:
    """The counts of a run, as far as it knows them. `across`: the counts of a link that was
    drained, by direction."""

    equal: list[Equal]
    across: dict[str, Path] = dataclasses.field(default_factory=dict)
    # False: packets passed between any two readings at the end, so that counts of the two ends
    # belong to two moments.
    came_to_rest: bool = True


def at_end(direction: str, where: str, end: End) -> Equal:
    return Equal(
        f"{direction} at the {where}, in against delivered + queued + dropped",
        end.came_in,
        end.accounted,
    )


def from_kernel(direction: str, where: str, end: End, kernel: Interface) -> Equal:
    """Drops in the kernel in front of macd are in its `in`, but were never read. A multicast packet
    was read once, and is in `in` once for each terminal."""
    unread = [c for r, c in end.dropped.items() if r in ("kernel_queue_full", "tun_read_error")]
    return Equal(
        f"{direction}, kernel to {where}.macd",
        Count(*kernel["to_macd"]),
        less(end.came_in, added(*unread, end.copies)),
    )


def to_kernel(direction: str, where: str, end: End, kernel: Interface) -> Equal:
    return Equal(f"{direction}, {where}.macd to kernel", end.delivered, Count(*kernel["from_macd"]))


def sums_of_paths(
    paths: dict[str, Path],
    tun: dict[str, Interface] | None,
    drained: bool = True,
    came_to_rest: bool = True,
) -> Sums:
    """`tun`: the kernel's own counts of the interfaces, tun["base"]["to_macd"] = (packets, bytes)
    and so on, or None. Not `drained`: packets are under way, so each end is evaluated alone."""
    found = Sums([], came_to_rest=came_to_rest)
    for name, sender, receiver in (
        ("downlink", "base", "terminal"),
        ("uplink", "terminal", "base"),
    ):
        path = paths[name]
        found.equal += [at_end(name, sender, path.sender), at_end(name, receiver, path.receiver)]
        if not (drained and came_to_rest):
            continue
        found.across[name] = path
        if tun:
            found.equal += [
                from_kernel(name, sender, path.sender, tun[sender]),
                to_kernel(name, receiver, path.receiver, tun[receiver]),
            ]
    return found


def sums_of_station(role: str, now: MacStatus, tun: Interface | None) -> Sums:
    """A station alone, whose other end is on another computer. `tun`: the kernel's counts of its
    interface, taken while nothing moved; None: something did."""
    ends = {"downlink": End(now.downlink), "uplink": End(now.uplink)}
    found = Sums([at_end(name, role, end) for name, end in ends.items()])
    if tun is not None:
        sends, receives = ("downlink", "uplink") if role == "base" else ("uplink", "downlink")
        found.equal += [
            from_kernel(sends, role, ends[sends], tun),
            to_kernel(receives, role, ends[receives], tun),
        ]
    return found


def sums_of_line(ways: Iterable[tuple[str, Direction]]) -> Sums:
    """A line counts each way once."""
    return Sums([at_end(way, "line", End(direction)) for way, direction in ways])
