// What is known in one lane of full_lanes.hpp.
#pragma once

#include <algorithm>

#include "full_lanes.hpp"

namespace MIXABLE_ISA {

/// To be changed or shown as a whole it becomes a Posterior.
class FullLane final : public Knowledge, public InFull {
   public:
    FullLane(std::shared_ptr<FullLanes> lanes, long lane, const PosteriorShape& shape)
        : Knowledge(shape.k, shape.d),
          lanes_(std::move(lanes)),
          lane_(lane),
          regulariser_(shape.drift == 0 ? shape.lam : 0.0) {
        lanes_->start(lane, shape);
    }

    long steps() const override { return lanes_->steps_[at()]; }
    double largest_square() const override { return shape().largest_square(); }
    double cost() const override { return shape().cost(); }
    double bytes() const override { return shape().bytes(); }
    void mean(double* out) const override {
        for (long i = 0; i < k * d; ++i) out[i] = lanes_->V_[i * W + lane_];
    }
    void covariance(double* out) const override { whole().covariance(out); }
    void feature_covariances(double* out) const override { whole().feature_covariances(out); }
    Posterior whole() const override {
        Posterior out(shape(), lanes_->blas_);
        out.steps_ = steps();
        out.since_refresh_ = lanes_->since_refresh_[at()];
        out.regulariser_ = regulariser_;
        out.n_ = pending_;
        out.curvature_.n_ = curvature_pending_;
        lanes_->settle();
        const bool kept = out.keeps_precision();
        for_entries([&](long i, long j, long from) {
            out.Ainv[i * out.ld + j] = lanes_->S_[from];
            if (kept) out.curvature_.matrix()[i * out.ld + j] = lanes_->A_[from];
        });
        for (long c = 0; c < k; ++c) {  // of the blocks on the diagonal both halves are kept
            mirror(out.Ainv, out.ld, c * d, c * d + d);
            if (kept) mirror(out.curvature_.matrix(), out.ld, c * d, c * d + d);
            for (long l = 0; l < d; ++l)
                out.V[c * out.dp + l] = lanes_->V_[(c * d + l) * W + lane_];
        }
        return out;
    }
    void adopt(const Knowledge& other, bool exchange = false) override {
        Posterior posterior = whole();
        posterior.adopt(other, exchange);
        take(posterior);
    }
    [[gnu::cold]] void visit(Visitor& visitor) override {
        Posterior posterior = whole();
        posterior.visit(visitor);
        take(posterior);
    }
    void clear() override {}
    [[gnu::cold]] bool counters_are_valid() const override { return whole().counters_are_valid(); }
    [[gnu::cold]] bool contents_are_valid(double limit) const override {
        return whole().contents_are_valid(limit);
    }

   private:
    std::size_t at() const { return std::size_t(lane_); }
    const PosteriorShape& shape() const { return lanes_->shape_[at()]; }

    /// f(i, j, where that entry of a triangle is in the lanes).
    template <class F>
    void for_entries(F&& f) const {
        long entry = lane_;
        for (long i = 0; i < k * d; ++i)
            for (long j = 0; j <= i; ++j, entry += W) f(i, j, entry);
    }

    /// Takes over a posterior, with what is pending in it.
    [[gnu::cold]] void take(const Posterior& posterior) {
        const long D = k * d;
        lanes_->steps_[at()] = posterior.steps_;
        lanes_->since_refresh_[at()] = posterior.since_refresh_;
        regulariser_ = posterior.regulariser_;
        pending_ = posterior.n_;
        curvature_pending_ = posterior.curvature_.n_;
        if (!posterior.counters_are_valid()) return;  // as they stand in a file: to be refused
        lanes_->settle();
        Buffer whole(D * D), mean(D);
        posterior.covariance(whole);
        for_entries([&](long i, long j, long to) { lanes_->S_[to] = whole[i * D + j]; });
        if (posterior.keeps_precision()) {
            posterior.precision(whole);
            for_entries([&](long i, long j, long to) { lanes_->A_[to] = whole[i * D + j]; });
        }
        posterior.mean(mean);
        for (long i = 0; i < D; ++i) lanes_->V_[i * W + lane_] = mean[i];
        // Now nothing is pending, unless only counters were read from a file so far.
        const auto is_read = [](const Buffer& values) {
            return std::any_of(values + 0, values + values.size(), [](double x) { return x != 0; });
        };
        if (is_read(posterior.X) || is_read(posterior.curvature_.x_))
            pending_ = curvature_pending_ = 0;
    }

    std::shared_ptr<FullLanes> lanes_;
    const long lane_;
    double regulariser_;
    // Steps that a file of a Posterior says were pending.
    long pending_ = 0, curvature_pending_ = 0;
};

}  // namespace MIXABLE_ISA
