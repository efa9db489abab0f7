# SPDX-License-Identifier: GPL-3.0-or-later
"""The screen at the end of a run, and the one about a running cell."""

from collections.abc import Sequence
from typing import Any

from ..air import SAMPLE_RATE
from ..shapes import (
    AirNode,
    AirStatus,
    Capacity,
    EndSums,
    Fader,
    Link,
    MacStatus,
    OneSum,
    PathSums,
    Realtime,
    Stall,
    Stalls,
    ThroughRadios,
    Verdict,
)
from . import attenuator, key_figures, link_counts, meaning, own_code, timing
from . import stalls as stalls_text
from .meaning import MODULATIONS


def rate(bps: float) -> str:
    return key_figures.text("goodput", bps)


def histogram(counts: Sequence[int], names: Sequence[str], width: int = 24) -> list[str]:
    """One line for each name that has a share."""
    total = sum(counts)
    return [
        f"    {name:>8} {n / total:6.1%}"
        f" {'#' * max(1, round(n / total * width)) if n / total >= 0.002 else ''}"
        for name, n in zip(names, counts)
        if n
    ]


def radio_lines(r: dict[str, Any]) -> list[str]:
    radio = r["radio"]
    return [
        f"  radio        locked after {radio.get('lock_s', 0) * 1000:.0f} ms,"
        f" {key_figures.listed(key_figures.of_radio(radio))}, prediction"
        f" {key_figures.words('nmse', r['prediction']['nmse'])}"
        f" {r['prediction']['horizon_slots']} slots ahead"
        + (f"; {radio['clipped']} samples at full scale" if radio.get("clipped") else "")
    ]


def bearer_lines(bearer: dict[str, Any]) -> list[str]:
    return [
        f"  bearer {way:<5} {rate(b['rate_bps'])}; blocks: {b['blocks']} sent, {b['blocks_lost']}"
        f" lost; {b['pdus']} PDUs, {b['retransmissions']} of them again; {b['polls']} polls,"
        f" {b['status_pdus']} + {b['status_piggybacked']} status; {b['sdus_given_up']} packets"
        f" dropped, {b['resets']} resets"
        for way, b in bearer.items()
    ]


def split_lines(split: dict[str, Any] | None) -> list[str]:
    if not split:
        return []
    c, rule = split["connections"], split.get("rule")
    passed = (
        f"; passed unsplit: {rule['connections_passed']} connections, {rule['passed']} packets"
        " in all"
        if rule
        else ""
    )
    lines = [
        f"  split TCP    {c['split']} connections: {c['ended']} ended, {c['reset']} reset,"
        f" {c['not_reached']} not reached, {c['open']} open; {c['full']} times full{passed}"
    ]
    return lines + [
        f"    from {name:<7} {w['in']} bytes in = {w['out']} out + {w['held']} held + {w['lost']}"
        f" lost; at most {w['most_held']} held by one"
        for name, w in split["bytes_from"].items()
    ]


def injection_words(d: dict[str, Any]) -> str:
    return (
        f"{d['spikes']} delay spikes in {d['samples']} acknowledgements of {d['flows']} flows;"
        f" {d['held']} held, {d['held_ms'] / max(1, d['held']):.1f} ms each"
    )


def snoop_words(s: dict[str, Any]) -> str:
    """Words on a Snoop agent. `s`: from emulate.snoop_report()."""
    return (
        f"{s['retransmitted']['packets']} segments sent again ({s['by_duplicate']} after a"
        f" duplicate acknowledgement, {s['by_partial']} after a partial one, {s['by_timeout']} after"
        f" a timeout); {s['suppressed_duplicates']['packets']} duplicate and"
        f" {s['suppressed_old']['packets']} old acknowledgements suppressed;"
        f" {s['cache_full']['packets']} segments found no room; {s['given_up']} given up"
    )


def mobility_lines(m: dict[str, Any]) -> list[str]:
    """The lines about networks. `m`: from emulate.mobility_report()."""
    rate = m["mean_rate_bps"]
    last = [
        f"    at {h['began_s']:.3f} s from {h['from']} to {h['to']}, for"
        f" {h['over_s'] - h['began_s']:.3f} s"
        for h in m["latest"]
    ]
    return [
        f"  networks     {m['handovers']} handovers, {m['handing_over_s']:.3f} s of them,"
        f" {m['state_changes']} changes of state; at the end in {m['destination']}; mean rate"
        f" {rate['down'] / 1e3:.0f} kbit/s down, {rate['up'] / 1e3:.0f} up",
        *last,
    ]


