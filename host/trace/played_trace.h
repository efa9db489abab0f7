// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of an SNR trace for those who play it on samples.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sample/trace_filter.h"

namespace wip::trace {

// Throws bad_input, one line. `user`: who reads it where this is root (confined_trace.h);
// empty: nobody.
std::shared_ptr<const sample_model::trace_rows> read_played(const std::string& file,
                                                            const std::string& user);

// The same, but each file is read once, however many paths play it and however often their
// configuration is checked.
class played_traces {
public:
    std::shared_ptr<const sample_model::trace_rows> operator()(const std::string& file,
                                                               const std::string& user);

private:
    std::map<std::pair<std::string, std::string>, std::shared_ptr<const sample_model::trace_rows>>
        read_;
};

}  // namespace wip::trace
