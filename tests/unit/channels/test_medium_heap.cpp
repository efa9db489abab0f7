// SPDX-License-Identifier: GPL-3.0-or-later
// A node whose sampling clock is fast has more samples in a quantum than the medium has ticks. All
// that the medium writes stays inside of its blocks: behind each block of this program lies a
// pattern, which is compared when the block is freed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "air/medium.h"

using namespace wip::air;
using namespace std::chrono_literals;

namespace {

std::atomic<std::size_t> damaged_blocks{0};

constexpr std::size_t head = 64, tail = 64;  // bytes around a block that hold the pattern
constexpr std::uint8_t pattern = 0xc5;

void* guarded(std::size_t size) {
    auto* block =
        static_cast<std::uint8_t*>(std::aligned_alloc(64, (head + size + tail + 63) / 64 * 64));
    if (block == nullptr) throw std::bad_alloc();
    std::memcpy(block, &size, sizeof size);
    std::memset(block + head + size, pattern, tail);
    return block + head;
}

void release(void* p) noexcept {
    if (p == nullptr) return;
    auto* block = static_cast<std::uint8_t*>(p) - head;
    std::size_t size = 0;
    std::memcpy(&size, block, sizeof size);
    for (std::size_t i = 0; i < tail; ++i)
        if (block[head + size + i] != pattern) {
            damaged_blocks.fetch_add(1);
            break;
        }
    std::free(block);
}

// Damaged blocks after a medium with one receiver has released 200 quanta to it.
std::size_t damage_with(double ppm, std::int64_t quantum, clock_kind clock) {
    damaged_blocks = 0;
    {
        medium_config config;
        config.priority = 0;
        config.clock = clock;
        config.speed = clock == clock_kind::lockstep ? 0 : 100;
        config.quantum = quantum;
        config.wait_receivers = 1;
        node_config one{"a", {}};
        one.noise_dbfs = -40;
        wip::sample_model::clock_offset_config fast;
        fast.ppm = ppm;
        one.impairments.push_back(fast);
        config.nodes.push_back(one);
        const auto memory = shared_air::create_private({"a"}, config.clock, config.speed);
        medium air(*memory, config, [](const std::string&) {});
        node_block& node = memory->node(0);
        node.process = getpid();
        node.claims.fetch_add(1);
        std::jthread runs([&air] { air.run(); });
        const auto wake = [&memory] {
            memory->header().work.wake();
            std::this_thread::sleep_for(50us);
        };
        while (node.served.load() != node.claims.load()) wake();
        node.commands.at(0) = {as_soon_as_possible, 0, 0, command_kind::receive_start};
        node.commands.written.store(1);
        while (memory->header().now.load() < 200 * quantum) {
            node.read.store(node.now.load());
            wake();
        }
        air.stop();
    }
    return damaged_blocks;
}

}  // namespace

void* operator new(std::size_t size) { return guarded(size); }
void* operator new[](std::size_t size) { return guarded(size); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete[](void* p, std::size_t) noexcept { release(p); }

TEST(MediumHeap, a_block_that_is_overrun_is_seen) {
    damaged_blocks = 0;
    auto* block = static_cast<volatile char*>(::operator new(40));
    block[40] = 1;
    ::operator delete(const_cast<char*>(block));
    EXPECT_EQ(damaged_blocks, 1U);
}

TEST(MediumHeap, a_fast_clock_stays_inside_of_its_blocks) {
    for (const double ppm : {0.0, 0.01, 1.0, 10.0, 100.0, -100.0})
        for (const std::int64_t quantum : {64, 2560, 5120})
            EXPECT_EQ(damage_with(ppm, quantum, clock_kind::lockstep), 0U)
                << ppm << " ppm, quantum " << quantum;
}

TEST(MediumHeap, a_fast_clock_stays_inside_of_them_with_the_wall_clock) {
    EXPECT_EQ(damage_with(100, realtime_quantum, clock_kind::realtime), 0U);
}
