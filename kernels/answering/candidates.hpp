// What speaks for any answer of one query: the candidates, and the pieces of evidence that count
// for each.
#pragma once

#include <cmath>

#include "answering/answers.hpp"
#include "common/bits.hpp"
#include "counting/frontier.hpp"

namespace casegraph {

struct Candidate {
  Id entity;
  std::int32_t found_by;  // the place in the list of the first path type that led here; INT32_MAX
                          // if none did
  Count paths;            // how many of its walks did
  Count given;            // how many entities answer so, if that was asked
  double score;
};

// What a piece of evidence is worth, and what it adds to a score if it is the best one.
struct Piece {
  explicit Piece(double value) : worth(value), said(std::log1p(-value)) {}
  Piece() = default;
  double worth = 0, said = 0;
};

class Candidates {
 public:
  explicit Candidates(std::size_t entities) : places_(entities), marks_(entities) {}

  void renew(const Manner& manner) {
    for (const Candidate& candidate : list_)
      marks_.drop(static_cast<std::size_t>(candidate.entity));
    list_.clear();
    kept_.clear();
    pieces_.clear();
    places_.renew();
    sum_ = manner.sum;
    discount_ = manner.discount;
    best_ = static_cast<std::size_t>(manner.best);
  }

  const std::vector<Candidate>& list() const { return list_; }
  Candidate& operator[](std::size_t place) { return list_[place]; }
  bool has(Id entity) const { return places_.has(entity); }
  const Candidate* find(Id entity) const {
    return has(entity) ? &list_[places_.slot(entity)] : nullptr;
  }

  // The place of an entity among the candidates, which it is from now on.
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
    else if (counts(place, piece.worth))
      insert(place, piece);
  }

  // Whether a path type found the candidate, and what is worth no more than `worth` cannot change
  // its score.
  bool is_settled(std::size_t place, double worth) const {
    return !sum_ && list_[place].found_by != INT32_MAX && !counts(place, worth);
  }
  // To be asked in a hurry: candidates that were settled once, and have been marked so.
  bool is_marked(Id entity) const { return marks_.has(static_cast<std::size_t>(entity)); }
  void mark(Id entity) { marks_.take(static_cast<std::size_t>(entity)); }

  // The most that an entity which has only the habit can score, if all evidence to come is worth no
  // more than `next`.
  double most(const Piece& habit, const Piece& next) const {
    double weight = 1, score = 0;
    for (std::size_t at = 0; at < best_; ++at, weight *= discount_)
      score -= weight * (at == 0 ? std::min(habit.said, next.said) : next.said);
    return score;
  }
  // The least and the most that a candidate can score if all evidence to come is worth no more than
  // `next`.
  std::pair<double, double> bounds(std::size_t place, const Piece& next) const {
    double weight = 1, least = 0, most = 0;
    for (std::size_t at = 0; at < best_; ++at, weight *= discount_) {
      const Piece* piece = at < kept_[place] ? &pieces_[place * best_ + at] : nullptr;
      if (piece != nullptr) least -= weight * piece->said;
      most -= weight * (piece != nullptr && piece->worth > next.worth ? piece->said : next.said);
    }
    return {least, most};
  }

  // What the pieces are worth together.
  void combine() {
    if (sum_) return;
    for (std::size_t place = 0; place < list_.size(); ++place) {
      double weight = 1, score = 0;
      for (std::size_t at = 0; at < kept_[place]; ++at, weight *= discount_)
        score -= weight * pieces_[place * best_ + at].said;
      list_[place].score = score;
    }
  }

 private:
  bool counts(std::size_t place, double worth) const {
    return kept_[place] < best_ || worth > pieces_[place * best_ + best_ - 1].worth;
  }
  void insert(std::size_t place, const Piece& piece) {
    Piece* pieces = &pieces_[place * best_];
    std::size_t at = kept_[place] < best_ ? kept_[place]++ : best_ - 1;
    for (; at > 0 && pieces[at - 1].worth < piece.worth; --at) pieces[at] = pieces[at - 1];
    pieces[at] = piece;
  }

  bool sum_ = false;
  double discount_ = 0;
  std::size_t best_ = 0;
  Stamps places_;
  Bits marks_;
  std::vector<Candidate> list_;
  std::vector<std::uint8_t> kept_;  // how many pieces each candidate has
  std::vector<Piece> pieces_;       // the best ones of each, best first
};

}  // namespace casegraph
