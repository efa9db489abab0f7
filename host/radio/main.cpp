// SPDX-License-Identifier: GPL-3.0-or-later
// wip_radio: what `openwip radio` and `openwip doctor --loop` do with a radio. One JSON object on
// standard output. Exit code 2 with one line on standard error: the radio refuses the arguments, or
// is not there; 1: it does not do it; 3: its medium is gone.
//   wip_radio probe --args ARGS        what it is
//   wip_radio levels --args ARGS ...   noise, constant, clipping; with a tone, images and leakage
//   wip_radio spectrum --args ARGS ... power spectrum, mean and largest
//   wip_radio loop --args ARGS ...     latency of reception, lead of transmission
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <uhd/exception.hpp>
#include <vector>

#include "config/exit_code.h"
#include "radio/device.h"
#include "radio/levels.h"
#include "radio/loop.h"
#include "radio/probe.h"
#include "types/failure.h"
#include "types/grid.h"

namespace {

using namespace wip::radio;
using namespace wip::config;
using nlohmann::json;
using wip::bad_input, wip::machine_error;

// seconds in which gains and oscillators settle, before samples count
constexpr double settling_s = 0.05;
// LO of the transmitter above the receiver's: enough to tell images and leakage apart, and within
// what the software USRP hears (20 kHz) with two oscillators.
constexpr double apart_hz = 12e3;
constexpr int tone_cycles = 900;       // cycles in 7680 samples: 900 kHz above its LO at 7.68 MS/s
constexpr double oscillators = 30e-6;  // largest relative difference between two oscillators
constexpr int attempts = 5;            // at a transmission without an underflow

struct wishes {
    std::string arguments, tone_arguments;
    tuning receive, transmit;
    double seconds = 0.5, tone_dbfs = -6;
    bool with_tone = false;
};

struct opened {
    usrp::sptr radio;
    side which = side::receive;
    station_rate rate;
    tuned at;
};

opened prepared(const usrp::sptr& radio, side s, const tuning& wish) {
    if ((s == side::receive ? radio->get_rx_num_channels() : radio->get_tx_num_channels()) == 0)
        throw bad_input(s == side::receive ? "the radio has no receiver"
                                           : "the radio has no transmitter");
    const station_rate rate = set_rate(*radio, s);
    return {radio, s, rate, tune(*radio, s, wish)};
}

json json_of(const opened& o) {
    return {{"frequency_hz", o.at.frequency_hz},
            {"lo_hz", o.at.lo_hz},
            {o.which == side::receive ? "receive_gain_db" : "transmit_gain_db", o.at.gain_db},
            {"antenna", o.at.antenna},
            {"rate_hz", o.rate.rate_hz}};
}

std::size_t samples(const opened& o, double seconds) {
    return static_cast<std::size_t>(std::max(65536.0, std::ceil(seconds * o.rate.rate_hz)));
}

json levels(const wishes& w, const usrp::sptr& radio) {
    const opened in = prepared(radio, side::receive, w.receive);
    std::unique_ptr<tone> sent;
    opened out;
    if (w.with_tone) {
        tuning wish = w.transmit;
        wish.frequency_hz = w.receive.frequency_hz + apart_hz;
        out = prepared(w.tone_arguments.empty() ? radio : open(w.tone_arguments), side::transmit,
                       wish);
        sent = std::make_unique<tone>(out.radio, tone_cycles, std::pow(10, w.tone_dbfs / 20));
    }
    receiver stream(radio);
    std::vector<cf32> got;
    for (int attempt = 1; attempt == 1 || (sent && sent->gaps() > 0); ++attempt) {
        if (attempt > attempts)
            throw machine_error(
                "the transmitter runs out of samples in each of 5 attempts: "
                "this computer does not keep up (./openwip doctor says what it lacks)");
        if (sent) sent->forget_gaps();
        got = stream.take(samples(in, w.seconds), samples(in, settling_s));
    }
    const double rate = in.rate.rate_hz;
    const double lo = (in.at.lo_hz - in.at.frequency_hz) / rate;
    const level_summary l = levels_of(got, lo);
    // The noise is given in 7.68 MHz, whatever the radio's rate, so that radios can be compared.
    const double noise = l.noise_dbfs + 10 * std::log10(wip::sample_rate_hz / rate);
    json j = json_of(in);
    j.update({{"samples", got.size()},
              {"power_dbfs", l.power_dbfs},
              {"peak_dbfs", l.peak_dbfs},
              {"noise_dbfs", noise},
              {"noise_at_gain_0_dbfs", noise - in.at.gain_db},
              {"dc_dbfs", l.dc_dbfs},
              {"clipped", l.clipped},
              {"gaps", stream.gaps()},
              {"tone", nullptr}});
    if (!w.with_tone) return j;
    const double away = out.at.lo_hz - in.at.frequency_hz;
    const double baseband = out.rate.rate_hz * tone_cycles / tone::period;
    const double shifted = out.at.frequency_hz - in.at.frequency_hz + baseband;
    const auto t = measure_tone(got, {shifted / rate, lo, away / rate},
                                oscillators * in.at.frequency_hz / rate);
    json& about =
        j["tone"] = {{"sent", json_of(out)}, {"expected_hz", shifted}, {"heard", t.has_value()}};
    if (!t) return j;
    const auto line_of = [](const line& l2) {
        return json{{"db", l2.dbfs}, {"at_least", !l2.above_noise}};
    };
    about.update({{"hz", t->frequency * rate},
                  {"dbfs", t->dbfs},
                  {"receive_image", line_of(t->receive_image)},
                  {"transmit_image", line_of(t->transmit_image)},
                  {"leakage", line_of(t->leakage)}});
    return j;
}

json spectrum(const wishes& w, const usrp::sptr& radio) {
    const opened in = prepared(radio, side::receive, w.receive);
    receiver stream(radio);
    const auto got = stream.take(samples(in, w.seconds), samples(in, settling_s));
    const spectrum_pair p = spectrum_of(got, samples(in, 0.01));
    json j = json_of(in), hz = json::array();
    const double points = static_cast<double>(p.mean.size());
    for (std::size_t i = 0; i < p.mean.size(); ++i)
        hz.push_back((static_cast<double>(i) / points - 0.5) * in.rate.rate_hz);
    j.update(
        {{"samples", got.size()}, {"offset_hz", hz}, {"mean_dbfs", p.mean}, {"most_dbfs", p.most}});
    return j;
}

json loop(const wishes& w, const usrp::sptr& radio) {
    const opened in = prepared(radio, side::receive, w.receive);
    tuning wish = w.transmit;
    wish.frequency_hz = w.receive.frequency_hz;
    const opened out = prepared(radio, side::transmit, wish);
    json j = measure_loop(radio, w.seconds);
    j.update({{"received", json_of(in)}, {"sent", json_of(out)}});
    return j;
}

// UHD's words without the names of its exceptions, which stand before them.
std::string one_line(const std::string& text) {
    static const std::regex names("^([A-Za-z]+Error: (vusrp: )?)+"), spaces("\\s+");
    return std::regex_replace(std::regex_replace(text, spaces, " "), names, "");
}

// Why a command line is refused. An older option --gain drove the receiver here and the transmitter
// in other commands.
std::string refused(const CLI::App& app, const CLI::ParseError& e) {
    for (const auto& word : app.remaining(true))
        if (word.substr(0, word.find('=')) == "--gain")
            return "--gain is not an option; it is now --transmit-gain, of the transmitter, or "
                   "--receive-gain, of the receiver";
    return e.what();
}

int fail(const std::string& why, int code) {
    std::fprintf(stderr, "radio: %s\n", one_line(why).c_str());
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("a radio, looked at and measured");
    app.require_subcommand(1);
    wishes w;
    double receive_gain = 0, transmit_gain = 0;
    std::vector<CLI::Option*> receive_gains, transmit_gains, tones;
    for (const char* name : {"probe", "levels", "spectrum", "loop"}) {
        CLI::App* c = app.add_subcommand(name);
        const std::string what = name;
        c->add_option("--args", w.arguments);
        if (what == "probe") continue;
        c->add_option("--freq", w.receive.frequency_hz);
        receive_gains.push_back(c->add_option("--receive-gain", receive_gain));
        c->add_option("--antenna", w.receive.antenna);
        c->add_option("--seconds", w.seconds);
        if (what == "spectrum") continue;
        transmit_gains.push_back(c->add_option("--transmit-gain", transmit_gain));
        c->add_option("--transmit-antenna", w.transmit.antenna);
        if (what == "loop") continue;
        tones.push_back(c->add_option("--tone", w.tone_dbfs));
        c->add_option("--tone-args", w.tone_arguments);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == 0) return app.exit(e);
        return fail(refused(app, e), exit_bad_input);
    }
    for (const auto* o : receive_gains)
        if (o->count()) w.receive.gain_db = receive_gain;
    for (const auto* o : transmit_gains)
        if (o->count()) w.transmit.gain_db = transmit_gain;
    for (const auto* o : tones) w.with_tone |= o->count() > 0;
    usrp::sptr radio;
    try {
        radio = open(w.arguments);
    } catch (const uhd::key_error&) {
        return fail("no radio answers to --radio '" + w.arguments +
                        "'; valid: device arguments of a radio that uhd_find_devices lists",
                    exit_bad_input);
    } catch (const std::exception& e) {
        return fail(e.what(), exit_bad_input);
    }
    try {
        const json j = app.got_subcommand("probe")      ? probe(*radio)
                       : app.got_subcommand("levels")   ? levels(w, radio)
                       : app.got_subcommand("spectrum") ? spectrum(w, radio)
                                                        : loop(w, radio);
        std::puts(j.dump().c_str());
        return 0;
    } catch (const uhd::environment_error& e) {  // the radio was there and has gone
        return fail(e.what(), exit_failed);
    } catch (const uhd::usb_error& e) {
        return fail(e.what(), exit_failed);
    } catch (const uhd::exception& e) {
        return fail(e.what(), exit_bad_input);
    } catch (const std::exception& e) {
        return fail(e.what(), exit_code_of(e));
    }
}