def recorded_lines(ways: dict[str, Any]) -> list[str]:
    """The lines about a recorded network. `ways`: from emulate.recorded_report()."""
    rates = {
        name: rate(way["mean_rate_bps"]) if way["mean_rate_bps"] else "no limit"
        for name, way in ways.items()
    }
    return [
        f"  recorded     mean rate {rates['down']} down, {rates['up']} up; base delay at the end"
        f" {ways['down']['base_delay_ms']:.1f} ms down, {ways['up']['base_delay_ms']:.1f} ms up"
    ]


def emulator_lines(r: dict[str, Any]) -> list[str]:
    e, late = r["emulator"], r["emulator"].get("release_us")
    d, lines = e.get("delay_injection"), []
    if d:
        lines.append("  injection    " + injection_words(d))
    if e.get("snoop"):
        lines.append("  Snoop        " + snoop_words(e["snoop"]))
    for n, node in enumerate(e.get("wlan") or []):
        lines.append(
            f"  802.11 node {n} {node['attempts']} attempts, {node['failed']} failed"
            f" ({node['collisions']} collisions), {node['put_back']} frames put back,"
            f" {node['given_up']} dropped"
        )
    channel = (
        bearer_lines(r["bearer"])
        if r.get("bearer")
        else mobility_lines(r["mobility"])
        if r.get("mobility")
        else recorded_lines(r["recorded"])
        if r.get("recorded")
        else (
            []
            if e.get("wlan")
            else [
                f"  channel      mean {key_figures.words('snr', e['mean_snr_db'])};"
                f" {e['frames_combined']} frames"
                f" good after combining, {e['packets_damaged']} packets delivered with bit errors"
                + (
                    f", {e['relay']['recovered']} TCP segments of them taken"
                    if e.get("relay")
                    else ""
                )
            ]
        )
    )
    return [*lines, *channel] + (
        []
        if late is None
        else [
            f"  releases     packets left median {late['median']:.0f}, p99.9 {late['p999']:.0f},"
            f" max {late['max']:.0f} us late; {'real-time' if e['realtime_priority'] else 'normal'}"
            " priority"
        ]
    )


def sum_of(p: PathSums | EndSums | OneSum) -> str:
    drops = ", ".join(f"{n} {reason}" for reason, n in p["dropped"].items() if n) or "none"
    return (
        f"{p['in']} packets in = {p['delivered']} delivered + {p['queued']} queued + dropped"
        f" ({drops})"
    )


def packet_lines(r: dict[str, Any]) -> list[str]:
    lines = []
    for name in ("downlink", "uplink"):
        p: PathSums = r["packets"][name]
        twice = p["delivered_although_given_up"]
        lines.append(
            f"  {name:<12} {sum_of(p)}"
            + (f" - {twice} dropped that arrived after all" if twice else "")
            + (f"; {p['marked']} marked by a queue" if p["marked"] else "")
        )
        lines += [
            f"    terminal {n:<3} {sum_of(u[name])}; {u[name]['bytes']['delivered']} bytes"
            for n, u in enumerate(r.get("users") or (), 1)
        ]
    return lines


def link_lines(link: Link) -> list[str]:
    arq = [f"{i}: {n}" for i, n in enumerate(link["retransmission_histogram"]) if n]
    return [
        (
            f"  link         {rate(link['goodput_bps'])} acknowledged; frames:"
            f" {link['frames_sent']} sent, {link['frames_failed']} failed"
            f" ({link['frame_error_rate']:.3%}), {link['frames_given_up']} dropped"
        ),
        *histogram(link["modulation_histogram"], MODULATIONS),
        # A link that does not count its frames so (802.11) says nothing of it.
        *(
            [f"  ARQ          frames by number of retransmissions: {', '.join(arq) or 'none'}"]
            if arq or not link["frames_sent"]
            else []
        ),
    ]


