// An ensemble of trees on binned columns: codes of a row, the leaf of each tree, sums of leaves.
#pragma once

#include <cmath>
#include <limits>

#include "ring.hpp"

namespace MIXABLE_ISA {
namespace trees {

constexpr long bins = 64;          // of a column; the first is for what is missing, unseen or rare
constexpr long bin_sample = 4096;  // rows that say where bins end
constexpr long most_trees = 160, most_leaves = 63;
constexpr long thorough = 3;  // times the trees, if there is time for them

/// The bins of all columns: numbers by the edges between them, categories by their keys, sorted.
class Bins {
   public:
    Bins(long d, long C)
        : d(d),
          C(C),
          edges_(std::size_t(d * bins), std::numeric_limits<double>::infinity()),
          keys_(std::size_t(C * bins)),
          count_(std::size_t(d + C)) {}

    long d, C;
    bool is_category(long column) const { return column >= d; }
    /// Codes of a column are 0 to this.
    long last(long column) const {
        const long count = count_[std::size_t(column)];
        return is_category(column) ? count : count + 1;
    }

    /// Finds those of a column, by so many rows at most.
    void find(const Ring& ring, long column, long most) {
        const long step = (ring.size() + most - 1) / most;
        if (is_category(column))
            find_keys(ring, column - d, step);
        else
            find_edges(ring, column, step);
    }

    /// The bin of each column of a row.
    void quantise(const double* x, const std::uint64_t* keys, std::uint8_t* codes) const {
        for (long j = 0; j < d; ++j) {
            const double* edge = edges_.data() + j * bins;
            long at = 0;  // edges below x[j]
            for (long step = bins / 2; step > 0; step /= 2)
                at += edge[at + step - 1] < x[j] ? step : 0;
            codes[j] = std::uint8_t(std::isnan(x[j]) ? 0 : 1 + at);
        }
        for (long c = 0; c < C; ++c) {
            const std::uint64_t *first = keys_.data() + c * bins,
                                *end = first + count_[std::size_t(d + c)];
            const std::uint64_t* at = std::lower_bound(first, end, keys[c]);
            const bool is_here = keys[c] != 0 && at != end && *at == keys[c];
            codes[d + c] = std::uint8_t(is_here ? 1 + (at - first) : 0);
        }
    }

    /// Takes over those of fewer columns; what has no edges and no keys has one bin.
    void adopt(const Bins& other) {
        std::copy(other.edges_.begin(), other.edges_.end(), edges_.begin());
        std::copy(other.keys_.begin(), other.keys_.end(), keys_.begin());
        std::copy_n(other.count_.begin(), other.d, count_.begin());
        std::copy_n(other.count_.begin() + other.d, other.C, count_.begin() + d);
    }

    void visit(TreeVisitor& visitor, const std::string& prefix) {
        visitor(prefix + "edges", edges_);
        visitor(prefix + "bin_keys", keys_);
        visitor(prefix + "bins", count_);
    }
    bool is_valid() const {
        if (long(edges_.size()) != d * bins || long(keys_.size()) != C * bins ||
            long(count_.size()) != d + C)
            return false;
        for (long j = 0; j < d + C; ++j)
            if (count_[std::size_t(j)] < 0 || last(j) >= bins) return false;
        for (long j = 0; j < d; ++j)
            for (long b = 0; b < bins; ++b) {
                const double edge = edges_[std::size_t(j * bins + b)];
                const bool is_used = b < count_[std::size_t(j)];
                if (is_used ? std::isnan(edge) : !(edge == infinity)) return false;
            }
        return true;
    }

