// One tree as it grows: histograms, the best split of each leaf, the best leaf next.
#pragma once

#include "ensemble.hpp"

namespace MIXABLE_ISA {
namespace trees {

/// Sums in histograms are whole numbers: they are exact, so that the order in which rows are added,
/// and subtracting one child from its parent, make no difference.
class Grower {
   public:
    static constexpr long most_columns = 96, most_classes = 6;  // that a tree looks at
    static constexpr double largest_sum = 1 << 30;

    explicit Grower(long M) : lanes(M == 1 ? 4 : 8) {}

    /// Numbers of a row: the gradient of some classes, and at the end the curvature and 1.
    const long lanes;
    std::vector<std::int32_t> classes, columns;
    std::vector<std::int32_t> order;  // the rows (slots), those of a leaf side by side
    std::vector<std::int32_t> sums;   // (slots x lanes)
    double g_unit = 1, h_unit = 1;    // what 1 stands for
    double factor = 1;                // of a gain: outputs that one gradient stands for
    double by_chance = 1;             // the square of a gradient by chance
    long least_rows = 1, leaves_wanted = 2;

    const std::vector<Node>& nodes() const { return nodes_; }
    const std::vector<double>& gains() const { return gains_; }
    long leaves() const { return long(leaf_.size()); }
    bool is_done() const { return stage_ == done; }

    /// Room for all that a tree of so many rows and columns can need.
    void reserve(long rows, long width) {
        order.reserve(std::size_t(rows));
        aside_.reserve(std::size_t(rows));
        sums.reserve(std::size_t(rows * lanes));
        histograms_.reserve(
            std::size_t(most_leaves * std::min(width, most_columns) * trees::bins * lanes));
    }

    /// The root has all rows.
    void begin(const Bins& bins) {
        set_places(bins);
        nodes_.clear();
        gains_.clear();
        leaf_.assign(1, {});
        leaf_[0].end = long(order.size());
        small_ = 0;
        big_ = -1;
        at_ = 0;
        stage_ = columns.empty() || long(order.size()) < 2 * least_rows ? done : count;
        clear(leaf_[0]);
    }

    /// What the best split on columns that say nothing would gain: about the largest of as many
    /// chi-squared numbers as there are splits.
    double noise() const {
        double square = 0, curvature = 0;
        for (const long row : order) {
            const std::int32_t* mine = sums.data() + row * lanes;
            for (long c = 0; c < lanes - 2; ++c) square += double(mine[c]) * double(mine[c]);
            curvature += double(mine[lanes - 2]) * h_unit;
        }
        const double k = double(classes.size()),
                     splits = std::log(double(trees::bins) * double(columns.size()));
        const double one = factor * g_unit * g_unit * square / (k * (curvature + 1));
        return one * (k + 2 * std::sqrt(k * splits) + 2 * splits);
    }

    /// Notes the leaf of each row of the tree, by slot.
    void write_leaves(std::uint8_t* leaf) const {
        for (std::size_t l = 0; l < leaf_.size(); ++l)
            for (long i = leaf_[l].begin; i < leaf_[l].end; ++i)
                leaf[order[std::size_t(i)]] = std::uint8_t(l);
    }

    /// Some work, at most about 100 us; returns how many nanoseconds, roughly. Codes are those of
    /// all slots (slots x width).
    double work(const std::uint8_t* codes, long width, const Bins& bins) {
        if (stage_ == count) return add_rows(codes, width);
        if (stage_ == search_small || stage_ == search_big) {
            search_leaf(leaf_[std::size_t(stage_ == search_small ? small_ : big_)], bins);
            stage_ = stage_ == search_small && big_ >= 0 ? search_big : split;
            return double(columns.size()) * double(trees::bins) * (lanes == 4 ? 4 : 7);
        }
        return divide(codes, width);
    }

