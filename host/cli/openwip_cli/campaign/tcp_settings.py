# SPDX-License-Identifier: GPL-3.0-or-later
"""The TCP settings of a workload, as Linux takes them (sysctls and metrics of the route) and as
ns-3 does, and those of --tcp."""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import BadInput, not_valid
from ..figures import checks
from ..figures.facts import Facts
from ..runs import ns3_tcp
from ..settings import command_line
from ..settings.emulator import scenario_of
from .settings import OF_LINUX, SETTINGS, TCP, VIRTUAL

# name of a setting in --tcp with ns-3: its name in an experiment's file
EXPERIMENT_NAME_OF = {
    "sender": "congestion_control",
    "min_rto_ms": "rto_min_ms",
    "receive_window": "window_bytes",
    "mss": "mtu",
}


def read(words: Iterable[str]) -> dict[str, Any]:
    """The values of --tcp for Linux. Valid are the settings of TCP that an experiment's file has."""
    known = (
        "congestion_control",
        "window_bytes",
        *(name for name, s in SETTINGS.items() if s.role == TCP),
    )
    given = ns3_tcp.pairs(words, "congestion_control=bbr", ".+")
    for name in given:
        if name not in SETTINGS or name not in known and SETTINGS[name].role != TCP:
            raise BadInput(
                f"--tcp is {name}={given[name]}; valid: {', '.join(known)}, sysctl.tcp_NAME; with"
                " --time ns3 others (docs/explanation/ns3.md)"
            )
    first: dict[str, str] = {}
    for name in given:
        if (other := first.setdefault(key_of(name), name)) != name:
            raise BadInput(
                f"--tcp {name}={given[name]} is --tcp {other}={given[other]} by another name;"
                " valid: one of the two"
            )
    if (control := given.get("congestion_control", OF_LINUX[0])) not in OF_LINUX:
        raise not_valid(
            "--tcp congestion_control",
            repr(control),
            f"{', '.join(OF_LINUX)}; with --time ns3 others (docs/explanation/ns3.md)",
        )
    return {
        name: command_line.read(f"--tcp {name}", SETTINGS[name].kind, value)
        for name, value in given.items()
    }


def key_of(name: str) -> str:
    """The key that a setting of TCP sets: two names of one setting (rack, sysctl.tcp_recovery) have the
    same key."""
    return str(SETTINGS[name].key) if name in SETTINGS and SETTINGS[name].role == TCP else name


def label(time: str, tcp: dict[str, Any]) -> str:
    """Time and TCP settings of the results in a folder, as one line for a reader."""
    return " ".join([time, *sorted(f"{n}={v}" for n, v in tcp.items())])


# A workload with a window: the buffers must not limit before the window does, and Linux must not
# tune the window.
WIDE = {
    "tcp_moderate_rcvbuf": 0,
    "tcp_rmem": "4096 262144 262144",
    "tcp_wmem": "4096 262144 4194304",
}


def sysctls_of(work: dict[str, Any]) -> dict[str, Any]:
    """The values of net.ipv4, at both ends."""
    return work["tcp"]["sysctl"] | (WIDE if work["window_bytes"] else {})


def route_metrics(work: dict[str, Any]) -> list[str]:
    """The metrics of the route. Flows of a workload with `route` set their congestion control
    themselves, so it is not among them. The others get theirs by the route, because the sysctl of a
    namespace takes only the unrestricted ones (net.ipv4.tcp_allowed_congestion_control)."""
    tcp = work.get("route") or work["tcp"]
    metrics = [] if "route" in work else ["congctl", work["congestion_control"]]
    for name, words in (
        ("initial_window_segments", "initcwnd {}"),
        ("rto_min_ms", "rto_min {}ms"),
        ("mtu", "mtu lock {}"),
    ):
        metrics += words.format(tcp[name]).split() if name in tcp else []
    metrics += ["quickack", "1"] if tcp.get("quick_acks") else []
    return metrics + (["window", str(work["window_bytes"])] if work["window_bytes"] else [])


def route_batches(
    sides: Sequence[ipaddress.IPv4Interface], metrics: Sequence[str]
) -> dict[tuple[int, str], Sequence[str]]:
    """The commands of ip that give each side's route these, for a kernel in virtual time."""
    return {
        (n, "ip -batch -"): (
            (
                f"route replace {a.network} dev eth{n} proto kernel scope link src {a.ip}"
                f" {' '.join(metrics)}"
            ),
            "route show",
        )
        for n, a in enumerate(sides)
    }


