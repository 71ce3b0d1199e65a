// A Gaussian over the weights with one block for all predictions, as "shared" in blocks.hpp, for
// inputs with many features that are 0 at first, such as those by landmarks that are still to come.
//
// A feature that was 0 in all that was learned has mean 0 and variance 1 / lam, and nothing to do
// with the others: it needs no place. So S (n x n) has the n features that were met, in the order
// in which they came, and a step costs n^2 whatever d is.
//
// Reading and learning are those of blocks.hpp, without drift: P = S x, less what is pending;
// V <- V - v P, S <- S - w P P^T. Of two classes there is one prediction, as in posterior.hpp.
//
// An example that changes S by little, f g < 1/10, is often left out of S: one of them is taken as
// if f g were 1/10 whenever the sum of the f g since the last has come to that, so that S is right
// on average. Most examples are such, once classes are told apart.
#pragma once

#include "core/rule/coordinates.hpp"

namespace MIXABLE_ISA {

class Growing final : public State {
   public:
    Growing(const PosteriorShape& shape, const Blas& blas)
        : State(shape, 0),
          blas_(blas),
          regulariser_(shape.lam),
          has_place_(std::size_t(shape.d), 0),
          along_(r),
          most_pending_(r / 2 - d % 8) {
        reserve(d > large ? d : std::min(d, 64L));
    }

    long room() const override { return r - pending_; }

    void prepare(const Rows& rows, bool in_turn = true) override {
        drop_unlearned();
        for (long t = 0; t < rows.count; ++t) make_places(rows.values + t * rows.stride);
        const long n = long(places_.size());
        for (long t = 0; t < rows.count; ++t) {
            const double* row = rows.values + t * rows.stride;
            double* x = X + t * stride_;
            for (long i = 0; i < n; ++i) x[i] = row[places_[std::size_t(i)]];
            set_to_zero(x + n, pad(n) - n);
        }
        project(rows.count, n);
        n_ = 0;
        prepared_ = in_turn ? rows.count : 0;
        read_ = -1;
    }
    bool is_prepared(const double* x) const override {
        if (!has_prepared()) return false;
        const double* own = X + n_ * stride_;
        long met = 0;
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (own[i] != x[places_[i]]) return false;
            met += own[i] != 0;
        }
        for (long l = 0; l < d; ++l) met -= x[l] != 0;
        return met == 0;
    }

    void read(long after = 0) override {
        const long t = n_ + after, n = long(places_.size());
        if (read_ == t) return;
        const double *x = X + t * stride_, *p = P + t * stride_;
        double g = long_dot(x, p, n);
        if (pending_ > 0) {  // it is subtracted from p when that is learned
            dots(n, 1, x, stride_, pending_, Q, stride_, along_, r);
            g -= plain_dot(along_, along_, pending_);
        }
        g = std::max(g, 0.0);
        for (long c = 0; c < k; ++c) {
            m[c] = long_dot(V + c * stride_, x, n);
            G[c] = g;
        }
        read_ = t;
    }

    void push(const double* v, const double* F) override {
        const double f = shape_.rank > 0 ? F[0] * F[0] : F[0], gain = f * G[0];
        double check = 0 * f;
        for (long c = 0; c < k; ++c) check += 0 * v[c];
        const double* x = X + n_ * stride_;
        double* p = P + n_ * stride_;
        const long n = long(places_.size());
        // Beyond, nothing is left of the other directions of A.
        if (!(check == 0 && gain <= 1e14 && f * plain_dot(x, x, n) <= 1e15 * shape_.lam))
            refuse_example();
        learned_ = std::max(learned_, length(x, n));
        if (pending_ > 0)
            combine(1, n, pending_, -1.0, {along_, 0, 1}, Q, stride_, p, stride_, true);
        for (long c = 0; c < k; ++c) {
            double* mean = V + c * stride_;
            for (long l = 0; l < n; l += W) store(mean + l, load(mean + l) - v[c] * load(p + l));
        }
        const bool is_news = gain >= little;
        if (!is_news) owed_ += gain;
        if (is_news || owed_ >= little) {
            const double taken = is_news ? gain : little;
            if (!is_news) owed_ -= little;
            double* q = Q + pending_++ * stride_;
            const double root = std::sqrt(taken / (G[0] * (1 + taken)));
            for (long l = 0; l < n; l += W) store(q + l, root * load(p + l));
            set_to_zero(q + n, stride_ - n);
        }
        ++n_;
        ++steps_;
        read_ = -1;
        if (pending_ == r || (pending_ >= most_pending_ && !has_prepared())) flush();
    }

