// Causal standardisation: each input is scaled by the running mean and variance of what was learned
// before and itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/visitor.hpp"
#include "units.hpp"

namespace MIXABLE_ISA {

/// Turns a raw row of d numbers into `views` rows of a forecaster's inputs, one after the other:
/// first the intercept (if wanted), then the features. The first view is linear, clipped to +-10
/// standard deviations; the second is linear up to +-`bend` and grows as the logarithm beyond. In
/// that, with `logarithms`, a feature whose tails are heavy is standardised by its logarithm
/// (heavy.hpp); that is decided when it has 16, 32, 64, 128 or 256 entries. A missing entry (NaN)
/// is taken to be the mean. No outlier spoils the statistics: an entry more than 10 standard
/// deviations away counts as 10, where the first 16 entries, which are kept, are judged all
/// together by their median, and later ones by those before them.
///
/// The unit of a feature may change, for a time or for good: entries are larger or smaller than
/// those before by a factor of 32 or more, unless these are spread as widely. Then its statistics
/// begin anew, and the old ones are kept for entries in the old unit. So a forecaster sees the same
/// whatever the unit is, but for the first few rows after a change.
///
/// If it is `anchored`, a feature is its distance from its first entry, in units of the first
/// distance that is not 0 (a power of 2). Both stay for ever, so that what is linear in the entries
/// is linear in the rows of all times: a running scale blurs it.
class Scaler {
   public:
    Scaler(long features, bool intercept, bool standardize, long views, bool logarithms,
           bool anchored = false, double bend = 1)
        : d(features),
          width((intercept ? 1 : 0) + features),
          views(views),
          bend(bend),
          intercept_(intercept),
          standardize_(standardize),
          logarithms_(logarithms && standardize && views > 1),
          anchored_(anchored && !standardize && views == 1),
          count_(d),
          mean_(d),
          square_(d),
          sizes_(d * 3),
          early_(d * kept),
          anchors_(anchored_ ? 2 * d : 0) {
        std::fill_n(static_cast<double*>(early_), d * kept, std::nan(""));
    }

    const long d, width, views;
    const double bend;  // where the second view ceases to be linear
    static constexpr long kept = scaling::kept;

    /// z (views x width) of the row x, as if it were the next to be learned.
    void transform(const double* x, double* z) const {
        put_intercept(z);
        for (long i = 0; i < d; ++i) put(i, x[i], scaled(i, x[i]), z);
    }
    /// The same in two steps: s (d) is the row x scaled, z its views. So a row whose label comes
    /// late is learned as it was scaled for its forecast (in logarithms, as it is scaled now).
    void scale(const double* x, double* s) const {
        for (long i = 0; i < d; ++i) s[i] = scaled(i, x[i]);
    }
    void spread(const double* s, const double* x, double* z) const {
        if (anchored_) return transform(x, z);  // what has no scale that moves
        put_intercept(z);
        for (long i = 0; i < d; ++i) put(i, x[i], s[i], z);
    }
    /// The same, and x is learned.
    void learn(const double* x, double* z) {
        if (anchored_) anchor(x);
        put_intercept(z);
        if (!holds()) held_ = Buffer();
        for (long i = 0; i < d; ++i) {
            if (is_usual(i, x[i])) {
                const Feature feature = with_usual(i, x[i]);
                put(i, x[i], scaled(i, x[i], feature), z);
                write(i, feature);
                sizes_at(i).add(x[i]);
            } else
                learn_unusual(i, x[i], z);
            if (is_due(count_[i])) review(i);
        }
    }

    /// The mean and the standard deviation of each feature; 0 where nothing has varied. Of anchored
    /// ones, the first entry and the unit.
    void moments(double* mean, double* sd) const {
        if (anchored_) {
            copy(anchors_, d, mean);
            copy(anchors_ + d, d, sd);
            return;
        }
        for (long i = 0; i < d; ++i) {
            mean[i] = standardize_ ? mean_[i] : 0.0;
            sd[i] = standardize_ ? std::sqrt(square_[i] / std::max(count_[i], 1.0)) : 1.0;
        }
    }

    /// From now on rows are scaled by the statistics as they are, while these go on; what has not
    /// varied yet is 0. So rows that several learn apart have one scale.
    void hold() {
        Buffer held(3 * d);
        moments(held, held + d);
        std::fill_n(held + 2 * d, d, 1.0);
        held_ = std::move(held);
        for (long i = 0; i < heavy_.size() / 4; ++i) {
            Heavy& heavy = heavy_at(i);
            const Sizes& sizes = sizes_at(i);
            if (!heavy.is_known() || sizes.count == 0) continue;
            heavy.low *= std::exp2(sizes.mean() - heavy.size);
            heavy.size = sizes.mean();
        }
    }
    /// Rows are scaled by all statistics again. The scale that was held is known until the next row
    /// is learned: it is that of all rows since.
    void release() { std::fill_n(held_ + 2 * d, holds() ? d : 0, 0.0); }
    bool holds() const { return held_.size() > 0 && (d == 0 || held_[2 * d] != 0); }

