// SPDX-License-Identifier: GPL-3.0-or-later
// GNU Radio maps the memory of a buffer twice, the second time right behind the first, so that a
// run of items continues after the end of the buffer. The more items wait, the further a run
// reaches into the second mapping, and each of its pages costs a page fault when it is used for the
// first time. Without this, that is when the radio is late already: after the first stall of a
// process, all at once and in the middle of a slot.
#pragma once

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer.h>
#include <gnuradio/buffer_reader.h>

#include <cstddef>

#include "os/memory_lock.h"

namespace wip {

// Maps all pages of the buffers in front of and after `block`. Call it from the block's start().
inline void map_buffers(const gr::block& block) {
    const auto map = [](gr::buffer& b) {
        const std::size_t octets = b.bufsize() * b.get_sizeof_item();
        const bool twice = b.get_mapping_type() == gr::buffer_mapping_type::double_mapped;
        os::map_pages(b.base(), twice ? 2 * octets : octets);
    };
    const auto detail = block.detail();
    if (!detail) return;
    for (int i = 0; i < detail->ninputs(); ++i)
        map(*detail->input(static_cast<unsigned>(i))->buffer());
    for (int i = 0; i < detail->noutputs(); ++i) map(*detail->output(static_cast<unsigned>(i)));
}

}  // namespace wip
