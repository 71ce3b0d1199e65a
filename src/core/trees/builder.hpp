// The ensemble that is built on the rows of a ring, in units of work that are counted.
#pragma once

#include "build.hpp"

namespace MIXABLE_ISA {
namespace trees {

constexpr long first_rows = 20;     // before the first ensemble
constexpr double growth = 1.41;     // of the rows, from one ensemble to the next
constexpr double one_more = 1.03;   // of the rows, from one more tree to the next
constexpr double largest_step = 4;  // before that
/// Does the work, one unit after the other.
class Builder : protected Build {
   protected:
    using Build::Build;

    /// The shrinkage of an ensemble that is begun now.
    virtual double next_rate() const = 0;

    double unit() {
        switch (Stage(stage_)) {
            case idle:
                return decide();
            case binning:
                return find_bins();
            case quantising:
                return quantise_rows();
            case pending:
                return take_pending();
            case gradients:
                return find_gradients();
            case sampling:
                return sample_rows();
            case growing:
                return grow();
            case leaves:
                return fill_leaves();
            case add:
                return add_values();
        }
        return 0;
    }
    /// Begins a new ensemble, or one more tree, if that is due.
    double decide() {
        const long n = ring_.n();
        if (n < first_rows) return 0;
        const double start = double(live_.start);
        if (live_.trees() == 0 || live_.start == 0 ||
            double(n) >= std::min(growth * start, start + double(ring_.most))) {
            builds_ = 1;
            next_ = Ensemble(ring_.d, ring_.C, classes_);
            next_.start = n;
            next_.rate = next_rate();
            next_.times = is_thorough_ ? thorough : 1;
            is_thorough_ = 0;
            next_.set_base(ring_);
            codes_.clear();
            F_.clear();
            enter(binning);
            return 500 + 4 * double(ring_.size());
        }
        if (double(n) >= one_more * double(last_) && live_.trees() < live_.times * most_trees) {
            builds_ = 0;
            last_ = n;
            enter(pending);
            return 100;
        }
        return 0;
    }

    double find_bins() {
        if (at_ == D) {
            ready_ = ring_.n();
            enter(quantising);
            return 10;
        }
        const long most = next_.times > 1 ? ring_.most : bin_sample;
        next_.bins.find(ring_, at_++, most);
        const double rows = double(std::min(ring_.size(), most));
        return 500 + rows * (12 + 4 * std::log2(rows));
    }

    void quantise(long slot) {
        if (slots() <= slot) {
            codes_.resize(std::size_t((slot + 1) * D));
            F_.resize(std::size_t((slot + 1) * M));
        }
        target().bins.quantise(ring_.x(slot), ring_.keys(slot), codes_.data() + slot * D);
    }

    double quantise_rows() {
        const long rows = std::min(256L, ring_.size() - at_);
        for (long i = 0; i < rows; ++i, ++at_) {
            quantise(at_);
            for (long k = 0; k < M; ++k)
                F_[std::size_t(at_ * M + k)] = float(next_.base[std::size_t(k)]);
        }
        if (at_ == ring_.size()) enter(pending);
        return double(rows * (12 * D + 3 * M)) + 50;
    }

    /// Rows that have come meanwhile.
    double take_pending() {
        ready_ = std::max(ready_, ring_.n() - ring_.size());
        const long rows = std::min(64L, ring_.n() - ready_);
        for (long i = 0; i < rows; ++i, ++ready_) {
            const long slot = ready_ % ring_.most;
            quantise(slot);
            target().score(codes_.data() + slot * D, nullptr, F_.data() + slot * M, false);
        }
        if (ready_ == ring_.n()) begin_tree();
        return double(rows) * double(12 * D + target().trees() * (50 + 3 * M)) + 50;
    }

    void begin_tree() {
        const std::size_t n = std::size_t(slots());
        g_.resize(n * std::size_t(M));
        size_.resize(n);
        weight_.resize(n);
        leaf_.resize(n);
        grower_.sums.resize(n * std::size_t(grower_.lanes));
        total_ = total_weight_ = 0;
        mass_.assign(std::size_t(M), 0.0);
        enter(gradients);
    }

    double find_gradients() {
        if (at_ == 0 && ring_.n() - ready_ > ring_.most / 2) {  // it was inactive for long
            enter(pending);
            return 50;
        }
        // Slots whose rows have come since the others were made ready are no part of this tree.
        const long rows = std::min(1024L, slots() - at_), pending_from = ready_ % ring_.most,
                   pending_rows = ring_.n() - ready_;
        target().gradients(F_.data() + at_ * M, ring_.ys(at_), rows, g_.data() + at_ * M);
        for (long i = 0; i < rows; ++i, ++at_) {
            const std::size_t slot = std::size_t(at_);
            const long since = at_ - pending_from + (at_ < pending_from ? ring_.most : 0);
            size_[slot] = -1;
            if (since < pending_rows) continue;
            const float *g = g_.data() + at_ * M, w = float(ring_.weight(at_));
            float square = 0;
            for (long k = 0; k < M; ++k) {
                square += g[k] * g[k];
                mass_[std::size_t(k)] += double(w * std::fabs(g[k]));
            }
            weight_[slot] = w;
            size_[slot] = w * std::sqrt(square);
            total_ += double(size_[slot]);
            total_weight_ += double(w);
        }
        if (at_ == slots()) {
            choose();
            enter(sampling);
        }
        return double(rows) * double(M == 1 ? 25 : 30 + 10 * M) + 50;
    }

