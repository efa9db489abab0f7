// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a fuzz target where there is no libFuzzer (it comes with clang): first the given files, then
// mutations of them for some seconds. It takes libFuzzer's options, so that
// tests/fuzz/CMakeLists.txt and docs/how-to/develop.md are the same for both:
//
//   fuzz_NAME [-runs=N] [-max_total_time=S] [-seed=N] [-max_len=N] [-artifact_prefix=P] FILE...
//   fuzz_NAME -merge=1 TO FROM...     the files that reach all that they reach, the shortest first
//
// FILE, FROM: files or folders. Without -runs and -max_total_time the files are run once and
// nothing is mutated. New inputs that reach new code are kept, in memory and in the first folder if
// that is not the only one. The compiler (gcc -fsanitize-coverage=trace-pc) calls in at each basic
// block; an edge is a pair of blocks, counted in classes (1, 2, 3, 4 to 7, ...), as AFL does it.
// Two runs with the same seed, program and files do the same as far as both get. What violates is
// written to P + "crash-" + a hash before the program dies of it, what takes too long to "timeout-"
// + hash.
//
// Exit code 0: nothing violated; 2: wrong arguments; any other end: a violation.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fuzz_input.h"
#include "types/splitmix64.h"

namespace fs = std::filesystem;
using bytes = std::vector<std::uint8_t>;

namespace {

constexpr std::size_t map_size = 1 << 16;
// Plain arrays: most of the time is spent where they are counted.
std::uint8_t edges[map_size];     // hits of this run
std::uint32_t touched[map_size];  // edges with any hits: in a small target there are few
std::size_t nof_touched = 0;
std::uint32_t previous_block = 0;
bool watching = false;

}  // namespace

extern "C" __attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc() {
    if (!watching) return;
    // Relative to this program, so that it is the same wherever it was loaded.
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                      reinterpret_cast<std::uintptr_t>(&LLVMFuzzerTestOneInput);
    const auto block = static_cast<std::uint32_t>((here * 0x9e3779b97f4a7c15ULL) >> 40) % map_size;
    const std::uint32_t edge = (block ^ previous_block) % map_size;
    if (edges[edge] == 0) touched[nof_touched++] = edge;
    if (edges[edge] < 255) ++edges[edge];
    previous_block = block >> 1;
}
#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace {

struct options {
    std::int64_t runs = -1, seconds = 0;
    std::uint64_t seed = 1;
    std::size_t longest = 4096;
    bool merge = false;
    std::string artifacts;
    std::vector<fs::path> places;
};

[[noreturn]] void refuse(const std::string& why) {
    std::fprintf(stderr, "fuzz: %s\n", why.c_str());
    std::exit(2);
}

options parse(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto equals = word.find('=');
        if (word.empty() || word[0] != '-') {
            if (!fs::exists(word)) refuse(word + ": there is no such file or folder");
            o.places.emplace_back(word);
            continue;
        }
        const std::string key = word.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
        if (key == "-artifact_prefix") {
            o.artifacts = value;
            continue;
        }
        std::int64_t n = 0;
        const auto read = std::from_chars(value.data(), value.data() + value.size(), n);
        if (read.ec != std::errc{} || read.ptr != value.data() + value.size() || n < 0)
            refuse(word + "; valid: a number of 0 or more");
        if (key == "-runs")
            o.runs = n;
        else if (key == "-max_total_time")
            o.seconds = n;
        else if (key == "-seed")
            o.seed = static_cast<std::uint64_t>(n);
        else if (key == "-max_len")
            o.longest = static_cast<std::size_t>(n);
        else if (key == "-merge")
            o.merge = n != 0;
        else
            refuse(word +
                   "; valid: -runs, -max_total_time, -seed, -max_len, -merge, -artifact_prefix");
    }
    if (o.merge && (o.places.size() < 2 || !fs::is_directory(o.places[0])))
        refuse("-merge=1; valid: a folder, and files or folders that go into it");
    return o;
}

// The input that runs now, for the message at the end.
const bytes* running = nullptr;
std::string artifact_prefix;

std::string hash_of(const bytes& input) {
    std::uint64_t h = 14695981039346656037U;
    for (const auto b : input) h = (h ^ b) * 1099511628211U;
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
    return text;
}

