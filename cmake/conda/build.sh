#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Called by conda build (meta.yaml beside it): $PREFIX, $PYTHON and $CPU_COUNT are its words.
set -eu
cmake -G Ninja -B build-conda -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX="$PREFIX" -DCMAKE_PREFIX_PATH="$PREFIX" -DCMAKE_INSTALL_LIBDIR=lib \
    -DPYTHON_EXECUTABLE="$PYTHON" -DOPENWIP_MARCH=portable -DBUILD_TESTING=OFF
cmake --build build-conda --parallel "$CPU_COUNT"
for component in runtime dev; do cmake --install build-conda --component "$component"; done
# The command takes the Python of the environment, which has GNU Radio, and not the system's.
mkdir -p "$PREFIX/etc/conda/activate.d" "$PREFIX/etc/conda/deactivate.d"
# shellcheck disable=SC2016  # expanded when the environment is activated
printf 'export OPENWIP_PYTHON="$CONDA_PREFIX/bin/python"\n' >"$PREFIX/etc/conda/activate.d/openwip.sh"
printf 'unset OPENWIP_PYTHON\n' >"$PREFIX/etc/conda/deactivate.d/openwip.sh"
