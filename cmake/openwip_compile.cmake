# SPDX-License-Identifier: GPL-3.0-or-later
# Keeps builds short, in one place when all targets are known: which targets share precompiled headers, and which are optimised less
# because none of their code runs in the slot path.
#
# Half of the time of most files goes into headers of the standard library, GoogleTest, ZeroMQ, protobuf, GNU Radio and UHD. Each
# group parses its own once; libraries that read large headers and are in no slot are compiled as one file or a few. A source file
# still includes what it uses (tests/unit/structure/test_includes.py): with -DOPENWIP_PRECOMPILE=OFF each is compiled by itself.
option(OPENWIP_PRECOMPILE "precompile the large headers of other libraries" ON)

get_property(test_programs GLOBAL PROPERTY OPENWIP_TEST_PROGRAMS)
get_property(window_programs GLOBAL PROPERTY OPENWIP_WINDOW_PROGRAMS)     # programs with Qt, whose headers are larger than all others
if(window_programs)
  list(REMOVE_ITEM test_programs ${window_programs})
endif()

# A build for use is compiled with -O2. What computes samples, symbols or channels has loops that are worth -O3; tests, command
# lines, configuration and bindings are not worth the time that -O2 takes.
function(openwip_optimise options)
  foreach(target ${ARGN})
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE "$<$<CONFIG:RelWithDebInfo>:${options}>")
      set_property(TARGET ${target} PROPERTY OPENWIP_OPTIMISED "${options}")
    endif()
  endforeach()
endfunction()
openwip_optimise(-O3 wip_sample wip_wcdma_cells wip_products wip_bin wip_symbol_channel wip_mix wip_air gnuradio-wip vusrp)
openwip_optimise(-O1 wip_tcpl openwip-monitor wip_python wip_config wip_profiles wip_air_program wip_monitor wip_radio)
openwip_optimise(-Og wip_capture wip_channel wip_emulator wip_ns3 wip_ns3_line wip_split)      # only their command lines are compiled here
openwip_optimise("-O1;-g0" ${test_programs} ${window_programs} eager_monitor eager_emulator)
if(TARGET wip_process)
  set_source_files_properties(host/runtime/program.cpp TARGET_DIRECTORY wip_process PROPERTIES SKIP_PRECOMPILE_HEADERS ON
                              COMPILE_OPTIONS "$<$<CONFIG:RelWithDebInfo>:-Og>")
endif()
if(TARGET vusrp)   # UHD's property tree consists of templates; one file compiles it once
  set_source_files_properties(channels/vusrp/device.cpp channels/vusrp/register.cpp TARGET_DIRECTORY vusrp PROPERTIES
                              COMPILE_OPTIONS "$<$<CONFIG:RelWithDebInfo>:-O1>")
endif()

set(headers_std <algorithm> <array> <cmath> <complex> <cstdint> <cstring> <functional> <limits> <map> <memory> <numbers> <optional>
                <span> <stdexcept> <string> <string_view> <utility> <vector>)

# openwip_precompile(SET HEADERS header... TARGETS target... [LIBS lib...] [OPTIONS option...] [OPTIMISE option...]): the targets share the
# headers, which need LIBS. The compiler wants the same options at both ends where they define macros, and the same position independence:
# programs, which have -fPIE, are compiled like libraries. From GCC 13 on it also refuses headers of -O2 at -O1 or -Og and the other way
# round, for options of the x86 target follow from that: OPTIMISE is what the targets have (openwip_optimise).
#
# A header that defines objects costs every file of its group, whether the file uses it or not: the validators of CLI11 are 7 s of
# processor time each. It is parsed for the files that read a command line alone.
function(openwip_precompile set)
  cmake_parse_arguments(H "" "" "HEADERS;TARGETS;LIBS;OPTIONS;OPTIMISE" ${ARGN})
  if(NOT OPENWIP_PRECOMPILE)
    return()
  endif()
  set(owner wip_headers_${set})
  set(empty ${PROJECT_BINARY_DIR}/${owner}.cpp)
  file(CONFIGURE OUTPUT ${empty} CONTENT "// so that there is something to compile\n")
  add_library(${owner} OBJECT ${empty})
  target_link_libraries(${owner} PRIVATE wip_flags ${H_LIBS})
  target_compile_options(${owner} PRIVATE ${H_OPTIONS})
  if(H_OPTIMISE)
    openwip_optimise("${H_OPTIMISE}" ${owner})
  endif()
  target_precompile_headers(${owner} PRIVATE ${H_HEADERS})
  openwip_reuse(${owner} ${H_TARGETS})