    /// What the next tree looks at: some classes, drawn by what they lack, and columns, those that
    /// have gained most and some others.
    void choose() {
        const Key salt = joined(Key(ring_.n()), Key(target().trees() + builds_ * most_trees));
        choose_classes(salt);
        grower_.columns.resize(std::size_t(D));
        for (long j = 0; j < D; ++j) grower_.columns[std::size_t(j)] = std::int32_t(j);
        if (D > Grower::most_columns) choose_columns(salt);
        grower_.factor = factor();
        grower_.by_chance = noise();
        const double n = double(slots());
        grower_.least_rows = std::max(long(std::min(10.0, n / 100)), 1L);
        const double most = std::min({double(most_leaves), std::max(31.0, 0.35 * std::sqrt(n)),
                                      std::max(4.0, 4000.0 / double(M))});
        grower_.leaves_wanted = long(std::clamp(n / 40, 4.0, most));
        grower_.order.clear();
        set_units();
        salt_ = {salt};
    }
    /// Classes are drawn in the order in which they came: what they are called makes no difference.
    void choose_classes(Key salt) {
        std::vector<long> left;
        for (long i = 0; i < ring_.size() && long(left.size()) < M && M > 1; ++i) {
            const long k = long(ring_.y(i));
            if (std::find(left.begin(), left.end(), k) == left.end()) left.push_back(k);
        }
        for (long k = 0; k < M; ++k)
            if (std::find(left.begin(), left.end(), k) == left.end()) left.push_back(k);
        grower_.classes.clear();
        while (long(grower_.classes.size()) < std::min(M, Grower::most_classes)) {
            std::size_t at = 0;
            if (M > Grower::most_classes) {
                double sum = 0;
                for (const long k : left) sum += mass_[std::size_t(k)];
                double rest = sum * uniform(salt, Key(grower_.classes.size()));
                while (at + 1 < left.size() && rest >= mass_[std::size_t(left[at])])
                    rest -= mass_[std::size_t(left[at++])];
            }
            grower_.classes.push_back(std::int32_t(left[at]));
            left.erase(left.begin() + long(at));
        }
    }
    void choose_columns(Key salt) {
        const auto gain = [&](long j) {
            return live_.gains[std::size_t(j)] + next_.gains[std::size_t(j)];
        };
        auto& columns = grower_.columns;
        const long most = Grower::most_columns;
        std::sort(columns.begin(), columns.end(),
                  [&](long a, long b) { return gain(a) != gain(b) ? gain(a) > gain(b) : a < b; });
        std::sort(columns.begin() + most / 2, columns.end(), [&](long a, long b) {
            const Key one = joined(salt, Key(a)), two = joined(salt, Key(b));
            return one != two ? one < two : a < b;
        });
        columns.resize(std::size_t(most));
        std::sort(columns.begin(), columns.end());
    }
    static double uniform(Key salt, Key of) { return double(joined(salt, of) >> 11) * 0x1p-53; }

    /// A row is a part of the tree with a probability in proportion to its gradient, about half of
    /// all; then it counts for several.
    double sample_rows() {
        const long n = slots(), rows = std::min(1024L, n - at_), lanes = grower_.lanes;
        const double mean = total_ / double(n), least = 0.1 * mean, most = 2 * mean;
        const auto& classes = grower_.classes;
        const double g_part = 1 / grower_.g_unit,
                     h_part = 1 / (grower_.h_unit * double(classes.size()));
        const auto weight = [&](long slot, double size) {
            const double w = double(weight_[std::size_t(slot)]);
            return n >= sampled_rows && size < most ? w * (most / size) : w;
        };
        const auto size_of = [&](long slot) {
            return std::max(double(size_[std::size_t(slot)]), least);
        };
        auto& order = grower_.order;
        const std::size_t before = order.size();
        order.resize(before + std::size_t(rows));
        std::size_t chosen = before;
        for (const long end = at_ + rows; at_ < end; ++at_) {  // no branches to be guessed wrong
            const double size = size_of(at_);
            order[chosen] = std::int32_t(at_);
            chosen += (size_[std::size_t(at_)] >= 0) & (total_ > 0) &
                      ((n < sampled_rows) | (uniform(salt_[0], Key(at_)) * most < size));
        }
        order.resize(chosen);
        for (std::size_t i = before; i < chosen; ++i) {
            const long slot = order[i];
            const double w = weight(slot, size_of(slot));
            const float* g = g_.data() + slot * M;
            std::int32_t* sums = grower_.sums.data() + slot * lanes;
            double h = 0;
            for (std::size_t c = 0; c < classes.size(); ++c) {
                sums[c] = nearest(w * double(g[classes[c]]) * g_part);
                h += double(live_.curvature(g[classes[c]]));
            }
            for (long c = long(classes.size()); c < lanes - 2; ++c) sums[c] = 0;
            sums[lanes - 2] = nearest(w * h * h_part);
            sums[lanes - 1] = 1;
        }
        if (at_ == n) {
            grower_.begin(target().bins);
            std::fill(leaf_.begin(), leaf_.end(), unknown_leaf);
            enter(growing);
        }
        return double(rows) * double(15 + 4 * long(classes.size())) + 50;
    }
    /// Numbers of a forged file may be of any size.
    static std::int32_t nearest(double x) {
        constexpr double most = 1 << 30;
        return std::fabs(x) < most ? std::int32_t(x + (x < 0 ? -0.5 : 0.5)) : 0;
    }
    /// Sums of the rows in a tree cannot be larger than these: a row counts for 20 at most, and
    /// then as one of twice the mean gradient. A curvature is at most twice the gradient.
    void set_units() {
        const double g = 3 * total_, h = classes_ ? 2 * g : 20 * total_weight_;
        grower_.g_unit = g > 0 ? g / Grower::largest_sum : 1;
        grower_.h_unit = h > 0 ? h / Grower::largest_sum : 1;
    }

