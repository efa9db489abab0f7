# SPDX-License-Identifier: GPL-3.0-or-later
"""Radios of a demo: device arguments, gains and levels of each product; options that are refused;
the page of devices has the values of the table."""

import math
import pathlib
import re
import sys
import unittest

TOP = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(TOP / "host" / "cli"))

import devices_page

from openwip_cli.cell import cell as cells
from openwip_cli.cell import configuration
from openwip_cli.errors import BadInput
from openwip_cli.runs import options
from openwip_cli.settings import radios
from openwip_cli.settings import scenario as scenarios


def parse(*arguments):
    return options.parse_demo(list(arguments)).scenario


class Radios(unittest.TestCase):
    def refused(self, pattern, *arguments):
        with self.assertRaisesRegex(BadInput, pattern) as caught:
            parse(*arguments)
        self.assertNotIn("\n", str(caught.exception))

    def test_without_a_product_both_radios_are_ideal_and_the_path_has_no_gain(self):
        scenario = parse()
        self.assertEqual(
            set(map(str, radios.radios(scenario).values())), {str(radios.Radio("", 0.0, 0.0))}
        )
        air = configuration.air_config(cells.Cell("x"), scenario)
        self.assertEqual(air["paths"][0]["gain_db"], 0)
        self.assertEqual(air["nodes"]["terminal"]["noise_dbfs"], round(scenario.noise_dbfs, 4))

    def test_the_choices_are_the_products_of_the_table(self):
        setting = next(s for s in scenarios.SETTINGS if s.key == "radio.product")
        self.assertEqual(list(setting.kind.words), [radios.IDEAL, *radios.products()])

    def test_a_product_asks_for_the_clock_that_has_the_rate_of_the_cell(self):
        wanted = {
            "b200": None,
            "b210": None,
            "n210": None,
            "x310": 184320000,
            "n310": 122880000,
            "n320": None,
            "e320": 30720000,
            "x410": None,
        }
        self.assertEqual({name: radios.clock(p) for name, p in radios.products().items()}, wanted)
        self.assertEqual(
            radios.radios(parse("--product", "x310"))["base"].arguments,
            "product=x310,master_clock_rate=184320000",
        )

    def test_gains_are_in_range_and_full_scale_sent_is_full_scale_received(self):
        for name, product in radios.products().items():
            with self.subTest(name):
                scenario = parse("--product", name)
                base, terminal = (radios.radios(scenario)[role] for role in ("base", "terminal"))
                self.assertTrue(
                    product["transmit_gain"][0] <= base.gain <= product["transmit_gain"][1]
                )
                self.assertTrue(
                    product["receive_gain"][0] <= terminal.gain <= product["receive_gain"][1]
                )
                air = configuration.air_config(cells.Cell("x"), scenario)
                path, noise = air["paths"][0]["gain_db"], air["nodes"]["terminal"]["noise_dbfs"]
                self.assertAlmostEqual(base.level_db + path + terminal.level_db, 0)
                self.assertAlmostEqual(noise + terminal.level_db, scenario.noise_dbfs, 3)
                self.assertAlmostEqual(
                    air["nodes"]["base"].get("transmit_dbfs", -15.0),
                    scenarios.NOMINAL_TRANSMIT_DBFS + base.level_db,
                    3,
                )
                self.assertTrue(-200 <= path <= 100 and -200 <= noise <= 20)

    def test_the_level_that_a_transmitter_has_is_the_same_wherever_it_is_written(self):
        """blocks/types/db.h has the level; the other files cannot include it and repeat it."""
        level = float(
            re.search(r"nominal_transmit_level\{(.*)\};", (TOP / "blocks/types/db.h").read_text())[
                1
            ]
        )
        app = (TOP / "flowgraphs/apps/usrp.py").read_text()
        burst = (TOP / "channels/fader/known_burst.h").read_text()
        self.assertEqual(scenarios.NOMINAL_TRANSMIT_DBFS, level)
        self.assertEqual(
            float(
                re.search(
                    r"transmit_dbfs: .*default: ([^,]*),",
                    (TOP / "mac/schema/settings.yaml").read_text(),
                )[1]
            ),
            level,
        )
        self.assertEqual(float(re.search(r"^CARRIER_DBFS = (\S+)", app, re.MULTILINE)[1]), level)
        self.assertAlmostEqual(
            20 * math.log10(float(re.search(r" amplitude = (.*);", burst)[1])), level, 1
        )
        self.assertEqual(devices_page.SENT_DBFS, level)

    def test_each_station_may_have_a_product_of_its_own(self):
        both = radios.radios(
            parse(
                "--product",
                "b210",
                "--terminal-radio",
                "product=x310,master_clock_rate=200e6,ppm=1",
            )
        )
        self.assertEqual(both["base"].arguments, "product=b210")
        self.assertEqual(both["terminal"].arguments, "product=x310,master_clock_rate=200e6,ppm=1")
        ideal = radios.radios(
            parse("--product", "b210", "--base-radio", "product=ideal,latency_us=200")
        )
        self.assertEqual(ideal["base"].arguments, "latency_us=200")
        self.assertEqual(ideal["base"].gain, 0)

    def test_a_fader_of_two_channels_is_one_device(self):
        def nodes(*arguments):
            return configuration.fader_config(
                cells.Cell("x"), parse("--air", "cabled", *arguments)
            )["nodes"]

        for product, more in (
            ("b210", ",ppm=0,master_clock_rate=30720000"),
            ("x310", ",master_clock_rate=184320000,ppm=0"),
            ("x410", ",ppm=0"),
        ):
            found = nodes("--product", product)
            self.assertEqual(
                [(n, r["radio"], r["channel"]) for n, r in found.items()],
                [
                    (
                        n,
                        f"type=vusrp,air=x,node=fader-base:fader-terminal,product={product}{more}",
                        i,
                    )
                    for i, n in enumerate(("base", "terminal"))
                ],
            )
        for product in ("ideal", "b200"):
            self.assertEqual(
                [
                    (r["radio"].split(",")[2], r["channel"])
                    for r in nodes("--product", product).values()
                ],
                [("node=fader-base", 0), ("node=fader-terminal", 0)],
            )

    def test_what_is_wrong_is_one_line(self):
        self.refused("--product is 'b2100'; valid: ideal.b200", "--product", "b2100")
        self.refused(
            "--base-radio is 'product=usrp'; valid: product=ideal, b200",
            "--base-radio",
            "product=usrp",
        )
        self.refused(
            "--terminal-radio is 'b210'; valid: none, or device arguments",
            "--terminal-radio",
            "b210",
        )
        self.refused(
            "--fader-radio is 'none' with --product n210; valid: product=x310",
            "--product",
            "n210",
            "--air",
            "cabled",
        )
        parse("--product", "n210", "--air", "cabled", "--fader-radio", "product=x310")
        self.refused(
            "--base-radio is 'node=x'; valid: device arguments .* but type, air and node",
            "--base-radio",
            "node=x",
        )


class Page(unittest.TestCase):
    def test_the_page_shows_the_table(self):
        self.assertEqual(
            devices_page.PAGE.read_text(encoding="utf-8"),
            devices_page.page(),
            "docs/reference/devices.md is not what tests/unit/cli/devices_page.py writes",
        )

    def test_every_value_has_a_source_or_is_said_to_be_assumed(self):
        import yaml

        tree = yaml.safe_load(devices_page.TABLE.read_text(encoding="utf-8"))
        keys = {key for _, key, _ in devices_page.ROWS if key}
        for name, product in tree["products"].items():
            self.assertEqual(set(product["from"]), keys, name)
            self.assertLessEqual(set(product["from"].values()), set(tree["sources"]), name)


if __name__ == "__main__":
    unittest.main()
