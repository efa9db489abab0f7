// SPDX-License-Identifier: GPL-3.0-or-later
#include "peer/curve_keys.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <zmq.hpp>

#include "peer/endpoint.h"
#include "types/failure.h"
#include "types/file_text.h"

namespace wip::peer {
namespace {

constexpr std::size_t key_letters = 40;

bool is_key(const std::string& text) {
    std::array<std::uint8_t, 32> binary{};
    return text.size() == key_letters && zmq_z85_decode(binary.data(), text.c_str()) != nullptr;
}

// The key in the line of a key file that begins with `name`.
std::string field_of(const std::string& file, const std::string& name) {
    if (!std::ifstream(file))
        throw bad_input(file + ": " + std::strerror(errno) +
                        "; valid: a key file of ./openwip keys DIR");
    std::istringstream in(file_text(file));
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string first, value;
        if (words >> first >> value && first == name && is_key(value)) return value;
    }
    throw bad_input(file + ": is no key file; valid: a file with a line `" + name +
                    " KEY`, 40 characters");
}

}  // namespace

curve_keys read_curve_keys(const std::string& folder, end which) {
    const bool server = which == end::bind;
    const std::string own = folder + (server ? "/server.key" : "/client.key");
    struct stat info {};
    if (::stat(own.c_str(), &info) == 0 && (info.st_mode & 077) != 0)
        throw bad_input(own + ": others may read it; valid: mode 0600");
    return {field_of(own, "public-key:"), field_of(own, "secret-key:"),
            field_of(folder + (server ? "/client.public" : "/server.public"), "public-key:")};
}

}  // namespace wip::peer
