# SPDX-License-Identifier: GPL-3.0-or-later
# Finds liquid-dsp, which has no package file of its own: the target Liquid::liquid and Liquid_VERSION. The target Liquid::renamed exists
# from version 1.4 on, in which modems and windows have the names that the tests use.
find_path(Liquid_INCLUDE_DIR liquid/liquid.h)
find_library(Liquid_LIBRARY liquid)
if(Liquid_INCLUDE_DIR)
  # The version is one string up to 1.6, and three numbers from 1.7 on.
  file(STRINGS ${Liquid_INCLUDE_DIR}/liquid/liquid.h lines REGEX "define LIQUID_VERSION(_MAJOR|_MINOR|_PATCH)? +[\"0-9]")
  string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
  list(JOIN numbers . Liquid_VERSION)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liquid REQUIRED_VARS Liquid_LIBRARY Liquid_INCLUDE_DIR VERSION_VAR Liquid_VERSION)
if(Liquid_FOUND AND NOT TARGET Liquid::liquid)
  add_library(Liquid::liquid UNKNOWN IMPORTED)
  set_target_properties(Liquid::liquid PROPERTIES IMPORTED_LOCATION ${Liquid_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${Liquid_INCLUDE_DIR})
  if(Liquid_VERSION VERSION_GREATER_EQUAL 1.4)
    add_library(Liquid::renamed INTERFACE IMPORTED)
    set_target_properties(Liquid::renamed PROPERTIES INTERFACE_LINK_LIBRARIES Liquid::liquid)
  endif()
endif()
