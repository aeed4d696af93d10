// Answering: walk the path types of each query, ask its precedents, combine what they say, rank
// (§2.2.1, equation 1).
#pragma once

#include <string>

#include "common/parallel.hpp"
#include "common/path_type.hpp"

namespace casegraph {

// How evidence is gathered and combined; one value of a Python `Settings`.
struct Manner {
  int max_length = 3;
  bool loop_free = true;    // paths, or walks that may pass an entity twice
  int walked = 0;           // how many path types that lead anywhere are walked; 0 for all
  bool precedents = false;  // also ask what entities that share a fact, and all entities, answer
  double doubt = 5;         // added to what a precedent is divided by
  Count support = 2;        // a shared fact speaks for an answer that at least so many others gave
  double habit = 0.1;       // the weight of what all entities answer
  bool sum = false;         // add the evidence up, or combine it as a discounted noisy-or
  double discount = 0.05;   // what the next best piece of evidence is worth
  int best = 5;             // how many pieces count
  Count budget = 20'000'000;  // edges that a query may look at: what would cost more is left out,
                              // and the answer says so
};

// What the queries of one relation are asked with.
struct Lists {
  std::span<const PathType> types;  // path types of the relation
  std::span<const std::int64_t>
      offsets;  // list i walks walked[offsets[i] .. offsets[i + 1]), in this order
  std::span<const std::int32_t> walked;  // places in `types`
  std::span<const double> weights;       // parallel to `walked`; they fall along a list
};

struct Queries {
  Ids entities;  // one a query
  Ids lists;     // which list each query walks
  Ids left_out;  // a known answer to be treated as unknown, or -1, for each query
};

// For each query: which of its answers to rank, and which known ones to pass over; sorted sets, one
// after the other.
struct Targets {
  std::span<const std::int64_t> offsets;
  Ids entities;
  std::span<const std::int64_t> known_offsets;
  Ids known;
};

// How a target stands among the candidates that were reached and are not passed over.
struct Standing {
  std::vector<double> score;                  // 0 where it was not reached
  std::vector<Count> better, equal, earlier;  // earlier: the equal ones that were found before it
};

struct Answers {
  std::vector<std::int64_t> offsets;  // (queries + 1)
  std::vector<Id> entities;
  std::vector<double> scores;
  std::vector<std::uint8_t> exact;  // (queries)  whether the budget sufficed
  Count followed = 0;               // edges looked at
};

// One piece of evidence for an answer.
struct Evidence {
  enum Kind : int { path, shared_fact, habit } kind;
  Id relation, tail;    // the shared fact
  std::int32_t walked;  // the place in the list of the path type
  Count count, of;      // how many of how many others gave the answer
  double value;         // what it says, before combination
};

struct Asking;
class Workspaces;

// The best `top` answers of every query, best first; equal scores in the order `rank` gives. `top`
// < 0 for all.
Answers answers(const Asking& asking, const Queries& queries, Workspaces& workspaces, Count top,
                int threads, Progress& progress);

// How the targets of every query stand.
Standing standings(const Asking& asking, const Queries& queries, Workspaces& workspaces,
                   const Targets& targets, int threads, Progress& progress);

// All evidence for one answer of the one query given, in the order it was found.
std::vector<Evidence> evidence(const Asking& asking, const Queries& queries, Workspaces& workspaces,
                               Id answer, Progress& progress);

}  // namespace casegraph
