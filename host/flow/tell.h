// SPDX-License-Identifier: GPL-3.0-or-later
// The report of an end of a flow: lines of JSON of the form of `result` in flows.schema.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace wip::flow {

// A pipe keeps a line together that is not longer than this, bytes (PIPE_BUF).
constexpr std::size_t longest_line = 4096;
constexpr std::size_t longest_list = 3072;  // characters of a list in one line

// A call of the kernel's failed that an end cannot do without: machine_error, with errno.
[[noreturn]] void give_up(const std::string& what);

// The object in one line; bytes that are not UTF-8 are replaced.
std::string text_of(const nlohmann::json& line);

// x rounded to this number of digits behind the decimal point.
double rounded(double x, int digits);

// One end of a flow, which writes its results to a descriptor.
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

// A list that is written in parts, each before it is too long for a line.
class long_list {
public:
    long_list(const teller& to, const char* name) : to_(to), name_(name) {}
    void add(nlohmann::json entry);
    void finish();
    // Returns the entries that have not been written, to be a member of the end's last line.
    nlohmann::json rest();

private:
    const teller& to_;
    const char* name_;
    nlohmann::json entries_ = nlohmann::json::array();
    std::size_t characters_ = 0;
};

}  // namespace wip::flow