void write_file(const std::string& name, const bytes& content) {
    std::ofstream out(name, std::ios::binary);
    out.write(reinterpret_cast<const char*>(content.data()),
              static_cast<std::streamsize>(content.size()));
}

void last_words(const char* kind) {
    if (running == nullptr) return;
    const bytes& input = *running;
    running = nullptr;
    const std::string name = artifact_prefix + kind + hash_of(input);
    write_file(name, input);
    std::fprintf(stderr, "fuzz: %zu bytes that did it are in %s\n", input.size(), name.c_str());
}

void on_signal(int number) {
    watching = false;
    last_words(number == SIGPROF ? "timeout-" : "crash-");
    ::signal(number, SIG_DFL);
    ::raise(number == SIGPROF ? SIGABRT : number);
}

void catch_deaths() {
    for (const int s : {SIGABRT, SIGPROF}) ::signal(s, on_signal);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_set_death_callback([] { last_words("crash-"); });
#else
    for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) ::signal(s, on_signal);
#endif
}

class dice : public wip::splitmix64 {
public:
    using splitmix64::splitmix64;
    std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }
};

class fuzzer {
public:
    explicit fuzzer(const options& o) : options_(o), dice_(o.seed) {}

    // Runs it, and keeps it if it reaches what none before it did.
    bool run(const bytes& input) {
        running = &input;
        // A target's inputs are small; seconds, even with sanitizers on a machine that is full, are
        // a loop that does not end.
        const itimerval limit{{0, 0}, {25, 0}}, none{};
        ::setitimer(ITIMER_PROF, &limit, nullptr);
        while (nof_touched > 0) edges[touched[--nof_touched]] = 0;
        previous_block = 0;
        watching = true;
        LLVMFuzzerTestOneInput(input.data(), input.size());
        watching = false;
        ::setitimer(ITIMER_PROF, &none, nullptr);
        running = nullptr;
        ++runs_;
        bool fresh = false;
        for (const std::uint32_t e : std::span(touched).first(nof_touched)) {
            // A merged corpus is small: how often is left to mutation.
            const auto seen =
                static_cast<std::uint8_t>(options_.merge ? edges[e] != 0 : class_of(edges[e]));
            fresh = fresh || (seen & ~seen_[e]) != 0;
            seen_[e] |= seen;
        }
        if (fresh) kept_.push_back(input);
        return fresh;
    }
    // One of the given. Where nothing is counted (-fsanitize-coverage left out: five times as many
    // inputs, none of them kept) all of these are what is mutated.
    bool give(const bytes& input) {
        const bool fresh = run(input);
        if (nof_touched == 0) kept_.push_back(input);
        return fresh;
    }

    void mutate_until(std::chrono::steady_clock::time_point end, std::int64_t runs) {
        if (kept_.empty()) kept_.push_back({});
        while (std::chrono::steady_clock::now() < end && runs-- != 0) {
            // The newest are looked at as often as all others.
            const std::size_t n = kept_.size(), last = std::min<std::size_t>(n, 16);
            bytes input = kept_[dice_.below(2) == 0 ? n - 1 - dice_.below(last) : dice_.below(n)];
            for (std::size_t i = std::size_t{1} << dice_.below(4); i > 0; --i) mutate(input);
            if (input.size() > options_.longest) input.resize(options_.longest);
            if (run(input) && !corpus.empty()) keep(input);
        }
    }
    void keep(const bytes& input) const { write_file((corpus / hash_of(input)).string(), input); }

    std::uint64_t runs() const { return runs_; }
    std::size_t kept() const { return kept_.size(); }
    std::size_t edges_seen() const {
        return static_cast<std::size_t>(
            std::count_if(seen_.begin(), seen_.end(), [](auto s) { return s != 0; }));
    }
    fs::path corpus;  // folder for new inputs; empty: they are not written

private:
    static std::uint8_t class_of(std::uint8_t count) {
        return static_cast<std::uint8_t>(count == 0    ? 0
                                         : count < 4   ? 1 << (count - 1)
                                         : count < 8   ? 8
                                         : count < 16  ? 16
                                         : count < 32  ? 32
                                         : count < 128 ? 64
                                                       : 128);
    }

