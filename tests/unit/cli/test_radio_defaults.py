# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences of doctor and radio probe about a station's defaults on this machine."""

import unittest

from openwip_cli.commands import radio_defaults


class Has:
    def __init__(self, **numbers):
        self.numbers = numbers

    def number(self, path):
        return self.numbers.get(path.rsplit("/", 1)[1])


def found(name, software=False, **numbers):
    return {f.what: f for f in radio_defaults.of_defaults(Has(**numbers), name, software)}


class Defaults(unittest.TestCase):
    def test_a_store_that_is_shorter_than_the_lead_is_said_with_its_numbers(self):
        says = found("e320", software=True)["transmit buffer"].says
        for part in ("8192 samples", "1.07 ms", "lead's 4 ms", "more than 0.807 ms"):
            self.assertIn(part, says)
        self.assertNotIn("lead", found("B210", software=True)["transmit buffer"].says)

    def test_a_socket_that_the_kernel_does_not_grant_costs_and_one_that_it_does_not(self):
        for granted, ok, ms in ((212992, False, "6.93 ms"), (33554432, True, "814 ms")):
            finding = found("X310", rmem_max=granted)["receive buffer"]
            self.assertEqual(finding.ok, ok)
            self.assertIn(ms, finding.says)
            self.assertEqual(finding.safe, not ok)

    def test_frames_that_usb_has_no_memory_for_cost(self):
        for granted, ok in ((16, True), (3, False), (0, True)):
            finding = found("B210", usbfs_memory_mb=granted)["receive buffer"]
            self.assertEqual(finding.ok, ok, granted)
            self.assertIn("256 frames, 68 ms", finding.says)

    def test_what_the_machine_does_not_say_costs_nothing(self):
        for name in ("B210", "n310"):
            self.assertTrue(found(name)["receive buffer"].ok)

    def test_a_software_radio_takes_nothing_of_the_machines(self):
        self.assertNotIn("receive buffer", found("n310", software=True, rmem_max=4096))

    def test_an_unknown_product_is_said(self):
        only = found("ABC9")
        self.assertEqual(list(only), ["defaults of a station"])
        self.assertIn("ABC9 is not in the table", only["defaults of a station"].says)


if __name__ == "__main__":
    unittest.main()
