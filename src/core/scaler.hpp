// Causal standardisation: each input is scaled by the running mean and variance of what was learned
// before and itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "visitor.hpp"

namespace MIXABLE_ISA {

/// Turns a raw row of d numbers into `views` rows of a forecaster's inputs, one after the other:
/// first the intercept (if wanted), then the features. The first view is linear, clipped to +-10
/// standard deviations; the second is linear up to +-1 and grows as the logarithm beyond, for heavy
/// tails. A missing entry (NaN) is taken to be the mean. No outlier spoils the statistics: an entry
/// more than 10 standard deviations away counts as 10, where the first 16 entries, which are kept,
/// are judged all together by their median, and later ones by those before them.
class Scaler {
   public:
    Scaler(long features, bool intercept, bool standardize, long views)
        : d(features),
          width((intercept ? 1 : 0) + features),
          views(views),
          intercept_(intercept),
          standardize_(standardize),
          count_(d),
          mean_(d),
          square_(d),
          early_(d * kept) {
        std::fill_n(static_cast<double*>(early_), d * kept, std::nan(""));
    }

    const long d, width, views;
    static constexpr long kept = 16;  // entries of a feature that are kept and judged together

    /// z (views x width) of the row x, as if it were the next to be learned.
    void transform(const double* x, double* z) const {
        put_intercept(z);
        for (long i = 0; i < d; ++i) put(i, scaled(i, x[i], with(i, x[i])), z);
    }
    /// The same in two steps: s (d) is the row scaled, z its views. So a row whose label comes late
    /// is learned as it was scaled for its forecast.
    void scale(const double* x, double* s) const {
        for (long i = 0; i < d; ++i) s[i] = scaled(i, x[i], with(i, x[i]));
    }
    void spread(const double* s, double* z) const {
        put_intercept(z);
        for (long i = 0; i < d; ++i) put(i, s[i], z);
    }
    /// The same, and x is learned.
    void learn(const double* x, double* z) {
        put_intercept(z);
        if (!holds()) held_ = Buffer();
        for (long i = 0; i < d; ++i) {
            const Feature feature = with(i, x[i]);
            put(i, scaled(i, x[i], feature), z);
            if (feature.count > count_[i] && are_kept(i))
                early_[i * kept + long(count_[i])] = within_squares(x[i]);
            count_[i] = feature.count;
            mean_[i] = feature.mean;
            square_[i] = feature.square;
        }
    }

    /// The mean and the standard deviation of each feature; 0 where nothing has varied.
    void moments(double* mean, double* sd) const {
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
    }
    /// Rows are scaled by all statistics again. The scale that was held is known until the next row
    /// is learned: it is that of all rows since.
    void release() { std::fill_n(held_ + 2 * d, holds() ? d : 0, 0.0); }
    bool holds() const { return held_.size() > 0 && (d == 0 || held_[2 * d] != 0); }

    /// One like this that has learned nothing.
    Scaler empty() const { return Scaler(d, intercept_, standardize_, views); }

    /// Whether it makes the same of rows, apart from the intercept, if it knows the same.
    bool is_like(const Scaler& other) const {
        return d == other.d && views == other.views && standardize_ == other.standardize_;
    }
    /// Whether it makes the same of all rows to come.
    bool knows_the_same(const Scaler& other) const {
        return is_like(other) && count_ == other.count_ && mean_ == other.mean_ &&
               square_ == other.square_ && early_ == other.early_ && held_ == other.held_;
    }

    void adopt(const Scaler& other) {
        for (auto [mine, theirs] : {std::pair{&count_, &other.count_},
                                    {&mean_, &other.mean_},
                                    {&square_, &other.square_}})
            copy(*theirs, other.d, *mine);
        copy(other.early_, other.d * kept, early_);
        held_ = Buffer();
        if (other.held_.size() == 0) return;
        held_ = Buffer(3 * d);
        for (long row = 0; row < 3; ++row)
            copy(other.held_ + row * other.d, other.d, held_ + row * d);
        std::fill_n(held_ + 2 * d, d, other.holds() ? 1.0 : 0.0);
    }
    /// Makes room for a scale that was held, before `visit` reads it.
    void expect_held() { held_ = Buffer(3 * d); }

