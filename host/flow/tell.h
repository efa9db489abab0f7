// SPDX-License-Identifier: GPL-3.0-or-later
// The report of an end of a flow: lines of JSON of the form of `result` in flows.schema.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wip::flow {

// A pipe keeps what is not longer than this (PIPE_BUF) together.
constexpr std::size_t longest_line = 4096;
constexpr std::size_t longest_list = 3072;  // of one line, characters

// A call of the kernel's failed that an end cannot do without: machine_error, with errno.
[[noreturn]] void give_up(const std::string& what);

// In one line; bytes that are no text are replaced.
std::string text_of(const nlohmann::json& line);

// With so many digits behind the point.
double rounded(double x, int digits);

// One end of a flow, which tells into a descriptor.
class teller {
public:
    teller(int out, int flow, std::string end) : out_(out), flow_(flow), end_(std::move(end)) {}

    // The last line of the end.
    void say(nlohmann::json what) const;
    // Lines before the last one; the lists of all are one list.
    void say_part(nlohmann::json what) const;
    void say_failed(const std::string& why) const;

private:
    int out_, flow_;
    std::string end_;

    void write_line(const nlohmann::json& line) const;
};

// A list that is told in parts, each before it is too long for a line.
class long_list {
public:
    long_list(const teller& to, const char* name) : to_(to), name_(name) {}
    void add(nlohmann::json entry);
    void finish();
    // Without a line of its own for what is left, which is the member of the last line.
    nlohmann::json rest();

private:
    const teller& to_;
    const char* name_;
    nlohmann::json entries_ = nlohmann::json::array();
    std::size_t characters_ = 0;
};

}  // namespace wip::flow
