// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of all pictures, in one place. Sequential maps are viridis and cividis (rising
// lightness, told apart with any colour vision), signed values blue - white - orange, categories
// the palette of Okabe and Ito.
#pragma once

#include <QColor>
#include <QRgb>
#include <QString>
#include <array>
#include <span>

namespace wip::gui {

enum class colour_map { viridis, cividis, signed_values };

// 256 colours from lowest to highest.
std::span<const QRgb> colours_of(colour_map map);
// value in [low, high] to its colour; beyond: the colour at the end.
QRgb colour_at(colour_map map, double value, double low, double high);

// Okabe and Ito, in the order in which series are drawn; index beyond: from the start again.
QColor series_colour(int index);
inline constexpr int nof_series_colours = 8;

// 0: bin not used, 1..8 bits per symbol.
QRgb modulation_colour(int bits);
// Outcome of slot_link.proto: unused, good, bad, unknown.
QRgb outcome_colour(int outcome);
// The colour of a place without data.
inline constexpr QRgb no_data = 0xffdcdcdc;

// The colour of a terminal, again from the first one on after 25; 255: white, for none.
QRgb terminal_colour(int user);

const char* modulation_name(int bits);
const char* outcome_name(int outcome);
QString terminal_name(int user);

}  // namespace wip::gui
