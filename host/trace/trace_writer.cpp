// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "os/output_file.h"
#include "trace/hdf5_handle.h"
#include "trace/hdf5_output.h"
#include "trace/trace_file.h"
#include "types/failure.h"

namespace wip::trace {
namespace {

constexpr float steps_per_db = 256;

hdf5_handle scalar() { return {H5Screate(H5S_SCALAR), H5Sclose}; }

}  // namespace

struct writer::impl {
    std::string name;
    trace_info info;
    hdf5_output output;  // closed after the handles of what is in it
    hdf5_handle file, snr, predicted;
    std::int64_t rows = 0;
    std::vector<trace_row> rounded;

    [[noreturn]] void fail(const std::string& why) const { throw error(name + ": " + why); }
    [[noreturn]] void not_written() const {
        if (output.error() != 0) throw machine_error(name + ": cannot be written", output.error());
        throw machine_error(name + ": cannot be written: the HDF5 library refuses it");
    }
    void check(bool good) const {
        if (!good || output.error() != 0) not_written();
    }

    void put(hid_t where, const char* key, hid_t file_type, hid_t memory_type, const void* value) {
        const hdf5_handle space = scalar();
        if (H5Aexists(where, key) > 0) H5Adelete(where, key);
        const hdf5_handle a(H5Acreate2(where, key, file_type, space, H5P_DEFAULT, H5P_DEFAULT),
                            H5Aclose);
        check(a && H5Awrite(a, memory_type, value) >= 0);
    }
    void put(hid_t where, const char* key, const std::string& text) {
        const hdf5_handle type(H5Tcopy(H5T_C_S1), H5Tclose);
        H5Tset_size(type, text.size() + 1);
        H5Tset_cset(type, H5T_CSET_UTF8);
        put(where, key, type, type, text.c_str());
    }
    void put(hid_t where, const char* key, std::int64_t v) {
        put(where, key, H5T_STD_I64LE, H5T_NATIVE_INT64, &v);
    }
    void put(hid_t where, const char* key, double v) {
        put(where, key, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &v);
    }

    // The file has no name while it is written, so that a program that is killed leaves nothing
    // behind; what is complete is copied to a file that gets the final name.
    void open() {
        const os::output_file target(name);
        int fd = -1;
        if (target.is_written_as_it_is()) {  // there is no place for a file beside a device
            std::string made = P_tmpdir "/openwip-trace.XXXXXX";
            fd = ::mkostemp(made.data(), O_CLOEXEC);
            if (fd >= 0) ::unlink(made.c_str());
        } else {
            fd = ::fcntl(target.descriptor(), F_DUPFD_CLOEXEC, 0);
        }
        if (fd < 0) target.fail(errno);
        output.own(fd);
        file = output.create();
        check(static_cast<bool>(file));
    }
    void give_name() {
        os::output_file to(name);
        struct ::stat size {};
        if (::fstat(output.descriptor(), &size) != 0) to.fail(errno);
        std::vector<char> piece(1 << 18);
        for (off_t done = 0; done < size.st_size;) {
            const ssize_t n = ::pread(output.descriptor(), piece.data(), piece.size(), done);
            if (n <= 0) to.fail(n < 0 ? errno : EIO);
            to.write({piece.data(), static_cast<std::size_t>(n)});
            done += n;
        }
        to.give_name();
    }

    hdf5_handle create(const char* key) {
        const hsize_t none[2] = {0, nof_bins}, all[2] = {H5S_UNLIMITED, nof_bins};
        const hsize_t chunk[2] = {chunk_slots, nof_bins};
        const hdf5_handle space(H5Screate_simple(2, none, all), H5Sclose);
        const hdf5_handle list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        H5Pset_chunk(list, 2, chunk);
        H5Pset_shuffle(list);
        H5Pset_deflate(list, 1);
        H5Pset_fletcher32(list);
        hdf5_handle d(H5Dcreate2(file, key, H5T_IEEE_F32LE, space, H5P_DEFAULT, list, H5P_DEFAULT),
                      H5Dclose);
        check(static_cast<bool>(d));
        return d;
    }

