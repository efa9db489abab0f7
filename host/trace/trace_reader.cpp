// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "trace/hdf5_handle.h"
#include "trace/trace_file.h"
#include "types/not_valid.h"

namespace wip::trace {

namespace {

// The signature stands at 0, 512, 1024, 2048 and so on (HDF5 File Format Specification, II.A).
bool begins_hdf5(std::span<const std::byte> image) {
    constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
    for (std::size_t at = 0; at + signature.size() <= image.size(); at = at == 0 ? 512 : 2 * at)
        if (std::memcmp(image.data() + at, signature.data(), signature.size()) == 0) return true;
    return false;
}

constexpr std::size_t longest_text = 1 << 20;  // bytes

// The name of the object and of the file that an external link leads to: nobody follows it.
herr_t refuse_link(const char*, const char*, const char*, const char*, unsigned*, hid_t,
                   void* followed) {
    *static_cast<bool*>(followed) = true;
    return -1;
}

// The filters that the writer uses, and szip, which other programs like.
constexpr std::array known_filters{H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE, H5Z_FILTER_FLETCHER32,
                                   H5Z_FILTER_SZIP};

}  // namespace

struct reader::impl {
    std::string name;
    trace_info info;
    hdf5_handle file, snr, predicted;
    std::int64_t slots = 0;

    [[noreturn]] void fail(const std::string& why) const { throw error(name + ": " + why); }

    hdf5_handle attribute(hid_t where, const std::string& key) const {
        if (H5Aexists(where, key.c_str()) <= 0) fail("has no attribute " + key);
        hdf5_handle a(H5Aopen(where, key.c_str(), H5P_DEFAULT), H5Aclose);
        if (!a) fail("attribute " + key + " cannot be read");
        const hdf5_handle space(H5Aget_space(a), H5Sclose);
        if (H5Sget_simple_extent_npoints(space) != 1)
            fail("attribute " + key + " has not one value; valid: one value");
        return a;
    }
    template <class T>
    T number(hid_t where, const std::string& key, hid_t memory_type, bool integer) const {
        const hdf5_handle a = attribute(where, key);
        const hdf5_handle type(H5Aget_type(a), H5Tclose);
        const H5T_class_t kind = H5Tget_class(type);
        if (kind != H5T_INTEGER && (integer || kind != H5T_FLOAT))
            fail("attribute " + key +
                 " is of another type; valid: " + (integer ? "an integer" : "a number"));
        T v{};
        if (H5Aread(a, memory_type, &v) < 0) fail("attribute " + key + " cannot be read");
        return v;
    }
    std::int64_t integer(hid_t where, const std::string& key) const {
        return number<std::int64_t>(where, key, H5T_NATIVE_INT64, true);
    }
    double real(hid_t where, const std::string& key) const {
        const double v = number<double>(where, key, H5T_NATIVE_DOUBLE, false);
        if (!std::isfinite(v))
            fail(not_valid("attribute " + key, std::to_string(v), "a finite number"));
        return v;
    }
    std::string text(hid_t where, const std::string& key) const {
        const hdf5_handle a = attribute(where, key);
        const hdf5_handle type(H5Aget_type(a), H5Tclose);
        if (H5Tget_class(type) != H5T_STRING)
            fail("attribute " + key + " is of another type; valid: a text");
        const auto too_long = [&](std::size_t length) {
            if (length > longest_text)
                fail("attribute " + key + " has " + std::to_string(length) +
                     " characters; valid: up to " + std::to_string(longest_text));
        };
        if (H5Tis_variable_str(type) > 0) {
            char* read = nullptr;
            const hdf5_handle memory(H5Tget_native_type(type, H5T_DIR_DEFAULT), H5Tclose);
            if (H5Aread(a, memory, &read) < 0 || read == nullptr)
                fail("attribute " + key + " cannot be read");
            std::string s(read, ::strnlen(read, longest_text + 1));
            H5free_memory(read);
            too_long(s.size());
            return s;
        }
        too_long(H5Tget_size(type));
        std::string s(H5Tget_size(type), '\0');
        if (H5Aread(a, type, s.data()) < 0) fail("attribute " + key + " cannot be read");
        s.resize(std::min(s.size(), std::strlen(s.c_str())));
        return s;
    }
    void expect(const std::string& key, std::int64_t valid) const {
        const std::int64_t v = integer(file, key);
        if (v != valid)
            fail(not_valid("attribute " + key, std::to_string(v), std::to_string(valid)));
    }

