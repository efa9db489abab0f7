# SPDX-License-Identifier: GPL-3.0-or-later
"""TCP of ns-3: its senders, the settings of all of a run (`--tcp NAME=VALUE`), and which of Linux's
they are (docs/explanation/ns3.md)."""

import re
from collections.abc import Iterable
from typing import Any

from ..errors import BadInput, not_valid
from ..settings import table
from ..settings.command_line import read as read_value
from ..settings.scenario import Scenario

SOCKET, BASE = "ns3::TcpSocket::", "ns3::TcpSocketBase::"


# Name in --tcp -> setting; its unit is the suffix that an ns-3 attribute takes after the number.
TCP = {name: table.setting(key, "ns3") for name, key in table.names_of("ns3").items()}
SENDERS: tuple[str, ...] = getattr(TCP.pop("sender").kind, "words")
# Words of a setting -> words of an ns-3 attribute.
WORDS = {"on": "true", "off": "false", "True": "true", "False": "false"}
# Sysctls of net.ipv4 that are settings, and those that are as they have to be for ns-3 to be what
# they ask for.
OF_LINUX = {
    "tcp_sack": "sack",
    "tcp_timestamps": "timestamps",
    "tcp_window_scaling": "window_scaling",
}
AS_IT_IS = {
    "tcp_recovery": "0",
    "tcp_early_retrans": "0",
    "tcp_frto": "0",
    "tcp_dsack": "0",
    "tcp_ecn": "0",
    "tcp_moderate_rcvbuf": "0",
    "tcp_no_metrics_save": "1",
    "tcp_max_reordering": "3",
}
# `off` only: over a sysctl
OFF = {
    "dsack": "tcp_dsack",
    "frto": "tcp_frto",
    "rack": "tcp_recovery",
    "tail_loss_probe": "tcp_early_retrans",
}
# Settings without effect here: no flow pauses, and the sender's memory is never what limits.
WITHOUT_EFFECT = ("tcp_slow_start_after_idle", "tcp_wmem")
WITHOUT_TIMESTAMPS = ("coarse-reno",)
HEADERS, TIMESTAMPS = 40, 12  # bytes


def check(s: Scenario) -> None:
    """The settings of the link that ns-3 cannot have."""
    if s["link.tcp_l"] == "on":
        raise BadInput(
            "--tcp-l is 'on' with --time ns3, where no relay is at the terminals; valid: off"
        )


def attributes(setting: table.Setting) -> list[str]:
    """The attributes of ns-3 that a setting sets."""
    return list(table.column(setting.key, "attributes", ()))


def pairs(words: Iterable[str], example: str, values: str = r"[\w.:-]+") -> dict[str, str]:
    """--tcp of the command line."""
    given: dict[str, str] = {}
    for word in words:
        name, equal, value = word.partition("=")
        if (
            not re.fullmatch(r"[\w.]+(::\w+)*", name)
            or not equal
            or not re.fullmatch(values, value)
        ):
            raise not_valid("--tcp", repr(word), f"NAME=VALUE, such as {example}")
        given[name] = value
    return given


def read(words: Iterable[str]) -> dict[str, str]:
    given = pairs(words, "min_rto_ms=20")
    if given.get("sender", SENDERS[0]) not in SENDERS:
        raise not_valid("--tcp sender", repr(given["sender"]), ", ".join(SENDERS))
    attributes_of({n: v for n, v in given.items() if n != "sender"})
    return given


def of_sysctls(sysctls: dict[str, Any]) -> dict[str, Any]:
    """The settings that they are. Refused is what ns-3 has not."""
    settings: dict[str, Any] = {}
    for key, value in sysctls.items():
        name, text = key.removeprefix("net/ipv4/"), str(value)
        if name in OF_LINUX:
            settings[OF_LINUX[name]] = "off" if text == "0" else "on"
        elif name == "tcp_rto_min_us":
            settings["min_rto_ms"] = f"{float(text) / 1000:g}"
        elif name == "tcp_first_rto_ms":
            settings["first_rto_ms"] = text
        # its middle, of which Linux gives away one half at first; with tuning (and then without) no
        # limit
        elif name == "tcp_rmem":
            if str(sysctls.get(key.replace("tcp_rmem", "tcp_moderate_rcvbuf"), 1)) == "0":
                settings["receive_window"] = int(text.split()[1]) // 2
        elif name in AS_IT_IS:
            if text != AS_IT_IS[name]:
                raise not_valid(
                    f"sysctl {name}",
                    text,
                    AS_IT_IS[name],
                    more=f" with --time ns3, which has it as {AS_IT_IS[name]}",
                )
        elif name not in WITHOUT_EFFECT:
            raise BadInput(
                f"sysctl {name} is given with --time ns3, which has no such setting; valid: "
                f"{', '.join([*OF_LINUX, 'tcp_rto_min_us', 'tcp_first_rto_ms', 'tcp_rmem', *AS_IT_IS, *WITHOUT_EFFECT])}"
            )
    return settings


def are_on(tcp: dict[str, Any], name: str) -> bool:
    return WORDS.get(str(tcp.get(name, "on"))) != "false"


def attributes_of(tcp: dict[str, Any], sysctls: dict[str, str] | None = None) -> dict[str, str]:
    """The attributes of ns-3 that they set, of its plan."""
    over = [OFF[name] for name in tcp if name in OFF]
    wanted = (
        of_sysctls(
            {k: v for k, v in (sysctls or {}).items() if k.removeprefix("net/ipv4/") not in over}
        )
        | tcp
    )
    if not are_on(wanted, "timestamps"):
        wanted.setdefault("mss", 1500 - HEADERS)
    found: dict[str, str] = {}
    for name, value in wanted.items():
        if name in OFF and WORDS.get(str(value)) == "false":
            continue
        if "::" in name:
            found[name] = str(WORDS.get(str(value), value))
            continue
        if name not in TCP:
            raise BadInput(
                f"--tcp is {name}={value}; valid: sender, {', '.join(TCP)},"
                f" {'=off, '.join(OFF)}=off, or an attribute of ns-3 such as {BASE}MinRto=200ms"
            )
        setting = TCP[name]
        value = read_value(f"--tcp {name}", setting.kind, value)
        text = f"{value:.10g}" if isinstance(value, float) else WORDS.get(value, value)
        found |= dict.fromkeys(attributes(setting), f"{text}{setting.unit}")
    return found
