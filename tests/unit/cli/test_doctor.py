# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip doctor on made-up machines: each finding is named, with what it costs and what mends
it."""

import json
import pathlib
import tempfile
import textwrap
import unittest
import unittest.mock

from openwip_cli.commands import doctor
from openwip_cli.errors import BadInput, Stop
from openwip_cli.machine.places import Places

X310 = """
--------------------------------------------------
-- UHD Device 0
--------------------------------------------------
Device Address:
    serial: 30F9A1
    addr: 192.168.40.2
    product: X310
    type: x300


--------------------------------------------------
-- UHD Device 1
--------------------------------------------------
Device Address:
    serial: 31B1C2
    product: B210
    type: b200
"""


class MadeUp(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        self.environment = {"PATH": f"{self.root}/bin"}
        (self.root / "bin").mkdir()

    def file(self, path, text):
        at = self.root / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text)

    def program(self, name, text, code=0):
        self.file(f"bin/{name}", f"#!/bin/sh\n/bin/cat <<'EOF'\n{text}\nEOF\nexit {code}\n")
        (self.root / "bin" / name).chmod(0o755)

    def found(self, check, radio=""):
        return {f.what: f for f in check(doctor.Machine(self.root, self.environment), radio)}

    def costs(self, finding, says, mend):
        self.assertFalse(finding.ok)
        self.assertRegex(finding.says, says)
        self.assertIn(mend, finding.mend)
        self.assertEqual(len(finding.lines()), 2)
        self.assertTrue(finding.lines()[0].startswith(f"COSTS {finding.what}: "))

    def test_without_uhd(self):
        self.costs(self.found(doctor.check_uhd)["UHD"], "not there", "apt-get install uhd-host")
        self.costs(
            self.found(doctor.check_radio)["devices"], "not there", "apt-get install uhd-host"
        )

    def test_images_of_uhd(self):
        self.program("uhd_config_info", f"UHD 4.3.0.0\nImages directory: {self.root}/images")
        self.costs(
            self.found(doctor.check_uhd)["images of UHD"], "none in", "uhd_images_downloader"
        )
        self.file("images/usrp_b210_fpga.bin", "")
        found = self.found(doctor.check_uhd)
        self.assertTrue(all(f.ok for f in found.values()), found)
        self.assertEqual(found["UHD"].says, "4.3.0.0")
        self.environment["UHD_IMAGES_DIR"] = "/nowhere"
        self.costs(
            self.found(doctor.check_uhd)["images of UHD"],
            "UHD_IMAGES_DIR is /nowhere",
            "unset UHD_IMAGES_DIR",
        )

    def test_images_of_another_uhd(self):
        self.program("uhd_config_info", f"UHD 4.3.0.0\nImages directory: {self.root}/images")
        self.file("images/usrp_b210_fpga.bin", "")
        self.assertIn("not written there", self.found(doctor.check_uhd)["images of UHD"].says)
        kept = {
            "b2xx_b210_fpga_default": {"repo_hash": "uhd-8c49730"},
            "x3xx_x310_fpga_default": {"repo_hash": "uhd-1111111"},
            "own": {"repo_hash": "x"},
        }
        self.file("images/inventory.json", json.dumps(kept))
        self.assertIn("is not there", self.found(doctor.check_uhd)["images of UHD"].says)
        targets = [
            f"{t:<31}: https://files.example/cache/{t[:4]}/uhd-8c49730/{t}-g8c49730.zip"
            for t in list(kept)[:2]
        ]
        self.program(
            "uhd_images_downloader",
            "\n".join(["[INFO] Potential targets in manifest file:", *targets]),
        )
        self.costs(
            self.found(doctor.check_uhd)["images of UHD"],
            r"1 of another UHD: x3xx_x310_fpga_default \(uhd-1111111, wanted uhd-8c49730\)",
            f"uhd_images_downloader --install-location {self.root}/images",
        )
        kept["x3xx_x310_fpga_default"]["repo_hash"] = "uhd-8c49730"
        self.file("images/inventory.json", json.dumps(kept))
        self.assertIn("1 in", self.found(doctor.check_uhd)["images of UHD"].says)
        self.assertTrue(self.found(doctor.check_uhd)["images of UHD"].says.endswith("of this UHD"))
        self.file("images/inventory.json", "[1]")
        self.assertIn("not written there", self.found(doctor.check_uhd)["images of UHD"].says)

    def test_a_radio_that_is_meant_is_opened_and_tells_its_reference_time_and_locks(self):
        places = Places(self.root, self.root, "python3")
        self.assertIn("not built", next(doctor.check_opened(places, "type=b200")).says)
        self.file(doctor.PROGRAM, "")
        probed = {
            "clock_source": "external",
            "clock_sources": ["internal", "external"],
            "time_source": "external",
            "time_sources": ["external"],
            "sensors": {
                "ref_locked": {"says": "Ref: unlocked", "ok": False},
                "gps_locked": {"says": "GPS: unlocked", "ok": False},
            },
            "pps": False,
            "pps_within_s": 2.5,
        }
        with unittest.mock.patch.object(doctor, "ask", return_value=probed):
            found = {f.what: f for f in doctor.check_opened(places, "type=b200")}
            self.costs(
                found["sensor ref_locked"], "unlocked", "clock_source=internal (now external)"
            )
            self.costs(found["PPS"], "no edge within 2.5 s", "PPS IN")
            self.assertTrue(found["sensor gps_locked"].ok)  # no source waits for GPS here
            probed |= {"time_source": "gpsdo"}
            found = {f.what: f for f in doctor.check_opened(places, "type=b200")}
            self.costs(found["PPS"], "no edge", "GPS antenna")
            self.costs(found["sensor gps_locked"], "unlocked", "GPS antenna")
            probed |= {"pps": True}
            self.assertTrue({f.what: f for f in doctor.check_opened(places, "type=b200")}["PPS"].ok)
        for refused in (
            BadInput("Expected FPGA compatibility number 16, but got 14"),
            Stop("the radio did not answer within 120 s"),
        ):
            with unittest.mock.patch.object(doctor, "ask", side_effect=refused):
                self.costs(
                    next(doctor.check_opened(places, "type=b200")), str(refused), "uhd_usrp_probe"
                )

    def test_devices_with_their_usb_and_network(self):
        self.program("uhd_find_devices", X310)
        self.program("ip", "192.168.40.2 dev eth7 src 192.168.40.1 uid 0")
        self.file("sys/class/net/eth7/mtu", "1500\n")
        self.file("sys/bus/usb/devices/2-1/idVendor", "2500\n")
        self.file("sys/bus/usb/devices/2-1/speed", "480\n")
        self.file("sys/bus/usb/devices/1-1/idVendor", "046d\n")  # somebody's mouse
        self.file("sys/bus/usb/devices/1-1/speed", "12\n")
        found = self.found(doctor.check_radio)
        self.assertEqual(found["device"].says, "type=b200, product=B210, serial=31B1C2")
        self.costs(found["MTU"], "1500 on eth7", "ip link set eth7 mtu 9000")
        self.assertTrue(found["MTU"].safe)
        self.costs(found["USB"], "480 Mbit/s at port 2-1", "USB 3")
        self.file("sys/class/net/eth7/mtu", "9000\n")
        self.file("sys/bus/usb/devices/2-1/speed", "5000\n")
        self.assertTrue(all(f.ok for f in self.found(doctor.check_radio).values()))

    def test_no_device_costs_something_only_when_one_is_meant(self):
        self.program("uhd_find_devices", "No UHD Devices Found", code=1)
        self.assertTrue(self.found(doctor.check_radio)["devices"].ok)
        self.costs(
            self.found(doctor.check_radio, "type=b200")["devices"],
            "none with --radio type=b200",
            "without --radio",
        )

    def test_buffers_governor_and_clock_source(self):
        for value, ok in (("212992", False), (str(doctor.SOCKET_BYTES), True)):
            for key in ("rmem_max", "wmem_max"):
                self.file(f"proc/sys/net/core/{key}", value)
            for key, finding in self.found(doctor.check_buffers).items():
                self.assertEqual(finding.ok, ok)
                if not ok:
                    self.costs(finding, "212992 bytes", f"sudo sysctl -w {key}=33554432")
        self.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
        self.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
        found = self.found(doctor.check_processor)
        self.costs(
            found["frequency governor"], "powersave", "cpupower frequency-set -g performance"
        )
        self.costs(found["clock source"], "hpet", "tsc")

    def test_tun_and_versions(self):
        self.costs(self.found(doctor.check_rights)["TUN"], "not there", "modprobe tun")
        self.file("dev/net/tun", "")
        self.assertTrue(self.found(doctor.check_rights)["TUN"].ok)

    def test_a_share_of_a_core_below_the_usual_one_holds_real_time_processes_back(self):
        for runtime, says in (
            ("950000", "950000 of 1000000 us of a core"),
            ("-1", "all of a core"),
        ):
            self.file("proc/sys/kernel/sched_rt_runtime_us", runtime + "\n")
            self.file("proc/sys/kernel/sched_rt_period_us", "1000000\n")
            share = doctor.realtime_share(doctor.Machine(self.root, self.environment))
            self.assertTrue(share.ok)
            self.assertEqual(share.says, says)
        self.file("proc/sys/kernel/sched_rt_runtime_us", "500000\n")
        self.costs(
            self.found(doctor.check_rights)["real-time share"],
            "^500000 of 1000000 us",
            "sysctl -w kernel.sched_rt_runtime_us=950000",
        )
        self.costs(
            self.found(doctor.check_versions)["versions"],
            "kernel not known",
            "./openwip setup demo",
        )
        self.program("gnuradio-config-info", "v3.8.2.0")
        self.costs(self.found(doctor.check_versions)["versions"], "3.8.2.0", "a release")
        self.program("gnuradio-config-info", "v3.10.5.1")
        self.assertTrue(self.found(doctor.check_versions)["versions"].ok)

    def test_what_a_child_may_not_do_is_told_and_does_not_reach_us(self):
        def refuse():
            raise PermissionError(1, "Operation not permitted")

        self.assertEqual(doctor.Machine.can(refuse), "Operation not permitted")
        self.assertIsNone(doctor.Machine.can(lambda: None))

    def test_fix_runs_what_is_safe_and_nothing_else(self):
        done = self.root / "done"
        script = self.root / "bin" / "mend"
        script.write_text(
            textwrap.dedent(f"""\
            #!/bin/sh
            echo "$1" >> {done}
            """)
        )
        script.chmod(0o755)
        doctor.fix(
            [
                doctor.Finding("a", "s", "c", f"{script} a", safe=True),
                doctor.Finding("b", "s", "c", f"{script} b"),
                doctor.Finding("c", "s", "", f"{script} c", safe=True),
            ]
        )
        self.assertEqual(done.read_text(), "a\n")


if __name__ == "__main__":
    unittest.main()