def change_lines(r: dict[str, Any]) -> list[str]:
    """The settings that were changed during the run."""
    shown = [
        f"  changed      slot {c['slot']} ({c['time_s']:.3f} s): {c['key']} {c['from']} ->"
        f" {c['to']}"
        for c in r.get("changes", ())
    ]
    return shown[:20] + [f"  changed      and {len(shown) - 20} more (--json)"] * (len(shown) > 20)


def verdict_word(v: Verdict) -> str:
    return "REPLAY" if v.get("replay") else "VALID" if v["valid"] else "INVALID"


def verdict_lines(v: Verdict) -> list[str]:
    return [f"verdict: {verdict_word(v)}", *(f"  {reason}" for reason in v["reasons"])]


def generator_screen(r: dict[str, Any]) -> str:
    g, rt = r["generator"], r["realtime"]
    lines = verdict_lines(r["verdict"])
    lines.append(
        f"  generator    {rate(g['ip_bps'])} of IP packets of {g['packet_bytes']} bytes;"
        f" {g['packets']} counted, {g['out_of_order']} out of order, {g['altered']} altered"
    )
    for n, u in enumerate(r["users"], 1):
        lines.append(
            f"  terminal {n:<3} {u['delivered_packets']} packets, mean"
            f" {key_figures.words('snr', u['mean_snr_db'])}, {u['frames_sent']} frames sent, {u['frames_failed']} failed"
        )
    lines += link_lines(r["link"]) + packet_lines(r) + own_code.lines(r["own_code"])
    lines.append(
        f"  virtual time {rt['factor']:.1f} times as fast as real time ({rt['slots']} slots in "
        f"{rt['wall_seconds']:.2f} s)"
    )
    return "\n".join(lines)


def screen(r: dict[str, Any]) -> str:
    v: Verdict = r["verdict"]
    c: Capacity = r["capacity"]
    link: Link = r["link"]
    rt: Realtime = r["realtime"]
    lines = verdict_lines(v)
    if rt.get("pace_found") and rt["speed"] < 1:
        lines[0] += (
            f" at speed {rt['speed']:g}: this machine came to {rt['pace_found']:.2f} of the wall"
            " clock's pace"
        )
    if r["tcp"]:
        t = r["tcp"]
        most = c["tcp_payload_bps"]  # 0: the link has no limit
        share = f", {t['goodput_bps'] / most:.1%} of {rate(most)}" if most else ""
        lines.append(
            f"  TCP goodput  {rate(t['goodput_bps'])}{share}; {t['retransmits']} retransmitted segments;"
            f" rtt {t['rtt_ms']['mean']:.1f} ms mean"
            f" ({t['congestion_control']}, window {t['window_kb']} KiB)"
        )
    lines += [f"    {line}" for line in c["how"]]
    if r.get("ping_ms"):
        p = r["ping_ms"]
        lines.append(
            f"  ping         min {p['min']:.2f}  median {p['median']:.2f}  p99 {p['p99']:.2f}  max "
            f"{p['max']:.2f} ms; {p['sent'] - p['received']} of {p['sent']} lost"
        )
    if r.get("udp"):
        u = r["udp"]
        lines.append(
            f"  UDP          {rate(u['delivered_bps'])} of {rate(u['offered_bps'])} offered; "
            f"{u['lost_packets']} of {u['packets']} packets lost"
            f" ({key_figures.text('udp_lost', u['loss'])})"
        )
    lines += link_lines(link) + packet_lines(r)
    lines += change_lines(r)
    lines += radio_lines(r) if "radio" in r else emulator_lines(r)
    lines += split_lines(r.get("split_tcp")) + own_code.lines(r.get("own_code"))
    if rt["clock"] == "virtual":
        return "\n".join(
            [
                *lines,
                (
                    f"  virtual time {rt['factor']:.1f} times as fast as real time"
                    f" ({rt['virtual_seconds']:.2f} s in {rt['wall_seconds']:.2f} s)"
                ),
            ]
        )
    lines.append(
        f"  real time    {key_figures.words('factor', rt['factor'])} at speed {rt['speed']:g};"
        " late slots:"
        f" {timing.missed_words(rt['missed'])}; {rt['slots_behind']} of {rt['slots']} slots"
        f" more than {rt['pacing_limit_us'] / 1000:g} ms behind (median"
        f" {rt['pacing_us']['median'] / 1000:.2f}, p99 {rt['pacing_us']['p99'] / 1000:.2f}, max"
        f" {rt['pacing_us']['max'] / 1000:.2f} ms)"
    )
    lines += (
        loop_lines(r.get("loop"))
        + fader_lines(r.get("fader"))
        + attenuator.lines(r.get("attenuator"))
    )
    if r.get("transmitter"):
        lines.append(
            f"  transmitter  has the channel; through the radios {through_words(r['transmitter'])}"
        )
    if not r.get("fader") and rt.get("clipped"):
        lines.append(clipped_line(rt["clipped"]))
    lines += stall_lines(rt.get("stall"), rt.get("standstills")) + placement_lines(
        r.get("placement")
    )
    cpu = dict(r["cpu"])
    total = cpu.pop("total", 0)
    lines.append(
        f"  CPU          {total:.2f} cores: " + ", ".join(f"{n} {x:.2f}" for n, x in cpu.items())
    )
    lines += application_lines(r.get("applications"))
    return "\n".join(lines)


