# SPDX-License-Identifier: GPL-3.0-or-later
"""The sums between settings that the table has (mac/schema/settings.yaml): what a command
refuses by them. That the process refuses the same values is in tests/system/test_setting_rules.py."""

import unittest

from openwip_cli.errors import BadInput
from openwip_cli.settings import rules, scenario

DELAY, LEAD = "link.retransmission_delay_ms", "link.transmit_lead_slots"


def refused(values):
    try:
        rules.check_sums("demo", values)
    except BadInput as e:
        return str(e)
    return ""


class Sums(unittest.TestCase):
    def test_the_error_names_all_settings_and_a_time_that_is_valid(self):
        self.assertEqual(
            refused({DELAY: 8, LEAD: 10}),
            "--retransmission-delay-ms is 8: its 12 slots are fewer than --transmit-lead-slots = 10 +"
            " link.fader_slots = 0 + 3 for the feedback; valid: 8.66 ms or more, or lower values of"
            " the others",
        )
        self.assertEqual(refused({DELAY: 8.66, LEAD: 10}), "")
        self.assertEqual(refused({DELAY: None, LEAD: 10}), "")
        self.assertEqual(refused({LEAD: 10}), "")

    def test_a_time_takes_whole_slots(self):
        self.assertEqual([rules.slots_of(ms) for ms in (2, 2.01, 8 / 3, 32)], [3, 4, 4, 48])
        self.assertEqual(rules.feedback_slots(), 3)

    def test_a_demo_counts_the_slots_of_its_fader(self):
        given = scenario.Scenario({"air.over": "cabled", DELAY: 3.0})
        self.assertEqual(given.fader_slots, 3)
        with self.assertRaisesRegex(BadInput, r"is 3: its 5 slots .* link\.fader_slots = 3 \+ 3"):
            scenario.check_rules(given)
        scenario.check_rules(given.replaced({DELAY: 4.0}))


if __name__ == "__main__":
    unittest.main()