    void visit(TreeVisitor& visitor) {
        visitor("tree_classes", classes);
        visitor("tree_columns", columns);
        visitor("tree_order", order);
        visitor("tree_sums", sums);
        visitor("tree_g_unit", g_unit);
        visitor("tree_h_unit", h_unit);
        visitor("tree_least_rows", least_rows);
        visitor("tree_leaves_wanted", leaves_wanted);
        visit_nodes(visitor, "tree_", nodes_);
        visitor("tree_gains", gains_);
        visitor("tree_stage", stage_);
        visitor("tree_small", small_);
        visitor("tree_big", big_);
        visitor("tree_at", at_);
        std::vector<std::int32_t> ends;
        for (const Leaf& leaf : leaf_) {
            ends.push_back(std::int32_t(leaf.begin));
            ends.push_back(std::int32_t(leaf.end));
        }
        const std::vector<std::int32_t> before = ends;
        visitor("tree_leaves", ends);
        if (ends == before) return;  // it was saved
        leaf_.assign(ends.size() / 2, {});
        for (std::size_t i = 0; i < leaf_.size(); ++i) {
            leaf_[i].begin = ends[2 * i];
            leaf_[i].end = ends[2 * i + 1];
        }
    }
    /// After a visit: computes what is not saved; false if the contents are not some that growing
    /// made. Before it has begun there are rows, classes and columns only.
    bool complete(const std::uint8_t* codes, long slots, long width, const Bins& bins, long M,
                  bool has_begun) {
        if (!is_valid_plan(slots, width, M)) return false;
        if (!has_begun) return true;
        if (!is_valid(slots, width)) return false;
        set_places(bins);
        for (std::size_t i = 0; i < nodes_.size(); ++i)
            for (const long side : {0L, 1L})
                if (const long child = nodes_[i].child[side]; child < 0) {
                    leaf_[std::size_t(-1 - child)].parent = long(i);
                    leaf_[std::size_t(-1 - child)].side = side;
                }
        if (stage_ == done) return true;
        for (long l = 0; l < leaves(); ++l) {
            Leaf& leaf = leaf_[std::size_t(l)];
            leaf.slot = l;
            clear(leaf);
            const bool is_small = stage_ == count && l == small_;
            add(leaf, leaf.begin, is_small ? leaf.begin + at_ : leaf.end, codes, width);
            if (stage_ == count && l == big_) {  // it still has the rows of its parent
                const Leaf& small = leaf_[std::size_t(small_)];
                add(leaf, small.begin, small.end, codes, width);
            }
        }
        for (long l = 0; l < leaves(); ++l) {
            const bool waits =
                stage_ < split && (l == big_ || (l == small_ && stage_ < search_big));
            if (!waits) search_leaf(leaf_[std::size_t(l)], bins);
        }
        return true;
    }
    double bytes() const { return 4.0 * double(histograms_.size() + order.size() + sums.size()); }

   private:
    enum Stage : long { count, search_small, search_big, split, done };

    struct Leaf {
        long begin = 0, end = 0;     // of its rows
        long parent = -1, side = 0;  // the node above
        long slot = 0;               // of its histogram
        double gain = 0;             // of the best split; 0: there is none
        long column = 0;
        std::uint64_t mask = 0;
        long size() const { return end - begin; }
    };

    using Lanes = std::int32_t __attribute__((vector_size(16), aligned(4)));
    using Pair = double __attribute__((vector_size(16)));
    using Two = std::int32_t __attribute__((vector_size(8)));
    /// A histogram has the bins of each column that codes can be in, a multiple of 4.
    void set_places(const Bins& bins) {
        place_.assign(1, 0);
        for (const long column : columns)
            place_.push_back(place_.back() + std::int32_t((bins.last(column) / 4 + 1) * 4 * lanes));
    }
    long histogram_size() const { return place_.back(); }
    /// What work on histograms is counted as.
    double counted_size() const { return double(long(columns.size()) * trees::bins * lanes); }
    std::int32_t* histogram(const Leaf& leaf) {
        return histograms_.data() + leaf.slot * histogram_size();
    }
    void clear(const Leaf& leaf) {
        const std::size_t end = std::size_t((leaf.slot + 1) * histogram_size());
        if (histograms_.size() < end) histograms_.resize(end);
        std::fill_n(histogram(leaf), histogram_size(), 0);
    }

    /// Adds rows to the histogram of a leaf.
    void add(const Leaf& leaf, long from, long to, const std::uint8_t* codes, long width) {
        std::int32_t* all = histogram(leaf);
        const long columns_here = long(columns.size());
        const std::int32_t *column = columns.data(), *place = place_.data();
        for (long i = from; i < to; ++i) {
            const long row = order[std::size_t(i)];
            const std::uint8_t* code = codes + row * width;
            const auto* mine = reinterpret_cast<const Lanes*>(sums.data() + row * lanes);
            const Lanes first = mine[0];
            if (lanes == 4) {
                for (long c = 0; c < columns_here; ++c) {
                    auto* to_bin = reinterpret_cast<Lanes*>(all + place[c] + code[column[c]] * 4);
                    to_bin[0] += first;
                }
                continue;
            }
            const Lanes second = mine[1];
            for (long c = 0; c < columns_here; ++c) {
                auto* to_bin = reinterpret_cast<Lanes*>(all + place[c] + code[column[c]] * 8);
                to_bin[0] += first;
                to_bin[1] += second;
            }
        }
    }

