# SPDX-License-Identifier: GPL-3.0-or-later
"""The radios of a demo: device arguments and gains of both stations, and the path that joins them
at the level that radios without faults would have. What a product is stands in
channels/vusrp/devices.yaml (docs/reference/devices.md)."""

import dataclasses
import functools
import math
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..air import SAMPLE_RATE
from ..errors import not_valid
from ..text import of_yaml

FILE = pathlib.Path(__file__).resolve().parents[4] / "channels/vusrp/devices.yaml"
IDEAL, NONE = "ideal", "none"
# Master clock for a radio that does not choose one by itself, or that has two channels in use.
OTHER_CLOCK = 4 * SAMPLE_RATE
BELOW_FULL_POWER_DB = 10.0  # how far below a transmitter's full power a station sends


@functools.cache
def _table() -> dict[str, Any]:
    tree: dict[str, Any] = of_yaml(FILE.read_text(encoding="utf-8"))
    return tree


def products() -> dict[str, Any]:
    tree: dict[str, Any] = _table()["products"]
    return tree


def model(product: str) -> str:
    """N210r4 -> n210: a product of the table by what UHD calls the board."""
    found = re.match(r"[a-z]+[0-9]+", product.lower())
    return found[0] if found else product.lower()


@dataclasses.dataclass(frozen=True)
class StationDefaults:
    """The requests of a station to its radio, unless a user gives other values."""

    lead_slots: int  # lead on a clock that does not wait
    delay_slots: int
    burst_slots: int  # 0: bursts end only where slots are left out
    arguments: Mapping[str, int]  # device arguments: frames, buffers


def station_defaults(product: str = "", transport: str = "") -> StationDefaults:
    """The defaults of a product, as UHD or the table calls it. An unknown product has those of all
    products of UHD's type of device, if they agree, and otherwise those of any radio."""
    table = products()
    if (name := model(product)) in table:
        return StationDefaults(**table[name]["station"])
    of_type = of_transport(transport)
    return StationDefaults(**(of_type[0] if len(of_type) == 1 else _table()["station"]))


def of_transport(transport: str) -> list[dict[str, Any]]:
    """The different defaults of the products that UHD finds by this type of device."""
    different: list[dict[str, Any]] = []
    for product in products().values():
        if product["transport"] == transport and product["station"] not in different:
            different.append(product["station"])
    return different


SOFTWARE = "vusrp"  # the device type of software USRPs, which need no search: that takes a second
Find = Callable[[str], Sequence[Mapping[str, str]]]


def device_arguments(text: str) -> dict[str, str]:
    """Device arguments KEY=VALUE,... of a radio that may be any."""
    return {
        key.strip(): value.strip()
        for key, _, value in (part.partition("=") for part in text.split(","))
        if key.strip()
    }


def defaults_for(arguments: str, find: Find) -> StationDefaults:
    """The defaults for the product of the device that the arguments name. Where the arguments leave
    the product open, the device itself is asked. find(): devices that fit to arguments, each with
    its type."""
    given = device_arguments(arguments)
    product, transport = given.get("product", ""), given.get("type", "")
    known = product or transport == SOFTWARE or (transport and len(of_transport(transport)) < 2)
    found = set() if known else {(d.get("product", ""), d.get("type", "")) for d in find(arguments)}
    return station_defaults(*(found.pop() if len(found) == 1 else (product, transport)))


def product_of(values: Mapping[str, Any]) -> str:
    """The product of the base station's radio in a demo; "" if it has none, or is no software
    USRP."""
    given = parts("--base-radio", values.get("radio.base") or NONE)
    return str(given.get("product", values.get("radio.product") or ""))


@dataclasses.dataclass
class Radio:
    """The levels of one station. `level_db`: what is added to a level in dB of full scale of its
    samples to get one in dB of full scale of the medium, or the other way."""

    arguments: str = ""  # device arguments that follow type=vusrp,air=...,node=...
    gain: float = 0.0
    level_db: float = 0.0


