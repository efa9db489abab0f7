# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent model of the transmitted slot, in NumPy, written from docs/reference/air-interface.md alone
and sharing no code with phy. It is the oracle of test_phy_model.py: the C++ modulator has to
produce these samples, and the C++ receiver has to read slots made here. What reads them in NumPy is
phy_demodulator.py.

Everything is written the plain way (bit lists, matrix algebra, numpy.fft), never the fast way.
"""

import numpy as np

PREFIX = [85, 85, 86, 85, 85, 86]
PILOTS = [(1, 2), (1, 12), (4, 7), (4, 17)]
CONTROL = [(0, 4), (0, 14), (1, 7), (1, 17), (4, 2), (4, 12), (5, 9), (5, 19)]
PAYLOAD = [
    (l, n) for l in range(6) for n in range(20) if (l, n) not in PILOTS and (l, n) not in CONTROL
]
LEVEL_DBFS = -15.0


def sequence_bits(kind, cell, low, count, terminal=None):
    """First `count` bits of the sequence of key (kind, cell, low): SplitMix64 outputs, MSB first.
    With a terminal it is that of the uplink."""
    mask = 2**64 - 1
    key = kind << 56 | cell << 48 | low
    if terminal is not None:
        key += 4 << 56 | terminal << 40
    bits = []
    i = 0
    while len(bits) < count:
        z = (key + (i + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        z ^= z >> 31
        bits += [int(b) for b in format(z, "064b")]
        i += 1
    return bits[:count]


def crc(bits, width, polynomial, start):
    """Long division, one bit at a time."""
    r = start
    for b in bits:
        top = (r >> (width - 1)) & 1
        r = (r << 1) & (2**width - 1)
        if top ^ b:
            r ^= polynomial
    return [(r >> i) & 1 for i in reversed(range(width))]


def to_bits(value, width):
    return [int(b) for b in format(value, f"0{width}b")] if width else []


def gamma(value):
    extra = value.bit_length() - 1
    return [0] * extra + to_bits(value, extra + 1)


def payload_nibbles(k):
    return (108 * k - 24) // 4


def boundary_place(nibble, width):
    return [0] if nibble == 0 else [1] + to_bits(nibble, width)


def new_boundaries(new, more_follows):
    """Boundaries of new frames, of the first ones up to the first that is not said."""
    with_boundary = [b for b in new if b["boundary"] is not None]
    if not with_boundary:
        return [0] if new and more_follows else []
    bits = [1, 0] if len(with_boundary) == len(new) else [1, 1] + to_bits(len(with_boundary), 5)
    gap = 0
    for b in with_boundary:
        gap += 1
        if b["boundary"] != "none":
            bits += gamma(gap) + boundary_place(
                b["boundary"], (payload_nibbles(b["k"]) - 1).bit_length()
            )
            gap = 0
    return bits + (gamma(gap + 1) if gap else [])


def grant_bits(slot, grant):
    """240 bits. grant: dict(first_new_sn, window_edge, bins=[25 x dict(k, retransmission, sn,
    whole, offset, last, boundary)], runs=[dict(first, frames, boundary)]). boundary: nibble, "none" or,
    of new frames, None (not said)."""
    bits = to_bits(slot // 30 % 4096, 12)
    bits += to_bits(grant["first_new_sn"], 16) + to_bits(grant["window_edge"], 15)
    bits += modulations([b["k"] for b in grant["bins"]])
    used = [b for b in grant["bins"] if b["k"]]
    bits += [int(b["retransmission"]) for b in used]
    bits += retransmissions(grant)
    bits += new_boundaries([b for b in used if not b["retransmission"]], bool(grant["runs"]))
    return filled(bits + older_runs(grant))


def filled(bits):
    if len(bits) > 240:
        raise ValueError("it does not fit")
    return bits + [0] * (240 - len(bits))


def modulations(ks):
    bits = []
    for group in range(5):
        bits += to_bits(sum(k * 9**i for i, k in enumerate(ks[5 * group : 5 * group + 5])), 16)
    return bits


def retransmissions(grant):
    bits, before = [], None
    used = [b for b in grant["bins"] if b["k"]]
    for b in used:
        if not b["retransmission"]:
            continue
        if before is None:
            bits += gamma((grant["first_new_sn"] - b["sn"]) % 65536)
        else:
            step = (b["sn"] - before["sn"] + 32768) % 65536 - 32768 - 1
            bits += gamma((2 * step if step >= 0 else -2 * step - 1) + 1)
        if b["whole"]:
            bits += [0]
        else:
            follows = (
                before is not None
                and not before["whole"]
                and before["sn"] == b["sn"]
                and b["offset"] == before["offset"] + payload_nibbles(before["k"])
            )
            bits += [1, 1] if follows else [1, 0] + to_bits(b["offset"], 8)
            bits += [int(b["last"])]
        before = b
    return bits


def older_runs(grant):
    bits, last = [], None
    for run in grant["runs"]:
        step = grant["first_new_sn"] - run["first"] if last is None else run["first"] - last
        bits += [1] + gamma(step % 65536) + gamma(run["frames"])
        bits += [0] if run["boundary"] == "none" else [1] + boundary_place(run["boundary"], 8)
        last = run["first"] + run["frames"] - 1
    return bits


def truncated(value, count):
    """Truncated binary code."""
    k = count.bit_length() - 1
    shorter = 2 ** (k + 1) - count
    return to_bits(value, k) if value < shorter else to_bits(value + shorter, k + 1)


def common_grant_bits(slot, sections):
    """The 240 bits of a common grant. sections: one for each of 8 terminals, None or a grant as
    above; window_edge None: a short section, without it."""
    served = [s for s in sections if s is not None]
    bits = to_bits(slot // 30 % 4096, 12) + [int(s is not None) for s in sections]
    bits += modulations([max([s["bins"][b]["k"] for s in served], default=0) for b in range(25)])
    for b in range(25):
        for place, s in enumerate(served):
            if s["bins"][b]["k"]:
                bits += truncated(place, len(served))
    for s in served:
        if s["window_edge"] is None:
            bits += [0] + to_bits(s["first_new_sn"] % 256, 8)
        else:
            bits += [1] + to_bits(s["first_new_sn"], 16) + to_bits(s["window_edge"], 15)
        used = [b for b in s["bins"] if b["k"]]
        retransmits = any(b["retransmission"] for b in used)
        bits += [int(retransmits)]
        if retransmits:
            bits += [int(b["retransmission"]) for b in used] + retransmissions(s)
        bits += new_boundaries([b for b in used if not b["retransmission"]], True)
        bits += older_runs(s) + [0]
    return filled(bits)


def form_bits(form):
    """The 240 bits of a feedback form. form: dict(slot, grant_ok, ack=[25 bits], snr=[25 codes],
    nmse, buffer), all as they are on the air; slot is that of the report."""
    bits = to_bits(form["slot"] // 30 % 64, 6) + to_bits(form["slot"] % 30, 5)
    bits += [int(form["grant_ok"])] + form["ack"]
    for code in form["snr"]:
        bits += to_bits(code, 7)
    bits += to_bits(form["nmse"], 7) + to_bits(form["buffer"], 6)
    return bits + crc(bits, 15, 0x3ED7, 0x7FFF)


def with_uplink_grant(bits, up):
    """A grant with an uplink grant behind it. up: dict(first_new_sn, window_edge, k, bins, timing,
    power, sns=[SN of the retransmissions])."""
    own = to_bits(up["first_new_sn"], 16) + to_bits(up["window_edge"], 9)
    own += to_bits(up["k"] - 1, 3) + to_bits(up["bins"], 5)
    own += to_bits(up["timing"] % 8, 3) + to_bits(up["power"] % 4, 2) + gamma(1 + len(up["sns"]))
    for i, sn in enumerate(up["sns"]):
        step = up["first_new_sn"] - sn if i == 0 else sn - up["sns"][i - 1]
        own += gamma(step % 65536)
    if len(own) > 54 or any(bits[184:]):
        raise ValueError("it does not fit")
    return bits[:184] + own + [0] * (54 - len(own)) + [0, 1]


def with_short_uplink_grant(bits, up):
    """A grant with a short uplink grant behind it. up: dict(age, advance, window_edge or None, bins
    and k or None, timing, power, backs=[first SN - SN of the retransmissions])."""
    own = [1, 1] + to_bits(up["age"] - 1, 5) + to_bits(up["advance"], 7)
    own += [0] if up["window_edge"] is None else [1] + to_bits(up["window_edge"], 7)
    own += [0] if up["bins"] is None else [1] + to_bits(up["bins"], 5) + to_bits(up["k"] - 1, 3)
    if up["timing"] or up["power"]:
        own += [1] + to_bits(up["timing"] % 8, 3) + to_bits(up["power"] % 4, 2)
    else:
        own += [0]
    own += gamma(1 + len(up["backs"]))
    for i, back in enumerate(up["backs"]):
        own += gamma(back if i == 0 else up["backs"][i - 1] - back)
    if len(own) > 56 or any(bits[240 - len(own) :]):
        raise ValueError("it does not fit")
    return bits[: 240 - len(own)] + own[::-1]


def uplink_bins(up):
    """The 25 bins of the slot that it grants, as slot_bodies has them."""
    bins = [{"k": 0, "sn": 0, "whole": True, "offset": 0} for _ in range(25)]
    new = up["bins"] - len(up["sns"])
    sns = up["sns"] + [(up["first_new_sn"] + i) % 65536 for i in range(new)]
    for i, sn in enumerate(sns):
        bins[25 * i // up["bins"]].update(k=up["k"], sn=sn)
    return bins


def convolve(bits):
    """Generators 171 and 133 (octal), newest bit at the most significant end, six zero tail bits.
    The second output is left out in steps 1, 3, .., 247."""
    g = [to_bits(0o171, 7), to_bits(0o133, 7)]
    history = [0] * 7
    out = []
    for t, b in enumerate(bits + [0] * 6):
        history = [b] + history[:6]
        first, second = (sum(x * y for x, y in zip(history, taps)) % 2 for taps in g)
        out.append(first)
        if not (t % 2 == 1 and t <= 247):
            out.append(second)
    return out


def qpsk(bits):
    pairs = np.array(bits).reshape(-1, 2) * 2 - 1
    return (pairs[:, 0] + 1j * pairs[:, 1]) / np.sqrt(2)


def control_symbols(slot, cell, bits, kind, terminal=None):
    """`bits`: the 240 of a grant (kind 2), of a common grant (4) or of a terminal's form (2)."""
    coded = convolve(bits + crc(bits, 16, 0x1021, 0xFFFF))
    assert len(coded) == 400
    places = np.zeros(400, dtype=int)
    for j, c in enumerate(coded):
        places[153 * j % 400] = c
    return qpsk(places ^ np.array(sequence_bits(kind, cell, slot % 30, 400, terminal)))