    void mean(double* out) const override {
        set_to_zero(out, k * d);
        for (long c = 0; c < k; ++c)
            for (long i = 0; i < learned_; ++i) out[c * d + place(i)] = V[c * stride_ + i];
    }
    std::pair<long, long> covariance_size() const override { return {d, d}; }
    void covariance(double* out) const override {
        set_to_zero(out, d * d);
        for (long l = 0; l < d; ++l) out[l * d + l] = 1.0 / shape_.lam;
        Buffer now(learned_ * learned_);
        present(now);
        for (long i = 0; i < learned_; ++i)
            for (long j = 0; j < learned_; ++j)
                out[place(i) * d + place(j)] = now[i * learned_ + j];
    }

    /// A new prediction has the mean of the others.
    void adopt(const Knowledge& state, bool exchange = false) override {
        const auto& other = dynamic_cast<const Growing&>(state);
        const long n = other.learned_;
        start_over();
        for (long i = 0; i < n; ++i) make_place(other.place(i));
        learned_ = n;
        Buffer now(n * n);
        other.present(now);
        const double change = exchange ? shape_.lam - other.regulariser_ : 0.0;
        if (change != 0) {  // A' = A + change I
            for (int twice = 0; twice < 2; ++twice) {
                invert(blas_, n, now);
                for (long i = 0; i < n && twice == 0; ++i) now[i * n + i] += change;
            }
        }
        for (long i = 0; i < n; ++i) copy(now + i * n, n, S + i * stride_);
        const long known = std::max(other.k, std::min(k, 2L));
        Buffer before(known * n);
        for (long c = 0; c < known; ++c)
            for (long i = 0; i < n; ++i)
                before[c * n + i] = other.k == k || other.k > 1
                                        ? other.V[c * other.stride_ + i]
                                        : helmert(c, 0) * other.V[i];  // there were two classes
        for (long c = 0; c < k; ++c)
            for (long i = 0; i < n; ++i) {
                double& mean = V[c * stride_ + i];
                for (long b = 0; b < known; ++b)
                    if (c == b || c >= known)
                        mean += before[b * n + i] / (c < known ? 1.0 : double(known));
            }
        for (long c = 0; c < k && change != 0; ++c) {  // A' theta' = A theta
            copy(V + c * stride_, n, before);
            for (long i = 0; i < n; ++i)
                V[c * stride_ + i] -= change * plain_dot(now + i * n, before, n);
        }
        regulariser_ = exchange ? shape_.lam : other.regulariser_;
        owed_ = other.owed_;
        steps_ = other.steps_;
    }

