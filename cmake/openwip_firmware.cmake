# SPDX-License-Identifier: GPL-3.0-or-later
# The attenuator's firmware for its boards: a project with a compiler of its own (firmware/CMakeLists.txt), which this one builds if that
# compiler is installed. Target: attenuator_firmware.
find_program(ARM_COMPILER arm-none-eabi-g++)
find_program(QEMU_ARM qemu-system-arm)
if(TARGET wip_attenuator AND ARM_COMPILER AND QEMU_ARM)
  file(GLOB_RECURSE sources ${PROJECT_SOURCE_DIR}/firmware/*)
  set(binary ${PROJECT_BINARY_DIR}/firmware/arm)
  add_custom_command(
    OUTPUT ${binary}.built
    COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR}/firmware -B ${binary} -G ${CMAKE_GENERATOR} -DPYTHON_EXECUTABLE=${PYTHON_EXECUTABLE} --log-level=WARNING
    COMMAND ${CMAKE_COMMAND} --build ${binary}
    COMMAND ${CMAKE_COMMAND} -E touch ${binary}.built
    DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/mac/schema/attenuator.proto)
  add_custom_target(attenuator_firmware ALL DEPENDS ${binary}.built)
endif()
