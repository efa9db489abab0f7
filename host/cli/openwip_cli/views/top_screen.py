# SPDX-License-Identifier: GPL-3.0-or-later
"""The screen of `openwip top`: figures in, lines out. Every line fits the width and all lines the
height, whatever the figures are: what matters least is left out first."""

import dataclasses
from collections.abc import Callable

from ..figures import key_figures, meaning
from ..figures.top_figures import Figures
from ..shapes import Direction
from .top_text import ASCII_BLOCKS, BLOCKS, bar, clean, count, number, share, sparkline

GOOD, BAD, DIM, TITLE, PLAIN = "good", "bad", "dim", "title", "plain"
MOST_FLOWS = 3  # TCP flows that are shown
BARS = 14  # characters of a bar
BESIDE_TERMINALS = 16  # lines that the screen has besides one for each terminal
TERMINAL_LETTERS = "123456789abcdefghijklmnop"


@dataclasses.dataclass
class Line:
    text: str
    style: str = PLAIN
    rank: int = 1  # lines with a higher rank are left out first
    terminal: bool = False  # about one of several terminals
    # makes the text from the number of terminals shown
    completed: Callable[[int], str] | None = None


@dataclasses.dataclass
class Frame:
    """The state that is not in the messages."""

    cell: str
    now_ns: int
    reader: str = ""  # TelemetryReader.summary()
    lost: int = 0
    # publisher -> seconds, None: never heard
    silent: dict = dataclasses.field(default_factory=dict)
    ascii: bool = False
    note: str = ""


def render(figures: Figures, frame: Frame, width: int = 80, height: int = 24) -> list[Line]:
    """Lines to show, at most `height` of them, each at most `width` long."""
    lines = [line for part in (_head, _radio, _goodput) for line in part(figures, frame, width)]
    lines += _terminals(figures, frame, max(1, height - BESIDE_TERMINALS))
    for part in (_bins, _modulation, _arq, _queues, _tcp, _time, _cpu, _reader):
        lines += part(figures, frame, width)
    while len(lines) > max(1, height):
        worst = max(range(len(lines)), key=lambda i: (lines[i].rank, i))
        del lines[worst]
    shown = sum(x.terminal for x in lines)
    return [
        dataclasses.replace(
            x, text=(x.completed(shown) if x.completed else x.text)[: max(0, width)]
        )
        for x in lines
    ]


def _head(f: Figures, frame: Frame, width: int) -> list[Line]:
    verdict = f.verdict(frame.now_ns)
    seconds = f"  {number(verdict.seconds)} s measured" if verdict else ""
    command = f" ({clean(verdict.command)})" if verdict and verdict.command else ""
    title = f"openwip top  cell {clean(frame.cell)}{command}{seconds}  slot {f.slot}"
    lines = [Line(title.ljust(width)[:width], TITLE, 0)]
    if frame.note:
        lines.append(Line(clean(frame.note), BAD, 0))
    stalled = [f"{n} for {number(s)} s" for n, s in frame.silent.items() if s is not None]
    if stalled:
        lines.append(Line(f"STALLED   nothing comes from {', '.join(stalled)}", BAD, 0))
    if verdict is None:
        lines.append(Line("verdict   not known: no verdict comes from the supervisor", BAD, 0))
    elif verdict.valid:
        lines.append(Line("verdict   VALID so far", GOOD, 0))
    else:
        replays = f.replays(frame.now_ns)
        word = "REPLAY" if replays else "INVALID so far: "
        reasons = (
            clean("; ".join(verdict.reason)).removeprefix("replay")
            if replays
            else clean("; ".join(verdict.reason))
        )
        lines.append(
            Line(f"verdict   {word}{reasons or 'no reason given'}", PLAIN if replays else BAD, 0)
        )
        rest = lines[-1].text[width:]
        if rest:
            lines.append(Line("          " + rest, lines[-1].style, 2))
    return lines


def _radio(f: Figures, frame: Frame, width: int) -> list[Line]:
    mac = f.mac("terminal", frame.now_ns)
    if mac is None:
        return [Line("radio     not known", DIM)]
    r = mac.radio
    snr = [t.snr_db for t in f.terminals(frame.now_ns) if t.snr_db is not None]
    if r.locked and not r.mode and len(snr) > 1:
        return [
            Line(
                f"radio     emulated, no receiver; mean SNR {number(min(snr))} .."
                f" {number(max(snr))} dB"
            )
        ]
    if r.locked and not r.mode:  # only the emulator has no mode
        known = [
            figure.words(value, number)
            for figure in (key_figures.every()[name] for name in ("snr", "nmse"))
            if (value := figure.value(mac)) is not None
        ]
        return [Line("  ".join(["radio     emulated, no receiver", *known]))]
    return [
        Line(
            f"radio     {clean(meaning.lock(r))}  {_row('radio', f, frame)}",
            GOOD if r.locked and not r.lock_losses else BAD,
        )
    ]


