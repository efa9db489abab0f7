// SPDX-License-Identifier: GPL-3.0-or-later
// A mapped medium: created by the process that runs it, attached by those that use it, or private
// to one process.
//
// The memory has no name. It is a memfd that is sealed against any change of its size, and the
// medium hands it over at its socket (meeting_place.h), with a description of what it consists of,
// to root, to its own user and to the account that it becomes; the kernel tells the medium which
// user's process asks. A process that attaches reads the description once, compares it with the
// real size of the memory, and keeps it: sizes, names and the kind of clock are never read from
// memory that others can write to. Its connection stays open; when it closes, the medium has ended,
// however it ended.
//
// The memory is reserved when it is created, so that too little of it is an error at the start and
// not a crash later.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "air/layout.h"
#include "air/meeting_place.h"
#include "os/privileges.h"
#include "types/descriptor.h"

namespace wip::air {

class shared_air {
public:
    // Throws machine_error with one line: running already, no memory. The files that a killed
    // medium of that name left are removed first; cleaned() then returns true.
    static std::unique_ptr<shared_air> create(const std::string& name,
                                              const std::vector<std::string>& nodes,
                                              clock_kind clock, double speed);
    static std::unique_ptr<shared_air> create_private(const std::vector<std::string>& nodes,
                                                      clock_kind clock, double speed);
    // Returns nullptr if no living medium has this name; throws peer_error if the memory that it
    // hands over has another layout version.
    static std::unique_ptr<shared_air> attach(const std::string& name);

    ~shared_air();
    shared_air(const shared_air&) = delete;
    shared_air& operator=(const shared_air&) = delete;

    // Allows others to attach from now on: root, this process's user, and processes of `also`. To
    // be called as the user that the name belongs to. Throws machine_error.
    void open(const std::optional<os::account>& also = {});

    air_header& header() { return *static_cast<air_header*>(memory_); }
    node_block& node(std::size_t i);
    cf32* transmit_fifo(std::size_t i);
    cf32* receive_ring(std::size_t i);

    std::size_t nodes() const noexcept { return nodes_.size(); }
    const std::string& node_name(std::size_t i) const { return nodes_[i].name; }
    clock_kind clock() const noexcept { return clock_; }
    double speed() const noexcept { return speed_; }
    // The error of the sampling clock of node i, in parts of 10^12; positive: fast. Set it before
    // open().
    std::int64_t clock_parts(std::size_t i) const { return nodes_[i].clock_parts; }
    void set_clock_parts(std::size_t i, std::int64_t parts) { nodes_[i].clock_parts = parts; }

    // Whether the medium that this object is attached to still runs; true for a medium of this
    // process.
    bool connected() const noexcept;
    bool cleaned() const noexcept { return name_ && name_->cleaned(); }
    // Processes that were refused because of their user.
    std::uint64_t refused() const noexcept { return refused_.load(); }

    static std::string path(const std::string& name);  // path of the socket of this user's medium
    static bool valid_name(const std::string& name);   // 1 to 31 of a-z A-Z 0-9 _ . -

private:
    struct description;
    struct node_description {
        std::string name;
        std::int64_t clock_parts = 0;
    };

    shared_air(const std::vector<std::string>& nodes, clock_kind clock, double speed);
    shared_air() = default;
    std::size_t bytes() const noexcept;
    void map(int flags, int fd);
    void build();
    description describe() const;
    // Throws peer_error.
    void take(const std::string& name, const description& received, std::ptrdiff_t size);
    void serve(const std::stop_token& over, const std::vector<uid_t>& allowed);

    void* memory_ = nullptr;
    std::vector<node_description> nodes_;
    clock_kind clock_ = clock_kind::lockstep;
    double speed_ = 1;
    std::string label_;
    std::optional<held_name> name_;
    descriptor file_, listener_, wake_;  // descriptors of a created object
    descriptor connection_;              // descriptor of an attached object
    std::atomic<std::uint64_t> refused_{0};
    std::jthread server_thread_;
};

}  // namespace wip::air
