# SPDX-License-Identifier: GPL-3.0-or-later
# Programs for 64-bit ARM, made on another machine by Debian's cross compiler (package g++-aarch64-linux-gnu) and run there by QEMU
# (package qemu-user-static). OPENWIP_SYSROOT, a variable of CMake or of the environment, is a folder with the libraries of 64-bit ARM as
# debootstrap fetches them: `python3 tests/bench/arm_core.py` makes it (docs/reference/platforms.md).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

if(NOT OPENWIP_SYSROOT)
  set(OPENWIP_SYSROOT "$ENV{OPENWIP_SYSROOT}")
endif()
if(NOT EXISTS "${OPENWIP_SYSROOT}/usr/lib/aarch64-linux-gnu")
  message(FATAL_ERROR "OPENWIP_SYSROOT is '${OPENWIP_SYSROOT}'; valid is a folder with usr/lib/aarch64-linux-gnu, such as "
                      "python3 tests/bench/arm_core.py makes (docs/reference/platforms.md)")
endif()
set(CMAKE_SYSROOT "${OPENWIP_SYSROOT}")
# Compiler checks configure projects of their own, which read this file again.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OPENWIP_SYSROOT)

# Libraries and headers are those of the folder, programs are this machine's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${OPENWIP_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR} "${OPENWIP_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${OPENWIP_SYSROOT}/usr/share/pkgconfig")

find_program(OPENWIP_QEMU_AARCH64 NAMES qemu-aarch64-static qemu-aarch64)
if(OPENWIP_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${OPENWIP_QEMU_AARCH64};-L;${OPENWIP_SYSROOT}")
endif()
