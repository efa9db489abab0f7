// SPDX-License-Identifier: GPL-3.0-or-later
// The device's side of a virtio queue and of the clock, with a guest that writes anything into its
// memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "types/failure.h"
#include "virtual/time_travel.h"
#include "virtual/unix_socket.h"
#include "virtual/vhost_nic.h"
#include "virtual/vring.h"

namespace wip::virtual_time {
namespace {

// The guest's memory: its address in the guest, its size, and its place in the file that both map.
constexpr std::uint64_t base = 0x100000, bytes = 65536, offset = 4096;
// The parts of a split virtqueue (virtio 1.2, 2.7), and a page of data.
constexpr std::uint64_t descriptors = base, available = base + 4096, used = base + 8192,
                        data = base + 16384;
// Flags of a descriptor: VIRTQ_DESC_F_NEXT, VIRTQ_DESC_F_WRITE.
constexpr std::uint16_t more = 1, writable = 2;

struct guest : testing::Test {
    guest() : fd(::memfd_create("guest", 0)) {
        if (::ftruncate(fd, bytes + offset) != 0) throw std::runtime_error("ftruncate");
        memory.add(fd, base, bytes, offset);
        ring.set_size(4);
        ring.set_addresses(memory, descriptors, used, available);
    }
    ~guest() override { ::close(fd); }
    guest(const guest&) = delete;
    guest& operator=(const guest&) = delete;

    template <class T>
    void put(std::uint64_t at, T value) {
        std::memcpy(memory.at(at, sizeof value).data(), &value, sizeof value);
    }
    template <class T>
    T get(std::uint64_t at) const {
        T value;
        std::memcpy(&value, memory.at(at, sizeof value).data(), sizeof value);
        return value;
    }
    void describe(int i, std::uint64_t address, std::uint32_t length, std::uint16_t flags,
                  std::uint16_t next = 0) {
        const std::uint64_t at = descriptors + 16 * static_cast<std::uint64_t>(i);
        put(at, address);
        put(at + 8, length);
        put(at + 12, flags);
        put(at + 14, next);
    }
    void offer(std::uint16_t head) {
        put(available + 4 + 2U * (offered % 4), head);
        put(available + 2, ++offered);
    }

