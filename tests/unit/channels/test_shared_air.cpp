// SPDX-License-Identifier: GPL-3.0-or-later
// The owner of a medium's name: one process at a time, however many begin together. What its memory
// is: what was checked when it was attached, whatever anybody writes into it later.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "air/meeting_place.h"
#include "air/shared_air.h"
#include "peer/local_socket.h"
#include "types/failure.h"

using namespace wip::air;
using wip::descriptor;

namespace {

constexpr uid_t somebody = 65534;  // user id of nobody

struct SharedAir : testing::Test {
    static std::unique_ptr<shared_air> make() {
        auto air = shared_air::create(name(), {"a", "b"}, clock_kind::lockstep, 1);
        air->open();
        return air;
    }
    static std::string refusal() {
        try {
            make();
        } catch (const wip::machine_error& e) {
            return e.what();
        }
        return "";
    }
    static std::string name() { return "unit-test-" + std::to_string(getpid()); }
    static std::string socket() { return shared_air::path(name()); }
    static std::string lock() { return meeting_folder(geteuid()) + "/" + name() + ".lock"; }
    static bool exists() { return std::filesystem::exists(socket()); }
    static descriptor hold_lock(const std::string& text) {
        make().reset();  // the folder is there
        descriptor fd(open(lock().c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
        EXPECT_EQ(write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
        EXPECT_EQ(flock(fd.get(), LOCK_EX), 0);
        return fd;
    }
    static void leave_a_socket_of_nobody() {
        const descriptor fd = wip::peer::make_local_socket();
        const auto address = wip::peer::address_of(socket());
        ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    }
    ~SharedAir() override {
        unlink(socket().c_str());
        unlink(lock().c_str());
    }
};

// The description of a medium's memory as it goes over the socket, written from shared_air.h alone.
struct sent_description {
    std::uint64_t magic = 0x4F57495041495221;
    std::uint32_t version = layout_version;
    std::uint32_t nodes = 1;
    std::uint32_t clock = 0;
    std::uint32_t reserved = 0;
    double speed = 1;
    struct {
        char name[name_size] = "a";
        std::int64_t clock_parts = 0;
    } node[max_nodes];
};

// A process of this user that says it is a medium, and says and hands over what the test wants.
struct AMediumThatLies : SharedAir {
    AMediumThatLies() {
        const auto true_one = shared_air::create(name(), {"a"}, clock_kind::lockstep, 1);
        true_one->open();
        true_size = size_of(*true_one);
    }
    static off_t size_of(shared_air& air) {
        const auto last = reinterpret_cast<std::uintptr_t>(air.receive_ring(0) + receive_ring_size);
        return static_cast<off_t>(last - reinterpret_cast<std::uintptr_t>(&air.header()));
    }
    descriptor memory(off_t size, int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) const {
        descriptor fd(memfd_create("lie", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        EXPECT_EQ(ftruncate(fd.get(), size), 0);
        EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
        return fd;
    }
    // The error of a process that attaches, empty if there is none.
    std::string attached_to(const sent_description& reported, const descriptor& memory,
                            std::size_t bytes = sizeof(sent_description)) {
        const descriptor listener = wip::peer::make_local_socket();
        const auto address = wip::peer::address_of(socket());
        unlink(socket().c_str());
        EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  0);
        EXPECT_EQ(listen(listener.get(), 1), 0);
        std::string problem;
        std::thread user([&problem] {
            try {
                if (!shared_air::attach(name())) problem = "nobody is there";
            } catch (const wip::peer_error& e) {
                problem = e.what();
            }
        });
        descriptor end;
        while (!end.valid()) end = descriptor(accept(listener.get(), nullptr, nullptr));
        const auto all = std::as_bytes(std::span(&reported, 1)).first(bytes);
        if (memory.valid())
            wip::peer::send_message(end.get(), all, {memory.get()});
        else
            wip::peer::send_message(end.get(), all, {});
        user.join();
        return problem;
    }
    off_t true_size = 0;
};

}  // namespace

TEST_F(SharedAir, a_name_is_taken_until_its_medium_is_gone) {
    auto first = make();
    EXPECT_FALSE(first->cleaned());
    EXPECT_NE(refusal().find("is running already (process " + std::to_string(getpid()) + ")"),
              std::string::npos);
    EXPECT_TRUE(exists());
    first.reset();
    EXPECT_FALSE(exists());
    EXPECT_FALSE(std::filesystem::exists(lock()));
    EXPECT_FALSE(make()->cleaned());
}

TEST_F(SharedAir, a_medium_that_starts_has_its_name_before_anybody_can_attach) {
    descriptor starting = hold_lock("");
    EXPECT_NE(refusal().find("is starting already"), std::string::npos);
    EXPECT_EQ(shared_air::attach(name()), nullptr);
    starting.close();
    EXPECT_NE(make(), nullptr);
}

TEST_F(SharedAir, what_a_killed_one_left_is_removed) {
    hold_lock("4711\n").close();
    leave_a_socket_of_nobody();
    EXPECT_EQ(shared_air::attach(name()), nullptr);
    auto next = make();
    EXPECT_TRUE(next->cleaned());
    EXPECT_NE(shared_air::attach(name()), nullptr);
    next.reset();
    EXPECT_FALSE(exists());
}

TEST_F(SharedAir, one_that_ended_as_another_user_left_files_and_nothing_to_tell_of) {
    hold_lock("").close();
    leave_a_socket_of_nobody();
    EXPECT_FALSE(make()->cleaned());
}

TEST_F(SharedAir, of_those_that_begin_together_one_has_the_name) {
    std::array<std::unique_ptr<shared_air>, 4> made;
    for (int round = 0; round < 20; ++round) {
        std::barrier together(made.size());
        std::array<std::thread, made.size()> threads;
        for (std::size_t i = 0; i < made.size(); ++i)
            threads[i] = std::thread([&, i] {
                together.arrive_and_wait();
                try {
                    made[i] = make();
                } catch (const wip::machine_error&) {
                }
            });
        for (auto& t : threads) t.join();
        int nof_made = 0;
        for (const auto& m : made) nof_made += m != nullptr;
        EXPECT_EQ(nof_made, 1);
        EXPECT_TRUE(exists());
        EXPECT_NE(shared_air::attach(name()), nullptr);
        for (auto& m : made) m.reset();
        EXPECT_FALSE(exists());
    }
}

TEST_F(SharedAir, who_attaches_has_the_memory_and_notices_the_end) {
    auto medium = make();
    const auto user = shared_air::attach(name());
    ASSERT_NE(user, nullptr);
    user->node(1).read.store(4711);
    EXPECT_EQ(medium->node(1).read.load(), 4711);
    EXPECT_EQ(user->node_name(0) + user->node_name(1), "ab");
    EXPECT_TRUE(user->connected());
    medium.reset();
    EXPECT_FALSE(user->connected());
}

TEST_F(SharedAir, the_memory_has_no_name_that_anybody_could_take_first) {
    const auto medium = make();
    std::ifstream maps("/proc/self/maps");
    const std::string all((std::istreambuf_iterator<char>(maps)), {});
    EXPECT_EQ(all.find("/dev/shm/openwip-air"), std::string::npos);
    EXPECT_NE(all.find("memfd:openwip-air-" + name()), std::string::npos);
}

TEST_F(SharedAir, whatever_is_written_into_the_memory_moves_no_address) {
    const auto medium = make();
    const auto victim = shared_air::attach(name()), attacker = shared_air::attach(name());
    const auto places = [](shared_air& air) {
        return std::vector<const void*>{&air.header(),        &air.node(0),        &air.node(1),
                                        air.transmit_fifo(1), air.receive_ring(1), nullptr};
    };
    const auto before = places(*victim);
    std::memset(static_cast<void*>(&attacker->header()), 0xff, sizeof(air_header));
    for (std::size_t i : {0, 1})
        std::memset(static_cast<void*>(&attacker->node(i)), 0xff, sizeof(node_block));
    EXPECT_EQ(places(*victim), before);
    EXPECT_EQ(victim->nodes(), 2U);
    EXPECT_EQ(victim->node_name(1), "b");
    EXPECT_EQ(victim->clock(), clock_kind::lockstep);
    EXPECT_EQ(victim->speed(), 1);
}

TEST_F(SharedAir, a_folder_in_which_others_may_write_is_no_meeting_place) {
    if (geteuid() != 0) GTEST_SKIP() << "another user's folder needs root";
    make().reset();
    const std::string folder = meeting_folder(0);
    ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
    EXPECT_NE(refusal().find("is not a folder of user 0 alone"), std::string::npos);
    ASSERT_EQ(chmod(folder.c_str(), 0711), 0);
    EXPECT_EQ(refusal(), "");
}

TEST_F(SharedAir, another_user_is_refused_even_where_the_socket_lets_him) {
    if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
    const auto medium = make();
    const std::string path = socket();
    const auto as_another_user = [&path](bool expected_to_connect) {
        const pid_t child = fork();
        if (child == 0) {
            if (setresgid(somebody, somebody, somebody) != 0 ||
                setresuid(somebody, somebody, somebody) != 0)
                _exit(9);
            const descriptor fd = wip::peer::connect_to(path);
            if (fd.valid() != expected_to_connect) _exit(1);
            if (!fd.valid()) _exit(errno == EACCES ? 0 : 2);
            std::array<std::byte, 8192> answer{};
            std::vector<descriptor> memory;
            std::ptrdiff_t n = -1;
            while (n < 0) n = wip::peer::receive_message(fd.get(), answer, memory, 1);
            _exit(n == 0 && memory.empty() ? 0 : 3);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    EXPECT_EQ(as_another_user(false), 0);
    EXPECT_EQ(medium->refused(), 0U);
    ASSERT_EQ(chmod(socket().c_str(), 0666), 0);
    EXPECT_EQ(as_another_user(true), 0);
    EXPECT_EQ(medium->refused(), 1U);
    EXPECT_NE(shared_air::attach(name()), nullptr);
}

TEST_F(AMediumThatLies, is_believed_when_it_does_not) {
    EXPECT_EQ(attached_to({}, memory(true_size)), "");
}

TEST_F(AMediumThatLies, about_what_it_is_is_refused) {
    const auto lie = [this](const std::function<void(sent_description&)>& change) {
        sent_description reported;
        change(reported);
        return attached_to(reported, memory(true_size));
    };
    const auto in = [](const std::string& words, const std::string& text) {
        return text.find(words) != std::string::npos;
    };
    EXPECT_TRUE(in("is no medium", lie([](auto& s) { s.magic = 1; })));
    EXPECT_TRUE(in("build medium and radios from one tree", lie([](auto& s) { s.version = 4; })));
    EXPECT_TRUE(in("16777215 nodes", lie([](auto& s) { s.nodes = 0x00ffffff; })));
    EXPECT_TRUE(in("memory of", lie([](auto& s) { s.nodes = 0; })));
    EXPECT_TRUE(in("clock 7", lie([](auto& s) { s.clock = 7; })));
    EXPECT_TRUE(in("speed", lie([](auto& s) { s.speed = std::nan(""); })));
    EXPECT_TRUE(in("speed", lie([](auto& s) { s.speed = -1; })));
    EXPECT_TRUE(in("name of node 0", lie([](auto& s) { s.node[0].name[0] = '\n'; })));
    EXPECT_TRUE(
        in("name of node 0", lie([](auto& s) { std::memset(s.node[0].name, 'x', name_size); })));
    EXPECT_TRUE(in("clock of node", lie([](auto& s) { s.node[0].clock_parts = INT64_MAX; })));
    for (const std::size_t bytes : {1, 11})
        EXPECT_TRUE(in("is no medium", attached_to({}, memory(true_size), bytes)));
    EXPECT_TRUE(in("12 bytes", attached_to({}, memory(true_size), 12)));
}

TEST_F(AMediumThatLies, about_the_size_of_its_memory_is_refused) {
    sent_description two;
    two.nodes = 2;
    two.node[1].name[0] = 'b';
    EXPECT_NE(attached_to(two, memory(true_size)), "");
    for (const off_t size : {off_t{0}, true_size - 1, true_size + 4096})
        EXPECT_NE(attached_to({}, memory(size)).find("passed no sealed shared memory"),
                  std::string::npos);
}

TEST_F(AMediumThatLies, about_memory_that_can_still_shrink_is_refused) {
    EXPECT_NE(attached_to({}, memory(true_size, F_SEAL_GROW)), "");
    EXPECT_NE(attached_to({}, memory(true_size, F_SEAL_SHRINK | F_SEAL_GROW)), "");
    EXPECT_NE(attached_to({}, descriptor(open("/dev/null", O_RDWR))), "");
    EXPECT_NE(attached_to({}, descriptor()), "");
}
