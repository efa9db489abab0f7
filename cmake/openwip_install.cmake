# SPDX-License-Identifier: GPL-3.0-or-later
# An installation, which may be moved as a whole (docs/how-to/installing.md):
#   bin/openwip, bin/openwip-monitor     the commands of a user
#   lib/openwip                          the programs of a cell, openwip-NAME, what Python imports, the UHD module
#   share/openwip                        the launcher, scenarios, schemas, pages: the folders of this tree
#   lib, include, lib/cmake/openwip      libraries and headers; blocks and module where GNU Radio looks
# Components: runtime, monitor, dev; each is a Debian package.
include(GNUInstallDirs)
set(OPENWIP_PROGRAMS lib/openwip)
set(OPENWIP_SHARE share/openwip)

# openwip_install_program(TARGET [COMPONENT name]): into the folder of programs as openwip-NAME; openwip_cli/machine/places.py
# (built) finds it there by the same rule.
function(openwip_install_program target)
  cmake_parse_arguments(I "" "COMPONENT" "" ${ARGN})
  if(NOT I_COMPONENT)
    set(I_COMPONENT runtime)
  endif()
  get_target_property(name ${target} OUTPUT_NAME)
  if(NOT name)
    set(name ${target})
  endif()
  string(REGEX REPLACE "^(openwip-|wip_)" "" last ${name})
  string(REPLACE "_" "-" last ${last})
  get_target_property(options ${target} LINK_OPTIONS)
  if(NOT "-static" IN_LIST options)
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../../${CMAKE_INSTALL_LIBDIR}")
  endif()
  install(TARGETS ${target} RUNTIME DESTINATION ${OPENWIP_PROGRAMS} COMPONENT ${I_COMPONENT})
  if(NOT name STREQUAL "openwip-${last}")
    install(CODE "file(RENAME \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${OPENWIP_PROGRAMS}/${name}\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${OPENWIP_PROGRAMS}/openwip-${last}\")" COMPONENT ${I_COMPONENT})
  endif()
endfunction()

