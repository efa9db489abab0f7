# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ./openwip reads this: `test` runs ctest and says at the end which features of this tree it could not test, and what adds them.

# run_tests [CTEST OPTION...]: ctest in the build folder. One more test at a time than there are cores, for some wait more than they compute; what needs
# the wall clock runs alone or by two (cmake/openwip_test.cmake). The names of the tests that were left out stand in openwip-skipped afterwards.
run_tests() {
    cd "$build"
    rm -f openwip-tests.xml openwip-skipped
    ended=0
    ctest -j "$(($(nproc) + 1))" --output-on-failure --output-junit "$build/openwip-tests.xml" "$@" || ended=$?
    if [ -s openwip-tests.xml ]; then
        skipped_tests >openwip-skipped
        say_what_was_left_out
    fi
    [ -n "${OPENWIP_NO_BUILD:-}" ] || own_build_folder
    return $ended
}

# skipped_tests: one a line, as the JUnit file of ctest has them.
skipped_tests() {
    awk '/<testcase / { name = ""; if (match($0, / name="[^"]*"/)) name = substr($0, RSTART + 7, RLENGTH - 8) }
         /<skipped/ && name != "" { print name; name = "" }' openwip-tests.xml
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
    count=$(wc -l <openwip-skipped)
    features | while IFS='|' read -r feature command; do say "test: not tested: $feature; to add it: $command"; done
    [ "$count" -eq 0 ] || say "test: $((count)) tests were left out, whole or in part: $(tr '\n' ' ' <openwip-skipped)(./openwip test -V -R NAME says why)"
}
