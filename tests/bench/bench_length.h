// SPDX-License-Identifier: GPL-3.0-or-later
// How long a benchmark measures: its only argument.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace wip::bench {

// The length in `what` (slots, seconds): "least", a number, or `usual` without an argument.
// Anything else ends the program with code 2.
inline int length(int argc, char** argv, const char* what, int usual, int least,
                  int most = 1'000'000) {
    if (argc < 2) return usual;
    if (argv[1] == std::string_view("least")) return least;
    char* end = nullptr;
    const long n = std::strtol(argv[1], &end, 10);
    if (*argv[1] != '\0' && *end == '\0' && n >= least && n <= most) return static_cast<int>(n);
    std::fprintf(stderr, "%s: %s is '%s'; valid: %d..%d, least (%d)\n", argv[0], what, argv[1],
                 least, most, least);
    std::exit(2);
}

}  // namespace wip::bench
