// SPDX-License-Identifier: GPL-3.0-or-later
#include "gui/cell/record_pipe.h"

#include <linux/close_range.h>
#include <unistd.h>

#include <QJsonDocument>
#include <QJsonObject>
#include <QtEndian>
#include <algorithm>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace wip::gui {
namespace {

constexpr std::uint32_t fixed_part = 8 + 2;  // time and two lengths
constexpr std::uint32_t largest_message = fixed_part + 2 * 255 + (16 << 20);
constexpr qint64 most_waiting = 64 << 20;
constexpr int start_ms = 60'000, end_ms = 60'000;
const char* const damaged = "the record is damaged";

void start(QProcess& process, const QStringList& arguments) {
    // Ctrl-C is for the window, which then ends the recorder in order. Nothing of the window's is
    // theirs.
    process.setChildProcessModifier([] {
        ::setsid();
        ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    });
    process.start(qEnvironmentVariable("OPENWIP_PYTHON", "python3"),
                  QStringList{"-m", "openwip_cli", "record"} + arguments);
}

// Why it ended, in one line.
QString last_words(QProcess& process) {
    const auto lines = QString::fromUtf8(process.readAllStandardError()).trimmed().split('\n');
    if (process.error() == QProcess::FailedToStart)
        return "openwip record cannot be started: " + process.errorString() +
               "; valid: ./openwip monitor";
    if (process.exitStatus() == QProcess::CrashExit)
        return QStringLiteral("openwip record was ended by SIG") + sigabbrev_np(process.exitCode());
    return lines.back().startsWith("openwip: ") ? lines.back().mid(9)
           : lines.back().isEmpty()             ? QStringLiteral("openwip record ended")
                                                : lines.back();
}

[[noreturn]] void refuse(const QString& path, const QString& why) {
    throw std::runtime_error((why.contains(path) ? why : path + ": " + why).toStdString());
}

}  // namespace

record_writer::record_writer(const QString& path, const std::string& cell) : path_(path) {
    QStringList arguments{"--heard"};
    if (!cell.empty()) arguments << "--name" << QString::fromStdString(cell);
    start(recorder_, arguments << "--" << path);
    while (!recorder_.canReadLine())
        if (!recorder_.waitForReadyRead(start_ms)) {
            over_ = true;
            recorder_.kill();
            recorder_.waitForFinished();
            refuse(path, last_words(recorder_));
        }
    recorder_.readLine();  // that it records
}

record_writer::~record_writer() { finish(); }

void record_writer::write(const raw_message& m) {
    if (failed()) return;
    const auto source = std::min<std::size_t>(m.source.size(), 255);
    const auto topic = m.two_frames ? std::min<std::size_t>(m.topic.size(), 255) : 0;
    char head[4 + fixed_part];
    qToLittleEndian(static_cast<quint32>(fixed_part + source + topic + m.body.size()), head);
    qToLittleEndian(static_cast<qint64>(m.received_ns), head + 4);
    head[12] = static_cast<char>(source);
    head[13] = static_cast<char>(topic);
    recorder_.write(head, sizeof head);
    recorder_.write(m.source.data(), static_cast<qint64>(source));
    recorder_.write(m.topic.data(), static_cast<qint64>(topic));
    recorder_.write(m.body.data(), static_cast<qint64>(m.body.size()));
}

bool record_writer::failed() {
    if (recorder_.state() == QProcess::NotRunning) finish();
    if (recorder_.bytesToWrite() > most_waiting)
        trouble_ = path_ + ": the recorder is too far behind";
    return !trouble_.isEmpty();
}

void record_writer::finish() {
    if (over_) return;
    over_ = true;
    recorder_.closeWriteChannel();
    if (!recorder_.waitForFinished(end_ms)) recorder_.kill();
    recorder_.waitForFinished();
    const auto said = QJsonDocument::fromJson(recorder_.readAllStandardOutput()).object();
    const QString by = said["ended_by"].toString();
    if (recorder_.exitStatus() != QProcess::NormalExit || recorder_.exitCode() != 0)
        trouble_ = last_words(recorder_);
    else if (by != "the window")
        trouble_ = path_ + ": ended early by " + by;
}