    [[gnu::cold]] void visit(Visitor& visitor) override {
        visitor("steps", steps_);
        visitor("pending", pending_);
        visitor("learned", learned_);
        visitor("regulariser", regulariser_);
        visitor("owed", owed_);
        if (!counters_are_valid()) return;  // as just read from a file; they are refused
        const long n = learned_;
        reserve(n);
        Buffer places(n), mean(k * d);
        for (long i = 0; i < long(places_.size()) && i < n; ++i) places[i] = double(place(i));
        for (long c = 0; c < k; ++c)
            for (long i = 0; i < long(places_.size()) && i < n; ++i)
                mean[c * d + place(i)] = V[c * stride_ + i];
        visitor("places", places, 1, n, n);
        visitor("V", mean, k, d, d);
        visitor("S", S, n, n, stride_);
        visitor("Q", Q, pending_, n, stride_);
        if (!has(places, n)) take_places(places, n);
        for (long c = 0; c < k; ++c)
            for (long i = 0; i < long(places_.size()) && i < n; ++i)
                V[c * stride_ + i] = mean[c * d + place(i)];
    }
    void clear() override {
        prepared_ = n_ = 0;
        read_ = -1;
    }
    [[gnu::cold]] bool counters_are_valid() const override {
        return State::counters_are_valid() && pending_ >= 0 && pending_ < r && steps_ >= pending_ &&
               learned_ >= 0 && learned_ <= d && regulariser_ > 0 &&
               regulariser_ <= 1.000001 * shape_.lam && owed_ >= 0 && owed_ < little;
    }
    [[gnu::cold]] bool contents_are_valid(double limit) const override {
        const double square = std::min(largest_square(), 1e280), reach = std::sqrt(square);
        const long n = learned_;
        if (long(places_.size()) < n) return false;
        for (long c = 0; c < k; ++c)
            for (long i = 0; i < n; ++i)
                if (!(std::max(reach, 1.0) * std::fabs(V[c * stride_ + i]) <= limit)) return false;
        for (long t = 0; t < pending_; ++t)
            for (long i = 0; i < n; ++i)
                if (!(reach * std::fabs(Q[t * stride_ + i]) <= std::sqrt(limit))) return false;
        for (long i = 0; i < n; ++i)
            if (!(std::fabs(S[i * stride_ + i]) * square <= limit)) return false;
        if (n == 0) return true;
        Buffer now(n * n);
        present(now);
        return is_symmetric(S, n, stride_, true) && is_definite(blas_, n, now, limit / square);
    }

   private:
    static constexpr double little = 0.1;  // f g of an example that counts by itself
    static constexpr long r = 64;          // steps that may be pending, and inputs prepared
    static constexpr long panel = 128;     // rows of S that BLAS updates together
    static constexpr long large = 384;     // the d from which on moving S would be a pause
    static constexpr long by_blas = 48;    // the least n for BLAS
    static constexpr long by_symv = 128;   // and for its product of one row

    long place(long i) const { return places_[std::size_t(i)]; }

    /// How many of n numbers are left without the zeros at their end.
    static long length(const double* x, long n) {
        while (n > 0 && x[n - 1] == 0) --n;
        return n;
    }

    void start_over() {
        steps_ = pending_ = learned_ = n_ = prepared_ = 0;
        read_ = -1;
        drop_unlearned();
        V.clear();
    }
    /// Room for n features.
    void reserve(long n) {
        const long old = stride_, kept = std::min(long(places_.size()), old);
        if (n <= old) return;
        stride_ = pad_to(std::min(std::max(n, old + 128), std::max(d, n)), 8);
        const auto moved = [&](Buffer& from, long rows, long height) {
            Buffer to(height * stride_);
            for (long i = 0; i < rows; ++i) copy(from + i * old, old, to + i * stride_);
            from = std::move(to);
        };
        moved(S, kept, stride_);
        moved(V, old > 0 ? k : 0, k);
        moved(Q, old > 0 ? r : 0, r);
        X = Buffer(r * stride_);
        P = Buffer(r * stride_);
    }
    void make_place(long l) {
        const long i = long(places_.size());
        reserve(i + 1);
        places_.push_back(l);
        has_place_[std::size_t(l)] = 1;
        set_to_zero(S + i * stride_, stride_);
        for (long j = 0; j < i; ++j) S[j * stride_ + i] = 0;
        S[i * stride_ + i] = 1.0 / shape_.lam;
        for (long c = 0; c < k; ++c) V[c * stride_ + i] = 0;
        for (long t = 0; t < pending_; ++t) Q[t * stride_ + i] = 0;
    }
    void make_places(const double* row) {
        if (long(places_.size()) == d) return;
        for (long l = 0; l < d; ++l)
            if (row[l] != 0 && !has_place_[std::size_t(l)]) make_place(l);
    }
    /// Places of inputs that were only read.
    void drop_unlearned() {
        for (; long(places_.size()) > learned_; places_.pop_back())
            has_place_[std::size_t(places_.back())] = 0;
    }
    /// Whether these are the places that were learned.
    [[gnu::cold]] bool has(const double* places, long n) const {
        if (long(places_.size()) < n) return false;
        for (long i = 0; i < n; ++i)
            if (double(place(i)) != places[i]) return false;
        return true;
    }
    /// Takes over n places, as many as make sense.
    [[gnu::cold]] void take_places(const double* places, long n) {
        places_.clear();
        std::fill(has_place_.begin(), has_place_.end(), 0);
        for (long i = 0; i < n; ++i) {
            const double l = places[i];
            if (!(l >= 0 && l < double(d) && l == std::floor(l))) return;
            if (has_place_[std::size_t(l)]) return;
            has_place_[std::size_t(l)] = 1;
            places_.push_back(long(l));
        }
    }

