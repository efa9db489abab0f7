# SPDX-License-Identifier: GPL-3.0-or-later
"""`./openwip test` around ctest: the tests that run a second time, and its last lines."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from entry_point_world import EntryPointCase


class RunTests(EntryPointCase):
    def test_at_the_end_of_the_tests_it_says_what_was_not_tested_and_what_adds_it(self):
        build = self.world / "build"
        for program in ("sigmf/bin/sigmf_validate", "campaigns/bin/snakemake"):
            (build / program).parent.mkdir(parents=True)
            (build / program).touch()
            (build / program).chmod(0o755)
        (self.world / "tools" / "ctest").write_text(
            '#!/bin/sh\necho "100% tests passed, 0 tests failed out of 3"\nwhile [ "$1" !='
            ' --output-junit ]; do shift; done\ncat >"$2" <<EOF\n<testsuite>\n<testcase'
            ' name="test_a" status="run"/>\n<testcase name="system_test_ns3"'
            ' status="notrun">\n<skipped'
            ' message="SKIP_REGULAR_EXPRESSION_MATCHED"/>\n</testcase>\n</testsuite>\nEOF\nexit'
            ' "$CTEST_ENDS"\n'
        )
        (self.world / "tools" / "ctest").chmod(0o755)
        for ends in ("0", "8"):
            done = self.run_it("test", CTEST_ENDS=ends)
            self.assertEqual(done.returncode, int(ends), done.stderr)
            self.assertIn("\n100% tests passed, 0 tests failed out of 3\n", done.stdout)
            last = done.stdout.partition("out of 3\n")[2]
            self.assertIn(
                "test: not tested: TCP of ns-3 (--time ns3); to add it: ./openwip setup --ns3\n",
                last,
            )
            self.assertIn(
                "test: not tested: virtual time (--time virtual); to add it: ./openwip setup"
                " --virtual-time\n",
                last,
            )
            self.assertNotIn("SigMF", last)
            self.assertIn("test: 1 tests were left out, whole or in part: system_test_ns3 (", last)
        self.assertEqual((build / "openwip-skipped").read_text(), "system_test_ns3\n")

    def run_with_failures(self, failed, failed_alone):
        """`./openwip test` with a ctest of which these fail; when it is asked for some by name,
        those that are not arithmetic run, and the second ones of them fail."""
        (self.world / "tools" / "ctest").write_text(
            f"""#!/bin/sh
echo "$*" >>"{self.world}/ctest-asked"
names="test_a {" ".join(failed)}" failed="{" ".join(failed)}"
case "$*" in *" -R "*) names=$(echo " {" ".join(failed)} " | sed "s/ test_[a-z]*//g")
    failed="{" ".join(failed_alone)}" ;; esac
while [ "$1" != --output-junit ]; do shift; done
exec >"$2"
for name in $names; do
    printf '<testcase name="%s">\\n' "$name"
    case " $failed " in *" $name "*) echo '<failure message=""/>' ;; esac
    echo "</testcase>"
done
[ -z "$failed" ] || exit 8
"""
        )
        (self.world / "tools" / "ctest").chmod(0o755)
        done = self.run_it("test")
        asked = (self.world / "ctest-asked").read_text().splitlines()
        (self.world / "ctest-asked").unlink()
        return done, asked

    def test_few_failed_tests_run_again_alone_and_are_named(self):
        done, asked = self.run_with_failures(["system_a", "system_b"], [])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(
            "\ntest: 2 failed beside other tests and passed alone: system_a system_b\n", done.stdout
        )
        self.assertEqual(len(asked), 2)
        self.assertTrue(asked[1].startswith("-j 1 "), asked)
        self.assertTrue(asked[1].endswith(" -R ^(system_a|system_b)$ -LE ^sanitised$"), asked)

    def test_a_test_that_fails_alone_too_has_failed(self):
        done, asked = self.run_with_failures(["system_a", "system_b"], ["system_b"])
        self.assertEqual((done.returncode, len(asked)), (8, 2), done.stderr)
        self.assertIn("passed alone: system_a\n", done.stdout)

    def test_an_arithmetic_test_that_failed_is_not_repeated(self):
        done, _ = self.run_with_failures(["system_a", "test_sum"], [])
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertIn("passed alone: system_a\n", done.stdout)

    def test_many_failed_tests_are_not_repeated(self):
        done, asked = self.run_with_failures([f"system_{c}" for c in "abcdefghijk"], [])
        self.assertEqual((done.returncode, len(asked)), (8, 1), done.stderr)
        self.assertNotIn("alone", done.stdout)


if __name__ == "__main__":
    unittest.main()
