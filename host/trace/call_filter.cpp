// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/call_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "trace/reading_calls.h"
#include "types/failure.h"

namespace wip::trace {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t architecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

constexpr bool is_right() {
    for (const auto& call : reading_calls)
        if (call.number != call.in_table) return false;
    return true;
}
static_assert(is_right(), "a number of reading_calls.tsv is not the kernel's");

constexpr std::size_t longest_rule = 5, around = 5;  // BPF instructions
constexpr std::uint16_t load = BPF_LD | BPF_W | BPF_ABS, is_equal = BPF_JMP | BPF_JEQ | BPF_K,
                        answer = BPF_RET | BPF_K;
constexpr std::uint32_t number_at = offsetof(seccomp_data, nr),
                        architecture_at = offsetof(seccomp_data, arch),
                        // The lower half: both arguments that are looked at are an int.
    first_argument_at = offsetof(seccomp_data, args);

struct filter {
    std::array<sock_filter, std::size(reading_calls) * longest_rule + around> step;
    std::uint16_t steps = 0;

    // if_so, if_not: how many of the next steps are left out.
    void compare(std::uint32_t with, std::uint8_t if_so, std::uint8_t if_not) {
        step[steps++] = {is_equal, if_so, if_not, with};
    }
    void add(std::uint16_t code, std::uint32_t k) { step[steps++] = {code, 0, 0, k}; }
};

std::uint32_t wanted(first_argument what) {
    switch (what) {
        case first_argument::itself:
            return static_cast<std::uint32_t>(::getpid());
        case first_argument::name:
            return PR_SET_NAME;
        case first_argument::zero:
        case first_argument::anything:
            break;
    }
    return 0;
}

filter reading_filter() {
    filter f;
    f.add(load, architecture_at);
    f.compare(architecture, 1, 0);
    // on another architecture the numbers mean other calls
    f.add(answer, SECCOMP_RET_KILL_PROCESS);
    f.add(load, number_at);
    for (const auto& call : reading_calls) {
        if (call.must_be == first_argument::anything) {
            f.compare(call.number, 0, 1);
        } else {
            f.compare(call.number, 0, 4);
            f.add(load, first_argument_at);
            f.compare(wanted(call.must_be), 1, 0);
            f.add(answer, SECCOMP_RET_ERRNO | EPERM);
        }
        f.add(answer, SECCOMP_RET_ALLOW);
    }
    f.add(answer, SECCOMP_RET_ERRNO | EPERM);
    return f;
}

}  // namespace

void allow_reading_calls_only() {
    filter f = reading_filter();
    sock_fprog program{f.steps, f.step.data()};
    const long refused =
        ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (refused == 0 || (refused < 0 && (errno == ENOSYS || errno == EINVAL))) return;
    throw machine_error(
        "the kernel refuses the filter of system calls (seccomp) with which an SNR trace is read",
        refused < 0 ? errno : 0);
}

#else

void allow_reading_calls_only() {}

#endif

}  // namespace wip::trace