def _row(name: str, f: Figures, frame: Frame) -> str:
    """The key figures of that row."""
    return "  ".join(figure.words(value, number) for figure, value in f.row(name, frame.now_ns))


def _goodput(f: Figures, frame: Frame, width: int) -> list[Line]:
    verdict, link = f.verdict(frame.now_ns), f.link()
    if f.replays(frame.now_ns):
        return [Line("goodput   none: recorded samples are played, nothing is transmitted", DIM, 2)]
    goodput = key_figures.every()["goodput"].scale
    digits = goodput.digits
    if verdict is None:  # without a verdict no rate is shown
        text = "goodput   not shown without a verdict"
    elif verdict.capacity_bps > 0:
        part = meaning.share(verdict.goodput_bps, verdict.capacity_bps)
        text = (
            f"goodput   {number(goodput.scaled(verdict.goodput_bps), digits)} of"
            f" {number(goodput.scaled(verdict.capacity_bps), digits)} {goodput.unit} of the link,"
            f" {share(part)} [{bar(part, 20):<20}]"
        )
    else:
        text = (
            f"goodput   {number(goodput.scaled(verdict.goodput_bps), digits)} {goodput.unit};"
            " capacity not known"
        )
    if link is None:
        return [Line(text), Line("frames    not known", DIM)]
    return [
        Line(text),
        Line(f"frames    {_row('frames', f, frame)}"),
    ]


def _terminals(f: Figures, frame: Frame, most: int) -> list[Line]:
    """A line for each of several terminals, and how many of them are shown."""
    found = f.terminals(frame.now_ns)
    if not found:
        return []
    verdict = f.verdict(frame.now_ns)
    goodput = [t.link["goodput_bps"] if verdict and t.link else None for t in found]
    whole = sum(g for g in goodput if g is not None)

    columns = "{:<19}{:>8} {:>7} {:>7} {:>7} {:>7} {:>5} {:>6} {:>7}"

    def head(shown: int) -> str:
        return columns.format(
            f"terminals {shown}" + (f" of {len(found)}" if shown < len(found) else ""),
            "SNR dB",
            "NMSE",
            "FER",
            "Mbit/s",
            "share",
            "bins",
            "queue",
            "arrived",
        )

    lines = [Line("", rank=0, completed=head)]
    for n, (t, rate) in enumerate(zip(found[:most], goodput)):
        # A terminal's number is one character in the line of bins.
        name = f"{n + 1} ({TERMINAL_LETTERS[n]})" if 9 <= n < len(TERMINAL_LETTERS) else f"{n + 1}"
        text = columns.format(
            f"  terminal {name}",
            number(t.snr_db) if t.locked else "no lock",
            number(t.nmse, 3),
            share(t.link["frame_error_rate"] if t.link else None),
            number(rate / 1e6 if rate is not None else None, 2),
            share(rate / whole if rate is not None and whole > 0 else None),
            count(t.bins),
            count(t.queued),
            count(t.arrived),
        )
        lines.append(Line(text, PLAIN if t.locked else BAD, 1, terminal=True))
    return lines


def _bins(f: Figures, frame: Frame, width: int) -> list[Line]:
    values = f.snr_db(frame.now_ns)[:64]
    bits, grants = f.bits(frame.now_ns), f.grants(frame.now_ns)
    if not values:
        return [Line("SNR/bin   not known (topic slot)", DIM, 3)]
    good = [v for v in values if v == v]
    blocks = ASCII_BLOCKS if frame.ascii else BLOCKS
    lines = [
        Line(
            f"SNR/bin   {sparkline(values, blocks)}  {number(min(good, default=None))} .. "
            f"{number(max(good, default=None))} dB",
            PLAIN,
            3,
        )
    ]
    if bits:
        lines.append(
            Line(
                "bits/bin  "
                + "".join(str(b) if 0 < b < 9 else "." if b == 0 else "?" for b in bits[:64])
                + "  bits/symbol",
                PLAIN,
                4,
            )
        )
    if grants:
        lines.append(
            Line(
                "terminal  "
                + "".join(
                    TERMINAL_LETTERS[u] if u < len(TERMINAL_LETTERS) else "." for u in grants[:64]
                )
                + "  that has the bin, whose SNR it is",
                PLAIN,
                3,
            )
        )
    return lines


def _modulation(f: Figures, frame: Frame, width: int) -> list[Line]:
    link = f.link()
    histogram = link["modulation_histogram"][1:] if link else [0] * 8
    total = sum(histogram)
    if not total:
        return [Line("sent      no frames in the last second", DIM, 3)]

    def cell(k: int) -> str:
        part = histogram[k] / total
        return f"{meaning.MODULATIONS[k + 1]:>8} {share(part):>7} {bar(part, BARS):<{BARS}}"

    return [
        Line(
            ("sent      " if row == 0 else "          ") + cell(row) + "  " + cell(row + 4),
            PLAIN,
            3 + row,
        )
        for row in range(4)
    ]


