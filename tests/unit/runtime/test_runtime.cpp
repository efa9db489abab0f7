// SPDX-License-Identifier: GPL-3.0-or-later
// Real-time priority and its guard, each in a process of its own; what a wake-up costs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "os/memory_lock.h"
#include "os/monotonic.h"
#include "os/pacing.h"
#include "os/privileges.h"
#include "os/realtime.h"
#include "os/stalls.h"
#include "os/wake_up_cost.h"
#include "types/failure.h"

namespace {

using namespace wip::os;

// Exit code of `what` in a child; -1: it was killed.
template <class What>
int in_child(What what) {
    const pid_t child = fork();
    if (child == 0) _exit(what());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int refused = 77;  // exit code

int policy_of_a_new_thread() {
    int policy = -1;
    std::thread([&] { policy = sched_getscheduler(0); }).join();
    return policy;
}

TEST(realtime, this_thread_has_it_and_threads_made_later_have_not) {
    const int code = in_child([] {
        if (!use_realtime()) return refused;
        if (sched_getscheduler(0) != (SCHED_FIFO | SCHED_RESET_ON_FORK)) return 2;
        if (policy_of_a_new_thread() != SCHED_OTHER) return 3;
        return realtime_was_taken() ? 4 : 0;
    });
    if (code == refused) GTEST_SKIP() << "real-time priority is not granted here";
    EXPECT_EQ(code, 0);
}

TEST(realtime, a_thread_that_never_sleeps_loses_it_and_lives) {
    const int code = in_child([] {
        bool granted = false, taken = false;
        std::thread([&] {
            granted = use_realtime();
            const auto began = time(nullptr);
            while (!realtime_was_taken() && time(nullptr) < began + 10) {
            }
            taken = sched_getscheduler(0) == SCHED_OTHER;
        }).join();
        if (!granted) return refused;
        return taken && realtime_was_taken() ? 0 : 1;
    });
    if (code == refused) GTEST_SKIP() << "real-time priority is not granted here";
    EXPECT_EQ(code, 0);
}

TEST(realtime, a_thread_that_sleeps_in_between_keeps_it) {
    const int code = in_child([] {
        if (!use_realtime()) return refused;
        const timespec pause{0, 1'000'000};
        for (int i = 0; i < 20; ++i) {
            timespec begin{}, now{};
            clock_gettime(CLOCK_MONOTONIC, &begin);
            do clock_gettime(CLOCK_MONOTONIC, &now);
            while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
                   30);
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
        }
        return realtime_was_taken() ? 1 : 0;
    });
    if (code == refused) GTEST_SKIP() << "real-time priority is not granted here";
    EXPECT_EQ(code, 0);
}

long locked_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmLck:")) return std::stol(line.substr(6));
    return -1;
}

int stack_of(int kib) {
    volatile char page[1024];
    page[0] = static_cast<char>(kib);
    return kib == 0 ? 0 : stack_of(kib - 1) + page[0] - page[0];
}

TEST(memory_lock, comes_with_the_priority_and_what_is_mapped_later_is_not_refused) {
    const int code = in_child([] {
        const bool mapped_before = locked_kib() != 0;
        use_realtime();
        if (locked_kib() == 0) return refused;
        if (mapped_before) return 1;
        std::vector<char> later(64 << 20, 1);
        return later.back() == 1 ? 0 : 2;
    });
    if (code == refused) GTEST_SKIP() << "locking memory is not granted here, or is a sanitizer's";
    EXPECT_EQ(code, 0);
}

std::size_t in_memory(void* begin, std::size_t octets) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(octets / page);
    mincore(begin, octets, pages.data());
    return static_cast<std::size_t>(std::ranges::count_if(pages, [](int p) { return p & 1; }));
}

