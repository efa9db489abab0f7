// SPDX-License-Identifier: GPL-3.0-or-later
// The device's side of a queue, with a guest that writes what it likes into its memory.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "types/failure.h"
#include "virtual/vring.h"

namespace wip::virtual_time {
namespace {

constexpr std::uint64_t base = 0x100000, bytes = 65536, offset = 4096;
constexpr std::uint64_t descriptors = base, available = base + 4096, used = base + 8192,
                        data = base + 16384;
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
    offer(4);  // there are four, from 0 on
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
    describe(0, data, 10, more, 1);  // a circle
    describe(1, data, 10, more, 0);
    offer(0);
    refused(false);
    describe(0, data, 10, 0);  // to be read, not to be written
    offer(0);
    refused(true);
}

TEST_F(guest, a_queue_that_cannot_be_is_refused) {
    for (const std::uint32_t n : {0U, 3U, 65536U}) EXPECT_THROW(ring.set_size(n), wip::peer_error);
    EXPECT_THROW(ring.set_addresses(memory, base + bytes - 8, used, available), wip::peer_error);
    EXPECT_THROW(memory.add(fd, base, 0, 0), wip::peer_error);
    EXPECT_THROW(memory.add(fd, base, ~std::uint64_t{0}, 0), wip::peer_error);
}

}  // namespace
}  // namespace wip::virtual_time