    int fd;
    guest_memory memory;
    vring ring;
    vring::buffer taken;
    std::uint16_t offered = 0;
};

TEST_F(guest, a_buffer_of_two_parts_goes_there_and_back) {
    describe(2, data, 10, more, 3);
    describe(3, data + 100, 20, 0);
    EXPECT_FALSE(ring.take(memory, false, taken));
    offer(2);
    ASSERT_TRUE(ring.take(memory, false, taken));
    ASSERT_EQ(taken.parts.size(), 2U);
    EXPECT_EQ(taken.parts[0].size(), 10U);
    EXPECT_EQ(taken.parts[1].data(), memory.at(data + 100, 20).data());
    ring.give_back(taken, 7);
    EXPECT_EQ(get<std::uint16_t>(used + 2), 1);
    EXPECT_EQ(get<std::uint32_t>(used + 4), 2U);
    EXPECT_EQ(get<std::uint32_t>(used + 8), 7U);
    EXPECT_FALSE(ring.take(memory, false, taken));
}

TEST_F(guest, goes_round_as_often_as_the_index_does) {
    for (int i = 0; i < 4; ++i) describe(i, data, 10, writable);
    for (int n = 0; n < 70000; ++n) {
        offer(static_cast<std::uint16_t>(n % 4));
        ASSERT_TRUE(ring.take(memory, true, taken));
        ASSERT_EQ(taken.head, n % 4);
        ring.give_back(taken, 0);
    }
    EXPECT_EQ(get<std::uint16_t>(used + 2), static_cast<std::uint16_t>(70000));
}

TEST_F(guest, wants_no_call_while_it_looks_itself) {
    EXPECT_TRUE(ring.wants_call());
    put(available, std::uint16_t{1});
    EXPECT_FALSE(ring.wants_call());
}

TEST_F(guest, what_points_nowhere_is_refused) {
    const auto refused = [this](bool device_writes) {
        EXPECT_THROW(ring.take(memory, device_writes, taken), wip::peer_error);
    };
    offer(4);  // the queue has four descriptors, from 0 on
    refused(false);
    describe(0, base + bytes - 5, 6, 0);
    offer(0);
    refused(false);
    describe(0, ~std::uint64_t{0}, 2, 0);
    offer(0);
    refused(false);
    describe(0, data, 0xffffffff, 0);
    offer(0);
    refused(false);
    describe(0, data, 10, more, 1);  // descriptors that form a cycle
    describe(1, data, 10, more, 0);
    offer(0);
    refused(false);
    describe(0, data, 10, 0);  // a buffer to be read, not to be written
    offer(0);
    refused(true);
}

TEST_F(guest, a_queue_that_cannot_be_is_refused) {
    for (const std::uint32_t n : {0U, 3U, 65536U}) EXPECT_THROW(ring.set_size(n), wip::peer_error);
    EXPECT_THROW(ring.set_addresses(memory, base + bytes - 8, used, available), wip::peer_error);
    EXPECT_THROW(memory.add(fd, base, 0, 0), wip::peer_error);
    EXPECT_THROW(memory.add(fd, base, ~std::uint64_t{0}, 0), wip::peer_error);
}

// The same guest's network interface over its socket.
struct guest_nic : guest {
    guest_nic() : nic([this](auto packet) { sent.emplace_back(packet.begin(), packet.end()); }) {
        if (::socketpair(AF_UNIX, SOCK_STREAM, 0, line) != 0)
            throw std::runtime_error("socketpair");
        nic.attach(line[0]);
        const std::uint64_t region[] = {1, base, bytes, 0, offset};
        say(5, region, sizeof region, fd);
        for (const std::uint64_t queue : {0U, 1U}) {
            const std::uint64_t size = queue | std::uint64_t{4} << 32;
            say(8, &size, sizeof size);
            const std::uint64_t addresses[] = {queue, descriptors, used, available, 0};
            say(9, addresses, sizeof addresses);
        }
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(nic.serve());
    }
    ~guest_nic() override { ::close(line[1]); }
    void say(std::uint32_t request, const void* payload, std::uint32_t size, int with = -1) {
        std::vector<char> whole(12 + size);
        const std::uint32_t head[] = {request, 1, size};
        std::memcpy(whole.data(), head, sizeof head);
        std::memcpy(whole.data() + 12, payload, size);
        ASSERT_TRUE(
            unix_socket::send(line[1], whole.data(), whole.size(), &with, with < 0 ? 0U : 1U));
    }