    double add_rows(const std::uint8_t* codes, long width) {
        Leaf& leaf = leaf_[std::size_t(small_)];
        const long block = std::max(65536 / (long(columns.size()) + 4), 64L),
                   rows = std::min(block, leaf.size() - at_);
        add(leaf, leaf.begin + at_, leaf.begin + at_ + rows, codes, width);
        at_ += rows;
        const double cost = double(rows * (long(columns.size()) + 8)) * (lanes == 4 ? 1.2 : 2.0);
        if (at_ < leaf.size()) return cost;
        if (big_ >= 0) {
            std::int32_t* all = histogram(leaf_[std::size_t(big_)]);
            const std::int32_t* part = histogram(leaf);
            const long size = histogram_size();
            for (long i = 0; i < size; ++i) all[i] -= part[i];
        }
        stage_ = search_small;
        return cost + 0.3 * counted_size() + 100;
    }

    /// Splits the leaf that gains most by it.
    double divide(const std::uint8_t* codes, long width) {
        long best = -1;
        for (long l = 0; l < leaves(); ++l)
            if (leaf_[std::size_t(l)].gain > (best < 0 ? 0 : leaf_[std::size_t(best)].gain))
                best = l;
        if (best < 0 || leaves() >= leaves_wanted) {
            stage_ = done;
            return 200;
        }
        Leaf left = leaf_[std::size_t(best)], right = left;
        const long node = long(nodes_.size()), rows = left.size();
        Node made;
        made.mask = left.mask;
        made.column = std::int32_t(left.column);
        made.child[0] = std::int16_t(-1 - best);
        made.child[1] = std::int16_t(-1 - leaves());
        if (left.parent >= 0)
            nodes_[std::size_t(left.parent)].child[left.side] = std::int16_t(node);
        nodes_.push_back(made);
        gains_.push_back(left.gain);
        // Rows stay in their order on both sides. No branches: half of them would be guessed wrong.
        aside_.resize(std::size_t(rows));
        long kept = left.begin, moved = 0;
        for (long i = left.begin; i < left.end; ++i) {
            const std::int32_t row = order[std::size_t(i)];
            const bool right_of_it = made.mask >> codes[row * width + made.column] & 1;
            order[std::size_t(kept)] = aside_[std::size_t(moved)] = row;
            moved += right_of_it;
            kept += !right_of_it;
        }
        std::copy_n(aside_.begin(), moved, order.begin() + kept);
        left.end = right.begin = kept;
        left.parent = right.parent = node;
        left.side = 0;
        right.side = 1;
        left.gain = right.gain = 0;
        const bool left_is_small = left.size() <= right.size();
        (left_is_small ? left : right).slot = leaves();  // the other has that of the parent
        small_ = left_is_small ? best : leaves();
        big_ = left_is_small ? leaves() : best;
        at_ = 0;
        leaf_[std::size_t(best)] = left;
        leaf_.push_back(right);
        if (leaves() >= leaves_wanted) {  // nobody will ask for their splits
            stage_ = done;
        } else {
            clear(leaf_[std::size_t(small_)]);
            stage_ = count;
        }
        return 6.0 * double(rows) + 0.1 * counted_size() + 300;
    }

    /// Sums of gradients (those of the classes), curvature, rows.
    template <long L>
    struct Sums {
        Lanes part[L / 4] = {};
        void add(const std::int32_t* bin) {
            for (long i = 0; i < L / 4; ++i) part[i] += reinterpret_cast<const Lanes*>(bin)[i];
        }
        std::int32_t lane(long l) const { return part[l / 4][l % 4]; }
        long rows() const { return lane(L - 1); }
    };
    /// Splits of a column: what is left of each.
    struct Splits {
        static constexpr long most = trees::bins + 1;
        Lanes sums[2][most];  // those of the first four lanes, of the others
        double score[most];
        std::uint64_t left[most];
        long count = 0;
    };
    struct Try {
        double score = 0, penalty = 0;
        std::uint64_t right = 0;  // bins that go right; 0: there is no split
    };

