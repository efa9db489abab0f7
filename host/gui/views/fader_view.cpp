// SPDX-License-Identifier: GPL-3.0-or-later
// The fader of a cabled cell: levels that its radios receive and send over time, the one over the
// other (an attenuator's track), and the taps that are commanded now, a colour for
// each path; in words its delay, what it lost and clipped, and the soundings: its own, and that
// through the radios as the verdict has it. Beside it, or alone, a programmable attenuator: what
// its channels take away over time.
#include "gui/model/meaning.h"
#include "gui/plot/plot_help.h"
#include "gui/views/views.h"
#include "types/db.h"

namespace wip::gui {
namespace {

constexpr double lowest_db = -60;  // lowest tap gain that is drawn, dB
constexpr dbfs silent{-60};        // a level below this is no signal
constexpr double samples_per_ms = static_cast<double>(sample_rate_hz) / 1000;

QString off(db residual, db limit) {
    return QStringLiteral("%1 dB off (limit %2)")
        .arg(residual.value, 0, 'f', 1)
        .arg(limit.value, 0, 'f', 1);
}

// colour of the first path; the colours before it are of input and output
constexpr int first_colour = 2;
QColor path_colour(std::size_t path) {
    return series_colour(path == 0 ? first_colour : static_cast<int>(path) + 3);
}

template <class Path>
QString way_of(const Path& path) {
    return QString::fromStdString(path.from() + " to " + path.to());
}

std::uint64_t too_late(const openwip::control::AirStatus& a) {
    return a.fader_radios().late() + a.fader_radios().underflows() + a.fader_radios().stalls();
}

class fader_view : public time_view {
public:
    fader_view(const session_model& model, slot_axis& axis)
        : time_view(
              "fader", "Fader",
              "A cabled cell's fader. Above: what it receives at the begin of its first path and "
              "sends at its end (dBFS; 0 is full scale), and what lies between (dB): the track of "
              "an attenuator, of shadowing, of a blackout. Below: the taps now (dB over us), a "
              "colour for each path. The words: the channel as measured at the start, in the fader "
              "and through the radios (what is wrong over what is commanded). Orange: samples were "
              "lost or clipped, or the channel is not the commanded one. Of an attenuator in the "
              "cable: each channel's level, as far below 0 as it takes away; orange: steps or "
              "ticks were missed, or it is silent.",
              "dBFS, dB", model, axis) {
        for (int c = 1; c <= static_cast<int>(attenuator_point().level_db.size()); ++c) {
            attenuation_.push_back(add_line(plot_, QStringLiteral("attenuator %1").arg(c),
                                            series_pen(first_colour + c + 1)));
            attenuation_.back()->setLineStyle(QCPGraph::lsStepLeft);
        }
        channel_->setLineStyle(QCPGraph::lsStepLeft);
        line_up(plot_);
        below_->axis(QCPAxis::atBottom)->setLabel("delay, us");
        below_->axis(QCPAxis::atLeft)->setLabel("tap, dB");
        below_->axis(QCPAxis::atLeft)->setRange(lowest_db, 20);
    }
    int frames_per_second() const override { return 5; }
    bool is_of_terminals() const override { return false; }

    void refresh(bool) override {
        const auto& a = model().air();
        const bool is_there = a.delay_samples() != 0;
        const bool attenuates = !model().attenuator().state().empty();
        plot_->yAxis->setRange(-70, attenuates ? 110 : 45);  // the words stand above full scale
        plot_->say(!is_there && !attenuates
                       ? "No fader: the channel is in the medium (demo --air cabled)"
                       : QString());
        bool bad = a.clipped() + a.lost_samples() + too_late(a) + a.fader_radios().silences() != 0;
        for (const auto& s : a.soundings())
            bad |= s.not_judged().empty() && s.residual_db() > s.limit_db();
        bad |= model().verdict().through_radios().wrong() || goes_wrong(model().attenuator());
        plot_->note(words(), bad);
        line_points in, out, channel;
        for (const auto& p : visible(model().fader_points())) {
            const double x = x_of(p);
            if (std::isfinite(p.input.value)) in.append({x, p.input.value});
            if (std::isfinite(p.output.value)) out.append({x, p.output.value});
            // Without a signal the difference of the two levels means nothing.
            if (p.input > silent && std::isfinite(p.output.value))
                channel.append({x, (p.output - p.input).value});
        }
        channel_->data()->set(channel, true);
        input_->data()->set(in, true);
        output_->data()->set(out, true);
        draw_attenuation();
        draw_taps(is_there ? a : openwip::control::AirStatus());
        draw(plot_, true);
    }

    QString words() const override { return (fader_words() + attenuator_words()).trimmed(); }

