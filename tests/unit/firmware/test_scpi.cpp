// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "rig.h"

using namespace wip::attenuator;

namespace {

constexpr const char* no_error = "0,\"No error\"";

struct Scpi : testing::Test {
    rig r;
    void SetUp() override {
        r.tick();
        r.ask("*CLS");
    }
    // A line that does nothing but put one error into the queue.
    void refused(std::string_view line, std::string_view error) {
        const auto before = r.player.levels();
        EXPECT_EQ(r.ask(line), "") << line;
        EXPECT_EQ(r.error(), error) << line;
        EXPECT_EQ(r.error(), no_error) << line;
        EXPECT_EQ(r.player.levels(), before) << line;
    }
};

}  // namespace

TEST_F(Scpi, SaysWhoItIs) {
    EXPECT_EQ(r.ask("*IDN?"), "OpenWIP,attenuator,test,1.0");
    EXPECT_EQ(r.ask("syst:vers?"), "1999.0");
    EXPECT_EQ(r.ask("*TST?"), "0");
}

TEST(AfterAFault, AllChannelsBeginAtTheirMaximumWhateverWasSavedAndTheErrorQueueSaysSo) {
    rig before;
    before.ask("INP3:SER ON");
    before.ask("INP1:ATT 3;:INP3:ATT 7;:ROUT:SWIT 2");
    before.ask("*SAV 0");
    rig restarted(false, before.flash);
    EXPECT_EQ(restarted.ask("INP1:ATT?"), "3.00");
    EXPECT_EQ(restarted.error(), no_error);
    rig faulty(true, before.flash);
    faulty.tick();
    for (const int word : faulty.chips) EXPECT_EQ(word, 127);
    EXPECT_EQ(faulty.ask("INP1:ATT?;:INP3:ATT?;:ROUT:SWIT?"), "31.75;63.50;2");
    EXPECT_EQ(faulty.error(), "206,\"Restarted after a fault\"");
    EXPECT_EQ(faulty.error(), no_error);
}

TEST_F(Scpi, SetsAndReadsAttenuations) {
    EXPECT_EQ(r.ask("INP3:ATT 12.5"), "");
    EXPECT_EQ(r.chips[2], 50);
    EXPECT_EQ(r.ask("INPut3:ATTenuation?"), "12.50");
    r.ask("INP:ATT 0.25DB");
    EXPECT_EQ(r.chips[0], 1);
    r.ask("INP8:ATT MAX;:INP7:ATT MIN");
    EXPECT_EQ(r.chips[7], 127);
    EXPECT_EQ(r.chips[6], 0);
    EXPECT_EQ(r.ask("INP8:ATT? MIN;ATT? MAX"), "0.00;31.75");
    EXPECT_EQ(r.ask("INP:ATT:ALL 5;ALL?"), "5.00,5.00,5.00,5.00,5.00,5.00,5.00,5.00");
    EXPECT_EQ(r.error(), no_error);
}

TEST_F(Scpi, RoundsToTheNearestStep) {
    EXPECT_EQ(r.ask("INP:ATT 1.124;ATT?"), "1.00");
    EXPECT_EQ(r.ask("INP:ATT 1.125;ATT?"), "1.25");
    EXPECT_EQ(r.ask("INP:ATT 31.8;ATT?"), "31.75");
    refused("INP:ATT 31.875", "-222,\"Data out of range\"");
    refused("INP:ATT -0.25", "-222,\"Data out of range\"");
}

