# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways between a cell and what is outside of it: a gateway through this computer, and networks
behind its stations (docs/how-to/networks.md).

  --gateway        the base station reaches other computers through this one: a pair of interfaces
                   between its namespace and this computer, and masquerading in a table of nftables
                   of its own
  --attach STATION=netns:NAME, pid:PID
                   a pair of interfaces between the station and that network namespace
  --attach STATION=if:NAME
                   this interface of the computer is moved into the station's namespace

What is made in the namespaces ends with them. What is made on the computer itself (the table, the
forwarding of an interface, a moved interface) is written down before it is made, in outside.json of
the run folder, and undone by undo(), which the supervisor calls at every end of the cell, and `down`
after a supervisor that was killed."""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..errors import BadInput, not_valid
from ..machine import own_files, system


class Networks(Protocol):
    """The part of a cell (cell.py) that is used here."""

    @property
    def name(self) -> str: ...
    @property
    def run(self) -> pathlib.Path: ...
    @property
    def stations(self) -> Sequence[str]: ...
    def namespace(self, station: str) -> str: ...


STATIONS = ("base", "terminal")
KINDS = ("netns", "pid", "if")
CELL4, CELL6 = "10.42.0.0/24", "fd42:10:42::/64"
ADDRESS4 = {"base": "10.42.0.1", "terminal": "10.42.0.2"}
ADDRESS6 = {"base": "fd42:10:42::1", "terminal": "fd42:10:42::2"}
# Addresses of the network behind a station, without their last part.
BEHIND4 = {"base": "10.45.0.", "terminal": "10.44.0."}
BEHIND6 = {"base": "fd42:10:45::", "terminal": "fd42:10:44::"}
GATEWAY = "gateway0"  # interface in the base station's namespace
STATION_END, OUTER_END = "outside0", "openwip0"  # the two interfaces of a pair to another namespace
WRITTEN = "outside.json"


@dataclasses.dataclass(frozen=True)
class Place:
    """A network that is attached to a station."""

    kind: str  # one of KINDS
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def namespace(self) -> str:
        """File of the network namespace."""
        return f"/run/netns/{self.name}" if self.kind == "netns" else f"/proc/{self.name}/ns/net"


@dataclasses.dataclass(frozen=True)
class Outside:
    """The options of the command line about networks outside of the cell."""

    gateway: bool = False
    attached: dict[str, Place] = dataclasses.field(default_factory=dict)

    @property
    def asked(self) -> bool:
        return self.gateway or bool(self.attached)


# --- options ---


def add_options(parser: argparse.ArgumentParser, stations: tuple[str, ...] = STATIONS) -> None:
    if "base" in stations:
        parser.add_argument(
            "--gateway",
            action="store_true",
            help="let the base station reach other networks through this computer"
            " (docs/how-to/networks.md)",
        )
    parser.add_argument(
        "--attach",
        metavar="STATION=netns:NAME|pid:PID|if:NAME",
        action="append",
        default=[],
        help="connect a network namespace (by its name or by a process in it) or an interface of"
        f" this computer to the cell through a station ({' or '.join(stations)}); may be given once"
        " for each station",
    )


def read(given: argparse.Namespace, stations: tuple[str, ...] = STATIONS) -> Outside:
    attached: dict[str, Place] = {}
    for text in given.attach:
        station, _, place = text.partition("=")
        kind, _, name = place.partition(":")
        valid = {"netns": r"[\w.-]+", "pid": r"[1-9]\d*", "if": r"[\w.@-]{1,15}"}
        if station not in stations or kind not in KINDS or not re.fullmatch(valid[kind], name):
            raise not_valid(
                "--attach", repr(text), f"{'|'.join(stations)}=netns:NAME, pid:PID or if:NAME"
            )
        if station in attached:
            raise BadInput(f"--attach {station}= is given twice; valid: once")
        attached[station] = Place(kind, name)
    between = getattr(given, "between", None)
    if between:
        if attached:
            raise BadInput("--between is given with --attach; valid: one of the two")
        for name in between:
            if not re.fullmatch(r"[\w.@-]{1,15}", name):
                raise not_valid("--between", repr(name), "two interfaces of this computer")
        attached = {s: Place("if", name) for s, name in zip(STATIONS, between)}
    places = list(attached.values())
    if len(places) == 2 and places[0] == places[1]:
        raise BadInput(
            f"--attach connects both stations to {places[0]}; valid: a different namespace or"
            " interface for each"
        )
    return Outside(getattr(given, "gateway", False), attached)


# --- checks, before anything is made ---


def ip(*arguments: str, inside: str | None = None) -> str:
    """`inside`: file of the network namespace in which the interfaces are."""
    enter = ["nsenter", f"--net={inside}"] if inside else []
    done = subprocess.run([*enter, "ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise BadInput(f"ip {' '.join(arguments)}: {done.stderr.strip() or 'failed'}")
    return done.stdout


def default_interfaces(family: str = "-4") -> list[str]:
    """Interfaces by which this computer reaches others."""
    routes = json.loads(ip("-j", family, "route", "show", "default") or "[]")
    found = [r["dev"] for r in routes if "dev" in r]
    return list(dict.fromkeys(found + [h["dev"] for r in routes for h in r.get("nexthops", [])]))


def check(wanted: Outside) -> None:
    """BadInput for what cannot be, as root."""
    if wanted.gateway:
        if shutil.which("nft") is None:
            raise BadInput(
                "--gateway: the program nft, which translates the addresses (NAT), is not"
                " installed: apt install nftables"
            )
        if not default_interfaces():
            raise BadInput(
                "--gateway: this computer has no default route, so there is no way out; valid: with"
                " one (ip route show default)"
            )
    for station, place in wanted.attached.items():
        where = f"--attach {station}={place}"
        if place.kind == "if":
            check_interface(where, place.name)
        elif not os.path.exists(place.namespace):
            raise BadInput(
                f"{where}: this computer has no such {place.kind}; valid: one that exists"
            )
        elif os.path.samefile(place.namespace, "/proc/self/ns/net"):
            raise BadInput(
                f"{where} is this computer's own network namespace; valid: another one, or"
                " --gateway"
            )


def check_interface(where: str, name: str) -> None:
    try:
        ip("link", "show", "dev", name)
    except BadInput:
        raise BadInput(
            f"{where}: there is no such interface; valid: one that ip link show lists"
        ) from None
    if name == "lo" or name in default_interfaces() + default_interfaces("-6"):
        raise BadInput(
            f"{where}: by this interface the computer reaches "
            f"{'itself' if name == 'lo' else 'others (its default route)'}, and it would be moved"
            " away; valid: another interface"
        )


# --- what is made on the computer itself, and its undoing ---


class Written:
    """The record of changes on the computer itself, made or about to be made."""

    def __init__(self, cell: Networks) -> None:
        self.cell = cell
        self.plan: dict[str, Any] = {"table": None, "forwarding": [], "links": [], "moved": []}

    def add(self, key: str, what: Any) -> None:
        if isinstance(self.plan[key], list):
            self.plan[key].append(what)
        else:
            self.plan[key] = what
        own_files.replace(self.cell.run / WRITTEN, json.dumps(self.plan))


def undo(cell: Networks) -> None:
    """Undoes what is written down, while the namespaces still exist. Repeating it does no harm."""
    try:
        plan = json.loads(own_files.read(cell.run / WRITTEN))
    except (OSError, ValueError):
        return
    if plan["table"]:
        subprocess.run(["nft", "delete", "table", "inet", plan["table"]], capture_output=True)
    for interface, before in plan["forwarding"]:
        with contextlib.suppress(OSError):
            knob(interface).write_text(before)
    for interface in plan["links"]:
        subprocess.run(["ip", "link", "del", "dev", interface], capture_output=True)
    for moved in plan["moved"]:
        with contextlib.suppress(BadInput):
            bring_back(cell, moved)
    with contextlib.suppress(OSError):
        (cell.run / WRITTEN).unlink()


def knob(interface: str) -> pathlib.Path:
    return pathlib.Path(f"/proc/sys/net/ipv4/conf/{interface}/forwarding")


def bring_back(cell: Networks, moved: dict[str, Any]) -> None:
    """An interface into this process's network namespace, with the addresses and routes that it
    had."""
    name, namespace = moved["name"], cell.namespace(moved["station"])
    ip("-n", namespace, "link", "set", "dev", name, "netns", str(os.getpid()))
    if not moved["up"]:
        return
    ip("link", "set", "dev", name, "up")
    for address in moved["addresses"]:
        with contextlib.suppress(BadInput):
            ip("address", "add", address, "dev", name)
    for route in moved["routes"]:
        with contextlib.suppress(BadInput):
            ip("route", "add", *route.split(), "dev", name)


def state_of(name: str, station: str) -> dict[str, Any]:
    state = json.loads(ip("-j", "address", "show", "dev", name))[0]
    return {
        "name": name,
        "station": station,
        "up": "UP" in state["flags"],
        "addresses": [
            f"{a['local']}/{a['prefixlen']}" for a in state["addr_info"] if a["scope"] != "link"
        ],
        "routes": [
            line.strip()
            for line in ip("route", "show", "dev", name).splitlines()
            if "proto kernel" not in line
        ],
    }


# --- making it ---


def start(
    cell: Networks, wanted: Outside, ipv6: bool, mtu: int, progress: Callable[[str], None]
) -> None:
    """Connects the interfaces of the stations, which are up, to the outside. `progress` is told
    what changes on this computer. `ipv6`: the cell has IPv6; `mtu`: MTU of its interfaces,
    bytes."""
    if wanted.asked:
        Maker(cell, wanted, ipv6, max(1500, mtu), progress).make()


class Maker:
    def __init__(
        self,
        cell: Networks,
        wanted: Outside,
        ipv6: bool,
        mtu: int,
        progress: Callable[[str], None],
    ) -> None:
        self.cell, self.wanted, self.ipv6, self.progress = cell, wanted, ipv6, progress
        self.mtu = str(mtu)
        self.written = Written(cell)

    def make(self) -> None:
        for station in self.cell.stations:
            self.let_forward(station)
        for station, place in self.wanted.attached.items():
            self.attach(station, place)
        if self.wanted.gateway:
            self.make_gateway()
        self.route()

    def let_forward(self, station: str) -> None:
        """Switches forwarding on in the station's namespace; it ends with the namespace."""
        knobs = {"ipv4/ip_forward": "1"} | (
            {"ipv6/conf/all/forwarding": "1", "ipv6/conf/lo/disable_ipv6": "0"} if self.ipv6 else {}
        )

        def write() -> None:
            for name, value in knobs.items():
                pathlib.Path(f"/proc/sys/net/{name}").write_text(value)

        try:
            system.in_namespace(self.cell.namespace(station), write)
        except OSError as e:
            raise BadInput(
                f"--gateway and --attach: a station cannot forward packets, because"
                f" /proc/sys/net cannot be written ({e.strerror})"
            ) from None

    def bring_up(self, station: str, interface: str, address4: str, address6: str) -> None:
        """An interface in the station's namespace."""
        namespace = self.cell.namespace(station)
        if self.ipv6:
            system.in_namespace(
                namespace,
                lambda: pathlib.Path(
                    f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"
                ).write_text("0"),
            )
            ip("-n", namespace, "address", "add", address6, "dev", interface, "nodad")
        ip("-n", namespace, "address", "add", address4, "dev", interface)
        ip("-n", namespace, "link", "set", "dev", interface, "up")

    def attach(self, station: str, place: Place) -> None:
        near4, near6 = f"{BEHIND4[station]}1/24", f"{BEHIND6[station]}1/64"
        namespace = self.cell.namespace(station)
        if place.kind == "if":
            self.written.add("moved", state_of(place.name, station))
            ip("link", "set", "dev", place.name, "netns", namespace)
            self.bring_up(station, place.name, near4, near6)
            self.progress(
                f"interface {place.name} is the {station}'s now and has the address"
                f" {near4}{f' and {near6}' if self.ipv6 else ''}; computers behind it take an"
                f" address of that network and {near4[:-3]} as their gateway; it comes back with"
                " the"
                " end of the cell"
            )
            return
        ip(
            *("-n", namespace, "link", "add", STATION_END, "mtu", self.mtu, "type", "veth"),
            *("peer", "name", OUTER_END, "mtu", self.mtu, "netns", place.namespace),
        )
        self.bring_up(station, STATION_END, near4, near6)
        self.prepare_outer(station, place)

    def prepare_outer(self, station: str, place: Place) -> None:
        """Addresses and routes of the other end. A namespace that has a default route keeps it."""
        inside = place.namespace
        families = [
            ("-4", BEHIND4[station], "/24", [CELL4, *(f"{b}0/24" for b in BEHIND4.values())])
        ]
        if self.ipv6:
            families.append(
                ("-6", BEHIND6[station], "/64", [CELL6, *(f"{b}/64" for b in BEHIND6.values())])
            )
        ip("link", "set", "dev", OUTER_END, "up", inside=inside)
        parts = []
        for family, attached, length, networks in families:
            nodad = ["nodad"] if family == "-6" else []
            ip("address", "add", f"{attached}2{length}", "dev", OUTER_END, *nodad, inside=inside)
            default = ip(family, "route", "show", "default", inside=inside).strip()
            for network in networks if default else ["default"]:
                if not network.startswith(attached):
                    ip(family, "route", "add", network, "via", f"{attached}1", inside=inside)
            parts.append(
                f"{attached}2, route {'to the cell' if default else 'default'} by {attached}1"
            )
        self.progress(
            f"{place} is behind the {station}: its interface {OUTER_END} has {'; '.join(parts)};"
            " it ends with the cell"
        )

    def make_gateway(self) -> None:
        cell, namespace = self.cell, self.cell.namespace("base")
        index = free_index()
        near4, far4 = f"10.43.{index}.1", f"10.43.{index}.2"
        near6, far6 = f"fd42:10:43:{index:x}::1", f"fd42:10:43:{index:x}::2"
        host_end = f"openwip-gw{index}"
        out = default_interfaces()
        ipv6 = self.ipv6 and bool(default_interfaces("-6")) and forwards_ipv6()
        table = f"openwip-{cell.name}"
        self.written.add("table", table)
        for interface in out:
            if (before := knob(interface).read_text().strip()) != "1":
                self.written.add("forwarding", [interface, before])
                knob(interface).write_text("1")
                self.progress(f"gateway: net.ipv4.conf.{interface}.forwarding was {before}, is 1")
        self.written.add("links", host_end)
        ip(
            *("link", "add", host_end, "mtu", self.mtu, "type", "veth"),
            *("peer", "name", GATEWAY, "mtu", self.mtu, "netns", namespace),
        )
        ip("address", "add", f"{near4}/30", "dev", host_end)
        if ipv6:
            ip("address", "add", f"{near6}/64", "dev", host_end, "nodad")
        ip("link", "set", "dev", host_end, "up")
        knob(host_end).write_text("1")
        self.bring_up("base", GATEWAY, f"{far4}/30", f"{far6}/64")
        ip("-n", namespace, "route", "add", "default", "via", near4, "dev", GATEWAY)
        if ipv6:
            ip("-n", namespace, "-6", "route", "add", "default", "via", near6, "dev", GATEWAY)
        rules = [f"ip saddr 10.43.{index}.0/30"]
        if ipv6:
            rules.append(f"ip6 saddr fd42:10:43:{index:x}::/64")
        nft(masquerade(table, [f'{rule} oifname != "{host_end}"' for rule in rules]))
        nft(masquerade("openwip-gateway", [f'oifname "{GATEWAY}"']), namespace)
        self.progress(
            f"gateway: interface {host_end} ({near4}{f', {near6}' if ipv6 else ''}) and table inet"
            f" {table} of nftables are on this computer until the cell ends; the cell reaches"
            f" others by {', '.join(out)}"
        )
        if self.ipv6 and not ipv6:
            self.progress(
                "gateway: IPv6 ends in the cell, because this computer has no IPv6 default route or"
                " does not forward IPv6 (sysctl net.ipv6.conf.all.forwarding)"
            )

    def route(self) -> None:
        """Makes the routes: from the terminals to everything, and from the base station to what is
        behind the terminal."""
        base = self.cell.namespace("base")
        families = [("-4", ADDRESS4, BEHIND4, "0/24")]
        if self.ipv6:
            families.append(("-6", ADDRESS6, BEHIND6, "/64"))
        for family, address, attached, rest in families:
            for station in self.cell.stations:
                if station != "base":
                    ip(
                        *("-n", self.cell.namespace(station), family, "route", "replace"),
                        *("default", "via", address["base"], "dev", "wip0"),
                    )
            if "base" in self.cell.stations:
                network = f"{attached['terminal']}{rest}"
                ip(
                    *("-n", base, family, "route", "add", network),
                    *("via", address["terminal"], "dev", "wip0"),
                )


