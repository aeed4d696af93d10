// The kinds of evidence, and how pieces of evidence become a score.
//
//   paths        A path type that is right in a share c of cases has the strength −log(1 − c).
//                Path types repeat each other: sorted, strongest first, each next one counts
//                `discount` times as much as the one before.
//   precedents   The ridge scores of both ends (resemblance.hpp), times their weight. They can be
//   answers      negative.
//   habit        How many entities that have the relation have the answer, as −log(1 − c).
//
// The score is the sum. A path type that is nearly always right is a rule, and should not be
// outvoted by many hints: the part of its strength above that of a `decisive` path type counts
// `decisive_factor` times more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace casegraph {

struct Kind {
  enum Number : int {
    path,        // a path type leads there
    precedents,  // entities that resemble the query entity have the answer
    answers,     // the candidate resembles the known answers
    habit,       // many entities that have the relation have the answer
  };
};

// What a piece of evidence is worth, and its strength.
struct Worth {
  explicit Worth(double value_) : value(value_), strength(0.0 - std::log1p(-value_)) {}
  Worth(double value_, double strength_) : value(value_), strength(strength_) {}
  Worth() = default;

  double value = 0;     // from 0 to 1; of a ridge score, any number
  double strength = 0;  // what it adds to a score if nothing is discounted
};

// How much more the strength of a path type counts beyond that of a decisive one. Of 20, 40, 60 and
// 100, tried on the validation facts of six graphs, 60 was best or within .001 of it.
constexpr double decisive_factor = 60;

// What a path type is worth if it is right in this share of cases.
inline Worth worth_of_path(double share, double decisive) {
  Worth worth(share);
  const double beyond = std::max(0.0, worth.strength - Worth(decisive).strength);
  worth.strength += decisive_factor * beyond;
  return worth;
}

}  // namespace casegraph
