// SPDX-License-Identifier: GPL-3.0-or-later
// Settings that outlast a restart, in two sectors of flash: a log of records of 64 bytes, of which
// the whole one with the highest number counts. A sector that is full is left as it is until the
// other one, erased for it, has the next record: whenever the power goes, the old settings or the
// new ones are read, never none. Tests: test_settings_store.cpp, power cut after each byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/layout.h"
#include "core/playback.h"

namespace wip::attenuator {

struct settings {
    std::uint8_t series = 0;  // wiring, as of chip_layout
    channel_levels levels = chip_layout{}.all_at_max();
    std::uint8_t switch_position = 1;
    bool trigger_out = true;
    fallback on_underflow = fallback::hold, on_silence = fallback::maximum;
    std::uint16_t silence_ticks = 100;

    // The settings after *RST: everything but the wiring is reset.
    static settings reset(chip_layout layout) {
        settings s;
        s.series = layout.series();
        s.levels = layout.all_at_max();
        return s;
    }
    friend bool operator==(const settings&, const settings&) = default;
};

// The properties of flash: erased bytes are 0xff, a write can only clear bits, an erase takes a
// whole sector.
class flash_port {
public:
    static constexpr int nof_sectors = 2;
    virtual std::uint32_t sector_bytes() const = 0;
    virtual bool read(int sector, std::uint32_t offset, std::span<std::uint8_t> to) = 0;
    virtual bool write(int sector, std::uint32_t offset, std::span<const std::uint8_t> from) = 0;
    virtual bool erase(int sector) = 0;

protected:
    ~flash_port() = default;
};

class settings_store {
public:
    static constexpr std::uint32_t record_bytes = 64;

    explicit settings_store(flash_port& flash) : flash_(flash) {}
    // The settings that were saved last; nothing if there are none.
    std::optional<settings> load();
    // Returns false if the flash could not be written; the settings that were saved before are then
    // still there.
    bool save(const settings& s);
    // Whether both sectors of the flash can be read.
    bool check();

private:
    struct place {
        int sector = 0;
        std::uint32_t offset = 0;
    };
    struct found {
        std::uint32_t number = 0;
        place at;
        settings value;
    };
    std::optional<found> newest();
    bool is_erased(place p);
    bool put(place p, std::span<const std::uint8_t, record_bytes> record);

    flash_port& flash_;
};

}  // namespace wip::attenuator