    void search_leaf(Leaf& leaf, const Bins& bins) {
        leaf.gain = 0;
        if (leaf.size() < 2 * least_rows) return;
        lanes == 4 ? search<4>(leaf, bins) : search<8>(leaf, bins);
    }
    /// Finds the best split of a leaf.
    template <long L>
    void search(Leaf& leaf, const Bins& bins) {
        const std::int32_t* first = histogram(leaf);
        Sums<L> all;
        for (long b = 0; b < place_[1]; b += L) all.add(first + b);
        Splits none;
        keep(Sums<L>{}, 0, none, none.count++);
        const double before = score(all, none), unit = factor * g_unit * g_unit;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const std::int32_t* column = first + place_[c];
            Try best;
            if (bins.is_category(columns[c]))
                search_categories(column, all, bins.last(columns[c]), best);
            else
                search_numbers(column, all, bins.last(columns[c]), best);
            const double gain = (best.score - before) * unit - best.penalty;
            if (best.right && gain > leaf.gain + 1e-9) {
                leaf.gain = gain;
                leaf.column = columns[c];
                leaf.mask = best.right;
            }
        }
    }

    template <long L>
    static void keep(const Sums<L>& left, std::uint64_t bins_left, Splits& splits, long i) {
        for (long part = 0; part < L / 4; ++part) splits.sums[part][i] = left.part[part];
        splits.left[i] = bins_left;
    }
    /// Lane l of two splits, as numbers.
    static Pair two(const Splits& splits, long i, long l) {
        const Lanes* at = splits.sums[l / 4] + i;
        return __builtin_convertvector((Two{at[0][l % 4], at[1][l % 4]}), Pair);
    }
    /// What both sides of each split have together: sum of G^2 / (H + 1). Returns the largest.
    template <long L>
    double score(const Sums<L>& all, Splits& splits) const {
        const double of_all = double(all.lane(L - 2)), unit = h_unit;
        for (long part = 0; part < L / 4; ++part)  // the last may be one of two
            splits.sums[part][splits.count] = splits.sums[part][splits.count - 1];
        Pair most{};
        for (long i = 0; i < splits.count; i += 2) {
            Pair of_left{}, of_right{};
            for (std::size_t c = 0; c < (L == 4 ? 1 : classes.size()); ++c) {
                const Pair g = two(splits, i, long(c)), rest = double(all.lane(long(c))) - g;
                of_left += g * g;
                of_right += rest * rest;
            }
            const Pair h = two(splits, i, L - 2), a = h * unit + 1.0, b = (of_all - h) * unit + 1.0,
                       sum = (of_left * b + of_right * a) / (a * b);
            splits.score[i] = sum[0];
            splits.score[i + 1] = sum[1];
            most = sum > most ? sum : most;
        }
        return std::max(most[0], most[1]);
    }
    template <long L>
    void note(const Sums<L>& all, Splits& splits, std::uint64_t here, Try& best) const {
        constexpr long last = (L - 1) / 4;
        const auto rows = [&](long i) { return splits.sums[last][i][3]; };
        while (splits.count > 0 && all.rows() - rows(splits.count - 1) < least_rows) --splits.count;
        if (splits.count == 0) return;
        const double most = score(all, splits);
        if (best.right && !(most > best.score)) return;
        const long at = std::find(splits.score, splits.score + splits.count, most) - splits.score;
        best.score = most;
        // Bins that no row of the leaf is in go where most rows go.
        best.right = 2 * rows(at) >= all.rows() ? here & ~splits.left[at] : ~splits.left[at];
    }

    /// Splits between bins, and what is missing on either side.
    template <long L>
    void search_numbers(const std::int32_t* column, const Sums<L>& all, long last,
                        Try& best) const {
        std::uint64_t here = 0;  // bins that rows of the leaf are in
        for (long b = 0; b <= last; b += 4) {
            const std::int32_t* rows = column + b * L + L - 1;
            here |= (std::uint64_t(rows[0] != 0) | std::uint64_t(rows[L] != 0) << 1 |
                     std::uint64_t(rows[2 * L] != 0) << 2 | std::uint64_t(rows[3 * L] != 0) << 3)
                    << b;
        }
        const std::uint64_t missing = here & 1;
        std::uint64_t above = ~(missing ^ 1);  // empty bins are numbers, too
        // What is missing alone is on the right side of the last split, if anything is.
        if (!missing) here &= ~(std::uint64_t(1) << last);
        for (const bool with_missing : {false, true}) {
            if (with_missing && !missing) return;
            Sums<L> left;
            Splits splits;
            const std::int32_t least = std::int32_t(least_rows);
            long count = 0;
            const std::uint64_t first = with_missing ? 0 : 1;
            for (std::uint64_t rest = here & ~first; rest; rest &= rest - 1) {
                const long b = __builtin_ctzll(rest);
                left.add(column + b * L);
                keep(left, (std::uint64_t(2) << b) - 1 - first, splits, count);
                count += left.rows() >= least;  // no branch, since it would be guessed wrong
            }
            splits.count = count;
            note(all, splits, above, best);
        }
    }

