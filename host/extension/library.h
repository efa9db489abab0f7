// SPDX-License-Identifier: GPL-3.0-or-later
// The one way by which a user's code gets into a process: a shared library that has the function
// openwip_extension() of openwip/extension.h. A Python class is loaded by a library of ours that
// has it, too (python_rules.cpp), so that all that follows is the same for both.
#pragma once

#include <openwip/extension.h>

#include <memory>
#include <string>

#include "types/extension_name.h"
#include "types/failure.h"

namespace wip::extension {

// The file of the setting `key` may be loaded. Throws bad_input naming key, value and what is
// valid.
void check_file(const std::string& key, const std::string& value);

class library {
public:
    // Loads it, or takes the one that is loaded already. `key`, `value`: the setting, for error
    // texts. Throws bad_input.
    library(const std::string& key, const std::string& value);

    const openwip_extension_table& table() const { return *table_; }
    // The argument for the functions of the library; for the one that runs Python it is FILE:CLASS,
    // by which that finds the file.
    const char* argument() const { return argument_.c_str(); }
    const std::string& key() const { return key_; }
    const std::string& value() const { return value_; }
    bad_input refuse(const std::string& why) const;

private:
    std::string key_, value_, argument_;
    std::shared_ptr<void> handle_;
    const openwip_extension_table* table_ = nullptr;
};

}  // namespace wip::extension
