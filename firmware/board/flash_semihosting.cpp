// SPDX-License-Identifier: GPL-3.0-or-later
// In QEMU flash cannot be written: two sectors in a file of the machine around it, through
// semihosting (ARM, Semihosting for AArch32 and AArch64). The file is attenuator-settings.bin in
// the folder QEMU was started in.
#include <array>
#include <cstdint>

#include "board/flash.h"

namespace wip::board {

namespace {

enum class operation : std::uint32_t {
    open = 0x01,
    close = 0x02,
    write = 0x05,
    read = 0x06,
    seek = 0x0a
};
enum class mode : std::uint32_t { update = 3, replace = 7 };  // modes r+b and w+b of SYS_OPEN

using arguments = std::array<std::uint32_t, 3>;
std::uint32_t address(const void* p) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(p));
}

int call(operation what, const arguments& a) {
    register std::uint32_t r0 asm("r0") = static_cast<std::uint32_t>(what);
    register const std::uint32_t* r1 asm("r1") = a.data();
    asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return static_cast<int>(r0);
}

class file_flash final : public attenuator::flash_port {
public:
    std::uint32_t sector_bytes() const override { return bytes; }
    bool read(int sector, std::uint32_t offset, std::span<std::uint8_t> to) override {
        return seek(sector, offset) &&
               call(operation::read, {handle(), address(to.data()), to.size()}) == 0;
    }
    bool write(int sector, std::uint32_t offset, std::span<const std::uint8_t> from) override {
        return seek(sector, offset) &&
               call(operation::write, {handle(), address(from.data()), from.size()}) == 0 &&
               flush();
    }
    bool erase(int sector) override {
        std::array<std::uint8_t, 64> blank{};
        blank.fill(0xff);
        for (std::uint32_t at = 0; at < bytes; at += blank.size())
            if (!write(sector, at, blank)) return false;
        return true;
    }

private:
    static constexpr std::uint32_t bytes = 1024;

    bool seek(int sector, std::uint32_t offset) {
        return open() &&
               call(operation::seek,
                    {handle(), static_cast<std::uint32_t>(sector) * bytes + offset, 0}) == 0;
    }
    bool open() {
        if (file_ > 0) return true;
        static constexpr char name[] = "attenuator-settings.bin";
        const auto with = [](mode m) {
            return call(operation::open,
                        {address(name), static_cast<std::uint32_t>(m), sizeof name - 1});
        };
        file_ = with(mode::update);
        if (file_ > 0) return true;
        file_ = with(mode::replace);
        return file_ > 0 && erase(0) && erase(1);
    }
    // Written data outlasts this machine: the file is opened anew with the next access.
    bool flush() {
        call(operation::close, {handle(), 0, 0});
        file_ = 0;
        return true;
    }
    std::uint32_t handle() const { return static_cast<std::uint32_t>(file_); }

    int file_ = 0;
};

file_flash the_flash;

}  // namespace

attenuator::flash_port& settings_flash() { return the_flash; }

}  // namespace wip::board