    int line[2]{};
    std::vector<std::vector<std::uint8_t>> sent;
    vhost_nic nic;
};

TEST_F(guest_nic, what_is_sent_is_taken) {
    describe(0, data, 26 + 3, 0);
    put<std::uint16_t>(data + 24, 8);  // IPv4
    put<std::uint16_t>(data + 26, 0x0245);
    offer(0);
    nic.take_sent();
    EXPECT_EQ(sent, (std::vector<std::vector<std::uint8_t>>{{0x45, 0x02, 0}}));
    EXPECT_TRUE(nic.call_wanted(vhost_nic::transmit));
    EXPECT_FALSE(nic.call_wanted(vhost_nic::transmit));
    ::shutdown(line[1], SHUT_WR);
    EXPECT_FALSE(nic.serve());
}

// A kernel of another recipe, which signals by messages.
TEST_F(guest_nic, a_kick_that_is_a_message_tells_how_to_mend_it) {
    const std::uint32_t queue[] = {1, 0};
    say(35, queue, sizeof queue);
    try {
        nic.serve();
        FAIL();
    } catch (const wip::peer_error& e) {
        EXPECT_NE(std::string(e.what()).find("setup --virtual-time"), std::string::npos);
    }
}

TEST_F(guest_nic, a_message_that_is_too_long_is_refused) {
    const std::uint32_t head[] = {2, 1, 513};
    ASSERT_TRUE(unix_socket::send(line[1], head, sizeof head));
    EXPECT_THROW(nic.serve(), wip::peer_error);
}

TEST_F(guest_nic, half_a_message_is_none) {
    const std::uint32_t head[] = {2, 1, 8, 1};
    ASSERT_TRUE(unix_socket::send(line[1], head, sizeof head));
    ::shutdown(line[1], SHUT_WR);
    EXPECT_FALSE(nic.serve());
}

TEST_F(guest_nic, is_called_once_if_it_wants_to) {
    describe(0, data, 100, writable);
    offer(0);
    EXPECT_FALSE(nic.call_wanted(vhost_nic::receive));
    EXPECT_EQ(nic.give(std::vector<std::uint8_t>(20)), 0);
    EXPECT_TRUE(nic.call_wanted(vhost_nic::receive));
    EXPECT_FALSE(nic.call_wanted(vhost_nic::receive));
    put<std::uint16_t>(available, 1);
    offer(0);
    EXPECT_EQ(nic.give(std::vector<std::uint8_t>(20)), 0);
    EXPECT_FALSE(nic.call_wanted(vhost_nic::receive));
}

// A kernel's side of the clock: RUN and WAIT are first messages, then a futex in the shared page.
TEST(TimeTravel, turns_kicks_and_calls_are_in_the_page) {
    int line[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, line), 0);
    struct {
        std::uint32_t op = 1, sequence = 7;
        std::uint64_t time = 0;
    } reported, answer;
    time_travel clock;
    clock.attach(line[0]);
    ASSERT_TRUE(unix_socket::send(line[1], &reported, sizeof reported));
    clock.serve();
    std::vector<int> fds;
    ASSERT_TRUE(unix_socket::receive(line[1], &answer, sizeof answer, &fds));
    ASSERT_EQ(fds.size(), 2U);
    void* at = ::mmap(nullptr, 4096 + 2 * 128, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
    ASSERT_NE(at, MAP_FAILED);
    struct fields {  // the part of the second client (union um_timetravel_schedshm_client)
        std::uint32_t capabilities, flags;
        std::uint64_t request, name, kicked[2], called[2];
        std::uint32_t by_word, turn;
    };
    auto& page = *reinterpret_cast<fields*>(static_cast<char*>(at) + 4096 + 128);
    const auto wait_by_message = [&] {
        reported.op = 3;
        ASSERT_TRUE(unix_socket::send(line[1], &reported, sizeof reported));
        clock.serve();
    };

    EXPECT_TRUE(clock.running());
    page.flags = 1, page.request = 5000;
    page.kicked[1] = 1U << 1;
    wait_by_message();
    EXPECT_FALSE(clock.running());
    EXPECT_EQ(clock.wakeup(), 5000);
    EXPECT_FALSE(clock.take_kick(0, 1));
    EXPECT_FALSE(clock.take_kick(1, 0));
    EXPECT_TRUE(clock.take_kick(1, 1));
    EXPECT_FALSE(clock.take_kick(1, 1));

    clock.call(63, 0);
    EXPECT_EQ(page.called[0], std::uint64_t{1} << 63);
    EXPECT_EQ(page.called[1], 0U);
    clock.use_futex();
    clock.run(5000);  // the kernel still waits for a message
    ASSERT_TRUE(unix_socket::receive(line[1], &answer, sizeof answer));
    EXPECT_EQ(answer.op, 6U);
    EXPECT_EQ(answer.time, 5000U);
    EXPECT_FALSE(clock.wait_for_futex());
    EXPECT_TRUE(clock.running());
    std::atomic_ref(page.turn).store(0);
    EXPECT_TRUE(clock.wait_for_futex());
    EXPECT_FALSE(clock.running());
    clock.run(6000);
    EXPECT_EQ(page.turn, 1U);
    EXPECT_EQ(clock.now(), 6000);
    EXPECT_TRUE(clock.running());
    // No message of that: it has ended.
    ::close(line[1]);
    EXPECT_FALSE(clock.wait_for_futex());
    clock.serve();
    EXPECT_TRUE(clock.ended());
    ::munmap(at, 4096 + 2 * 128);
    for (const int fd : fds) ::close(fd);
}

TEST(UnixSocket, waits_for_the_whole) {
    int line[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, line), 0);
    char there[8] = "1234567", got[8] = "";
    ASSERT_TRUE(unix_socket::send(line[1], there, 3));
    std::thread later([&] { EXPECT_TRUE(unix_socket::send(line[1], there + 3, 5)); });
    EXPECT_TRUE(unix_socket::receive(line[0], got, sizeof got));
    later.join();
    EXPECT_STREQ(got, "1234567");
    ASSERT_TRUE(unix_socket::send(line[1], there, 3));
    ::close(line[1]);
    EXPECT_FALSE(unix_socket::receive(line[0], got, 4));
    ::close(line[0]);
}

}  // namespace
}  // namespace wip::virtual_time
