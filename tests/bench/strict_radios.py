# SPDX-License-Identifier: GPL-3.0-or-later
"""Stalls and overflows of a cell whose radios obey the FPGA's control logic and whose clock does not
wait (docs/explanation/software-usrp.md), with the budget beside each figure (JSON):

  stalls       each process of the cell in turn is stopped --times times (SIGSTOP) for 0.5 to
               20 ms, at a random phase of the slot; a stall that came out longer than 20.5 ms or
               1 ms longer than was drawn, as on a busy machine, is made anew. Asked: no packet is
               on the air at another time than it was told, the terminal has the lock 30 slots
               after the end at the latest, and the sums of the packets are exact
  overflows    the terminal's radio, whose buffers hold some milliseconds, is stopped for 30 ms
               and overflows, --times times. Asked: the lock is kept, and the error of the
               prediction (NMSE of the power, median over the overflows, since slots that a busy
               machine does not send disturb some) is, from 64 slots after the gap on, what it was
               before the gap, within a factor of 1.35
  no-restart   the same with a UHD that does not start the receiver anew (uhd=4.1, b210): --times
               cells, of which each has to end by itself, with exit code 3 and a reason
  valid        --times demos of --duration seconds (60) with both stations of each product, 25
               bins, 256-QAM, 40 dB. Asked: 9 of 10 are VALID

  sudo /usr/bin/python3 tests/bench/strict_radios.py COMMAND [--products b210,x310,n310,e320]
       [--times 200] [--seed 1] [--duration 60] [--json FILE]

from a built tree, on an idle machine; software USRPs only. With --json, the results of a product
are added to those that FILE has, so that a long series can be made in portions with other seeds.
Exit code 1: a figure is outside (`outside`)."""

import argparse
import functools
import json
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import free_running
import kept_result
from free_running import PROCESSES
from openwip_cli.air import SLOTS_PER_SECOND
from strict_cell import Demo, Machine, Slots, counted, nmse, stop_for

MEASURED_BY = "sudo /usr/bin/python3 tests/bench/strict_radios.py COMMAND --json FILE"
PRODUCTS = "b210,x310,n310,e320"
TIMES = {"stalls": 200, "overflows": 100, "no-restart": 100, "valid": 10}
SHORTEST_STALL_S, LONGEST_STALL_S = 0.5e-3, 20e-3  # limits of the stalls that are drawn
# A stall is made anew if it lasted so much longer than was drawn, or longer than this at all.
LARGEST_EXCESS_S, LONGEST_MEASURED_S = 1e-3, 20.5e-3
REST_S = 0.07  # seconds between stalls, in which a lost lock is regained
LOCKED_WITHIN = 30  # slots after the end of a stall
LOOKED_AT = 100  # slots after a stall
OVERFLOW_S = 0.03  # seconds of a stall, longer than the buffers below hold
SMALL_BUFFERS = {"b210": "num_recv_frames=16", "b200": "num_recv_frames=16"}
SMALL_SOCKET = "recv_buff_size=200000"
WINDOWS = ((0, 16), (16, 32), (32, 64), (64, 128))  # slots after an overflow
BEFORE = 400  # slots before an overflow
CLEAN = 150  # slots after a gap without another one; otherwise its windows are not evaluated
FACTOR = 1.35  # largest ratio of the predictor's NMSE after a gap to that before
VALID_SHARE = 0.9  # share of the demos that have to be VALID
VALID_S = 60  # seconds of a demo
NO_REPORT = {"valid": False, "reasons": []}


# --- stalls ---


def unlocked_after(slots, clock, stall):
    """Slots from the end of a stall to the last one without lock."""
    first, end = clock(stall.began), clock(stall.ended)
    runs = slots.unlocked(int(first), int(end) + LOOKED_AT)
    return max((max(0, round(b - end)) for _, b in runs), default=0)


