// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/shared_air.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "air/process_watch.h"
#include "types/failure.h"

namespace wip::air {
namespace {

std::string segment(const std::string& name) { return "/openwip-air-" + name; }

constexpr std::size_t page(std::size_t n) { return (n + 4095) & ~std::size_t{4095}; }
constexpr std::size_t head_bytes(std::size_t nodes) {
    return page(page(sizeof(air_header)) + nodes * page(sizeof(node_block)));
}
constexpr std::size_t node_sample_bytes = (transmit_fifo_size + receive_ring_size) * sizeof(cf32);

// The process of an existing segment, 0 if it is not alive.
std::int64_t living_owner(const std::string& name) {
    const int fd = shm_open(segment(name).c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return 0;
    std::int64_t owner = 0;
    struct stat s {};
    if (fstat(fd, &s) == 0 && s.st_size >= static_cast<off_t>(sizeof(air_header))) {
        void* p = mmap(nullptr, sizeof(air_header), PROT_READ, MAP_SHARED, fd, 0);
        if (p != MAP_FAILED) {
            const auto& h = *static_cast<const air_header*>(p);
            if (h.magic.load() == layout_magic && h.process > 0 &&
                process_start_time(h.process) == h.process_started &&
                process_watch(h.process).alive())
                owner = h.process;
            munmap(p, sizeof(air_header));
        }
    }
    close(fd);
    return owner;
}

// The segment, empty and locked: whose lock it is has the name, from before there is anything to
// read in it until its process ends. What a dead one left is removed. The name may be another
// file's meanwhile.
int claim(const std::string& name, bool& cleaned) {
    for (;;) {
        int fd = shm_open(segment(name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        // In a cell it becomes the account's; the radios are of its group and have no other right.
        if (fd >= 0 && fchmod(fd, 0660) != 0) throw machine_error(shared_air::path(name), errno);
        if (fd < 0 && errno == EEXIST) fd = shm_open(segment(name).c_str(), O_RDWR | O_CLOEXEC, 0);
        if (fd < 0 && errno == ENOENT) continue;
        if (fd < 0) throw machine_error(shared_air::path(name), errno);
        struct stat own {};
        struct stat named {};
        const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        const bool same = fstat(fd, &own) == 0 &&
                          stat(shared_air::path(name).c_str(), &named) == 0 &&
                          own.st_ino == named.st_ino;
        if (locked && same && own.st_size == 0) return fd;
        const std::int64_t owner = same ? living_owner(name) : 0;
        const bool left = same && locked && owner == 0;
        if (left) cleaned = shm_unlink(segment(name).c_str()) == 0;
        const int error = errno;
        close(fd);
        if (left && !cleaned) throw machine_error(shared_air::path(name), error);
        if (same && !left)
            throw machine_error("a medium named '" + name + "' is running already (process " +
                                (owner ? std::to_string(owner) : "that starts") + ")");
    }
}

}  // namespace

std::string shared_air::path(const std::string& name) { return "/dev/shm" + segment(name); }

bool shared_air::valid_name(const std::string& name) {
    return !name.empty() && name.size() < name_size &&
           name.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
               "_.-") == std::string::npos;
}

std::unique_ptr<shared_air> shared_air::create(const std::string& name,
                                               const std::vector<std::string>& nodes,
                                               clock_kind clock, double speed) {
    std::unique_ptr<shared_air> air(new shared_air);
    const int fd = air->lock_ = claim(name, air->cleaned_);
    air->unlink_ = segment(name);
    air->bytes_ = head_bytes(nodes.size()) + nodes.size() * node_sample_bytes;
    if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(air->bytes_)))
        throw machine_error(
            "/dev/shm has no room for " + std::to_string(air->bytes_ >> 20) + " MiB", error);
    void* p = mmap(nullptr, air->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (p == MAP_FAILED) throw machine_error("mmap", errno);
    air->memory_ = p;
    air->build(nodes, clock, speed);
    return air;
}

std::unique_ptr<shared_air> shared_air::create_private(const std::vector<std::string>& nodes,
                                                       clock_kind clock, double speed) {
    std::unique_ptr<shared_air> air(new shared_air);
    air->bytes_ = head_bytes(nodes.size()) + nodes.size() * node_sample_bytes;
    void* p =
        mmap(nullptr, air->bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw machine_error("mmap", errno);
    air->memory_ = p;
    air->build(nodes, clock, speed);
    return air;
}

void shared_air::build(const std::vector<std::string>& nodes, clock_kind clock, double speed) {
    auto* h = new (memory_) air_header{};  // the memory is zero: no field is touched twice
    h->version = layout_version;
    h->nodes = static_cast<std::uint32_t>(nodes.size());
    h->bytes = bytes_;
    h->process = getpid();
    h->process_started = process_start_time(getpid());
    h->clock = clock;
    h->speed = speed;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto* n = new (&node(i)) node_block{};
        std::strncpy(n->name, nodes[i].c_str(), name_size - 1);
    }
    h->state.store(air_state::ready);
    h->magic.store(layout_magic);
}

std::unique_ptr<shared_air> shared_air::attach(const std::string& name) {
    if (living_owner(name) == 0) return nullptr;
    const int fd = shm_open(segment(name).c_str(), O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) throw machine_error(path(name), errno);
    std::unique_ptr<shared_air> air(new shared_air);
    struct stat s {};
    fstat(fd, &s);
    air->bytes_ = static_cast<std::size_t>(s.st_size);
    void* p = mmap(nullptr, air->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED) throw machine_error("mmap", errno);
    air->memory_ = p;
    const air_header& h = air->header();
    if (h.version != layout_version || h.bytes != air->bytes_ || h.nodes > max_nodes ||
        air->bytes_ != head_bytes(h.nodes) + h.nodes * node_sample_bytes)
        throw peer_error("medium '" + name + "' has layout version " + std::to_string(h.version) +
                         ", this module has " + std::to_string(layout_version) +
                         ": build both from one tree");
    if (h.state.load() != air_state::ready) return nullptr;
    return air;
}

shared_air::~shared_air() {
    if (memory_ && !unlink_.empty()) header().state.store(air_state::closed);
    if (!unlink_.empty()) shm_unlink(unlink_.c_str());
    if (lock_ >= 0) close(lock_);
    if (memory_) munmap(memory_, bytes_);
}

node_block& shared_air::node(std::size_t i) {
    return *reinterpret_cast<node_block*>(static_cast<char*>(memory_) + page(sizeof(air_header)) +
                                          i * page(sizeof(node_block)));
}

cf32* shared_air::transmit_fifo(std::size_t i) {
    return reinterpret_cast<cf32*>(static_cast<char*>(memory_) + head_bytes(header().nodes) +
                                   i * node_sample_bytes);
}

cf32* shared_air::receive_ring(std::size_t i) { return transmit_fifo(i) + transmit_fifo_size; }

}  // namespace wip::air
