// SPDX-License-Identifier: GPL-3.0-or-later
// Stands before libhdf5 (LD_PRELOAD) and does with the reading of a file what OPENWIP_HDF5_STAND_IN
// says:
//   rights   abort where a process that is root, holds a capability, may open another file, has
//            more than two descriptors, or reaches other processes or names of files opens one
//   time     abort where a process that may take more than a minute of the processor opens one
//   crash    read through a null pointer, as a damaged file might make it
//   signal   end by a signal that has no name
//   spin     never end
//   sleep    never end, under the name "asleep"
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool holds_a_capability() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
    if (::syscall(SYS_capget, &header, data) != 0) return true;
    return (data[0].permitted | data[0].effective | data[1].permitted | data[1].effective) != 0;
}

int descriptors() {  // open descriptors besides the first three
    int n = 0;
    struct stat about {};
    for (int fd = 3; fd < 1024; ++fd) n += ::fstat(fd, &about) == 0;
    return n;
}

// Whether this process may open a file for reading or writing, which it should not.
bool may_open() {
    return ::open("/proc/self/status", O_RDONLY) >= 0 ||
           ::open("/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0;
}

// Calls that need no descriptor: they fail for want of the call itself, not of a right or a file.
bool may_reach_others() {
    const pid_t parent = ::getppid(), itself = ::getpid();
    if (parent != -1 || errno != EPERM) return true;
    std::uint32_t word = 0;
    iovec here{&word, sizeof word}, there{&word, sizeof word};
    const auto refused = [](long returned) { return returned == -1 && errno == EPERM; };
    return !(refused(::kill(itself, 0)) && refused(::syscall(SYS_tgkill, 1, 1, 0)) &&
             refused(::unlink("/nowhere")) && refused(std::rename("/nowhere", "/nowhere")) &&
             refused(::chmod("/nowhere", 0)) && refused(::access("/", F_OK)) &&
             refused(::socket(AF_UNIX, SOCK_STREAM, 0)) &&
             refused(::process_vm_readv(itself, &here, 1, &there, 1, 0)) &&
             refused(::prctl(PR_GET_DUMPABLE)) && refused(::shmget(IPC_PRIVATE, 1, 0600)) &&
             refused(::fcntl(0, F_GETFD)));
}

bool may_take_long() {
    rlimit cpu{};
    return ::getrlimit(RLIMIT_CPU, &cpu) != 0 || cpu.rlim_max > 60;
}

}  // namespace

extern "C" std::int64_t H5Fopen(const char* name, unsigned flags, std::int64_t access) {
    const char* what = std::getenv("OPENWIP_HDF5_STAND_IN");
    const auto asked = [&](const char* word) {
        return what != nullptr && std::strcmp(what, word) == 0;
    };
    if (asked("crash")) {
        const volatile int* nothing = nullptr;
        return *nothing;
    }
    if (asked("signal")) ::raise(SIGRTMIN);
    if (asked("spin"))
        for (volatile unsigned n = 0;;) n = n + 1;
    if (asked("sleep")) {
        ::prctl(PR_SET_NAME, "asleep");
        for (;;) ::pause();
    }
    if (asked("rights") && (::geteuid() == 0 || holds_a_capability() || descriptors() > 2 ||
                            may_open() || may_reach_others()))
        std::abort();
    if (asked("time") && may_take_long()) std::abort();
    using function = std::int64_t (*)(const char*, unsigned, std::int64_t);
    static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "H5Fopen"));
    return real(name, flags, access);
}
