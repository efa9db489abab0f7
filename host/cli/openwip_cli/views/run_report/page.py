# SPDX-License-Identifier: GPL-3.0-or-later
"""Puts the page together: sections in the order of the question "what happened", each with a line
on how to read it, or on what the record lacks. Without a verdict there is no throughput and
no delay."""

import os
import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import BadInput
from ...machine import outputs
from ...machine.places import Places
from ...records.record_seal import FORMAT_VERSION
from ...records.run_record import RunRecord
from ...settings.command_line import FILE, OUTPUT, Parser
from ...text import shown
from . import data, head, record_sections

Found = TypeVar("Found")


class Page:
    def __init__(self, record: RunRecord) -> None:
        from . import plots

        self.record, self.plots = record, plots
        self.report = record.about.get("report") or {}
        self.times = data.Times(record)
        self.slots, self.terminals = data.Slots(record), data.Terminals(record)
        self.sections: list[dict[str, Any]] = []
        self.limits = self._limits()
        self.verdict = head.verdict_of(record, self.report)

    def _limits(self) -> tuple[float, float] | None:
        """One time axis for all plots: from the first to the last slot that was heard of."""
        ends = [
            x
            for _, _, table in self.record.each("status", "slot")
            for x in table["message.slot"][[0, -1]]
            if x >= 0
        ]
        if not ends or min(ends) == max(ends):
            return None
        return min(ends) / data.SLOTS_PER_SECOND, max(ends) / data.SLOTS_PER_SECOND

    # --- sections ---

    def add(self, name: str, title: str, how: str = "", **content: Any) -> None:
        self.sections.append({"id": name, "title": title, "how": how} | content)

    def plot(
        self,
        name: str,
        title: str,
        how: str,
        found: Found | None,
        draw: Callable[[Found], str],
        absent: str,
        table: dict[str, Any] | None = None,
    ) -> None:
        """The plot if there is something to draw, else what is missing."""
        if found is None:
            self.add(name, title, "", absent=f"Not in this record: {absent}")
        else:
            self.add(name, title, how, image=draw(found), table=table)

    def measured(self, *args: Any, **kwargs: Any) -> None:
        """A plot of throughput or delay: only with a verdict, and with it above."""
        name, title, how, *rest = args
        if self.record.verdict is None:
            self.add(name, title, "", absent="Not shown: the run has no verdict.")
        else:
            so_far = "" if self.record.verdict["final"] else " so far"
            self.plot(
                name,
                title,
                f"Of a run that is {self.verdict['word']}{so_far}. {how}",
                *rest,
                **kwargs,
            )

    def heat_maps(self) -> None:
        s, p, limits = self.slots, self.plots, self.limits
        several, shown = s.users > 1, min(s.users, p.MOST_TERMINALS)
        measured, predicted, true = [s.measured(u) for u in range(shown)], s.predicted(), s.true()
        known = [h.values for h in (*measured, predicted, true) if h]
        span = p._range(data.numpy.concatenate([k.ravel() for k in known])) if known else None
        every = s.every()
        published = f" One slot of {every} was published." if every and every > 1 else ""
        draw = lambda h: p.snr(h, limits, span)
        how = (
            "A row is a bin of 200 kHz, time to the right. Bright: good. Dark valleys that wander"
            " are fading; grey: not measured (no lock, or not recorded)." + published
        )
        if s.users > shown:
            how += f" {s.users - shown} more terminals are in the record."
        for u, heat in enumerate(measured):
            self.plot(
                "measured" if u == 0 else f"measured{u + 1}",
                f"Measured SNR of terminal {u + 1}" if several else "Measured SNR",
                how if u == 0 else "On the same scale.",
                heat,
                draw,
                "topic slot of the terminal.",
            )
        if several:
            self.plot(
                "allocation",
                "Allocation",
                "Whom each bin was granted to; grey: nobody. Of several slots in a cell the last."
                " The maps below show in each bin the terminal that has it.",
                s.allocation(),
                lambda h: p.allocation(h, s.users, limits),
                "grants in topic slot of the base station.",
            )
        self.plot(
            "predicted",
            "Predicted SNR",
            "What the base station planned each slot with, on the same scale. "
            + (
                "Of the terminal that has the bin."
                if several
                else "It should be the picture above."
            ),
            predicted,
            draw,
            "predictions in topic slot of the base station.",
        )
        if true:
            self.plot(
                "true",
                "SNR of the channel itself",
                "Known to the emulator only; the same scale."
                + (" Of the terminal that has the bin." if several else ""),
                true,
                draw,
                "",
            )
        self.plot(
            "error",
            "Prediction error",
            "Predicted less measured SNR of the same slot. Orange: promised too much, frames fail."
            " Purple: too little, capacity is left unused. White: right.",
            s.error(),
            lambda h: p.error(h, limits),
            "slots of which both the prediction (base) and the measurement (terminal) were"
            " recorded.",
        )
        self.plot(
            "modulation",
            "Modulation",
            "Bits per symbol of the frame in the bin: it should follow the predicted SNR. Grey: bin"
            " not used. Where a cell holds several slots it is their mean.",
            s.modulation(),
            lambda h: p.modulation(h, limits),
            "modulation in topic slot of the base station.",
        )
        self.plot(
            "outcome",
            "ARQ outcome",
            "What became of the frame of each bin at the terminal; of several slots in a cell the"
            " worst. Failures without error in the prediction map are plain noise.",
            s.outcome(),
            lambda h: p.outcome(h, limits),
            "outcomes in topic slot of the terminal.",
        )

    def throughput(self) -> None:
        p, limits = self.plots, self.limits
        self.measured(
            "goodput",
            "Goodput against capacity",
            "Both of link payload after the frames' CRC. The gap is retransmissions, slots without"
            " traffic, and frames part empty. The capacity is of the bins and the modulation that"
            " were in use then.",
            data.link(self.record),
            lambda f: p.goodput(*f, limits),
            "topic status of the base station.",
        )
        if self.terminals.n > 1:
            self.by_terminal()

    def by_terminal(self) -> None:
        """The share of each of several terminals."""
        t, p, limits = self.terminals, self.plots, self.limits
        shown = range(min(t.n, p.MOST_TERMINALS))
        more = f" Terminals 1 to {len(shown)} of {t.n}." if t.n > len(shown) else ""
        goodputs = {f"terminal {u + 1}": t.goodput(u) for u in shown if t.goodput(u)}
        child = data.packets(self.record) if self.record.verdict else None
        delays = {u: data.delays(child, u)[2] for u in range(t.n)} if child is not None else {}
        self.measured(
            "terminals",
            "Goodput of each terminal",
            "Link payload acknowledged; together it is the goodput above." + more,
            goodputs or None,
            lambda f: p.curves(f, "Mbit/s", limits, 1e-6),
            "users in topic status of the base station.",
            table=self._terminal_table(delays),
        )
        named = {f"terminal {u + 1}": x for u, x in delays.items() if u in shown and len(x)}
        self.measured(
            "terminal-delays",
            "Packet delay of each terminal",
            "Height of a curve at x: share of the terminal's packets that took "
            "longer than x, downlink, TUN to TUN." + more,
            named or None,
            p.delay_of_each,
            "topic packet of the base station.",
        )
        self.plot(
            "terminal-queues",
            "Queue of each terminal",
            "Packets waiting at the base station." + more,
            {f"terminal {u + 1}": t.queue(u) for u in shown if t.queue(u)} or None,
            lambda f: p.curves(f, "packets waiting", limits),
            "users in topic status of the base station.",
        )

    def _terminal_table(self, delays: dict[int, Any]) -> dict[str, Any]:
        t, rows = self.terminals, []
        number = lambda x, digits: "-" if x != x else f"{x:.{digits}f}"
        for u in range(t.n):
            sent, failed = t.grown(u, "base.frames_sent"), t.grown(u, "base.frames_failed")
            d = delays.get(u, ())
            median, p99 = data.numpy.percentile(d, (50, 99)) if len(d) else (float("nan"),) * 2
            rows.append(
                [
                    u + 1,
                    number(t.mean_goodput(u) / 1e6, 3),
                    number(sent, 0),
                    number(100 * failed / sent if sent > 0 else float("nan"), 2),
                    number(t.mean_snr_db(u), 1),
                    len(d) if delays else "-",
                    number(median, 2),
                    number(p99, 2),
                ]
            )
        return {
            "head": [
                "terminal",
                "goodput [Mbit/s]",
                "frames sent",
                "failed [%]",
                "SNR at the end [dB]",
                "packets arrived",
                "delay, median [ms]",
                "p99 [ms]",
            ],
            "rows": rows,
        }

    def packets(self) -> None:
        p, limits = self.plots, self.limits
        child = data.packets(self.record) if self.record.verdict else None
        found = data.delays(child) if child is not None else None
        if found is not None and len(found[0]) == 0:
            found = None
        absent = "topic packet of the base station."
        self.measured(
            "delay",
            "Packet delay, split",
            "Mean of the packets that arrived in a step of time, downlink, TUN to TUN; a hole: none"
            " arrived. queue: behind others; scheduling: first in line; air: last part on the air;"
            " retransmission: until all parts were right; reordering: waiting for packets"
            " before it.",
            found,
            lambda f: p.delay_split(f[0], f[1], limits),
            absent,
        )
        table = None
        if found is not None:
            rows = []
            for name, values in (*found[1].items(), ("total", found[2])):
                q = data.numpy.percentile(values, (50, 99, 100))
                rows.append([name, *(f"{x:.3f}" for x in (values.mean(), *q))])
            table = {"head": ["ms", "mean", "median", "p99", "max"], "rows": rows}
        self.measured(
            "distribution",
            "Packet delay, distribution",
            "Height of a curve at x: share of packets that took longer than x. Down to the "
            "right is the tail.",
            found,
            lambda f: p.delay_distribution(f[1], f[2]),
            absent,
            table=table,
        )
        if child is not None:
            dropped = data.drops(child)
            self.add(
                "drops",
                "Packets dropped",
                f"Of {len(child)} packets in the record.",
                table=(
                    {"head": ["reason", "packets"], "rows": [[r, n] for r, n in dropped.items()]}
                    if dropped
                    else None
                ),
                absent="" if dropped else "None.",
            )
        self.plot(
            "queue",
            "Queue",
            "Packets waiting where they enter the air. A queue that is never empty is a full"
            " buffer: delay without gain.",
            data.queue(self.record),
            lambda f: p.curves(f, "packets waiting", limits, height=3.6, drawstyle="steps-post"),
            "topic status.",
        )

    def rest(self) -> None:
        r, p, limits, times = self.record, self.plots, self.limits, self.times
        self.measured(
            "tcp",
            "TCP",
            "Of the kernel. The window saws where segments are lost; round-trip time that grows"
            " with the window is the queue above.",
            data.flows(r, times),
            lambda f: p.tcp(f, limits),
            "topic tcp with a flow of more than 100 kB.",
        )
        self.plot(
            "constellations",
            "Constellations",
            "Equalised symbols of the last slots, by modulation. Round clouds: noise. Clouds that"
            " turn or smear outwards: phase or gain error. Clipped at 2.",
            data.constellations(r),
            p.constellations,
            "topic receiver (radio only).",
        )
        self.plot(
            "channel",
            "Channel",
            "Estimated gain of each subcarrier, in the middle of a slot.",
            data.channel(r),
            lambda h: p.channel(h, limits),
            "channel estimates in topic receiver (radio only).",
        )
        found = data.air(r, times)
        self.plot(
            "health",
            "Real-time health",
            "How late slots were released, since the last reset of the counters. Above the limit"
            " too often, or a factor outside the band, and the run is invalid.",
            found,
            lambda f: p.health(*f, limits),
            "topic air.",
            table=self._realtime(),
        )
        self.plot(
            "cpu",
            "Processors",
            "Cores in use, stacked, and the share of time in which some task waited for one:"
            " waiting makes slots late.",
            data.cpu(r, times),
            lambda f: p.cpu(*f, limits),
            "topic cpu.",
        )
        for section in (
            record_sections.events,
            record_sections.lost,
            record_sections.configuration,
        ):
            self.add(**section(self.record, self.times))

    def _realtime(self) -> dict[str, Any] | None:
        rt = self.report.get("realtime")
        if not rt:
            return None
        rows = []
        for key, value in rt.items():
            parts = (
                {f"{key}.{k}": v for k, v in value.items()}
                if isinstance(value, dict)
                else {key: value}
            )
            rows += [
                [k, float(f"{v:.6g}") if isinstance(v, float) else v] for k, v in parts.items()
            ]
        return {"head": ["of the report", ""], "rows": rows}

    def html(self) -> str:
        import jinja2

        with self.plots.matplotlib.rc_context(self.plots.STYLE):
            for part in (self.heat_maps, self.throughput, self.packets, self.rest):
                part()
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent),
            autoescape=True,
            trim_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        sections = [
            {"image": None, "table": None, "texts": None, "absent": ""} | s for s in self.sections
        ]
        return environment.get_template("page.html.j2").render(
            verdict=self.verdict,
            about={"started": "", "command": "", "recorded": "unknown time"} | self.record.about,
            figures=head.key_figures_of(self.record, self.report, self.verdict["word"]),
            sections=sections,
            file=shown(os.path.basename(self.record.path)),
            format_version=FORMAT_VERSION,
        )


def main(arguments: list[str], _places: Places) -> int:
    p = Parser(
        "report",
        "Makes one HTML page with figures and tables of a run record, which needs no other file.",
    )
    p.add_argument(
        "record", names=FILE, metavar="RECORD.h5", help="run record (HDF5 file of --record)"
    )
    p.add_argument(
        "-o",
        "--out",
        names=OUTPUT,
        metavar="FILE.html",
        help="HTML file to write (default: beside the record)",
    )
    given = p.parse_args(arguments)
    out = pathlib.Path(given.out or os.path.splitext(given.record)[0] + ".html")
    outputs.check("--out", out, given.record)
    if out.suffix == ".h5":
        raise BadInput(f"--out {out}: that is the name of a record; valid: a name ending in .html")
    with RunRecord(given.record) as record, record.computing():
        text = Page(record).html()
    with outputs.writing("--out", out):
        outputs.write_whole(out, text)
    print(out)
    return 0
