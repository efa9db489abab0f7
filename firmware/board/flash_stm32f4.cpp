// SPDX-License-Identifier: GPL-3.0-or-later
// Sectors 1 and 2 of the chip's flash, 16 kB each (RM0390, 3.5). While one is erased the processor
// stalls for up to 0.5 s, the tick with it: *SAV is refused beside a playback.
#include <algorithm>
#include <cstdint>

#include "board/flash.h"
#include "board/registers.h"

namespace wip::board {

namespace {

constexpr std::uintptr_t base = 0x08004000;
constexpr std::uint32_t size = 0x4000;
constexpr std::uint32_t program = 1u << 0, sector_erase = 1u << 1, start = 1u << 16,
                        lock = 1u << 31, busy = 1u << 16, errors = 0xf2;

class chip_flash final : public attenuator::flash_port {
public:
    std::uint32_t sector_bytes() const override { return size; }
    bool read(int sector, std::uint32_t offset, std::span<std::uint8_t> to) override {
        const auto* from = reinterpret_cast<const std::uint8_t*>(
            base + static_cast<std::uintptr_t>(sector) * size + offset);
        std::copy_n(from, to.size(), to.begin());
        return true;
    }
    bool write(int sector, std::uint32_t offset, std::span<const std::uint8_t> from) override {
        auto* to = reinterpret_cast<volatile std::uint8_t*>(
            base + static_cast<std::uintptr_t>(sector) * size + offset);
        unlock();
        flash.cr = program;  // writes single bytes, which any supply voltage allows
        for (std::size_t k = 0; k < from.size(); ++k) {
            to[k] = from[k];
            wait();
        }
        return done();
    }
    bool erase(int sector) override {
        unlock();
        flash.cr = sector_erase | (static_cast<std::uint32_t>(sector) + 1) << 3;
        flash.cr = flash.cr | start;
        wait();
        return done();
    }

private:
    static void wait() {
        while ((flash.sr & busy) != 0) {
        }
    }
    static void unlock() {
        if ((flash.cr & lock) != 0) {
            flash.keyr = 0x45670123;
            flash.keyr = 0xcdef89ab;
        }
        flash.sr = errors;
    }
    // Ends an operation, and flushes the data cache, which may hold the old content.
    static bool done() {
        const bool good = (flash.sr & errors) == 0;
        flash.cr = lock;
        const std::uint32_t acr = flash.acr;
        flash.acr = acr & ~(1u << 10);
        flash.acr = (acr & ~(1u << 10)) | 1u << 12;
        flash.acr = acr & ~(1u << 10);
        flash.acr = acr;
        return good;
    }
};

chip_flash the_flash;

}  // namespace

attenuator::flash_port& settings_flash() { return the_flash; }

}  // namespace wip::board
