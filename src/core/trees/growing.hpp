// Trees that grow: an ensemble that predicts and takes a step with each example, while the next one
// is built on the rows of a ring, in units of work that are counted.
#pragma once

#include <stdexcept>

#include "builder.hpp"

namespace MIXABLE_ISA {
namespace trees {

constexpr double memory_of_loss = 1000;  // examples
constexpr double least_probability = 1e-5;

class Growing final : public Trees, private Builder {
   public:
    Growing(long d, long C, long K)
        : Trees(d, C, K),
          Builder(std::min(d, most_seen), std::min(C, most_seen), K),
          codes_read_(std::size_t(D)),
          leaves_read_(thorough * most_trees),
          F_read_(std::size_t(stages * M)) {}

    long steps() const override { return steps_; }
    double cost() const override { return 4 * credit_of_step(); }
    double loss() const override { return loss_; }
    std::vector<double> gains() const override { return live_.gains; }
    long trees() const override { return live_.trees(); }

    void read(const double* x, const std::uint64_t* keys) override {
        live_.bins.quantise(x, keys, codes_read_.data());
        live_.score(codes_read_.data(), leaves_read_.data(), F_read_.data(), true);
        if (live_.trees() == 0)
            for (long s = 0; s + 1 < stages; ++s)
                std::copy_n(F(stages - 1), M, F_read_.begin() + s * M);
    }

    void predict(double* p) const override {
        double weight[stages];
        weigh(weight);
        std::fill_n(p, outputs(), 0.0);
        if (K == 0) {
            for (long s = 0; s < stages; ++s) p[0] += weight[s] * double(F(s)[0]);
            p[0] = live_.mean + live_.scale * p[0];
            p[1] = noted_ ? std::sqrt(std::max(loss_, 1e-300)) : live_.scale;
            return;
        }
        g_said_.resize(std::size_t(M));
        for (long s = 0; s < stages; ++s) {
            live_.gradient(F(s), 0, g_said_.data());
            for (long k = 0; k < K; ++k) p[k] += weight[s] * probability(g_said_.data(), k);
        }
        double sum = 0;  // 1 but for the rounding of single precision
        for (long k = 0; k < K; ++k) sum += p[k];
        for (long k = 0; k < K; ++k)
            p[k] = (1 - least_probability) * (p[k] / sum) + least_probability / double(K);
    }

    void learn(const double* x, const std::uint64_t* keys, double y, double weight) override {
        ++steps_;
        if (!(weight > 0)) return;
        note_loss(y);
        const float w = float(weight);
        h_read_.resize(std::size_t(M));
        for (long k = 0; k < M; ++k) {
            float& g = g_read_[std::size_t(k)];
            h_read_[std::size_t(k)] = w * live_.curvature(g);
            g *= w;
        }
        live_.update(leaves_read_.data(), g_read_.data(), h_read_.data());
        ring_.add(x, keys, y, weight);
        if (live_.trees() == 0) live_.set_base(ring_);
        const double c = credit_of_step();
        credit_ = std::min({credit_ + c, 8 * c, 16 * usual_credit()});  // or a step would pause
        while (credit_ > 0) {
            const double spent = unit();
            if (spent == 0) break;
            credit_ -= spent;
        }
    }

    void keep(const double* x, const std::uint64_t* keys, double y, double weight) override {
        if (weight > 0) ring_.add(x, keys, y, weight);
    }

    void begin_anew() override {
        if (live_.start == ring_.n()) return;
        live_.start = 0;
        is_thorough_ = 1;
        stage_ = idle;
    }
    bool work() override { return unit() > 0; }

    void adopt(const Trees& from) override {
        const auto& other = dynamic_cast<const Growing&>(from);
        if (other.d > d || other.C > C || (other.K == 0) != (K == 0) || other.K > K)
            throw std::invalid_argument("only smaller trees can be adopted");
        std::vector<double> x(std::size_t(ring_.d), std::nan(""));
        std::vector<std::uint64_t> keys(std::size_t(ring_.C), 0);
        for (long t = other.ring_.n() - other.ring_.size(); t < other.ring_.n(); ++t) {
            const long slot = t % other.ring_.most;
            std::copy_n(other.ring_.x(slot), other.ring_.d, x.begin());
            std::copy_n(other.ring_.keys(slot), other.ring_.C, keys.begin());
            ring_.add(x.data(), keys.data(), other.ring_.y(slot), other.ring_.weight(slot));
        }
        live_.adopt(other.live_, double(ring_.size()));
        live_.start = 0;  // a new one is due
        steps_ = other.steps_;
        loss_ = other.loss_;
        noted_ = other.noted_;
        std::copy_n(other.stage_loss_, stages, stage_loss_);
        stage_ = idle;
    }

    long came() const override { return ring_.n(); }
    long oldest() const override { return ring_.n() - ring_.size(); }
    TreeRows rows(long first, long most) const override {
        TreeRows out;
        first = std::clamp(first, oldest(), came());
        for (long t = first; t < first + std::min(most, ring_.n() - first); ++t) {
            const long slot = t % ring_.most;
            out.x.insert(out.x.end(), ring_.x(slot), ring_.x(slot) + ring_.d);
            out.x.resize(out.y.size() * std::size_t(d) + std::size_t(d), std::nan(""));
            out.keys.insert(out.keys.end(), ring_.keys(slot), ring_.keys(slot) + ring_.C);
            out.keys.resize(out.y.size() * std::size_t(C) + std::size_t(C));
            out.y.push_back(ring_.y(slot));
            out.weight.push_back(ring_.weight(slot));
        }
        return out;
    }
    void set_rows(const TreeRows& rows, long steps) override {
        ring_.clear();
        for (long t = 0; t < long(rows.y.size()); ++t)
            ring_.add(rows.x.data() + t * d, rows.keys.data() + t * C, rows.y[std::size_t(t)],
                      rows.weight[std::size_t(t)]);
        steps_ = steps;
        live_.start = 0;
        stage_ = idle;
        if (live_.trees() == 0) live_.set_base(ring_);
    }

