// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/remote_cell.h"

#include <charconv>
#include <iterator>
#include <sstream>

#include "types/failure.h"
#include "types/file_text.h"

namespace wip::gui {
namespace {

constexpr int nof_forwarded = static_cast<int>(std::size(forwarded));

bool is_key(const std::string& text) {
    std::uint8_t bytes[32];
    return text.size() == 40 && zmq_z85_decode(bytes, text.c_str()) != nullptr;
}

// Lines `public-key: KEY` and `secret-key: KEY`.
void read_key_file(const std::string& path, std::string& public_key, std::string* secret_key) {
    std::istringstream file(file_text(path));
    std::string name, value;
    while (file >> name >> value) {
        if (name == "public-key:") public_key = value;
        if (name == "secret-key:" && secret_key != nullptr) *secret_key = value;
    }
    if (!is_key(public_key) || (secret_key != nullptr && !is_key(*secret_key)))
        throw bad_input(path + ": is no key file; valid: lines public-key: KEY" +
                        (secret_key != nullptr ? " and secret-key: KEY" : "") +
                        ", 40 characters each");
}

[[noreturn]] void refuse(const char* option, const std::string& word) {
    throw bad_input(std::string(option) + " is '" + word +
                    "'; valid: tcp://HOST:PORT of a cell that listens, or SOURCE=tcp://HOST:PORT "
                    "or SOURCE=ipc://PATH for each of its sockets");
}

bool is_endpoint(const std::string& text) {
    return text.starts_with("tcp://") || text.starts_with("ipc://");
}

std::map<std::string, std::string> named(const std::vector<std::string>& words,
                                         const char* option) {
    std::map<std::string, std::string> found;
    for (const auto& w : words) {
        const auto equal = w.find('=');
        if (equal == std::string::npos || equal == 0 || !is_endpoint(w.substr(equal + 1)))
            refuse(option, w);
        if (!found.emplace(w.substr(0, equal), w.substr(equal + 1)).second)
            throw bad_input(std::string(option) + " names the source '" + w.substr(0, equal) +
                            "' twice; valid: once");
    }
    return found;
}

void use_forwarder(const std::string& word, session_options& options) {
    const auto colon = word.rfind(':');
    const char* first = word.data() + colon + 1;
    const char* last = word.data() + word.size();
    int port = 0;
    const auto [end, failed] = std::from_chars(first, last, port);
    if (failed != std::errc() || end != last || colon <= 6 || port < 1 ||
        port + nof_forwarded - 1 > 65535)
        refuse("--connect", word);
    for (const auto& socket : forwarded) {
        auto& list = socket.telemetry ? options.telemetry : options.control;
        list[socket.source] = word.substr(0, colon + 1) + std::to_string(port++);
    }
}

}  // namespace

void use_endpoints(const std::vector<std::string>& connect, const std::vector<std::string>& control,
                   session_options& options) {
    if (connect.size() == 1 && connect[0].starts_with("tcp://") &&
        connect[0].find('=') == std::string::npos)
        use_forwarder(connect[0], options);
    else
        options.telemetry = named(connect, "--connect");
    for (const auto& [source, endpoint] : named(control, "--control"))
        options.control[source] = endpoint;
}

curve_keys read_keys(const std::string& folder, const std::string& server_key,
                     const std::string& key_file) {
    curve_keys keys;
    if (!folder.empty()) {
        if (!server_key.empty() || !key_file.empty())
            throw bad_input(
                "--keys is given with --server-key or --key-file; valid: --keys, or the other two");
        read_key_file(folder + "/server.public", keys.server_public, nullptr);
        read_key_file(folder + "/client.key", keys.own_public, &keys.own_secret);
        return keys;
    }
    if (server_key.empty() != key_file.empty())
        throw bad_input("only one of --server-key and --key-file is given; valid: both");
    if (server_key.empty()) return keys;
    if (!is_key(server_key))
        throw bad_input("--server-key is '" + server_key + "'; valid: 40 characters (Z85)");
    keys.server_public = server_key;
    read_key_file(key_file, keys.own_public, &keys.own_secret);
    return keys;
}

}  // namespace wip::gui
