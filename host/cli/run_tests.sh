# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ./openwip reads this: `test` runs ctest and says at the end which features of this tree it could not test, and what adds them.

# run_tests [CTEST OPTION...]: ctest in the build folder. One more test at a time than there are cores, for some wait more than they compute; what needs
# the wall clock runs alone or by two (cmake/openwip_test.cmake). The names of the tests that were left out stand in openwip-skipped afterwards, those
# that passed only when nothing ran beside them in openwip-alone.
run_tests() {
    cd "$build"
    rm -f openwip-tests.xml openwip-skipped openwip-alone
    ended=0
    ctest -j "$(($(nproc) + 1))" --output-on-failure --output-junit "$build/openwip-tests.xml" "$@" || ended=$?
    if [ -s openwip-tests.xml ]; then
        tests_with skipped openwip-tests.xml >openwip-skipped
        [ "$ended" -ne 8 ] || [ $# -gt 0 ] || run_failed_tests_alone
        say_what_was_left_out
    fi
    [ -n "${OPENWIP_NO_BUILD:-}" ] || own_build_folder
    return $ended
}

# run_failed_tests_alone: a test of the wall clock, of processes or of a window may starve on a machine that has other work. Those few that failed get
# the whole machine once, one after the other, and all that did not pass beside others are named at the end. The arithmetic tests of C++ (label
# sanitised) have the same result however slowly they run, and are not repeated; more than ten failures are no starvation.
run_failed_tests_alone() {
    failed=$(tests_with failure openwip-tests.xml)
    [ -n "$failed" ] && [ "$(say "$failed" | wc -l)" -le 10 ] || return 0
    say "test: these failed, and run again with nothing beside them: $(say "$failed" | paste -sd ' ')"
    rm -f openwip-tests-alone.xml
    ctest -j 1 --output-on-failure --output-junit "$build/openwip-tests-alone.xml" -R "^($(say "$failed" | sed 's/[^A-Za-z0-9_-]/./g' | paste -sd '|'))\$" -LE '^sanitised$' || :
    [ -s openwip-tests-alone.xml ] || return 0
    tests_with . openwip-tests-alone.xml >openwip-alone.ran
    tests_with failure openwip-tests-alone.xml >openwip-alone.failed
    grep -vxF -f openwip-alone.failed openwip-alone.ran >openwip-alone || :
    rm openwip-alone.ran openwip-alone.failed
    [ "$(wc -l <openwip-alone)" -ne "$(say "$failed" | wc -l)" ] || ended=0
}

# tests_with ELEMENT FILE: names, one a line, of the tests that have it in a JUnit file of ctest; `.` are all.
tests_with() {
    awk -v element="$1" '/<testcase / { name = ""; if (match($0, / name="[^"]*"/)) name = substr($0, RSTART + 7, RLENGTH - 8)
                                        if (element == "." && name != "") print name }
         name != "" && index($0, "<" element) { print name; name = "" }' "$2"
}

# features: name | command that adds it, of those that are not there.
features() {
    has ns3 || say 'TCP of ns-3 (--time ns3)|./openwip setup --ns3'
    [ -x virtual-time/linux ] || say "virtual time (--time virtual)|$("$top/host/virtual/build-kernel" --check 2>/dev/null && say ./openwip setup --virtual-time || say 'a computer with an x86-64 processor')"
    ${OPENWIP_PYTHON:-/usr/bin/python3} -I -c 'import nbclient, ipykernel' 2>/dev/null || say 'notebooks|./openwip setup --notebooks'
    [ -x campaigns/bin/snakemake ] || say 'campaigns on other machines (Snakemake)|./openwip setup test, with network and Python 3.11 or later'
    ${OPENWIP_PYTHON:-/usr/bin/python3} -I -B -c 'import sys; sys.path.insert(0, sys.argv[1]); from openwip_cli.ratings import browser; sys.exit(browser.find() is None)' "$top/host/cli" 2>/dev/null || say 'pages in a browser|sudo apt-get install chromium (Ubuntu: Google Chrome from its maker)'
    [ -x sigmf/bin/sigmf_validate ] || say 'the SigMF validator|./openwip setup test, with network'
    [ "$(id -u)" -eq 0 ] || say 'cells and namespaces, which need root|sudo ./openwip test'
    [ ! -s openwip-left-out ] || sed 's/^openwip \(.*\) (\(.*\))$/openwip \1|packages: \2/' openwip-left-out | grep -v '^openwip ns3|'
}

say_what_was_left_out() {
    [ ! -s openwip-alone ] || say "test: $(($(wc -l <openwip-alone))) failed beside other tests and passed alone: $(paste -sd ' ' openwip-alone)"
    count=$(wc -l <openwip-skipped)
    features | while IFS='|' read -r feature command; do say "test: not tested: $feature; to add it: $command"; done
    [ "$count" -eq 0 ] || say "test: $((count)) tests were left out, whole or in part: $(tr '\n' ' ' <openwip-skipped)(./openwip test -V -R NAME says why)"
}
