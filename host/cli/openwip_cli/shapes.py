# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a report, by their keys: mypy finds one that is not there. Where total is False some
runs have not all of them. And the messages that they are made of; before anything is built they are
of any type, for options are read without them."""

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

if TYPE_CHECKING:
    from openwip_schema.control_pb2 import (
        AirNode,
        AirStatus,
        AttenuatorStatus,
        CommandedBurst,
        Direction,
        MacStatus,
        PacketsBytes,
    )
    from openwip_schema.receiver_pb2 import Burst
    from openwip_schema.receiver_pb2 import State as RadioState
    from openwip_schema.slot_link_pb2 import SlotReport
    from openwip_schema.telemetry_pb2 import (
        FrameBatch,
        PacketBatch,
        PacketRecord,
        SlotSample,
        TcpFlow,
        Telemetry,
    )
    from openwip_schema.telemetry_pb2 import (
        Verdict as VerdictMessage,
    )
else:
    AirNode = AirStatus = AttenuatorStatus = CommandedBurst = Direction = MacStatus = (
        PacketsBytes
    ) = Burst = RadioState = Any
    SlotReport = FrameBatch = PacketBatch = PacketRecord = SlotSample = TcpFlow = Telemetry = (
        VerdictMessage
    ) = Any


class Finding(TypedDict):
    """The sentence of a check that found something, and the figures that it is made of."""

    check: str
    reason: str
    figures: dict[str, Any]


class Verdict(TypedDict, total=False):
    valid: bool
    reasons: list[str]  # sentences of the findings
    checks: dict[str, bool]
    findings: list[Finding]
    replay: bool


Change = TypedDict(
    "Change", {"slot": int, "time_s": float, "process": str, "key": str, "from": str, "to": str}
)


class Capacity(TypedDict, total=False):
    payload_bps: float
    profile_bps: float
    tcp_payload_bps: float
    bits_per_symbol: float
    how: list[str]
    settings_changed: bool


class Link(TypedDict):
    goodput_bps: float
    seconds: float
    frames_sent: int
    frames_acknowledged: int
    frames_failed: int
    frame_error_rate: float
    frames_given_up: int
    frames_split: int
    feedback_missing: int
    slots_not_sent: int
    grant_overflows: int
    window_stalls: int
    retransmission_histogram: list[int]
    modulation_histogram: list[int]
    # Mean rate of the lines of a terminal that moves between networks; 0: the link has none.
    line_bps: float


class Count(NamedTuple):
    packets: int = 0
    bytes: int = 0


# As Count, but counted by the kernel.
class Interface(TypedDict):
    to_macd: tuple[int, int]
    from_macd: tuple[int, int]


OneSum = TypedDict(
    "OneSum", {"in": int, "delivered": int, "queued": int, "dropped": dict[str, int]}
)
EndSums = TypedDict(
    "EndSums",
    {"in": int, "delivered": int, "queued": int, "dropped": dict[str, int], "bytes": OneSum},
)


class Feedback(TypedDict):
    packets: int
    bytes: int


PathSums = TypedDict(
    "PathSums",
    {
        "in": int,
        "delivered": int,
        "queued": int,
        "dropped": dict[str, int],
        "bytes": OneSum,
        "delivered_although_given_up": int,
        "marked": int,
        "sender": EndSums,
        "receiver": EndSums,
        "feedback": Feedback,
    },
    total=False,
)


class Missed(TypedDict, total=False):
    late: int
    underflows: int
    late_plans: int
    left_out: int


class Stall(TypedDict, total=False):
    longest_ms: float
    whose: str
    stolen: float


class Share(TypedDict):
    used: float
    allowed: float  # share of a core


class HeldBack(TypedDict, total=False):
    core: int
    count: int
    longest_ms: float
    together_ms: float


class Stalls(TypedDict, total=False):
    core: int
    count: int
    longest_ms: float
    together_ms: float
    least_ms: float
    held_back: HeldBack


class Pacing(TypedDict):
    median: float
    p99: float
    p999: float
    max: float  # us


class Realtime(TypedDict, total=False):
    factor: float
    speed: float
    slots: int
    late_slots: int
    missed: Missed
    slots_behind: int
    released: int
    released_behind: int
    pacing_limit_us: float
    pacing_us: Pacing
    underflows: int
    overflows: int
    clock: str
    clipped: int
    standstills: Stalls | None
    share: Share
    stall: Stall | None
    pace_found: float | None
    wall_seconds: float
    virtual_seconds: float
    steps: int


class Clipped(TypedDict):
    clipped: int
    slots: int


Sounding = TypedDict(
    "Sounding", {"from": str, "to": str, "residual_db": float, "limit_db": float, "not_judged": str}
)


class ThroughRadios(TypedDict, total=False):
    bursts: int
    expected: int
    heard: int
    not_judged: str
    wrong: list[str]
    residual_db: float
    limit_db: float
    gain_db: float


class Fader(TypedDict):
    delay_samples: int
    delay_us: float
    least_lead_us: float
    lost_samples: int
    clipped: int
    slots: int
    late: int
    underflows: int
    overflows: int
    stalls: int
    silences: int
    soundings: list[Sounding]
    through_radios: ThroughRadios | None
