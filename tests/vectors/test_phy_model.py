# SPDX-License-Identifier: GPL-3.0-or-later
"""The C++ PHY against the NumPy model: same samples out, same frames in."""
import json
import os
import subprocess
import sys
import unittest

import numpy as np

import phy_model as model

TOOL = os.environ["PHY_TOOL"]


def random_slot(rng, sn):
    """A grant with every kind of unit and random payload; returns (grant, payload, next SN)."""
    bins, payload = [], []
    first = sn
    split = int(rng.integers(0, 22))  # bins split..split+1 carry two fragments of one old frame
    for b in range(25):
        k = int(rng.integers(0, 9))
        unit = dict(k=k, retransmission=False, sn=0, whole=True, offset=0, last=True, border=None)
        if b in (split, split + 1):
            unit["k"] = k = 1 + int(rng.integers(0, 3))
            unit.update(retransmission=True, sn=(first - 40) % 65536, whole=False,
                        offset=0 if b == split else model.payload_nibbles(bins[-1]["k"]),
                        last=b == split + 1)
        elif b == split + 2:
            unit["k"] = k = 4
            unit.update(retransmission=True, sn=(first - 3) % 65536)
        elif k:
            unit["sn"] = sn
            sn = (sn + 1) % 65536
        bins.append(unit)
        payload.append([int(n) for n in rng.integers(0, 16, model.payload_nibbles(k))] if k else [])
    # Borders of the first new frames, and of two runs of older ones.
    new = [u for u in bins if u["k"] and not u["retransmission"]]
    with_one = int(rng.integers(0, len(new)))
    for i, unit in enumerate(new[:int(rng.integers(0, 26))]):
        unit["border"] = int(rng.integers(0, model.payload_nibbles(unit["k"]))) if i == with_one else "none"
    runs = [dict(first=(first - 6) % 65536, frames=2, border=int(rng.integers(0, 2)) * 77),
            dict(first=(first - 2) % 65536, frames=1, border="none")][:int(rng.integers(0, 3))]
    return dict(first_new_sn=first, window_edge=60, bins=bins, runs=runs), payload, sn


def as_bytes(nibbles):
    padded = nibbles + [0] * (len(nibbles) % 2)
    return [padded[i] << 4 | padded[i + 1] for i in range(0, len(padded), 2)]


class PhyModel(unittest.TestCase):
    def test_modulator_makes_the_samples_of_the_model(self):
        rng = np.random.default_rng(5)
        for cell in (0, 63):
            lines, expected, sn = [], [], 65530  # the SN wraps within the test
            for slot in (0, 1, 29, 30, 31, 122879, 122880, 999999):
                grant, payload, sn = random_slot(rng, sn)
                expected.append(model.slot_samples(slot, cell, grant, payload))
                lines.append(json.dumps(dict(
                    slot=slot, first_new_sn=grant["first_new_sn"], window_edge=60, runs=grant["runs"],
                    bins=[dict(unit, bytes=as_bytes(p)) for unit, p in zip(grant["bins"], payload)])))
            run = subprocess.run([TOOL, "modulate", str(cell)], input="\n".join(lines).encode(),
                                 capture_output=True, check=True)
            got = np.frombuffer(run.stdout, dtype=np.complex64)
            want = np.concatenate(expected)
            self.assertEqual(got.size, want.size)
            self.assertLess(np.max(np.abs(got - want)), 1e-6)

    def test_receiver_reads_the_slots_of_the_model(self):
        rng = np.random.default_rng(6)
        cell, first_slot, count, sn = 17, 4711, 40, 100
        sent, samples = {}, []
        for slot in range(first_slot, first_slot + count):
            grant, payload, sn = random_slot(rng, sn)
            sent[slot] = (grant, payload)
            samples.append(model.slot_samples(slot, cell, grant, payload))
        clean = np.concatenate(samples)
        # 45 dB a subcarrier, a carrier offset of 700 Hz, 1234 samples of silence ahead.
        t = np.arange(clean.size)
        moved = clean * np.exp(2j * np.pi * 700 * t / 7.68e6)
        noise = rng.normal(size=(clean.size, 2)) @ [1, 1j]
        noise *= np.sqrt(10 ** (model.LEVEL_DBFS / 10) * 768 / 500 * 10 ** -4.5 / 2)
        air = np.concatenate([np.zeros(1234), moved + noise]).astype(np.complex64)
        run = subprocess.run([TOOL, "receive", str(cell)], input=air.tobytes(),
                             capture_output=True, check=True)
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
                    self.assertEqual(got["bins"][b]["border"], unit["border"])
                    self.assertEqual(got["bins"][b]["bytes"], as_bytes(payload[b]))
            good += 1
        self.assertGreaterEqual(good, 25)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(__file__))
    unittest.main()
