# SPDX-License-Identifier: GPL-3.0-or-later
"""A campaign by Snakemake, with a cheap program in the place of the emulator: killed at half, gone on with. Nothing here
judges the pace."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from demo_support import TOP, environment, wait_until

from openwip_cli.errors import BadInput
from openwip_cli.machine.places import Places
from openwip_cli.runs import pool

BUILD = pathlib.Path(environment()["OPENWIP_BUILD"])
PLACES = Places(TOP, BUILD, sys.executable)
# A run: says who it is, waits as long as its specification says, and takes its time to clean up.
RUN = f"""
import json, os, pathlib, sys, time
sys.path.insert(0, {str(TOP / "host" / "cli")!r})
from openwip_cli.runs import pool
spec, out, _, parent = sys.argv[1:]
mark = pathlib.Path("alive", str(os.getpid()))
mark.write_text("")
try:
    pool.with_parent(int(parent))
    told = json.loads(pathlib.Path(spec).read_text())
    with open("ran", "a") as f:
        f.write(told["name"] + "\\n")
    if told.get("says"):
        sys.exit(told["says"])
    time.sleep(told["seconds"])
    pool.write_json(pathlib.Path(out), told)
finally:
    mark.unlink()
"""
# A campaign of four runs, of which two do not end by themselves.
CAMPAIGN = f"""
import pathlib, sys
sys.path.insert(0, {str(TOP / "host" / "cli")!r})
from openwip_cli.machine.places import Places
from openwip_cli.runs import pool
many = pool.Pool(Places(pathlib.Path({str(TOP)!r}), pathlib.Path({str(BUILD)!r}), sys.executable), pathlib.Path(sys.argv[1]), 4, None, sys.argv[2:])
with many.owned():
    many.run({{f"{{n}}": {{"name": str(n), "seconds": 0 if n < 3 else 60}} for n in range(1, 5)}}, lambda key: print(key, flush=True))
"""


@unittest.skipUnless((BUILD / pool.SNAKEMAKE).exists(), "no Snakemake: ./openwip setup --campaigns")
class Campaign(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "alive").mkdir()
        (self.folder / "run.py").write_text(RUN)
        self.command = [sys.executable, str(self.folder / "run.py")]

    def alive(self):
        return list((self.folder / "alive").iterdir())

    def ran(self):
        return sorted((self.folder / "ran").read_text().split())

    def processes(self):
        """Processes whose command line names this folder."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    found += [entry.name] if str(self.folder).encode() in (entry / "cmdline").read_bytes() else []
                except OSError:
                    pass
        return found

    def killed_at_half(self):
        campaign = subprocess.Popen([sys.executable, "-c", CAMPAIGN, self.folder, *self.command], stdout=subprocess.PIPE, text=True)
        self.addCleanup(campaign.stdout.close)
        self.assertEqual({campaign.stdout.readline(), campaign.stdout.readline()}, {"1\n", "2\n"})
        self.assertTrue(wait_until(lambda: len(self.alive()) == 2 and len(self.ran()) == 4, 30))
        campaign.kill()
        campaign.wait(30)
        self.assertTrue(wait_until(lambda: not self.alive() and not self.processes(), 15))

    def go_on(self):
        for path in (self.folder / "specs").iterdir():
            path.write_text(json.dumps(json.loads(path.read_text()) | {"seconds": 0}))
        many, done = pool.Pool(PLACES, self.folder, 2, None, self.command), []
        with many.owned():
            many.run({key: {} for key in ("3", "4")}, done.append)
        return done

    def test_killed_at_half_it_leaves_nothing_and_no_finished_run_is_repeated(self):
        self.killed_at_half()
        self.assertEqual(sorted(p.name for p in (self.folder / "runs").iterdir()), ["1.json", "2.json"])
        self.assertEqual(sorted(self.go_on()), ["3", "4"])
        self.assertEqual(self.ran(), ["1", "2", "3", "3", "4", "4"])

    def test_a_run_that_refuses_ends_the_campaign_with_its_words(self):
        many = pool.Pool(PLACES, self.folder, 1, None, self.command)
        with self.assertRaisesRegex(BadInput, "^run 7: --channel is 'moon'$"):
            many.run({"7": {"name": "7", "says": "openwip: --channel is 'moon'"}}, lambda key: None)


if __name__ == "__main__":
    unittest.main()
