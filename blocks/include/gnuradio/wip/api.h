// SPDX-License-Identifier: GPL-3.0-or-later
// The symbols that the library gnuradio-wip exports.
#pragma once

#include <gnuradio/attributes.h>

#ifdef gnuradio_wip_EXPORTS
#define WIP_API __GR_ATTR_EXPORT
#else
#define WIP_API __GR_ATTR_IMPORT
#endif