    /// One like this that has learned nothing.
    Scaler empty() const {
        return Scaler(d, intercept_, standardize_, views, logarithms_, anchored_, bend);
    }

    /// Whether it makes the same of rows, apart from the intercept, if it knows the same.
    bool is_like(const Scaler& other) const {
        return d == other.d && views == other.views && standardize_ == other.standardize_ &&
               logarithms_ == other.logarithms_ && anchored_ == other.anchored_ &&
               bend == other.bend;
    }
    /// Whether it makes the same of all rows to come.
    bool knows_the_same(const Scaler& other) const {
        return is_like(other) && count_ == other.count_ && mean_ == other.mean_ &&
               square_ == other.square_ && sizes_ == other.sizes_ && early_ == other.early_ &&
               held_ == other.held_ && units_ == other.units_ && heavy_ == other.heavy_ &&
               anchors_ == other.anchors_;
    }

    void adopt(const Scaler& other) {
        for (auto [mine, theirs] : {std::pair{&count_, &other.count_},
                                    {&mean_, &other.mean_},
                                    {&square_, &other.square_}})
            copy(*theirs, other.d, *mine);
        copy(other.sizes_, other.d * 3, sizes_);
        copy(other.early_, other.d * kept, early_);
        for (long row = 0; row < other.anchors_.size() / std::max(other.d, 1L); ++row)
            copy(other.anchors_ + row * other.d, other.d, anchors_ + row * d);
        units_ = Buffer();
        if (other.units_.size() > 0) expect_units();
        copy(other.units_, other.units_.size(), units_);
        heavy_ = Buffer();
        if (other.heavy_.size() > 0) expect_heavy();
        copy(other.heavy_, other.heavy_.size(), heavy_);
        held_ = Buffer();
        if (other.held_.size() == 0) return;
        held_ = Buffer(3 * d);
        for (long row = 0; row < 3; ++row)
            copy(other.held_ + row * other.d, other.d, held_ + row * d);
        std::fill_n(held_ + 2 * d, d, other.holds() ? 1.0 : 0.0);
    }
    /// Makes room for a scale that was held, before `visit` reads it.
    void expect_held() { held_ = Buffer(3 * d); }
    /// The same for what is known of other units.
    void expect_units() { units_ = Buffer(d * in_units); }
    /// The same for the scale of features with heavy tails.
    void expect_heavy() { heavy_ = Buffer(d * 4); }

    void visit(Visitor& visitor) {
        visitor("count", count_, 1L, d, d);
        visitor("mean", mean_, 1L, d, d);
        visitor("square", square_, 1L, d, d);
        visitor("sizes", sizes_, d, 3L, 3L);
        visitor("early", early_, d, kept, kept);
        if (held_.size() > 0) visitor("held", held_, 3L, d, d);
        if (units_.size() > 0) visitor("units", units_, d, in_units, in_units);
        if (heavy_.size() > 0) visitor("heavy", heavy_, d, 4L, 4L);
        if (anchored_) visitor("anchors", anchors_, 2L, d, d);
    }

    /// Whether the statistics can be some that `learn` made; after `visit` has written them.
    bool sound() const {
        for (long i = 0; i < d; ++i) {
            if (!known(i).sound() || !units_at(i).sound()) return false;
            if (heavy_.size() > 0 && !(logarithms_ && heavy_at(i).sound())) return false;
            const double *begin = early_ + i * kept, *end = begin + std::min(long(count_[i]), kept);
            const long missing = std::count_if(begin, end, [](double x) { return std::isnan(x); });
            if (missing != 0 && missing != end - begin) return false;
            if (std::any_of(begin, end, [](double x) { return std::fabs(x) > largest; }))
                return false;
        }
        for (long i = 0; i < anchors_.size() / 2; ++i)
            if (!(std::fabs(anchors_[i]) <= largest && anchors_[d + i] >= 0 &&
                  anchors_[d + i] <= largest))
                return false;
        for (long i = 0; i < held_.size() / 3; ++i)
            if (!(std::fabs(held_[i]) <= largest && held_[d + i] >= 0 && held_[d + i] <= largest &&
                  held_[2 * d + i] == held_[2 * d] && (held_[2 * d] == 0 || held_[2 * d] == 1)))
                return false;
        return true;
    }

   private:
    static constexpr double largest = scaling::largest;
    // Standard deviations that count, in the statistics and in the linear view.
    static constexpr double reach = 10;
    static constexpr double far = 1e6;  // units of an anchored feature that count
    static constexpr double usual = 5;  // and its standard deviations: a trend has less than 2

