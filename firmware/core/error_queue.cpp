// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/error_queue.h"

namespace wip::attenuator {

std::string_view words_of(scpi_error error) {
    switch (error) {
        case scpi_error::none:
            return "No error";
        case scpi_error::invalid_character:
            return "Invalid character";
        case scpi_error::syntax:
            return "Syntax error";
        case scpi_error::invalid_separator:
            return "Invalid separator";
        case scpi_error::data_type:
            return "Data type error";
        case scpi_error::parameter_not_allowed:
            return "Parameter not allowed";
        case scpi_error::missing_parameter:
            return "Missing parameter";
        case scpi_error::mnemonic_too_long:
            return "Program mnemonic too long";
        case scpi_error::undefined_header:
            return "Undefined header";
        case scpi_error::suffix_out_of_range:
            return "Header suffix out of range";
        case scpi_error::numeric_data:
            return "Numeric data error";
        case scpi_error::exponent_too_large:
            return "Exponent too large";
        case scpi_error::too_many_digits:
            return "Too many digits";
        case scpi_error::invalid_suffix:
            return "Invalid suffix";
        case scpi_error::suffix_not_allowed:
            return "Suffix not allowed";
        case scpi_error::invalid_string:
            return "Invalid string data";
        case scpi_error::trigger_ignored:
            return "Trigger ignored";
        case scpi_error::settings_conflict:
            return "Settings conflict";
        case scpi_error::data_out_of_range:
            return "Data out of range";
        case scpi_error::too_much_data:
            return "Too much data";
        case scpi_error::illegal_parameter:
            return "Illegal parameter value";
        case scpi_error::hardware_missing:
            return "Hardware missing";
        case scpi_error::mass_storage:
            return "Mass storage error";
        case scpi_error::queue_overflow:
            return "Queue overflow";
        case scpi_error::input_overrun:
            return "Input buffer overrun";
        case scpi_error::underflow:
            return "Playback underflow";
        case scpi_error::host_silent:
            return "Host silent";
        case scpi_error::ticks_missed:
            return "Ticks missed";
        case scpi_error::frame_damaged:
            return "Frame damaged";
        case scpi_error::sequence_gap:
            return "Steps out of sequence";
        case scpi_error::restarted:
            return "Restarted after a fault";
    }
    return "Unknown error";
}

}  // namespace wip::attenuator
