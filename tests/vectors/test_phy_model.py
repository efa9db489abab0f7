# SPDX-License-Identifier: GPL-3.0-or-later
"""The C++ PHY against the NumPy model: same samples out, same frames in. And the C++ base station
against a receiver written as the page has it (phy_demodulator.py), and one from the page alone
(page_reader.py): the packets come out of the samples, frames that were sent again too."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import page_reader
import phy_demodulator as stranger
import phy_model as model

TOOL = os.environ["PHY_TOOL"]


def random_slot(rng, sn):
    """A grant that fits, with every kind of unit and random payload; returns (grant, payload, next
    SN)."""
    while True:
        grant, payload, after = any_slot(rng, sn)
        try:
            model.grant_bits(0, grant)
            return grant, payload, after
        except ValueError:
            pass


def any_slot(rng, sn):
    bins, payload = [], []
    first = sn
    split = int(rng.integers(0, 22))  # bins split..split+1 carry two fragments of one old frame
    for b in range(25):
        k = int(rng.integers(0, 9))
        unit = {
            "k": k,
            "retransmission": False,
            "sn": 0,
            "whole": True,
            "offset": 0,
            "last": True,
            "boundary": None,
        }
        if b in (split, split + 1):
            unit["k"] = k = 1 + int(rng.integers(0, 3))
            unit.update(
                retransmission=True,
                sn=(first - 40) % 65536,
                whole=False,
                offset=0 if b == split else model.payload_nibbles(bins[-1]["k"]),
                last=b == split + 1,
            )
        elif b == split + 2:
            unit["k"] = k = 4
            unit.update(retransmission=True, sn=(first - 3) % 65536)
        elif b == split + 3:  # back in SN, or forth; of the frame that is cut, or another
            unit["k"] = k = 1 + int(rng.integers(0, 8))
            unit.update(
                retransmission=True, sn=(first - int(rng.choice([40, 1, 2, 60, 17]))) % 65536
            )
            if rng.integers(0, 2):
                unit.update(
                    whole=False, offset=int(rng.integers(0, 190)), last=bool(rng.integers(0, 2))
                )
        elif k:
            unit["sn"] = sn
            sn = (sn + 1) % 65536
        bins.append(unit)
        payload.append([int(n) for n in rng.integers(0, 16, model.payload_nibbles(k))] if k else [])
    # Boundaries of the first new frames, and of two runs of older ones.
    new = [u for u in bins if u["k"] and not u["retransmission"]]
    for unit in new[: int(rng.integers(0, 26))]:
        unit["boundary"] = (
            int(rng.integers(0, model.payload_nibbles(unit["k"]))) if rng.random() < 0.1 else "none"
        )
    runs = [
        {"first": (first - 6) % 65536, "frames": 2, "boundary": int(rng.integers(0, 2)) * 77},
        {"first": (first - 2) % 65536, "frames": 1, "boundary": "none"},
    ][: int(rng.integers(0, 3))]
    return {"first_new_sn": first, "window_edge": 60, "bins": bins, "runs": runs}, payload, sn


def random_sections(rng, slot, sn):
    """Up to three of the terminals 0 to 3, with units of every kind; `sn` goes on. Full sections in
    every fourth slot."""
    while True:
        grant, payload, _ = any_slot(rng, 1000)
        served = sorted(rng.permutation(4)[: 1 + int(rng.integers(0, 3))])
        owner = [int(rng.choice(served)) for _ in range(25)]
        sections, after = [None] * 8, list(sn)
        for t in served:
            bins = []
            for b, unit in enumerate(grant["bins"]):
                mine = dict(unit, k=unit["k"] if owner[b] == t else 0)
                if mine["k"] and mine["retransmission"]:
                    mine["sn"] = (mine["sn"] - 1000 + sn[t]) % 65536
                elif mine["k"]:
                    mine["sn"] = after[t]
                    after[t] = (after[t] + 1) % 65536
                bins.append(mine)
            sections[t] = {
                "first_new_sn": sn[t],
                "window_edge": 60 if slot % 4 == 0 else None,
                "bins": bins,
                "runs": [],
            }
            if sections[t]["window_edge"] is None and not any(b["k"] for b in bins):
                sections[t] = None
        for s in sections:  # of the new frames of a terminal, the first ones are said
            said = True
            for unit in s["bins"] if s else []:
                if unit["k"] and not unit["retransmission"]:
                    said = said and unit["boundary"] is not None
                    unit["boundary"] = unit["boundary"] if said else None
        try:
            model.common_grant_bits(slot, sections)
        except ValueError:
            continue
        sn[:] = after
        return sections, payload


def with_bytes(sections, payload):
    return [
        s and dict(s, bins=[dict(u, bytes=as_bytes(p)) for u, p in zip(s["bins"], payload)])
        for s in sections
    ]


CELL = {
    "bins": 25,
    "modulation": 0,
    "packing": True,
    "max_retransmissions": 2,
    "seed": 1,
    "first_sn": 65000,
    "first_slot": 122800,
    "edge": 16,
    "slots": 200,
    "quiet_slots": 40,
    "packets_a_slot": 2,
    "frame_loss": 0.25,
    "grant_loss": 0.04,
    "feedback_loss": 0.04,
}


def cell(number, **settings):
    """(5120 samples of each slot, what the base station says of the run)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "samples.cf32")
        run = subprocess.run(
            [TOOL, "cell", str(number), path],
            input=json.dumps(CELL | settings).encode(),
            capture_output=True,
            check=True,
        )
        output = json.loads(run.stdout)
        output["sent"] = [bytes(p) for p in output["sent"]]
        output["delivered"] = [bytes(p) for p in output["delivered"]]
        return np.fromfile(path, dtype=np.complex64).reshape(-1, 5120).astype(complex), output


