# SPDX-License-Identifier: GPL-3.0-or-later
"""The C++ uplink against the NumPy model of docs/reference/air-interface.md, both ways: samples, feedback
forms, frames and uplink grants."""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import phy_demodulator as stranger
import phy_model as model

TOOL = os.environ["UPLINK_TOOL"]


def run(*arguments, lines=(), data=b""):
    done = subprocess.run(
        [TOOL, *map(str, arguments)],
        input=data or "\n".join(json.dumps(line) for line in lines).encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout


def random_form(rng, slot):
    ok = bool(rng.integers(0, 4))
    return {
        "slot": slot,
        "grant_ok": ok,
        "ack": [int(ok and rng.integers(0, 2)) for _ in range(25)],
        "snr": [int(c) for c in rng.integers(0, 128, 25)],
        "nmse": int(rng.integers(0, 128)),
        "buffer": int(rng.integers(0, 64)),
    }


def random_grant(rng, first_new_sn):
    while True:
        up = {
            "first_new_sn": first_new_sn,
            "window_edge": int(2 ** rng.uniform(0, 9)) - 1,
            "k": int(rng.integers(1, 9)),
            "bins": int(rng.integers(0, 26)),
            "timing": int(rng.integers(-4, 4)),
            "power": int(rng.integers(-2, 2)),
            "sns": [],
        }
        back = up["window_edge"]
        while back > 0 and len(up["sns"]) < up["bins"] and rng.integers(0, 3):
            up["sns"].append((first_new_sn - back) % 65536)
            back -= int(rng.integers(1, 4))
        try:
            model.with_uplink_grant([0] * 240, up)
            return up
        except ValueError:
            pass


def random_short_grant(rng):
    while True:
        up = {
            "age": int(rng.integers(1, 33)),
            "advance": int(rng.integers(0, 128)),
            "window_edge": int(2 ** rng.uniform(0, 7)) - 1 if rng.integers(0, 2) else None,
            "bins": None,
            "k": None,
            "timing": int(rng.integers(-4, 4)) if rng.integers(0, 2) else 0,
            "power": int(rng.integers(-2, 2)) if rng.integers(0, 2) else 0,
            "backs": [],
        }
        if rng.integers(0, 2):
            up["bins"], up["k"] = int(rng.integers(0, 26)), int(rng.integers(1, 9))
        back = up["advance"] if up["window_edge"] is None else up["window_edge"]
        most = 25 if up["bins"] is None else up["bins"]
        while back > 0 and len(up["backs"]) < most and rng.integers(0, 3):
            up["backs"].append(back)
            back -= int(rng.integers(1, 4))
        try:
            model.with_short_uplink_grant([0] * 240, up)
            return up
        except ValueError:
            pass


def random_slot(rng, slot, sn):
    up = random_grant(rng, sn)
    bins = model.uplink_bins(up)
    payload = [
        [int(n) for n in rng.integers(0, 16, model.payload_nibbles(u["k"]))] if u["k"] else []
        for u in bins
    ]
    sn = (sn + up["bins"] - len(up["sns"])) % 65536
    return {"slot": slot, "up": up, "form": random_form(rng, max(slot - 1, 0))}, bins, payload, sn


def as_bytes(nibbles):
    padded = nibbles + [0] * (len(nibbles) % 2)
    return [padded[i] << 4 | padded[i + 1] for i in range(0, len(padded), 2)]


def bodies_of(slot, bins, payload, cell, terminal):
    return model.slot_bodies(
        slot["slot"], cell, {"bins": bins}, payload, terminal, model.form_bits(slot["form"])
    )


class UplinkModel(unittest.TestCase):
    def test_a_terminal_makes_the_samples_of_the_model(self):
        rng = np.random.default_rng(1)
        for cell, terminal, edge in ((0, 0, 0), (63, 7, 16), (9, 3, 40)):
            lines, expected, sn = [], [], 65500
            for number in (0, 1, 29, 30, 31, 122879, 122880, 999999):
                slot, bins, payload, sn = random_slot(rng, number, sn)
                lines.append(dict(slot, bytes=[as_bytes(p) for p in payload]))
                if number not in (1, 30, 31, 122880):  # follows none: fades in
                    expected.append([])
                expected[-1] += bodies_of(slot, bins, payload, cell, terminal)
            got = np.frombuffer(run("send", cell, terminal, edge, lines=lines), np.complex64)
            want = np.concatenate([model.joined(bodies, edge) for bodies in expected])
            self.assertEqual(got.size, want.size)
            self.assertLess(np.max(np.abs(got - want)), 1e-6)

    def test_a_base_station_written_from_the_page_reads_the_terminal(self):
        rng = np.random.default_rng(2)
        cell, terminal, lines, sent, sn = 33, 5, [], [], 10
        for number in range(100, 112):
            slot, bins, payload, sn = random_slot(rng, number, sn)
            lines.append(dict(slot, bytes=[as_bytes(p) for p in payload]))
            sent.append((slot, bins, payload))
        samples = np.frombuffer(run("send", cell, terminal, 16, lines=lines), np.complex64)
        noise = rng.normal(size=(samples.size, 2)) @ [1, 1j]
        air = samples + noise * np.sqrt(10 ** (model.LEVEL_DBFS / 10) * 768 / 500 * 10**-4.2 / 2)
        for i, (slot, bins, payload) in enumerate(sent):
            form, frames = stranger.receive_uplink(
                air, 5120 * i, cell, terminal, slot["slot"], bins
            )
            self.assertEqual(form, slot["form"])
            for b, unit in enumerate(bins):
                if unit["k"]:
                    nibbles, good = frames[b]
                    self.assertTrue(good, (i, b))
                    self.assertEqual(list(nibbles), payload[b])
        # With the sequences of another terminal there is nothing.
        form, _ = stranger.receive_uplink(air, 0, cell, 4, 100, [{"k": 0}] * 25)
        self.assertIsNone(form)

    def test_the_base_station_reads_a_terminal_written_from_the_page(self):
        rng = np.random.default_rng(3)
        cell, terminal, sn, frame = 17, 6, 64000, []
        for number in range(30):
            slot, bins, payload, sn = random_slot(rng, number, sn)
            frame.append((slot, bins, payload))
        bodies, forms = [], []
        for number in range(15, 75):  # each slot of the frame comes twice, with other forms
            slot, bins, payload = frame[number % 30]
            forms.append(random_form(rng, number - 1))
            now = {"slot": number, "form": forms[-1]}
            bodies += bodies_of(now, bins, payload, cell, terminal)
        clean = model.joined(bodies, 16)
        moved = clean * np.exp(2j * np.pi * 900 * np.arange(clean.size) / 7.68e6)
        noise = rng.normal(size=(clean.size, 2)) @ [1, 1j]
        noise *= np.sqrt(10 ** (model.LEVEL_DBFS / 10) * 768 / 500 * 10**-4.5 / 2)
        air = np.concatenate([np.zeros(777), moved + noise, np.zeros(5120)])
        air = air[: air.size // 5120 * 5120].astype(np.complex64)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as grants:
            json.dump([slot["up"] for slot, _, _ in frame], grants)
            grants.flush()
            output = run("receive", cell, terminal, grants.name, data=air.tobytes())
        heard = 0
        for line in output.decode().splitlines():
            got = json.loads(line)
            number = round((got["start"] - 777) / 5120) + 15
            if not got["heard"] or number >= 75:
                continue
            heard += 1
            self.assertLessEqual(abs(got["start"] - 777 - 5120 * (number - 15)), 2)
            self.assertEqual(got["slot_in_frame"], number % 30)
            self.assertEqual(got["form"], forms[number - 15])
            for b, unit in enumerate(frame[number % 30][1]):
                self.assertEqual(got["bins"][b]["used"], unit["k"] > 0)
                if unit["k"]:
                    self.assertTrue(got["bins"][b]["good"], (number, b))
                    self.assertEqual(got["bins"][b]["bytes"], as_bytes(frame[number % 30][2][b]))
        self.assertGreaterEqual(heard, 45)

    def test_uplink_grants_are_the_same_both_ways(self):
        rng = np.random.default_rng(4)
        lines = []
        for _ in range(500):
            up = random_grant(rng, int(rng.integers(0, 65536)))
            alone = [int(b) for b in rng.integers(0, 2, 184)] + [0] * 56
            lines.append({"alone": alone, "up": up, "both": model.with_uplink_grant(alone, up)})
            self.assertEqual(stranger.split_uplink_grant(lines[-1]["both"]), (alone, up))
        output = run("grants", lines=lines).decode().splitlines()
        self.assertEqual(len(output), 500)
        for line, got in zip(lines, output):
            self.assertEqual(json.loads(got), line)
        self.assertGreater(sum(len(line["up"]["sns"]) > 2 for line in lines), 10)

    def test_short_uplink_grants_are_the_same_both_ways(self):
        rng = np.random.default_rng(14)
        lines = []
        for _ in range(1000):
            up = random_short_grant(rng)
            alone = [int(b) for b in rng.integers(0, 2, 184)] + [0] * 56
            reference = {
                "first_new_sn": int(rng.integers(0, 65536)),
                "bins": int(rng.integers(0, 26)) if up["bins"] is None else up["bins"],
                "k": int(rng.integers(1, 9)),
            }
            edge = (reference["first_new_sn"] + up["advance"] - int(rng.integers(-5, 530))) % 65536
            try:
                whole = stranger.whole_uplink_grant(up, reference, edge)
            except stranger.Refused:
                whole = None
            both = model.with_short_uplink_grant(alone, up)
            self.assertEqual(stranger.split_uplink_grant(both), (alone, up))
            lines.append(
                {
                    "alone": alone,
                    "up": up,
                    "both": both,
                    "reference": reference,
                    "known_edge": edge,
                    "whole": whole,
                }
            )
        output = run("grants", lines=lines).decode().splitlines()
        self.assertEqual(len(output), 1000)
        for line, got in zip(lines, output):
            self.assertEqual(json.loads(got), line)
        self.assertGreater(sum(len(line["up"]["backs"]) > 2 for line in lines), 20)
        refused = sum(line["whole"] is None for line in lines)
        self.assertGreater(refused, 20)
        self.assertGreater(1000 - refused, 200)

    def test_forms_are_read_back_and_changed_ones_are_refused(self):
        rng = np.random.default_rng(5)
        for _ in range(200):
            form = random_form(rng, int(rng.integers(0, 1920)))
            bits = model.form_bits(form)
            self.assertEqual(stranger.read_form(bits), form)
            bits[int(rng.integers(0, 240))] ^= 1
            with self.assertRaises(stranger.Refused):
                stranger.read_form(bits)

    def test_no_pattern_of_less_than_six_bits_passes_both_crcs(self):
        def remainders(width, polynomial, count):
            r = 1
            for _ in range(count):
                yield r
                r = r << 1 ^ (polynomial | 1 << width if r >> (width - 1) else 0)

        # Remainders of both CRCs after an error at each of the 256 bits, the last one first.
        inner = np.array([0] * 16 + list(remainders(15, 0x3ED7, 240)))
        both = inner << 16 | np.array(list(remainders(16, 0x1021, 256)))
        # Both polynomials have an even number of terms, so no odd number of errors passes.
        for polynomial in (0x3ED7, 0x1021):
            self.assertEqual(bin(polynomial).count("1") % 2, 1)
        i, j = np.triu_indices(256, 1)
        pairs = both[i] ^ both[j]
        self.assertTrue(np.all(pairs))  # no collision of two
        self.assertEqual(np.unique(pairs).size, pairs.size)  # no collision of four
        triples = np.sort(np.concatenate([both[n] ^ pairs[i > n] for n in range(256)]))
        # Collisions of six, each of which is counted for its 10 splits into two triples.
        self.assertEqual(np.sum(triples[1:] == triples[:-1]) / 10, 284)


if __name__ == "__main__":
    unittest.main()