    using Feature = scaling::Feature;
    using Known = scaling::Known;
    using Units = scaling::Units;
    static constexpr long in_units = sizeof(Units) / sizeof(double);

    const Sizes& sizes_at(long i) const {
        return *reinterpret_cast<const Sizes*>(static_cast<const double*>(sizes_) + i * 3);
    }
    Sizes& sizes_at(long i) { return const_cast<Sizes&>(std::as_const(*this).sizes_at(i)); }
    const Heavy& heavy_at(long i) const {
        return *reinterpret_cast<const Heavy*>(static_cast<const double*>(heavy_) + i * 4);
    }
    Heavy& heavy_at(long i) { return const_cast<Heavy&>(std::as_const(*this).heavy_at(i)); }
    Known known(long i) const { return {{count_[i], mean_[i], square_[i]}, sizes_at(i)}; }
    void write(long i, const Feature& feature) {
        count_[i] = feature.count;
        mean_[i] = feature.mean;
        square_[i] = feature.square;
    }
    Units units_at(long i) const {
        Units units{};
        if (units_.size() > 0)
            std::memcpy(static_cast<void*>(&units), units_ + i * in_units, sizeof units);
        return units;
    }
    void write(long i, const Units& units) {
        if (units_.size() == 0) expect_units();
        std::memcpy(units_ + i * in_units, &units, sizeof units);
    }

    /// What is known of a feature with one more entry, and what scales that.
    struct Next {
        Known known;
        Feature scale;
        std::optional<Units> units;
    };

    static double within_squares(double x) { return std::min(std::max(x, -largest), largest); }

    /// Whether all entries of feature i so far are kept. Not so for more than that; nor in models
    /// that were saved before early entries were: there all are judged like later ones.
    bool are_kept(long i) const {
        return count_[i] < kept &&
               (count_[i] == 0 || !std::isnan(early_[i * kept + long(count_[i]) - 1]));
    }

    [[gnu::noinline]] Next with(long i, double x) const {
        const Known now = known(i);
        Next next{now, now.feature, std::nullopt};
        if (std::isnan(x)) return next;
        x = within_squares(x);
        if (are_kept(i)) {
            next.scale = judged_together(early_ + i * kept, long(now.feature.count), x);
            next.known.feature = next.scale;
            next.known.sizes.add(x);
            return next;
        }
        next.known.feature = with_usual(i, x);
        next.units = units_at(i);
        next.units->note(x, now, next.known);
        const bool is_strange = next.units->is_shown();
        next.scale = is_strange ? next.units->strange.feature : next.known.feature;
        return next;
    }
    [[gnu::noinline]] void learn_unusual(long i, double x, double* z) {
        const Next next = with(i, x);
        put(i, x, scaled(i, x, next.scale, next.units), z);
        if (next.known.feature.count > count_[i] && are_kept(i))
            early_[i * kept + long(count_[i])] = within_squares(x);
        write(i, next.known.feature);
        sizes_at(i) = next.known.sizes;
        if (next.units) write(i, *next.units);
    }

    /// Whether x is there, is not one of the first few, and neither is nor was the unit in
    /// question.
    bool is_usual(long i, double x) const {
        return !std::isnan(x) && !are_kept(i) && !scaling::is_foreign(x, sizes_at(i)) &&
               (units_.size() == 0 || units_[(i + 1) * in_units - 2] == 0);
    }
    /// The statistics with such an entry.
    Feature with_usual(long i, double x) const {
        Feature feature{count_[i], mean_[i], square_[i]};
        if (feature.square > 0)
            feature.add_within(within_squares(x), feature.mean, reach * feature.sd());
        else
            feature.add(within_squares(x));
        return feature;
    }

    /// The statistics of n early entries and x, each brought to within `reach` robust deviations of
    /// their median.
    static Feature judged_together(const double* early, long n, double x) {
        double values[kept], distances[kept];
        std::copy_n(early, n, values);
        values[n] = x;
        const double centre = median(values, n + 1);
        for (long t = 0; t <= n; ++t) distances[t] = std::fabs(values[t] - centre);
        double deviation = median(distances, n + 1);
        // Mostly one value (counts, 0 and 1): the others alone say how far entries go.
        if (deviation == 0) {
            double *end = distances + n + 1, *others = std::upper_bound(distances, end, 0.0);
            if (others != end) deviation = median(others, end - others);
        }
        // That many standard deviations of normal variables.
        const double distance = reach * 1.4826 * deviation;
        Feature feature{0, 0, 0};
        for (long t = 0; t < n; ++t) feature.add_within(early[t], centre, distance);
        feature.add_within(x, centre, distance);
        return feature;
    }

    static double median(double* values, long n) {
        std::sort(values, values + n);
        return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
    }

    void put_intercept(double* z) const {
        if (intercept_)
            for (long v = 0; v < views; ++v) z[v * width] = 1.0;
    }

