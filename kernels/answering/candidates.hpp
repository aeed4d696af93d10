// The candidates of one query, and the pieces of evidence that count for each.
//
// A score is either the sum of all pieces (the paper's equation 1), or a discounted noisy-or of the
// `best` pieces: sort them by worth, c₁ ≥ c₂ ≥ …, then
//
//     score = Σⱼ discountʲ⁻¹ · −log(1 − cⱼ)
//
// With discount 1 that orders like noisy-or, and with discount towards 0 like the best piece with
// ties decided by the next best. For the second way, only the `best` pieces are kept, and from the
// pieces known so far a lower and an upper bound of the final score can be told.
#pragma once

#include <cmath>
#include <vector>

#include "answering/answers.hpp"
#include "common/bits.hpp"
#include "common/stamps.hpp"

namespace casegraph {

struct Candidate {
  Id entity;
  std::int32_t found_by;  // the place of the first path type that led here; INT32_MAX if none did
  Count paths;            // how many walks of that path type lead here
  Count given;            // how many entities answer so, where the habit counts
  double score;
};

// What a piece of evidence is worth, and the logarithm that the noisy-or needs.
struct Piece {
  explicit Piece(double value) : worth(value), log_doubt(std::log1p(-value)) {}
  Piece() = default;

  double worth = 0;
  double log_doubt = 0;  // log(1 - worth)
};

struct Bounds {
  double lower;
  double upper;
};

class Candidates {
 public:
  explicit Candidates(std::size_t entities) : places_(entities), is_final_(entities) {}

  // Forget all candidates, for the next query.
  void renew(const QueryOptions& options) {
    for (const Candidate& candidate : list_)
      is_final_.erase(static_cast<std::size_t>(candidate.entity));
    list_.clear();
    kept_.clear();
    pieces_.clear();
    places_.renew();
    sum_ = options.sum;
    discount_ = options.discount;
    best_ = static_cast<std::size_t>(options.best);
  }

  const std::vector<Candidate>& list() const { return list_; }
  Candidate& operator[](std::size_t place) { return list_[place]; }
  bool has(Id entity) const { return places_.has(entity); }
  const Candidate* find(Id entity) const {
    return has(entity) ? &list_[places_.slot(entity)] : nullptr;
  }

  // The place of an entity in the list. It becomes a candidate if it is none yet.
  std::size_t place(Id entity) {
    if (has(entity)) return places_.slot(entity);
    places_.set(entity, list_.size());
    list_.push_back({entity, INT32_MAX, 0, 0, 0});
    if (!sum_) {
      kept_.push_back(0);
      pieces_.resize(pieces_.size() + best_);
    }
    return list_.size() - 1;
  }

  void add(std::size_t place, const Piece& piece) {
    if (sum_)
      list_[place].score += piece.worth;
    else if (can_matter(place, piece.worth))
      insert(place, piece);
  }

  // Whether pieces worth no more than `worth` cannot change anything about the candidate: neither
  // its score, nor the path type that found it.
  bool is_final(std::size_t place, double worth) const {
    const bool is_found = list_[place].found_by != INT32_MAX;
    return !sum_ && is_found && !can_matter(place, worth);
  }

  // A bitset of candidates that are final, for loops that ask about every edge.
  void mark_final(Id entity) { is_final_.insert(static_cast<std::size_t>(entity)); }
  bool is_marked_final(Id entity) const { return is_final_.has(static_cast<std::size_t>(entity)); }

  // An upper bound for an entity that is no candidate and may have the habit, if all evidence to
  // come is worth no more than `next`.
  double upper_bound(const Piece& habit, const Piece& next) const {
    double weight = 1, score = 0;
    for (std::size_t at = 0; at < best_; ++at, weight *= discount_) {
      const double first = std::min(habit.log_doubt, next.log_doubt);
      score -= weight * (at == 0 ? first : next.log_doubt);
    }
    return score;
  }

  // Bounds for a candidate, if all evidence to come is worth no more than `next`: it may get
  // nothing more, or every piece it has room for may be as good as `next`.
  Bounds bounds(std::size_t place, const Piece& next) const {
    double weight = 1, lower = 0, upper = 0;
    for (std::size_t at = 0; at < best_; ++at, weight *= discount_) {
      const bool is_known = at < kept_[place];
      const Piece& known = pieces_[place * best_ + at];
      const bool stays = is_known && known.worth > next.worth;
      if (is_known) lower -= weight * known.log_doubt;
      upper -= weight * (stays ? known.log_doubt : next.log_doubt);
    }
    return {lower, upper};
  }

  // Compute all scores from the pieces.
  void combine() {
    if (sum_) return;
    for (std::size_t place = 0; place < list_.size(); ++place) {
      double weight = 1, score = 0;
      for (std::size_t at = 0; at < kept_[place]; ++at, weight *= discount_)
        score -= weight * pieces_[place * best_ + at].log_doubt;
      list_[place].score = score;
    }
  }

 private:
  // Whether a piece would be among the best of a candidate.
  bool can_matter(std::size_t place, double worth) const {
    const bool has_room = kept_[place] < best_;
    return has_room || worth > pieces_[place * best_ + best_ - 1].worth;
  }

  // Insertion sort, in place of the worst piece if there is no room.
  void insert(std::size_t place, const Piece& piece) {
    Piece* pieces = &pieces_[place * best_];
    std::size_t at = kept_[place] < best_ ? kept_[place]++ : best_ - 1;
    for (; at > 0 && pieces[at - 1].worth < piece.worth; --at) pieces[at] = pieces[at - 1];
    pieces[at] = piece;
  }

  bool sum_ = false;
  double discount_ = 0;
  std::size_t best_ = 0;
  Stamps places_;  // the place of each candidate in the list
  Bits is_final_;
  std::vector<Candidate> list_;
  std::vector<std::uint8_t> kept_;  // how many pieces each candidate has
  std::vector<Piece> pieces_;       // `best_` for each candidate, best first
};

}  // namespace casegraph
