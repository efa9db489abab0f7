// SPDX-License-Identifier: GPL-3.0-or-later
// Registers the device with UHD. This code runs in every UHD program that has the module in its
// path, so it does nothing else, and finds no device unless the arguments have type=vusrp. Device
// arguments: docs/explanation/software-usrp.md.
#include <uhd/device.hpp>
#include <uhd/utils/static.hpp>

#include "vusrp/device.h"

namespace {

uhd::device_addrs_t find(const uhd::device_addr_t& hint) {
    if (hint.get("type", "") != "vusrp") return {};
    // UHD keeps one device object for equal find results: the serial number tells radios apart.
    const std::string air = hint.get("air", "");
    const std::string serial =
        air.empty() ? hint.get("node", "loopback") : air + "." + wip::vusrp::node_of(hint);
    if (hint.has_key("serial") && hint["serial"] != serial) return {};
    uhd::device_addr_t found = hint;
    found["type"] = "vusrp";
    found["name"] = hint.get("name", "");
    found["serial"] = serial;
    found["product"] = hint.get("product", "VUSRP");
    return {found};
}

uhd::device::sptr make(const uhd::device_addr_t& args) {
    return std::make_shared<wip::vusrp::device>(args);
}

}  // namespace

UHD_STATIC_BLOCK(register_vusrp) { uhd::device::register_device(&find, &make, uhd::device::USRP); }