def gray(i):
    return i ^ i >> 1


def constellation(k):
    """Points by label, unit mean energy."""
    if k == 1:
        return np.array([-1, 1], dtype=complex)
    if k == 3:
        r = 1 + np.sqrt(3)
        p = {0: 1 + 1j, 1: -1 + 1j, 6: 1 - 1j, 2: -1 - 1j, 4: r, 3: -r, 5: 1j * r, 7: -1j * r}
        points = np.array([p[label] for label in range(8)])
    else:
        ky = k // 2
        kx = k - ky
        points = np.zeros(2**k, dtype=complex)
        for i in range(2**kx):
            for q in range(2**ky):
                x, y = 2 * i - (2**kx - 1), 2 * q - (2**ky - 1)
                if k == 5 and abs(x) == 7:
                    x, y = np.sign(x) * abs(y), np.sign(y) * 5
                if k == 7 and abs(x) > 11:
                    x, y = np.sign(x) * abs(y), np.sign(y) * (abs(x) - 4)
                points[gray(i) << ky | gray(q)] = x + 1j * y
    return points / np.sqrt(np.mean(np.abs(points) ** 2))


def payload_symbols(cell, b, payload, owner=0, terminal=None):
    """108 symbols of a bin; payload: list of nibbles."""
    k = b["k"]
    bits = [bit for n in payload for bit in to_bits(n, 4)]
    bits += crc(bits, 24, 0x864CFB, 0)
    low = owner << 40 | b["sn"] << 8 | (0 if b["whole"] else b["offset"])
    bits = np.array(bits) ^ np.array(sequence_bits(3, cell, low, 108 * k, terminal))
    labels = bits.reshape(108, k) @ (2 ** np.arange(k)[::-1])
    return constellation(k)[labels]


