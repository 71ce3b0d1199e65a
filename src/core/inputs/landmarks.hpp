// Features by landmarks (Nystroem's method): phi = L^-1 k, where k has the kernel values
// exp(-gamma |l_i - x|^2) of an input at the landmarks l_i, and L L^T is the kernel matrix of the
// landmarks. What they leave unexplained of x is the residual 1 - |phi|^2. A row whose residual is
// large becomes a landmark: L grows by a row, and there is one more feature.
//
// Rows are multiplied by L^-1, in blocks if they come together. As long as there are few landmarks
// they are solved for. Columns may have weights: inputs are multiplied by them first.
#pragma once

#include "core/numbers/symmetric.hpp"

namespace MIXABLE_ISA {

/// A map from d scaled inputs to m features.
class FeatureMap {
   public:
    FeatureMap(long inputs, long features) : d(inputs), m(features) {}
    virtual ~FeatureMap() = default;

    const long d, m;

    /// The features of x, as if it were the next row; returns whether it may become a part of the
    /// map.
    virtual bool transform(const double* x, double* out) = 0;
    /// Makes x, whose features were just computed, a part of the map.
    virtual void add(const double* x, const double* features) = 0;
    /// The features of n rows, each as if it were the next one.
    virtual void transform_many(const double* X, long n, double* out) = 0;
    /// The features of n rows one after the other; those that count may become parts of the map.
    virtual void learn_many(const double* X, const bool* counts, long n, double* out) = 0;
};

class Landmarks final : public FeatureMap {
   public:
    Landmarks(long features, long most, double gamma, double tolerance, const Blas& blas)
        : FeatureMap(features, most),
          gamma_(gamma),
          tolerance_(tolerance),
          blas_(blas),
          at_(m * d),
          factor_(m * m),
          inputs_(d * W),
          lanes_((m + W) * W) {}

    /// Multiplies column j of all inputs from now on by weight j.
    void weigh(const double* weights) {
        weights_ = Buffer(d);
        copy(weights, d, weights_);
        if (!weighted_.size()) weighted_ = Buffer(block * d);
    }

    long count() const { return r_; }
    double gamma() const { return gamma_; }
    /// The landmarks (r x d) and L (r x r).
    void write(double* landmarks, double* factor) const {
        copy(at_, r_ * d, landmarks);
        for (long i = 0; i < r_; ++i) copy(factor_ + i * m, r_, factor + i * r_);
    }
    /// Takes over r landmarks of at most d features, the others 0, and their factor.
    void set(const double* landmarks, const double* factor, long r, long features) {
        at_.clear();
        factor_.clear();
        inverted_ = 0;
        r_ = r;
        for (long i = 0; i < r; ++i) {
            copy(landmarks + i * features, features, at_ + i * d);
            copy(factor + i * r, r, factor_ + i * m);
        }
    }
    /// The same for those of another map.
    void adopt(const Landmarks& other) {
        at_.clear();
        inverted_ = 0;
        r_ = other.r_;
        for (long i = 0; i < r_; ++i) {
            copy(other.at_ + i * other.d, other.d, at_ + i * d);
            copy(other.factor_ + i * other.m, r_, factor_ + i * m);
        }
    }

    bool transform(const double* x, double* out) override {
        one_row(weighted(x, 1), out);
        return finish(out);
    }
    void add(const double* x, const double* features) override {
        copy(weighted(x, 1), d, at_ + r_ * d);
        copy(features, r_ + 1, factor_ + r_ * m);
        ++r_;
    }

    void transform_many(const double* X, long n, double* out) override {
        for (long t = 0; t < n; t += block) {
            const long rows = std::min(block, n - t);
            some_rows(weighted(X + t * d, rows), rows, out + t * m);
            for (long i = 0; i < rows; ++i) finish(out + (t + i) * m);
        }
    }
    void learn_many(const double* X, const bool* counts, long n, double* out) override {
        bool is_growing = true;
        for (long t = 0; t < n;) {
            const long rows = is_growing ? 1 : std::min(block, n - t);
            some_rows(weighted(X + t * d, rows), rows, out + t * m);
            is_growing = false;
            for (long i = 0; i < rows && !is_growing; ++i, ++t) {
                double* features = out + t * m;
                is_growing = finish(features) && counts[t];
                if (is_growing) add(X + t * d, features);  // the features after it are others
            }
        }
    }

   private:
    /// Rows with the weights of their columns, at most `block`.
    const double* weighted(const double* X, long rows) {
        if (!weights_.size()) return X;
        for (long t = 0; t < rows; ++t)
            for (long l = 0; l < d; ++l) weighted_[t * d + l] = weights_[l] * X[t * d + l];
        return weighted_;
    }

    /// Puts what a row would add as a landmark behind its features, then zeros.
    bool finish(double* features) const {
        set_to_zero(features + r_, m - r_);
        if (r_ == m) return false;
        const double residual = 1.0 - plain_dot(features, features, r_);
        if (!(residual > tolerance_)) return false;
        features[r_] = std::sqrt(residual);
        return true;
    }

