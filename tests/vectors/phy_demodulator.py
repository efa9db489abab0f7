# SPDX-License-Identifier: GPL-3.0-or-later
"""A receiver as docs/reference/air-interface.md has it: IQ in, IP packets out. It knows the cell and nothing
else. No code of it comes from the C++, but its author had read that before; page_reader.py is by
somebody who had not. Frames are put together from every copy and fragment that the grants name.

Everything is written the plain way: all samples at once, least squares, lists of bits. It wants a
good SNR and a channel that is constant over a slot."""

import numpy as np
import phy_model as model

SLOT, BODY = 5120, 768  # samples; of a symbol without its prefix
# first samples of the symbol bodies
STARTS = [sum(model.PREFIX[: l + 1]) + BODY * l for l in range(6)]
CARRIERS = np.array([k for k in range(-250, 251) if k != 0])
HYPERFRAME = 30 * 4096  # slots


class Refused(Exception):
    """A grant that no sender would write."""


# ---------------------------------------------------------------- samples


def timing_and_offset(samples):
    """Starts that a slot may have (modulo 5120): prefixes tell symbols, and edges leave little that
    tells which is the first. And CFO in cycles a sample."""
    slots = (samples.size - BODY) // SLOT
    products = np.conj(samples[: slots * SLOT]) * samples[BODY : slots * SLOT + BODY]
    folded = products.reshape(slots, SLOT).sum(axis=0)
    inside = np.zeros(SLOT)
    for l in range(6):
        inside[STARTS[l] - model.PREFIX[l] : STARTS[l]] = 1
    score = np.fft.ifft(np.fft.fft(folded) * np.conj(np.fft.fft(inside)))
    start = int(np.argmax(np.abs(score)))
    first = STARTS[0] - model.PREFIX[0]
    return (
        [(start + s - prefix - first) % SLOT for s, prefix in zip(STARTS, model.PREFIX)],
        np.angle(score[start]) / (2 * np.pi * BODY),
    )


def elements(samples):
    """6 x 500 resource elements of a slot."""
    return np.array([np.fft.fft(samples[s : s + BODY])[CARRIERS % BODY] for s in STARTS])


def places(kind):
    """(symbols, subcarriers) of all bins, bin by bin."""
    return (
        np.array([l for b in range(25) for l, n in kind]),
        np.array([20 * b + n for b in range(25) for l, n in kind]),
    )


PILOTS, CONTROL, PAYLOAD = places(model.PILOTS), places(model.CONTROL), places(model.PAYLOAD)


def channel(grid, where, sent):
    """The response at every subcarrier: least squares in delays of -8..24 samples, from known
    elements."""
    delays = np.exp(-2j * np.pi * np.outer(CARRIERS, np.arange(-8, 25)) / BODY)
    taps, *_ = np.linalg.lstsq(delays[where[1]], grid[where] / sent, rcond=1e-4)
    return delays @ taps


def slot_in_frame(grids, cell):
    """The first slot: how well the pilots agree, as products of neighbours, and the one where they
    do best."""

    def agreement(first):
        total = 0
        for i, grid in enumerate(grids):
            h = grid[PILOTS] / model.qpsk(model.sequence_bits(1, cell, (first + i) % 30, 200))
            total += abs(np.sum(h[:-4:2] * np.conj(h[4::2]))) + abs(
                np.sum(h[1:-4:2] * np.conj(h[5::2]))
            )
        return total

    return max((agreement(first), first) for first in range(30))


# ---------------------------------------------------------------- control region


def viterbi(soft):
    """256 bits from 400 soft ones, positive = 1."""
    taps = [model.to_bits(0o171, 7), model.to_bits(0o133, 7)]
    # A state is the last six bits, the newest at the most significant end.
    history = np.array([[bit] + model.to_bits(state, 6) for state in range(64) for bit in (0, 1)])
    outputs = np.array([2 * (history @ t % 2) - 1 for t in taps]).reshape(2, 64, 2)
    after = np.array([[(state >> 1) | bit << 5 for bit in (0, 1)] for state in range(64)])
    metric = np.full(64, -1e9)
    metric[0] = 0
    decisions, at = [], 0
    for t in range(262):
        gain = outputs[0] * soft[at]
        at += 1
        if not (t % 2 == 1 and t <= 247):
            gain = gain + outputs[1] * soft[at]
            at += 1
        reached = metric[:, None] + gain
        # Two states lead to each: 2 s and 2 s + 1 modulo 64, by the same bit.
        pairs = np.zeros((64, 2))
        for low in (0, 1):
            pairs[after[low::2], low] = reached[low::2]
        decisions.append(np.argmax(pairs, axis=1))
        metric = np.max(pairs, axis=1)
    assert at == 400
    bits, state = [], 0
    for choice in reversed(decisions):
        bits.append(state >> 5)
        state = (state << 1 & 63) | int(choice[state])
    return bits[::-1][:256]


