// SPDX-License-Identifier: GPL-3.0-or-later
// A model of the sectors of the STM32F4's flash that hold the settings, with the rules of its
// interface (RM0390, 3.5 to 3.8). It records an access that breaks a rule, and does not perform it.
// The memory lies at the chip's addresses; the model sees a store at the next access to a register.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "board/flash.h"
#include "board/registers.h"
#include "board/unique_identity.h"
#include "core/settings_store.h"

namespace {

constexpr std::uintptr_t base = 0x08004000;  // address of sector 1
constexpr std::size_t sector_size = 0x4000, size = 2 * sector_size;
enum : int { acr, keyr, optkeyr, sr, cr };
constexpr std::uint32_t lock = 1u << 31, start = 1u << 16, busy = 1u << 16, programs = 1,
                        erases = 2, sequence_error = 1u << 7, errors = 0xf2;

struct flash_model {
    std::uint8_t* memory = nullptr;
    std::vector<std::uint8_t> is;  // content of the cells
    std::uint32_t control = lock, status = 0, access = 0x705;
    int keys = 0, busy_reads = 0, flushes = 0;
    bool locked_for_good = false;
    std::uint32_t fails_with = 0;  // error of the next operation; 0: none
    std::vector<std::string> broken;

    flash_model() : is(size, 0xff) {
        void* const at = mmap(reinterpret_cast<void*>(base), size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == reinterpret_cast<void*>(base)) memory = static_cast<std::uint8_t*>(at);
        reset();
    }
    void reset() {
        std::ranges::fill(is, 0xff);
        if (memory) std::ranges::copy(is, memory);
        control = lock, status = 0, access = 0x705;
        keys = busy_reads = flushes = 0;
        locked_for_good = false, fails_with = 0;
        broken.clear();
    }
    void note(const char* what) { broken.emplace_back(what); }
    void works() {
        busy_reads = 3;
        if (fails_with != 0) status |= std::exchange(fails_with, 0);
    }
    // Looks at the stores of the program since the last look.
    void look() {
        if (std::memcmp(memory, is.data(), size) == 0) return;
        for (std::size_t k = 0; k < size; ++k) {
            if (memory[k] == is[k]) continue;
            const bool may = (control & lock) == 0 && (control & programs) != 0;
            if (!may) status |= sequence_error, note("a store without PG");
            if (busy_reads > 0) note("a store while busy");
            if (may) {
                is[k] &= fails_with != 0 ? is[k] : memory[k];
                works();
            }
            memory[k] = is[k];
        }
    }
    void erase() {
        const std::uint32_t sector = control >> 3 & 15;
        if (sector != 1 && sector != 2) return note("the sector of something else is erased");
        if (fails_with == 0) {
            std::fill_n(is.begin() + (sector - 1) * sector_size, sector_size, 0xff);
            std::ranges::copy(is, memory);
        }
        works();
    }
    std::uint32_t read(int number) {
        look();
        if (number == cr) return control;
        if (number == acr) return access;
        const bool is_busy = busy_reads > 0 && busy_reads-- > 0;
        return status | (is_busy ? busy : 0);
    }
    void write(int number, std::uint32_t v) {
        look();
        if (number == keyr) {
            constexpr std::array<std::uint32_t, 2> key{0x45670123, 0xcdef89ab};
            const bool expected = v == key.at(static_cast<unsigned>(keys));
            if ((control & lock) == 0 || locked_for_good || !expected)
                locked_for_good = true, note("a wrong key");
            else if (++keys == 2)
                keys = 0, control &= ~lock;
        } else if (number == sr) {
            status &= ~(v & errors);
        } else if (number == acr) {
            if ((v & 1u << 12) != 0) {
                if (((access | v) & 1u << 10) != 0) note("the data cache is reset while it is on");
                ++flushes;
            }
            access = v;
        } else if ((control & lock) != 0) {
            note("CR is written while locked");
        } else {
            if (busy_reads > 0) note("CR is written while busy");
            const bool starts = (v & start) != 0;
            if (starts && (control & erases) == 0) note("STRT without SER");
            control = v & ~start;
            if (starts) erase();
        }
    }
} model;

}  // namespace

