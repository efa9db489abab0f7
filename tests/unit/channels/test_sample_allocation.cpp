// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of the channel models take no memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "profiles/channel_definition.h"
#include "sample/stage_chain.h"
#include "sample/tapped_delay_line.h"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size)) return p;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    ++allocations;
    const std::size_t a = static_cast<std::size_t>(alignment);
    if (void* p = std::aligned_alloc(a, (size + a - 1) / a * a)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace wip::sample_model;

TEST(SampleAllocation, no_model_allocates_in_its_loop_not_even_after_a_jump) {
    const stage_context context;
    tapped_delay_line line(wip::profiles::load("jakes"), 125, context);
    stage_chain chain({cfo_config{3000, 50}, clock_offset_config{-20, 100.5, 1000},
                       timing_jump_config{-7, 0.001, 0.001, 50, 100}, phase_noise_config{100},
                       dc_offset_config{}, iq_imbalance_config{}, gain_step_config{},
                       quantiser_config{}, gap_config{}, tone_config{}, interference_config{}},
                      context);
    std::vector<cf32> x(20000);
    const std::size_t before = allocations;
    for (const std::int64_t first : {0, 20000, 7, -100000}) {
        line.work(first, x, x);
        chain.work(first, x, x);
    }
    EXPECT_EQ(allocations, before);
    EXPECT_GT(before, 0u);  // shows that the counter works
}