# openwip_install_tree(): installs everything that is not a target; call it when all targets are known.
function(openwip_install_tree)
  foreach(folder host/cli host/campaign host/capture/wireshark flowgraphs docs)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/ DESTINATION ${OPENWIP_SHARE}/${folder} COMPONENT runtime USE_SOURCE_PERMISSIONS
            PATTERN __pycache__ EXCLUDE PATTERN .mypy_cache EXCLUDE PATTERN Containerfile EXCLUDE REGEX "/docs/figures$" EXCLUDE)
  endforeach()
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/openwip DESTINATION ${OPENWIP_SHARE} COMPONENT runtime)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/host/capture/openwip-extcap DESTINATION ${OPENWIP_SHARE}/host/capture COMPONENT runtime)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/host/virtual/build-kernel DESTINATION ${OPENWIP_SHARE}/host/virtual COMPONENT runtime)
  install(FILES host/virtual/kernel.config host/virtual/kernel.patch DESTINATION ${OPENWIP_SHARE}/host/virtual COMPONENT runtime)
  install(FILES channels/vusrp/devices.yaml DESTINATION ${OPENWIP_SHARE}/channels/vusrp COMPONENT runtime)
  file(GLOB schemas mac/schema/*.proto mac/schema/*.yaml)
  install(FILES ${schemas} DESTINATION ${OPENWIP_SHARE}/mac/schema COMPONENT runtime)
  install(FILES LICENSE README.md DESTINATION share/doc/openwip COMPONENT runtime)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/python/openwip_schema DESTINATION ${OPENWIP_PROGRAMS}/python COMPONENT runtime PATTERN __pycache__ EXCLUDE)
  install(FILES ${PROJECT_BINARY_DIR}/openwip-parts ${PROJECT_BINARY_DIR}/openwip-left-out DESTINATION ${OPENWIP_PROGRAMS} COMPONENT runtime)
  # The kernel of virtual time, where ./openwip setup --virtual-time has made one.
  install(PROGRAMS ${PROJECT_BINARY_DIR}/virtual-time/linux DESTINATION ${OPENWIP_PROGRAMS}/virtual-time COMPONENT runtime OPTIONAL)
  install(FILES ${PROJECT_BINARY_DIR}/virtual-time/made-of DESTINATION ${OPENWIP_PROGRAMS}/virtual-time COMPONENT runtime OPTIONAL)
  if(TARGET attenuator_firmware)
    install(FILES ${PROJECT_BINARY_DIR}/firmware/arm/netduinoplus2.elf DESTINATION ${OPENWIP_PROGRAMS}/firmware/arm COMPONENT runtime OPTIONAL)
  endif()
  # The commit is determined when the installation is made.
  install(CODE "execute_process(COMMAND git -C \"${PROJECT_SOURCE_DIR}\" --no-optional-locks -c safe.directory=* describe --always --dirty --tags
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT commit)
      set(commit unknown)
    endif()
    file(WRITE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${OPENWIP_SHARE}/installation\"
      \"programs: ../../${OPENWIP_PROGRAMS}\\ncommit: \${commit}\\nversion: openwip ${OPENWIP_VERSION} (\${commit})\\n\")" COMPONENT runtime)
  foreach(command openwip openwip-monitor)
    set(arguments "")
    if(command STREQUAL openwip-monitor)
      set(arguments " monitor")
    endif()
    file(WRITE ${PROJECT_BINARY_DIR}/installed/${command} "#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
exec \"$(dirname -- \"$(readlink -f -- \"$0\")\")/../${OPENWIP_SHARE}/openwip\"${arguments} \"$@\"
")
  endforeach()
  install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/openwip DESTINATION bin COMPONENT runtime)
  if(TARGET openwip-monitor)
    install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/openwip-monitor DESTINATION bin COMPONENT monitor)
  endif()

  # `import openwip`: a folder of modules beside it is read by Python itself, where it is a site folder.
  if(GR_PYTHON_DIR)
    file(RELATIVE_PATH modules /${GR_PYTHON_DIR} /${OPENWIP_SHARE}/host/cli)
    file(WRITE ${PROJECT_BINARY_DIR}/installed/openwip.pth "${modules}\n")
    install(FILES ${PROJECT_BINARY_DIR}/installed/openwip.pth DESTINATION ${GR_PYTHON_DIR} COMPONENT runtime)
  endif()

  # Man pages and the completion of bash, from the table that ./openwip answers --help from.
  set(pages ${PROJECT_BINARY_DIR}/command-pages)
  add_custom_command(OUTPUT ${pages}/made
    COMMAND ${PYTHON_EXECUTABLE} -I -B ${PROJECT_SOURCE_DIR}/host/cli/command_pages.py ${OPENWIP_VERSION} ${pages}
    COMMAND ${CMAKE_COMMAND} -E touch ${pages}/made
    DEPENDS host/cli/command_pages.py host/cli/command_lines.txt host/cli/usage.txt COMMENT "Man pages and completion")
  add_custom_target(wip_command_pages ALL DEPENDS ${pages}/made)
  install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime)
  install(FILES ${pages}/openwip.bash DESTINATION share/bash-completion/completions RENAME openwip COMPONENT runtime)
endfunction()

# openwip_install_core(): libraries and headers of the core, for find_package(openwip): the target openwip::core.
function(openwip_install_core)
  set(libraries wip_types wip_warnings wip_flags wip_eigen wip_phy wip_port wip_wire wip_queue wip_rlc wip_journal wip_link wip_uplink wip_calendar wip_relay wip_umts
                wip_wlan wip_yaml wip_sample wip_mix wip_bin wip_symbol_channel wip_packet wip_profiles wip_emulated_cell wip_wcdma_cells wip_fader)
  set(exported "")
  foreach(library ${libraries})
    if(TARGET ${library})
      list(APPEND exported ${library})
      string(REPLACE "wip_" "" name ${library})
      set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
      # Sources lie where they are, in an installation all headers lie in one folder.
      get_target_property(folders ${library} INTERFACE_INCLUDE_DIRECTORIES)
      if(folders)
        set_target_properties(${library} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${folders}>;$<INSTALL_INTERFACE:include/openwip;include>")
      endif()
    endif()
  endforeach()
  # Data that libraries share is laid out for the processor that they are compiled for.
  get_target_property(options wip_flags INTERFACE_COMPILE_OPTIONS)
  list(FILTER options INCLUDE REGEX "^-march=")
  add_library(wip_core INTERFACE)
  list(REMOVE_ITEM exported wip_warnings wip_flags)
  target_link_libraries(wip_core INTERFACE ${exported})
  target_compile_options(wip_core INTERFACE ${options})
  target_compile_features(wip_core INTERFACE cxx_std_20)
  set_target_properties(wip_core PROPERTIES EXPORT_NAME core)
  install(TARGETS wip_core wip_warnings wip_flags ${exported} EXPORT openwip
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/openwip-core COMPONENT dev LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  install(EXPORT openwip NAMESPACE openwip:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/openwip FILE openwipTargets.cmake COMPONENT dev)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/core_headers.txt)
  file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/core_headers.txt folders REGEX "^[a-z]")
  foreach(folder ${folders})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION include/openwip COMPONENT dev FILES_MATCHING PATTERN "*.h" PATTERN port/include EXCLUDE)
  endforeach()
  # The header of libraries of a user's own, as <openwip/extension.h>; it needs none of the others.
  install(FILES mac/port/include/openwip/extension.h DESTINATION include/openwip COMPONENT dev)
  include(CMakePackageConfigHelpers)
  file(WRITE ${PROJECT_BINARY_DIR}/installed/openwipConfig.cmake "# SPDX-License-Identifier: GPL-3.0-or-later
include(CMakeFindDependencyMacro)
find_dependency(PkgConfig)
find_dependency(Threads)
find_dependency(Volk)
find_dependency(Eigen3)
find_dependency(yaml-cpp)
pkg_check_modules(FFTW REQUIRED IMPORTED_TARGET fftw3f)
include(\"\${CMAKE_CURRENT_LIST_DIR}/openwipTargets.cmake\")
")
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/installed/openwipConfigVersion.cmake COMPATIBILITY SameMajorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/installed/openwipConfig.cmake ${PROJECT_BINARY_DIR}/installed/openwipConfigVersion.cmake
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/openwip COMPONENT dev)
endfunction()
