# SPDX-License-Identifier: GPL-3.0-or-later
# The families of processors that OPENWIP_MARCH=portable knows: what each program is compiled for, so that it runs on all of the family.
# Some have levels beyond, OPENWIP_LEVELS, for which the receiver is compiled once more: of these libraries the loader takes the best one that
# the processor can run. 64-bit ARM has none: the vector registers of all its processors are NEON's.
include(CheckCXXCompilerFlag)
set(OPENWIP_LEVELS "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(OPENWIP_FAMILY x86-64)
  set(OPENWIP_PORTABLE x86-64-v2)
  set(OPENWIP_LEVELS x86-64-v3 x86-64-v4)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(OPENWIP_FAMILY arm64)
  set(OPENWIP_PORTABLE armv8-a)
else()
  set(OPENWIP_FAMILY other)
endif()

# openwip_march(CHOICE OUT): sets OUT to the value of -march for the choice on this processor. An invalid choice is an error that names
# the valid ones.
function(openwip_march choice out)
  set(march "${choice}")
  if(march STREQUAL portable)
    set(march "${OPENWIP_PORTABLE}")
    if(NOT march)
      message(FATAL_ERROR "OPENWIP_MARCH=portable is for x86-64 and 64-bit ARM, and this processor is ${CMAKE_SYSTEM_PROCESSOR}; "
                          "valid are native and the compiler's names for -march")
    endif()
  endif()
  string(MAKE_C_IDENTIFIER "OPENWIP_HAS_${march}" known)
  check_cxx_compiler_flag(-march=${march} ${known})
  if(NOT ${known})
    set(valid "native, ")
    if(CMAKE_CROSSCOMPILING)      # this machine is not the one that the programs are for
      set(valid "")
    endif()
    if(OPENWIP_PORTABLE AND NOT choice STREQUAL portable)
      string(APPEND valid "portable (${OPENWIP_PORTABLE}), ")
    endif()
    message(FATAL_ERROR "OPENWIP_MARCH=${choice}: the compiler has no -march=${march} for ${CMAKE_SYSTEM_PROCESSOR}; "
                        "valid are ${valid}and the compiler's names for -march")
  endif()
  set(${out} "${march}" PARENT_SCOPE)
endfunction()
