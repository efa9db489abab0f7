# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ./openwip reads this: what comes before anything is installed or built. The environment of the caller is put in order, and --version,
# --help and mistyped command lines are answered.

# forget_environment: variables of the caller that change how our programs start, and are meant for others. PYTHONSAFEPATH keeps a radio from its
# modules, PYTHONWARNINGS=error ends it, GTEST_FILTER makes tests pass that did not run. `exec` and `grc` hand them on to programs of the user.
forget_environment() {
    for name in $(env | sed -n 's/^\(PYTHON[A-Z0-9_]*\)=.*/\1/p; s/^\(GTEST_[A-Z_]*\)=.*/\1/p') \
        PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION MPLBACKEND MATPLOTLIBRC; do
        unset "$name"
    done
}

# complete_environment: what a system unit, cron or `env -i` leave out.
complete_environment() {
    PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    [ -n "${HOME:-}" ] || HOME=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6)
    [ -n "$HOME" ] || HOME=/
    export PATH HOME
}

# commit: the commit of this tree, if it is a clone; without git the file that git would read.
commit() {
    [ -e "$top/.git" ] || return 0
    env -u GIT_DIR -u GIT_WORK_TREE -u GIT_INDEX_FILE git -C "$top" -c 'safe.directory=*' describe --always --dirty --tags 2>/dev/null && return
    head=$(cat "$top/.git/HEAD" 2>/dev/null) || return 0
    case $head in
        'ref: '*) head=$(cat "$top/.git/${head#ref: }" 2>/dev/null || sed -n "s| ${head#ref: }\$||p" "$top/.git/packed-refs" 2>/dev/null) ;;
    esac
    printf '%.8s\n' "$head"
}

version() {
    if [ -n "$is_installation" ]; then print_result "$(sed -n 's/^version: //p' "$top/installation")"; return; fi
    number=$(sed 1q "$top/VERSION")
    made_of=$(commit)
    print_result "openwip $number${made_of:+ ($made_of)}"
}

# print_result TEXT: a result, on standard output. Where that cannot be written it ends as the launcher does (host/cli/openwip_cli/__main__.py): with 4 and a
# line that says why; quietly with 1 where nobody reads any more.
print_result() {
    written=0
    { why=$(printf '%s\n' "$1" | { LC_ALL=C cat >&3; } 2>&1) || written=$?; } 3>&1
    case $written:$why in
        0:*) return ;;
        141:* | *'Broken pipe') exit 1 ;;
    esac
    fail "standard output: cannot be written: ${why##*: }" 4
}

# answer COMMAND [ARGUMENT...]: --help of a command, and what is wrong with a command line. Where there is no awk the command itself says it.
answer() {
    answered=0
    reported=$(LC_ALL=C awk -f "$top/host/cli/command_line.awk" -- "$top/host/cli/command_lines.txt" "$@") || answered=$?
    case $answered in
        2) exit 2 ;;
        3) print_result "$reported"; exit 0 ;;
    esac
}

# unknown_command NAME: refuses it, with the nearest commands.
unknown_command() {
    LC_ALL=C awk -v unknown_command=1 -f "$top/host/cli/command_line.awk" -- "$top/host/cli/command_lines.txt" "$1" || [ $? -ne 2 ] || exit 2
    fail "command is '$1'; valid: those that $called help lists"
}

# check_installed COMMAND [ARGUMENT...]: refuses what only a source tree can do, and what was not installed.
check_installed() {
    case "$1 ${2:-}" in
        'setup --campaigns' | 'setup --virtual-time') return ;;
        setup\ *) fail 'setup: this is an installation, which has its programs; valid here: setup --campaigns, setup --virtual-time' ;;
        build\ * | test\ * | bench\ * | curves\ *) fail "$1: this is an installation; valid: ./openwip $1 in a source tree" ;;
        monitor\ *) [ -x "$build/openwip-monitor" ] || fail 'monitor: the window is not installed here (package openwip-monitor)' ;;
    esac
}
