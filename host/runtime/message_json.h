// SPDX-License-Identifier: GPL-3.0-or-later
// A message of the schema as a part of JSON that a program writes.
#pragma once

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>
#include <string>

namespace wip::host {

inline nlohmann::json to_json(const google::protobuf::Message& m) {
    std::string text;
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    const auto status = google::protobuf::util::MessageToJsonString(m, &text, options);
    return status.ok() ? nlohmann::json::parse(text) : nlohmann::json();
}

}  // namespace wip::host
