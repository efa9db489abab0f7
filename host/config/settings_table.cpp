// SPDX-License-Identifier: GPL-3.0-or-later
#include "config/settings_table.h"

#include <algorithm>

#include "config/between_bars.h"
#include "config/endpoint.h"
#include "types/extension_name.h"

namespace wip::config {
namespace {

// The words of a column; an empty column has none.
std::vector<std::string> column_words(std::string_view column) {
    if (column.empty()) return {};
    const auto words = between_bars(column);
    return {words.begin(), words.end()};
}

std::string check_extension(std::string_view text) {
    if (text == no_extension || read_extension_name(text)) return {};
    std::string valid(no_extension);
    return valid.append(", ").append(valid_extension);
}

const text_checks& common_checks() {
    static const text_checks checks{{"endpoint", check_endpoint},
                                    {"endpoint_or_none", check_endpoint_or_none},
                                    {"extension", check_extension},
                                    {"folder_or_none", check_folder_or_none},
                                    {"line_endpoint", check_line_endpoint},
                                    {"namespace", check_namespace},
                                    {"uplink_endpoint", check_uplink_endpoint},
                                    {"word", check_word}};
    return checks;
}

}  // namespace

key make_key(const setting_row& row, const text_checks& checks) {
    key k{.path = row.path,
          .type = row.type,
          .fallback = row.fallback,
          .doc = row.doc,
          .unit = row.unit,
          .zero = row.zero,
          .lowest = row.lowest,
          .highest = row.highest,
          .least = row.least,
          .choices = column_words(row.choices),
          .words = column_words(row.words),
          .whole = row.whole,
          .most = row.most,
          .fallback_doc = row.shown,
          .required = row.required,
          .runtime = *row.live != '\0',
          .live = row.live,
          .endpoint = std::string_view(row.check).find("endpoint") != std::string_view::npos,
          .format = row.format};
    if (const std::string name = row.check; !name.empty()) {
        const auto& common = common_checks();
        if (const auto own = checks.find(name); own != checks.end())
            k.check = own->second;
        else if (const auto c = common.find(name); c != common.end())
            k.check = c->second;
        else
            throw error("settings.yaml: " + k.path + ": check = " + name +
                        "; valid: a check that the program has");
    }
    // A choice, or code of the user's own.
    if (k.type == kind::choice && k.check) {
        k.type = kind::text;
        k.check = [choices = k.choices](std::string_view text) -> std::string {
            if (std::find(choices.begin(), choices.end(), text) != choices.end() ||
                read_extension_name(text))
                return {};
            std::string valid;
            for (const auto& choice : choices) valid += choice + ", ";
            return valid + std::string(valid_extension);
        };
    }
    if (k.type == kind::tree) k.items = &impairments();
    return k;
}

std::vector<key> keys_of(process of, const text_checks& checks) {
    std::vector<key> all;
    for (const auto& row : rows_of(of)) all.push_back(make_key(row, checks));
    return all;
}

}  // namespace wip::config
