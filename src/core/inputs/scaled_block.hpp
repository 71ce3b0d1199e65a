// A block of records, scaled once for all experts whose scalers know the same.
#pragma once

#include <deque>

#include "scaler.hpp"

namespace MIXABLE_ISA {

class ScaledBlock {
   public:
    /// For at most `most` records at a time.
    explicit ScaledBlock(long most) : most_(most) {}

    /// Begins the next block of n rows; `counts` says which of them are learned.
    void begin(const bool* counts, long n) {
        counts_ = counts;
        n_ = n;
        for (Scaled& each : kinds_) each.after = nullptr;
    }

    /// Scales row t of the block, x(t) as it comes, for all t. The scaler learns them in turn. Rows
    /// of the same `picks` are the same; see DenseExpert.
    template <class F>
    void scale(Scaler& scaler, F&& x, const std::vector<long>& picks = {}) {
        now_ = &those_like(scaler);
        auto& [before, after, own, rows] = *now_;
        if (after && picks == own && before.knows_the_same(scaler)) return scaler.adopt(*after);
        own = picks;
        before.adopt(scaler);
        after = &scaler;
        const long length = scaler.views * scaler.width;
        for (long t = 0; t < n_; ++t) {
            if (counts_[t])
                scaler.learn(x(t), rows + t * length);
            else
                scaler.transform(x(t), rows + t * length);
        }
    }

    /// The d numbers of a row in one of its views, 0 or the last by -1.
    const double* view(long t, long v) const {
        const Scaler& like = now_->before;
        return now_->rows + (t * like.views + (v < 0 ? like.views - 1 : v)) * like.width +
               like.width - like.d;
    }

   private:
    struct Scaled {
        Scaler before;        // what the scaler that made the rows knew before
        const Scaler* after;  // that scaler; null before the first
        std::vector<long> picks;
        Buffer rows;
    };

    /// Experts whose scalers are of several kinds take turns.
    Scaled& those_like(const Scaler& scaler) {
        for (Scaled& each : kinds_)
            if (each.before.is_like(scaler) && each.before.width == scaler.width) return each;
        kinds_.push_back(
            {scaler.empty(), nullptr, {}, Buffer(most_ * scaler.views * scaler.width)});
        return kinds_.back();
    }

    long most_, n_ = 0;
    const bool* counts_ = nullptr;
    std::deque<Scaled> kinds_;
    Scaled* now_ = nullptr;
};

}  // namespace MIXABLE_ISA