def loop_lines(loop: dict[str, Any] | None) -> list[str]:
    """The lines of a report about what --loop auto measured; none without it."""
    if not loop:
        return []
    leaves, arrives = loop["base"]["transmit"], loop["terminal"]["receive"]
    return [
        f"  loop         lead {loop['link.transmit_lead_slots']} slots, delay"
        f" {loop['link.retransmission_delay_ms']:g} ms, measured before: a burst has to leave"
        f" {leaves['lead_us'] / 1000:.2f} ms before its time, one slot in 10,000 is in hand"
        f" {arrives['one_in_ten_thousand_us'] / 1000:.2f} ms after its last sample"
        + (
            f"; the fader's delay {loop['fader.delay_samples']} samples"
            if "fader.delay_samples" in loop
            else ""
        ),
        *(f"               not shown: {doubt}" for doubt in loop["not_shown"]),
    ]


def clipped_line(clipped: int) -> str:
    return f"  clipped      {clipped} samples of the faded signal at the transmitter"


def fader_lines(fader: Fader | None) -> list[str]:
    if not fader:
        return []
    sounded = ", ".join(
        (
            f"{s['residual_db']:.1f} dB off the commanded channel (limit {s['limit_db']:.1f})"
            if not s["not_judged"]
            else f"not compared with the commanded channel ({s['not_judged']})"
        )
        for s in fader["soundings"]
    )
    gone = fader["late"] + fader["underflows"]
    late_words = (
        " (the software USRPs waited with it: nothing was lost)"
        if fader["least_lead_us"] < 0 and not gone
        else ""
    )
    return [
        f"  fader        {fader['delay_samples']} samples ({fader['delay_us'] / 1000:.2f} ms)"
        f" later, {fader['least_lead_us'] / 1000:.2f} ms of it left at worst{late_words};"
        f" {fader['lost_samples']} samples lost, {gone} times too late, {fader['clipped']} clipped;"
        f" sounded: {sounded}; through the radios {through_words(fader['through_radios'])}"
    ]


def through_words(t: ThroughRadios | None) -> str:
    """The words for a result of through_radios.compare(); None: this is a base station."""
    if t is None:
        return "as the terminal's report says"
    return (
        f"{t['residual_db']:.1f} dB off in {t['heard']} of {t['bursts']} bursts (limit"
        f" {t['limit_db']:.1f}), level {t['gain_db']:+.2f} dB"
        if "residual_db" in t
        else t["not_judged"] or "not measured"
    )


def stall_lines(stall: Stall | None, stalls: Stalls | None = None) -> list[str]:
    if not stall:
        return []
    return [
        f"  stalls       longest {stall['longest_ms']:.1f} ms ({stall['whose']}); a hypervisor took"
        f" {stall['stolen']:.1%} of the slot path's core{stalls_text.words(stalls)}"
    ]


def placement_lines(p: dict[str, Any] | None) -> list[str]:
    if not p:
        return []
    wake = ", ".join(
        f"{us:.0f} us {'on one core' if where == 'same_core' else 'across two'}"
        for where, us in p["wake_up_us"].items()
    )
    return [
        f"  placement    {p['where']} ({p['why']})"
        + (f"; wake-up and answer {wake}; " if wake else "; ")
        + granted_words(p)
    ]


