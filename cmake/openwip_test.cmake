# SPDX-License-Identifier: GPL-3.0-or-later
# ./openwip test runs one more test at a time than there are cores. A test that depends on the wall clock, on other processes or on a cell
# runs without others of its kind. That leaves half of the machine idle in the mean, in which tests run that are arithmetic only (the same
# result however slowly they run); they have the lowest priority, so that a cell stays valid beside them. Tests of the first kind start first
# (COST), since they take longest: one after the other, or, where a cell may be slow, two at a time (openwip_has_half).
find_program(CHRT chrt)
set(OPENWIP_LOWEST "")
if(CHRT)
  execute_process(COMMAND ${CHRT} -i 0 ${CMAKE_COMMAND} -E true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)   # some containers refuse it
  if(refused EQUAL 0)
    set(OPENWIP_LOWEST ${CHRT} -i 0)
  endif()
endif()
set(OPENWIP_MACHINE half_1 half_2)
# Its property NAME: the Python test NAME has the lowest priority (openwip_runs_beside).
add_custom_target(openwip_lowest)

# Time limit of a test at the lowest priority, in seconds: in a cross build an emulator computes every instruction in software.
set(OPENWIP_LOWEST_TIMEOUT 900)
if(CMAKE_CROSSCOMPILING_EMULATOR)
  set(OPENWIP_LOWEST_TIMEOUT 14400)
endif()

# openwip_beside_test(NAME COMMAND...): a test that is arithmetic only. A program of a cross build runs in the emulator; CMake puts the emulator
# only before a target that comes first in a command, and here chrt comes first.
function(openwip_beside_test name)
  set(command ${ARGN})
  list(GET command 0 program)
  if(program MATCHES "^\\$<TARGET_FILE:")
    list(PREPEND command ${CMAKE_CROSSCOMPILING_EMULATOR})
  endif()
  add_test(NAME ${name} COMMAND ${OPENWIP_LOWEST} ${command})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${OPENWIP_LOWEST_TIMEOUT})
endfunction()

# openwip_test(NAME LIBS lib... [SOURCES file...] [ALONE]): a GoogleTest program of NAME.cpp, one line each. Where one of the
# libraries of the tree is left out for want of a package, so is the test.
function(openwip_test name)
  cmake_parse_arguments(T "ALONE" "" "LIBS;SOURCES;LABELS" ${ARGN})
  foreach(lib GTest::gtest ${T_LIBS})
    if(lib MATCHES "^wip_|::" AND NOT TARGET ${lib})
      openwip_skipped_test(${name} "${lib} is not part of this build")
      return()
    endif()
  endforeach()
  if(NOT T_SOURCES)
    set(T_SOURCES ${name}.cpp)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE wip_flags ${T_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  set_property(GLOBAL APPEND PROPERTY OPENWIP_TEST_PROGRAMS ${name})
  if(T_ALONE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK "${OPENWIP_MACHINE}" COST 1)
  else()
    openwip_beside_test(${name} $<TARGET_FILE:${name}>)
  endif()
  if(T_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}")
  else()
    openwip_sanitised(${name} TESTS ${name})
  endif()
endfunction()

# openwip_sanitised(PROGRAM TESTS test...): unit and simulation tests that `ctest --preset asan` and `tsan` run, and the program that
# `cmake --build --preset asan` builds for them.
function(openwip_sanitised program)
  cmake_parse_arguments(S "" "" "TESTS" ${ARGN})
  set_tests_properties(${S_TESTS} PROPERTIES LABELS sanitised)
  set_property(GLOBAL APPEND PROPERTY OPENWIP_SANITISED ${program})
endfunction()

# openwip_test_runs_python(NAME...): the tests start the system's Python with the built modules.
function(openwip_test_runs_python)
  set_property(TEST ${ARGN} APPEND PROPERTY ENVIRONMENT
    "PYTHONPATH=${PROJECT_BINARY_DIR}/python:${PROJECT_SOURCE_DIR}/host/cli" "OPENWIP_PYTHON=${PYTHON_EXECUTABLE}"
    "OPENWIP_BUILD=${PROJECT_BINARY_DIR}" "OPENWIP_TOP=${PROJECT_SOURCE_DIR}")
endfunction()

# openwip_python_test(NAME FILE): a Python test with the system's Python and the built modules. One that leaves
# something out (no root, no tshark, ...) shows as skipped, not as passed; -V has the reason. It has the machine, if
# openwip_runs_beside does not say otherwise.
function(openwip_python_test name file)
  # openwip_runs_beside is called after this, so a generator expression decides. It yields the whole command, and never nothing, which CMake
  # before 3.31 drops and CMake 3.31 (CMP0178) starts as a program without a name.
  set(command ${PYTHON_EXECUTABLE} ${file} ${ARGN})
  set(beside ${OPENWIP_LOWEST} ${command})
  add_test(NAME ${name} COMMAND "$<IF:$<BOOL:$<TARGET_PROPERTY:openwip_lowest,${name}>>,${beside},${command}>" COMMAND_EXPAND_LISTS)
  openwip_test_runs_python(${name})
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "UHD_MODULE_PATH=${PROJECT_BINARY_DIR}/uhd_modules" "GR_CONF_CONTROLPORT_ON=False")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "\nOK [(]skipped=" RESOURCE_LOCK "${OPENWIP_MACHINE}" COST 1)
endfunction()

# openwip_runs_beside(NAME...): Python tests of this folder that are arithmetic on files, or wait for conditions alone.
function(openwip_runs_beside)
  set_tests_properties(${ARGN} PROPERTIES RESOURCE_LOCK "" COST 0 TIMEOUT ${OPENWIP_LOWEST_TIMEOUT})
  foreach(name ${ARGN})
    set_property(TARGET openwip_lowest PROPERTY ${name} ${OPENWIP_LOWEST})
  endforeach()
endfunction()

# openwip_has_half(NAME...): Python tests of this folder that wait for conditions of cells and do not evaluate their pace or verdict. They use
# half of the machine each, alternately.
function(openwip_has_half)
  foreach(name ${ARGN})
    get_property(before GLOBAL PROPERTY OPENWIP_HALF)
    set(half half_1)
    if(before STREQUAL half_1)
      set(half half_2)
    endif()
    set_property(GLOBAL PROPERTY OPENWIP_HALF ${half})
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK ${half} COST 2)     # these start before the tests that need both halves
  endforeach()
endfunction()

# openwip_skipped_test(NAME WHY): stands for a test whose subject is not part of this build, and shows as skipped.
function(openwip_skipped_test name why)
  if(OPENWIP_CORE)   # the core build does not list tests of other parts
    return()
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${why}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()