   private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    /// Bins of about as many rows each, and of one value where there are few.
    void find_edges(const Ring& ring, long j, long step) {
        std::vector<double> values;
        for (long i = 0; i < ring.size(); i += step)
            if (!std::isnan(ring.x(i)[j])) values.push_back(ring.x(i)[j]);
        std::sort(values.begin(), values.end());
        const std::size_t n = values.size();
        std::size_t distinct = 0;
        for (std::size_t i = 0; i < n; ++i) distinct += i == 0 || values[i] != values[i - 1];
        double* edge = edges_.data() + j * bins;
        std::fill(edge, edge + bins, infinity);
        long count = 0;
        const long most = bins - 2;  // edges of the bins 1 to 63
        std::size_t start = 0;       // of the bin that is open
        for (std::size_t i = 1; i < n && count < most; ++i) {
            if (values[i] == values[i - 1]) continue;
            const std::size_t left = std::size_t(most + 1 - count);  // bins for the rest
            if (long(distinct) > most + 1 && (i - start) * left < n - start) continue;
            const double a = values[i - 1], b = values[i], middle = a + (b - a) / 2;
            edge[count++] = middle >= a && middle < b ? middle : a;
            start = i;
        }
        count_[std::size_t(j)] = std::int32_t(count);
    }

    /// The keys that came more than once, at most 63 that came most often.
    void find_keys(const Ring& ring, long c, long step) {
        std::vector<std::uint64_t> values;
        for (long i = 0; i < ring.size(); i += step)
            if (ring.keys(i)[c]) values.push_back(ring.keys(i)[c]);
        std::sort(values.begin(), values.end());
        std::vector<std::pair<long, std::uint64_t>> runs;  // less their length, key
        for (std::size_t i = 0, end; i < values.size(); i = end) {
            for (end = i + 1; end < values.size() && values[end] == values[i];) ++end;
            if (end - i > 1) runs.emplace_back(-long(end - i), values[i]);
        }
        std::sort(runs.begin(), runs.end());
        if (long(runs.size()) > bins - 1) runs.resize(std::size_t(bins - 1));
        std::uint64_t* key = keys_.data() + c * bins;
        std::fill(key, key + bins, 0);
        for (std::size_t i = 0; i < runs.size(); ++i) key[i] = runs[i].second;
        std::sort(key, key + runs.size());
        count_[std::size_t(d + c)] = std::int32_t(runs.size());
    }

    std::vector<double> edges_;
    std::vector<std::uint64_t> keys_;
    std::vector<std::int32_t> count_;  // edges, or keys
};

/// e^x in single precision, to 2e-7 of it: a loop of these has no calls and no branches.
inline float exp_of(float x) {
    x = x < -87.0f ? -87.0f : x > 87.0f ? 87.0f : x;
    const float shift = 12582912.0f, rounded = x * 1.44269504f + shift, n = rounded - shift;
    const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float e = 1.9875691500e-4f;
    e = e * r + 1.3981999507e-3f;
    e = e * r + 8.3334519073e-3f;
    e = e * r + 4.1665795894e-2f;
    e = e * r + 1.6666665459e-1f;
    e = e * r + 5.0000001201e-1f;
    e = e * r * r + r + 1.0f;
    const std::int32_t bits = (std::int32_t(n) + 127) << 23;
    float power;
    std::memcpy(&power, &bits, sizeof power);
    return e * power;
}

/// A question: rows whose bin of a column is in the mask go to child[1]. A child below 0 is the
/// leaf -1 - child; others come after their parent.
struct Node {
    std::uint64_t mask = 0;
    std::int32_t column = 0;
    std::int16_t child[2] = {-1, -1};
};

/// The leaf of a row in a tree of so many nodes.
inline long leaf_of(const Node* nodes, long count, const std::uint8_t* codes) {
    if (count == 0) return 0;
    long at = 0;
    while (at >= 0) at = nodes[at].child[nodes[at].mask >> codes[nodes[at].column] & 1];
    return -1 - at;
}

/// The same of four rows or trees: their ways do not wait for each other.
inline void leaves_of(const Node* const (&nodes)[4], const long (&count)[4],
                      const std::uint8_t* const (&codes)[4], long (&leaf)[4]) {
    long at[4];
    for (long i = 0; i < 4; ++i) at[i] = count[i] ? 0 : -1;
    while ((at[0] & at[1] & at[2] & at[3]) >= 0)
        for (long i = 0; i < 4; ++i) {
            const Node& node = nodes[i][at[i] < 0 ? 0 : at[i]];
            const long next = node.child[node.mask >> codes[i][node.column] & 1];
            at[i] = at[i] < 0 ? at[i] : next;
        }
    for (long i = 0; i < 4; ++i) leaf[i] = -1 - at[i];
}

/// Whether nodes, as just read from a file, are those of a tree: each leaf and each node but the
/// first is the child of one node before it.
inline bool are_nodes(const Node* nodes, long count, long columns) {
    std::vector<char> seen(std::size_t(2 * count + 1));  // nodes, then leaves
    for (long i = 0; i < count; ++i) {
        if (nodes[i].column < 0 || nodes[i].column >= columns) return false;
        for (const long child : nodes[i].child) {
            if (child >= 0 ? child <= i || child >= count : -1 - child > count) return false;
            char& was = seen[std::size_t(child >= 0 ? child : count + -1 - child)];
            if (was) return false;
            was = true;
        }
    }
    return true;
}

/// Nodes as numbers: the mask, then column and children.
inline void visit_nodes(TreeVisitor& visitor, const std::string& prefix, std::vector<Node>& nodes) {
    static_assert(sizeof(Node) == 16);
    std::vector<std::uint64_t> words(2 * nodes.size());
    if (!nodes.empty()) std::memcpy(words.data(), nodes.data(), nodes.size() * sizeof(Node));
    visitor(prefix + "nodes", words);
    nodes.resize(words.size() / 2);
    if (!nodes.empty())
        std::memcpy(static_cast<void*>(nodes.data()), words.data(), nodes.size() * sizeof(Node));
}

/// Sums F (M) of leaves. Of K classes there are K sums, whose softmax are the probabilities; of
/// two there is one, f, and the logits are -f and f; of numbers it is the number, standardised.
class Ensemble {
   public:
    Ensemble(long d, long C, long K)
        : K(K),
          M(K <= 2 ? 1 : K),
          bins(d, C),
          base(std::size_t(M)),
          gains(std::size_t(d + C)),
          classes_over_others_(float(double(K) / double(std::max(K - 1, 1L)))) {}