def window_kept(asked: int, windows: Iterable[int]) -> list[str]:
    """Reasons against a run whose receivers ended with another window than `asked` (bytes; 0: none
    was asked for). A window of 0 is that of a receiver to which no sender came."""
    others = sorted({w for w in windows if w not in (0, asked)})
    return (
        [f"a receiver's window of {asked} bytes ended as {others[-1]}"] if asked and others else []
    )


def with_windows(report: dict[str, Any], asked: int) -> dict[str, Any]:
    """Returns a report of virtual time with the windows that its receivers ended with. Its verdict
    is INVALID if one of them is not the window `asked` for (bytes)."""
    windows = [w for end in report["flows"] for w in end.get("windows", ())]
    return report | {
        "verdict": checks.evaluate_also(
            report["verdict"], Facts(failed=window_kept(asked, windows))
        ),
        "workload": (
            report["workload"]
            | {
                "tcp_settings": {
                    "window_bytes": asked or "tuned by the kernel",
                    "windows_at_the_end": windows,
                }
            }
        ),
    }


def of_ns3(work: dict[str, Any], given: dict[str, Any] | None = None) -> dict[str, Any]:
    """The TCP settings of a workload for ns-3, `sender` among them; those in `given` (--tcp) take
    precedence. Raises BadInput for a setting that ns-3 does not have."""
    if work.get("qdisc", "none") != "none":
        raise not_valid(
            "qdisc",
            repr(work["qdisc"]),
            "none",
            more=" with --time ns3, whose hosts have no queueing discipline",
        )
    if work["kind"] == "voip":
        return {}
    given = dict(given or {})
    if work["kind"] in VIRTUAL:
        if not work["sender"]:
            raise BadInput(
                "the sender sets no sysctl and so is the TCP of this computer's kernel as it is,"
                " which --time ns3 cannot run; valid: a sender with the key sysctls"
            )
        window = work["window_bytes"]  # bytes; the send buffer is twice that, as in Linux
        route = work.get("route", {})
        tcp = (
            {
                "sender": work["congestion_control"],
                "mss": 1500 - ns3_tcp.HEADERS - ns3_tcp.TIMESTAMPS,
            }
            | ({"receive_window": window, "send_buffer": 2 * window} if window else {})
            | ns3_tcp.of_sysctls(work["sender"])
            | of_route(route)
            | given
        )
        if "mtu" in route and "mss" not in given:
            tcp["mss"] = segment(route["mtu"], tcp)
        return tcp
    linux = work["tcp"]
    # sysctls that switch off what a setting of --tcp asks for
    overridden = [ns3_tcp.OFF[name] for name in given if name in ns3_tcp.OFF]
    tcp = {"sender": work["congestion_control"]} | of_route(linux)
    tcp |= ns3_tcp.of_sysctls(
        {name: value for name, value in sysctls_of(work).items() if name not in overridden}
    )
    tcp |= {"receive_window": work["window_bytes"]} if work["window_bytes"] else {}
    tcp |= given
    if tcp["sender"] not in ns3_tcp.SENDERS:
        raise not_valid(
            "sender", tcp["sender"], ", ".join(ns3_tcp.SENDERS), more=" with --time ns3"
        )
    if tcp["sender"] in ns3_tcp.WITHOUT_TIMESTAMPS:
        tcp |= {"timestamps": "off"}
    tcp.setdefault("mss", segment(linux.get("mtu", 1500), tcp))
    return tcp


def of_route(route: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a Linux route, as settings of ns-3."""
    return {
        name: route[key]
        for name, key in (
            ("initial_window", "initial_window_segments"),
            ("min_rto_ms", "rto_min_ms"),
        )
        if key in route
    } | ({"delayed_acks": 1} if route.get("quick_acks") else {})


def segment(mtu: int, tcp: dict[str, Any]) -> int:
    """Bytes of data of a packet of that size."""
    return mtu - ns3_tcp.HEADERS - (ns3_tcp.TIMESTAMPS if ns3_tcp.are_on(tcp, "timestamps") else 0)


def check_ns3(spec: dict[str, Any]) -> None:
    """Raises BadInput if ns-3 cannot make the run."""
    ns3_tcp.check(scenario_of(spec["emulator"]))
    of_ns3(spec["workload"], spec.get("tcp"))
