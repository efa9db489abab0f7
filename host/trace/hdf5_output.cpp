// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/hdf5_output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>

namespace wip::trace {

// HDF5 calls these as C functions; none of them throws.
struct hdf5_output_calls {
    struct opened {
        H5FD_t pub;  // HDF5's own part, which has to be the first
        hdf5_output* to;
        haddr_t end;  // bytes that HDF5 has allocated
    };

    static opened& of(H5FD_t* file) { return *reinterpret_cast<opened*>(file); }
    static const opened& of(const H5FD_t* file) { return *reinterpret_cast<const opened*>(file); }

    static H5FD_t* open(const char*, unsigned, hid_t access, haddr_t) {
        const auto* to = static_cast<hdf5_output* const*>(H5Pget_driver_info(access));
        auto* made = to ? new (std::nothrow) opened{} : nullptr;
        if (made) made->to = *to;
        return made ? &made->pub : nullptr;
    }
    static herr_t close(H5FD_t* file) {
        delete &of(file);
        return 0;
    }
    static herr_t query(const H5FD_t*, unsigned long* flags) {
        *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
                 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
                 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
        return 0;
    }
    static haddr_t get_eoa(const H5FD_t* file, H5FD_mem_t) { return of(file).end; }
    static herr_t set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t end) {
        of(file).end = end;
        return 0;
    }
    static haddr_t get_eof(const H5FD_t* file, H5FD_mem_t) { return of(file).to->size_; }

    static herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size, void* buffer) {
        auto* bytes = static_cast<char*>(buffer);
        while (size > 0) {
            const ssize_t n = ::pread(of(file).to->fd_, bytes, size, static_cast<off_t>(at));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return -1;
            if (n == 0) {  // HDF5 reads zeros behind the end
                std::memset(bytes, 0, size);
                return 0;
            }
            bytes += n;
            at += static_cast<haddr_t>(n);
            size -= static_cast<size_t>(n);
        }
        return 0;
    }
    static herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t at, size_t size,
                        const void* buffer) {
        hdf5_output& to = *of(file).to;
        const auto* bytes = static_cast<const char*>(buffer);
        to.size_ = std::max(to.size_, at + size);
        while (size > 0 && to.error_ == 0) {
            const ssize_t n = ::pwrite(to.fd_, bytes, size, static_cast<off_t>(at));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
                to.error_ = n < 0 ? errno : EIO;
                break;
            }
            bytes += n;
            at += static_cast<haddr_t>(n);
            size -= static_cast<size_t>(n);
        }
        return 0;
    }
    static herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
        hdf5_output& to = *of(file).to;
        to.size_ = of(file).end;
        if (to.error_ == 0 && ::ftruncate(to.fd_, static_cast<off_t>(to.size_)) != 0)
            to.error_ = errno;
        return 0;
    }

    static H5FD_class_t driver() {
        static constexpr H5FD_mem_t lists[] = H5FD_FLMAP_DICHOTOMY;
        H5FD_class_t c{};
#ifdef H5FD_CLASS_VERSION  // HDF5 1.13 and later
        c.version = H5FD_CLASS_VERSION;
        c.value = static_cast<H5FD_class_value_t>(512);  // the first that is not HDF5's own
#endif
        c.name = "openwip-output";
        c.maxaddr = static_cast<haddr_t>(std::numeric_limits<off_t>::max());
        c.fc_degree = H5F_CLOSE_WEAK;
        c.fapl_size = sizeof(hdf5_output*);
        c.open = open;
        c.close = close;
        c.query = query;
        c.get_eoa = get_eoa;
        c.set_eoa = set_eoa;
        c.get_eof = get_eof;
        c.read = read;
        c.write = write;
        c.truncate = truncate;
        std::copy(std::begin(lists), std::end(lists), std::begin(c.fl_map));
        return c;
    }
};

hdf5_output::~hdf5_output() {
    if (fd_ >= 0) ::close(fd_);
}

hdf5_handle hdf5_output::create() {
    static const H5FD_class_t calls = hdf5_output_calls::driver();
    driver_ = {H5FDregister(&calls), H5FDunregister};
    const hdf5_handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    const hdf5_output* const to = this;
    if (!driver_ || !access || H5Pset_driver(access, driver_, &to) < 0) return {};
    return {H5Fcreate("output", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose};
}

}  // namespace wip::trace
