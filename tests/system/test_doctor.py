# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip doctor on this machine, without rights, and with a wrong folder of UHD's images."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from demo_support import TOP, environment, openwip

# The user is still root, who may read this tree, but has no capabilities.
WITHOUT_RIGHTS = ("setpriv", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
NO_LIMITS = ("prlimit", "--rtprio=0", "--memlock=65536")


class Doctor(unittest.TestCase):
    def examined(self, *arguments, before=(), **more):
        done = subprocess.run(
            [*before, TOP / "openwip", "doctor", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            env=environment() | more,
        )
        self.assertNotIn("Traceback", done.stderr)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def test_every_line_is_ok_or_has_what_it_costs_and_what_mends_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "d.json")
            lines = self.examined(f"--json={file}").splitlines()
            findings = json.loads(file.read_text())["findings"]
        for line, after in zip(lines[:-1], lines[1:]):
            self.assertRegex(line, "^(ok    |COSTS |      mend: )")
            if line.startswith("COSTS"):
                self.assertTrue(after.startswith("      mend: "), line)
        self.assertEqual(
            {f["what"] for f in findings}
            & {"UHD", "cores", "TUN", "real-time priority", "network namespaces"},
            {"UHD", "cores", "TUN", "real-time priority", "network namespaces"},
        )
        lacking = sum(not f["ok"] for f in findings)
        self.assertIn(f"{lacking} of them" if lacking else "nothing to mend", lines[-1])

    def test_a_wrong_folder_of_images_is_named(self):
        reported = self.examined(UHD_IMAGES_DIR="/nonexistent/images")
        self.assertIn("COSTS images of UHD: UHD_IMAGES_DIR is /nonexistent/images", reported)
        self.assertIn("unset UHD_IMAGES_DIR", reported)

    @unittest.skipIf(
        os.geteuid() != 0 or shutil.which("setpriv") is None, "needs root, to give it up"
    )
    def test_without_rights_each_is_named_with_its_remedy(self):
        reported = self.examined(before=(*NO_LIMITS, *WITHOUT_RIGHTS))
        self.assertRegex(
            reported, "COSTS real-time priority: Operation not permitted: .*\n +mend: .*rtprio"
        )
        self.assertRegex(reported, "COSTS memory locking: 65536 bytes: .*\n +mend: .*memlock")
        self.assertRegex(
            reported, "COSTS network namespaces: Operation not permitted: .*\n +mend: run as root"
        )

    def test_the_software_radio_is_found_and_a_radio_that_is_not_there_is_said(self):
        reported = self.examined("--radio", "type=vusrp")
        for words in (
            "device: type=vusrp",
            "sensor ref_locked: ",
            "clock source: internal",
            "time source: internal",
            "sensor lo_locked (receive): ",
        ):
            self.assertIn(f"ok    {words}", reported)
        self.assertNotIn("PPS", reported)
        reported = self.examined("--radio", "type=vusrp,product=nothing")
        self.assertRegex(reported, "COSTS opening the radio: .*nothing.*\n +mend: .*uhd_usrp_probe")
        self.assertIn(
            "COSTS devices: none with --radio type=b200,serial=none",
            self.examined("--radio", "type=b200,serial=none"),
        )

    def test_bad_options_are_one_line(self):
        done = openwip("doctor", "--radios")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))


if __name__ == "__main__":
    unittest.main()
