// SPDX-License-Identifier: GPL-3.0-or-later
// Prints the receiver's reports about the slots of a few worlds, for the comparison of builds.
//   heard_slots                      of four worlds that it makes itself, 500 slots each
//   heard_slots record FILE SLOTS    the samples of five worlds go to a file
//   heard_slots replay FILE          the same of such a file
//   heard_slots cut FILE WAYS        JSON: in how many of so many random ways to cut the samples
//                                    every bit of it is as with whole slots; exit code 1: not in
//                                    all
// One line is printed for a slot: world, lock, outcome of each bin, then its SNR measured and
// predicted, then the fingerprint of all that was said. test_widths.py compares builds for several
// widths of registers, tests/bench/compilers.py those of several compilers.
#include "heard_slots.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace {

using namespace wip;
using namespace wip::heard;

constexpr int refused = 2;  // exit code
constexpr std::int64_t most = 100'000;

struct closes {
    void operator()(std::FILE* f) const { std::fclose(f); }
};
using file = std::unique_ptr<std::FILE, closes>;

struct heading {
    char magic[8] = {'O', 'W', 'H', 'E', 'A', 'R', 'D', '1'};
    std::uint32_t worlds = heard::worlds.size(), slots = 0;
};

std::optional<std::int64_t> count(const char* what, std::string_view text) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error == std::errc{} && end == text.data() + text.size() && n >= 1 && n <= most) return n;
    std::fprintf(stderr, "heard_slots: %s is '%.*s'; valid: 1..%" PRId64 "\n", what,
                 static_cast<int>(text.size()), text.data(), most);
    return {};
}

std::optional<recording> read(const char* path) {
    const file f(std::fopen(path, "rb"));
    const heading valid;
    heading h;
    if (!f || std::fread(&h, sizeof h, 1, f.get()) != 1 ||
        std::memcmp(h.magic, valid.magic, sizeof h.magic) != 0 || h.worlds != valid.worlds ||
        h.slots < 1 || h.slots > most) {
        std::fprintf(stderr, "heard_slots: %s cannot be read; valid: what `record` has written\n",
                     path);
        return {};
    }
    recording found{h.slots, {}};
    found.samples.resize(h.worlds * std::size_t{h.slots} * slot_samples);
    if (std::fread(found.samples.data(), sizeof(cf32), found.samples.size(), f.get()) !=
        found.samples.size()) {
        std::fprintf(stderr, "heard_slots: %s ends before its %zu samples\n", path,
                     found.samples.size());
        return {};
    }
    return found;
}

int write(const char* path, const recording& made) {
    heading h;
    h.slots = static_cast<std::uint32_t>(made.slots);
    file f(std::fopen(path, "wb"));
    const bool good = f && std::fwrite(&h, sizeof h, 1, f.get()) == 1 &&
                      std::fwrite(made.samples.data(), sizeof(cf32), made.samples.size(),
                                  f.get()) == made.samples.size() &&
                      std::fclose(f.release()) == 0;
    if (!good) std::fprintf(stderr, "heard_slots: %s cannot be written\n", path);
    return good ? 0 : 1;
}

void print(const std::vector<heard_slot>& all) {
    for (const heard_slot& w : all) {
        std::printf("%zu %d", w.world, w.locked ? 1 : 0);
        for (const auto o : w.outcome) std::printf(" %d", static_cast<int>(o));
        for (const float v : w.snr_db) std::printf(" %.9g", static_cast<double>(v));
        for (const float v : w.predicted_snr_db) std::printf(" %.9g", static_cast<double>(v));
        std::printf(" %016" PRIx64 "\n", w.fingerprint);
    }
}

int cut(const recording& from, std::int64_t ways) {
    const auto whole = hear_whole(from, worlds.size());
    std::int64_t equal = 0;
    std::string first = "null";
    for (std::int64_t seed = 1; seed <= ways; ++seed) {
        const auto other = first_difference(from, whole, static_cast<std::uint64_t>(seed));
        if (!other)
            ++equal;
        else if (first == "null")
            first = "{\"seed\": " + std::to_string(seed) + ", \"slot\": " + std::to_string(*other) +
                    "}";
    }
    const auto locked = std::count_if(whole.begin(), whole.end(), [](auto& w) { return w.locked; });
    std::printf("{\"slots\": %zu, \"locked\": %td, \"ways\": %" PRId64 ", \"equal\": %" PRId64
                ", \"first_unequal\": %s}\n",
                whole.size(), locked, ways, equal, first.c_str());
    return equal == ways ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (argc == 1) {
        print(hear_whole(record(500), smooth));
        return 0;
    }
    if (what == "record" && argc == 4) {
        const auto slots = count("SLOTS", argv[3]);
        return slots ? write(argv[2], record(*slots)) : refused;
    }
    if ((what == "replay" && argc == 3) || (what == "cut" && argc == 4)) {
        const auto ways = argc == 4 ? count("WAYS", argv[3]) : 1;
        if (!ways) return refused;
        const auto from = read(argv[2]);
        if (!from) return refused;
        if (what == "cut") return cut(*from, *ways);
        print(hear_whole(*from, worlds.size()));
        return 0;
    }
    std::fprintf(stderr,
                 "usage: heard_slots | heard_slots record FILE SLOTS | heard_slots replay FILE |"
                 " heard_slots cut FILE WAYS\n");
    return refused;
}