    // Everything that is read is in this file, and can be decompressed.
    void check_storage(const std::string& key, hid_t data) const {
        const hdf5_handle created(H5Dget_create_plist(data), H5Pclose);
        if (!created) fail("dataset " + key + " cannot be opened");
        if (H5Pget_layout(created) == H5D_VIRTUAL)
            fail("dataset " + key +
                 " is a virtual one, whose rows are in other files; valid: a dataset of this "
                 "file");
        if (H5Pget_external_count(created) > 0)
            fail("dataset " + key +
                 " has its rows in another file (external storage); valid: a dataset of this "
                 "file");
        const int filters = H5Pget_nfilters(created);
        for (unsigned i = 0; filters > 0 && i < static_cast<unsigned>(filters); ++i) {
            std::size_t none = 0;
            char filter_name[60] = "";
            const H5Z_filter_t filter = H5Pget_filter2(created, i, nullptr, &none, nullptr,
                                                       sizeof filter_name, filter_name, nullptr);
            filter_name[sizeof filter_name - 1] = 0;
            if (std::ranges::find(known_filters, filter) == known_filters.end() ||
                H5Zfilter_avail(filter) <= 0)
                fail("dataset " + key + " is stored with the filter " + std::to_string(filter) +
                     " (" + filter_name + "); valid: deflate, shuffle, fletcher32 and szip");
        }
    }

    // Opens a dataset and returns its number of rows.
    std::int64_t open(const char* key, hdf5_handle& data) const {
        if (H5Lexists(file, key, H5P_DEFAULT) <= 0) fail(std::string("has no dataset ") + key);
        // An external link on the way, be it behind a soft one, is never followed.
        const hdf5_handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
        bool followed = false;
        if (H5Pset_elink_cb(access, refuse_link, &followed) < 0)
            fail("cannot be read: too little memory");
        data = {H5Dopen2(file, key, access), H5Dclose};
        if (followed)
            fail(std::string("dataset ") + key +
                 " is a link to another file; valid: a dataset of this file");
        if (!data) fail(std::string("dataset ") + key + " cannot be opened");
        check_storage(key, data);
        const hdf5_handle type(H5Dget_type(data), H5Tclose), space(H5Dget_space(data), H5Sclose);
        if (H5Tget_class(type) != H5T_FLOAT || H5Tget_size(type) != 4)
            fail(std::string("dataset ") + key +
                 " is of another type; valid: 32-bit floating-point numbers");
        hsize_t size[2] = {0, 0};
        if (H5Sget_simple_extent_ndims(space) != 2 ||
            H5Sget_simple_extent_dims(space, size, nullptr) != 2 || size[1] != nof_bins)
            fail(std::string("dataset ") + key + " has another shape; valid: slots x 25 bins");
        if (size[0] < 1 || size[0] > static_cast<hsize_t>(max_slots))
            fail(std::string("dataset ") + key + " has " + std::to_string(size[0]) +
                 " slots; valid: 1.." + std::to_string(max_slots));
        return static_cast<std::int64_t>(size[0]);
    }

    void read(const char* key, hid_t data, std::int64_t first, std::span<trace_row> out) const {
        const hsize_t start[2] = {static_cast<hsize_t>(first), 0},
                      count[2] = {out.size(), nof_bins};
        const hdf5_handle space(H5Dget_space(data), H5Sclose);
        const hdf5_handle memory(H5Screate_simple(2, count, nullptr), H5Sclose);
        if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr) < 0 ||
            H5Dread(data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, out.data()) < 0)
            fail(std::string(key) + " from slot " + std::to_string(first) +
                 " on cannot be read: the file is damaged");
        for (std::size_t t = 0; t < out.size(); ++t)
            for (std::size_t b = 0; b < nof_bins; ++b)
                if (const float v = out[t][b];
                    !(v >= bin_model::lowest_snr_db && v <= bin_model::highest_snr_db))
                    fail(std::string(key) + " of slot " +
                         std::to_string(first + static_cast<std::int64_t>(t)) + ", bin " +
                         std::to_string(b) + " is " + std::to_string(v) + " dB; valid: -60..80 dB");
    }
};

