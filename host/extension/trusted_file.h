// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a process may run the code that a file holds.
#pragma once

#include <string>

namespace wip::extension {

// Empty when `path` is a regular file that may be loaded; else what is wrong, with what is valid.
//
// A process of root's loads code of root's or of the user who called sudo, and nobody else may be
// able to change it: neither the file nor a folder on the way to it is another user's, or writable
// for others (a folder with the sticky bit, such as /tmp, may be: nobody replaces another user's
// file there). Who is not root runs with the rights that he has anyway.
std::string why_not_loaded(const std::string& path);

}  // namespace wip::extension
