// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/scpi_interpreter.h"

#include <algorithm>

namespace wip::attenuator {

namespace {

constexpr std::size_t max_mnemonic = 12;  // IEEE 488.2, 7.6.1.4.1

// The end of the first unit of a message: its semicolon, but not one in a string.
std::size_t end_of_unit(std::string_view text) {
    char quote = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0)
            quote = c == quote ? char{0} : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == ';')
            return at;
    }
    return text.size();
}

scpi_error check_header(std::string_view header) {
    std::size_t mnemonic = 0;
    for (std::size_t at = 0; at < header.size(); ++at) {
        const char c = header[at];
        const bool last = at + 1 == header.size();
        if (c == ':') {
            if (last || (at > 0 && header[at - 1] == ':')) return scpi_error::syntax;
            mnemonic = 0;
        } else if (c == '?' && last) {
            if (at == 0) return scpi_error::syntax;
        } else if (c == '*' && at == 0) {
        } else if (!is_letter(c) && !is_digit(c) && c != '_') {
            return scpi_error::invalid_character;
        } else if (++mnemonic > max_mnemonic) {
            return scpi_error::mnemonic_too_long;
        }
    }
    return scpi_error::none;
}

}  // namespace

void scpi_interpreter::on_byte(char c) {
    if (c != '\n') {
        if (complete_ || size_ == incoming_.size())
            too_long_ = true;
        else
            incoming_[size_++] = c;
        return;
    }
    // A complete line waits to be executed, so further characters are lost.
    if (too_long_ || complete_) {
        drop_line();
        return instrument_.error(scpi_error::input_overrun);
    }
    complete_ = true;
    start_line();
}

void scpi_interpreter::start_line() {
    if (running_ || !complete_) return;
    std::copy_n(incoming_.begin(), size_, line_.begin());
    left_ = trimmed({line_.data(), size_});
    complete_ = false;
    size_ = 0;
    path_ = 0;
    answered_ = false;
    running_ = !left_.empty();
    run();
}

void scpi_interpreter::poll() {
    if (running_) run();
    start_line();
}

void scpi_interpreter::run() {
    while (running_) {
        if (wait_ != wait::nothing) {
            if (instrument_.operation_pending()) return;
            if (wait_ == wait::tell) answer_number(1);
            wait_ = wait::nothing;
        }
        if (left_.empty()) {
            running_ = false;
            if (answered_) out_.text("\n");
            return;
        }
        const std::size_t end = end_of_unit(left_);
        const std::string_view unit = trimmed(left_.substr(0, end));
        const bool more = end < left_.size();
        left_ = more ? trimmed(left_.substr(end + 1)) : std::string_view{};
        // "A;" and "A;;B": between separators there has to be something (IEEE 488.2, 7.3.2), but
        // for the end of a line.
        if (unit.empty())
            fail(scpi_error::syntax);
        else
            execute(unit);
    }
}

void scpi_interpreter::fail(scpi_error e) {
    instrument_.error(e);
    if (esr_bit_of(e) == esr_command) left_ = {};
}

// The header with the nodes of the one before it: "INP1:ATT 3;SER ON" is INP1:ATT and INP1:SER.
std::string_view scpi_interpreter::complete_header(std::string_view header) {
    if (header.front() == '*') return header;
    if (header.front() == ':') {
        header.remove_prefix(1);
        path_ = 0;
    }
    if (path_ + header.size() > header_.size()) return {};
    std::ranges::copy(header, header_.begin() + static_cast<std::ptrdiff_t>(path_));
    const std::string_view whole{header_.data(), path_ + header.size()};
    const std::size_t colon = whole.rfind(':');
    path_ = colon == std::string_view::npos ? 0 : colon + 1;
    return whole;
}

bool scpi_interpreter::read_arguments(std::string_view text, int most, arguments& args) {
    while (!text.empty()) {
        if (args.size == most) {
            fail(scpi_error::parameter_not_allowed);
            return false;
        }
        const read_parameter r = next_parameter(text);
        if (r.error != scpi_error::none) {
            fail(r.error);
            return false;
        }
        args.at[static_cast<unsigned>(args.size++)] = r.value;
        text = r.rest;
        if (text.empty()) break;
        if (text.front() != ',') {
            fail(scpi_error::invalid_separator);
            return false;
        }
        text = trimmed(text.substr(1));
        if (text.empty()) {
            fail(scpi_error::missing_parameter);
            return false;
        }
    }
    return true;
}

