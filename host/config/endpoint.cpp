// SPDX-License-Identifier: GPL-3.0-or-later
#include "config/endpoint.h"

#include <cctype>
#include <cstdlib>

namespace wip::config {
namespace {

constexpr std::size_t longest_socket_path = 107;  // sockaddr_un

bool check_path(std::string_view path) {
    return !path.empty() && path.front() != '@' && path.size() <= longest_socket_path;
}

bool check_port(std::string_view text) {
    if (text.empty() || text.size() > 5) return false;
    int value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return false;
        value = value * 10 + (c - '0');
    }
    return value >= 1 && value <= 65535;
}

// A name, an IPv4 address or an IPv6 address in brackets.
bool check_host(std::string_view text) {
    const bool brackets = text.starts_with('[') && text.ends_with(']');
    if (brackets) text = text.substr(1, text.size() - 2);
    if (text.empty()) return false;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-' &&
            !(brackets && (c == ':' || c == '%')))
            return false;
    return true;
}

std::string run_folder() {
    const char* run = std::getenv("OPENWIP_RUN");
    return run != nullptr && *run != '\0' ? run : "/run/openwip";
}

}  // namespace

// Every user of a machine reaches its ports, so nothing listens on TCP without keys, nor on the
// loopback; a socket in the file system has an owner and a mode.
std::string check_endpoint(std::string_view text) {
    return text.starts_with("ipc://") && check_path(text.substr(6))
               ? ""
               : "ipc://PATH (at most 107 bytes; RUN/ at its start is $OPENWIP_RUN)";
}

std::string check_line_endpoint(std::string_view text) {
    if (text.starts_with("shm://") && check_path(text.substr(6))) return {};
    const std::string rule = check_endpoint(text);
    return rule.empty() ? rule : "shm://PATH, " + rule;
}

std::string check_uplink_endpoint(std::string_view text) {
    const std::string rule = check_line_endpoint(text);
    constexpr std::string_view scheme = "tcp://";
    const auto colon = text.rfind(':');
    if (rule.empty() || !text.starts_with(scheme) || colon < scheme.size())
        return rule.empty() ? rule : rule + " or tcp://ADDRESS:PORT with keys";
    const auto host = text.substr(scheme.size(), colon - scheme.size());
    return check_host(host) && check_port(text.substr(colon + 1)) ? std::string()
                                                                  : "tcp://ADDRESS:PORT";
}

std::string check_endpoint_or_none(std::string_view text) {
    return text.empty() ? std::string() : check_endpoint(text);
}

std::string check_word(std::string_view text) {
    const std::string rule = "1..32 letters, digits, '-', '_' or '.'";
    if (text.empty() || text.size() > 32) return rule;
    for (const char c : text)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.')
            return rule;
    return {};
}

std::string check_namespace(std::string_view text) {
    if (text.find('/') != std::string_view::npos || text.size() > 64)
        return "a name of `ip netns`, or empty";
    return {};
}

std::string check_folder_or_none(std::string_view text) {
    return text.empty() || text.front() == '/' ? "" : "a folder, from / on, or empty";
}

void fill_in_run_folder(settings& s) {
    for (const auto& k : s.keys()) {
        if (!k.endpoint) continue;
        const std::string& text = s.text(k.path);
        if (text.find("://RUN/") == 3)
            s.replace(k.path, text.substr(0, 6) + run_folder() + text.substr(9));
    }
}

}  // namespace wip::config
