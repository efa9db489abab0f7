// SPDX-License-Identifier: GPL-3.0-or-later
// Runs random worlds, each from its own seed, and looks for a violated invariant. The first world
// has the seed --seed, the next one more; so a world that violates runs alone with its number as
// --seed and --worlds 1. It is made smaller first: settings are left out one after the other as
// long as something is still violated, and what is left is printed with the call that repeats it.
//
//   random_worlds [--kind cell|users|emulated|relay] [--worlds N] [--seed S] [--without NAME,...]
//
// Exit code 0: nothing violated; 1: something was; 2: wrong arguments.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "drawn_world.h"
#include "mac_scope.h"

namespace {

// In front of every block of memory is its size, negative when the MAC has allocated it.
constexpr std::size_t tag_bytes = 64;
std::atomic<std::int64_t> held_by_mac{0};

void* tagged_new(std::size_t n, std::size_t alignment) {
    auto* block = static_cast<char*>(std::aligned_alloc(
        std::max(tag_bytes, alignment), (n + tag_bytes + alignment + 63) / 64 * 64));
    if (block == nullptr || alignment > tag_bytes) throw std::bad_alloc();
    const auto size = static_cast<std::int64_t>(n);
    *reinterpret_cast<std::int64_t*>(block) = wip::sim::inside_mac ? -size : size;
    if (wip::sim::inside_mac) held_by_mac += size;
    return block + tag_bytes;
}

void tagged_delete(void* p) {
    if (p == nullptr) return;
    char* block = static_cast<char*>(p) - tag_bytes;
    const std::int64_t size = *reinterpret_cast<std::int64_t*>(block);
    if (size < 0) held_by_mac += size;
    std::free(block);
}

}  // namespace

// clang-format off
void* operator new(std::size_t n) { return tagged_new(n, 1); }
void* operator new[](std::size_t n) { return tagged_new(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return tagged_new(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return tagged_new(n, std::size_t(a)); }
// The library's own call the ones above, but a sanitizer's do not: what they give would be without a tag.
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return tagged_new(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return tagged_new(n, 1); }
void operator delete(void* p, const std::nothrow_t&) noexcept { tagged_delete(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { tagged_delete(p); }
void operator delete(void* p) noexcept { tagged_delete(p); }
void operator delete[](void* p) noexcept { tagged_delete(p); }
void operator delete(void* p, std::size_t) noexcept { tagged_delete(p); }
void operator delete[](void* p, std::size_t) noexcept { tagged_delete(p); }
void operator delete(void* p, std::align_val_t) noexcept { tagged_delete(p); }
void operator delete[](void* p, std::align_val_t) noexcept { tagged_delete(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { tagged_delete(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { tagged_delete(p); }
// clang-format on

namespace {
using namespace wip::sim;

// The violation of this world; empty: none.
std::string violation(const world_kind& kind, std::uint64_t seed, const name_set& without,
                      world_kind::totals* totals = nullptr) {
    try {
        const auto t = kind.run(seed, without);
        if (totals != nullptr) {
            totals->slots += t.slots;
            totals->delivered += t.delivered;
            totals->damaged += t.damaged;
            totals->altered_headers += t.altered_headers;
            totals->dropped += t.dropped;
        }
        return {};
    } catch (const std::exception& e) {
        return e.what();
    }
}

std::string join(const name_set& names) {
    std::string all;
    for (const auto& n : names) all += (all.empty() ? "" : ",") + n;
    return all;
}

void report(const world_kind& kind, std::uint64_t seed, name_set without, std::string what) {
    std::printf("VIOLATED: %s world %llu: %s\n  %s\n", kind.name.c_str(),
                static_cast<unsigned long long>(seed), what.c_str(),
                kind.text(seed, without).c_str());
    for (bool smaller = true; smaller;) {
        smaller = false;
        for (const auto& name : kind.settings(seed, without)) {
            name_set fewer = without;
            fewer.insert(name);
            const std::string still = violation(kind, seed, fewer);
            if (still.empty()) continue;
            without = fewer;
            what = still;
            smaller = true;
        }
    }
    std::printf("  smallest: %s\n  %s\n  again: random_worlds --kind %s --worlds 1 --seed %llu",
                what.c_str(), kind.text(seed, without).c_str(), kind.name.c_str(),
                static_cast<unsigned long long>(seed));
    std::printf(without.empty() ? "\n" : " --without %s\n", join(without).c_str());
    std::fflush(stdout);
}

struct options {
    std::uint64_t worlds = 100, seed = 1;
    std::string kind;  // empty: all kinds
    name_set without;
};

std::uint64_t number(const std::string& key, const std::string& text) {
    std::size_t end = 0;
    std::uint64_t value = 0;
    try {
        value = std::stoull(text, &end);
    } catch (const std::exception&) {
    }
    if (end != text.size() || text.empty() || text[0] == '-')
        throw std::invalid_argument(key + " " + text + ": must be a number of 0 or more");
    return value;
}

options parse(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; i += 2) {
        const std::string key = argv[i];
        if (i + 1 >= argc) throw std::invalid_argument(key + ": a value is missing");
        const std::string value = argv[i + 1];
        if (key == "--worlds") {
            o.worlds = number(key, value);
        } else if (key == "--seed") {
            o.seed = number(key, value);
        } else if (key == "--kind") {
            o.kind = value;
        } else if (key == "--without") {
            for (std::size_t from = 0; from <= value.size();) {
                const std::size_t to = std::min(value.find(',', from), value.size());
                o.without.insert(value.substr(from, to - from));
                from = to + 1;
            }
        } else {
            throw std::invalid_argument(key + ": must be --kind, --worlds, --seed or --without");
        }
    }
    return o;
}

}  // namespace

int main(int argc, char** argv) {
    mac_memory = [] { return held_by_mac.load(); };
    try {
        const options o = parse(argc, argv);
        bool found = false, known = false;
        for (const auto& kind : {cell_worlds(), user_worlds(), emulated_worlds(), relay_worlds()}) {
            if (!o.kind.empty() && o.kind != kind.name) continue;
            known = true;
            world_kind::totals sum;
            std::uint64_t violated = 0;
            for (std::uint64_t seed = o.seed; seed < o.seed + o.worlds; ++seed) {
                const std::string what = violation(kind, seed, o.without, &sum);
                if (what.empty()) continue;
                report(kind, seed, o.without, what);
                ++violated;
            }
            found = found || violated > 0;
            std::printf(
                "%s: %llu worlds from seed %llu, %llu violated; %llu slots, %llu packets intact, "
                "%llu damaged (%llu with errors that the header checksum misses), %llu frames "
                "given up\n",
                kind.name.c_str(), static_cast<unsigned long long>(o.worlds),
                static_cast<unsigned long long>(o.seed), static_cast<unsigned long long>(violated),
                static_cast<unsigned long long>(sum.slots),
                static_cast<unsigned long long>(sum.delivered),
                static_cast<unsigned long long>(sum.damaged),
                static_cast<unsigned long long>(sum.altered_headers),
                static_cast<unsigned long long>(sum.dropped));
        }
        if (!known)
            throw std::invalid_argument("--kind " + o.kind +
                                        ": must be cell, users, emulated or relay");
        return found ? 1 : 0;
    } catch (const std::invalid_argument& e) {
        std::fprintf(stderr, "random_worlds: %s\n", e.what());
        return 2;
    }
}
