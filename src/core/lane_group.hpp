// Posteriors in the lanes of the same vectors with their rule: what a bank runs.
#pragma once

#include "class_rules.hpp"
#include "gaf.hpp"
#include "lanes.hpp"

namespace MIXABLE_ISA {

/// A rule of GAF that there is in lanes.
struct InLanes {
    /// What the rules in all lanes have in common.
    struct Settings {
        long classes;
        std::vector<double> alphas;  // the widths that it is read at
        double mu;
        Structure structure;
        bool operator==(const Settings& other) const {
            return structure == other.structure && classes == other.classes &&
                   alphas == other.alphas && mu == other.mu;
        }
    };
    /// What the rule of one lane has of its own.
    struct Own {
        double beta;
        bool averaged;  // whether its surrogate is that of averaged.hpp
        double wider;   // it is read at the widths over this
    };
    Settings settings;
    Own own;
};

class LaneGroup {
   public:
    virtual ~LaneGroup() = default;
    /// Numbers of a forecast, and how many widths it is read at.
    virtual long outputs() const = 0;
    virtual long count() const = 0;
    virtual void set(long lane, const InLanes::Own& own) = 0;
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

template <class Rule, class Whole>
class LaneGroupOf final : public LaneGroup {
   public:
    LaneGroupOf(const PosteriorShape& shape, const InLanes::Settings& settings, const Blas& blas,
                Rule rule)
        : alphas_(settings.alphas),
          lanes_(std::make_shared<Lanes>(shape, blas)),
          rule_(std::move(rule)),
          v_(lanes_->m.size()),
          F_(lanes_->g.size()) {}
    long outputs() const override { return rule_.outputs; }
    long count() const override { return long(alphas_.size()); }
    void set(long lane, const InLanes::Own& own) override {
        rule_.beta[lane] = own.beta;
        if constexpr (std::is_same_v<Rule, GafRule<vec>>) {
            rule_.is_averaged[lane] = own.averaged ? -1 : 0;
            rule_.wider[lane] = own.wider;
        }
    }
    std::unique_ptr<Knowledge> make(long lane, const PosteriorShape& shape) const override {
        return std::make_unique<Lane<Whole>>(lanes_, lane, shape);
    }
    double* inputs() override { return lanes_->x; }
    void read() override {
        lanes_->read();
        rule_.begin(lanes_->m, lanes_->g);
    }
    void predict(long j, double* out) override { rule_.predict(alphas_[std::size_t(j)], out); }
    void learn(long y, double weight, const vec& most) override {
        rule_.learn(y, weight, v_, F_);
        lanes_->push(v_, F_, most);
    }

   private:
    std::vector<double> alphas_;
    std::shared_ptr<Lanes> lanes_;
    Rule rule_;
    Buffer v_, F_;  // what is to be learned
};

inline std::shared_ptr<LaneGroup> make_lane_group(const PosteriorShape& shape,
                                                  const InLanes::Settings& settings,
                                                  const Blas& blas) {
    using Full = GafRule<vec>;
    using Structured = ClassGafRule<vec>;
    const long K = settings.classes;
    const double mu = settings.mu;
    if (settings.structure == Structure::full)
        return std::make_shared<LaneGroupOf<Full, Posterior>>(shape, settings, blas,
                                                              Full(K, 1.0, 1.0, mu, nullptr));
    const bool shared = settings.structure == Structure::shared;
    return std::make_shared<LaneGroupOf<Structured, Blocks>>(
        shape, settings, blas, Structured(K, splat(1.0), 1.0, mu, shared));
}

}  // namespace MIXABLE_ISA