def slot_bodies(slot, cell, grant, payload, terminal=None, form=None):
    """The bodies of its six symbols. payload: per bin a list of nibbles (or None). On the uplink
    `form` has the 240 bits of the terminal's form, and of the grant only the bins count."""
    units = [(b, 0) for b in grant["bins"]]
    content = grant_bits(slot, grant) if form is None else form
    control = control_symbols(slot, cell, content, 2, terminal)
    return bodies(slot, cell, control, units, payload, terminal)


def common_slot_bodies(slot, cell, sections, payload):
    """The same in a cell with several terminals."""
    units = [({"k": 0}, 0)] * 25
    for owner, s in enumerate(sections):
        for b in range(25):
            if s is not None and s["bins"][b]["k"]:
                units[b] = (s["bins"][b], owner)
    bits = common_grant_bits(slot, sections)
    return bodies(slot, cell, control_symbols(slot, cell, bits, 4), units, payload)


def bodies(slot, cell, control, units, payload, terminal=None):
    """units: for each bin the unit, and on the downlink the number of the terminal that owns it.
    terminal: the one that sends, on the uplink."""
    grid = np.zeros((6, 500), dtype=complex)
    pilots = qpsk(sequence_bits(1, cell, slot % 30, 200, terminal))
    for b in range(25):
        for i, (l, n) in enumerate(PILOTS):
            grid[l, 20 * b + n] = pilots[4 * b + i]
        for i, (l, n) in enumerate(CONTROL):
            grid[l, 20 * b + n] = control[8 * b + i]
        unit, owner = units[b]
        if unit["k"]:
            symbols = payload_symbols(cell, unit, payload[b], owner, terminal)
            for (l, n), value in zip(PAYLOAD, symbols):
                grid[l, 20 * b + n] = value
    amplitude = np.sqrt(10 ** (LEVEL_DBFS / 10) / 500)
    out = []
    for l in range(6):
        spectrum = np.zeros(768, dtype=complex)
        spectrum[768 - 250 :] = grid[l, :250]
        spectrum[1:251] = grid[l, 250:]
        out.append(np.fft.ifft(spectrum) * 768 * amplitude)
    return out


def joined(bodies, edge=0):
    """Samples of symbols in a row, from the first one of a slot: each with its prefix, and fading
    into the next."""
    rise = 0.5 - 0.5 * np.cos(np.pi * (np.arange(edge) + 0.5) / edge) if edge else np.zeros(0)
    out, before = [], np.zeros(768)
    for l, body in enumerate(bodies):
        symbol = np.concatenate([body[-PREFIX[l % 6] :], body])
        symbol[:edge] = rise * symbol[:edge] + rise[::-1] * before[:edge]
        out.append(symbol)
        before = body
    return np.concatenate(out)


def slot_samples(slot, cell, grant, payload):
    """5120 complex samples, with hard edges."""
    return joined(slot_bodies(slot, cell, grant, payload))