    QString csv() const override {
        if (words().isEmpty()) return {};
        QString text;
        QTextStream out(&text);
        // First the levels, then the attenuator's, then the taps that are commanded now.
        out << "slot,seconds,input_dbfs,output_dbfs,clipped,lost_samples,tap_delay_us,tap_gain_db,"
               "tap_phase,tap_from,tap_to,attenuator_channel,attenuator_db\n";
        for (const auto& p : visible(model().fader_points()))
            begin_line(out, p.slot) << p.input.value << ',' << p.output.value << ',' << p.clipped
                                    << ',' << p.lost_samples << ",,,,,,,\n";
        for (const auto& p : visible(model().attenuator_points()))
            for (std::size_t c = 0; c < p.level_db.size(); ++c)
                if (std::isfinite(p.level_db[c]))
                    begin_line(out, p.slot) << ",,,,,,,,," << c + 1 << ',' << p.level_db[c] << '\n';
        for (const auto& path : model().air().fader_paths())
            for (int i = 0; i < std::min({path.tap_delay_us_size(), path.tap_gain_db_size(),
                                          path.tap_phase_size()});
                 ++i)
                out << model().newest_slot() << ",,,,,," << path.tap_delay_us(i) << ','
                    << path.tap_gain_db(i) << ',' << path.tap_phase(i) << ','
                    << QString::fromStdString(path.from()) << ','
                    << QString::fromStdString(path.to()) << ",,\n";
        return text;
    }

private:
    void draw_taps(const openwip::control::AirStatus& a) {
        const auto nof_paths = static_cast<std::size_t>(a.fader_paths_size());
        while (taps_.size() < nof_paths) {
            auto* bars =
                new QCPBars(below_->axis(QCPAxis::atBottom), below_->axis(QCPAxis::atLeft));
            bars->setBaseValue(lowest_db);
            bars->setPen(QPen(path_colour(taps_.size())));
            bars->setBrush(path_colour(taps_.size()));
            taps_.push_back(bars);
            bars->addToLegend(path_names_);
        }
        double longest = 1;
        for (const auto& path : a.fader_paths())
            for (const double delay : path.tap_delay_us()) longest = std::max(longest, delay);
        for (std::size_t k = 0; k < taps_.size(); ++k) {
            QVector<double> delays, gains;
            if (k < nof_paths) {
                const auto& path = a.fader_paths(static_cast<int>(k));
                for (int i = 0; i < std::min(path.tap_delay_us_size(), path.tap_gain_db_size());
                     ++i) {
                    delays.append(path.tap_delay_us(i));
                    gains.append(
                        std::max(path.tap_gain_db(i) - lowest_db, 0.0));  // length of a bar
                }
                taps_[k]->setName(way_of(path));
            }
            taps_[k]->setData(delays, gains);
            taps_[k]->setWidth(0.02 * longest);
        }
        below_->axis(QCPAxis::atBottom)->setRange(0, 1.2 * longest);
    }

    void draw_attenuation() {
        const auto points = visible(model().attenuator_points());
        for (std::size_t c = 0; c < attenuation_.size(); ++c) {
            line_points levels;
            for (const auto& p : points)
                if (std::isfinite(p.level_db[c])) levels.append({x_of(p), -p.level_db[c]});
            if (!levels.empty()) attenuation_[c]->addToLegend(level_names_);
            attenuation_[c]->data()->set(levels, true);
        }
    }

    QString attenuator_words() const {
        const auto& a = model().attenuator();
        if (a.state().empty()) return {};
        QStringList levels;
        for (int i = 0; i < a.channels_size(); ++i)
            levels += QStringLiteral("%1: %2 dB").arg(a.channels(i)).arg(a.levels_db(i));
        QString text =
            "\nattenuator " + levels.join(", ") + "\n" + QString::fromStdString(a.state());
        if (a.steps() != 0)
            text += QStringLiteral(", step %1 of %2").arg(a.played()).arg(a.steps());
        text += QStringLiteral(", not there %1, late %2, ticks missed %3")
                    .arg(a.underflows())
                    .arg(a.late())
                    .arg(a.missed_ticks());
        if (a.silent_s() > attenuator_answers_s)
            text += QStringLiteral(", silent for %1 s").arg(a.silent_s(), 0, 'f', 1);
        if (!a.wrong().empty()) text += ", " + QString::fromStdString(a.wrong());
        return text;
    }

    QString fader_words() const {
        const auto& a = model().air();
        if (a.delay_samples() == 0) return {};
        QString text = QStringLiteral("delay %1 ms, clipped %2, lost %3, too late %4")
                           .arg(static_cast<double>(a.delay_samples()) / samples_per_ms, 0, 'f', 3)
                           .arg(a.clipped())
                           .arg(a.lost_samples())
                           .arg(too_late(a));
        if (a.fader_radios().silences() > 0)
            text += QStringLiteral(", silent %1 times").arg(a.fader_radios().silences());
        for (const auto& s : a.soundings()) {
            text += a.soundings_size() > 1 ? "\n" + way_of(s) + ": " : QStringLiteral("\n");
            text += s.not_judged().empty() ? "sounded " + off(db(s.residual_db()), db(s.limit_db()))
                                           : QStringLiteral("not sounded");
        }
        if (!model().verdict().has_through_radios()) return text;
        const auto& t = model().verdict().through_radios();
        text += QStringLiteral("\nthrough the radios ");
        text += t.has_residual_db() ? off(db(t.residual_db()), db(t.limit_db()))
                                    : QStringLiteral("not measured");
        text += QStringLiteral(", %1 of %2 bursts heard").arg(t.heard()).arg(t.bursts());
        if (!t.not_judged().empty())
            text += ", not evaluated: " + QString::fromStdString(t.not_judged());
        return text;
    }

    QCPGraph* input_ = add_line(plot_, "input", series_pen(0));
    QCPGraph* output_ = add_line(plot_, "output", series_pen(1));
    QCPGraph* channel_ = add_line(plot_, "channel", series_pen(3));  // output over input, dB
    QCPLegend* level_names_ = small_legend(plot_, plot_->axisRect(), {input_, output_, channel_});
    // by channel; a line is in the legend once the run uses its channel
    std::vector<QCPGraph*> attenuation_;
    QCPAxisRect* below_ = add_rect_below(plot_);
    QCPLegend* path_names_ = small_legend(plot_, below_);
    std::vector<QCPBars*> taps_;  // by path
};

}  // namespace

view* make_fader_view(const session_model& model, slot_axis& axis) {
    return new fader_view(model, axis);
}

}  // namespace wip::gui
