// SPDX-License-Identifier: GPL-3.0-or-later
// The value of a setting that may name a rule of the user's own (docs/how-to/extend.md):
//
//   python:FILE:CLASS         a class in a Python file
//   library:FILE[:ARGUMENT]   a shared library; the argument is the library's own affair
//
// The last colon ends a Python file's name, the first one a library's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wip {

struct extension_name {
    bool python = false;
    std::string file, argument;  // argument of Python: the class
};

inline constexpr std::string_view valid_extension = "python:FILE:CLASS or library:FILE[:ARGUMENT]";
inline constexpr std::string_view no_extension = "built_in";

// nullopt: the text is neither of these.
inline std::optional<extension_name> read_extension_name(std::string_view text) {
    constexpr std::string_view of_python = "python:", of_library = "library:";
    extension_name name;
    if (text.starts_with(of_python)) {
        text.remove_prefix(of_python.size());
        const auto colon = text.rfind(':');
        if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size())
            return std::nullopt;
        name.python = true;
        name.file = text.substr(0, colon);
        name.argument = text.substr(colon + 1);
        return name;
    }
    if (!text.starts_with(of_library)) return std::nullopt;
    text.remove_prefix(of_library.size());
    const auto colon = text.find(':');
    name.file = text.substr(0, colon);
    if (colon != std::string_view::npos) name.argument = text.substr(colon + 1);
    if (name.file.empty()) return std::nullopt;
    return name;
}

}  // namespace wip