    long K, M;
    Bins bins;
    std::vector<double> base;    // F before the first tree
    std::vector<double> gains;   // of all splits on each column
    double mean = 0, scale = 1;  // of numbers
    double rate = 0.2;           // of the values of leaves, if it has the usual number of trees
    long times = 1;              // the usual number: so much smaller are values
    long start = 0;              // rows that had come when it was begun

    long trees() const { return long(first_leaf_.size()) - 1; }
    long leaves() const { return first_leaf_.back(); }

    /// Sets the leaf of each tree (in all leaves), and F. Before, what F is after a quarter and
    /// after half of the trees, if that is wanted.
    void score(const std::uint8_t* codes, std::int32_t* leaves, float* F, bool early) const {
        if (early) F += 2 * M;
        for (long k = 0; k < M; ++k) F[k] = float(base[std::size_t(k)]);
        const Node* nodes[4];
        const std::uint8_t* const rows[4] = {codes, codes, codes, codes};
        long count[4], leaf[4];
        static const Node none;
        for (long t = 0; t < trees(); ++t) {
            if (t % 4 == 0) {
                for (long i = 0; i < 4; ++i) {
                    count[i] = t + i < trees() ? nodes_in(t + i) : 0;
                    nodes[i] = count[i] ? nodes_.data() + first_node(t + i) : &none;
                }
                leaves_of(nodes, count, rows, leaf);
            }
            if (early && t == trees() / 4) std::copy_n(F, M, F - 2 * M);
            if (early && t == trees() / 2) std::copy_n(F, M, F - M);
            const long own = first_leaf_[std::size_t(t)] + leaf[t % 4];
            if (leaves) leaves[t] = std::int32_t(own);
            const float* v = value_.data() + own * M;
            for (long k = 0; k < M; ++k) F[k] += v[k];
        }
    }

    /// One step of each tree's leaf against the gradient g, by its curvature so far.
    void update(const std::int32_t* leaves, const float* g, const float* h) {
        const float eta = float(4.0 / double(std::max(trees(), 1L)));
        for (long t = 0; t < trees(); ++t) {
            float *v = value_.data() + leaves[t] * M, *H = curvature_.data() + leaves[t] * M;
            for (long k = 0; k < M; ++k) {
                H[k] += h[k];
                v[k] += eta * g[k] / H[k];
            }
        }
    }