    double scaled(long i, double x) const {
        if (is_usual(i, x)) return scaled(i, x, with_usual(i, x));
        const Next next = with(i, x);
        return scaled(i, x, next.scale, next.units);
    }
    double scaled(long i, double x, const Feature& feature,
                  const std::optional<Units>& units = std::nullopt) const {
        const bool missing = std::isnan(x), held = holds();
        if (anchored_)
            return from_anchor(i, in_first_unit(i, missing ? feature.mean : x, feature, units));
        if (!standardize_) return missing ? feature.mean : x;
        const double mean = held ? held_[i] : feature.mean, sd = held ? held_[d + i] : feature.sd();
        return sd > 0 && !missing ? (x - mean) / sd : 0.0;
    }
    /// x, where `now` is known, within `usual` deviations, and in the unit of the anchor: of two
    /// that there were, that whose deviation is nearer to the anchor's unit.
    double in_first_unit(long i, double x, const Feature& now,
                         const std::optional<Units>& later) const {
        const double sd = now.sd(), unit = anchors_[d + i];
        if (!(sd > 0)) return x;
        x = std::min(std::max(x, now.mean - usual * sd), now.mean + usual * sd);
        if ((units_.size() == 0 && !later) || unit == 0) return x;
        const Units units = later ? *later : units_at(i);
        const Feature& other = (units.is_shown() ? units.before : units.old).feature;
        const auto distance = [&](double sd) { return std::fabs(std::log2(sd / unit)); };
        if (!(other.sd() > 0) || distance(sd) <= distance(other.sd())) return x;
        return other.mean + (x - now.mean) / sd * other.sd();
    }
    /// What has no anchor yet is 0, since it would be the anchor.
    double from_anchor(long i, double x) const {
        if (count_[i] == 0) return 0.0;
        const double distance = within_squares(x) - anchors_[i], unit = anchors_[d + i];
        if (distance == 0) return 0.0;
        return std::min(std::max(distance / (unit > 0 ? unit : power_of_2(distance)), -far), far);
    }
    void anchor(const double* x) {
        for (long i = 0; i < d; ++i) {
            if (std::isnan(x[i])) continue;
            const double entry = within_squares(x[i]);
            if (count_[i] == 0)
                anchors_[i] = entry;
            else if (anchors_[d + i] == 0 && entry != anchors_[i])
                anchors_[d + i] = power_of_2(entry - anchors_[i]);
        }
    }
    static double power_of_2(double x) { return std::max(std::exp2(Sizes::of(x)), 1e-150); }

    void put(long i, double x, double scaled, double* z) const {
        const long at = width - d + i;
        if (!standardize_) {
            z[at] = scaled;
            return;
        }
        z[at] = std::min(std::max(scaled, -reach), reach);
        if (views == 1) return;
        if (heavy_.size() > 0 && heavy_at(i).is_known()) scaled = by_logarithm(i, x);
        const double size = std::fabs(scaled);
        z[width + at] =
            size <= bend ? scaled : std::copysign(bend + std::log1p(size - bend), scaled);
    }
    [[gnu::noinline]] double by_logarithm(long i, double x) const {
        if (std::isnan(x)) return 0.0;
        Sizes sizes = holds() ? Sizes{} : sizes_at(i);
        if (units_.size() > 0 && !holds())
            if (const Next next = with(i, x); next.units && next.units->is_shown())
                sizes = next.units->strange.sizes;
        return heavy_at(i).scaled(x, sizes);
    }

    /// Whether it is decided after so many entries what a feature's tails are.
    static bool is_due(double count) {
        return count == 16 || count == 32 || count == 64 || count == 128 || count == 256;
    }
    [[gnu::noinline]] void review(long i) {
        const double* early = early_ + i * kept;
        if (!logarithms_ || holds() || std::isnan(early[kept - 1])) return;
        if (heavy_.size() > 0 && heavy_at(i).is_known()) return;
        const Feature known{count_[i], mean_[i], square_[i]};
        const double rms = std::hypot(known.mean, known.sd());
        const Heavy heavy = Heavy::of(early, kept, sizes_at(i), rms, known.sd());
        if (!heavy.is_known()) return;
        if (heavy_.size() == 0) expect_heavy();
        heavy_at(i) = heavy;
    }

    bool intercept_, standardize_, logarithms_, anchored_;
    Buffer count_, mean_, square_, sizes_, early_;
    Buffer anchors_;  // the first entry of each feature, then the units; 0: not known yet
    Buffer heavy_;    // of each feature a Heavy; nothing as long as no tails were
    Buffer units_;    // of each feature; nothing as long as no entry was foreign
    Buffer held_;     // mean and deviation that were held, and whether they still are; or nothing
};

}  // namespace MIXABLE_ISA