class Bits:
    def __init__(self, bits):
        self.bits, self.at = bits, 0

    def get(self, width):
        if self.at + width > len(self.bits):
            raise Refused("beyond the end")
        value = int("".join(map(str, self.bits[self.at : self.at + width])) or "0", 2)
        self.at += width
        return value

    def gamma(self):
        extra = 0
        while self.get(1) == 0:
            extra += 1
        return 1 << extra | self.get(extra)

    def more(self):
        return self.at < len(self.bits)


def place(r, width, limit):
    """Reads a boundary: 0 is nibble 0, else 1 and the nibble."""
    if r.get(1) == 0:
        return 0
    nibble = r.get(width)
    if nibble == 0 or nibble >= limit:
        raise Refused("boundary")
    return nibble


def retransmission_of(r, b, first_sn, before):
    """Reads SN and part of a retransmission into b."""
    code = r.gamma()
    if code > 131071:
        raise Refused("SN")
    if before is None:
        b["sn"] = (first_sn - code) % 65536
    else:
        zigzag = code - 1
        step = (zigzag // 2 if zigzag % 2 == 0 else -(zigzag + 1) // 2) + 1
        if not -32768 <= step <= 32767:
            raise Refused("SN")
        b["sn"] = (before["sn"] + step) % 65536
    if r.get(1) == 0:
        return
    b["whole"] = False
    of_same = before is not None and not before["whole"] and before["sn"] == b["sn"]
    goes_on = before["offset"] + model.payload_nibbles(before["k"]) if of_same else None
    if r.get(1):
        if goes_on is None or goes_on > 255:
            raise Refused("nothing to go on from")
        b["offset"] = goes_on
    else:
        b["offset"] = r.get(8)
        if b["offset"] == goes_on:
            raise Refused("another form says this")
    b["last"] = bool(r.get(1))


def boundaries_of_new(r, new):
    if not new or not r.more() or r.get(1) == 0:
        return
    with_boundary = len(new)
    if r.get(1):
        with_boundary = r.get(5)
        if not 1 <= with_boundary < len(new):
            raise Refused("boundaries")
    i = 0
    while i < with_boundary:
        without = r.gamma() - 1
        if without > with_boundary - i:
            raise Refused("boundaries")
        for b in new[i : i + without]:
            b["boundary"] = "none"
        i += without
        if i == with_boundary:
            if without == 0:
                raise Refused("boundaries")
            return
        length = model.payload_nibbles(new[i]["k"])
        new[i]["boundary"] = place(r, (length - 1).bit_length(), length)
        i += 1


def runs_of_older(r, first_sn):
    runs, left = [], 0
    while r.more() and r.get(1):
        step = r.gamma()
        if runs and step >= left:
            raise Refused("runs")
        left = left - step if runs else step  # step from the run's first frame to the first SN
        frames = r.gamma()
        if left > 32767 or frames > left or len(runs) == 8:
            raise Refused("runs")
        boundary = place(r, 8, 216) if r.get(1) else "none"
        runs.append({"first": (first_sn - left) % 65536, "frames": frames, "boundary": boundary})
        left -= frames - 1
    return runs


def read_grant(bits):
    """The inverse of phy_model.grant_bits, and the frame number."""
    r = Bits(bits)
    grant = {
        "frame_number": r.get(12),
        "first_new_sn": r.get(16),
        "window_edge": r.get(15),
        "bins": [],
    }
    for _ in range(5):
        value = r.get(16)
        for _ in range(5):
            grant["bins"].append(
                {
                    "k": value % 9,
                    "retransmission": False,
                    "sn": 0,
                    "whole": True,
                    "offset": 0,
                    "last": True,
                    "boundary": None,
                }
            )
            value //= 9
        if value:
            raise Refused("modulation")
    used = [b for b in grant["bins"] if b["k"]]
    for b in used:
        b["retransmission"] = bool(r.get(1))
    sn, before = grant["first_new_sn"], None
    for b in used:
        if b["retransmission"]:
            retransmission_of(r, b, grant["first_new_sn"], before)
            before = b
        else:
            b["sn"] = sn
            sn = (sn + 1) % 65536
    boundaries_of_new(r, [b for b in used if not b["retransmission"]])
    grant["runs"] = runs_of_older(r, grant["first_new_sn"])
    if any(r.bits[r.at :]):
        raise Refused("ones behind the end")
    return grant


def read_content(soft, cell, in_frame, terminal=None):
    """The 240 bits of the control region, or None; soft: 400, positive = 1."""
    flip = 1 - 2 * np.array(model.sequence_bits(2, cell, in_frame, 400, terminal))
    bits = viterbi((soft * flip)[153 * np.arange(400) % 400])
    good = model.crc(bits[:240], 16, 0x1021, 0xFFFF) == bits[240:]
    return bits[:240] if good else None


def read_control(soft, cell, in_frame):
    """The grant, or None."""
    bits = read_content(soft, cell, in_frame)
    try:
        return None if bits is None else read_grant(bits)
    except Refused:
        return None


def read_form(bits):
    """The inverse of phy_model.form_bits, but for the slot, which comes modulo 1920."""
    r = Bits(bits)
    number, in_frame = r.get(6), r.get(5)
    form = {
        "slot": 30 * number + in_frame,
        "grant_ok": bool(r.get(1)),
        "ack": [r.get(1) for _ in range(25)],
        "snr": [r.get(7) for _ in range(25)],
        "nmse": r.get(7),
        "buffer": r.get(6),
    }
    if in_frame >= 30 or (any(form["ack"]) and not form["grant_ok"]):
        raise Refused("no terminal writes this")
    if model.crc(bits[:225], 15, 0x3ED7, 0x7FFF) != bits[225:]:
        raise Refused("CRC-15")
    return form


def split_uplink_grant(bits):
    """The downlink grant alone, and the uplink grant or None."""
    if bits[239] == 0:
        return bits, None
    if bits[238] == 1:
        return split_short_uplink_grant(bits)
    r = Bits(bits[184:238])
    up = {
        "first_new_sn": r.get(16),
        "window_edge": r.get(9),
        "k": r.get(3) + 1,
        "bins": r.get(5),
        "timing": (r.get(3) + 4) % 8 - 4,
        "power": (r.get(2) + 2) % 4 - 2,
        "sns": [],
    }
    retransmissions = r.gamma() - 1
    if up["bins"] > 25 or retransmissions > up["bins"]:
        raise Refused("bins")
    back = 0
    for i in range(retransmissions):
        step = r.gamma()
        back = step if i == 0 else back - step
        if not 1 <= back <= up["window_edge"]:
            raise Refused("window")
        up["sns"].append((up["first_new_sn"] - back) % 65536)
    if any(r.bits[r.at :]):
        raise Refused("ones behind the end")
    return bits[:184] + [0] * 56, up


def split_short_uplink_grant(bits):
    r = Bits(bits[:183:-1])
    r.get(2)
    up = {
        "age": r.get(5) + 1,
        "advance": r.get(7),
        "window_edge": r.get(7) if r.get(1) else None,
        "bins": None,
        "k": None,
        "timing": 0,
        "power": 0,
        "backs": [],
    }
    if r.get(1):
        up["bins"], up["k"] = r.get(5), r.get(3) + 1
    if r.get(1):
        up["timing"], up["power"] = (r.get(3) + 4) % 8 - 4, (r.get(2) + 2) % 4 - 2
        if (up["timing"], up["power"]) == (0, 0):
            raise Refused("steps of nothing")
    retransmissions = r.gamma() - 1
    most = 25 if up["bins"] is None else up["bins"]
    if most > 25 or retransmissions > most:
        raise Refused("bins")
    for i in range(retransmissions):
        step = r.gamma()
        back = step if i == 0 else up["backs"][-1] - step
        if not 1 <= back <= (511 if up["window_edge"] is None else up["window_edge"]):
            raise Refused("window")
        up["backs"].append(back)
    if r.at > 56:
        raise Refused("more than 56 bits")
    return bits[: 240 - r.at] + [0] * r.at, up


def whole_uplink_grant(up, reference, known_edge):
    """The grant that a short one stands for; reference: dict(first_new_sn, bins, k) of the grant
    that the terminal obeyed `age` slots before; known_edge: the SN of the last window edge."""
    first = (reference["first_new_sn"] + up["advance"]) % 65536
    changed = up["bins"] is not None
    bins, k = (up["bins"], up["k"]) if changed else (reference["bins"], reference["k"])
    if changed and (bins, k) == (reference["bins"], reference["k"]):
        raise Refused("the same allocation")
    edge = (first - known_edge) % 65536 if up["window_edge"] is None else up["window_edge"]
    if edge > 511 or len(up["backs"]) > bins or any(back > edge for back in up["backs"]):
        raise Refused("window or bins")
    return {
        "first_new_sn": first,
        "window_edge": edge,
        "k": k,
        "bins": bins,
        "timing": up["timing"],
        "power": up["power"],
        "sns": [(first - back) % 65536 for back in up["backs"]],
    }


def receive_uplink(samples, start, cell, terminal, slot, units):
    """One slot of the uplink that begins at `start`: its form (None if it is lost) and, for every
    bin in use, the nibbles and whether the CRC holds."""
    grid = elements(samples[start : start + SLOT])
    sent = model.qpsk(model.sequence_bits(1, cell, slot % 30, 200, terminal))
    h = channel(grid, PILOTS, sent)
    control = grid[CONTROL] * np.conj(h[CONTROL[1]])
    soft = np.stack([control.real, control.imag], axis=1).ravel()
    bits = read_content(soft, cell, slot % 30, terminal)
    frames = {}
    for b, unit in enumerate(units):
        if unit["k"]:
            symbols_of_bin = slice(108 * b, 108 * b + 108)
            symbols = (grid[PAYLOAD] / h[PAYLOAD[1]])[symbols_of_bin]
            frames[b] = read_unit(cell, unit, symbols, terminal)
    return (None if bits is None else read_form(bits)), frames


# ---------------------------------------------------------------- frames and packets


def read_unit(cell, b, symbols, terminal=None):
    """Nibbles of the payload and whether the CRC holds."""
    k = b["k"]
    labels = np.argmin(np.abs(symbols[:, None] - model.constellation(k)), axis=1)
    bits = (labels[:, None] >> np.arange(k)[::-1] & 1).ravel()
    low = b["sn"] << 8 | b["offset"]
    bits = bits ^ np.array(model.sequence_bits(3, cell, low, 108 * k, terminal))
    good = model.crc(bits[:-24], 24, 0x864CFB, 0) == list(bits[-24:])
    return bits[:-24].reshape(-1, 4) @ [8, 4, 2, 1], good


class Stream:
    """Frames by SN, counted on beyond 2^16, and the packets in them."""

    def __init__(self, retransmissions, combining):
        self.retransmissions, self.combining = retransmissions, combining
        self.next = self.first = None
        self.lengths, self.nibbles, self.boundaries, self.copies = {}, {}, {}, {}
        self.seen = {
            "whole": 0,
            "fragments": 0,
            "follow": 0,
            "back": 0,
            "boundaries": 0,
            "runs": 0,
            "lengths_by_last": 0,
            "combined": 0,
        }

    def take(self, cell, grant, symbols, noise):
        first = grant["first_new_sn"]
        if self.next is None:
            self.next = first
            self.first = first - grant["window_edge"]
        else:
            self.next += (first - self.next) % 65536
        before = None
        for number, b in enumerate(grant["bins"]):
            if b["k"] == 0:
                continue
            sn = self.next + (b["sn"] - first) % 65536
            if b["retransmission"]:
                back = (first - b["sn"]) % 65536
                if not 1 <= back <= grant["window_edge"] or not self.retransmissions:
                    continue
                sn = self.next - back
                self.count(b, before)
                before = b
            elif b["boundary"] is not None:
                self.boundaries[sn] = b["boundary"]
                self.seen["boundaries"] += b["boundary"] != "none"
            self.put(cell, sn, b, symbols[number], noise[number])
        for run in grant["runs"]:
            start = self.next - (first - run["first"]) % 65536
            for sn in range(start, start + run["frames"]):
                self.boundaries[sn] = "none"
            self.boundaries[start + run["frames"] - 1] = run["boundary"]
            self.seen["runs"] += 1
        self.next += sum(b["k"] > 0 and not b["retransmission"] for b in grant["bins"])

    def count(self, b, before):
        self.seen["whole" if b["whole"] else "fragments"] += 1
        if before is not None:
            self.seen["follow"] += before["sn"] == b["sn"]
            self.seen["back"] += (before["sn"] - b["sn"]) % 65536 in range(1, 32768)

    def put(self, cell, sn, b, symbols, noise):
        whole = model.payload_nibbles(b["k"])
        if b["whole"]:
            self.lengths[sn] = whole
        elif b["last"]:
            length = model.payload_nibbles(b["offset"] // 27 + b["k"])
            self.seen["lengths_by_last"] += sn not in self.lengths
            assert self.lengths.setdefault(sn, length) == length
        payload, good = read_unit(cell, b, symbols)
        if not good and self.combining:
            # The mean of all copies, weighted by SNR.
            copies = self.copies.setdefault((sn, b["offset"], b["k"]), [])
            copies.append((symbols, 1 / noise))
            weights = sum(w for _, w in copies)
            payload, good = read_unit(cell, b, sum(s * w for s, w in copies) / weights)
            self.seen["combined"] += good
        if good:
            self.nibbles.setdefault(sn, {}).update(enumerate(map(int, payload), b["offset"]))

    def frame(self, sn):
        """The nibbles of a frame, or None when some never came."""
        length, got = self.lengths.get(sn), self.nibbles.get(sn, {})
        if length is None or any(i not in got for i in range(length)):
            return None
        return [got[i] for i in range(length)]

    def complete(self):
        return sum(self.frame(sn) is not None for sn in self.nibbles)

    def packets(self):
        """All packets that are complete, in order."""
        out, at = [], self.boundary_from(self.first)
        while at is not None:
            sn, nibble = at
            frame = self.frame(sn)
            if frame is not None and (nibble >= len(frame) or frame[nibble] == 0):
                at = (sn + 1, 0)
                if sn + 1 >= self.next:
                    break
                continue
            packet, at = self.packet_at(sn, nibble)
            if packet is not None:
                out.append(packet)
        return out

    def boundary_from(self, sn):
        for other in range(sn, self.next):
            if self.boundaries.get(other, "none") != "none":
                return other, self.boundaries[other]
        return None

    def packet_at(self, sn, nibble):
        """(packet or None, where the next one begins)."""
        got, wanted = [], 12
        while len(got) < wanted:
            frame = self.frame(sn)
            if frame is None:
                return None, self.boundary_from(sn + 1)
            part = frame[nibble : nibble + wanted - len(got)]
            got += part
            nibble += len(part)
            if len(got) >= 12 and wanted == 12:
                head = bytes(got[i] << 4 | got[i + 1] for i in range(0, 12, 2))
                wanted = 2 * (
                    int.from_bytes(head[2:4], "big")
                    if got[0] == 4
                    else 40 + int.from_bytes(head[4:6], "big")
                )
                assert got[0] in (4, 6), "no header where one has to be"
            if nibble == len(frame):
                sn, nibble = sn + 1, 0
        return bytes(got[i] << 4 | got[i + 1] for i in range(0, len(got), 2)), (sn, nibble)


def receive(samples, cell, retransmissions=True, combining=False):
    """(packets, {slot modulo 122880: grant}, the frames). `retransmissions`: whether they are
    listened to."""
    starts, offset = timing_and_offset(samples)
    samples = samples * np.exp(-2j * np.pi * offset * np.arange(samples.size))

    def from_start(start):
        # Ten samples early, within the prefix: echoes and the error of `start` do no harm.
        grids = [
            elements(np.roll(samples[at : at + SLOT], 10))
            for at in range(start, samples.size - SLOT + 1, SLOT)
        ]
        power = [np.mean(np.abs(g[PILOTS]) ** 2) for g in grids]
        present = [i for i in range(len(grids)) if power[i] > max(power) / 4]
        return slot_in_frame(grids[present[0] : present[0] + 6], cell), grids, present

    (_, first), grids, present = max(map(from_start, starts), key=lambda found: found[0])
    stream, grants = Stream(retransmissions, combining), {}
    for i in range(present[0], present[-1] + 1):
        in_frame = (first + i - present[0]) % 30
        grid = grids[i]
        pilots = model.qpsk(model.sequence_bits(1, cell, in_frame, 200))
        y = grid[CONTROL] * np.conj(channel(grid, PILOTS, pilots)[CONTROL[1]])
        grant = read_control(np.column_stack([y.real, y.imag]).ravel(), cell, in_frame)
        if grant is None:
            continue
        slot = 30 * grant["frame_number"] + in_frame
        sent = model.control_symbols(slot, cell, model.grant_bits(slot, grant), 2)
        known = np.concatenate([pilots, sent])
        h = channel(grid, tuple(np.concatenate(p) for p in zip(PILOTS, CONTROL)), known)
        equalised = grid / h
        symbols = equalised[PAYLOAD].reshape(25, 108)
        # The noise of each bin, against its signal: from its control symbols.
        wrong = np.abs(equalised[CONTROL] - known[100:]) ** 2
        noise = wrong.reshape(25, 8).mean(axis=1) + 1e-9
        stream.take(cell, grant, symbols, noise)
        grants[slot] = grant
    return stream.packets(), grants, stream
