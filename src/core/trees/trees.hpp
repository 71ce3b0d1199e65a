// Boosted trees that grow: what a pool and Python see of them. All of their arithmetic is compiled
// once (../../units/trees.cpp), without contraction: every instruction set has the same trees.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace MIXABLE_ISA {

/// What goes through everything that trees have learned: to save it, or to load it.
class TreeVisitor {
   public:
    virtual ~TreeVisitor() = default;
    virtual void operator()(const std::string& name, long& counter) = 0;
    virtual void operator()(const std::string& name, double& number) = 0;
    virtual void operator()(const std::string& name, std::vector<double>& values) = 0;
    virtual void operator()(const std::string& name, std::vector<float>& values) = 0;
    virtual void operator()(const std::string& name, std::vector<std::int32_t>& values) = 0;
    virtual void operator()(const std::string& name, std::vector<std::uint8_t>& values) = 0;
    virtual void operator()(const std::string& name, std::vector<std::uint64_t>& values) = 0;
};

/// Rows of examples: d numbers (NaN: missing) and C keys of categories (0: missing) in each.
struct TreeRows {
    std::vector<double> x, y, weight;
    std::vector<std::uint64_t> keys;
};

/// A boosted ensemble on d numbers and C categories, of labels 0..K-1, or of numbers if K is 0. A
/// row is read first, then predicted, then learned.
class Trees {
   public:
    Trees(long d, long C, long K) : d(d), C(C), K(K) {}
    virtual ~Trees() = default;
    const long d, C, K;

    /// Numbers in a forecast: probabilities, or a mean and a standard deviation.
    long outputs() const { return K ? K : 2; }
    /// Examples that were learned.
    virtual long steps() const = 0;
    /// Multiplications of a step, roughly.
    virtual double cost() const = 0;

    virtual void read(const double* x, const std::uint64_t* keys) = 0;
    virtual void predict(double* p) const = 0;
    /// Learns the row that was read, the same as is given here, and does some work on new trees.
    virtual void learn(const double* x, const std::uint64_t* keys, double y, double weight) = 0;
    /// Keeps a row for trees to come, and does nothing else.
    virtual void keep(const double* x, const std::uint64_t* keys, double y, double weight) = 0;

    /// Lets the next call of `work` begin a new ensemble on all rows that are kept, unless the one
    /// that predicts is of the same rows.
    virtual void begin_anew() = 0;
    /// Does some work on new trees; false if there is none that is due.
    virtual bool work() = 0;

    /// Takes over what one with at most as many columns and classes has learned; a new ensemble is
    /// begun.
    virtual void adopt(const Trees& other) = 0;
    /// Rows that have come, and the oldest that is kept. Those that are kept, at most `most` from
    /// the row `first` on, the oldest first; and others in their place, of `steps` examples.
    virtual long came() const = 0;
    virtual long oldest() const = 0;
    virtual TreeRows rows(long first, long most) const = 0;
    virtual void set_rows(const TreeRows& rows, long steps) = 0;

    /// The recent loss: nats, or the mean square of the misses.
    virtual double loss() const = 0;
    /// What splits on each column have gained in all, numbers first.
    virtual std::vector<double> gains() const = 0;
    /// Trees, and bytes that everything takes.
    virtual long trees() const = 0;
    virtual double bytes() const = 0;

    virtual void visit(TreeVisitor& visitor) = 0;
    /// After a visit that has loaded: computes what is not saved; false if the contents are not
    /// some that learning made.
    virtual bool complete() = 0;
};

std::unique_ptr<Trees> make_trees(long d, long C, long K);

}  // namespace MIXABLE_ISA
