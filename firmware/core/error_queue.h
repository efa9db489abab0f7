// SPDX-License-Identifier: GPL-3.0-or-later
// Errors and events in the order in which they happened (SCPI-99, volume 1, chapter 21.8; numbers
// and words of its chapter 21.8.9 on). A full queue drops what is new and has -350 as its last
// entry. Positive numbers are this device's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wip::attenuator {

enum class scpi_error : std::int16_t {
    none = 0,
    invalid_character = -101,
    syntax = -102,
    invalid_separator = -103,
    data_type = -104,
    parameter_not_allowed = -108,
    missing_parameter = -109,
    mnemonic_too_long = -112,
    undefined_header = -113,
    suffix_out_of_range = -114,
    numeric_data = -120,
    exponent_too_large = -123,
    too_many_digits = -124,
    invalid_suffix = -131,
    suffix_not_allowed = -138,
    invalid_string = -151,
    trigger_ignored = -211,
    settings_conflict = -221,
    data_out_of_range = -222,
    too_much_data = -223,
    illegal_parameter = -224,
    hardware_missing = -241,
    mass_storage = -250,
    queue_overflow = -350,
    input_overrun = -363,
    underflow = 201,
    host_silent = 202,
    ticks_missed = 203,
    frame_damaged = 204,
    sequence_gap = 205,
    restarted = 206,
};
std::string_view words_of(scpi_error error);

// Bits of the event status register (IEEE 488.2, 11.5.1).
enum esr_bit : std::uint8_t {
    esr_operation_complete = 1 << 0,
    esr_query = 1 << 2,
    esr_device = 1 << 3,
    esr_execution = 1 << 4,
    esr_command = 1 << 5,
    esr_power_on = 1 << 7,
};
constexpr std::uint8_t esr_bit_of(scpi_error error) {
    const int number = static_cast<int>(error);
    if (number == 0) return 0;
    if (number <= -400) return esr_query;
    if (number <= -300 || number > 0) return esr_device;
    return number <= -200 ? esr_execution : esr_command;
}

class error_queue {
public:
    static constexpr std::size_t capacity = 16;  // errors

    // False: there was no room for it.
    bool push(scpi_error error) {
        if (size_ == capacity) {
            at(size_ - 1) = scpi_error::queue_overflow;
            return false;
        }
        at(size_++) = error;
        return true;
    }
    scpi_error pop() {
        if (size_ == 0) return scpi_error::none;
        const scpi_error oldest = at(0);
        first_ = (first_ + 1) % capacity;
        --size_;
        return oldest;
    }
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }

private:
    scpi_error& at(std::size_t k) { return entries_[(first_ + k) % capacity]; }

    std::array<scpi_error, capacity> entries_{};
    std::size_t first_ = 0, size_ = 0;
};

}  // namespace wip::attenuator
