// SPDX-License-Identifier: GPL-3.0-or-later
#include "virtual/vring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "types/failure.h"
#include "virtual/unix_socket.h"

namespace wip::virtual_time {
namespace {

constexpr std::uint32_t largest = 32768;  // entries of a split virtqueue (virtio 1.2, 2.7)
constexpr std::uint16_t has_next = 1, is_writable = 2, no_call = 1;

struct descriptor {
    std::uint64_t address;
    std::uint32_t length;
    std::uint16_t flags, next;
};

std::uint16_t read16(std::span<std::uint8_t> at, std::size_t offset) {
    std::uint16_t v = 0;
    std::memcpy(&v, at.data() + offset, sizeof v);
    return v;
}

}  // namespace

void guest_memory::add(int fd, std::uint64_t address, std::uint64_t size, std::uint64_t offset) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t lead = offset % page;
    // bytes: 1 TB, so that sums of sizes do not overflow
    constexpr std::uint64_t most = std::uint64_t{1} << 40;
    if (size == 0 || size > most || offset > most || address > most)
        refuse_kernel("shows memory that cannot be its own");
    void* at = ::mmap(nullptr, size + lead, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                      static_cast<off_t>(offset - lead));
    if (at == MAP_FAILED)
        throw machine_error("virtual time: cannot map the memory of the guest's Linux kernel",
                            errno);
    regions_.push_back({address, size, static_cast<std::uint8_t*>(at), size + lead, lead});
}

void guest_memory::clear() {
    for (const auto& r : regions_) ::munmap(r.mapped, r.mapped_size);
    regions_.clear();
}

std::span<std::uint8_t> guest_memory::at(std::uint64_t address, std::uint64_t size) const {
    for (const auto& r : regions_)
        if (address >= r.address && size <= r.size && address - r.address <= r.size - size)
            return {r.mapped + r.lead + (address - r.address), size};
    refuse_kernel("points outside of its memory");
}

void vring::set_size(std::uint32_t n) {
    if (n == 0 || n > largest || (n & (n - 1)) != 0)
        refuse_kernel("makes a queue of " + std::to_string(n) + " buffers");
    size_ = static_cast<std::uint16_t>(n);
}

void vring::set_addresses(const guest_memory& memory, std::uint64_t descriptors, std::uint64_t used,
                          std::uint64_t available) {
    if (size_ == 0) refuse_kernel("starts a queue without a size");
    descriptors_ = memory.at(descriptors, sizeof(descriptor) * size_);
    used_ = memory.at(used, 4 + 8U * size_);
    available_ = memory.at(available, 4 + 2U * size_);
    given_ = next_;
}

bool vring::take(const guest_memory& memory, bool writable, buffer& out) {
    if (!ready()) return false;
    const std::uint16_t end = read16(available_, 2);
    if (end == next_) return false;
    std::atomic_thread_fence(std::memory_order_acquire);
    out.parts.clear();
    out.head = read16(available_, 4 + 2U * (next_ % size_));
    ++next_;
    std::uint16_t i = out.head;
    for (int n = 0;; ++n) {
        if (i >= size_ || n >= size_) refuse_kernel("fills a queue whose buffers are no list");
        descriptor d;
        std::memcpy(&d, descriptors_.data() + sizeof d * i, sizeof d);
        if (((d.flags & is_writable) != 0) != writable)
            refuse_kernel("fills a queue with a buffer of the wrong direction");
        out.parts.push_back(memory.at(d.address, d.length));
        if ((d.flags & has_next) == 0) return true;
        i = d.next;
    }
}

void vring::give_back(const buffer& b, std::uint32_t written) {
    const std::uint32_t entry[] = {b.head, written};
    std::memcpy(used_.data() + 4 + 8U * (given_ % size_), entry, sizeof entry);
    ++given_;
    std::atomic_thread_fence(std::memory_order_release);
    std::memcpy(used_.data() + 2, &given_, sizeof given_);
}

bool vring::wants_call() const { return ready() && (read16(available_, 0) & no_call) == 0; }

}  // namespace wip::virtual_time
