// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/plot/colour_map.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wip::gui {
namespace {

// Every sixteenth colour of the public-domain maps (CC0) viridis and cividis, and a signed map of
// our own; between them straight lines.
constexpr QRgb viridis[] = {0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d,
                            0x2c728e, 0x26828e, 0x21918c, 0x1f9f88, 0x27ad81, 0x3dbc74,
                            0x5cc863, 0x81d34d, 0xaadc32, 0xd5e21a, 0xfde725};
constexpr QRgb cividis[] = {0x00224e, 0x002e6a, 0x1a386f, 0x32436d, 0x434e6c, 0x535a6d,
                            0x61656f, 0x6f7073, 0x7d7c78, 0x8b8778, 0x9a9376, 0xaaa073,
                            0xbbad6d, 0xccba64, 0xddc858, 0xefd748, 0xfee838};
constexpr QRgb blue_orange[] = {0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xf4f4f4,
                                0xfdb863, 0xe08214, 0xb35806, 0x7f3b08};

std::vector<QRgb> between(std::span<const QRgb> anchors) {
    std::vector<QRgb> all(256);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double at = static_cast<double>(i) / 255 * static_cast<double>(anchors.size() - 1);
        const auto k = std::min<std::size_t>(static_cast<std::size_t>(at), anchors.size() - 2);
        const double part = at - static_cast<double>(k);
        const auto mix = [&](auto channel) {
            return static_cast<int>(
                std::lround(channel(anchors[k]) * (1 - part) + channel(anchors[k + 1]) * part));
        };
        all[i] = qRgb(mix([](QRgb c) { return qRed(c); }), mix([](QRgb c) { return qGreen(c); }),
                      mix([](QRgb c) { return qBlue(c); }));
    }
    return all;
}

}  // namespace

std::span<const QRgb> colours_of(colour_map map) {
    static const std::array<std::vector<QRgb>, 3> tables{between(viridis), between(cividis),
                                                         between(blue_orange)};
    return tables[static_cast<std::size_t>(map)];
}

QRgb colour_at(colour_map map, double value, double low, double high) {
    if (!std::isfinite(value)) return no_data;
    const double part = std::clamp((value - low) / (high - low), 0.0, 1.0);
    return colours_of(map)[static_cast<std::size_t>(std::lround(part * 255))];
}

QColor series_colour(int index) {
    static constexpr QRgb palette[nof_series_colours] = {0xff0072b2, 0xffd55e00, 0xff009e73,
                                                         0xffcc79a7, 0xffe69f00, 0xff56b4e9,
                                                         0xff000000, 0xffa0a000};
    return QColor::fromRgb(palette[index % nof_series_colours]);
}

QRgb modulation_colour(int bits) {
    if (bits > 8) return no_data;
    if (bits <= 0) return 0xffffffff;
    return colour_at(colour_map::viridis, bits, 1, 8);
}

QRgb outcome_colour(int outcome) {
    // Apart in lightness too; those of the report (run_report/plots.py).
    static constexpr QRgb colours[] = {0xffffffff, 0xff56b4e9, 0xffd55e00, 0xfff0e442};
    return outcome >= 0 && outcome < 4 ? colours[outcome] : no_data;
}

QRgb terminal_colour(int user) {
    if (user < 0 || user >= 255) return 0xffffffff;
    user %= 25;
    // Eight hues; the next eight lighter, the last eight darker, where black has no darker.
    if (user == 22) return 0xff5a2d91;
    if (user == 24) return 0xff00d0d0;
    const QColor hue = series_colour(user % nof_series_colours);
    const int round = user / nof_series_colours;
    const auto part = [round](int c) {
        return round == 0 ? c : round == 1 ? (c + 255) / 2 : c / 2;
    };
    return qRgb(part(hue.red()), part(hue.green()), part(hue.blue()));
}

QString terminal_name(int user) { return QStringLiteral("terminal %1").arg(user + 1); }

const char* modulation_name(int bits) {
    static constexpr const char* names[] = {"unused", "BPSK",   "4-QAM",   "8-QAM",  "16-QAM",
                                            "32-QAM", "64-QAM", "128-QAM", "256-QAM"};
    return bits >= 0 && bits < 9 ? names[bits] : "?";
}

const char* outcome_name(int outcome) {
    static constexpr const char* names[] = {"unused", "good", "bad", "unknown"};
    return outcome >= 0 && outcome < 4 ? names[outcome] : "?";
}

}  // namespace wip::gui