    void visit(Visitor& visitor) {
        visitor("count", count_, 1L, d, d);
        visitor("mean", mean_, 1L, d, d);
        visitor("square", square_, 1L, d, d);
        visitor("early", early_, d, kept, kept);
        if (held_.size() > 0) visitor("held", held_, 3L, d, d);
    }

    /// Whether the statistics can be some that `learn` made; after `visit` has written them.
    bool sound() const {
        for (long i = 0; i < d; ++i) {
            if (!(count_[i] >= 0 && count_[i] < 1e15 && count_[i] == std::floor(count_[i]) &&
                  std::fabs(mean_[i]) <= largest && square_[i] >= 0))
                return false;
            const double *begin = early_ + i * kept, *end = begin + std::min(long(count_[i]), kept);
            const long missing = std::count_if(begin, end, [](double x) { return std::isnan(x); });
            if (missing != 0 && missing != end - begin) return false;
            if (std::any_of(begin, end, [](double x) { return std::fabs(x) > largest; }))
                return false;
        }
        for (long i = 0; i < held_.size() / 3; ++i)
            if (!(std::fabs(held_[i]) <= largest && held_[d + i] >= 0 && held_[d + i] <= largest &&
                  held_[2 * d + i] == held_[2 * d] && (held_[2 * d] == 0 || held_[2 * d] == 1)))
                return false;
        return true;
    }

   private:
    static constexpr double largest = 1e150;  // entry that counts, so that squares are finite
    // Standard deviations that count, in the statistics and in the linear view.
    static constexpr double reach = 10;
    static constexpr double bend = 1;  // where the second view ceases to be linear

    struct Feature {
        double count, mean,
            square;  // Welford's: how many, their mean, their squared distance from it

        double sd() const { return std::sqrt(square / std::max(count, 1.0)); }

        void add(double x) {
            count += 1;
            const double step = x - mean;
            mean += step / count;
            square += step * (x - mean);
        }
        void add_within(double x, double centre, double distance) {
            add(std::min(std::max(x, centre - distance), centre + distance));
        }
    };

    static double within_squares(double x) { return std::min(std::max(x, -largest), largest); }

    /// Whether all entries of feature i so far are kept. Not so for more than that; nor in models
    /// that were saved before early entries were: there all are judged like later ones.
    bool are_kept(long i) const {
        return count_[i] < kept &&
               (count_[i] == 0 || !std::isnan(early_[i * kept + long(count_[i]) - 1]));
    }

    /// The statistics of feature i with one more entry.
    Feature with(long i, double x) const {
        Feature feature{count_[i], mean_[i], square_[i]};
        if (std::isnan(x)) return feature;
        if (are_kept(i))
            return judged_together(early_ + i * kept, long(feature.count), within_squares(x));
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

    double scaled(long i, double x, const Feature& feature) const {
        const bool missing = std::isnan(x), held = holds();
        if (!standardize_) return missing ? feature.mean : x;
        const double mean = held ? held_[i] : feature.mean, sd = held ? held_[d + i] : feature.sd();
        return sd > 0 && !missing ? (x - mean) / sd : 0.0;
    }
    void put(long i, double scaled, double* z) const {
        const long at = width - d + i;
        if (!standardize_) {
            z[at] = scaled;
            return;
        }
        const double size = std::fabs(scaled);
        z[at] = std::min(std::max(scaled, -reach), reach);
        if (views > 1)
            z[width + at] =
                size <= bend ? scaled : std::copysign(bend + std::log1p(size - bend), scaled);
    }

    bool intercept_, standardize_;
    Buffer count_, mean_, square_, early_;
    Buffer held_;  // mean and deviation that were held, and whether they still are; or nothing
};

}  // namespace MIXABLE_ISA
