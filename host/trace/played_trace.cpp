// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/played_trace.h"

#include "types/failure.h"
#ifdef OPENWIP_HDF5
#include "trace/confined_trace.h"
#endif

namespace wip::trace {

std::shared_ptr<const sample_model::trace_rows> read_played(
    const std::string& file, [[maybe_unused]] const std::string& user) {
#ifdef OPENWIP_HDF5
    return std::make_shared<const sample_model::trace_rows>(
        read_confined(file, user.empty() ? "nobody" : user).snr_db);
#else
    throw bad_input(file + ": cannot be read: built without HDF5 (libhdf5-dev)");
#endif
}

std::shared_ptr<const sample_model::trace_rows> played_traces::operator()(const std::string& file,
                                                                          const std::string& user) {
    auto& rows = read_[{file, user}];
    if (!rows) rows = read_played(file, user);
    return rows;
}

}  // namespace wip::trace
