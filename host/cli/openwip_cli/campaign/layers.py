# SPDX-License-Identifier: GPL-3.0-or-later
"""The layers of an experiment's settings: its file, the grid over it, --tcp and --set over both. A
setting that two layers give, or that a layer gives where it has no effect, is refused, because it
would be ignored."""

from typing import Any

from ..errors import BadInput, not_valid
from ..runs import ns3_tcp
from . import tcp_settings
from .experiment_file import NAMED, ExperimentFile
from .grid import Point
from .settings import FLOWS, OF_LINUX, VIRTUAL, Over, key_of


class NothingToRun(BadInput):
    """None of an experiment's points can be run."""


def tcp_of_ns3(file: ExperimentFile, given: dict[str, Any]) -> dict[str, Any]:
    """The TCP attributes for ns-3: those in the file, which hold for each of its runs as if given
    by --tcp, and those of the command line (`given`), which replace them."""
    tree = file.tree
    own = tree.get("tcp", {})
    if own and tree.get("time") != "ns3" or not isinstance(own, dict):
        raise not_valid(
            f"experiment file {file.path}: tcp",
            repr(own),
            "a mapping, in a file with time: ns3",
            more=f" with time {tree.get('time', 'real')!r}",
        )
    try:
        return ns3_tcp.read(f"{name}={value}" for name, value in own.items()) | given
    except BadInput as e:
        raise BadInput(f"experiment file {file.path}: {e}") from None


def with_tcp(
    file: ExperimentFile, settings: dict[str, Any], time: str, tcp: dict[str, Any]
) -> dict[str, Any]:
    """--tcp is over nothing that the grid varies; Linux' is a setting like those of the file, and
    stands among the settings that are returned."""
    varied, kind = file.grid.varied, settings.get("workload")
    there = {tcp_settings.key_of(name): name for name in varied}
    if kind in VIRTUAL:
        there |= {
            f"sysctl.{key.rpartition('/')[2]}": "sender"
            for sysctls in file.common.get("senders", {}).values()
            for key in sysctls
            if "sender" in varied
        }
    for name in tcp:
        key = tcp_settings.key_of(
            tcp_settings.EXPERIMENT_NAME_OF.get(name, name) if time == "ns3" else name
        )
        if key in there:
            raise NothingToRun(
                f"experiment file {file.path}: --tcp {name} would replace {there[key]}, which the"
                " grid of the experiment varies; valid: a setting that the grid does not vary"
            )
    if time == "ns3" or not tcp:
        return settings
    if kind == "voip":
        raise NothingToRun(
            f"experiment file {file.path}: --tcp {next(iter(tcp))} is given for workload 'voip',"
            " which sends no TCP; valid: no --tcp for this experiment"
        )
    keys = set(map(tcp_settings.key_of, tcp))
    return {n: v for n, v in settings.items() if tcp_settings.key_of(n) not in keys} | tcp


def with_set(file: ExperimentFile, settings: dict[str, Any], over: Over) -> dict[str, Any]:
    """--set goes over the file's settings, and over nothing that the grid or a part of the defaults
    that it names says."""
    varied = file.grid.varied
    there = {key_of(name): f"{name} of the grid" for name in varied}
    for name in ("channel", "method"):
        for title in dict.fromkeys(
            dict(p.settings).get(name, settings.get(name)) for p in file.grid.points
        ):
            there = (
                dict.fromkeys(
                    file.common.get(NAMED[name], {}).get(title, {}),
                    f"{NAMED[name]}: {title} of the defaults",
                )
                | there
            )
    there |= {"umts.spikes": "spike_s"} if "spike_s" in varied | settings.keys() else {}
    for name in over.settings:
        if key_of(name) in there:
            raise NothingToRun(
                f"experiment file {file.path}: --set {name} would replace {there[key_of(name)]};"
                " valid: a setting that neither the grid nor the channel or method of the"
                " experiment sets"
            )
    keys = set(map(key_of, over.settings))
    return {n: v for n, v in settings.items() if key_of(n) not in keys} | over.settings


