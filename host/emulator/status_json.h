// SPDX-License-Identifier: GPL-3.0-or-later
// A message of the schema as JSON, for runs that end on standard output.
#pragma once

#include <google/protobuf/util/json_util.h>

#include <string>

namespace wip::emulator {

inline std::string to_json(const google::protobuf::Message& m) {
    std::string text;
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    const auto status = google::protobuf::util::MessageToJsonString(m, &text, options);
    return status.ok() ? text : "null";
}

}  // namespace wip::emulator