TEST_F(Scpi, ErrorsHaveTheirNumbers) {
    refused("NONE:SUCH 1", "-113,\"Undefined header\"");
    refused("*IDN", "-113,\"Undefined header\"");
    refused("SYST:VERS", "-113,\"Undefined header\"");
    refused("INP:ATT", "-109,\"Missing parameter\"");
    refused("INP:ATT 1,", "-109,\"Missing parameter\"");
    refused("INP:ATT 1,2", "-108,\"Parameter not allowed\"");
    refused("INP:ATT 1 2", "-103,\"Invalid separator\"");
    refused("INP:ATT? 1", "-104,\"Data type error\"");
    refused("*IDN? 1", "-108,\"Parameter not allowed\"");
    refused("INP:ATT \"3\"", "-104,\"Data type error\"");
    refused("INP:ATT MOST", "-224,\"Illegal parameter value\"");
    refused("INP:ATT 3 M", "-131,\"Invalid suffix\"");
    refused("ROUT:SWIT 3 DB", "-138,\"Suffix not allowed\"");
    refused("INP0:ATT 3", "-114,\"Header suffix out of range\"");
    refused("INP9:ATT?", "-114,\"Header suffix out of range\"");
    refused("INP:A$T 3", "-101,\"Invalid character\"");
    refused("INP::ATT 3", "-102,\"Syntax error\"");
    refused(";INP:ATT 3", "-102,\"Syntax error\"");
    refused("INP:ATTENUATIONALL 3", "-112,\"Program mnemonic too long\"");
    refused("INP:ATT 1e99999", "-123,\"Exponent too large\"");
    refused("*TRG", "-211,\"Trigger ignored\"");
    refused("ROUT:SWIT 5", "-222,\"Data out of range\"");
    refused("*RCL 0", "-250,\"Mass storage error\"");
    refused("*SAV 1", "-222,\"Data out of range\"");
    refused(std::string(300, 'A'), "-363,\"Input buffer overrun\"");
}

TEST_F(Scpi, ACommandErrorEndsItsLineAnExecutionErrorDoesNot) {
    EXPECT_EQ(r.ask("INP:ATT 99;*IDN?"), "OpenWIP,attenuator,test,1.0");
    EXPECT_EQ(r.error(), "-222,\"Data out of range\"");
    EXPECT_EQ(r.ask("SYST:VERS?;NONE;*IDN?"), "1999.0");
    EXPECT_EQ(r.error(), "-113,\"Undefined header\"");
    EXPECT_EQ(r.error(), no_error);
}

TEST_F(Scpi, AHeaderGoesOnFromTheOneBeforeIt) {
    r.ask("INP2:ATT 3;SER:STAT?");
    EXPECT_EQ(r.error(), "-241,\"Hardware missing\"") << "series belongs to odd channels";
    EXPECT_EQ(r.ask("SYST:ERR:COUN?;NEXT?"), std::string("0;") + no_error);
    EXPECT_EQ(r.ask("SYST:VERS?;*OPC?;VERS?;:SYST:VERS?"), "1999.0;1;1999.0;1999.0");
    EXPECT_EQ(r.ask(" \t:SYST:VERS? \r"), "1999.0");
    EXPECT_EQ(r.ask(""), "");
    EXPECT_EQ(r.error(), no_error);
}

TEST_F(Scpi, AFullQueueEndsWithItsOverflow) {
    for (int k = 0; k < 20; ++k) r.ask("NONE");
    EXPECT_EQ(r.ask("SYST:ERR:COUN?"), "16");
    EXPECT_EQ(r.ask("*ESR?;*ESR?"), "40;0")
        << "command errors, and the overflow, which is the device's";
    for (int k = 0; k < 15; ++k) EXPECT_EQ(r.error(), "-113,\"Undefined header\"");
    EXPECT_EQ(r.error(), "-350,\"Queue overflow\"");
    EXPECT_EQ(r.error(), no_error);
    r.ask("NONE");
    r.ask("*CLS");
    EXPECT_EQ(r.error(), no_error);
}

TEST_F(Scpi, TheEventStatusRegisterSaysWhatKindOfErrorItWas) {
    EXPECT_EQ(rig{}.ask("*ESR?"), "128") << "power on";
    r.ask("NONE");
    EXPECT_EQ(r.ask("*ESR?"), "32");
    r.ask("INP:ATT 99");
    EXPECT_EQ(r.ask("*ESR?"), "16");
    r.ask("*ESE 48;*SRE 36");
    EXPECT_EQ(r.ask("*STB?"), "68") << "the queue has the two errors: bit 2, and with *SRE bit 6";
    r.ask("*CLS");
    EXPECT_EQ(r.ask("*STB?;*ESE?;*SRE?"), "0;48;36");
    r.ask("NONE");
    EXPECT_EQ(r.ask("*STB?"), "100");
}