def granted_words(p: dict[str, Any]) -> str:
    """The lines about the slot path's processes: core time that the machine did not grant them, and
    pages that came from the disk during the measurement."""

    def refused(what: str) -> str:
        return ", ".join(n for n, granted in p.get(what, {}).items() if granted is False)

    priority, memory = refused("realtime_priority"), refused("memory_locked")
    major = {n: f["major"] for n, f in p.get("page_faults", {}).items() if f["major"]}
    return "; ".join(
        [
            f"without real-time priority: {priority}" if priority else "real-time priority",
            *([f"memory not locked: {memory}"] if memory else []),
            *(
                [
                    "waited for pages from disk:"
                    f" {', '.join(f'{n} {count} times' for n, count in major.items())}"
                ]
                if major
                else []
            ),
        ]
    )


def application_lines(a: dict[str, Any] | None) -> list[str]:
    if not a:
        return []
    shares = (
        "not known (no schedstat)"
        if a["waiting"] is None
        else ", ".join(f"{n} {x:.1%}" for n, x in a["waiting"].items()) or "there were none"
    )
    pressure = "not known" if a["pressure"] is None else f"{a['pressure']:.0%}"
    return [
        f"  waiting      for a core, share of its time: {shares}; some task of the machine:"
        f" {pressure}"
    ]


def node_words(node: AirNode) -> str:
    """A place of the medium, in words."""
    words = [f"process {node.process}" if node.process else node.radio or "free"]
    words += [what for what in ("transmits", "receives") if getattr(node, what)]
    words += [f"refused: {node.refused}"] if node.refused else []
    return f"{node.name}: {', '.join(words)}"


def status_screen(
    cell: Any, air: AirStatus | None, base: MacStatus | None, terminal: MacStatus | None
) -> str:
    """`air`, `base`, `terminal`: statuses, None for one that does not answer."""
    namespaces = ", ".join(cell.state.get("namespaces", cell.namespaces))
    lines = [f"cell '{cell.name}' is up; namespaces {namespaces}"]
    if air:
        lines.append(
            f"  air       {air.now / SAMPLE_RATE:.1f} s of air time, {air.clock} at"
            f" speed {air.speed:g}, real-time factor {air.real_time_factor:.4f}, {air.slots_behind}"
            f" of {air.slots} slots behind, {air.late} late, nodes: {', '.join(map(node_words, air.nodes))}"
        )
    if cell.replay is not None:
        lines.append(f"  replay    of {cell.replay['file']}")
    for name, s in (("base", base), ("terminal", terminal)):
        if not s and name == "base" and cell.replay is not None:
            continue
        if not s:
            lines.append(f"  {name:<9} does not answer")
            continue
        lines.append(
            f"  {name:<9} slot {s.slot}; flowgraph"
            f" {'connected' if s.flowgraph_connected else 'missing'}, peer"
            f" {'connected' if s.peer_connected else 'missing'}"
        )
        for direction, d in (("downlink", s.downlink), ("uplink", s.uplink)):
            drops = ", ".join(f"{n} {reason}" for reason, n in meaning.drops(d).items()) or "none"
            lines.append(
                f"            {direction:<8} {getattr(d, 'in').packets} in, {d.delivered.packets}"
                f" delivered, {d.queued.packets} queued, dropped: {drops}"
            )
    if base:
        b = base.base
        lines.append(
            f"  frames    {b.frames_sent} sent, {b.frames_failed} failed"
            + (f" ({b.frames_failed / b.frames_sent:.3%})" if b.frames_sent else "")
            + f", {b.frames_given_up} dropped"
        )
        lines += histogram(b.modulation_histogram, MODULATIONS)
    if terminal:
        r = terminal.radio
        lost = ", ".join(
            f"{n} {name.removeprefix('losses_')}"
            for name, n in link_counts.counts_of(r, "losses_").items()
            if n
        )
        lines.append(
            f"  radio     {meaning.lock(r)}, cell {r.cell},"
            f" {key_figures.listed(key_figures.of_radio(r))}, lock lost {r.lock_losses} times"
            + (f" ({lost})" if lost else "")
        )
    return "\n".join(lines)
