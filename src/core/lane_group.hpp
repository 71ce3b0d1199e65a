// Posteriors in the lanes of the same vectors with their rule: what a bank runs.
#pragma once

#include "full_lane_rule.hpp"
#include "lane_rule.hpp"
#include "lanes.hpp"
#include "two_lane_rule.hpp"

namespace MIXABLE_ISA {

class LaneGroup {
   public:
    virtual ~LaneGroup() = default;
    /// Numbers of a forecast, and how many widths it is read at.
    virtual long outputs() const = 0;
    virtual long count() const = 0;
    virtual void set(long lane, const LaneRule::Own& own) = 0;
    /// What is known in a lane; it starts with nothing.
    virtual std::unique_ptr<Knowledge> make(long lane, const PosteriorShape& shape) const = 0;

    /// The inputs to be read: for each feature a number in each lane.
    virtual double* inputs() = 0;
    virtual void read() = 0;
    /// The forecast at the j-th width of what was read.
    virtual void predict(long j, double* out) = 0;
    /// Learns what was read. `most` is the largest |x|^2 that is learned.
    virtual void learn(long y, double weight, const vec& most) = 0;
};

template <class Rule>
class LaneGroupOf final : public LaneGroup {
   public:
    LaneGroupOf(const PosteriorShape& shape, const LaneRule::Settings& settings, const Blas& blas)
        : lanes_(std::make_shared<Lanes>(shape, blas)), rule_(settings) {}
    long outputs() const override { return rule_.K; }
    long count() const override { return rule_.count(); }
    void set(long lane, const LaneRule::Own& own) override { rule_.set(lane, own); }
    std::unique_ptr<Knowledge> make(long lane, const PosteriorShape& shape) const override {
        if (lanes_->is_full) return std::make_unique<Lane<Posterior>>(lanes_, lane, shape);
        return std::make_unique<Lane<Blocks>>(lanes_, lane, shape);
    }
    double* inputs() override { return lanes_->x; }
    void read() override {
        lanes_->read();
        rule_.begin(lanes_->m, lanes_->g);
    }
    void predict(long j, double* out) override { rule_.predict(j, out); }
    void learn(long y, double weight, const vec& most) override {
        rule_.learn(y, weight);
        lanes_->push(rule_.v, rule_.f, most);
    }

   private:
    std::shared_ptr<Lanes> lanes_;
    Rule rule_;
};

inline std::shared_ptr<LaneGroup> make_lane_group(const PosteriorShape& shape,
                                                  const LaneRule::Settings& settings,
                                                  const Blas& blas) {
    if (settings.structure != Structure::full)
        return std::make_shared<LaneGroupOf<LaneRule>>(shape, settings, blas);
    if (settings.classes == 2)
        return std::make_shared<LaneGroupOf<TwoLaneRule>>(shape, settings, blas);
    return std::make_shared<LaneGroupOf<FullLaneRule>>(shape, settings, blas);
}

}  // namespace MIXABLE_ISA
