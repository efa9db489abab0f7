# SPDX-License-Identifier: GPL-3.0-or-later
"""tshark as an independent oracle of the RLC: it puts the same SDUs together from our PDUs, byte for
byte. argv[1]: rlc_capture. Where it does not, a case of few PDUs shows that the fault is its
(packet-umts_rlc.c of 4.0). tests/bench/rlc_against_tshark.py: more worlds."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from rlc_oracle import differences, sdus_of_tshark, wrong

PROGRAM = sys.argv.pop(1)


BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "rlc_against_tshark.py"


class Judging(unittest.TestCase):
    def test_each_count_that_has_to_be_0_is_told_and_none_at_all(self) -> None:
        self.assertEqual(wrong({"sdus": 1, "lost": 5, "unjudged": 2, "altered": 0}), [])
        self.assertEqual(
            wrong({"sdus": 1, "unfinished": 2, "altered": 1}), ["altered: 1", "unfinished: 2"]
        )
        self.assertEqual(wrong({}), ["no SDUs"])

    def test_an_octet_more_is_excused_only_where_one_was_left(self) -> None:
        self.assertEqual(differences(["1 1 2 ab00 >"], ["1 1 2 ab0000"]), ([], [], 1))
        self.assertEqual(differences(["1 1 2 ab00 <"], ["1 1 2 00ab00"]), ([], [], 1))
        self.assertEqual(
            differences(["1 1 2 ab <>", "1 1 2 ab"], ["1 1 2 00ab00", "1 1 2 ab"]), ([], [], 1)
        )
        for ours, theirs in (
            ("1 1 2 ab", "1 1 2 ab00"),
            ("1 1 2 ab <", "1 1 2 ab00"),
            ("1 1 2 ab >", "1 1 2 ab01"),
        ):
            self.assertEqual(differences([ours], [theirs]), ([ours[:8]], [theirs], 0))

    def test_refused_arguments(self) -> None:
        for arguments, words in (
            (["worlds", "x", "1", "f"], "FIRST is x; valid: 0 .."),
            (["worlds", "1", "0", "f"], "WORLDS is 0; valid: 1 .."),
            (["case", "am", "0", "1", "1", "f"], "PDU_BYTES is 0; valid: 8 .."),
            (["case", "um", "42", "0", "1", "f"], "SDU_BYTES is 0"),
            (["case", "am", "42", "1", "-1", "f"], "SDUS is -1"),
            (["case", "tm", "42", "1", "1", "f"], "mode is tm; valid: am, um"),
            (["case", "am", "42", "30", "1", "/dev/null", "1"], "SN is 1; valid: 0 .. 0"),
            (["case", "am"], "worlds FIRST"),
            (["worlds", "1", "1", "/nowhere/f"], "FILE is /nowhere/f"),
        ):
            done = subprocess.run(
                [PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=60
            )
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), arguments)
            self.assertIn(words, done.stderr)

    def test_the_bench_refuses_what_cannot_run(self) -> None:
        for arguments, words in (
            (["/nowhere/rlc_capture", "10"], "RLC_CAPTURE is /nowhere/rlc_capture"),
            ([PROGRAM, "0"], "WORLDS is 0"),
        ):
            done = subprocess.run(
                [sys.executable, BENCH, *arguments],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), arguments)
            self.assertIn(words, done.stderr)


@unittest.skipUnless(shutil.which("tshark"), "no tshark here")
class Oracle(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "rlc.pcap"

    def ours(self, *arguments: object) -> list[str]:
        return subprocess.run(
            [PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True, timeout=60
        ).stdout.splitlines()

    def case(
        self, mode: str, pdu_bytes: int, sdu_bytes: int, sdus: int, order: str = ""
    ) -> tuple[list[str], list[str]]:
        """Sends `sdus` SDUs, their PDUs in this order. Returns the SDUs by our receiver and by
        tshark."""
        ours = self.ours("case", mode, pdu_bytes, sdu_bytes, sdus, self.file, *order.split())
        return ours, sdus_of_tshark(self.file)


class Worlds(Oracle):
    def test_random_worlds_of_both_modes(self) -> None:
        ours = self.ours("worlds", 1, 400, self.file)
        counts = {name: int(value) for name, value in (c.split("=") for c in ours.pop().split())}
        self.assertEqual(wrong(counts), [])
        for name, least in (
            ("acknowledged", 200),
            ("unacknowledged", 100),
            ("wrapped", 5),
            ("lost", 1000),
            ("overtaken", 50),
            ("sorted", 200),
        ):
            self.assertGreater(counts[name], least, name)
        missing, extra, octets = differences(ours, sdus_of_tshark(self.file))
        self.assertEqual((missing, extra), ([], []))
        self.assertGreater(octets, 5)
        self.assertGreater(len(ours), 3000)
        self.assertLess(octets, len(ours) / 50)

    def test_an_altered_octet_is_seen(self) -> None:
        ours, theirs = self.case("um", 41, 30, 1)
        self.assertEqual(theirs, ours)
        file = bytearray(self.file.read_bytes())
        file[-20] ^= 1
        self.file.write_bytes(file)
        self.assertEqual([len(d) for d in differences(ours, sdus_of_tshark(self.file))[:2]], [1, 1])

    def test_a_bearer_of_unacknowledged_mode(self) -> None:
        ours = self.ours("bearer", self.file)
        self.assertEqual(len(ours), 30)
        self.assertEqual(sdus_of_tshark(self.file), ours)


class Orders(Oracle):
    """Two SDUs of 100 octets in PDUs 0 to 5 of 40: 2 has the end of one and the beginning of the
    next, 5 the end."""

    def test_doubled_pdus(self) -> None:
        ours, theirs = self.case("am", 42, 100, 2, "0 1 1 2 0 3 4 2 5 5")
        self.assertEqual(len(ours), 2)
        self.assertEqual(theirs, ours)

    def test_late_pdus_of_one_sdu(self) -> None:
        ours, theirs = self.case("am", 42, 100, 2, "1 0 4 3 2 5")
        self.assertEqual(len(ours), 2)
        self.assertEqual(theirs, ours)

    def test_tshark_joins_sdus_whose_ends_came_in_another_order(self) -> None:
        # PDU 2 comes last, as after a loss. tshark keeps the ends as they came: 5, 2.
        ours, theirs = self.case("am", 42, 100, 2, "0 1 3 4 5 2")
        self.assertEqual(len(ours), 2)
        self.assertFalse(set(ours) & set(theirs))


class Wraps(Oracle):
    def test_tshark_loses_what_lies_across_the_wrap_of_the_acknowledged_mode(self) -> None:
        # tshark takes number 0 for a new connection (rlc_am_reassemble), so that for it an SDU
        # begins there: the rest of this one.
        ours, theirs = self.case("am", 42, 1490, 112)
        missing, extra, _ = differences(ours, theirs)
        self.assertEqual((len(missing), len(extra)), (1, 1))
        self.assertTrue(missing[0].endswith(extra[0].split()[-1]))

    def test_unacknowledged_mode_wraps(self) -> None:
        ours, theirs = self.case("um", 41, 990, 20)
        self.assertEqual(len(ours), 20)
        self.assertEqual(theirs, ours)

    def test_tshark_keeps_what_was_left_of_a_sequence_that_was_broken(self) -> None:
        # PDU 3 is lost. It waits for it beyond the next SDU, and what it has of the broken one
        # spoils others 128 PDUs on.
        ours, theirs = self.case("um", 41, 100, 100, " ".join(str(i) for i in range(250) if i != 3))
        self.assertGreater(len(ours), 95)
        self.assertLess(len(theirs), 90)

    def test_tshark_keeps_an_octet_left_alone_for_the_number_128_later(self) -> None:
        # LIs of 15 bits: header 1, "an SDU begins" 2, LI 2, 178 octets, and one left alone that it
        # takes for a piece of the next SDU.
        ours, theirs = self.case("um", 184, 178, 200)
        self.assertEqual(len(ours), 200)
        self.assertEqual(theirs, ours[:128])


if __name__ == "__main__":
    unittest.main()