endfunction()

# openwip_is_light(TARGET OUT): whether the target is optimised less than -O2.
function(openwip_is_light target out)
  get_target_property(options ${target} OPENWIP_OPTIMISED)
  if(options MATCHES "-O[01g]")
    set(${out} less PARENT_SCOPE)
  else()
    set(${out} -O2 PARENT_SCOPE)
  endif()
endfunction()

# openwip_reuse(OWNER target...): the targets share the owner's headers.
function(openwip_reuse owner)
  openwip_is_light(${owner} of_owner)
  foreach(target ${ARGN})
    if(TARGET ${target})
      openwip_is_light(${target} of_target)
      if(NOT of_target STREQUAL of_owner)
        message(FATAL_ERROR "${target} cannot share the headers of ${owner}: one is optimised by -O2 or more, the other by less; "
                            "valid is a group of its own (cmake/openwip_compile.cmake)")
      endif()
      target_precompile_headers(${target} REUSE_FROM ${owner})
      get_target_property(type ${target} TYPE)
      if(type STREQUAL EXECUTABLE)
        target_compile_options(${target} PRIVATE -fPIC)
      endif()
    endif()
  endforeach()
endfunction()

openwip_precompile(std HEADERS ${headers_std}
  TARGETS wip_wire wip_queue wip_rlc wip_link wip_uplink wip_journal wip_packet wip_emulated_cell wip_air wip_tun wip_relay wip_trace wip_channel_program wip_sim_world
          wip_peer wip_os)
openwip_precompile(std_light HEADERS ${headers_std} TARGETS wip_config wip_profiles OPTIMISE -O1)
openwip_precompile(model HEADERS ${headers_std} TARGETS wip_sample wip_bin wip_symbol_channel OPTIONS -fno-math-errno)
if(NOT OPENWIP_CORE)
set(headers_host ${headers_std} <zmq.hpp> <spdlog/spdlog.h> <schema/control.pb.h> <schema/slot_link.pb.h> <schema/telemetry.pb.h>)
openwip_precompile(host HEADERS ${headers_host}
  TARGETS wip_process wip_station wip_macd wip_emulator_host wip_observer_readers wip_tcpl_host wip_capture_host wip_split_host macd
          wip_observer
  LIBS wip_schema PkgConfig::ZMQ spdlog::spdlog)
openwip_precompile(command HEADERS ${headers_host} <CLI/CLI.hpp>
  TARGETS wip_emulator wip_tcpl wip_capture wip_split wip_ns3_line eager_emulator
  LIBS wip_schema PkgConfig::ZMQ spdlog::spdlog CLI11::CLI11 OPTIMISE -Og)
endif()
if(OPENWIP_RADIO)
  openwip_precompile(radio HEADERS ${headers_std} <gnuradio/io_signature.h> <gnuradio/sync_block.h> <pmt/pmt.h>
    TARGETS gnuradio-wip LIBS gnuradio::gnuradio-runtime)
  # The bindings lay out what they share with gnuradio-wip for the same processor.
  get_target_property(processor wip_flags INTERFACE_COMPILE_OPTIONS)
  list(FILTER processor INCLUDE REGEX "^-march=")
  target_compile_options(wip_python PRIVATE ${processor})
endif()
if(test_programs)
  openwip_precompile(test HEADERS ${headers_std} <gtest/gtest.h> TARGETS ${test_programs} LIBS GTest::gtest OPTIMISE -O1 -g0)
endif()
if(OPENWIP_PRECOMPILE AND TARGET wip_monitor)
  openwip_reuse(wip_monitor openwip-monitor eager_monitor ${window_programs})
endif()

if(OPENWIP_PRECOMPILE)
  foreach(target wip_phy wip_phy_x86-64-v2 wip_phy_x86-64-v3)   # each one separately, since their options define different macros
    if(TARGET ${target})
      target_precompile_headers(${target} PRIVATE ${headers_std})
    endif()
  endforeach()
  foreach(target wip_air_program wip_python wip_monitor wip_simulator wip_radio wip_fader_program wip_watched)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)   # several unity files, so that several cores can work on them
    endif()
  endforeach()
endif()
