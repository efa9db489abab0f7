# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of key figures (mac/schema/key_figures.yaml): what it names is there, and its numbers in
words. That the monitor says the same of a record: gui/test_same_meaning.py."""

import unittest

from google.protobuf.descriptor import FieldDescriptor
from openwip_schema import telemetry_pb2 as pb

from openwip_cli.figures import key_figures
from openwip_cli.shapes import Link

EVERY = key_figures.every()
NUMBERS = {
    getattr(FieldDescriptor, f"CPPTYPE_{name}")
    for name in ("DOUBLE", "FLOAT", "INT32", "INT64", "UINT32", "UINT64", "BOOL")
}


def field_at(descriptor, path):
    """(field, True if it is a list) at the end of a path. Raises KeyError: there is no such
    field."""
    step, _, rest = path.partition(".")
    name = step.partition("[")[0]
    field = descriptor.fields_by_name[name]
    a_list = field.label == field.LABEL_REPEATED
    if a_list != ("[" in step):
        raise KeyError(f"{path}: {name} {'is' if a_list else 'is not'} a list")
    return field_at(field.message_type, rest) if rest else (field, step)


class List(unittest.TestCase):
    def test_every_field_is_a_number_of_the_schema(self):
        self.assertGreater(len(EVERY), 50)
        for figure in EVERY.values():
            if figure.topic in ("", key_figures.GROWN):
                continue
            message = type(key_figures.message_of(pb.Telemetry(), figure.topic)).DESCRIPTOR
            for part in figure.parts:
                field, step = field_at(message, part.field)
                if not step.endswith("[#]"):
                    self.assertIn(field.cpp_type, NUMBERS, figure.name)
            for path in figure.needs:
                field_at(message, path)

    def test_what_grew_is_a_figure_of_the_link(self):
        grown = [f for f in EVERY.values() if f.topic == key_figures.GROWN]
        self.assertGreater(len(grown), 3)
        for figure in grown:
            self.assertIn(figure.parts[0].field, Link.__annotations__)
            self.assertEqual(figure.report, f"link.{figure.parts[0].field}")

    def test_what_is_shown_has_a_title_and_what_is_measured_a_kind(self):
        metrics = [f.metric for f in EVERY.values() if f.metric]
        self.assertEqual(len(set(metrics)), len(metrics))
        for figure in EVERY.values():
            self.assertTrue(figure.help, figure.name)
            self.assertEqual(bool(figure.views), bool(figure.row), figure.name)
            if figure.row or figure.beside is not None:
                self.assertTrue(figure.title, figure.name)
            if figure.metric:
                self.assertIn(figure.kind, ("gauge", "counter"), figure.name)
            for other in figure.beside or ():
                self.assertTrue(EVERY[other].title and EVERY[other].report, figure.name)


class Words(unittest.TestCase):
    def test_a_number_has_its_digits_and_its_unit(self):
        for name, value, text in (
            ("goodput", 3_270_000, "3.27 Mbit/s"),
            ("goodput", 999_999, "1000.0 kbit/s"),
            ("goodput", 0, "0.0 kbit/s"),
            ("snr", 16.54, "16.5 dB"),
            ("cfo", -0.3, "0 Hz"),
            ("udp_lost", 0.0123, "1.23 %"),
            ("nmse", 0.0104, "0.010"),
        ):
            self.assertEqual(key_figures.text(name, value), text)
        self.assertEqual(key_figures.words("snr", None), "SNR unknown")

    def test_lists_add_up_and_an_optional_field_that_is_absent_is_unknown(self):
        cpu = pb.CpuSample(process=[{"name": "a", "cores": 0.5}, {"name": "b", "cores": 0.25}])
        self.assertEqual(EVERY["cores"].value(cpu), 0.75)
        self.assertEqual(
            list(EVERY["cores"].readings(cpu)), [({"process": "a"}, 0.5), ({"process": "b"}, 0.25)]
        )
        self.assertEqual(EVERY["cores"].value(pb.CpuSample()), 0)
        self.assertIsNone(EVERY["pressure"].value(cpu))
        row = key_figures.row_words("cpu", "monitor", {"cpu": cpu})
        self.assertTrue(row.startswith("cores 0.75  of 0"), row)
        self.assertIn("  pressure unknown", row)

    def test_a_figure_that_does_not_apply_is_left_out_and_a_silent_topic_is_unknown(self):
        mac = pb.Telemetry(mac={"terminal": {}, "radio": {"locked": True}}).mac
        self.assertEqual(key_figures.row_words("radio", "monitor", {"status": mac}), "")
        mac.radio.mean_snr_db = 7.25
        self.assertIn(
            "SNR 7.2 dB  EVM 0.0 %", key_figures.row_words("radio", "top", {"status": mac})
        )
        silent = key_figures.row_words("time", "monitor", {}).split("  ")
        self.assertEqual(len(silent), len(key_figures.row("time", "monitor")))
        self.assertTrue(all(figure.endswith(" unknown") for figure in silent), silent)

    def test_a_report_has_them_by_their_paths(self):
        report = {"link": {"frame_error_rate": 0.02}, "tcp": None}
        self.assertEqual(EVERY["frame_error_rate"].reported(report), 0.02)
        self.assertIsNone(EVERY["tcp_goodput"].reported(report))
        self.assertIsNone(EVERY["gain"].reported(report))


if __name__ == "__main__":
    unittest.main()