def one_stall(run, name, chance):
    """A stall of the length that was drawn, and how many were stretched before it."""
    stretched = 0
    while True:
        time.sleep(REST_S + chance.random() / SLOTS_PER_SECOND)
        wanted = SHORTEST_STALL_S * (LONGEST_STALL_S / SHORTEST_STALL_S) ** chance.random()
        stall = stop_for(run.pid(name), wanted)
        if stall.seconds <= min(wanted + LARGEST_EXCESS_S, LONGEST_MEASURED_S) or not run.alive():
            return stall, stretched
        stretched += 1


def stalls(product, times, seed, folder):
    chance = random.Random(seed)
    made = {name: [] for name in PROCESSES}
    stretched = dict.fromkeys(PROCESSES, 0)
    # On a busy machine many stalls have to be repeated, and the cell ends before there are so many.
    seconds = len(PROCESSES) * times * (REST_S + LONGEST_STALL_S) * 1.4 + 12
    options = ("--product", product, "--snr", "16", "--duration", f"{seconds:.0f}")
    with Machine() as machine, Demo(folder, *options) as run, Slots(run) as slots:
        time.sleep(3)
        before = run.status("terminal").radio.lock_losses
        until = time.monotonic() + seconds - 8
        for _ in range(times):
            for name in PROCESSES:
                if run.alive() and time.monotonic() < until:
                    stall, more = one_stall(run, name, chance)
                    made[name].append(stall)
                    stretched[name] += more
        time.sleep(0.3)
        lived = run.alive()
        medium = run.status("air") if lived else None
        losses = run.status("terminal").radio.lock_losses - before if lived else None
        clock, of_machine = slots.clock(), machine.found()
        processes = {
            name: {
                "stalls": len(all_),
                "stretched": stretched[name],
                "longest_ms": round(max((s.seconds for s in all_), default=0) * 1e3, 2),
                "slots_until_locked": counted(unlocked_after(slots, clock, s) for s in all_),
            }
            for name, all_ in made.items()
        }
        lost = slots.lost()
    checks = run.result().get("verdict", {}).get("checks", {})
    output = [line.strip() for line in run.output if line.strip()]
    return {
        "runs": 1,
        "runs_that_lived": int(lived),
        "why_others_ended": {} if lived else {output[-1] if output else "it printed nothing": 1},
        "packets_at_wrong_time": medium.packets_at_wrong_time if medium else None,
        "overflows": medium.overflows if medium else None,
        "runs_with_exact_sums": int(checks.get("sums", False)),
        "lock_losses": losses,
        "messages_lost": lost,
        "machine": [of_machine],
        "processes": processes,
    }


# The evaluate functions return figures with their budgets: `found` has to equal `is`, or to be at
# least `least`, or at most `most`.
def evaluate_stalls(found):
    return {
        "lived": {"found": found["runs_that_lived"], "is": found["runs"]},
        "packets_at_wrong_time": {"found": found["packets_at_wrong_time"], "is": 0},
        "exact_sums": {"found": found["runs_with_exact_sums"], "is": found["runs"]},
        "slots_until_locked": {
            name: {
                "found": max(map(int, figures["slots_until_locked"]), default=None),
                "most": LOCKED_WITHIN,
            }
            for name, figures in found["processes"].items()
        },
    }


# --- overflows ---