    double grow() {
        if (!grower_.is_done()) return grower_.work(codes_.data(), D, target().bins);
        G_.assign(std::size_t(grower_.leaves() * M), 0.0);
        H_.assign(std::size_t(grower_.leaves() * M), 0.0);
        grower_.write_leaves(leaf_.data());
        enter(leaves);
        return 50 + double(grower_.order.size());
    }

    /// Values of leaves come from all rows, not from those alone that were in the tree.
    double fill_leaves() {
        const long rows = std::min(1024L, slots() - at_), end = at_ + rows;
        const auto& nodes = grower_.nodes();
        static const Node none;
        const Node* const first = nodes.empty() ? &none : nodes.data();
        const Node* const tree[4] = {first, first, first, first};
        const long count = long(nodes.size()), counts[4] = {count, count, count, count};
        const std::uint8_t* codes[4];
        long leaf[4], slot[4], waiting = 0, routed = 0;
        const auto find = [&] {
            for (long i = waiting; i < 4; ++i) codes[i] = codes[0];
            leaves_of(tree, counts, codes, leaf);
            for (long i = 0; i < waiting; ++i) leaf_[std::size_t(slot[i])] = std::uint8_t(leaf[i]);
            waiting = 0;
        };
        for (long i = at_; i < end; ++i) {
            if (leaf_[std::size_t(i)] != unknown_leaf) continue;
            slot[waiting] = i;
            codes[waiting++] = codes_.data() + i * D;
            ++routed;
            if (waiting == 4) find();
        }
        if (waiting) find();
        for (; at_ < end; ++at_) {
            const std::size_t row = std::size_t(at_);
            if (size_[row] < 0) continue;
            const float w = weight_[row], *g = g_.data() + at_ * M;
            double *G = G_.data() + leaf_[row] * M, *H = H_.data() + leaf_[row] * M;
            for (long k = 0; k < M; ++k) {
                G[k] += double(w * g[k]);
                H[k] += double(w * live_.curvature(g[k]));
            }
        }
        if (at_ == slots()) end_tree();
        return double(rows) * double(5 + 4 * M) + 30 * double(routed) + 50;
    }
    void end_tree() {
        value_.resize(G_.size());
        std::vector<float> curvature(G_.size());
        for (std::size_t i = 0; i < G_.size(); ++i) {
            const double step = std::clamp(G_[i] / (H_[i] + 1), -largest_step, largest_step);
            value_[i] = float(target().rate / double(target().times) * step);
            curvature[i] = float(H_[i] + 1);
        }
        target().add(grower_.nodes(), value_, curvature);
        const double noise = grower_.noise();
        for (std::size_t i = 0; i < grower_.nodes().size(); ++i)
            target().gains[std::size_t(grower_.nodes()[i].column)] +=
                std::max(grower_.gains()[i] - noise, 0.0);
        enter(add);
    }

    double add_values() {
        const long rows = std::min(4096L, slots() - at_);
        for (long i = 0; i < rows; ++i, ++at_) {
            const float* v = value_.data() + leaf_[std::size_t(at_)] * M;
            for (long k = 0; k < M; ++k) F_[std::size_t(at_ * M + k)] += v[k];
        }
        if (at_ == slots()) after_tree();
        return double(rows) * double(2 + M) + 50;
    }
    void after_tree() {
        const double wanted =
            100 * double(next_.times) * std::clamp(double(next_.start) / 3000, 0.3, 1.0);
        const bool is_over = double(next_.trees()) >= wanted || grower_.leaves() == 1;
        if (builds_ && !is_over) return enter(pending);
        if (builds_) {
            live_ = std::move(next_);
            next_ = Ensemble(ring_.d, ring_.C, classes_);
            last_ = live_.start;
        }
        enter(idle);
    }

    static constexpr long sampled_rows = 500;  // from which on only some rows are in a tree
};

}  // namespace trees
}  // namespace MIXABLE_ISA
