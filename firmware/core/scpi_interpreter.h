// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of people and their scripts: SCPI-99 on IEEE 488.2's common commands
// (docs/how-to/attenuator.md has the list). A command error ends its line, an execution error only
// its command. *OPC? and *WAI wait for playback and chips: the rest of the line waits with them,
// and the line after it; frames go on meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/instrument.h"
#include "core/output_buffer.h"
#include "core/scpi_text.h"

namespace wip::attenuator {

class scpi_interpreter {
public:
    static constexpr std::size_t max_line = 256;  // characters

    scpi_interpreter(instrument& i, output_buffer& out) : instrument_(i), out_(out) {}
    // Takes a character of text; a complete line is executed at once.
    void on_byte(char c);
    // Discards the line that has begun.
    void drop_line() {
        if (!complete_) size_ = 0;
        too_long_ = false;
    }
    // Continues a line that waited. Call once after every turn of the main loop.
    void poll();

private:
    static constexpr std::size_t max_header = 128;  // characters
    static constexpr int max_parameters = 8;
    struct arguments {
        std::array<parameter, max_parameters> at;
        int size = 0, suffix = 1;
    };
    using handler = void (scpi_interpreter::*)(const arguments&);
    struct command {
        std::string_view pattern;
        handler set = nullptr;
        int fewest = 0, most = 0;  // numbers of parameters of the command form
        handler query = nullptr;
        int most_of_query = 0;
    };
    enum class wait : std::uint8_t { nothing, tell, be_quiet };  // none, *OPC?, *WAI
    static const std::array<command, 36> commands;

    void start_line();
    void run();
    void execute(std::string_view unit);
    std::string_view complete_header(std::string_view header);
    bool read_arguments(std::string_view text, int most, arguments& args);
    void fail(scpi_error e);
    void answer();  // called before each answer
    void answer_number(std::int64_t n);
    void answer_word(std::string_view w);

    // Values of parameters; nothing after an error, which is then in the queue.
    std::optional<std::int64_t> number(const parameter& p, std::string_view unit,
                                       std::int64_t unit_thousandths = 1000);
    std::optional<int> whole(const parameter& p, int low, int high);
    std::optional<quarter_db> level(const parameter& p, quarter_db most);
    std::optional<bool> boolean(const parameter& p);
    std::optional<fallback> hold_or_maximum(const parameter& p);
    std::optional<channel_index> channel(const arguments& a);

    // One function for each command and query, in the order of the table.
    void cls(const arguments&), ese(const arguments&), ese_q(const arguments&),
        esr_q(const arguments&), idn_q(const arguments&), opc(const arguments&),
        opc_q(const arguments&), rcl(const arguments&), rst(const arguments&),
        sav(const arguments&), sre(const arguments&), sre_q(const arguments&),
        stb_q(const arguments&), trg(const arguments&), tst_q(const arguments&),
        wai(const arguments&);
    void attenuation(const arguments&), attenuation_q(const arguments&), all(const arguments&),
        all_q(const arguments&), series(const arguments&), series_q(const arguments&),
        route(const arguments&), route_q(const arguments&), abort(const arguments&),
        state_q(const arguments&), underflow(const arguments&), underflow_q(const arguments&),
        underflows_q(const arguments&), trigger_out(const arguments&),
        trigger_out_q(const arguments&), silence(const arguments&), silence_q(const arguments&),
        timeout(const arguments&), timeout_q(const arguments&);
    void error_q(const arguments&), error_count_q(const arguments&), version_q(const arguments&),
        preset(const arguments&);
    void operation_q(const arguments&), operation_condition_q(const arguments&),
        operation_enable(const arguments&), operation_enable_q(const arguments&),
        questionable_q(const arguments&), questionable_condition_q(const arguments&),
        questionable_enable(const arguments&), questionable_enable_q(const arguments&),
        missed_q(const arguments&), worst_q(const arguments&);

    instrument& instrument_;
    output_buffer& out_;
    // The line that comes in, and the one that is executed.
    std::array<char, max_line> incoming_{}, line_{};
    std::size_t size_ = 0;
    bool complete_ = false, too_long_ = false;
    std::string_view left_;  // the rest of line_
    bool running_ = false, answered_ = false;
    wait wait_ = wait::nothing;
    // The complete header, and the size of its path (the nodes before the last one), from which a
    // next header without a leading colon continues.
    std::array<char, max_header> header_{};
    std::size_t path_ = 0;
};

}  // namespace wip::attenuator