def overflows(product, times, seed, folder):
    chance = random.Random(seed)
    buffers = SMALL_BUFFERS.get(product, SMALL_SOCKET)
    made, before = [], None
    options = (
        *("--product", product, "--terminal-radio", buffers, "--channel", "jakes"),
        *("--speed-kmh", "10", "--snr", "20", "--duration", f"{times * 0.7 + 15:.0f}"),
        *("--seed", str(seed)),
    )
    with Machine() as machine, Demo(folder, *options) as run, Slots(run) as slots:
        time.sleep(3)
        losses_before = run.status("terminal").radio.lock_losses
        for _ in range(times):
            before = run.status("air").overflows
            stall = stop_for(run.pid("terminal.radio"), OVERFLOW_S)
            time.sleep(0.5 + 0.1 * chance.random())
            if not run.alive():
                break
            if run.status("air").overflows > before:
                made.append(stall)
        lived = run.alive()
        losses = run.status("terminal").radio.lock_losses - losses_before if lived else None
        clock, of_machine = slots.clock(), machine.found()
    all_gaps = slots.without_samples()
    gaps, unseen, disturbed = [], 0, 0
    for stall in made:
        first, end = clock(stall.began) - 10, clock(stall.ended) + LOOKED_AT
        gap = next((g for g in all_gaps if first <= g[0] <= end), None)
        if gap is None:
            unseen += 1
        elif any(0 <= g[0] - gap[1] < CLEAN for g in all_gaps):
            disturbed += 1
        else:
            gaps.append(gap)
    sums = {"before": [slots.errors(clean_before(gap, all_gaps)) for gap in gaps]}
    for first, last in WINDOWS:
        sums[f"{first} to {last}"] = [slots.errors(range(b + first, b + last)) for _, b in gaps]
    return {
        "runs": 1,
        "runs_that_lived": int(lived),
        "overflows": len(made),
        "overflows_without_a_gap": unseen,
        "overflows_with_another_behind": disturbed,
        "gap_slots": counted(b - a for a, b in gaps),
        "lock_losses": losses,
        "error_and_power": {
            name: {"error": sum(e for e, _ in pairs), "power": sum(p for _, p in pairs)}
            for name, pairs in sums.items()
        },
        "nmse_of_each": {name: [nmse([pair]) for pair in pairs] for name, pairs in sums.items()},
        "messages_lost": slots.lost(),
        "machine": [of_machine],
    }


def clean_before(gap, all_gaps):
    """The slots before a gap whose predictions no other gap has touched."""
    near = [range(a - 16, b + CLEAN) for a, b in all_gaps]
    return (s for s in range(gap[0] - BEFORE, gap[0] - 16) if not any(s in n for n in near))


def median_of(values):
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def evaluate_overflows(found):
    all_ = {
        name: nmse([(sums["error"], sums["power"])])
        for name, sums in found["error_and_power"].items()
    }
    each = {name: median_of(values) for name, values in found["nmse_of_each"].items()}
    # The sums over all overflows stand in where no single overflow has a value.
    nmse_of = each if each["before"] else all_
    first, last = WINDOWS[-1]
    after = nmse_of[f"{first} to {last}"]
    return {
        "lived": {"found": found["runs_that_lived"], "is": found["runs"]},
        "overflows_without_a_gap": {"found": found["overflows_without_a_gap"], "is": 0},
        "lock_losses": {"found": found["lock_losses"], "is": 0},
        "nmse_of_all": all_,
        "nmse_median": each,
        "nmse_64_slots_after_over_before": {
            "found": after / nmse_of["before"] if nmse_of["before"] and after is not None else None,
            "most": FACTOR,
        },
    }


def no_restart(_, times, __, folder):
    ends, spans, reasons = [], [], []
    with Machine() as machine:
        for _ in range(times):
            options = (
                *("--product", "b210", "--terminal-radio", "uhd=4.1,num_recv_frames=16"),
                *("--snr", "16", "--duration", "60"),
            )
            with Demo(folder, *options) as run:
                time.sleep(1.5)
                stall = stop_for(run.pid("terminal.radio"), OVERFLOW_S)
                code = run.wait(20)
                spans.append(time.monotonic() - stall.ended)
            ends.append(code)
            reasons.append(bool("".join(run.output).strip()))
        of_machine = machine.found()
    return {
        "cells": len(ends),
        "ended_with_3_and_a_reason": sum(c == 3 and r for c, r in zip(ends, reasons)),
        "exit_codes": counted("goes on" if c is None else str(c) for c in ends),
        "seconds_until_the_end": counted(f"{span:.1f}" for span in spans),
        "machine": [of_machine],
    }


def evaluate_no_restart(found):
    return {
        "ended_with_3_and_a_reason": {
            "found": found["ended_with_3_and_a_reason"],
            "is": found["cells"],
        }
    }


# --- valid ---