record_reader::record_reader(const QString& path) {
    if (!kept_.open())
        throw std::runtime_error(
            ("a replay needs a temporary file: " + kept_.errorString()).toStdString());
    start(player_, {"replay", path});
    for (bool more = true; more && !begun_;) {
        more = player_.waitForReadyRead(start_ms);
        take_in();
    }
    if (begun_) return;
    player_.kill();
    player_.waitForFinished();
    refuse(path, trouble_.isEmpty() ? last_words(player_) : trouble_);
}

record_reader::~record_reader() {
    player_.kill();
    player_.waitForFinished();
}

void record_reader::take_in() {
    if (whole_) return;
    player_.waitForReadyRead(0);
    const bool ended = player_.state() == QProcess::NotRunning;
    waiting_ += player_.readAllStandardOutput();
    qsizetype at = 0;
    while (waiting_.size() - at >= 4) {
        const char* p = waiting_.constData() + at;
        const auto length = qFromLittleEndian<quint32>(p);
        if (length < fixed_part || length > largest_message) return give_up(damaged);
        if (waiting_.size() - at - 4 < static_cast<qsizetype>(length)) break;
        const auto names =
            static_cast<quint32>(static_cast<uchar>(p[12]) + static_cast<uchar>(p[13]));
        if (fixed_part + names > length) return give_up(damaged);
        const std::int64_t time = qFromLittleEndian<qint64>(p + 4);
        // Time runs forward, or a damaged record would make the slider jump.
        if (begun_)
            entries_.push_back({entries_.empty() ? time : std::max(time, entries_.back().time_ns),
                                kept_bytes_ + at + 12, length - 8});
        else
            length_ns_ = std::max<std::int64_t>(0, time);
        begun_ = true;
        at += 4 + static_cast<qsizetype>(length);
    }
    if (::pwrite(kept_.handle(), waiting_.constData(), static_cast<std::size_t>(at), kept_bytes_) !=
        at) {
        entries_.clear();
        return give_up("the disk of temporary files is full");
    }
    kept_bytes_ += at;
    waiting_.remove(0, at);
    if (!entries_.empty())
        length_ns_ = std::max(length_ns_, entries_.back().time_ns - entries_[0].time_ns);
    if (!ended) return;
    if (player_.exitStatus() != QProcess::NormalExit || player_.exitCode() != 0)
        return give_up(last_words(player_));
    if (!waiting_.isEmpty()) return give_up(damaged);
    whole_ = true;
}

void record_reader::give_up(const QString& why) {
    whole_ = true;
    trouble_ = why;
    player_.kill();
}

raw_message record_reader::message(std::size_t i) {
    const entry& e = entries_[i];
    std::string bytes(e.size, '\0');
    raw_message m;
    m.received_ns = e.time_ns;
    if (::pread(kept_.handle(), bytes.data(), bytes.size(), e.offset) !=
        static_cast<ssize_t>(bytes.size()))
        return m;
    const std::size_t source = static_cast<uchar>(bytes[0]), topic = static_cast<uchar>(bytes[1]);
    m.two_frames = topic != 0;
    m.source = bytes.substr(2, source);
    m.topic = bytes.substr(2 + source, topic);
    m.body = bytes.substr(2 + source + topic);
    return m;
}

std::size_t record_reader::at(std::int64_t ns) const {
    if (entries_.empty()) return 0;
    const auto place =
        std::ranges::lower_bound(entries_, entries_[0].time_ns + ns, {}, &entry::time_ns);
    return static_cast<std::size_t>(place - entries_.begin());
}

}  // namespace wip::gui
