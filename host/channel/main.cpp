// SPDX-License-Identifier: GPL-3.0-or-later
// wip_channel: what `openwip channel` does in C++. Exit code 0, or 2 with one line of what is
// wrong.
//   wip_channel list              definitions, one JSON object a line
//   wip_channel render NAME ...   definition -> trace
//   wip_channel write ...         rows of 25 (or 50, with predictions) 32-bit floats, dB, from
//                                 standard input -> trace
//   wip_channel check FILE        reads all of a trace, checks it, prints what it is as JSON
//   wip_channel rows FILE         the rows of a trace, as write takes them, to standard output
//   wip_channel patterns FILE ... patterns for other emulators; prints their sizes as JSON
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "channel/patterns.h"
#include "channel/render.h"
#include "config/command_line.h"
#include "config/number_option.h"
#include "trace/confined_trace.h"
#include "trace/trace_file.h"
#include "types/db.h"
#include "types/failure.h"
#include "types/file_text.h"

namespace {

using namespace wip;
using bin_model::trace_row;
using config::number_in;
using nlohmann::json;

int list() {
    for (const std::string& name : profiles::names()) {
        const auto d = profiles::load_definition(name);
        std::puts(json{{"name", name},
                       {"source", d.source},
                       {"taps", d.profile.taps.size()},
                       {"last_tap_ns", std::ranges::max_element(d.profile.taps, {},
                                                                &sample_model::profile_tap::delay_s)
                                               ->delay_s *
                                           1e9},
                       {"rms_delay_spread_ns", d.profile.rms_delay_spread_s() * 1e9},
                       {"carrier_hz", d.carrier_hz},
                       {"speed_kmh", {d.speed.lowest_kmh, d.speed.highest_kmh}},
                       {"own_motion", d.own_motion()},
                       {"shadowing", d.shadowing_default},
                       {"users", d.nof_users()}}
                      .dump()
                      .c_str());
    }
    return 0;
}

int check(const std::string& file) {
    trace::confined_reader in(file, trace::reading_account());
    const trace::trace_info& i = in.info();
    std::vector<trace_row> snr, predicted;
    std::array<double, nof_bins> bin_mean{};
    double sum = 0, sum_db = 0, square = 0, error = 0, low = 1e9, high = -1e9;
    for (; in.next(snr, predicted); snr.clear(), predicted.clear())
        for (std::size_t k = 0; k < snr.size(); ++k)
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const double v = static_cast<double>(snr[k][b]), g = db(v).power();
                low = std::min(low, v);
                high = std::max(high, v);
                sum_db += v;
                sum += g;
                bin_mean[b] += g;
                square += g * g;
                if (i.prediction) {
                    const double d = g - db(static_cast<double>(predicted[k][b])).power();
                    error += d * d;
                }
            }
    const double n = static_cast<double>(in.nof_slots()) * nof_bins;
    json j{{"file", file},
           {"format", trace::format_name},
           {"version", trace::format_version},
           {"slots_per_second", slots_per_second},
           {"bins", nof_bins},
           {"slots", in.nof_slots()},
           {"seconds", static_cast<double>(in.nof_slots()) / slots_per_second},
           {"channel", i.channel},
           {"seed", i.seed},
           {"mean_snr_db", i.mean_snr_db},
           {"speed_kmh", i.speed_kmh},
           {"carrier_hz", i.carrier_hz},
           {"software", i.software},
           {"definition", i.definition},
           {"measured",
            {{"mean_snr_db", db::from_power(sum / n).value},
             {"mean_of_db", sum_db / n},
             {"lowest_db", low},
             {"highest_db", high}}}};
    for (const double m : bin_mean)
        j["measured"]["bin_mean_snr_db"].push_back(
            db::from_power(m / static_cast<double>(in.nof_slots())).value);
    if (i.prediction)
        j["prediction"] = {{"method", i.prediction->method},
                           {"horizon_slots", i.prediction->horizon_slots},
                           {"nmse", i.prediction->nmse},
                           {"measured_nmse", error / square}};
    // A text of a file need not be UTF-8.
    std::puts(j.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
    return 0;
}

// Prints rows for a reader of a pipe, which may close it when it has enough.
int print_rows(const std::string& file, bool predictions) {
    ::signal(SIGPIPE, SIG_IGN);
    trace::confined_reader in(file, trace::reading_account());
    std::vector<trace_row> snr, predicted;
    for (; in.next(snr, predicted); snr.clear(), predicted.clear())
        for (std::size_t t = 0; t < snr.size(); ++t)
            if (std::fwrite(snr[t].data(), sizeof(trace_row), 1, stdout) != 1 ||
                (predictions && in.info().prediction &&
                 std::fwrite(predicted[t].data(), sizeof(trace_row), 1, stdout) != 1))
                return 0;
    return 0;
}

struct write_config {
    trace::trace_info info;
    std::string definition_file;
    std::string file;
    bool predicted = false;
    trace::prediction_info prediction;
};

int write(write_config c) {
    if (!c.definition_file.empty()) c.info.definition = file_text(c.definition_file);
    if (c.predicted) c.info.prediction = c.prediction;
    trace::writer out(c.file, c.info);
    const std::size_t width = c.predicted ? 2 * nof_bins : nof_bins;
    std::vector<float> rows(width * trace::chunk_slots);
    std::vector<trace_row> snr, predicted;
    for (std::size_t kept = 0, read = 0;;) {
        const std::size_t got =
            std::fread(rows.data() + kept, sizeof(float), rows.size() - kept, stdin) + kept;
        const std::size_t whole = got / width;
        snr.resize(whole);
        predicted.resize(c.predicted ? whole : 0);
        for (std::size_t t = 0; t < whole; ++t) {
            std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(t * width), nof_bins,
                        snr[t].begin());
            if (c.predicted)
                std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(t * width) + nof_bins,
                            nof_bins, predicted[t].begin());
        }
        out.append(snr, predicted);
        read += whole;
        kept = got - whole * width;
        if (got < rows.size()) {
            if (std::ferror(stdin)) throw machine_error("standard input cannot be read", errno);
            if (kept > 0)
                throw std::invalid_argument("standard input ends after " + std::to_string(kept) +
                                            " of " + std::to_string(width) + " values of row " +
                                            std::to_string(read + 1) + "; valid: whole rows");
            break;
        }
    }
    out.finish(c.info.prediction);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("channels as SNR traces", "wip_channel");
    app.require_subcommand(1);
    auto* list_command = app.add_subcommand("list", "channel definitions");

    channel_program::render_config r;
    std::string shadowing;
    auto* rendering = app.add_subcommand("render", "trace of a definition");
    rendering->add_option("channel", r.channel)->required();
    rendering->add_option("-o,--output", r.file)->required();
    rendering->add_option("--seed", r.seed)->transform(number_in<std::uint64_t>());
    rendering->add_option("--duration,--seconds", r.seconds)->transform(number_in<double>());
    rendering->add_option("--snr", r.mean_snr_db)->transform(number_in<double>());
    rendering->add_option("--speed-kmh", r.choice.speed_kmh)->transform(number_in<double>());
    rendering->add_option("--carrier-hz", r.choice.carrier_hz)->transform(number_in<double>());
    rendering->add_option("--delay-spread-ns", r.delay_spread_ns)->transform(number_in<double>());
    rendering->add_option("--user", r.choice.user)->transform(number_in<std::uint64_t>());
    rendering->add_option("--shadowing", shadowing)->check(CLI::IsMember({"on", "off"}));
    rendering->add_option("--shadowing-db", r.choice.shadowing_db)->transform(number_in<double>());
    rendering->add_option("--horizon", r.horizon_slots)->transform(number_in<int>());
    auto* nmse = rendering->add_option("--prediction-nmse", r.nmse)->transform(number_in<double>());
    auto* predictor = rendering->add_flag("--predictor", r.predictor)->excludes(nmse);
    rendering->add_option("--method", r.method)->needs(predictor);
    rendering->add_option("--software", r.software);

    write_config w;
    auto* writing = app.add_subcommand("write", "trace from rows on standard input");
    writing->add_option("-o,--output", w.file)->required();
    writing->add_option("--channel", w.info.channel)->required();
    writing->add_option("--definition", w.definition_file);
    writing->add_option("--seed", w.info.seed)->transform(number_in<std::uint64_t>());
    writing->add_option("--mean-snr", w.info.mean_snr_db)
        ->required()
        ->transform(number_in<double>());
    writing->add_option("--speed-kmh", w.info.speed_kmh)->transform(number_in<double>());
    writing->add_option("--carrier-hz", w.info.carrier_hz)->transform(number_in<double>());
    writing->add_option("--software", w.info.software);
    writing->add_flag("--predicted", w.predicted);
    writing->add_option("--horizon", w.prediction.horizon_slots)
        ->transform(number_in(0, trace::longest_horizon));
    writing->add_option("--method", w.prediction.method)
        ->check(CLI::IsMember({"nmse", "predictor"}));
    writing->add_option("--nmse", w.prediction.nmse)->transform(number_in<double>());

    std::string checked;
    auto* checking = app.add_subcommand("check", "check and describe a trace");
    checking->add_option("file", checked)->required();

    std::string read;
    auto* reading = app.add_subcommand("rows", "rows of a trace to standard output");
    reading->add_option("file", read)->required();
    bool snr_only = false;
    reading->add_flag("--snr", snr_only, "without predictions");

    channel_program::pattern_config p;
    auto* patterns = app.add_subcommand("patterns", "patterns for other emulators");
    patterns->add_option("trace", p.trace)->required();
    patterns->add_option("-o,--output", p.file)->required();
    patterns->add_option("--kind", p.kind);
    patterns->add_option("--bins", p.bins)->transform(number_in<int>());
    patterns->add_option("--modulation", p.modulation)->transform(number_in<int>());
    patterns->add_option("--packet-bytes", p.packet_bytes)->transform(number_in<int>());
    patterns->add_option("--seed", p.seed)->transform(number_in<std::uint64_t>());

    return config::with_command_line(app, argc, argv, "wip_channel", [&] {
        if (*list_command) return list();
        if (*checking) return check(checked);
        if (*writing) return write(w);
        if (*reading) return print_rows(read, !snr_only);
        if (*patterns) {
            const auto sizes = channel_program::write_patterns(p);
            std::puts(json{{"ms", sizes.ms}, {"bits", sizes.bits}, {"packets", sizes.packets}}
                          .dump()
                          .c_str());
            return 0;
        }
        using use = profiles::channel_choice::use;
        if (!shadowing.empty()) r.choice.shadowing = shadowing == "on" ? use::on : use::off;
        channel_program::render(r);
        return 0;
    });
}
