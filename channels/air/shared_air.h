// SPDX-License-Identifier: GPL-3.0-or-later
// A mapped medium: created by the process that runs it, attached by those that use it, or private
// to one process. The segment is /dev/shm/openwip-air-NAME; its memory is reserved when it is
// created, so that a full /dev/shm is an error at the start and not a crash later.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "air/layout.h"

namespace wip::air {

class shared_air {
public:
    // Throws machine_error with one line: running already, no memory. A segment whose
    // process died is removed first; `cleaned` then says so.
    static std::unique_ptr<shared_air> create(const std::string& name,
                                              const std::vector<std::string>& nodes,
                                              clock_kind clock, double speed);
    static std::unique_ptr<shared_air> create_private(const std::vector<std::string>& nodes,
                                                      clock_kind clock, double speed);
    // nullptr if no living medium has this name; throws if it has another layout version.
    static std::unique_ptr<shared_air> attach(const std::string& name);

    ~shared_air();
    shared_air(const shared_air&) = delete;
    shared_air& operator=(const shared_air&) = delete;

    air_header& header() { return *static_cast<air_header*>(memory_); }
    node_block& node(std::size_t i);
    cf32* transmit_fifo(std::size_t i);
    cf32* receive_ring(std::size_t i);
    std::size_t nodes() { return header().nodes; }
    bool cleaned() const { return cleaned_; }
    static std::string path(const std::string& name);  // of the segment
    static bool valid_name(const std::string& name);   // 1 to 31 of a-z A-Z 0-9 _ . -

private:
    shared_air() = default;
    void build(const std::vector<std::string>& nodes, clock_kind clock, double speed);

    void* memory_ = nullptr;
    std::size_t bytes_ = 0;
    std::string unlink_;
    int lock_ = -1;  // of the segment, while it is this one's
    bool cleaned_ = false;
};

}  // namespace wip::air
