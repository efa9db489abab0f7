// SPDX-License-Identifier: GPL-3.0-or-later
// SNR traces from anywhere. What libhdf5 makes of a damaged file is kept from a cell by a child
// process (trace/confined_trace.h, tests/system/test_confined_trace.py); here it is the reader's
// own judgement: files that HDF5 writes and that are no traces, or not quite. The input says which
// attributes and datasets there are, of what type, size and value, starting from a trace that is
// right. A file is refused in one line that names it, or everything that is read from it is valid.
#include <hdf5.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "fuzz_input.h"
#include "trace/hdf5_handle.h"
#include "trace/trace_file.h"

using namespace wip;
using namespace wip::fuzz;
using trace::hdf5_handle;

namespace {

constexpr hsize_t most_rows = 64;
const std::string called = "seed.h5";

// A value as a fuzzer likes it: odd ones as often as others.
double draw_real(fuzz_input& in) {
    constexpr std::array odd{0.0, -0.0, -60.0, 80.0, 80.1, -61.0, 1e308, -1e308, 1e-310};
    const int kind = in.u8();
    if (kind < 40) return odd[static_cast<std::size_t>(kind) % odd.size()];
    if (kind < 50) return std::numeric_limits<double>::quiet_NaN();
    if (kind < 60) return std::numeric_limits<double>::infinity();
    return in.u8() / 4.0 - 20;
}

void write(hid_t where, const char* key, hid_t type, hid_t space, const void* value) {
    const hdf5_handle a(H5Acreate2(where, key, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    H5Awrite(a, type, value);
}

// An attribute of a type, shape and value that may be right.
void write_odd(fuzz_input& in, hid_t where, const char* key) {
    const hsize_t many = static_cast<hsize_t>(in.in(0, 3));
    const hdf5_handle space(in.flag() ? H5Screate_simple(1, &many, nullptr) : H5Screate(H5S_SCALAR),
                            H5Sclose);
    switch (in.in(0, 4)) {
        case 0: {
            const std::array<std::int64_t, 4> v{static_cast<std::int64_t>(in.u64()), 1, 1, 1};
            write(where, key, H5T_NATIVE_INT64, space, v.data());
            return;
        }
        case 1: {
            const std::array<double, 4> v{draw_real(in), 1, 1, 1};
            write(where, key, H5T_NATIVE_DOUBLE, space, v.data());
            return;
        }
        case 2: {
            const hdf5_handle type(H5Tcopy(H5T_C_S1), H5Tclose);
            const std::size_t n = 1 + in.u8() % 40U;
            H5Tset_size(type, n);
            H5Tset_strpad(type, in.flag() ? H5T_STR_NULLPAD : H5T_STR_NULLTERM);
            std::string v = in.text(n);
            v.resize(4 * n);
            write(where, key, type, space, v.data());
            return;
        }
        case 3: {
            const hdf5_handle type(H5Tcopy(H5T_C_S1), H5Tclose);
            H5Tset_size(type, H5T_VARIABLE);
            const std::string v = in.text(in.u8() % 40U);
            const char* none = nullptr;
            const std::array<const char*, 4> texts{in.flag() ? v.c_str() : none, "", "", ""};
            write(where, key, type, space, texts.data());
            return;
        }
        default: {
            const std::uint8_t v[4] = {in.u8(), 0, 0, 0};
            write(where, key, H5T_NATIVE_UINT8, space, v);
        }
    }
}

void write_text(hid_t where, const char* key, const std::string& value) {
    const hdf5_handle type(H5Tcopy(H5T_C_S1), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
    H5Tset_size(type, value.size() + 1);
    write(where, key, type, space, value.c_str());
}
template <class Number>
void write_number(hid_t where, const char* key, hid_t type, Number value) {
    const hdf5_handle space(H5Screate(H5S_SCALAR), H5Sclose);
    write(where, key, type, space, &value);
}

// The fault of the file: a place of it, by number; 0: none.
class oddness {
public:
    explicit oddness(fuzz_input& in) : in_(in), which_{in.u8(), in.u8()} {}
    // Whether the next place is odd; then it is missing, or has the content of the input.
    bool here(hid_t where, const char* key) {
        ++place_;
        if (which_[0] % 32 != place_ && which_[1] % 32 != place_) return false;
        if (!in_.flag()) write_odd(in_, where, key);
        return true;
    }
    bool here() { return ++place_ == which_[0] % 32 || which_[1] % 32 == place_; }

private:
    fuzz_input& in_;
    std::array<int, 2> which_;
    int place_ = 0;
};

hdf5_handle write_data(fuzz_input& in, oddness& odd, hid_t file, const char* key, hsize_t rows) {
    std::array<hsize_t, 3> size{rows, nof_bins, 1};
    int dimensions = 2;
    hid_t type = H5T_NATIVE_FLOAT;
    if (odd.here()) {
        size[0] = in.u8() % (most_rows + 1);
        size[1] = in.u8() % 40U;
        dimensions = in.in(1, 3);
    }
    if (odd.here()) type = in.flag() ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT32;
    const hdf5_handle space(H5Screate_simple(dimensions, size.data(), nullptr), H5Sclose);
    hdf5_handle data(H5Dcreate2(file, key, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Dclose);
    std::vector<float> values(size[0] * std::max<hsize_t>(size[1], 1), 12.5F);
    for (int n = in.in(0, 3); n > 0 && !values.empty(); --n)
        values[in.u16() % values.size()] = static_cast<float>(draw_real(in));
    if (dimensions != 3 && dimensions != 1) {
        const hid_t memory = H5T_NATIVE_FLOAT;
        if (data) H5Dwrite(data, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    }
    return data;
}

std::vector<std::byte> draw_file(fuzz_input& in) {
    const hdf5_handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_core(access, 1 << 14, 0);
    const hdf5_handle file(H5Fcreate(called.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
    oddness odd(in);
    const auto text = [&](hid_t where, const char* key, const char* value) {
        if (!odd.here(where, key)) write_text(where, key, value);
    };
    const auto integer = [&](hid_t where, const char* key, std::int64_t value) {
        if (!odd.here(where, key)) write_number(where, key, H5T_NATIVE_INT64, value);
    };
    const auto real = [&](hid_t where, const char* key, double value) {
        if (!odd.here(where, key)) write_number(where, key, H5T_NATIVE_DOUBLE, value);
    };
    text(file, "format", trace::format_name);
    integer(file, "version", trace::format_version);
    integer(file, "slots_per_second", slots_per_second);
    integer(file, "bins", nof_bins);
    text(file, "channel", "flat");
    text(file, "definition", "name: flat");
    integer(file, "seed", 1);
    real(file, "mean_snr_db", 16);
    real(file, "speed_kmh", 30);
    real(file, "carrier_hz", 1.8e9);
    text(file, "software", "openwip");
    const hsize_t rows = static_cast<hsize_t>(in.in(1, 20));
    if (!odd.here()) write_data(in, odd, file, "snr_db", rows);
    if (in.flag()) {
        const auto data = write_data(in, odd, file, "predicted_snr_db", rows);
        if (data) {
            integer(data, "horizon_slots", 3);
            text(data, "method", "nmse");
            real(data, "nmse", 0.1);
            real(data, "measured_nmse", 0.1);
        }
    }
    H5Fflush(file, H5F_SCOPE_LOCAL);
    std::vector<std::byte> image(
        static_cast<std::size_t>(std::max<ssize_t>(0, H5Fget_file_image(file, nullptr, 0))));
    H5Fget_file_image(file, image.data(), image.size());
    return image;
}

void check_value(float v) { expect(v >= -60 && v <= 80, "an SNR outside -60 to 80 dB"); }

void read(const std::vector<std::byte>& image, fuzz_input& in) {
    trace::reader r(image, called);
    const auto& info = r.info();
    expect(r.nof_slots() >= 1 && r.nof_slots() <= trace::max_slots, "no rows, or too many");
    expect(std::isfinite(info.mean_snr_db) && std::isfinite(info.speed_kmh) &&
               std::isfinite(info.carrier_hz),
           "a number that is none");
    if (info.prediction) {
        const auto& p = *info.prediction;
        expect(p.horizon_slots >= 0 && p.horizon_slots <= 64, "a horizon that cannot be");
        expect(p.method == "nmse" || p.method == "predictor", "a method that does not exist");
        expect(std::isfinite(p.nmse) && std::isfinite(p.measured_nmse), "an NMSE that is none");
    }
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(r.nof_slots(), most_rows));
    std::vector<trace::trace_row> snr(n), predicted(info.prediction ? n : 0);
    r.read(r.nof_slots() - static_cast<std::int64_t>(n), snr, predicted);
    for (const auto& row : snr)
        for (const float v : row) check_value(v);
    for (const auto& row : predicted)
        for (const float v : row) check_value(v);
    // Rows that are not there.
    const std::int64_t first = r.nof_slots() - static_cast<std::int64_t>(n) + in.in(1, 3);
    try {
        r.read(first, snr);
        violated("rows beyond the end are read");
    } catch (const trace::error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    fuzz_input in(data, size);
    const auto image = draw_file(in);
    try {
        read(image, in);
    } catch (const trace::error& e) {
        const std::string why = e.what();
        expect(why.starts_with(called + ": "), "a refusal that does not name the file: " + why);
        expect(why.size() > called.size() + 10, "a refusal without a reason");
    }
    return 0;
}
