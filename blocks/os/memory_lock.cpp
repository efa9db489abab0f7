// SPDX-License-Identifier: GPL-3.0-or-later
#include "os/memory_lock.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace wip::os {
namespace {

std::atomic<bool> was_called{false}, locked{false};

bool has_no_limit() {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_MEMLOCK, &all) == 0) return true;
    rlimit limit{};
    return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

// Calls with (begin, octets, permissions, line) of each mapping.
template <class Visit>
void for_each_mapping(Visit visit) {
    FILE* maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr) return;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        std::uintptr_t from = 0, to = 0;
        char permissions[8] = "";
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, permissions) == 3)
            visit(reinterpret_cast<void*>(from), to - from, permissions, line);
    }
    std::fclose(maps);
}

// Unlocks the stack of the first thread: it is the only mapping that grows by itself.
void unlock_stack() {
    for_each_mapping([](void* begin, std::size_t octets, const char*, const char* line) {
        if (std::strstr(line, "[stack]") != nullptr) ::munlock(begin, octets);
    });
}

// Pages of programs and libraries that no process has used since the machine's start are still on
// the disk, and a function that runs for the first time would wait for it in its slot.
void read_ahead() {
    for_each_mapping(
        [](void* begin, std::size_t octets, const char* permissions, const char* line) {
            const bool is_file = std::strchr(line, '/') != nullptr;
            if (is_file && permissions[3] == 'p') ::madvise(begin, octets, MADV_WILLNEED);
        });
}

bool lock() {
    if (has_no_limit()) return ::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
    if (::mlockall(MCL_CURRENT | MCL_ONFAULT) != 0) return false;
    unlock_stack();
    return true;
}

}  // namespace

bool lock_memory() noexcept {
    if (!was_called.exchange(true)) {
        read_ahead();
        locked.store(lock());
    }
    return locked.load();
}

void map_pages(const void* begin, std::size_t octets) noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto from = reinterpret_cast<std::uintptr_t>(begin);
    const std::uintptr_t first = from / page * page;
    ::madvise(reinterpret_cast<void*>(first), from + octets - first, MADV_POPULATE_READ);
}

}  // namespace wip::os