def make_it_true(rng, slots, output, edge=CELL["edge"]):
    """Replaces by noise, in the samples, the frames and grants that the base station was told had
    failed."""
    bodies = []
    for samples, slot in zip(slots, output["slots"]):
        for l, start in enumerate(stranger.STARTS):
            spectrum = np.fft.fft(samples[start : start + 768])
            lost = [20 * b + n for b in slot["failed"] for m, n in model.PAYLOAD if m == l]
            if not slot["grant"]:
                lost += [20 * b + n for b in range(25) for m, n in model.CONTROL if m == l]
            bins = stranger.CARRIERS[lost] % 768 if lost else []
            spectrum[bins] = np.abs(spectrum[1:251]).mean() * (
                rng.normal(size=(len(lost), 2)) @ [1, 1j]
            )
            bodies.append(np.fft.ifft(spectrum))
    slots[:] = model.joined(bodies, edge).reshape(slots.shape)


def over_the_air(rng, slots, snr_db, cfo_hz=700, ahead=1234):
    """An echo 12 dB down, 0.5 us behind; carrier offset; silence ahead; noise."""
    clean = np.concatenate(slots)
    clean[4:] += 0.25j * clean[:-4].copy()
    moved = np.concatenate(
        [
            np.zeros(ahead),
            clean * np.exp(2j * np.pi * cfo_hz * np.arange(clean.size) / 7.68e6),
            np.zeros(5120),
        ]
    )
    noise = rng.normal(size=(moved.size, 2)) @ [1, 1j]
    return moved + noise * np.sqrt(
        10 ** (model.LEVEL_DBFS / 10) * 768 / 500 * 10 ** (-snr_db / 10) / 2
    )


def as_bytes(nibbles):
    padded = nibbles + [0] * (len(nibbles) % 2)
    return [padded[i] << 4 | padded[i + 1] for i in range(0, len(padded), 2)]


