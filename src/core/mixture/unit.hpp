// The unit of the inputs: lam and drift of a mixture are in units of their mean square.
//
// The scale is the mean square of the first input that is not zero. Should it turn out to be far
// from the median of the first few, as after an outlier, that is taken instead, and those few are
// learned again. When the inputs change their size later on, for good and by a factor of 100 or
// more, the unit follows, as a multiple of the scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/visitor.hpp"

namespace MIXABLE_ISA {

class Unit {
   public:
    static constexpr long period = 64;  // inputs between two looks at the size

    /// Rows have `views` views of d numbers. A `scale` above 0 is given, and stays. The unit
    /// follows the inputs only if `follows`.
    Unit(long features, long views, double scale, bool follows)
        : d(features),
          row(features * views),
          given_(scale),
          follows_(follows && scale == 0),
          kept_(settling * length()),
          squares_(period) {
        start_over();
    }

    const long d, row;

    void start_over() {
        inputs_ = sizes_ = 0;
        scale_ = given_;
        unit_ = 1;
    }

    /// The mean square that inputs are measured by, at present; 0 before the first.
    double mean_square() const { return scale_ * unit_; }
    /// The unit, as a multiple of the scale.
    double unit() const { return unit_; }
    bool follows() const { return follows_; }
    /// What an input is multiplied by.
    double factor() const { return scale_ > 0 ? 1.0 / std::sqrt(scale_) : 0.0; }
    /// Whether the scale will not change any more.
    bool is_settled() const { return given_ > 0 || inputs_ >= settling; }

    /// z = x in units of the scale.
    void normalise(const double* x, double* z) const {
        double s = 0;
        const double by = factor();
        for (long i = 0; i < row; ++i) {
            z[i] = by * x[i];
            s += z[i] * z[i];
        }
        if (s > 1e100)  // or its square would overflow
            for (long i = 0; i < row; ++i) z[i] *= s < 1e300 ? std::sqrt(1e100 / s) : 0.0;
    }

    /// Keeps one of the first examples. Returns whether the scale has changed; then all that came
    /// before is to be learned again.
    bool keep(const double* x, double y, double weight) {
        const double square = is_settled() ? 0.0 : mean_square(x);
        if (square == 0) return false;
        double* example = kept_ + inputs_ * length();
        copy(x, row, example);
        example[row] = y;
        example[row + 1] = weight;
        example[row + 2] = square;
        std::vector<double> squares;
        for (long i = 0; i <= inputs_; ++i) squares.push_back(kept_[i * length() + row + 2]);
        std::sort(squares.begin(), squares.end());
        const double median = squares[std::size_t(inputs_ / 2)];
        ++inputs_;
        if (scale_ > 0 && is_near(median, scale_)) return false;
        scale_ = median;
        return true;
    }
    /// f(x, y, weight) for the examples that are kept, but the last.
    template <class F>
    void replay(F&& f) const {
        for (long i = 0; i + 1 < inputs_; ++i) {
            const double* example = kept_ + i * length();
            f(example, example[row], example[row + 1]);
        }
    }

    /// Notes the size of an input z, in units of the scale.
    void note(const double* z) {
        if (!follows_) return;
        const double square = mean_square(z);
        if (is_unit(square) && sizes_ < period) squares_[sizes_++] = square;
    }
    /// Whether the inputs noted since the last call have another size than before; if so, the unit
    /// is theirs.
    bool has_changed() {
        const long n = std::exchange(sizes_, 0);
        if (!follows_ || n < period / 2) return false;
        std::nth_element(squares_ + 0, squares_ + n / 2, squares_ + n);
        const double present = squares_[n / 2];
        if (is_near(present, unit_)) return false;
        unit_ = present;
        return true;
    }
    static bool is_near(double square, double unit) {
        return square < jump * unit && jump * square > unit;
    }
    static bool is_unit(double unit) { return unit > 1e-100 && unit < 1e100; }

    void adopt(const Unit& other) {
        inputs_ = other.inputs_;
        sizes_ = other.sizes_;
        scale_ = other.scale_;
        unit_ = other.unit_;
        copy(other.squares_, period, squares_);
        for (long i = 0; i < kept_rows(); ++i) {
            const double* theirs = other.kept_ + i * other.length();
            double* mine = kept_ + i * length();
            for (long v = 0; v < row / d; ++v) copy(theirs + v * other.d, other.d, mine + v * d);
            copy(theirs + other.row, 3, mine + row);
        }
    }

    [[gnu::cold]] void visit_counters(Visitor& visitor) {
        visitor("inputs", inputs_);
        visitor("scale", scale_);
        visitor("unit", unit_);
        visitor("sizes", sizes_);
    }
    [[gnu::cold]] void visit_arrays(Visitor& visitor) {
        visitor("kept", kept_, kept_rows(), length(), length());
        visitor("sizes_kept", squares_, 1L, sizes_, period);
    }
    [[gnu::cold]] bool counters_are_valid() const {
        if (!(inputs_ >= 0 && inputs_ <= settling && sizes_ >= 0 && sizes_ <= period)) return false;
        if (!(is_unit(unit_) && (scale_ == 0 || (scale_ >= 1e-300 && scale_ <= 1e300))))
            return false;
        return given_ > 0 ? scale_ == given_ : inputs_ == 0 || scale_ > 0;
    }
    /// `is_example(y, weight)` says whether these can be part of one.
    template <class F>
    [[gnu::cold]] bool contents_are_valid(F&& is_example) const {
        bool valid = true;
        for (long i = 0; i < sizes_; ++i) valid = valid && is_unit(squares_[i]);
        for (long i = 0; i < kept_rows(); ++i) {
            const double *x = kept_ + i * length(), square = x[row + 2];
            valid = valid && is_example(x[row], x[row + 1]) && square > 0 &&
                    std::fabs(mean_square(x) / square - 1) < 1e-6;
        }
        return valid;
    }

   private:
    static constexpr long settling = 16;  // inputs that may still change the scale
    static constexpr double jump = 1e4;   // a factor of the mean square that is another size

    /// Numbers of an example that is kept: input, outcome, weight, mean square.
    long length() const { return row + 3; }
    long kept_rows() const { return is_settled() ? 0 : inputs_; }

    /// The mean square of the entries of x that are not zero; 0 if there is none.
    double mean_square(const double* x) const {
        double s = 0;
        long n = 0;
        for (long i = 0; i < row; ++i)
            if (x[i] != 0) s += x[i] * x[i], ++n;
        return s > 1e-280 ? s / double(n) : 0.0;
    }

    double given_, scale_ = 0, unit_ = 1;
    bool follows_;
    long inputs_ = 0, sizes_ = 0;
    Buffer kept_, squares_;  // squares_: sizes noted, in units of the scale
};

}  // namespace MIXABLE_ISA
