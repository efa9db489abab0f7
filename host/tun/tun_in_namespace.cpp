// SPDX-License-Identifier: GPL-3.0-or-later
#include "tun/tun_in_namespace.h"

#include <optional>

#include "tun/network_namespace.h"

namespace wip {

tun_device make_tun_in(const std::string& network_namespace, const tun_settings& settings,
                       const std::string& key) {
    std::optional<tun_device> tun;
    in_network_namespace(network_namespace, key, [&] { tun.emplace(settings); });
    return std::move(*tun);
}

}  // namespace wip