def check_point(file: ExperimentFile, settings: dict[str, Any], point: Point, time: str) -> None:
    """Checks that names which the point looks up in the defaults are there, and that no setting is
    given twice."""
    both = settings | dict(point.settings)
    for name, value in both.items():
        if name in NAMED and value not in file.common.get(NAMED[name], {}):
            raise not_valid(
                f"experiment file {file.path}: {name}",
                repr(value),
                ", ".join(map(str, file.common.get(NAMED[name], {}))),
            )
    if ("spike_at_s" in both) != ("spike_s" in both):
        raise BadInput(
            f"experiment file {file.path}: only one of spike_at_s and spike_s is set; valid: both"
            " (begin and length of a delay spike, in s), or neither"
        )
    if time == "real" and "first_rto_ms" in both:
        raise BadInput(
            f"experiment file {file.path}: first_rto_ms is set with --time real, where the kernel"
            " has"
            " no such setting; valid: --time virtual or ns3"
        )
    if both.get("packet_delays") == "on" and (time, both.get("workload")) != ("virtual", "tcp"):
        raise BadInput(
            f"experiment file {file.path}: packet_delays is 'on' with --time {time} and workload"
            f" {both.get('workload')!r}; valid: --time virtual and 'tcp'"
        )
    check_names(file, both, point)
    control = both.get("congestion_control")
    if time != "ns3" and control is not None and control not in OF_LINUX:
        raise not_valid(
            f"experiment file {file.path}: congestion_control",
            repr(control),
            ", ".join(OF_LINUX),
            more=f" with --time {time}",
        )


def check_names(file: ExperimentFile, both: dict[str, Any], point: Point) -> None:
    """A setting of the file has no second name there, and the specification of a run lays nothing
    over it: it would be ignored."""
    names = dict[str, str]()
    laid = {
        key: (value, f"{part}: {both[name]} of the defaults has {value!r}")
        for name, part in NAMED.items()
        if name in both
        for key, value in file.common[part][both[name]].items()
    } | ({"umts.spikes": (None, "spike_s makes them")} if "spike_s" in both else {})
    for name, value in (file.tree.get("settings", {}) | dict(point.settings)).items():
        key, other = key_of(name), names.setdefault(key_of(name), name)
        also = (
            f"{other} is the same setting"
            if other != name
            else laid[key][1]
            if key in laid and laid[key][0] != value
            else ""
        )
        if also or key == "seed" or key.startswith("traffic."):
            valid = (
                "one of the two"
                if also
                else (
                    "realisations instead"
                    if key == "seed"
                    else "congestion_control, window_bytes, duration_s of full or quick instead"
                )
            )
            raise BadInput(
                f"experiment file {file.path}:"
                f" {'grid' if name in file.grid.varied else 'settings'}:"
                f" {name} is {value!r}{', and ' * bool(also)}{also}; valid: {valid}"
            )


def check_applications(file: ExperimentFile, settings: dict[str, Any], time: str) -> None:
    """Uploads and downloads run in virtual time, and each is of an application."""
    kind = settings.get("workload")
    asked = {
        dict(p.settings).get("application", settings.get("application")) for p in file.grid.points
    }
    for name in sorted(asked - {None}):
        application_kind = file.common["applications"][name].get("kind")
        if kind not in VIRTUAL or application_kind not in FLOWS:
            raise not_valid(
                f"experiment file {file.path}: application",
                repr(name),
                f"kind {', '.join(FLOWS)} with workload {', '.join(VIRTUAL)}",
                more=f", of kind {application_kind!r}, with workload {kind!r}",
            )
    if kind not in VIRTUAL:
        return
    if time == "real":
        raise not_valid(
            f"experiment file {file.path}: workload",
            repr(kind),
            "--time virtual",
            more=f" with --time {time}",
        )
