// SPDX-License-Identifier: GPL-3.0-or-later
// The device's side of a split virtqueue (virtio 1.2, 2.7) in the memory of a guest. What stands
// there is the guest's: every index and address is checked before it is followed, and a queue that
// does not hold together throws peer_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wip::virtual_time {

// The memory that the guest shares.
class guest_memory {
public:
    guest_memory() = default;
    ~guest_memory() { clear(); }
    guest_memory(const guest_memory&) = delete;
    guest_memory& operator=(const guest_memory&) = delete;

    // Maps `size` bytes at `offset` of a file, which are the guest's from `address` on.
    void add(int fd, std::uint64_t address, std::uint64_t size, std::uint64_t offset);
    void clear();
    // Throws when they are not all there.
    std::span<std::uint8_t> at(std::uint64_t address, std::uint64_t size) const;

private:
    struct region {
        std::uint64_t address, size;
        std::uint8_t* mapped;
        std::size_t mapped_size;
        std::uint64_t lead;  // bytes of the mapping that lie before `address`
    };
    std::vector<region> regions_;
};

class vring {
public:
    void set_size(std::uint32_t n);
    void set_next(std::uint16_t n) { next_ = n; }
    void set_addresses(const guest_memory& memory, std::uint64_t descriptors, std::uint64_t used,
                       std::uint64_t available);
    void stop() { available_ = {}; }
    bool ready() const { return !available_.empty(); }

    // A buffer that the guest has offered; its parts are those that the device may write, or those
    // that it may read. False: none is offered.
    struct buffer {
        std::uint16_t head = 0;
        std::vector<std::span<std::uint8_t>> parts;
    };
    bool take(const guest_memory& memory, bool writable, buffer& out);
    void give_back(const buffer& b, std::uint32_t written);
    // Whether the guest wants an interrupt for buffers that were given back.
    bool wants_call() const;

private:
    std::uint16_t size_ = 0, next_ = 0, given_ = 0;
    std::span<std::uint8_t> descriptors_, used_, available_;
};

}  // namespace wip::virtual_time
