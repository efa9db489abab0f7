# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of key figures (mac/schema/key_figures.yaml, which says what its columns mean): each
from a message of telemetry or from a report, and in words. Code that shows one takes it from here;
the monitor reads the same list (host/config/key_figures.h, host/gui/views/figure_rows.h)."""

import dataclasses
import functools
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.protobuf.message import Message

from ..text import of_yaml

FILE = pathlib.Path(__file__).resolve().parents[4] / "mac/schema/key_figures.yaml"
INDEX = "index"  # in `each`: the index in the list
GROWN = "grown"
# The message in a Telemetry, where it has another name than its topic.
FIELDS = {"status": "mac"}


@dataclasses.dataclass(frozen=True)
class Part:
    field: str
    labels: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Scale:
    unit: str
    factor: float
    digits: int

    def scaled(self, value: float) -> float:
        return value * self.factor

    def number(self, value: float) -> str:
        # a value that is rounded to zero gets no sign
        return f"{round(value * self.factor, self.digits) + 0.0:.{self.digits}f}"

    def text(self, number: str) -> str:
        return f"{number} {self.unit}".rstrip()


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    help: str
    topic: str
    parts: tuple[Part, ...]
    each: Mapping[str, str]
    needs: tuple[str, ...]
    report: str
    title: str
    scale: Scale
    small: Scale | None  # below 1 of the unit
    row: str
    views: tuple[str, ...]
    # notes for the head of a record's page; None: the figure is not shown there
    beside: tuple[str, ...] | None
    metric: str
    divisor: float
    kind: str

    def text(self, value: float) -> str:
        """The number with its unit."""
        scale = self.small if self.small and abs(value * self.scale.factor) < 1 else self.scale
        return scale.text(scale.number(value))

    def words(self, value: float | None, number: Callable[[float, int], str] | None = None) -> str:
        """The figure as text: its title, then its value. `number(value, digits)` formats the value
        otherwise."""
        if value is None:
            return f"{self.title} unknown"
        scale = self.scale
        written = number(value * scale.factor, scale.digits) if number else scale.number(value)
        return f"{self.title} {scale.text(written)}"

    def readings(self, message: "Message") -> Iterator[tuple[dict[str, str], float]]:
        """(labels, value) of each part in a message of its topic; none where it is not known."""
        if self.applies(message):
            for part in self.parts:
                for labels, value in reach(message, part.field.split("."), self.each):
                    yield dict(part.labels) | labels, float(value)

    def applies(self, message: "Message") -> bool:
        return all(is_there(message, path) for path in self.needs)

    def value(self, message: "Message") -> float | None:
        """The sum of its readings; None: not known."""
        found = [value for _, value in self.readings(message)]
        a_list = any("[" in part.field for part in self.parts)
        return sum(found) if found or a_list and self.applies(message) else None

    def reported(self, report: Mapping[str, Any]) -> float | None:
        """The value of the figure in a report; None: it is not there."""
        found: Any = report
        for key in self.report.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return None if found is None or not self.report else float(found)


def is_there(message: "Message", path: str) -> bool:
    name, _, rest = path.partition(".")
    return message.HasField(name) and (not rest or is_there(getattr(message, name), rest))


def reach(
    message: Any, path: list[str], each: Mapping[str, str], labels: dict[str, str] | None = None
) -> Iterator[tuple[dict[str, str], Any]]:
    """(labels, value) of each field that the path leads to. An optional field that is absent has no
    entry; an absent message counts as one whose fields are 0."""
    step, rest = path[0], path[1:]
    labels = labels or {}
    if step.endswith("[#]"):
        yield labels, len(getattr(message, step.removesuffix("[#]")))
    elif step.endswith("[]"):
        for n, entry in enumerate(getattr(message, step.removesuffix("[]"))):
            own = {
                label: str(n if field == INDEX else getattr(entry, field))
                for label, field in each.items()
            }
            if rest:
                yield from reach(entry, rest, each, labels | own)
            else:
                yield labels | own, entry
    elif rest:
        yield from reach(getattr(message, step), rest, each, labels)
    elif is_known(message, step):
        yield labels, getattr(message, step)


def is_known(message: Any, field: str) -> bool:
    choice: Any = message.DESCRIPTOR.fields_by_name[field].containing_oneof
    return choice is None or bool(message.HasField(field))


def figure_of(name: str, columns: dict[str, Any]) -> Figure:
    topic, _, field = columns.get("of", "").partition(" ")
    parts = [{"of": field}] if field else columns.get("parts", [])
    metric = columns.get("metric", "")
    metric, divisor = metric if isinstance(metric, list) else (metric, 1)
    small = columns.get("small")
    return Figure(
        name=name,
        help=columns["help"],
        topic=topic,
        parts=tuple(
            Part(part["of"], {k: v for k, v in part.items() if k != "of"}) for part in parts
        ),
        each=columns.get("each", {}),
        needs=tuple(columns.get("needs", ())),
        report=columns.get("report", ""),
        title=columns.get("title", ""),
        scale=Scale(
            columns.get("unit", ""), float(columns.get("factor", 1)), int(columns.get("digits", 0))
        ),
        small=Scale(small[0], float(small[1]), int(small[2])) if small else None,
        row=columns.get("row", ""),
        views=tuple(columns.get("views", ())),
        beside=tuple(columns["page"]) if "page" in columns else None,
        metric=f"openwip_{metric}" if metric else "",
        divisor=float(divisor),
        kind=columns.get("kind", ""),
    )


@functools.cache
def every() -> dict[str, Figure]:
    """All figures by name, in the order of the file."""
    tree = of_yaml(FILE.read_text(encoding="utf-8"))
    return {name: figure_of(name, columns) for name, columns in tree["figures"].items()}


def row(name: str, view: str) -> list[Figure]:
    return [f for f in every().values() if f.row == name and view in f.views]


def row_words(name: str, view: str, latest: Mapping[str, Any]) -> str:
    """`latest`: messages by topic; the figures of one that is not there are unknown, those that do
    not apply are left out."""
    shown = [(f, latest.get(f.topic)) for f in row(name, view)]
    return "  ".join(
        f.words(None if m is None else f.value(m)) for f, m in shown if m is None or f.applies(m)
    )


def listed(values: Mapping[str, float]) -> str:
    """The figures of {name: value} as a list in a sentence."""
    return ", ".join(words(name, value) for name, value in values.items())


def of_radio(radio: Any) -> dict[str, float]:
    """Key figures of a receiver's State, or of what a report has of one."""
    fields = {"snr": "mean_snr_db", "evm": "evm_percent", "cfo": "cfo_hz"}
    is_mapping = isinstance(radio, Mapping)
    return {
        name: radio[field] if is_mapping else getattr(radio, field)
        for name, field in fields.items()
    }


def words(name: str, value: float | None) -> str:
    return every()[name].words(value)


def text(name: str, value: float) -> str:
    return every()[name].text(value)


def message_of(telemetry: Any, topic: str) -> Any:
    """The message of that topic in a Telemetry."""
    return getattr(telemetry, FIELDS.get(topic, topic))
