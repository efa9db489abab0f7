// SPDX-License-Identifier: GPL-3.0-or-later
// The list of key figures (mac/schema/key_figures.yaml, which says what its columns mean), as the
// monitor shows them; openwip_cli/figures/key_figures.py is the rest of OpenWIP's.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wip::config {

struct key_figure {
    std::string name, help, topic;
    std::vector<std::string> fields;  // fields of the topic's message whose sum is the figure
    std::vector<std::string> needs;   // fields without which the figure does not apply
    std::string title, unit;
    double factor = 1;  // converts the value to the unit
    int digits = 0;
    std::string row;
    std::vector<std::string> views;

    // The number with title and unit; empty: the number is not known.
    std::string words(std::optional<double> value) const;
};

// The figures in the order of the list. Throws `error` for a text that is no such list.
std::vector<key_figure> read_key_figures(const std::string& yaml, const std::string& origin);
const std::vector<key_figure>& built_in_key_figures();

// The figures in a row of a view.
std::vector<key_figure> key_figures_of(const std::string& row, const std::string& view);

}  // namespace wip::config