    /// Splits of the bins in the order of their G / (H + 1), of the class that differs most.
    template <long L>
    void search_categories(const std::int32_t* column, const Sums<L>& all, long last,
                           Try& best) const {
        long here[trees::bins], count = 0;
        std::uint64_t bins_here = 0;
        for (long b = 0; b <= last; ++b)
            if (column[b * L + L - 1] > 0) {
                here[count++] = b;
                bins_here |= std::uint64_t(1) << b;
            }
        if (count < 2) return;
        double slopes[trees::bins], own[trees::bins], most = -1;
        for (std::size_t c = 0; c < (L == 4 ? 1 : classes.size()); ++c) {
            double sum = 0;
            for (long i = 0; i < count; ++i) {
                const std::int32_t* bin = column + here[i] * L;
                own[i] = double(bin[c]) / (double(bin[L - 2]) * h_unit + 1);
                sum += own[i] * double(bin[c]);
            }
            if (!(sum > most)) continue;
            most = sum;
            for (long i = 0; i < count; ++i) slopes[here[i]] = own[i];
        }
        std::sort(here, here + count, [&](long a, long b) {
            return slopes[a] != slopes[b] ? slopes[a] < slopes[b] : a < b;
        });
        Sums<L> left;
        Splits splits;
        std::uint64_t bins_left = 0;
        for (long i = 0; i + 1 < count; ++i) {
            bins_left |= std::uint64_t(1) << here[i];
            left.add(column + here[i] * L);
            keep(left, bins_left, splits, splits.count);
            splits.count += left.rows() >= least_rows;
        }
        note(all, splits, bins_here, best);
        best.penalty = 0.5 * by_chance * double(count - 2);
    }

    bool is_valid_plan(long slots, long width, long M) const {
        const auto are_below = [](const std::vector<std::int32_t>& values, long end) {
            return std::all_of(values.begin(), values.end(),
                               [end](long v) { return v >= 0 && v < end; });
        };
        return !(classes.empty() || long(classes.size()) > lanes - 2 || !are_below(classes, M) ||
                 columns.empty() != (width == 0) || long(columns.size()) > most_columns ||
                 !are_below(columns, width) || long(order.size()) > slots ||
                 !are_below(order, slots) || long(sums.size()) != slots * lanes ||
                 !(g_unit > 0 && g_unit < 1e100 && h_unit > 0 && h_unit < 1e100) ||
                 least_rows < 1 || leaves_wanted < 2 || leaves_wanted > most_leaves);
    }
    bool is_valid(long slots, long width) const {
        const long n = leaves(), rows = long(order.size());
        if (n < 1 || n > leaves_wanted || rows > slots || long(nodes_.size()) != n - 1 ||
            gains_.size() != nodes_.size() || !are_nodes(nodes_.data(), n - 1, width) ||
            stage_ < count || stage_ > done || (columns.empty() && stage_ != done))
            return false;
        for (const double gain : gains_)
            if (!(gain >= 0 && gain < 1e300)) return false;
        if (small_ < 0 || small_ >= n || big_ < -1 || big_ >= n || big_ == small_) return false;
        if (stage_ == search_big && big_ < 0) return false;
        // Leaves share the rows.
        std::vector<std::pair<long, long>> ends;
        for (const Leaf& leaf : leaf_) ends.emplace_back(leaf.begin, leaf.end);
        std::sort(ends.begin(), ends.end());
        long end = 0;
        for (const auto& [from, to] : ends) {
            if (from != end || to < from) return false;
            end = to;
        }
        if (end != rows || at_ < 0 || at_ > leaf_[std::size_t(small_)].size()) return false;
        if (stage_ == done) return true;
        double total[8] = {};
        for (const long row : order) {
            for (long i = 0; i < lanes; ++i)
                total[i] += std::fabs(double(sums[std::size_t(row * lanes + i)]));
        }
        return std::all_of(total, total + 8, [](double sum) { return sum < 2147483647.0; });
    }

    std::vector<Node> nodes_;
    std::vector<double> gains_;  // of each node
    std::vector<Leaf> leaf_;
    long stage_ = done;
    long small_ = 0, big_ = -1;  // the children of the last split: the small one is counted
    long at_ = 0;                // rows of it that are in its histogram
    std::vector<std::int32_t> histograms_, aside_;
    std::vector<std::int32_t> place_ = {0};  // of each column in a histogram; its end
};

}  // namespace trees
}  // namespace MIXABLE_ISA