def parts(setting: str, text: str) -> dict[str, str]:
    """The keys and values of device arguments."""
    found: dict[str, str] = {}
    for one in () if text == NONE else text.split(","):
        key, equals, value = one.partition("=")
        if not equals or not key or not value:
            raise not_valid(
                setting, f"'{text}'", f"{NONE}, or device arguments KEY=VALUE[,KEY=VALUE...]"
            )
        if key in ("type", "air", "node"):
            raise not_valid(
                setting,
                f"'{text}'",
                "device arguments (docs/reference/devices.md) but type, air and node, which are"
                " the cell's",
            )
        found[key] = value
    return found


def clock(product: dict[str, Any]) -> int | None:
    """A master clock that has to be asked for, for the cell's rate; None: what comes by itself
    does."""
    has = product["clock"]
    fits = [hz for hz in (has["default"], *has.get("list", ())) if hz % SAMPLE_RATE == 0]
    if has.get("automatic") or has["default"] in fits:
        return None
    if fits:
        return int(fits[0])
    return OTHER_CLOCK if "range" in has else None


def has_cell_rate(product: dict[str, Any]) -> bool:
    has = product["clock"]
    return clock(product) is not None or has.get("automatic") or has["default"] % SAMPLE_RATE == 0


def radio(role: str, setting: str, product: str, arguments: str) -> Radio:
    given = parts(setting, arguments)
    name = given.get("product", product)
    if name == IDEAL:
        given.pop("product", None)
        return Radio(",".join(f"{k}={v}" for k, v in given.items()))
    if name not in products():
        raise not_valid(setting, f"'{arguments}'", f"product={IDEAL}, {', '.join(products())}")
    kind = products()[name]
    given = {"product": name} | given
    if (hz := clock(kind)) is not None:
        given.setdefault("master_clock_rate", str(hz))
    sent, received = kind["full_scale_dbm"]
    if role == "base":
        low, high, step = kind["transmit_gain"]
        gain = math.floor((high - BELOW_FULL_POWER_DB) / step) * step
        level = sent + gain - high
    else:
        low, high, step = kind["receive_gain"]
        gain = math.floor((low + high) / 2 / step) * step
        level = gain - received
    return Radio(",".join(f"{k}={v}" for k, v in given.items()), gain, level)


def radios(values: Any) -> dict[str, Radio]:
    """The radios by station, and those of a fader: fader-base, to which the base station sends, is
    set like a terminal's radio, and fader-terminal like a base station's. The fader's radios have
    one clock (docs/how-to/cabled.md), so they get no frequency error of their own. `values`: a
    scenario."""
    found = {
        role: radio(role, f"--{role}-radio", values["radio.product"], values[f"radio.{role}"])
        for role in ("base", "terminal")
    }
    parts("--fader-radio", values["radio.fader"])
    for node, like in (
        (("fader-base", "terminal"), ("fader-terminal", "base")) if values.cabled else ()
    ):
        found[node] = radio(like, "--fader-radio", values["radio.product"], values["radio.fader"])
        name = parts("", found[node].arguments or NONE).get("product", IDEAL)
        if name != IDEAL and not has_cell_rate(products()[name]):
            raise not_valid(
                "--fader-radio",
                f"'{values['radio.fader']}'",
                f"product=x310 or another one that has {SAMPLE_RATE} samples/s, which {name} has"
                " not; a fader does not convert sample rates",
                more=f" with --product {values['radio.product']}",
            )
        if "product=" in found[node].arguments and "ppm=" not in found[node].arguments:
            found[node].arguments += ",ppm=0"
        if (
            two_channels(found[node])
            and "automatic" in products()[name]["clock"]
            and "master_clock_rate=" not in found[node].arguments
        ):
            found[node].arguments += f",master_clock_rate={OTHER_CLOCK}"
    return found


def two_channels(radio: Radio) -> bool:
    """The radio that serves both cables of a fader."""
    name = parts("", radio.arguments or NONE).get("product", IDEAL)
    return name != IDEAL and " " in products()[name]["subdevices"]
