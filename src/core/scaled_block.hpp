// A block of records, scaled once for all experts whose scalers know the same.
#pragma once

#include <optional>

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
        after_ = nullptr;
    }

    /// Scales row t of the block, x(t) as it comes, for all t. The scaler learns them in turn.
    template <class F>
    void scale(Scaler& scaler, F&& x) {
        if (after_ && before_->knows_the_same(scaler)) return scaler.adopt(*after_);
        if (!before_ || !before_->is_like(scaler) || before_->width != scaler.width) {
            before_.emplace(scaler.empty());
            rows_ = Buffer(most_ * scaler.views * scaler.width);
        }
        before_->adopt(scaler);
        after_ = &scaler;
        const long length = scaler.views * scaler.width;
        for (long t = 0; t < n_; ++t) {
            if (counts_[t])
                scaler.learn(x(t), rows_ + t * length);
            else
                scaler.transform(x(t), rows_ + t * length);
        }
    }

    /// The d numbers of a row in one of its views, 0 or the last by -1.
    const double* view(long t, long v) const {
        const Scaler& like = *before_;
        return rows_ + (t * like.views + (v < 0 ? like.views - 1 : v)) * like.width + like.width -
               like.d;
    }

   private:
    long most_, n_ = 0;
    const bool* counts_ = nullptr;
    std::optional<Scaler> before_;   // what the scaler that made the rows knew before
    const Scaler* after_ = nullptr;  // that scaler; null before the first
    Buffer rows_;
};

}  // namespace MIXABLE_ISA