    void mutate(bytes& b) {
        constexpr std::array<std::uint8_t, 10> odd{0,    1,    0x7f, 0x80, 0xff,
                                                   0x10, 0x20, 0x40, 0xfe, '\n'};
        const std::size_t at = dice_.below(b.size());
        const auto place = b.begin() + static_cast<std::ptrdiff_t>(at);
        const std::size_t n =
            b.empty() ? 0 : 1 + dice_.below(std::min<std::size_t>(b.size() - at, 32));
        switch (b.empty() ? 5 : dice_.below(10)) {
            case 0:
                b[at] = static_cast<std::uint8_t>(b[at] ^ 1U << dice_.below(8));
                break;
            case 1:
                b[at] = static_cast<std::uint8_t>(dice_.next());
                break;
            case 2:
                b[at] = odd[dice_.below(odd.size())];
                break;
            case 3:
                b[at] = static_cast<std::uint8_t>(b[at] + dice_.below(33) - 16);
                break;
            case 4:
                b.erase(place, place + static_cast<std::ptrdiff_t>(n));
                break;
            case 5: {  // inserts new bytes
                bytes more(1 + dice_.below(16));
                for (auto& m : more) m = static_cast<std::uint8_t>(dice_.next());
                b.insert(place, more.begin(), more.end());
                break;
            }
            case 6: {  // inserts a copy of a part elsewhere
                const bytes part(place, place + static_cast<std::ptrdiff_t>(n));
                b.insert(b.begin() + static_cast<std::ptrdiff_t>(dice_.below(b.size())),
                         part.begin(), part.end());
                break;
            }
            case 7: {  // copies a part over another one
                const std::size_t to = dice_.below(b.size() - n + 1);
                const bytes part(place, place + static_cast<std::ptrdiff_t>(n));
                std::copy(part.begin(), part.end(), b.begin() + static_cast<std::ptrdiff_t>(to));
                break;
            }
            case 8: {  // inserts a part of another input
                const bytes& other = kept_[dice_.below(kept_.size())];
                if (other.empty()) break;
                const std::size_t from = dice_.below(other.size());
                const std::size_t length = 1 + dice_.below(other.size() - from);
                const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
                b.insert(place, first, first + static_cast<std::ptrdiff_t>(length));
                break;
            }
            default: {  // joins its head and the tail of another input
                const bytes& other = kept_[dice_.below(kept_.size())];
                const std::size_t from = dice_.below(other.size());
                b.resize(at);
                b.insert(b.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
            }
        }
    }

    const options& options_;
    dice dice_;
    std::vector<bytes> kept_;
    std::array<std::uint8_t, map_size> seen_{};
    std::uint64_t runs_ = 0;
};

// All files of all places, in the order of their names.
std::vector<bytes> read_all(const std::vector<fs::path>& places) {
    std::vector<fs::path> files;
    for (const auto& p : places) {
        if (!fs::is_directory(p)) {
            files.push_back(p);
            continue;
        }
        std::vector<fs::path> here;
        for (const auto& f : fs::directory_iterator(p))
            if (f.is_regular_file()) here.push_back(f.path());
        std::sort(here.begin(), here.end());
        files.insert(files.end(), here.begin(), here.end());
    }
    std::vector<bytes> all;
    for (const auto& f : files) {
        std::ifstream in(f, std::ios::binary);
        all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    const options o = parse(argc, argv);
    artifact_prefix = o.artifacts;
    catch_deaths();
    const auto begun = std::chrono::steady_clock::now();
    static fuzzer f(o);
    auto given = read_all(o.places);
    if (o.merge) {
        f.corpus = o.places[0];
        std::ranges::stable_sort(given, {}, &bytes::size);
    }
    for (const auto& input : given)
        if (f.give(input) && o.merge) f.keep(input);
    std::printf("%zu given inputs run\n", given.size());
    if (o.runs > 0 || o.seconds > 0) {
        if (o.places.size() > 1 && fs::is_directory(o.places[0])) f.corpus = o.places[0];
        const auto end = o.seconds > 0 ? begun + std::chrono::seconds(o.seconds)
                                       : std::chrono::steady_clock::time_point::max();
        f.mutate_until(end, o.runs);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::printf("%llu runs in %.1f s, seed %llu: %zu inputs kept, %zu edges, nothing violated\n",
                static_cast<unsigned long long>(f.runs()), took.count(),
                static_cast<unsigned long long>(o.seed), f.kept(), f.edges_seen());
    return 0;
}