namespace wip::board {
model_register::operator std::uint32_t() const { return model.read(number); }
const model_register& model_register::operator=(std::uint32_t value) const {
    model.write(number, value);
    return *this;
}
}  // namespace wip::board

namespace {

using bytes = std::vector<std::uint8_t>;

struct Stm32f4Flash : testing::Test {
    wip::attenuator::flash_port& flash = wip::board::settings_flash();

    void SetUp() override {
        ASSERT_NE(model.memory, nullptr) << "the chip's addresses are taken";
        model.reset();
    }
    void TearDown() override {
        EXPECT_EQ(model.broken, std::vector<std::string>{});
        EXPECT_NE(model.control & lock, 0u) << "left unlocked";
        EXPECT_EQ(model.access, 0x705u) << "wait states and caches are as before";
    }
    bytes read(int sector, std::uint32_t offset, std::size_t n) {
        bytes b(n);
        EXPECT_TRUE(flash.read(sector, offset, b));
        return b;
    }
};

TEST_F(Stm32f4Flash, what_is_written_is_read_and_lies_in_its_sector) {
    EXPECT_EQ(flash.sector_bytes(), sector_size);
    EXPECT_TRUE(flash.write(0, 4, bytes{1, 2, 3}));
    EXPECT_TRUE(flash.write(1, 0x3ffe, bytes{7, 8}));
    EXPECT_EQ(read(0, 3, 5), (bytes{0xff, 1, 2, 3, 0xff}));
    EXPECT_EQ(read(1, 0x3ffe, 2), (bytes{7, 8}));
    EXPECT_EQ(model.is[sector_size + 0x3fff], 8);
    EXPECT_EQ(model.flushes, 2) << "or the cache has what was there before";
}

TEST_F(Stm32f4Flash, a_sector_is_erased_and_the_other_one_stays) {
    flash.write(0, 0, bytes{1});
    flash.write(1, 0, bytes{2});
    EXPECT_TRUE(flash.erase(0));
    EXPECT_EQ(read(0, 0, 1), bytes{0xff});
    EXPECT_EQ(read(1, 0, 1), bytes{2});
    EXPECT_TRUE(flash.erase(1));
    EXPECT_EQ(read(1, 0, 1), bytes{0xff});
}

TEST_F(Stm32f4Flash, an_operation_that_fails_says_so_and_the_next_one_is_evaluated_alone) {
    for (const std::uint32_t error : {1u << 1, 1u << 4, 1u << 5, 1u << 6, 1u << 7}) {
        model.fails_with = error;
        EXPECT_FALSE(flash.write(0, 0, bytes{0x55})) << error;
        EXPECT_TRUE(flash.write(0, 0, bytes{0x55})) << error;
        model.fails_with = error;
        EXPECT_FALSE(flash.erase(0)) << error;
        EXPECT_TRUE(flash.erase(0)) << error;
    }
}

TEST_F(Stm32f4Flash, settings_outlast_a_restart_in_it) {
    using namespace wip::attenuator;
    settings_store store(flash);
    settings kept;
    for (int k = 0; k < 300; ++k) {  // more records than a sector has room for
        kept.switch_position = static_cast<std::uint8_t>(1 + k % 4);
        ASSERT_TRUE(store.save(kept)) << k;
    }
    const auto again = settings_store(flash).load();
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->switch_position, kept.switch_position);
}

TEST(UniqueIdentity, has_its_96_bits_the_highest_digit_first) {
    constexpr wip::board::unique_identity one({0x01234567, 0x89abcdef, 0xfedc0001});
    EXPECT_EQ(one.text(), "FEDC000189ABCDEF01234567");
}

}  // namespace