TEST_F(Scpi, OperationCompleteIsToldWhenTheChipsHaveTheirWords) {
    r.give("INP:ATT 3;*OPC?\n");
    EXPECT_EQ(r.sent(), "");
    r.tick();
    EXPECT_EQ(r.chips[0], 12);
    EXPECT_EQ(r.sent(), "1\n");
    r.give("INP:ATT 4;*OPC\n");
    EXPECT_EQ(r.device.state().take_esr() & esr_operation_complete, 0);
    r.tick();
    EXPECT_EQ(r.device.state().take_esr() & esr_operation_complete, esr_operation_complete);
}

TEST_F(Scpi, LinesWaitForAPlaybackIfTheyAskTo) {
    play_plan p;
    p.channels = 1;
    p.trigger = trigger_source::bus;
    ASSERT_TRUE(r.player.begin(p));
    r.player.accept(0, std::array<std::uint8_t, 2>{7, 9}, true);
    r.give("*WAI;INP:ATT?\nSYST:VERS?\nlost\n");
    r.tick(5);
    EXPECT_EQ(r.sent(), "");
    r.player.trigger(trigger_source::bus);
    r.tick(3);
    EXPECT_EQ(r.sent(), "2.25\n1999.0\n");
    EXPECT_EQ(r.error(), "-363,\"Input buffer overrun\"");
}

TEST_F(Scpi, NothingIsSetBesideAPlayback) {
    play_plan p;
    p.channels = 1;
    p.trigger = trigger_source::bus;
    ASSERT_TRUE(r.player.begin(p));
    for (const auto* line :
         {"INP:ATT 3", "INP:ATT:ALL 3", "INP1:SER ON", "ROUT:SWIT 2", "*SAV 0", "*RCL 0"})
        refused(line, "-221,\"Settings conflict\"");
    EXPECT_EQ(r.ask("PLAY:STAT?"), "ARMED");
    EXPECT_EQ(r.ask("STAT:OPER:COND?"), "32");
    r.ask("*TRG");
    r.player.heard();
    EXPECT_EQ(r.ask("PLAY:STAT?"), "PLAYING");
    EXPECT_EQ(r.error(), "201,\"Playback underflow\"");
    r.ask("*RST;INP:ATT 3");
    EXPECT_EQ(r.error(), "-221,\"Settings conflict\"") << "until the reset is done";
    EXPECT_EQ(r.ask("*OPC?;PLAY:STAT?;:INP:ATT?"), "1;STOPPED;31.75");
}

// The tick that ends the playback comes between two commands: *RST is done before the command
// behind it.
TEST_F(Scpi, AResetUndoesNothingThatWasAskedForAfterIt) {
    const auto play = [this] {
        play_plan p;
        p.channels = 1;
        p.trigger = trigger_source::bus;
        ASSERT_TRUE(r.player.begin(p));
    };
    play();
    r.give("*RST;:PLAY:UND:ACT MAX;*OPC\n");
    EXPECT_EQ(r.player.state(), play_state::armed);
    r.player.tick();
    r.give("INP:ATT 3;*SAV 0\n");
    r.tick();
    EXPECT_EQ(r.ask("INP:ATT?;:INP2:ATT?;:PLAY:UND:ACT?;*ESR?"), "3.00;31.75;MAX;1");
    play();
    r.give("*RST\n");
    r.player.tick();
    r.give("*RCL 0\n");
    EXPECT_EQ(r.ask("INP:ATT?;:PLAY:UND:ACT?"), "3.00;MAX");
    EXPECT_EQ(r.error(), no_error);
}