class PhyModel(unittest.TestCase):
    def test_modulator_makes_the_samples_of_the_model(self):
        rng = np.random.default_rng(5)
        for cell, edge in ((0, 0), (63, 16), (7, 1), (8, 40)):
            lines, expected, sn = [], [], 65530  # the SN wraps within the test
            for slot in (0, 1, 29, 30, 31, 122879, 122880, 999999):
                grant, payload, sn = random_slot(rng, sn)
                if slot not in (1, 30, 31, 122880):  # follows none: fades in
                    expected.append([])
                expected[-1] += model.slot_bodies(slot, cell, grant, payload)
                lines.append(
                    json.dumps(
                        {
                            "slot": slot,
                            "first_new_sn": grant["first_new_sn"],
                            "window_edge": 60,
                            "runs": grant["runs"],
                            "bins": [
                                dict(unit, bytes=as_bytes(p))
                                for unit, p in zip(grant["bins"], payload)
                            ],
                        }
                    )
                )
            run = subprocess.run(
                [TOOL, "modulate", str(cell), str(edge)],
                input="\n".join(lines).encode(),
                capture_output=True,
                check=True,
            )
            got = np.frombuffer(run.stdout, dtype=np.complex64)
            want = np.concatenate([model.joined(bodies, edge) for bodies in expected])
            self.assertEqual(got.size, want.size)
            self.assertLess(np.max(np.abs(got - want)), 1e-6)

    def test_receiver_reads_the_slots_of_the_model(self):
        rng = np.random.default_rng(6)
        cell, first_slot, count, sn = 17, 4711, 40, 100
        sent, bodies = {}, []
        for slot in range(first_slot, first_slot + count):
            grant, payload, sn = random_slot(rng, sn)
            sent[slot] = (grant, payload)
            bodies += model.slot_bodies(slot, cell, grant, payload)
        clean = model.joined(bodies, 16)
        # 45 dB a subcarrier, a carrier offset of 700 Hz, 1234 samples of silence ahead.
        t = np.arange(clean.size)
        moved = clean * np.exp(2j * np.pi * 700 * t / 7.68e6)
        noise = rng.normal(size=(clean.size, 2)) @ [1, 1j]
        noise *= np.sqrt(10 ** (model.LEVEL_DBFS / 10) * 768 / 500 * 10**-4.5 / 2)
        air = np.concatenate([np.zeros(1234), moved + noise]).astype(np.complex64)
        run = subprocess.run(
            [TOOL, "receive", str(cell)], input=air.tobytes(), capture_output=True, check=True
        )
        good = 0
        for line in run.stdout.decode().splitlines():
            got = json.loads(line)
            if not got["locked"] or not got["grant_ok"]:
                continue
            slot = got["slot"]
            # The start of a slot is an estimate; the prefix forgives 40 samples.
            self.assertLessEqual(abs(got["start"] - 1234 - (slot - first_slot) * 5120), 2)
            grant, payload = sent[slot]
            self.assertEqual(got["runs"], grant["runs"])
            for b, unit in enumerate(grant["bins"]):
                self.assertEqual(got["bins"][b]["k"], unit["k"])
                if unit["k"]:
                    self.assertTrue(got["bins"][b]["good"], f"slot {slot} bin {b}")
                    self.assertEqual(got["bins"][b]["sn"], unit["sn"])
                    self.assertEqual(got["bins"][b]["boundary"], unit["boundary"])
                    self.assertEqual(got["bins"][b]["bytes"], as_bytes(payload[b]))
            good += 1
        self.assertGreaterEqual(good, 25)

    def test_so_does_the_common_grant_of_several_terminals(self):
        rng = np.random.default_rng(11)
        cell, first_slot, count = 21, 6000, 36
        sn, sent, bodies, lines = [65500, 100, 7, 40000], {}, [], []
        for slot in range(first_slot, first_slot + count):
            sections, payload = random_sections(rng, slot, sn)
            sent[slot] = (sections, payload)
            bodies += model.common_slot_bodies(slot, cell, sections, payload)
            lines.append(json.dumps({"slot": slot, "sections": with_bytes(sections, payload)}))
        made = subprocess.run(
            [TOOL, "modulate", str(cell), "16"],
            input="\n".join(lines).encode(),
            capture_output=True,
            check=True,
        )
        clean = model.joined(bodies, 16)
        got = np.frombuffer(made.stdout, dtype=np.complex64)
        self.assertLess(np.max(np.abs(got - clean)), 1e-6)
        noise = rng.normal(size=(clean.size, 2)) @ [1, 1j]
        noise *= np.sqrt(10 ** (model.LEVEL_DBFS / 10) * 768 / 500 * 10**-4.5 / 2)
        air = np.concatenate([np.zeros(1234), clean + noise]).astype(np.complex64)
        for terminal in (0, 1, 3, 5):
            run = subprocess.run(
                [TOOL, "receive", str(cell), str(terminal)],
                input=air.tobytes(),
                capture_output=True,
                check=True,
            )
            good, frames = 0, 0
            for line in run.stdout.decode().splitlines():
                got = json.loads(line)
                if not got["locked"] or not got["grant_ok"]:
                    continue
                good += 1
                sections, payload = sent[got["slot"]]
                own = sections[terminal]
                for b in range(25):
                    unit = own["bins"][b] if own else {"k": 0}
                    self.assertEqual(got["bins"][b]["k"], unit["k"])
                    if unit["k"]:
                        self.assertTrue(got["bins"][b]["good"])
                        self.assertEqual(got["bins"][b]["sn"], unit["sn"])
                        self.assertEqual(got["bins"][b]["bytes"], as_bytes(payload[b]))
                        frames += 1
            self.assertGreaterEqual(good, 20, terminal)
            self.assertEqual(frames > 0, terminal < 4)

    def test_a_receiver_from_the_page_gets_the_packets_of_the_base_station(self):
        seen = {}
        for number, settings in (
            (3, {}),
            (63, {"seed": 2, "packing": False, "first_sn": 200, "max_retransmissions": 4}),
            (0, {"seed": 3, "bins": 10, "packets_a_slot": 1, "frame_loss": 0.4, "grant_loss": 0.1}),
        ):
            with self.subTest(cell=number, **settings):
                slots, output = cell(number, **settings)
                rng = np.random.default_rng(number)
                make_it_true(rng, slots, output)
                air = over_the_air(rng, slots, 45)
                packets, grants, stream = stranger.receive(air, number)
                first = (CELL | settings)["first_slot"]
                self.assertEqual(
                    sorted((slot - first) % 122880 for slot in grants),
                    [i for i, slot in enumerate(output["slots"]) if slot["grant"]],
                )
                self.assertGreater(len(packets), 30)
                self.assertEqual(packets, output["delivered"])
                self.assertEqual(len(output["sent"]) == len(packets), output["given_up"] == 0)
                # Without the retransmissions most of it is lost, so they must have been decoded.
                deaf, _, _ = stranger.receive(air, number, retransmissions=False)
                self.assertLess(len(deaf), len(packets) / 2)
                for what, times in stream.seen.items():
                    seen[what] = seen.get(what, 0) + times
        # Everything that the page has of retransmissions was there.
        for what in ("whole", "fragments", "follow", "boundaries", "runs", "lengths_by_last"):
            self.assertGreater(seen.get(what, 0), 10, what)

    def test_so_does_one_whose_author_knew_the_page_alone(self):
        for number, settings in (
            (3, {}),
            (63, {"seed": 2, "packing": False, "first_sn": 200, "max_retransmissions": 4}),
        ):
            with self.subTest(cell=number, **settings):
                slots, output = cell(number, slots=90, quiet_slots=30, **settings)
                rng = np.random.default_rng(number)
                make_it_true(rng, slots, output)
                noise = rng.normal(size=(slots.size, 2)) @ [1, 1j]
                air = slots.reshape(-1) + noise * np.sqrt(
                    10 ** (model.LEVEL_DBFS / 10) * 768 / 500 * 10**-4 / 2
                )
                packets, _ = page_reader.receive(air, number)
                self.assertEqual(packets, output["delivered"])
                self.assertLess(
                    len(page_reader.receive(air, number, retransmissions=False)[0]),
                    len(packets) / 2,
                )

    def test_copies_of_a_unit_can_be_combined(self):
        # 4-QAM at 7 dB: a copy alone is good in one of fourteen cases, two or three together mostly
        # are.
        slots, output = cell(
            5,
            modulation=2,
            slots=60,
            quiet_slots=20,
            frame_loss=0.6,
            max_retransmissions=30,
            grant_loss=0,
            feedback_loss=0,
        )
        air = over_the_air(np.random.default_rng(5), slots, 7)
        _, _, alone = stranger.receive(air, 5)
        packets, _, combined = stranger.receive(air, 5, combining=True)
        self.assertGreater(combined.seen["combined"], 100)
        self.assertGreater(combined.complete(), 1.2 * alone.complete())
        self.assertEqual([p for p in packets if p not in output["sent"]], [])

    def test_every_grant_of_the_model_is_read_back(self):
        rng = np.random.default_rng(7)
        sn, forms = 65530, set()
        for slot in range(300):
            grant, _, sn = random_slot(rng, sn)
            bits = model.grant_bits(slot, grant)
            read = stranger.read_grant(bits)
            self.assertEqual(read.pop("frame_number"), slot // 30)
            self.assertEqual(
                [b for b in read["bins"] if b["k"]], [b for b in grant["bins"] if b["k"]]
            )
            self.assertEqual(
                [read[k] for k in ("first_new_sn", "window_edge", "runs")],
                [grant[k] for k in ("first_new_sn", "window_edge", "runs")],
            )
            forms |= {
                (b["whole"], b["last"], b["offset"] > 0)
                for b in grant["bins"]
                if b["retransmission"]
            }
            # A one behind the end: no grant, where the last bit is not needed.
            if not any(bits[-9:]):
                with self.assertRaises(stranger.Refused):
                    stranger.read_grant(bits[:-1] + [1])
        self.assertGreaterEqual(len(forms), 4)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))
    unittest.main()
