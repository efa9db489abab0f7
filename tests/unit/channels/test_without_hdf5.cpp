// SPDX-License-Identifier: GPL-3.0-or-later
// Traces where there is no HDF5: what `demo` alone installs has none.
#include <gtest/gtest.h>

#include <string>

#include "trace/played_trace.h"
#include "types/failure.h"

TEST(WithoutHdf5, a_trace_is_refused_by_name) {
    try {
        wip::trace::read_played("a.h5", "");
        ADD_FAILURE() << "was read";
    } catch (const wip::bad_input& e) {
        EXPECT_EQ(std::string(e.what()), "a.h5: cannot be read: built without HDF5 (libhdf5-dev)");
    }
}
