// The candidates of one query, and the pieces of evidence that count for each.
//
// A score is either the sum of what all pieces are worth (the paper's equation 1), or combines the
// strongest path types with the other kinds (kinds.hpp). For the second way only the strongest path
// types are kept, and the pieces known so far give a lower and an upper bound of the final score.
#pragma once

#include <cmath>
#include <vector>

#include "answering/answers.hpp"
#include "answering/kinds.hpp"
#include "common/bits.hpp"
#include "common/stamps.hpp"

namespace casegraph {

struct Candidate {
  Id entity;
  std::int32_t found_by;  // the place of the first path type that led here; INT32_MAX if none did
  Count paths;            // how many walks of that path type lead here
  Count given;            // how many entities have this answer, if slots or the habit count
  double score;           // 0 if nothing speaks for it, all in all
  bool is_taken;          // whether its slot is taken: another entity has it as its answer
  double precedents;      // the strengths of these kinds
  double answers;
  double habit;
};

struct Bounds {
  double lower;
  double upper;
};

class Candidates {
 public:
  explicit Candidates(std::size_t entities) : places_(entities), is_final_(entities) {}

  // Remove all candidates, for the next query.
  void renew(const QueryOptions& options) {
    for (const Candidate& candidate : list_)
      is_final_.erase(static_cast<std::size_t>(candidate.entity));
    list_.clear();
    strengths_.clear();
    places_.renew();
    options_ = &options;
    path_weights_.clear();
    double weight = 1;
    for (int at = 0; at < options.best; ++at, weight *= options.discount)
      path_weights_.push_back(weight);
  }

  const std::vector<Candidate>& list() const { return list_; }
  Candidate& operator[](std::size_t place) { return list_[place]; }
  const Candidate& operator[](std::size_t place) const { return list_[place]; }
  bool has(Id entity) const { return places_.has(entity); }
  const Candidate* find(Id entity) const {
    return has(entity) ? &list_[places_.slot(entity)] : nullptr;
  }

  // The place of a candidate in the list.
  std::size_t place_of(Id entity) const { return places_.slot(entity); }

  // A new candidate; returns its place.
  //
  // given  how many entities have this answer, if slots or the habit count
  std::size_t make(Id entity, Count given, bool is_taken) {
    places_.set(entity, list_.size());
    list_.push_back({entity, INT32_MAX, 0, given, 0, is_taken, 0, 0, 0});
    if (!options_->sum)
      strengths_.resize(strengths_.size() + path_weights_.size());
    return list_.size() - 1;
  }

  void add(std::size_t place, Kind::Number kind, const Worth& worth) {
    Candidate& candidate = list_[place];
    if (options_->sum)
      candidate.score += worth.value;
    else if (kind == Kind::path)
      add_path(place, worth.strength);
    else if (kind == Kind::precedents)
      candidate.precedents = worth.strength;
    else if (kind == Kind::answers)
      candidate.answers = worth.strength;
    else
      candidate.habit = worth.strength;
  }

  // Whether path types of no more than this strength cannot change anything about the candidate:
  // neither its score, nor the path type that found it.
  bool is_final(std::size_t place, double strength) const {
    const bool is_found = list_[place].found_by != INT32_MAX;
    return !options_->sum && is_found && strength <= strengths_of(place).back();
  }

  // A bitset of candidates that are final, for loops that ask about every edge.
  void mark_final(Id entity) { is_final_.insert(static_cast<std::size_t>(entity)); }
  bool is_marked_final(Id entity) const { return is_final_.has(static_cast<std::size_t>(entity)); }

  // An upper bound for an entity that is no candidate and may have the habit, if path types to come
  // have no more than the strength `next`.
  double upper_bound(const Worth& habit, double next) const {
    double paths = 0;
    for (double weight : path_weights_)
      paths += weight * next;
    return paths + habit.strength;
  }

  // Bounds for a candidate, if path types to come have no more than the strength `next`: it may get
  // nothing more, or every piece it has room for may be as good as `next`. All other kinds of
  // evidence must have been added.
  Bounds bounds(std::size_t place, double next) const {
    const std::span<const double> strengths = strengths_of(place);
    double lower = 0;
    double upper = 0;
    for (std::size_t at = 0; at < path_weights_.size(); ++at) {
      lower += path_weights_[at] * strengths[at];
      upper += path_weights_[at] * std::max(strengths[at], next);
    }
    return {with_others(place, lower), with_others(place, upper)};
  }

  // What the path types of a candidate add to its score.
  double path_strength(std::size_t place) const {
    const std::span<const double> strengths = strengths_of(place);
    double paths = 0;
    for (std::size_t at = 0; at < strengths.size(); ++at)
      paths += path_weights_[at] * strengths[at];
    return paths;
  }

  // Compute all scores from the pieces.
  void combine() {
    if (options_->sum)
      return;
    for (std::size_t place = 0; place < list_.size(); ++place)
      combine(place);
  }

  // The same for some candidates.
  void combine(std::span<const std::size_t> places) {
    for (std::size_t place : places)
      combine(place);
  }

 private:
  std::span<double> strengths_of(std::size_t place) {
    return {&strengths_[place * path_weights_.size()], path_weights_.size()};
  }
  std::span<const double> strengths_of(std::size_t place) const {
    return {&strengths_[place * path_weights_.size()], path_weights_.size()};
  }

  // Insertion sort, in place of the weakest path type.
  void add_path(std::size_t place, double strength) {
    const std::span<double> strengths = strengths_of(place);
    std::size_t at = strengths.size() - 1;
    if (strength <= strengths[at])
      return;
    for (; at > 0 && strengths[at - 1] < strength; --at)
      strengths[at] = strengths[at - 1];
    strengths[at] = strength;
  }

  // Term by term, so that the shares of an explanation, added up in this order, are the score.
  double with_others(std::size_t place, double paths) const {
    const Candidate& candidate = list_[place];
    return std::max(0.0, paths + candidate.precedents + candidate.answers + candidate.habit);
  }

  void combine(std::size_t place) { list_[place].score = with_others(place, path_strength(place)); }

  const QueryOptions* options_ = nullptr;
  std::vector<double> path_weights_;  // of the best path type, the next best, …
  Stamps places_;                     // the place of each candidate in the list
  Bits is_final_;
  std::vector<Candidate> list_;
  std::vector<double> strengths_;  // of the best path types of each candidate, strongest first
};

}  // namespace casegraph