def valid(product, times, seed, folder, seconds=VALID_S):
    options = ("--modulation", "8", "--snr", "40", "--product", product)
    runs = []
    for i in range(times):
        more = ("--duration", str(seconds), "--seed", str(seed + i))
        common = free_running.CELL_OPTIONS
        with Machine() as machine, Demo(folder, *options, *more, common=common) as run:
            code = run.wait(seconds * 3 + 60)
            of_machine = machine.found()
        found = free_running.figures_of(product, run.result() or {"verdict": NO_REPORT})
        output = [line.strip() for line in run.output if line.strip()]
        runs.append(
            {
                "valid": found["verdict"]["valid"],
                "exit_code": code,
                "reasons": found["verdict"]["reasons"] or output[-1:] * (code != 0),
                "missed": found.get("missed"),
                "late_share": found.get("late_share", {}).get("found"),
                "tcp_of_capacity": found.get("tcp_of_capacity", {}).get("found"),
                "lock_losses": found.get("lock_losses", {}).get("found"),
                "standstills": found.get("standstills"),
                **of_machine,
            }
        )
    return {"runs": runs}


def evaluate_valid(found):
    share = sum(run["valid"] for run in found["runs"]) / len(found["runs"])
    return {"valid_share": {"found": share, "least": VALID_SHARE}}


# --- all ---

COMMANDS = {
    "stalls": (stalls, evaluate_stalls),
    "overflows": (overflows, evaluate_overflows),
    "no-restart": (no_restart, evaluate_no_restart),
    "valid": (valid, evaluate_valid),
}


def added(one, other):
    """Two portions of a series: counts are added, lists joined, the longest stays the longest."""
    if one is None or other is None:
        return None
    if isinstance(one, dict):
        return {
            key: max(one[key], other[key])
            if key == "longest_ms"
            else added(one[key], other[key])
            if key in one and key in other
            else one.get(key, other.get(key))
            for key in dict.fromkeys([*one, *other])
        }
    return one + other


def meets(figure):
    found = figure["found"]
    if found is None:
        return False
    if "is" in figure:
        return found == figure["is"]
    return found >= figure["least"] if "least" in figure else found <= figure["most"]


def outside(tree, name=""):
    """The names of the figures that are not within what was asked."""
    if not isinstance(tree, dict):
        return []
    if "found" in tree:
        return [] if meets(tree) else [name]
    return [bad for key, value in tree.items() for bad in outside(value, f"{name} {key}".strip())]


def kept(file):
    """The results that a file has, without what says how they came about."""
    if not file or not pathlib.Path(file).exists():
        return {}
    tree = json.loads(pathlib.Path(file).read_text())
    return {name: tree[name] for name in COMMANDS if name in tree}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("what", choices=COMMANDS)
    p.add_argument("--products", default=PRODUCTS)
    p.add_argument("--times", type=int)
    p.add_argument("--seed", type=int, default=1, help="of stalls and channels")
    p.add_argument("--duration", type=int, default=VALID_S, help="of each demo of `valid`, s")
    p.add_argument("--json", metavar="FILE", help="results, added to those of before")
    given = p.parse_args()
    times = given.times or TIMES[given.what]
    if times < 1:
        p.error(f"--times is {times}; valid: 1 or more")
    products = ["b210"] if given.what == "no-restart" else given.products.split(",")
    measure, evaluate = COMMANDS[given.what]
    if given.what == "valid":
        measure = functools.partial(valid, seconds=given.duration)
    results = kept(given.json)
    series = results.setdefault(given.what, {})
    bad = []
    for product in products:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(product, times, given.seed, folder)
        if product in series:
            earlier = {k: v for k, v in series[product].items() if k != "asked"}
            # Results from a file and those just made have the same form.
            found = added(earlier, json.loads(json.dumps(found)))
        found["asked"] = evaluate(found)
        series[product] = found
        bad += outside(found["asked"], f"{given.what} {product}")
        if given.json:
            kept_result.write(given.json, MEASURED_BY, results)
    print(json.dumps({given.what: {p: series[p] for p in products}, "outside": bad}, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
