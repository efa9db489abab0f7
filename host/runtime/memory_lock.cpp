// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/memory_lock.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace wip::runtime {
namespace {

std::atomic<bool> asked{false}, locked{false};

bool without_limit() {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_MEMLOCK, &all) == 0) return true;
    rlimit limit{};
    return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

// Of the first thread: the only mapping that grows by itself.
void unlock_stack() {
    FILE* maps = std::fopen("/proc/self/maps", "re");
    if (maps == nullptr) return;
    char line[512];
    while (std::fgets(line, sizeof line, maps) != nullptr) {
        std::uintptr_t from = 0, to = 0;
        if (std::strstr(line, "[stack]") != nullptr &&
            std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
            ::munlock(reinterpret_cast<void*>(from), to - from);
    }
    std::fclose(maps);
}

bool lock() {
    if (without_limit()) return ::mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
    if (::mlockall(MCL_CURRENT | MCL_ONFAULT) != 0) return false;
    unlock_stack();
    return true;
}

}  // namespace

bool lock_memory() noexcept {
    if (!asked.exchange(true)) locked.store(lock());
    return locked.load();
}

}  // namespace wip::runtime
