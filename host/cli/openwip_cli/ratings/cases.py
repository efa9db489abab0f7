# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of a session and the cases of each, after Teyeb (2006), tables 8.1, 8.2 and 8.4.

A case of a web page is called rate_RTT_FER (kbit/s, ms, % of the radio blocks lost), a case of the
video by the two networks, the first of which has the terminal for 30 s. For each case `settings()`
says how ./openwip emulate makes its link."""

import dataclasses
from typing import Any

from ..errors import BadInput
from ..settings.emulator import SETTINGS

PAGE_A, PAGE_B, VIDEO = "page-a", "page-b", "video"
TASKS = (PAGE_A, PAGE_B, VIDEO)

GRADES = ("Excellent", "Good", "Acceptable", "Poor", "Unacceptable")
HIGHEST = len(GRADES)

SET_UP_MS = 1000  # set-up of the dedicated channel, once in each run
LONGEST_S = 3600  # longer than any run, so that the channel is not released

WLAN_KBPS, WLAN_RTT_MS, UMTS_RTT_MS = 1000, 10, 150
UPLINK_KBPS = {"UMTS": 32, "WLAN": 64}
FIRST_NETWORK_S, HANDOVER_S = 30.0, 5.0


def grade_of(word: str) -> int:
    """5 for Excellent to 1 for Unacceptable."""
    return HIGHEST - GRADES.index(word)


@dataclasses.dataclass(frozen=True)
class WebCase:
    name: str
    kbps: int
    rtt_ms: int
    error_percent: int

    @property
    def is_reference(self) -> bool:
        return self.error_percent == 0

    def settings(self) -> dict[str, Any]:
        """Options of ./openwip emulate. The reference is a profile of its own, whose uplink is as
        fast as its downlink; the others have the uplink of the literature."""
        profile: dict[str, Any] = (
            {"umts.profile": "reference"}
            if self.is_reference
            else {"umts.profile": f"umts-{self.kbps}", "umts.one_way_ms": self.rtt_ms / 2}
        )
        return profile | {
            "link.kind": "umts",
            "umts.errors": self.error_percent / 100,
            "umts.rrc": "states",
            "umts.rrc_set_up_ms": SET_UP_MS,
            "umts.rrc_threshold_bytes": 0,
            "umts.rrc_dch_s": LONGEST_S,
        }


@dataclasses.dataclass(frozen=True)
class VideoCase:
    name: str
    first: str
    second: str

    @property
    def is_reference(self) -> bool:
        return self.first == self.second == "WLAN"

    def settings(self) -> dict[str, Any]:
        """Options of ./openwip emulate before the handover; nothing is lost while it lasts."""
        networks = dict.fromkeys((self.first, self.second))
        return {
            "link.kind": "hetnet",
            "hetnet.networks": ",".join(line_of(network) for network in networks),
            "hetnet.buffering": "full",
            "hetnet.delay_s": HANDOVER_S,
        }

    @property
    def handover(self) -> str | None:
        """The network after the handover; None: there is no other one."""
        return None if self.first == self.second else kind_of(self.second)


def kind_of(network: str) -> str:
    return "WLAN" if network == "WLAN" else "UMTS"


def line_of(network: str) -> str:
    """A network as hetnet.networks has it: NAME:DOWN/UP/DELAY."""
    kind = kind_of(network)
    down = WLAN_KBPS if kind == "WLAN" else int(network)
    one_way = (WLAN_RTT_MS if kind == "WLAN" else UMTS_RTT_MS) / 2
    return f"{kind}:{down}/{UPLINK_KBPS[kind]}/{one_way:g}"


Case = WebCase | VideoCase


def web_case(name: str) -> WebCase:
    kbps, rtt_ms, error_percent = map(int, name.split("_"))
    return WebCase(name, kbps, rtt_ms, error_percent)


def video_case(name: str) -> VideoCase:
    first, _, second = name.partition("_")
    return VideoCase(name, first, second or first)


# Teyeb (2006), table 8.4: for each case the initial and the total delay in seconds and the mean
# rating, first for page A, then for page B.
TEXT = {
    "3840_20_0": ((1.1, 1.8, 4.6), (4.6, 13.6, 4.6)),
    "384_150_1": ((1.4, 2.4, 4.3), (6.6, 19.2, 4.0)),
    "384_150_10": ((1.8, 3.0, 4.1), (8.8, 24.2, 3.9)),
    "384_150_20": ((1.9, 3.4, 3.9), (10.4, 28.6, 3.4)),
    "384_600_1": ((2.4, 5.8, 3.5), (15.4, 49.4, 2.9)),
    "32_150_1": ((2.0, 5.2, 3.3), (38.0, 99.0, 1.8)),
    "32_150_10": ((2.2, 6.2, 3.1), (45.0, 121.8, 1.6)),
    "32_150_20": ((2.6, 6.8, 2.9), (53.8, 144.0, 1.5)),
}
WEB_CASES = tuple(map(web_case, TEXT))
VIDEO_CASES = tuple(
    map(video_case, ("384_WLAN", "WLAN_384", "128_WLAN", "WLAN_128", "32_WLAN", "WLAN_32", "WLAN"))
)


CASES: dict[str, tuple[Case, ...]] = {
    PAGE_A: WEB_CASES,
    PAGE_B: WEB_CASES,
    VIDEO: VIDEO_CASES,
}


def cases_of(task: str) -> tuple[Case, ...]:
    return CASES[task]


def case_of(task: str, name: str) -> Case:
    return next(case for case in cases_of(task) if case.name == name)


def reference_of(task: str) -> Case:
    return next(case for case in cases_of(task) if case.is_reference)


def has_handover() -> bool:
    """Whether this release has the link of the video's cases."""
    kind: Any = next(s for s in SETTINGS if s.key == "link.kind").kind
    return "hetnet" in kind.words


def check_tasks(tasks: list[str] | tuple[str, ...], dry: bool = False) -> None:
    """Refuses tasks whose links this release cannot make; a dry run has no links."""
    if VIDEO in tasks and not dry and not has_handover():
        raise BadInput(
            f"--task is {VIDEO}, which needs the link hetnet, and this release does not have it;"
            f" valid: {PAGE_A}, {PAGE_B}"
        )