    double bytes() const override {
        return double(ring_.size()) * bytes_of_row(D, M) + live_.bytes() + next_.bytes() +
               grower_.bytes();
    }

    void visit(TreeVisitor& visitor) override {
        visitor("steps", steps_);
        visitor("loss", loss_);
        visitor("noted", noted_);
        for (long s = 0; s < stages; ++s) visitor("stage_loss" + std::to_string(s), stage_loss_[s]);
        visitor("credit", credit_);
        ring_.visit(visitor);
        live_.visit(visitor, "live_");
        visit_build(visitor);
    }

    bool complete() override { return is_valid() && complete_build(); }

   private:
    /// Nanoseconds of work, roughly. On long streams four times as much: a build has so many rows
    /// then that it would lag behind, and many other experts are inactive.
    double credit_of_step() const {
        return usual_credit() * std::clamp(double(ring_.n()) / 4096, 1.0, 4.0);
    }

    double usual_credit() const {
        return 40e3 + 200 * double(std::min(D, 100L)) + 500 * double(std::min(M, 20L));
    }

    /// Sums after a quarter, half and all of the trees of the row that was read.
    const float* F(long stage) const { return F_read_.data() + stage * M; }
    /// The probability of a class, from the gradient if the label were 0.
    double probability(const float* g, long k) const {
        if (K == 2) return k == 1 ? -double(g[0]) : 1 + double(g[0]);
        return (k == 0 ? 1.0 : 0.0) - double(g[k]);
    }
    /// The weights of the stages, by their recent losses.
    void weigh(double* weight) const {
        const double best = *std::min_element(stage_loss_, stage_loss_ + stages);
        double sum = 0;
        for (long s = 0; s < stages; ++s) sum += weight[s] = std::exp(best - stage_loss_[s]);
        for (long s = 0; s < stages; ++s) weight[s] /= sum;
    }

    /// Notes how well the row that was read has been predicted, by all and by each stage. Leaves
    /// the gradient of the last one.
    void note_loss(double y) {
        double weight[stages], said = 0, own[stages];
        weigh(weight);
        g_read_.resize(std::size_t(M));
        for (long s = 0; s < stages; ++s) {
            live_.gradient(F(s), y, g_read_.data());
            own[s] = double(g_read_[K <= 2 ? 0 : std::size_t(y)]);
            said += weight[s] * (K ? 1 - std::fabs(own[s]) : double(F(s)[0]));
        }
        const double miss = y - live_.mean - live_.scale * said;
        const double now = K ? -std::log((1 - least_probability) * std::max(said, 0.0) +
                                         least_probability / double(K))
                             : std::min(miss * miss, 1e200);
        const double rate = std::max(1 / double(ring_.n() + 1), 1 / memory_of_loss);
        loss_ += (noted_ ? rate : 1) * (now - loss_);
        noted_ = 1;
        const double variance = std::max(loss_, 1e-300), unit = live_.scale;
        for (long s = 0; s < stages; ++s) {
            const double loss = K ? -std::log(std::max(1 - std::fabs(own[s]), 1e-5))
                                  : 0.5 * own[s] * own[s] * unit * unit / variance;
            stage_loss_[s] = (1 - 1 / memory_of_loss) * stage_loss_[s] + std::min(loss, 100.0);
        }
    }

    /// The shrinkage of the next ensemble. Of labels, less if half of the trees say more than all
    /// of them: labels without noise want more than others. Of numbers, less if there are many
    /// rows: whether the second half says more is no sign there.
    double next_rate() const override {
        if (K == 0)
            return std::clamp(0.2 * std::sqrt(std::sqrt(500 / double(ring_.n()))), 0.1, 0.2);
        const double gain = stage_loss_[1] - stage_loss_[2];
        const double rate = live_.rate * (gain < 0 ? 0.85 : 1.15);
        return live_.trees() == 0 ? live_.rate : std::clamp(rate, 0.05, 0.3);
    }

    bool is_valid() const {
        return steps_ >= 0 && loss_ >= 0 && loss_ < 1e300 && noted_ >= 0 && noted_ <= 1 &&
               std::fabs(credit_) < 1e12 &&
               std::all_of(
                   stage_loss_, stage_loss_ + stages,
                   [](double loss) { return loss >= 0 && loss <= 1e6; });
    }
    static constexpr long stages = 3;
    long steps_ = 0, noted_ = 0;
    double loss_ = 0, credit_ = 0;
    double stage_loss_[stages] = {};  // recent ones, added up
    // The row that was read:
    std::vector<std::uint8_t> codes_read_;
    std::vector<std::int32_t> leaves_read_;
    std::vector<float> F_read_, g_read_, h_read_;
    mutable std::vector<float> g_said_;
};

}  // namespace trees
}  // namespace MIXABLE_ISA