TEST(memory_lock, of_a_mapped_file_is_read_ahead) {
    constexpr std::size_t octets = 4 << 20;
    const std::size_t pages = octets / static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    char name[] = "read_ahead_XXXXXX";
    const int file = mkstemp(name);
    ASSERT_GE(file, 0);
    unlink(name);
    const std::vector<char> some(octets, 1);
    ASSERT_EQ(write(file, some.data(), octets), static_cast<ssize_t>(octets));
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    void* mapped = mmap(nullptr, octets, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    ASSERT_NE(mapped, MAP_FAILED);
    const std::size_t before = in_memory(mapped, octets);
    const int code = in_child([&] {
        lock_memory();
        for (int ms = 0; ms < 10'000; ++ms) {
            if (in_memory(mapped, octets) == pages) return 0;
            usleep(1000);
        }
        return 1;
    });
    munmap(mapped, octets);
    if (before > pages / 2) GTEST_SKIP() << "this file system forgets no page when asked";
    EXPECT_EQ(code, 0);
}

long minor_faults() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
}

TEST(memory_lock, pages_that_were_mapped_cost_no_fault_when_they_are_used) {
    constexpr std::size_t octets = 4 << 20;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const int file = memfd_create("twice", 0);
    ASSERT_EQ(ftruncate(file, octets), 0);
    const auto faults_of = [&](bool mapped_before) {
        auto* shared =
            static_cast<char*>(mmap(nullptr, octets, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        if (mapped_before) map_pages(shared + 100, octets - 100);
        const long before = minor_faults();
        for (std::size_t i = 0; i < octets; i += page) shared[i] = 1;
        const long found = minor_faults() - before;
        munmap(shared, octets);
        return found;
    };
    const long without = faults_of(false), with = faults_of(true);
    close(file);
    EXPECT_GT(without, 10);
    EXPECT_LT(with, without / 10);
}

// A right that the process gives up: what the kernel would then refuse is not asked of it.
TEST(memory_lock, under_a_limit_a_process_that_gives_its_rights_up_may_still_grow) {
    const int code = in_child([] {
        const rlimit little{65536, 65536};
        ::setrlimit(RLIMIT_MEMLOCK, &little);
        __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct held[2]{};
        ::syscall(SYS_capget, &header, held);
        // root would raise the limit with this capability
        held[0].effective &= ~(1U << CAP_SYS_RESOURCE);
        held[0].permitted &= ~(1U << CAP_SYS_RESOURCE);
        if (::syscall(SYS_capset, &header, held) != 0) return 1;
        const bool may = (held[0].effective >> CAP_IPC_LOCK & 1U) != 0;
        if (may && !lock_memory()) return 2;
        for (auto& h : held) h.effective = h.permitted = 0;
        if (::syscall(SYS_capset, &header, held) != 0) return 3;
        std::vector<char> later(64 << 20, 1);
        std::thread([] { stack_of(1000); }).join();
        return stack_of(3000) == 0 && later.back() == 1 ? 0 : 4;
    });
    EXPECT_EQ(code, 0);
}

TEST(stalls, are_wake_ups_that_came_late_and_each_counts_once) {
    using namespace std::chrono_literals;
    stalls found(2ms);
    EXPECT_EQ(found.woke(300us), 0);
    EXPECT_EQ(found.woke(1999us), 1);
    EXPECT_EQ(found.count(), 0);
    EXPECT_EQ(found.woke(14200us, 300us), 14);  // counts wake-ups that are past
    EXPECT_EQ(found.woke(2ms), 2);
    EXPECT_EQ(found.woke(-1us), 0);
    EXPECT_EQ(found.woke(1900us, 1900us), 1);  // too short to count
    EXPECT_EQ(found.woke(6ms, 5800us), 6);
    EXPECT_EQ(found.least(), 2ms);
    EXPECT_EQ(found.all().count, 3);
    EXPECT_EQ(found.all().longest, 14200us);
    EXPECT_EQ(found.all().together, 22200us);
    EXPECT_EQ(found.held_back().count, 1);
    EXPECT_EQ(found.held_back().longest, 6ms);
    EXPECT_EQ(found.held_back().together, 6ms);
    EXPECT_THROW(watch_core(-1, 2ms), wip::machine_error);
    EXPECT_THROW(watch_core(1000, 2ms), wip::machine_error);
}

// Two that always have something to do, on one core: each is ready while the other one has it.
TEST(stalls, a_thread_knows_how_long_it_was_ready_without_a_core) {
    if (!ready_without_core()) GTEST_SKIP() << "this kernel does not count it";
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(usable_cores().at(0)), &one);
    std::atomic<bool> waited[2]{};
    const auto work = [&](std::size_t me) {
        sched_setaffinity(0, sizeof one, &one);
        while (!waited[0] || !waited[1])
            if (*ready_without_core() > std::chrono::milliseconds(2)) waited[me] = true;
    };
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
}

TEST(wake_up_cost, is_measured_on_one_core_and_across_two) {
    const auto cores = usable_cores();
    ASSERT_FALSE(cores.empty());
    const auto same = measure_wake_up(cores[0], cores[0], 20);
    EXPECT_GT(same.round_trip_us, 0.5);
    EXPECT_GT(same.processor_us, 0.5);
    if (cores.size() > 1) {
        EXPECT_GT(measure_wake_up(cores[0], cores[1], 20).round_trip_us, 0.2);
    }
    EXPECT_THROW(measure_wake_up(cores[0], 1000, 5), wip::machine_error);
}

TEST(Pacing, summarises_to_the_microsecond) {
    wip::os::pacing p(100);
    for (int i = 1; i <= 1000; ++i) p.add(i <= 990 ? 20.5 : 5000.25);
    const wip::os::pacing_summary s = p.summary();
    EXPECT_EQ(s.slots, 1000u);
    EXPECT_EQ(s.behind, 10u);
    EXPECT_NEAR(s.median_us, 20.5, 0.6);
    EXPECT_NEAR(s.p99_us, 5000.25, 1);
    EXPECT_DOUBLE_EQ(s.max_us, 5000.25);
    p.reset();
    EXPECT_EQ(p.summary().slots, 0u);
    EXPECT_EQ(p.summary().p99_us, 0);
}

// A reader of ordinary priority may have no core for 100 ms while it reads.
TEST(Pacing, who_adds_does_not_wait_for_who_reads) {
    wip::os::pacing p(100);
    p.add(49'000);  // a summary goes through all of it
    std::atomic<bool> over = false;
    std::thread reader([&] {
        while (!over) (void)p.summary();
    });
    std::vector<std::int64_t> took;
    for (int i = 0; i < 2001; ++i) {
        const std::int64_t before = wip::os::monotonic_ns();
        p.add(49'000);
        took.push_back(wip::os::monotonic_ns() - before);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    over = true;
    reader.join();
    std::nth_element(took.begin(), took.begin() + 1000, took.end());
    EXPECT_LT(took[1000], 10'000);  // with a lock: the rest of a summary, 30 us and more
    EXPECT_EQ(p.summary().slots, 2002u);
}

TEST(Privileges, what_has_no_file_is_not_handed_over) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    const account root{0, 0, "root"};
    EXPECT_NO_THROW(hand_over({""}, root));  // an endpoint of tcp:// has no path
    EXPECT_THROW(hand_over({"", "/no/such"}, root), wip::machine_error);
}

// If others can write into the folder of a socket, its name may be that of something else by now.
TEST(Privileges, a_socket_is_handed_over_and_neither_a_link_nor_a_file_in_its_place) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    char folder[] = "/tmp/hand_over.XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    const std::string file = folder + std::string("/file"), link = folder + std::string("/link"),
                      path = folder + std::string("/socket");
    ::close(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
    ASSERT_EQ(::symlink(path.c_str(), link.c_str()), 0);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const account other{12345, 12346, "other"};
    struct stat found {};
    EXPECT_THROW(hand_over({link}, other), wip::machine_error);
    EXPECT_THROW(hand_over({file}, other), wip::machine_error);
    for (const std::string& untouched : {file, path}) {
        ASSERT_EQ(::stat(untouched.c_str(), &found), 0);
        EXPECT_EQ(found.st_uid, 0U) << untouched;
    }
    hand_over({path}, other);
    ASSERT_EQ(::stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_uid, 12345U);
    EXPECT_EQ(found.st_gid, 12346U);
    // the file belongs to another user by now
    EXPECT_THROW(hand_over({path}, other), wip::machine_error);
    ::close(fd);
    for (const std::string& left : {file, link, path}) ::unlink(left.c_str());
    ::rmdir(folder);
}

}  // namespace
