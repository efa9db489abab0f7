// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/views/figure_rows.h"

#include <algorithm>
#include <utility>

namespace wip::gui {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// "a.b" -> {"a", "b"}
std::pair<std::string, std::string> first_step(const std::string& path) {
    const auto dot = path.find('.');
    if (dot == std::string::npos) return {path, ""};
    return {path.substr(0, dot), path.substr(dot + 1)};
}

bool is_there(const Message& m, const std::string& path) {
    const auto [step, rest] = first_step(path);
    const auto* field = m.GetDescriptor()->FindFieldByName(step);
    if (field == nullptr || field->is_repeated() || !m.GetReflection()->HasField(m, field))
        return false;
    return rest.empty() || is_there(m.GetReflection()->GetMessage(m, field), rest);
}

double number_of(const Message& m, const FieldDescriptor* field, int of_list) {
    const auto* r = m.GetReflection();
    switch (field->cpp_type()) {
#define WIP_NUMBER(TYPE, NAME)                                          \
    case FieldDescriptor::TYPE:                                         \
        return static_cast<double>(of_list < 0 ? r->Get##NAME(m, field) \
                                               : r->GetRepeated##NAME(m, field, of_list))
        WIP_NUMBER(CPPTYPE_DOUBLE, Double);
        WIP_NUMBER(CPPTYPE_FLOAT, Float);
        WIP_NUMBER(CPPTYPE_INT32, Int32);
        WIP_NUMBER(CPPTYPE_INT64, Int64);
        WIP_NUMBER(CPPTYPE_UINT32, UInt32);
        WIP_NUMBER(CPPTYPE_UINT64, UInt64);
        WIP_NUMBER(CPPTYPE_BOOL, Bool);
#undef WIP_NUMBER
        default:
            return 0;
    }
}

// False: a field on the way is not known.
bool add(const Message& m, const std::string& path, double& sum) {
    auto [step, rest] = first_step(path);
    const auto bracket = step.find('[');
    const bool counted = step.ends_with("[#]");
    const auto* field = m.GetDescriptor()->FindFieldByName(step.substr(0, bracket));
    if (field == nullptr) return false;
    const auto* r = m.GetReflection();
    if (bracket == std::string::npos) {
        if (!rest.empty()) return add(r->GetMessage(m, field), rest, sum);
        if (field->containing_oneof() != nullptr && !r->HasField(m, field)) return false;
        sum += number_of(m, field, -1);
        return true;
    }
    const int n = r->FieldSize(m, field);
    if (counted) sum += n;
    for (int i = 0; i < n && !counted; ++i) {
        if (rest.empty())
            sum += number_of(m, field, i);
        else
            add(r->GetRepeatedMessage(m, field, i), rest, sum);
    }
    return true;
}

bool applies(const config::key_figure& f, const Message& m) {
    return std::all_of(f.needs.begin(), f.needs.end(),
                       [&m](const std::string& path) { return is_there(m, path); });
}

}  // namespace

std::optional<double> value_of(const config::key_figure& f, const Message& from) {
    if (!applies(f, from)) return std::nullopt;
    double sum = 0;
    bool known = false;
    for (const auto& path : f.fields) known = add(from, path, sum) || known;
    return known ? std::optional(sum) : std::nullopt;
}

std::string row_words(const std::string& row, const messages_by_topic& latest) {
    std::string text;
    for (const auto& f : config::key_figures_of(row, "monitor")) {
        const auto at = latest.find(f.topic);
        const Message* m = at == latest.end() ? nullptr : at->second;
        if (m != nullptr && !applies(f, *m)) continue;
        if (!text.empty()) text += "  ";
        text += f.words(m == nullptr ? std::nullopt : value_of(f, *m));
    }
    return text;
}

}  // namespace wip::gui
