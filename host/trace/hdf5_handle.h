// SPDX-License-Identifier: GPL-3.0-or-later
// An HDF5 identifier that is closed once, with the function that closes its kind.
#pragma once

#include <hdf5.h>

#include <utility>

namespace wip::trace {

class hdf5_handle {
public:
    using close_fn = herr_t (*)(hid_t);
    hdf5_handle() = default;
    hdf5_handle(hid_t id, close_fn close) : id_(id), close_(close) {}
    hdf5_handle(hdf5_handle&& other) noexcept
        : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
    hdf5_handle& operator=(hdf5_handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    hdf5_handle(const hdf5_handle&) = delete;
    hdf5_handle& operator=(const hdf5_handle&) = delete;
    ~hdf5_handle() { reset(); }
    // False if closing failed: for a file that is being written, that data did not reach it.
    bool reset() { return id_ < 0 || close_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }
    operator hid_t() const { return id_; }
    explicit operator bool() const { return id_ >= 0; }

private:
    hid_t id_ = H5I_INVALID_HID;
    close_fn close_ = nullptr;
};

}  // namespace wip::trace