void scpi_interpreter::execute(std::string_view unit) {
    instrument_.settle();
    const auto blank = std::ranges::find_if(unit, is_blank);
    std::string_view header = unit.substr(0, static_cast<std::size_t>(blank - unit.begin()));
    const std::string_view data = trimmed(unit.substr(header.size()));
    if (const scpi_error e = check_header(header); e != scpi_error::none) return fail(e);
    header = complete_header(header);
    if (header.empty()) return fail(scpi_error::undefined_header);
    const bool query = header.back() == '?';
    if (query) header.remove_suffix(1);
    for (const command& c : commands) {
        const header_match m = match_header(header, c.pattern);
        const handler h = query ? c.query : c.set;
        if (!m.matches || h == nullptr) continue;
        arguments args;
        args.suffix = m.suffix;
        if (!read_arguments(data, query ? c.most_of_query : c.most, args)) return;
        if (!query && args.size < c.fewest) return fail(scpi_error::missing_parameter);
        (this->*h)(args);
        return;
    }
    fail(scpi_error::undefined_header);
}

void scpi_interpreter::answer() {
    if (answered_) out_.text(";");
    answered_ = true;
}
void scpi_interpreter::answer_number(std::int64_t n) {
    answer();
    out_.number(n);
}
void scpi_interpreter::answer_word(std::string_view w) {
    answer();
    out_.text(w);
}

// --- values of parameters ---

std::optional<std::int64_t> scpi_interpreter::number(const parameter& p, std::string_view unit,
                                                     std::int64_t unit_thousandths) {
    if (p.is != parameter::kind::number) {
        fail(scpi_error::data_type);
        return std::nullopt;
    }
    if (p.suffix.empty()) return p.thousandths;
    if (unit.empty()) {
        fail(scpi_error::suffix_not_allowed);
        return std::nullopt;
    }
    if (is_form_of(p.suffix, unit)) return p.thousandths;
    // The prefix "milli", for units that have it.
    if (unit_thousandths == 1 && upper(p.suffix.front()) == 'M' &&
        is_form_of(p.suffix.substr(1), unit))
        return p.thousandths / 1000;
    fail(scpi_error::invalid_suffix);
    return std::nullopt;
}

std::optional<int> scpi_interpreter::whole(const parameter& p, int low, int high) {
    const auto n = number(p, "");
    if (!n) return std::nullopt;
    // IEEE 488.2, 7.7.2.4.2: rounded to what the device has.
    const std::int64_t rounded = (*n + (*n < 0 ? -500 : 500)) / 1000;
    if (rounded < low || rounded > high) {
        fail(scpi_error::data_out_of_range);
        return std::nullopt;
    }
    return static_cast<int>(rounded);
}

std::optional<quarter_db> scpi_interpreter::level(const parameter& p, quarter_db most) {
    if (p.is == parameter::kind::word) {
        if (is_form_of(p.text, "MINimum")) return quarter_db{0};
        if (is_form_of(p.text, "MAXimum") || is_form_of(p.text, "DEFault")) return most;
        fail(scpi_error::illegal_parameter);
        return std::nullopt;
    }
    const auto n = number(p, "DB");
    if (!n) return std::nullopt;
    const std::int64_t quarters = *n < 0 ? -1 : (*n * 4 + 500) / 1000;
    if (quarters < 0 || quarters > most.value) {
        fail(scpi_error::data_out_of_range);
        return std::nullopt;
    }
    return quarter_db{static_cast<std::uint8_t>(quarters)};
}

std::optional<bool> scpi_interpreter::boolean(const parameter& p) {
    if (p.is == parameter::kind::word) {
        if (is_form_of(p.text, "ON")) return true;
        if (is_form_of(p.text, "OFF")) return false;
        fail(scpi_error::illegal_parameter);
        return std::nullopt;
    }
    const auto n = number(p, "");
    if (!n) return std::nullopt;
    return *n >= 500 || *n <= -500;  // SCPI-99, 7.3: anything but 0 is ON
}

std::optional<fallback> scpi_interpreter::hold_or_maximum(const parameter& p) {
    if (p.is != parameter::kind::word) {
        fail(scpi_error::data_type);
        return std::nullopt;
    }
    if (is_form_of(p.text, "HOLD")) return fallback::hold;
    if (is_form_of(p.text, "MAXimum")) return fallback::maximum;
    fail(scpi_error::illegal_parameter);
    return std::nullopt;
}

std::optional<channel_index> scpi_interpreter::channel(const arguments& a) {
    if (a.suffix < 1 || a.suffix > nof_chips) {
        fail(scpi_error::suffix_out_of_range);
        return std::nullopt;
    }
    const channel_index c{a.suffix - 1};
    if (!instrument_.player().layout().exists(c)) {
        fail(scpi_error::hardware_missing);
        return std::nullopt;
    }
    return c;
}

}  // namespace wip::attenuator
