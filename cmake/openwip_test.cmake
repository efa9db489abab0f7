# SPDX-License-Identifier: GPL-3.0-or-later
# openwip_test(NAME LIBS lib... [SOURCES file...]): a GoogleTest program of NAME.cpp, one line each.
function(openwip_test name)
  cmake_parse_arguments(T "" "" "LIBS;SOURCES;LABELS" ${ARGN})
  if(NOT T_SOURCES)
    set(T_SOURCES ${name}.cpp)
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE wip_flags ${T_LIBS} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support)
  add_test(NAME ${name} COMMAND ${name})
  if(T_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${T_LABELS}")
  endif()
endfunction()

# openwip_python_test(NAME FILE): a Python test with the system's Python and the built modules. One that leaves
# something out (no root, no tshark, ...) shows as skipped, not as passed; -V has the reason.
function(openwip_python_test name file)
  add_test(NAME ${name} COMMAND ${PYTHON_EXECUTABLE} ${file} ${ARGN})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "PYTHONPATH=${PROJECT_BINARY_DIR}/python:${PROJECT_SOURCE_DIR}/host/cli;UHD_MODULE_PATH=${PROJECT_BINARY_DIR}/uhd_modules;GR_CONF_CONTROLPORT_ON=False;OPENWIP_BUILD=${PROJECT_BINARY_DIR}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "\nOK [(]skipped=")
endfunction()

# openwip_left_out_test(NAME WHY): stands for a test whose subject is not part of this build, and shows as skipped.
function(openwip_left_out_test name why)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${why}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: ")
endfunction()