    static constexpr long block = 32;      // rows that come together
    static constexpr long by_blas = 48;    // the fewest landmarks for BLAS
    static constexpr long panel = 64;      // rows of L^-1 that are multiplied together
    static constexpr double much = 1e4;    // gamma |x|^2 beyond which |x - l|^2 is by differences
    static constexpr double least = 1e-6;  // the tolerance below which L^-1 would lose digits

    bool has_inverse() const { return r_ >= by_blas && d > 0 && tolerance_ >= least; }
    void some_rows(const double* X, long rows, double* out) {
        if (rows == 1) return one_row(X, out);
        if (has_inverse()) return rows_by_blas(X, rows, out);
        for (long t = 0; t < rows; t += W)
            few_rows(X + t * d, std::min(long(W), rows - t), out + t * m);
    }

    /// By |x|^2 + |l|^2 - 2 x . l. Rows for which that would lose digits are done by themselves: no
    /// row depends on those that come with it.
    void rows_by_blas(const double* X, long rows, double* out) {
        extend_inverse();
        double squares[block];
        for (long t = 0; t < rows; ++t) squares[t] = squared_norm(X + t * d, d);
        blas_.gemm(false, true, rows, r_, d, 2 * gamma_, X, d, at_, d, 0.0, values_, stride_);
        for (long t = 0; t < rows; ++t) {
            double* values = values_ + t * stride_;
            for (long i = 0; i < r_; i += W) {
                const vec exponent = load(values + i) - gamma_ * (squares[t] + load(squares_ + i));
                store(values + i, exp(exponent < 0.0 ? exponent : vec{}));
            }
        }
        for (long j = 0; j < r_; j += panel) {
            const long width = std::min(panel, r_ - j);
            blas_.gemm(false, true, rows, width, j + width, 1.0, values_, stride_,
                       inverse_ + j * stride_, stride_, 0.0, out + j, m);
        }
        for (long t = 0; t < rows; ++t)
            if (!(gamma_ * (squares[t] + longest_) <= much)) few_rows(X + t * d, 1, out + t * m);
    }
    /// Row i of L^-1 is (-l^T L^-1, 1) / L_ii, where (l, L_ii) is that of L.
    void extend_inverse() {
        if (inverse_.size() == 0) {
            stride_ = pad_to(m, 8);
            inverse_ = Buffer(m * stride_);
            values_ = Buffer(block * stride_);
            squares_ = Buffer(stride_);
        }
        if (inverted_ == 0) longest_ = 0;
        for (; inverted_ < r_; ++inverted_) {
            const long i = inverted_;
            const double *row = factor_ + i * m, by = 1.0 / row[i];
            double* out = inverse_ + i * stride_;
            combine_row(i, i, row, inverse_, stride_, out);
            for (long j = 0; j < i; ++j) out[j] *= -by;
            out[i] = by;
            squares_[i] = squared_norm(at_ + i * d, d);
            longest_ = std::max(longest_, squares_[i]);
        }
    }

    void few_rows(const double* X, long rows, double* out) {
        for (long l = 0; l < d; ++l)  // one row in each lane
            for (long lane = 0; lane < W; ++lane)
                inputs_[l * W + lane] = X[std::min(lane, rows - 1) * d + l];
        double* features = lanes_;
        for (long i = 0; i < r_; ++i) {
            vec square{}, even{}, odd{};
            for (long l = 0; l < d; ++l) {
                const vec gap = load(inputs_ + l * W) - at_[i * d + l];
                square += gap * gap;
            }
            const double* row = factor_ + i * m;
            long j = 0;
            for (; j + 1 < i; j += 2) {
                even += row[j] * load(features + j * W);
                odd += row[j + 1] * load(features + (j + 1) * W);
            }
            if (j < i) even += row[j] * load(features + j * W);
            store(features + i * W, (exp(-gamma_ * square) - (even + odd)) / row[i]);
        }
        for (long lane = 0; lane < rows; ++lane)
            for (long i = 0; i < r_; ++i) out[lane * m + i] = features[i * W + lane];
    }

    /// Along the landmarks.
    void one_row(const double* x, double* out) {
        double* values = lanes_;
        for (long i = 0; i < r_; ++i) {
            const double* landmark = at_ + i * d;
            double square = 0;
            for (long l = 0; l < d; ++l) square += (landmark[l] - x[l]) * (landmark[l] - x[l]);
            values[i] = -gamma_ * square;
        }
        for (long i = 0; i < r_; i += W) store(values + i, exp(load(values + i)));
        if (has_inverse()) {  // no sum waits for another
            extend_inverse();
            for (long i = 0; i < r_; ++i) out[i] = long_dot(inverse_ + i * stride_, values, i + 1);
            return;
        }
        for (long i = 0; i < r_; ++i)
            out[i] = (values[i] - long_dot(factor_ + i * m, out, i)) / factor_[i * m + i];
    }

    double gamma_, tolerance_;
    Blas blas_;
    long r_ = 0;
    Buffer at_, factor_, inputs_, lanes_, weights_, weighted_;
    // L^-1, as far as it is known; kernel values of rows; the |l|^2, and the largest.
    long inverted_ = 0, stride_ = 0;
    Buffer inverse_, values_, squares_;
    double longest_ = 0;
};

}  // namespace MIXABLE_ISA