    /// Adds a tree; values and curvatures (leaves x M).
    void add(const std::vector<Node>& nodes, const std::vector<float>& value,
             const std::vector<float>& curvature) {
        nodes_.insert(nodes_.end(), nodes.begin(), nodes.end());
        value_.insert(value_.end(), value.begin(), value.end());
        curvature_.insert(curvature_.end(), curvature.begin(), curvature.end());
        first_leaf_.push_back(std::int32_t(first_leaf_.back() + long(nodes.size()) + 1));
    }

    /// The gradients of n rows at F: what each sum lacks. Loops without branches become vectors.
    void gradients(const float* F, const double* y, long n, float* g) const {
        if (K == 0) {
            for (long i = 0; i < n; ++i)
                g[i] = float(std::clamp((y[i] - mean) / scale, -far, far) - double(F[i]));
            return;
        }
        if (K == 2) {
            for (long i = 0; i < n; ++i) g[i] = 1 / (1 + exp_of(-2 * F[i]));
            for (long i = 0; i < n; ++i) g[i] = float(y[i]) - g[i];
            return;
        }
        for (long i = 0; i < n; ++i) {
            const float* own = F + i * M;
            const float largest = *std::max_element(own, own + M);
            for (long k = 0; k < M; ++k) g[i * M + k] = own[k] - largest;
        }
        for (long i = 0; i < n * M; ++i) g[i] = exp_of(g[i]);
        for (long i = 0; i < n; ++i, g += M) {
            double sum = 0;  // so that the order of the classes does not matter
            for (long k = 0; k < M; ++k) sum += double(g[k]);
            const float unit = float(-1 / sum);
            for (long k = 0; k < M; ++k) g[k] *= unit;
            g[long(y[i])] += 1;
        }
    }
    void gradient(const float* F, double y, float* g) const { gradients(F, &y, 1, g); }
    /// p (1 - p) K / (K - 1), p the probability that has the gradient e - p; 1 for numbers.
    float curvature(float g) const {
        if (K == 0) return 1;
        const float q = std::fabs(g);
        return q * (1 - q) * classes_over_others_;
    }

    /// Where sums begin: logarithms of the classes' frequencies, or mean and deviation.
    void set_base(const Ring& ring) {
        std::fill(base.begin(), base.end(), 0.0);
        if (K == 0) return standardise(ring);
        std::vector<double> weight(std::size_t(K), 1.0);
        for (long i = 0; i < ring.size(); ++i) weight[std::size_t(ring.y(i))] += ring.weight(i);
        if (K == 2) {
            base[0] = 0.5 * std::log(weight[1] / weight[0]);
            return;
        }
        double sum = 0;
        for (const double w : weight) sum += w;
        for (long k = 0; k < K; ++k) base[std::size_t(k)] = std::log(weight[std::size_t(k)] / sum);
    }

    /// Takes over one of fewer columns or classes: a new class has the logit of one example.
    void adopt(const Ensemble& other, double examples) {
        bins.adopt(other.bins);
        mean = other.mean;
        scale = other.scale;
        rate = other.rate;
        times = other.times;
        start = other.start;
        const long more = bins.d - other.bins.d;
        std::copy_n(other.gains.begin(), other.bins.d, gains.begin());
        std::copy_n(other.gains.begin() + other.bins.d, other.bins.C, gains.begin() + bins.d);
        nodes_ = other.nodes_;
        for (Node& node : nodes_)
            if (node.column >= other.bins.d) node.column += std::int32_t(more);
        first_leaf_ = other.first_leaf_;
        widen(other, other.value_, 0.0f, -1.0f, value_);
        widen(other, other.curvature_, 1.0f, 1.0f, curvature_);
        widen(other, other.base, -std::log(examples + double(K)), -1.0, base);
    }