def _arq(f: Figures, frame: Frame, width: int) -> list[Line]:
    link = f.link()
    if link is None:
        return [Line("ARQ       not known", DIM, 2)]
    histogram = link["retransmission_histogram"]
    total = sum(histogram)
    if not total:
        return [Line("ARQ       no frame acknowledged in the last second", DIM, 2)]
    parts = [f"{n}: {share(histogram[n] / total)}" for n in range(4)]
    rest = sum(histogram[4:])
    most = max((n for n, c in enumerate(histogram) if c), default=0)
    return [
        Line(
            f"ARQ       sent again {'  '.join(parts)}  4+: {share(rest / total)}  most {most}",
            PLAIN,
            2,
        )
    ]


def _drops(direction: Direction) -> str:
    return ", ".join(
        f"{count(n)} {clean(reason)}" for reason, n in meaning.drops(direction).items()
    )


def _queues(f: Figures, frame: Frame, width: int) -> list[Line]:
    base, terminal = f.mac("base", frame.now_ns), f.mac("terminal", frame.now_ns)
    if f.replays(frame.now_ns):
        return [
            Line(
                (
                    f"downlink  {count(terminal.downlink.delivered.packets)} packets put together"
                    if terminal
                    else "downlink  not known"
                ),
                PLAIN,
                1,
            )
        ]
    lines = []
    for name, sender, receiver in (("downlink", base, terminal), ("uplink", terminal, base)):
        if sender is None:
            lines.append(Line(f"{name:<9} not known: no status comes", BAD, 1))
            continue
        d = getattr(sender, name)
        far = getattr(receiver, name) if receiver is not None else None
        lines.append(
            Line(
                f"{name:<9} queue {count(d.queued.packets)} packets, {number(d.queued.bytes / 1e3)}"
                f" kB; in {count(getattr(d, 'in').packets)}, arrived"
                f" {count(far.delivered.packets) if far is not None else '-'}",
                PLAIN,
                1,
            )
        )
        dropped = ", ".join(x for x in (_drops(d), _drops(far) if far is not None else "") if x)
        lines.append(
            Line(
                f"          dropped {dropped or 'none'}",
                BAD if dropped else DIM,
                2 if dropped else 5,
            )
        )
    return lines


def _tcp(f: Figures, frame: Frame, width: int) -> list[Line]:
    found = f.flows(frame.now_ns)
    if found is None:
        return [Line("TCP       not known: nothing comes from the observer", DIM, 2)]
    flows, omitted = found
    more = len(flows) - MOST_FLOWS
    text = f"TCP       {count(len(flows))} flows" + (
        f", {count(omitted)} beyond the observer's limit" if omitted else ""
    )
    if not flows:
        return [Line("TCP       no connections", DIM, 2)]
    lines = [
        Line(
            f"{text + (f', {count(more)} not shown' if more > 0 else ''):<38}  cwnd  rtt ms rto ms"
            " resent cc     state",
            PLAIN,
            2,
        )
    ]
    for n, flow in enumerate(flows[:MOST_FLOWS]):
        name = f"{clean(flow.local)}>{clean(flow.remote)}"
        lines.append(
            Line(
                f"  {name[:36]:<36} {count(flow.cwnd_segments):>6} {number(flow.rtt_ms):>7} "
                f"{number(flow.rto_ms, 0):>6} {count(flow.retransmitted_segments):>6} "
                f"{clean(flow.congestion_control)[:6]:<6} {clean(flow.state)[:9]}",
                PLAIN,
                2 + n,
            )
        )
    return lines


def _time(f: Figures, frame: Frame, width: int) -> list[Line]:
    t = f.fresh("observer", "air", frame.now_ns)
    if f.replays(frame.now_ns):
        return []  # a cell without a medium
    if t is None:
        return [Line("pacing    not known: nothing comes from the observer", DIM, 1)]
    return [
        Line(
            f"pacing    {_row('time', f, frame)}",
            PLAIN if meaning.keeps_pace(t.air) else BAD,
            1,
        )
    ]


def _cpu(f: Figures, frame: Frame, width: int) -> list[Line]:
    t = f.fresh("observer", "cpu", frame.now_ns)
    if t is None:
        return [Line("CPU       not known: nothing comes from the observer", DIM, 2)]
    busiest = sorted(t.cpu.process, key=lambda p: p.cores, reverse=True)
    names = " ".join(f"{clean(p.name)} {number(p.cores, 2)}" for p in busiest)
    return [
        Line(f"CPU       {_row('cpu', f, frame)}", PLAIN, 2),
        Line("          " + names, DIM, 4),
    ]


def _reader(f: Figures, frame: Frame, width: int) -> list[Line]:
    return [Line(f"reader    {clean(frame.reader)}", BAD if frame.lost else DIM, 2)]