    /// S x for the inputs prepared last.
    void project(long count, long n) {
        if (count == 1 && n >= by_symv)
            blas_.symv(n, S, stride_, X, P);
        else if (count == 1)
            combine_row(n, n, X, S, stride_, P);
        else if (n >= by_blas)
            blas_.gemm(false, false, count, n, n, 1.0, X, stride_, S, stride_, 0.0, P, stride_);
        else
            combine(count, n, n, 1.0, {X, stride_, 1}, S, stride_, P, stride_, false);
        for (long t = 0; t < count; ++t) set_to_zero(P + t * stride_ + n, pad(n) - n);
    }

    /// Folds what is pending into S. Inputs that are prepared are to be prepared again.
    void flush() {
        const long n = learned_;
        if (n >= by_blas) {
            for (long i = 0; i < n; i += panel) {
                const long height = std::min(panel, n - i);
                blas_.gemm(true, false, height, i + height, pending_, -1.0, Q + i, stride_, Q,
                           stride_, 1.0, S + i * stride_, stride_);
                mirror_panel(i, height);
            }
        } else {
            add_gram(n, n, pending_, -1.0, Q, stride_, S, stride_);
        }
        pending_ = 0;
        forget_prepared();
    }
    /// Copies rows [first, first + height) of S, left of their square, to above it.
    void mirror_panel(long first, long height) {
        constexpr long tile = 8;
        for (long j0 = 0; j0 < first; j0 += tile)
            for (long i = first; i < first + height; ++i)
                for (long j = j0; j < j0 + tile; ++j) S[j * stride_ + i] = S[i * stride_ + j];
    }

    /// S less what is pending (n x n, of the n features that were learned).
    void present(double* out) const {
        const long n = learned_;
        for (long i = 0; i < n; ++i) copy(S + i * stride_, n, out + i * n);
        if (pending_ == 0) return;
        blas_.gemm(true, false, n, n, pending_, -1.0, Q, stride_, Q, stride_, 1.0, out, n);
        for (long i = 0; i < n; ++i)  // which has no order of sums, so both halves may differ
            for (long j = 0; j < i; ++j) out[j * n + i] = out[i * n + j];
    }

    Blas blas_;
    double regulariser_;           // the multiple of I that A has besides what was learned
    double owed_ = 0;              // gains since the last that was taken for more than its own
    std::vector<long> places_;     // the features that have places; the first `learned_` for good
    std::vector<char> has_place_;  // of all d
    long stride_ = 0;              // of rows of S, V, X, P and Q
    long pending_ = 0, learned_ = 0, read_ = -1;
    Buffer S;     // n x n; V is k x n
    Buffer P, Q;  // S x of each input, and what is pending: sqrt(w) P
    Buffer along_;
    // Steps by themselves are folded in after so many: not the same of all experts of a pool, so
    // that no step has to wait for all of them.
    const long most_pending_;
};

}  // namespace MIXABLE_ISA
