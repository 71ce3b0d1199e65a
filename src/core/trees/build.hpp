// What is known while an ensemble is built on the rows of a ring, as it is saved and checked.
#pragma once

#include "core/sparse/hashing.hpp"
#include "grower.hpp"

namespace MIXABLE_ISA {
namespace trees {

constexpr double most_bytes = 40e6;                  // of the ring and what is kept of its rows
constexpr long most_rows = 65536, most_seen = 2048;  // in the ring; numbers and categories of each

/// The live ensemble, the next one, and what is known of the rows while that is built; or while
/// the live one gets one more tree.
class Build {
   protected:
    enum Stage : long {
        idle,
        binning,
        quantising,
        pending,
        gradients,
        sampling,
        growing,
        leaves,
        add
    };

    Build(long d, long C, long K)
        : classes_(K),
          M(K <= 2 ? 1 : K),
          D(d + C),
          ring_(d, C, rows_for(D, M)),
          live_(d, C, K),
          next_(d, C, K),
          grower_(M) {
        // As in the ring: nothing has to move when there are more rows.
        const std::size_t most = std::size_t(ring_.most);
        codes_.reserve(most * std::size_t(D));
        leaf_.reserve(most);
        for (std::vector<float>* each : {&F_, &g_}) each->reserve(most * std::size_t(M));
        for (std::vector<float>* each : {&size_, &weight_}) each->reserve(most);
        grower_.reserve(ring_.most, D);
    }
    virtual ~Build() = default;

    const long classes_;
    const long M, D;  // sums, columns that are seen

    static double bytes_of_row(long D, long M) {
        return 8.0 * double(D) + 16 + double(D) + 8.0 * double(M) + 4 * (M == 1 ? 4 : 8) + 13;
    }
    static long rows_for(long D, long M) {
        return std::clamp(long(most_bytes / bytes_of_row(D, M)), 256L, most_rows);
    }
    Ensemble& target() { return builds_ ? next_ : live_; }
    void enter(Stage stage) {
        stage_ = stage;
        at_ = 0;
    }
    long slots() const { return long(F_.size()) / M; }
    /// A gradient of two classes stands for both.
    double factor() const { return classes_ == 2 ? 2 : 1; }
    /// What a gradient's square is by chance: of numbers, that of the usual residual.
    double noise() const {
        const double size = classes_ || !(total_weight_ > 0) ? 1 : total_ / total_weight_;
        return size * size;
    }

    static constexpr std::uint8_t unknown_leaf = 255;

    void visit_build(TreeVisitor& visitor) {
        visitor("stage", stage_);
        visitor("builds", builds_);
        visitor("thorough", is_thorough_);
        visitor("at", at_);
        visitor("ready", ready_);
        visitor("last", last_);
        visitor("codes", codes_);
        visitor("F", F_);
        if (stage_ == idle) return;
        next_.visit(visitor, "next_");
        visitor("total", total_);
        visitor("total_weight", total_weight_);
        visitor("mass", mass_);
        visitor("g", g_);
        visitor("size", size_);
        visitor("row_weight", weight_);
        visitor("leaf", leaf_);
        visitor("G", G_);
        visitor("H", H_);
        visitor("leaf_value", value_);
        visitor("salt", salt_);
        grower_.visit(visitor);
    }
    /// After a visit that has loaded: false if the contents are not some that building made.
    bool complete_build() {
        if (!is_valid_state()) return false;
        if (stage_ != idle && !is_valid_build()) return false;
        const Bins& own = (stage_ == idle ? live_ : target()).bins;
        for (long i = 0; i < slots() * D; ++i)
            if (codes_[std::size_t(i)] > own.last(i % D)) return false;
        if (stage_ == idle) return true;
        if (stage_ < sampling) return true;
        grower_.factor = factor();
        grower_.by_chance = noise();
        return grower_.complete(codes_.data(), slots(), D, target().bins, M, stage_ > sampling);
    }

    Ring ring_;
    Ensemble live_, next_;
    Grower grower_;
    long stage_ = idle;
    long is_thorough_ = 0;       // whether the next ensemble is to be
    long builds_ = 1;            // whether it works on the next ensemble, or on the live one
    long at_ = 0;                // in the stage
    long ready_ = 0, last_ = 0;  // rows whose codes and F are known; rows at the last tree more
    // Of the rows in the ring, for the ensemble that is worked on:
    std::vector<std::uint8_t> codes_, leaf_;
    std::vector<float> F_, g_, size_, weight_;
    double total_ = 0, total_weight_ = 0;  // of the gradients, of the rows
    std::vector<double> mass_, G_, H_;     // of the gradients by class; sums of the leaves
    std::vector<float> value_;
    std::vector<Key> salt_ = {0};

   private:
    bool is_valid_state() const {
        if (!ring_.is_valid(classes_) || !live_.is_valid(ring_.n()) || stage_ < idle ||
            stage_ > add || builds_ < 0 || builds_ > 1 || is_thorough_ < 0 || is_thorough_ > 1 ||
            at_ < 0 || ready_ < 0 || ready_ > ring_.n() || last_ < 0 || last_ > ring_.n())
            return false;
        const long n = slots();
        return n <= ring_.size() && long(codes_.size()) == n * D && long(F_.size()) == n * M &&
               are_small(F_);
    }
    /// The same of what is known in the middle of a tree; later stages know more.
    bool is_valid_build() const {
        const long n = slots(), in_tree = long(grower_.order.size());
        if (builds_ ? !next_.is_valid(ring_.n()) : live_.start == 0) return false;
        if (stage_ == binning) return at_ <= D && n == 0;
        if (stage_ == quantising) return builds_ && at_ == n && n <= ring_.size();
        // Slots without codes are those of rows that are still to be made ready.
        if (stage_ == pending) return n == ring_.size() || ready_ <= n;
        if (long(g_.size()) != n * M || long(size_.size()) != n || long(weight_.size()) != n ||
            long(leaf_.size()) != n || long(mass_.size()) != M || !are_small(g_) ||
            !are_small(size_) || !are_small(weight_) || !(total_ >= 0 && total_ < 1e30) ||
            !(total_weight_ >= 0 && total_weight_ < 1e30) ||
            long(grower_.sums.size()) != n * grower_.lanes || n == 0)
            return false;
        for (const double mass : mass_)
            if (!(mass >= 0 && mass < 1e30)) return false;
        if (stage_ == gradients) return at_ <= n;
        if (salt_.size() != 1) return false;
        if (stage_ == sampling) return at_ <= n && in_tree <= at_;
        const long known = stage_ == growing ? 0 : grower_.leaves();
        if (!std::all_of(leaf_.begin(), leaf_.end(),
                         [=](long leaf) { return leaf < known || leaf == unknown_leaf; }))
            return false;
        if (stage_ == growing) return true;
        if (long(G_.size()) != grower_.leaves() * M || H_.size() != G_.size()) return false;
        for (std::size_t i = 0; i < G_.size(); ++i)
            if (!(std::fabs(G_[i]) < 1e30 && H_[i] >= 0 && H_[i] < 1e30)) return false;
        if (stage_ == leaves) return at_ <= n;
        const long most = grower_.leaves();
        return at_ <= n && value_.size() == G_.size() && are_small(value_) &&
               std::all_of(leaf_.begin(), leaf_.end(), [most](long leaf) { return leaf < most; });
    }
    static bool are_small(const std::vector<float>& values) {
        return std::all_of(values.begin(), values.end(),
                           [](float x) { return std::fabs(x) < 1e30f; });
    }
};

}  // namespace trees
}  // namespace MIXABLE_ISA
