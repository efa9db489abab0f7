// SPDX-License-Identifier: GPL-3.0-or-later
// The commands of the interpreter, and what each does.
#include "core/scpi_interpreter.h"
#include "core/version.h"

namespace wip::attenuator {

using self = scpi_interpreter;

const std::array<scpi_interpreter::command, 36> scpi_interpreter::commands{{
    // IEEE 488.2, chapter 10
    {"*CLS", &self::cls},
    {"*ESE", &self::ese, 1, 1, &self::ese_q},
    {"*ESR", nullptr, 0, 0, &self::esr_q},
    {"*IDN", nullptr, 0, 0, &self::idn_q},
    {"*OPC", &self::opc, 0, 0, &self::opc_q},
    {"*RCL", &self::rcl, 1, 1},
    {"*RST", &self::rst},
    {"*SAV", &self::sav, 1, 1},
    {"*SRE", &self::sre, 1, 1, &self::sre_q},
    {"*STB", nullptr, 0, 0, &self::stb_q},
    {"*TRG", &self::trg},
    {"*TST", nullptr, 0, 0, &self::tst_q},
    {"*WAI", &self::wai},
    // the device
    {"INPut#:ATTenuation[:LEVel]", &self::attenuation, 1, 1, &self::attenuation_q, 1},
    {"INPut:ATTenuation:ALL", &self::all, 1, 1, &self::all_q},
    {"INPut#:SERies[:STATe]", &self::series, 1, 1, &self::series_q},
    {"ROUTe:SWITch", &self::route, 1, 1, &self::route_q},
    {"ABORt", &self::abort},
    {"PLAY:STATe", nullptr, 0, 0, &self::state_q},
    {"PLAY:UNDerflow:ACTion", &self::underflow, 1, 1, &self::underflow_q},
    {"PLAY:UNDerflow[:COUNt]", nullptr, 0, 0, &self::underflows_q},
    {"TRIGger:OUTPut[:STATe]", &self::trigger_out, 1, 1, &self::trigger_out_q},
    {"SYSTem:WATChdog:ACTion", &self::silence, 1, 1, &self::silence_q},
    {"SYSTem:WATChdog:TIMeout", &self::timeout, 1, 1, &self::timeout_q},
    // SCPI-99, chapter 20 and 21
    {"SYSTem:ERRor[:NEXT]", nullptr, 0, 0, &self::error_q},
    {"SYSTem:ERRor:COUNt", nullptr, 0, 0, &self::error_count_q},
    {"SYSTem:VERSion", nullptr, 0, 0, &self::version_q},
    {"STATus:PRESet", &self::preset},
    {"STATus:OPERation[:EVENt]", nullptr, 0, 0, &self::operation_q},
    {"STATus:OPERation:CONDition", nullptr, 0, 0, &self::operation_condition_q},
    {"STATus:OPERation:ENABle", &self::operation_enable, 1, 1, &self::operation_enable_q},
    {"STATus:QUEStionable[:EVENt]", nullptr, 0, 0, &self::questionable_q},
    {"STATus:QUEStionable:CONDition", nullptr, 0, 0, &self::questionable_condition_q},
    {"STATus:QUEStionable:ENABle", &self::questionable_enable, 1, 1, &self::questionable_enable_q},
    {"DIAGnostic:TICK:MISSed", nullptr, 0, 0, &self::missed_q},
    {"DIAGnostic:TICK:WORSt", nullptr, 0, 0, &self::worst_q},
}};

void self::cls(const arguments&) { instrument_.clear_status(); }
void self::ese(const arguments& a) {
    if (const auto n = whole(a.at[0], 0, 255))
        instrument_.esr_enable = static_cast<std::uint8_t>(*n);
}
void self::ese_q(const arguments&) { answer_number(instrument_.esr_enable); }
void self::esr_q(const arguments&) { answer_number(instrument_.take_esr()); }
void self::idn_q(const arguments&) {
    answer_word("OpenWIP,attenuator,");
    out_.text(instrument_.board().serial_number());
    out_.text(",");
    out_.text(version);
}
void self::opc(const arguments&) { instrument_.tell_when_complete(); }
void self::opc_q(const arguments&) { wait_ = wait::tell; }
void self::wai(const arguments&) { wait_ = wait::be_quiet; }
void self::rcl(const arguments& a) {
    if (whole(a.at[0], 0, 0)) instrument_.error(instrument_.recall());
}
void self::sav(const arguments& a) {
    if (whole(a.at[0], 0, 0)) instrument_.error(instrument_.save());
}
void self::rst(const arguments&) { instrument_.reset(); }
void self::sre(const arguments& a) {
    if (const auto n = whole(a.at[0], 0, 255))
        instrument_.service_enable = static_cast<std::uint8_t>(*n & ~stb_master);
}
void self::sre_q(const arguments&) { answer_number(instrument_.service_enable); }
void self::stb_q(const arguments&) { answer_number(instrument_.status_byte()); }
void self::trg(const arguments&) {
    if (!instrument_.player().trigger(trigger_source::bus))
        instrument_.error(scpi_error::trigger_ignored);
}
void self::tst_q(const arguments&) { answer_number(instrument_.self_test() ? 0 : 1); }

void self::attenuation(const arguments& a) {
    const auto c = channel(a);
    if (!c) return;
    if (const auto l = level(a.at[0], instrument_.player().layout().max_of(*c)))
        instrument_.error(instrument_.set_level(*c, *l));
}
void self::attenuation_q(const arguments& a) {
    const auto c = channel(a);
    if (!c) return;
    quarter_db l = instrument_.player().level(*c);
    if (a.size == 1) {
        if (a.at[0].is != parameter::kind::word) return fail(scpi_error::data_type);
        const auto limit = level(a.at[0], instrument_.player().layout().max_of(*c));
        if (!limit) return;
        l = *limit;
    }
    answer();
    out_.quarters(l.value);
}
void self::all(const arguments& a) {
    if (const auto l = level(a.at[0], max_in_series)) instrument_.error(instrument_.set_all(*l));
}
void self::all_q(const arguments&) {
    answer();
    for (int c = 0, nof_reported = 0; c < nof_chips; ++c) {
        if (!instrument_.player().layout().exists({c})) continue;
        if (nof_reported++ > 0) out_.text(",");
        out_.quarters(instrument_.player().level({c}).value);
    }
}
void self::series(const arguments& a) {
    if (a.suffix < 1 || a.suffix > nof_chips) return fail(scpi_error::suffix_out_of_range);
    if (const auto on = boolean(a.at[0]))
        instrument_.error(instrument_.set_series({a.suffix - 1}, *on));
}
void self::series_q(const arguments& a) {
    const auto c = channel(a);
    if (!c) return;
    if (c->value % 2 != 0) return fail(scpi_error::hardware_missing);
    answer_number(instrument_.player().layout().in_series(*c) ? 1 : 0);
}
void self::route(const arguments& a) {
    if (const auto n = whole(a.at[0], 1, nof_switch_positions))
        instrument_.error(instrument_.set_switch(*n));
}
void self::route_q(const arguments&) { answer_number(instrument_.player().switch_position()); }
void self::abort(const arguments&) { instrument_.player().stop(); }
void self::state_q(const arguments&) {
    static constexpr std::array<std::string_view, 6> words{"IDLE",  "ARMED",   "PLAYING",
                                                           "ENDED", "STOPPED", "SILENT"};
    answer_word(words[static_cast<unsigned>(instrument_.player().state())]);
}
void self::underflow(const arguments& a) {
    if (const auto f = hold_or_maximum(a.at[0])) instrument_.error(instrument_.set_underflow(*f));
}
void self::underflow_q(const arguments&) {
    answer_word(instrument_.now().on_underflow == fallback::hold ? "HOLD" : "MAX");
}
void self::underflows_q(const arguments&) { answer_number(instrument_.player().underflows()); }
void self::trigger_out(const arguments& a) {
    if (const auto on = boolean(a.at[0])) instrument_.error(instrument_.set_trigger_out(*on));
}
void self::trigger_out_q(const arguments&) { answer_number(instrument_.now().trigger_out ? 1 : 0); }
void self::silence(const arguments& a) {
    if (const auto f = hold_or_maximum(a.at[0])) instrument_.error(instrument_.set_silence(*f));
}
void self::silence_q(const arguments&) {
    answer_word(instrument_.now().on_silence == fallback::hold ? "HOLD" : "MAX");
}
// The timeout is in seconds, as every time of SCPI; a tick is a thousandth.
void self::timeout(const arguments& a) {
    const auto n = number(a.at[0], "S", 1);
    if (!n) return;
    if (*n < min_silence_ticks || *n > max_silence_ticks)
        return fail(scpi_error::data_out_of_range);
    instrument_.error(instrument_.set_silence_ticks(static_cast<int>(*n)));
}
void self::timeout_q(const arguments&) {
    const int ticks = instrument_.now().silence_ticks;
    answer_number(ticks / 1000);
    out_.text(".");
    for (int digit = 100; digit > 0; digit /= 10) out_.number(ticks / digit % 10);
}

void self::error_q(const arguments&) {
    const scpi_error e = instrument_.next_error();
    answer_number(static_cast<int>(e));
    out_.text(",\"");
    out_.text(words_of(e));
    out_.text("\"");
}
void self::error_count_q(const arguments&) {
    answer_number(static_cast<std::int64_t>(instrument_.nof_errors()));
}
void self::version_q(const arguments&) { answer_word("1999.0"); }
void self::preset(const arguments&) {
    instrument_.operation().enable = instrument_.questionable().enable = 0;
}

void self::operation_q(const arguments&) { answer_number(instrument_.operation().take_event()); }
void self::operation_condition_q(const arguments&) {
    answer_number(instrument_.operation().condition);
}
void self::operation_enable(const arguments& a) {
    if (const auto n = whole(a.at[0], 0, 65535))
        instrument_.operation().enable = static_cast<std::uint16_t>(*n & 0x7fff);
}
void self::operation_enable_q(const arguments&) { answer_number(instrument_.operation().enable); }
void self::questionable_q(const arguments&) {
    answer_number(instrument_.questionable().take_event());
}
void self::questionable_condition_q(const arguments&) {
    answer_number(instrument_.questionable().condition);
}
void self::questionable_enable(const arguments& a) {
    if (const auto n = whole(a.at[0], 0, 65535))
        instrument_.questionable().enable = static_cast<std::uint16_t>(*n & 0x7fff);
}
void self::questionable_enable_q(const arguments&) {
    answer_number(instrument_.questionable().enable);
}
void self::missed_q(const arguments&) { answer_number(instrument_.board().missed_ticks()); }
void self::worst_q(const arguments&) {
    const tick_figures f = instrument_.board().take_figures();
    answer_number(f.worst_latency);
    out_.text(",");
    out_.number(f.worst_duration);
}

}  // namespace wip::attenuator