    void append(hid_t data, std::span<const trace_row> values) {
        rounded.resize(values.size());
        for (std::size_t t = 0; t < values.size(); ++t)
            for (std::size_t b = 0; b < nof_bins; ++b) {
                const float v = values[t][b];
                if (!(v >= bin_model::lowest_snr_db && v <= bin_model::highest_snr_db))
                    fail("slot " + std::to_string(rows + static_cast<std::int64_t>(t)) + ", bin " +
                         std::to_string(b) + " is " + std::to_string(v) + " dB; valid: -60..80 dB");
                rounded[t][b] = std::round(v * steps_per_db) / steps_per_db;
            }
        const hsize_t size[2] = {static_cast<hsize_t>(rows) + values.size(), nof_bins};
        const hsize_t start[2] = {static_cast<hsize_t>(rows), 0},
                      count[2] = {values.size(), nof_bins};
        check(H5Dset_extent(data, size) >= 0);
        const hdf5_handle space(H5Dget_space(data), H5Sclose);
        const hdf5_handle memory(H5Screate_simple(2, count, nullptr), H5Sclose);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
        check(H5Dwrite(data, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, rounded.data()) >= 0);
    }

    void put_prediction() {
        if (!info.prediction) return;
        const prediction_info& p = *info.prediction;
        put(predicted, "horizon_slots", std::int64_t{p.horizon_slots});
        put(predicted, "method", p.method);
        put(predicted, "nmse", p.nmse);
        put(predicted, "measured_nmse", p.measured_nmse);
    }
};

writer::writer(const std::string& file, const trace_info& info) : impl_(new impl) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    impl& w = *impl_;
    w.name = file;
    w.info = info;
    w.open();
    w.put(w.file, "format", std::string(format_name));
    w.put(w.file, "version", std::int64_t{format_version});
    w.put(w.file, "slots_per_second", slots_per_second);
    w.put(w.file, "bins", std::int64_t{nof_bins});
    w.put(w.file, "channel", info.channel);
    w.put(w.file, "definition", info.definition);
    w.put(w.file, "seed", H5T_STD_U64LE, H5T_NATIVE_UINT64, &info.seed);
    w.put(w.file, "mean_snr_db", info.mean_snr_db);
    w.put(w.file, "speed_kmh", info.speed_kmh);
    w.put(w.file, "carrier_hz", info.carrier_hz);
    w.put(w.file, "software", info.software);
    w.snr = w.create("snr_db");
    if (info.prediction) w.predicted = w.create("predicted_snr_db");
    w.put_prediction();
}

writer::~writer() = default;

void writer::append(std::span<const trace_row> snr_db,
                    std::span<const trace_row> predicted_snr_db) {
    impl& w = *impl_;
    if (predicted_snr_db.size() != (w.info.prediction ? snr_db.size() : 0))
        w.fail("has " + std::to_string(predicted_snr_db.size()) + " rows of predictions beside " +
               std::to_string(snr_db.size()) +
               " of SNR; valid: " + (w.info.prediction ? "as many" : "none"));
    if (snr_db.empty()) return;
    if (w.rows + static_cast<std::int64_t>(snr_db.size()) > max_slots)
        w.fail("would last longer than a week; valid: up to " + std::to_string(max_slots) +
               " slots");
    w.append(w.snr, snr_db);
    if (w.predicted) w.append(w.predicted, predicted_snr_db);
    w.rows += static_cast<std::int64_t>(snr_db.size());
}

void writer::finish(const std::optional<prediction_info>& prediction) {
    impl& w = *impl_;
    if (w.rows == 0) w.fail("has no slots; valid: one slot or more");
    if (prediction && w.info.prediction) {
        w.info.prediction = prediction;
        w.put_prediction();
    }
    bool good = w.snr.reset();
    good = w.predicted.reset() && good;
    good = w.file.reset() && good;
    w.check(good);
    w.give_name();
}

}  // namespace wip::trace
