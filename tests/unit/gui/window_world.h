// SPDX-License-Identifier: GPL-3.0-or-later
// The real window in front of a scripted cell, and looks at its pixels.
#pragma once

#include <google/protobuf/stubs/logging.h>

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>
#include <memory>

#include "gui/main_window.h"
#include "gui/plot/custom_plot.h"
#include "scripted_cell.h"

namespace wip::gui {

// A window in front of a scripted cell.
struct world {
    scripted_cell cell;
    std::unique_ptr<session> shown;
    std::unique_ptr<main_window> window;

    explicit world(bool start = true) {
        session_options options;
        options.run_root = cell.root();
        shown = std::make_unique<session>(options);
        window = std::make_unique<main_window>(*shown);
        window->resize(1800, 1000);
        window->show();
        window->activateWindow();
        if (!QTest::qWaitForWindowActive(window.get())) qWarning("the window does not show");
        if (start) {
            cell.start();
            if (!cell.wait_for_reader([this] { window->frame(); })) qWarning("nobody subscribes");
        }
    }
    // Waits until everything published has come, and has been drawn.
    bool settle() {
        const bool came = QTest::qWaitFor(
            [this] {
                const auto& c = shown->reader().total();
                return c.received + c.garbage + c.future >= cell.published();
            },
            10'000);
        QTest::qWait(600);  // long enough for every view to draw: the slowest draws twice a second
        return came;
    }
    template <typename View = view>
    View& of(const char* id) {
        auto* v = dynamic_cast<View*>(window->view_of(id));
        if (v == nullptr) qFatal("no view %s", id);
        return *v;
    }
    QCustomPlot& plot(const char* id) {
        auto* plot = window->view_of(id)->findChild<QCustomPlot*>();
        if (plot == nullptr) qFatal("view %s has no plot", id);
        return *plot;
    }
    // Lines, or bars, of a view: all, one by its name in the legend.
    template <typename Plottable>
    std::vector<Plottable*> all_of(const char* id) {
        std::vector<Plottable*> found;
        for (int i = 0; i < plot(id).plottableCount(); ++i)
            if (auto* p = dynamic_cast<Plottable*>(plot(id).plottable(i))) found.push_back(p);
        return found;
    }
    template <typename Plottable = QCPGraph>
    Plottable& of(const char* id, const QString& name) {
        for (auto* p : all_of<Plottable>(id))
            if (p->name() == name) return *p;
        qFatal("view %s has no %s", id, qPrintable(name));
    }
    // A picture of a view that is drawn in front of its tabs.
    QImage picture(const char* id) {
        view* v = window->view_of(id);
        v->show();
        v->raise();
        QTest::qWait(50);
        v->refresh(true);
        return v->widget()->grab().toImage();
    }
};

inline int count(const QImage& image, QColor colour) {
    int n = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if ((image.pixel(x, y) & 0xffffffu) == (colour.rgb() & 0xffffffu)) ++n;
    return n;
}

// Darker than any grid or frame.
inline int dark(const QImage& image) {
    int n = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) n += qGray(image.pixel(x, y)) < 100;
    return n;
}

inline QStringList lines_of(const view& v) { return v.csv().split('\n', Qt::SkipEmptyParts); }

// The image without the legend, which has the colours of the lines in any case.
inline QImage below_legend(const QImage& image) {
    return image.copy(0, 40, image.width(), image.height() - 40);
}

// Counts pixels of the colour in a line or column that is `thick` wide.
inline int count_row(const QImage& image, double y, QColor colour, int thick = 3) {
    return count(image.copy(0, static_cast<int>(y) - thick / 2, image.width(), thick), colour);
}
inline int count_column(const QImage& image, double x, QColor colour, int thick = 3) {
    return count(image.copy(static_cast<int>(x) - thick / 2, 0, thick, image.height()), colour);
}

// Every QCustomPlot has one of its own, which is not in use.
inline QCPLegend* legend_of(QCustomPlot& plot) {
    for (auto* legend : plot.findChildren<QCPLegend*>())
        if (legend->visible()) return legend;
    return nullptr;
}

// The cell of a test that has been on the air for so long, and all of it is drawn.
inline bool shows_run(world& w, int seconds) {
    w.cell.say_run(seconds);
    return w.settle();
}

// The beginning of every test of the window. Layouts and geometry of the tests are not those of the
// user who runs them.
class window_test : public QObject {
public:
    window_test() {
        google::protobuf::SetLogHandler(nullptr);
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, folder_.path());
        QCoreApplication::setOrganizationName("openwip-test");
    }

private:
    QTemporaryDir folder_;
};

template <typename Test>
int run_window_test(int argc, char** argv) {
    QApplication application(argc, argv);
    Test test;
    return QTest::qExec(&test, argc, argv);
}

}  // namespace wip::gui
