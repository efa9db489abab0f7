# SPDX-License-Identifier: GPL-3.0-or-later
"""The receiver compiled for this machine, for x86-64-v2 (four lanes) and x86-64-v3 (eight), on the
same slots. The widths differ in the order of sums and in fused multiplications, in the last bits.
Where a choice lies that near to its threshold it may fall otherwise (a frame with a symbol on the
border of two, a candidate of the predictor's search); the results must then be as good."""

import math
import subprocess
import sys
import unittest

PROGRAMS = sys.argv[1:]
del sys.argv[1:]
BINS = 25
HORIZON = 3  # slots
OTHERWISE = 5e-4  # share of the frames that may have another outcome
WORST_DB = 0.05  # dB of a bin's measured SNR in a slot: a sixth of its usual error
PREDICTED_RMS_DB = 0.2  # rms difference of the predicted SNR, whose usual error is 1 dB
PREDICTED_ERROR = 0.02  # relative difference of the rms of that error


def cannot_run(program):
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        flags = next((line.split() for line in f if line.startswith("flags")), [])
    needed = {
        "x86-64-v2": ("sse4_2", "popcnt"),
        "x86-64-v3": ("avx2", "bmi2", "fma", "movbe", "f16c"),
    }
    return any(
        program.endswith(level) and not set(names) <= set(flags) for level, names in needed.items()
    )


def rms(values):
    return math.sqrt(sum(v * v for v in values) / len(values))


class reported:
    def __init__(self, program):
        lines = [
            line.split()
            for line in subprocess.run(
                [program], check=True, stdout=subprocess.PIPE, text=True
            ).stdout.splitlines()
        ]
        self.lock = [(line[0], line[1]) for line in lines]
        self.outcome = [o for line in lines for o in line[2 : 2 + BINS]]
        measured, predicted = (
            [[float(v) for v in line[n : n + BINS]] for line in lines]
            for n in (2 + BINS, 2 + 2 * BINS)
        )
        self.measured = [v for row in measured for v in row]
        self.predicted = [v for row in predicted for v in row]
        # The predictions for the slots from the 250th of each world on, against the values measured
        # in them.
        self.error = rms(
            [
                p - m
                for n in range(len(lines) - HORIZON)
                if self.lock[max(n - 250, 0)] == self.lock[n + HORIZON]
                for p, m in zip(predicted[n], measured[n + HORIZON])
            ]
        )


class Widths(unittest.TestCase):
    def test_all_widths_say_the_same_about_the_same_slots(self):
        here = reported(PROGRAMS[0])
        self.assertGreater(sum(locked == "1" for _, locked in here.lock), 1900)
        for program in PROGRAMS[1:]:
            with self.subTest(program=program):
                if cannot_run(program):
                    self.skipTest("not for this processor")
                there = reported(program)
                self.assertEqual(here.lock, there.lock)
                otherwise = sum(a != b for a, b in zip(here.outcome, there.outcome)) / len(
                    here.outcome
                )
                worst = max(abs(a - b) for a, b in zip(here.measured, there.measured))
                predicted = rms([a - b for a, b in zip(here.predicted, there.predicted)])
                print(
                    f"{program}: {100 * otherwise:.4f} % of {len(here.outcome)} frames otherwise;"
                    f" measured SNR {worst:.4f} dB at worst; predicted {predicted:.4f} dB rms, its"
                    f" error {here.error:.4f} and {there.error:.4f} dB"
                )
                self.assertLessEqual(otherwise, OTHERWISE)
                self.assertLess(worst, WORST_DB)
                self.assertLess(predicted, PREDICTED_RMS_DB)
                self.assertLess(abs(there.error / here.error - 1), PREDICTED_ERROR)


if __name__ == "__main__":
    unittest.main(verbosity=2)
