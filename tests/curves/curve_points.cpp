// SPDX-License-Identifier: GPL-3.0-or-later
// curve_points CURVE [--full] [--trials N] [--seed S]: the points of one curve as JSON lines. The
// same arguments give the same lines. What is measured and how: head of each *_curve.cpp.
#include <cstdlib>
#include <cstring>

#include "curve_world.h"

namespace {

using namespace wip::curves;

constexpr struct {
    const char* name;
    void (*run)(const options&);
} curves[] = {{"awgn", awgn_curve},
              {"fading", fading_curve},
              {"estimation", estimation_curve},
              {"acquisition", acquisition_curve},
              {"noise", noise_curve},
              {"clock", clock_curve},
              {"clock20", clock20_curve},
              {"tracking", tracking_curve},
              {"snr", snr_curve},
              {"prediction", prediction_curve},
              {"spectra", spectra_curve},
              {"goodput", goodput_curve},
              {"uplink", uplink_curve}};

int usage() {
    std::fprintf(stderr,
                 "usage: curve_points CURVE [--full] [--trials 1..1000000] [--seed S]\ncurves:");
    for (const auto& c : curves) std::fprintf(stderr, " %s", c.name);
    std::fprintf(stderr, "\n");
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return usage();
    options o;
    for (int i = 2; i < argc; ++i) {
        const bool more = i + 1 < argc;
        char* end = nullptr;
        if (std::strcmp(argv[i], "--full") == 0) {
            o.full = true;
        } else if (std::strcmp(argv[i], "--trials") == 0 && more) {
            const long n = std::strtol(argv[++i], &end, 10);
            if (*end != 0 || n < 1 || n > 1'000'000) return usage();
            o.trials = static_cast<int>(n);
        } else if (std::strcmp(argv[i], "--seed") == 0 && more) {
            o.seed = std::strtoull(argv[++i], &end, 10);
            if (*end != 0) return usage();
        } else {
            return usage();
        }
    }
    for (const auto& c : curves)
        if (std::strcmp(argv[1], c.name) == 0) {
            c.run(o);
            return 0;
        }
    return usage();
}
