// SPDX-License-Identifier: GPL-3.0-or-later
#include "virtual/time_travel.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <limits>
#include <string>

#include "types/failure.h"
#include "virtual/unix_socket.h"

namespace wip::virtual_time {
namespace {

// Values of enum um_timetravel_ops of the kernel.
constexpr std::uint32_t op_ack = 0, op_start = 1, op_request = 2, op_wait = 3, op_get = 4,
                        op_update = 5, op_run = 6, op_get_tod = 8, op_broadcast = 9;
constexpr std::uint32_t memory_version = 2;
constexpr std::uint32_t can_share = 1, wants_to_run = 1;
// The identities in the shared page.
constexpr std::uint16_t calendar_id = 0, kernel_id = 1, nof_ids = 2;
// The wall clock of every run at its start: 2020-09-13 12:26:40 UTC.
constexpr std::uint64_t wall_clock_ns = 1'600'000'000'000'000'000;

}  // namespace

struct time_travel::message {
    std::uint32_t op = 0, sequence = 0;
    std::uint64_t time = 0;
};

// The shared page: struct um_timetravel_schedshm of the kernel.
struct time_travel::shared {
    std::uint32_t version, length;
    std::uint64_t free_until, current_time;
    std::uint16_t running_id, max_clients;
    std::uint8_t rest[4096 - 28];
    struct client {
        std::uint32_t capabilities, flags;
        std::uint64_t request, name;
        // Members of kernel.patch. kicked, called: for each queue a bit for each device. by_word:
        // RUN and WAIT are not messages but `turn`, on which both sides wait as a futex; it is 1
        // while the kernel runs.
        std::uint64_t kicked[2], called[2];
        std::uint32_t by_word, turn;
        std::uint8_t rest[64];
    } clients[nof_ids];
};

time_travel::time_travel() {
    static_assert(sizeof(shared) == 4096 + nof_ids * 128);
    memory_ = ::memfd_create("openwip-time", MFD_CLOEXEC);
    if (memory_ < 0 || ::ftruncate(memory_, sizeof(shared)) != 0)
        throw machine_error("cannot make the shared memory of the virtual clock", errno);
    void* at = ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
    if (at == MAP_FAILED) throw machine_error("cannot map the memory of the virtual clock", errno);
    shared_ = static_cast<shared*>(at);
    shared_->version = memory_version;
    shared_->length = sizeof(shared);
    shared_->max_clients = nof_ids;
    shared_->running_id = kernel_id;
    shared_->clients[calendar_id].capabilities = can_share;
}

time_travel::~time_travel() {
    if (shared_ != nullptr) ::munmap(shared_, sizeof(shared));
    if (memory_ >= 0) ::close(memory_);
    if (fd_ >= 0) ::close(fd_);
}

void time_travel::attach(int fd) { fd_ = fd; }

void time_travel::send(const message& m, bool with_memory) {
    // The kernel expects two descriptors, those of the shared memory and of a log, and closes both.
    // It does not use the second one, so the first is sent twice.
    const int fds[] = {memory_, memory_};
    if (!unix_socket::send(fd_, &m, sizeof m, with_memory ? fds : nullptr, with_memory ? 2 : 0))
        ended_ = true;
}

void time_travel::serve() {
    message m;
    if (!unix_socket::receive(fd_, &m, sizeof m)) {
        ended_ = true;
        return;
    }
    message reply{op_ack, m.sequence, 0};
    switch (m.op) {
        case op_start:
            reply.time = kernel_id;
            return send(reply, true);
        case op_wait:
            running_ = false;
            shared_->running_id = calendar_id;
            return;
        case op_request:  // only as long as it does not use the page
        case op_get:
            reply.time = shared_->current_time;
            break;
        case op_get_tod:
            reply.time = wall_clock_ns + shared_->current_time;
            break;
        case op_update:
        case op_broadcast:
            break;
        default:
            refuse_kernel("sends the message " + std::to_string(m.op) + " about its clock");
    }
    if (m.op == op_request) {
        shared_->clients[kernel_id].request = m.time;
        shared_->clients[kernel_id].flags |= wants_to_run;
    }
    send(reply, false);
}

void time_travel::run(std::int64_t now_ns) {
    shared_->current_time = static_cast<std::uint64_t>(now_ns);
    shared_->running_id = kernel_id;
    running_ = true;
    if (futex_in_use_) {
        auto& turn = shared_->clients[kernel_id].turn;
        std::atomic_ref(turn).store(1, std::memory_order_release);
        ::syscall(SYS_futex, &turn, FUTEX_WAKE, 1, nullptr, nullptr, 0);
        return;
    }
    send({op_run, ++sequence_, static_cast<std::uint64_t>(now_ns)}, false);
}

void time_travel::set_free_until(std::int64_t ns) {
    shared_->free_until = static_cast<std::uint64_t>(ns);
}

void time_travel::use_futex() {
    auto& kernel = shared_->clients[kernel_id];
    kernel.turn = kernel.by_word = 1;
}

bool time_travel::uses_futex() const { return shared_->clients[kernel_id].by_word != 0; }

bool time_travel::wait_for_futex() {
    auto& turn = shared_->clients[kernel_id].turn;
    const std::atomic_ref word(turn);
    constexpr timespec most{0, 5'000'000};
    if (word.load(std::memory_order_acquire) == 1)
        ::syscall(SYS_futex, &turn, FUTEX_WAIT, 1, &most, nullptr, 0);
    if (word.load(std::memory_order_acquire) == 1) return false;
    running_ = false;
    futex_in_use_ = true;
    shared_->running_id = calendar_id;
    return true;
}

bool time_travel::take_kick(int device, int queue) {
    auto& kicked = shared_->clients[kernel_id].kicked[queue];
    const std::uint64_t bit = std::uint64_t{1} << device;
    const bool was = (kicked & bit) != 0;
    kicked &= ~bit;
    return was;
}

void time_travel::call(int device, int queue) {
    shared_->clients[kernel_id].called[queue] |= std::uint64_t{1} << device;
}

std::int64_t time_travel::now() const { return static_cast<std::int64_t>(shared_->current_time); }

std::int64_t time_travel::wakeup() const {
    const auto& kernel = shared_->clients[kernel_id];
    constexpr auto never = std::numeric_limits<std::int64_t>::max();
    if ((kernel.flags & wants_to_run) == 0 || kernel.request >= static_cast<std::uint64_t>(never))
        return never;
    return static_cast<std::int64_t>(kernel.request);
}

}  // namespace wip::virtual_time
