// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of key figures (config/key_figures.h) in words, from the latest messages: fields by their
// names in the schema, as openwip_cli/figures/key_figures.py finds them. A new figure of a row is
// shown without a line here.
#pragma once

#include <google/protobuf/message.h>

#include <map>
#include <optional>
#include <string>

#include "config/key_figures.h"

namespace wip::gui {

using messages_by_topic = std::map<std::string, const google::protobuf::Message*>;

// The value of the figure: the sum over its fields, and over the entries of each list; empty: it is
// not known.
std::optional<double> value_of(const config::key_figure& f, const google::protobuf::Message& from);

// Figures of a topic that is not there are unknown; those that do not apply are left out.
std::string row_words(const std::string& row, const messages_by_topic& latest);

}  // namespace wip::gui
