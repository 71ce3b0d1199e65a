// A record as a pool sees it, and what a pool asks of an expert.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/inputs/scaled_block.hpp"
#include "core/sparse/sparse_row.hpp"

namespace MIXABLE_ISA {

/// What is known of one example: numbers (NaN for what is missing), and sparse features. What is
/// `shown` of each number to those who take sparse features is a Shown; null: all. `categories` has
/// the key of the value of each column of categories, 0 where there is none, in an order that never
/// changes; columns may come at the end, and a record that is older lacks them. Of an example
/// whose outcome comes late, `scaled` has the numbers as they were scaled for its forecast, and
/// then what the judge heard; see `Pool::kept`. `history` then has what an expert kept of it.
struct Record {
    const double* x;
    SparseRow features, crosses;
    const char* shown = nullptr;
    const double* scaled = nullptr;
    const std::uint64_t* categories = nullptr;
    long n_categories = 0;
    const double* made = nullptr;  // the columns that a pool has made of them
    const double* history = nullptr;
};

/// The views z of a record: as it is scaled now, or was for its forecast.
inline void transform(const Scaler& scaler, const Record& record, double* z) {
    if (record.scaled)
        scaler.spread(record.scaled, record.x, z);
    else
        scaler.transform(record.x, z);
}

/// Lets a buffer have room for n numbers; those in it stay. It doubles: some add row after row.
inline void make_room(long n, Buffer& buffer) {
    if (n <= buffer.size()) return;
    Buffer larger(std::max(n, 2 * buffer.size()));
    copy(buffer, buffer.size(), larger);
    buffer = std::move(larger);
}

/// An expert of a pool with its inputs. A record is read first, then predicted, then learned. Of a
/// record it says `outputs` numbers: probabilities, or a mean and a standard deviation.
template <class Outcome>
class Expert {
   public:
    virtual ~Expert() = default;
    virtual long outputs() const = 0;
    virtual long steps() const = 0;
    /// Multiplications of a step, roughly.
    virtual double cost() const = 0;
    /// Makes its inputs of a record; refuses numbers that are too large.
    virtual void read(const Record& record) = 0;
    virtual void predict(double* p) = 0;
    /// Learns the record that was read, and so do its inputs if the weight is above 0.
    virtual void learn(const Record& record, Outcome y, double weight) = 0;
    /// Whether it is made anew as rows come; see `Activity::set_growing`.
    virtual bool grows() const { return false; }
    /// What it does with a record that it does not learn, since it is not active.
    virtual void miss(const Record&, Outcome, double) {}
    /// Predicts up to `block` records, for less than one after the other; p (n x outputs).
    virtual void predict_many(const Record* records, long n, double* p) = 0;
    /// Predicts and learns many records, for less. First they are scaled in blocks, from the record
    /// `first` on: those that `scaled` has begun with. Inputs learn them. Outcomes and weights
    /// (null: all are 1) are those of all records.
    virtual void take(const Record* records, long first, long n, const Outcome* y,
                      const double* weight, ScaledBlock& scaled) = 0;
    /// Then each block is predicted and learned; p (n x outputs). Experts may do so at the same
    /// time.
    virtual void run(const Record* records, long first, long n, const Outcome* y,
                     const double* weight, double* p) = 0;

    /// What its forecaster sees of the record that was read: where the forecast begins, then the
    /// row. Nothing where the row is sparse.
    virtual std::vector<double> row() const { return {}; }

    /// Numbers that it keeps of a forecast until the outcome comes, all at least 0, and writes of
    /// the record that was read. At most one expert of a pool has some.
    virtual long kept() const { return 0; }
    virtual void keep(double*) const {}

    /// Whether `run` has the bits of `read`, `predict` and `learn`.
    virtual bool runs_as_one_by_one() const { return false; }
    /// What scales the numbers; not of experts that see them raw.
    virtual const Scaler& scaler() const { throw std::logic_error("an expert without a scale"); }
    /// Numbers that it sees.
    virtual long numbers() const { return scaler().d; }

    static constexpr long block = 64;
};

}  // namespace MIXABLE_ISA
