// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of an SNR trace for those who play it on samples.
#pragma once

#include <memory>
#include <string>

#include "sample/trace_filter.h"

namespace wip::trace {

// Throws std::runtime_error, one line. `user`: who reads it where this is root (confined_trace.h);
// empty: nobody.
std::shared_ptr<const sample_model::trace_rows> read_played(const std::string& file,
                                                            const std::string& user);

}  // namespace wip::trace