def free_index() -> int:
    """The start of the addresses of a network 10.43.N.0/30 that this computer does not have."""
    taken = {
        a["local"] for i in json.loads(ip("-j", "address", "show")) for a in i.get("addr_info", ())
    }
    for index in range(256):
        if f"10.43.{index}.1" not in taken:
            return index
    raise BadInput(
        "--gateway: all networks 10.43.0.0/30 to 10.43.255.0/30 are in use on this computer;"
        " valid: at least one of them free"
    )


def forwards_ipv6() -> bool:
    with contextlib.suppress(OSError):
        return pathlib.Path("/proc/sys/net/ipv6/conf/all/forwarding").read_text().strip() == "1"
    return False


def masquerade(table: str, rules: list[str]) -> str:
    lines = "".join(f"    {rule} masquerade\n" for rule in rules)
    return (
        f"table inet {table} {{\n  chain out {{\n"
        f"    type nat hook postrouting priority srcnat; policy accept;\n{lines}  }}\n}}\n"
    )


def nft(rules: str, namespace: str | None = None) -> None:
    inside = ["ip", "netns", "exec", namespace] if namespace else []
    done = subprocess.run([*inside, "nft", "-f", "-"], input=rules, capture_output=True, text=True)
    if done.returncode:
        first = done.stderr.strip().partition("\n")[0]
        raise BadInput(f"--gateway: nft: {first}")
