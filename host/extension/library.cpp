// SPDX-License-Identifier: GPL-3.0-or-later
#include "extension/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

#include "extension/trusted_file.h"
#include "types/not_valid.h"

namespace wip::extension {
namespace {

namespace fs = std::filesystem;

constexpr const char* entry_point = "openwip_extension";

bad_input refusal(const std::string& key, const std::string& value, const std::string& why) {
    return bad_input(key + " is " + value + ": " + why);
}

// The folder of the file with this code: the program, or the library of blocks.
fs::path own_folder() {
    Dl_info here{};
    std::error_code error;
    if (::dladdr(reinterpret_cast<const void*>(&own_folder), &here) == 0) return {};
    fs::path found = fs::canonical(here.dli_fname, error);
    if (error) found = fs::read_symlink("/proc/self/exe", error);
    return found.parent_path();
}

// The library of ours that runs Python: beside the programs of an installation, or in the build.
std::string python_library() {
    const fs::path here = own_folder();
    for (const fs::path& folder : {here, here / "openwip", here / "../openwip",
                                   here / "../../openwip", fs::path(OPENWIP_PYTHON_FOLDER)}) {
        const fs::path file = folder / OPENWIP_PYTHON_LIBRARY;
        std::error_code error;
        if (fs::exists(file, error)) return file.lexically_normal().string();
    }
    return {};
}

}  // namespace

void check_file(const std::string& key, const std::string& value) {
    const auto name = read_extension_name(value);
    if (!name) throw bad_input(not_valid(key, value, valid_extension));
    if (const auto why = why_not_loaded(name->file); !why.empty()) throw refusal(key, value, why);
    if (name->python && python_library().empty())
        throw refusal(key, value,
                      "this build cannot run Python; valid: library:FILE, or a build with "
                      "pybind11-dev and python3-dev");
}

library::library(const std::string& key, const std::string& value) : key_(key), value_(value) {
    check_file(key, value);
    const extension_name name = *read_extension_name(value);
    // A name with a folder in it is looked for there and nowhere else.
    const std::string file =
        name.python ? python_library() : fs::absolute(name.file).lexically_normal().string();
    argument_ = name.python ? name.file + ":" + name.argument : name.argument;
    void* loaded = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (loaded == nullptr) throw refuse(std::string("it cannot be loaded: ") + ::dlerror());
    // Stays loaded: threads and objects of its own may outlive what is used of it here.
    handle_ = std::shared_ptr<void>(loaded, [](void*) {});
    using entry = const openwip_extension_table* (*)();
    const auto ask = reinterpret_cast<entry>(::dlsym(loaded, entry_point));
    if (ask == nullptr)
        throw refuse(file + " has no function " + entry_point +
                     "(); valid: a library made with openwip/extension.h");
    table_ = ask();
    if (table_ == nullptr)
        throw refuse(std::string(entry_point) +
                     "() returned no table; valid: a library made with openwip/extension.h");
    if (table_->abi != OPENWIP_EXTENSION_ABI || table_->size != sizeof(openwip_extension_table))
        throw refuse(file + " was made for version " + std::to_string(table_->abi) +
                     " of openwip/extension.h with a table of " + std::to_string(table_->size) +
                     " bytes; valid here: version " + std::to_string(OPENWIP_EXTENSION_ABI) +
                     " with " + std::to_string(sizeof(openwip_extension_table)) +
                     " bytes: compile it again");
}

bad_input library::refuse(const std::string& why) const { return refusal(key_, value_, why); }

}  // namespace wip::extension
