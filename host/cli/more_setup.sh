# shellcheck shell=sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ./openwip reads this: what is in no package is made under the build folder, once, by pip or from its source.

# in_venv NAME WHAT PYTHON OPTIONS LIST: programs in no Debian package, in a folder of the build that may be removed. The list has every version with the
# hashes of its wheels: nothing else is taken, no program of a source package runs, and none of it runs as root in a user's tree.
in_venv() {
    venv_log=$build/openwip-$1.log name=$1 step="setup: $2, with pip"
    shift 2
    own_build_folder
    : >"$venv_log"
    # shellcheck disable=SC2016  # expanded by the inner shell
    watched step_progress "$venv_log" as_owner sh -c '"$1" -I -m venv $2 "$0" &&
        exec "$0/bin/python3" -I -m pip install -q --disable-pip-version-check --no-deps --only-binary :all: --require-hashes -r "$3"' "$build/$name" "$@" ||
        { rm -rf "${build:?}/$name"; return 1; }
    own_build_folder
}

# Without network its test says so and is left out.
sigmf_validator() {
    [ ! -x "$build/sigmf/bin/sigmf_validate" ] || return 0
    python=$(find_python) || return 0
    in_venv sigmf 'the SigMF validator' "$python" --system-site-packages "$top/host/cli/sigmf.txt" ||
        say "setup: the SigMF validator could not be installed, its test will be left out (log: $venv_log)" >&2
}

# campaigns requirements|elsewhere: Snakemake; elsewhere: and what it needs for SLURM and Kubernetes.
campaigns() {
    for python in /usr/bin/python3 python3.11 python3; do
        if "$python" -I -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            in_venv campaigns Snakemake "$python" '' "$top/host/campaign/$1.txt"
            return
        fi
    done
    venv_log='no Python 3.11 or later with venv'
    return 1
}

# Once. What needs it cannot do without; of the tests, its own are left out.
snakemake() {
    [ ! -x "$build/campaigns/bin/snakemake" ] || return 0
    say 'setup: Snakemake, which starts runs on other machines, is missing and will be installed with pip (135 MB, half a minute)'
    campaigns requirements && return 0
    [ "$1" = test ] || fail "Snakemake could not be installed (log: $venv_log)" 1
    say "setup: Snakemake could not be installed, its tests will be left out (log: $venv_log)" >&2
}

# Once; the folder may be removed. Before anything is downloaded it is refused where no such kernel can run.
virtual_time() {
    "$top/host/virtual/build-kernel" --check || exit 2
    [ -x "$build/virtual-time/linux" ] ||
        say 'setup: the Linux kernel for virtual time is built from its source: 5 minutes of processor time, 1.1 GB of source unpacked and removed again, 5 MB stay (the package of the source: 150 MB)'
    setup build virtual-time
    own_build_folder
    log=$build/openwip-kernel.log step='setup: the Linux kernel for virtual time'
    : >"$log"
    watched step_progress "$log" as_owner "$top/host/virtual/build-kernel" "$build/virtual-time" || fail "$(tail -n 1 "$log" | sed 's/^openwip: //') (log: $log)"
    tail -n 1 "$log"
}