TEST_F(Scpi, ChipsInSeriesAreOneChannel) {
    EXPECT_EQ(r.ask("INP3:SER ON;SER?;:INP3:ATT?"), "1;63.50");
    EXPECT_EQ(r.ask("INP3:ATT 40;ATT?;ATT? MAX"), "40.00;63.50");
    EXPECT_EQ(r.chips[2], 127);
    EXPECT_EQ(r.chips[3], 33);
    refused("INP4:ATT 3", "-241,\"Hardware missing\"");
    refused("INP:ATT:ALL 32", "-222,\"Data out of range\"");
    EXPECT_EQ(r.ask("INP:ATT:ALL?"), "31.75,31.75,40.00,31.75,31.75,31.75,31.75");
    r.ask("INP3:SER OFF");
    EXPECT_EQ(r.ask("INP3:ATT?;:INP4:ATT?"), "31.75;31.75")
        << "the wiring is another one, the levels are safe ones";
}

TEST_F(Scpi, ResetIsSafeAndLeavesWiringAndStatusAlone) {
    r.ask(
        "INP1:SER 1;ATT 0;:ROUT:SWIT 3;:SYST:WATC:TIM 500 ms;ACT HOLD;:PLAY:UND:ACT MAX;:TRIG:OUTP "
        "0;*ESE 4");
    EXPECT_EQ(r.ask("SYST:WATC:TIM?;ACT?;:PLAY:UND:ACT?;:TRIG:OUTP?;:ROUT:SWIT?"),
              "0.500;HOLD;MAX;0;3");
    EXPECT_EQ(r.switch_position, 3);
    r.ask("NONE");
    r.ask("*RST");
    EXPECT_EQ(r.ask("SYST:WATC:TIM?;ACT?;:PLAY:UND:ACT?;:TRIG:OUTP?;:ROUT:SWIT?"),
              "0.100;MAX;HOLD;1;1");
    EXPECT_EQ(r.ask("INP1:SER?;ATT?;*ESE?"), "1;63.50;4");
    EXPECT_EQ(r.switch_position, 1);
    EXPECT_EQ(r.error(), "-113,\"Undefined header\"");
    refused("SYST:WATC:TIM 0.009", "-222,\"Data out of range\"");
    refused("SYST:WATC:TIM 61", "-222,\"Data out of range\"");
}

TEST_F(Scpi, SettingsOutlastARestart) {
    r.ask("INP1:SER 1;ATT 50.25;:ROUT:SWIT 2;:SYST:WATC:TIM 0.25;*SAV 0");
    r.ask("INP1:ATT 0;:ROUT:SWIT 4");
    EXPECT_EQ(r.error(), no_error);
    playback again;
    fake_board board;
    controller device(again, r.flash, board);
    EXPECT_EQ(again.layout(), chip_layout(1));
    EXPECT_EQ(again.level({0}).value, 201);
    EXPECT_EQ(again.switch_position(), 2);
    EXPECT_EQ(device.state().now().silence_ticks, 250);
    r.ask("*RCL 0");
    EXPECT_EQ(r.ask("INP1:ATT?;:ROUT:SWIT?"), "50.25;2");
}

TEST_F(Scpi, EventsStayUntilTheyAreRead) {
    play_plan p;
    p.channels = 1;
    ASSERT_TRUE(r.player.begin(p));
    r.tick(150);
    EXPECT_EQ(r.error(), "202,\"Host silent\"");
    EXPECT_EQ(r.ask("STAT:QUES:COND?;EVEN?;EVEN?"), "512;512;0");
    r.ask("STAT:QUES:ENAB 512;:STAT:OPER:ENAB 65535");
    EXPECT_EQ(r.ask("STAT:QUES:ENAB?;:STAT:OPER:ENAB?"), "512;32767");
    r.ask("STAT:PRES");
    EXPECT_EQ(r.ask("STAT:QUES:ENAB?;:STAT:OPER:ENAB?"), "0;0");
}

TEST_F(Scpi, TicksThatTheBoardMissedAreReported) {
    r.board.missed = 3;
    r.tick();
    EXPECT_EQ(r.error(), "203,\"Ticks missed\"");
    EXPECT_EQ(r.ask("DIAG:TICK:MISS?;WORS?"), "3;1200,3400");
    EXPECT_EQ(r.error(), no_error);
}
