// Sizes and parameters of a posterior, and what follows from them.
#pragma once

#include <algorithm>

#include "core/numbers/buffer.hpp"

namespace MIXABLE_ISA {

/// Rows j d + l0 to j d + l1 of a D x D matrix.
struct Panel {
    long j, l0, l1;
};

/// Panels of k times d rows, each of at most `height` rows; there is no list of them.
class Panels {
   public:
    Panels(long predictions, long features, long height)
        : k(predictions), d(features), height_(height) {}

    class Iterator {
       public:
        Iterator(const Panels& panels, long j) : panels_(panels), j_(j) {}
        Panel operator*() const { return {j_, l_, std::min(l_ + panels_.height_, panels_.d)}; }
        Iterator& operator++() {
            l_ += panels_.height_;
            if (l_ >= panels_.d) l_ = 0, ++j_;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return j_ != other.j_ || l_ != other.l_; }

       private:
        const Panels& panels_;
        long j_, l_ = 0;
    };
    Iterator begin() const { return {*this, 0}; }
    Iterator end() const { return {*this, k}; }

   private:
    long k, d, height_;
};

/// What is kept of A^-1: all of it; a d x d block for each prediction; one such block that serves
/// them all; the same of the features observed so far; its diagonal; nothing, since only the mean
/// is followed, by gradient descent; nothing of the inputs, since the classes are counted.
enum class Structure { full, blocks, shared, growing, diagonal, gradient, frequencies };

struct PosteriorShape {
    long k, d, rank;    // linear predictions, features, columns of F (0 with structure)
    double lam, drift;  // A_0 = lam I; A^-1 += drift I after each step
    long block = 0;     // steps in a block; 0 picks the size measured to be fastest
    long period = 0;    // steps between refreshes of A^-1; 0 means 4 D
    Structure structure = Structure::full;
    double radius = 0;  // of the ball that gradient descent stays in
    long phase = 0;     // steps by which blocks end earlier: not all of a mixture end at once

    long D() const { return k * d; }
    long ld() const { return pad_to(D(), 8); }
    /// Whether BLAS does the large products; below, our own kernels are faster.
    bool by_blas() const { return D() > (k == 1 ? 400 : 1200); }
    /// Whether only the lower triangles of the matrices are kept up to date: that is less memory
    /// for a step to go through.
    bool has_triangles() const { return D() <= 64; }
    long capacity() const {
        if (block > 0) return block;
        if (by_blas()) return k == 1 ? 64 : 32;
        return std::max(1L, std::min(6L, 54 / k));
    }
    long refresh_period() const { return period > 0 ? period : 4 * D(); }
    /// The same of full posteriors in lanes.
    long lane_refresh_period() const { return period > 0 ? period : std::max(16 * D(), 2048L); }
    /// The same of blocks. After a million ill-conditioned steps g is off by 1e-8 with 4,096 steps
    /// between refreshes, by 1e-6 without any.
    long block_refresh_period() const { return period > 0 ? period : std::max(64 * d, 4096L); }
    /// Steps whose curvature is kept before it is added to A: as many as its work space has rows
    /// for, unless that would take much memory.
    long curvature_capacity() const {
        return std::max(capacity(), std::min(capacity() * rank, d * d / 8));
    }
    /// The matrices in pieces that suit the products.
    Panels panels() const {
        const long parts = by_blas() ? (d + 255) / 256 : 1;
        return {k, d, (d + parts - 1) / parts};
    }
    /// The d x d matrices of a posterior with structure.
    long matrices() const { return is_shared() ? 1 : k; }
    /// Whether one matrix serves all predictions.
    bool is_shared() const {
        return structure == Structure::shared || structure == Structure::growing;
    }
    /// Multiplications of a step, roughly.
    double cost() const {
        const double n = double(d), K = double(k), small = K * (n + 100);
        if (structure == Structure::frequencies) return K;
        if (structure == Structure::diagonal || structure == Structure::gradient) return 4 * small;
        if (structure != Structure::full) return 4 * (double(matrices()) * n * n + small);
        return double(D()) * double(D()) * double(k + 3);
    }
    double bytes() const {
        const double n = double(pad_to(d, 8)), K = double(k), s = double(matrices());
        if (structure == Structure::frequencies) return double(sizeof(double)) * K;
        if (structure == Structure::diagonal || structure == Structure::gradient)
            return double(sizeof(double)) * n * (2 * K + double(diagonal_block));
        if (structure != Structure::full) {
            const bool twice = drift == 0 && structure != Structure::growing;
            const double squares = (twice ? 2 : 1) * s * double(d) * n;
            return double(sizeof(double)) * (squares + n * (K + (s + 2) * 2.0 * 32));
        }
        const double D = double(k) * double(d), r = double(capacity());
        const double steps = double(curvature_capacity()), rk = r * double(k);
        const double matrices = (drift == 0 ? 2 : 1) * D * double(ld());
        const double block = double(ld()) * r * double(k + rank);
        const double small = rk * (rk + r * double(rank)) + 6.0 * double(k) * double(k);
        const double curvature = steps * (double(pad_to(d, 8)) + double(k) * double(k));
        return double(sizeof(double)) * (matrices + block + small + curvature);
    }
    /// About how long a step takes: its multiplications, or the memory it goes through once it no
    /// longer fits in a cache.
    double seconds() const {
        const double passes = structure == Structure::diagonal ? 2.0 : 0.6;
        const double memory = bytes() > 8e6 ? passes * bytes() / 8e9 : 0.0;
        return std::max(cost() / (structure == Structure::full ? 2e10 : 4e9), memory);
    }
    /// Inputs that a diagonal posterior keeps.
    static constexpr long diagonal_block = 16;
    /// The largest |x|^2 that can be learned from: beyond, A^-1 would lose all its digits.
    double largest_square() const {
        return structure == Structure::gradient || structure == Structure::frequencies ? 1e280
                                                                                       : 1e15 * lam;
    }
    /// Whether a saved state can have this multiple of I in A: lam, or less if it was smaller at
    /// the start (a fallback's lam grows with its features); none is kept with drift.
    bool may_have_regulariser(double value) const {
        return drift == 0 ? value > 0 && value <= 1.000001 * lam : value == 0;
    }
};

}  // namespace MIXABLE_ISA
