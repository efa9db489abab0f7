# SPDX-License-Identifier: GPL-3.0-or-later
# openwip_part(NAME TARGETS target... [NEEDS "packages"]): the target NAME builds what `./openwip NAME` needs. If one of the
# targets does not exist in this configuration the part is left out, which is said at the end of configure.
function(openwip_part name)
  cmake_parse_arguments(P "" "NEEDS" "TARGETS" ${ARGN})
  foreach(target ${P_TARGETS})
    if(NOT TARGET ${target})
      set_property(GLOBAL APPEND PROPERTY OPENWIP_NOT_BUILT "openwip ${name} (needs ${P_NEEDS})")
      return()
    endif()
  endforeach()
  add_custom_target(${name} DEPENDS ${P_TARGETS} wip_command_compiled)
  set_property(GLOBAL APPEND PROPERTY OPENWIP_PARTS ${name})
endfunction()

# Files for ./openwip: the names of the parts of this configuration, one a line; and the parts left out, each with the reason.
function(openwip_write_parts)
  foreach(pair PARTS:openwip-parts NOT_BUILT:openwip-left-out)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 property)
    list(GET pair 1 file)
    get_property(names GLOBAL PROPERTY OPENWIP_${property})
    list(APPEND names "")
    list(JOIN names "\n" lines)
    file(WRITE ${PROJECT_BINARY_DIR}/${file} "${lines}")
  endforeach()
endfunction()