reader::reader(std::span<const std::byte> image, const std::string& called) : impl_(new impl) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    impl& r = *impl_;
    r.name = called;
    if (!begins_hdf5(image)) r.fail("is not an HDF5 file; valid: an SNR trace");
    const hdf5_handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    // HDF5 wants to own what it may write to; it copies the bytes and does not write.
    auto* bytes = const_cast<std::byte*>(image.data());
    if (H5Pset_fapl_core(access, 1 << 16, 0) < 0 ||
        H5Pset_file_image(access, bytes, image.size()) < 0)
        r.fail("cannot be read: too little memory");
    // HDF5 refuses an image under a name that it can open: nothing can be under a file.
    r.file = {H5Fopen((called + "/image").c_str(), H5F_ACC_RDONLY, access), H5Fclose};
    read_head();
}

void reader::read_head() {
    impl& r = *impl_;
    if (!r.file) r.fail("cannot be opened: the file is truncated or damaged");
    if (H5Aexists(r.file, "format") <= 0 || r.text(r.file, "format") != format_name)
        r.fail("attribute format is missing or another one; valid: " + std::string(format_name));
    r.expect("version", format_version);
    r.expect("slots_per_second", slots_per_second);
    r.expect("bins", nof_bins);
    trace_info& i = r.info;
    i.channel = r.text(r.file, "channel");
    i.definition = r.text(r.file, "definition");
    i.seed = r.number<std::uint64_t>(r.file, "seed", H5T_NATIVE_UINT64, true);
    i.mean_snr_db = r.real(r.file, "mean_snr_db");
    i.speed_kmh = r.real(r.file, "speed_kmh");
    i.carrier_hz = r.real(r.file, "carrier_hz");
    i.software = r.text(r.file, "software");
    r.slots = r.open("snr_db", r.snr);
    if (H5Lexists(r.file, "predicted_snr_db", H5P_DEFAULT) <= 0) return;
    if (const std::int64_t n = r.open("predicted_snr_db", r.predicted); n != r.slots)
        r.fail("predicted_snr_db has " + std::to_string(n) +
               " slots; valid: " + std::to_string(r.slots) + ", as snr_db");
    prediction_info p;
    const std::int64_t horizon = r.integer(r.predicted, "horizon_slots");
    if (horizon < 0 || horizon > longest_horizon)
        r.fail("attribute horizon_slots is " + std::to_string(horizon) + "; valid: 0.." +
               std::to_string(longest_horizon));
    p.horizon_slots = static_cast<int>(horizon);
    p.method = r.text(r.predicted, "method");
    if (p.method != "nmse" && p.method != "predictor")
        r.fail(not_valid("attribute method", p.method, "nmse or predictor"));
    p.nmse = r.real(r.predicted, "nmse");
    p.measured_nmse =
        H5Aexists(r.predicted, "measured_nmse") > 0 ? r.real(r.predicted, "measured_nmse") : p.nmse;
    i.prediction = p;
}

reader::~reader() = default;

const trace_info& reader::info() const noexcept { return impl_->info; }
std::int64_t reader::nof_slots() const noexcept { return impl_->slots; }

void reader::read(std::int64_t first, std::span<trace_row> snr_db,
                  std::span<trace_row> predicted_snr_db) {
    const impl& r = *impl_;
    const auto n = static_cast<std::int64_t>(snr_db.size());
    if (first < 0 || first > r.slots || n > r.slots - first)
        r.fail("slots " + std::to_string(first) + ".." + std::to_string(first + n) +
               " are asked for; valid: 0.." + std::to_string(r.slots));
    if (!predicted_snr_db.empty() && (!r.predicted || predicted_snr_db.size() != snr_db.size()))
        r.fail(
            "has no predictions, or not one for each row asked for; valid: as many as rows of SNR");
    if (n == 0) return;
    r.read("snr_db", r.snr, first, snr_db);
    if (!predicted_snr_db.empty()) r.read("predicted_snr_db", r.predicted, first, predicted_snr_db);
}

}  // namespace wip::trace