    void visit(TreeVisitor& visitor, const std::string& prefix) {
        bins.visit(visitor, prefix);
        visitor(prefix + "base", base);
        visitor(prefix + "gains", gains);
        visitor(prefix + "mean", mean);
        visitor(prefix + "scale", scale);
        visitor(prefix + "rate", rate);
        visitor(prefix + "times", times);
        visitor(prefix + "start", start);
        visit_nodes(visitor, prefix, nodes_);
        visitor(prefix + "first_leaf", first_leaf_);
        visitor(prefix + "value", value_);
        visitor(prefix + "curvature", curvature_);
    }
    bool is_valid(long rows) const {
        const auto is_finite = [](double x) { return std::isfinite(x); };
        const auto is_gain = [](double x) { return x >= 0 && x < 1e300; };
        const auto is_value = [](float x) { return std::fabs(x) < 1e9f; };
        const auto is_curvature = [](float x) { return x > 0 && x < 1e30f; };
        const std::size_t ends = first_leaf_.size();
        if (!bins.is_valid() || long(base.size()) != M || long(gains.size()) != bins.d + bins.C ||
            !std::all_of(base.begin(), base.end(), is_finite) ||
            !std::all_of(gains.begin(), gains.end(), is_gain) || !(std::fabs(mean) <= 1e100) ||
            !(scale > 0 && scale <= 1e101) || !(rate > 0 && rate < 1) ||
            (times != 1 && times != thorough) || start < 0 || start > rows || ends == 0 ||
            first_leaf_[0] != 0 || long(ends) > times * most_trees + 1)
            return false;
        for (std::size_t t = 1; t < ends; ++t)
            if (first_leaf_[t] <= first_leaf_[t - 1] ||
                first_leaf_[t] - first_leaf_[t - 1] > most_leaves)
                return false;
        if (long(nodes_.size()) != leaves() - trees() || long(value_.size()) != leaves() * M ||
            value_.size() != curvature_.size() ||
            !std::all_of(value_.begin(), value_.end(), is_value) ||
            !std::all_of(curvature_.begin(), curvature_.end(), is_curvature))
            return false;
        for (long t = 0; t < trees(); ++t)
            if (!are_nodes(nodes_.data() + first_node(t), nodes_in(t), bins.d + bins.C))
                return false;
        return true;
    }
    double bytes() const {
        return double(nodes_.size() * sizeof(Node) + 2 * value_.size() * sizeof(float)) +
               double(bins.d + bins.C) * 64 * 8;
    }

   private:
    static constexpr double far = 32;  // deviations at which a target ends

    long first_node(long t) const { return first_leaf_[std::size_t(t)] - t; }
    long nodes_in(long t) const { return first_node(t + 1) - first_node(t); }

    void standardise(const Ring& ring) {
        const long n = ring.size();
        double sum = 0, weight = 0, square = 0;
        for (long i = 0; i < n; ++i) {
            weight += ring.weight(i);
            sum += ring.weight(i) * ring.y(i);
        }
        mean = weight > 0 ? sum / weight : 0;
        for (long i = 0; i < n; ++i) {
            const double miss = ring.y(i) - mean;
            square += ring.weight(i) * miss * miss;
        }
        scale = weight > 0 ? std::sqrt(square / weight) : 0;
        if (!(scale > 1e-12 * std::fabs(mean) && scale > 1e-150))
            scale = std::max(std::fabs(mean), 1.0);
    }

    /// The same for more classes, which get `fill`. Of two, one number stands for both: the first
    /// class has it times `sign`.
    template <class T>
    void widen(const Ensemble& other, const std::vector<T>& from, T fill, T sign,
               std::vector<T>& to) const {
        if (M == other.M) {
            to = from;
            return;
        }
        const std::size_t rows = from.size() / std::size_t(other.M);
        to.assign(rows * std::size_t(M), fill);
        for (std::size_t i = 0; i < rows; ++i) {
            const T* old = from.data() + i * std::size_t(other.M);
            T* now = to.data() + i * std::size_t(M);
            std::copy_n(old, other.M, now);
            if (other.M > 1) continue;
            now[0] = sign * old[0];
            now[1] = old[0];
        }
    }

    float classes_over_others_;                   // K / (K - 1)
    std::vector<Node> nodes_;                     // of all trees
    std::vector<std::int32_t> first_leaf_ = {0};  // of each tree; it has one node less
    std::vector<float> value_, curvature_;        // (leaves x M)
};

}  // namespace trees
}  // namespace MIXABLE_ISA
