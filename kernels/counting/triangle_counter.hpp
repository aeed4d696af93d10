// Closed paths of one and two steps from one entity after the other: parallel edges and triangles.
//
// Does what `ClosedPathCounter` does for longer paths, too. With so few steps a first half is an
// edge, and nothing but its relation need be known, so the edges of the entity are all that is
// kept (neighbour_table.hpp).
#pragma once

#include <array>

#include "common/parallel.hpp"
#include "common/tally.hpp"
#include "counting/hit_rows.hpp"
#include "counting/neighbour_table.hpp"

namespace casegraph {

class alignas(own_lines) TriangleCounter {
 public:
  static constexpr int most_steps = 2;

  TriangleCounter(const Graph& graph, int max_length, int longest, Progress& progress)
      : steps_(progress),
        all_(graph.adjacency(steps_)),
        packing_(max_length),
        longest_(longest),
        tallies_(graph.relations.size()) {}

  // Begin with an entity; then `count_answer` for some of its answers, and `leave` it.
  void start_from(Id entity) {
    entity_ = entity;
    neighbours_.fill(all_, entity, steps_);
  }

  // Count the paths from there to one answer, another entity, as if `relation` led there.
  void count_answer(Id relation, Id answer) {
    Tally& tally = tallies_[relation];
    neighbours_.each_relation(answer, [&](Id only) { add_path(tally, packing_.step(only, 0)); });
    if (longest_ == most_steps)
      count_triangles(tally, answer);
  }

  void leave() { neighbours_.clear(all_, entity_); }

  // How many path types were counted for a relation.
  std::size_t kinds(Id relation) const { return tallies_[relation].size(); }

  // Move the counts to `rows`.
  void flush() {
    for (std::size_t relation = 0; relation < tallies_.size(); ++relation)
      tallies_[relation].drain([&](PathType type, Count hits) {
        rows.push_back({-1, static_cast<Id>(relation), type, hits});
      });
  }

  Count paths = 0;  // that were found
  std::vector<Hits> rows;

 private:
  // Paths over an entity that has edges with both ends.
  void count_triangles(Tally& tally, Id answer) {
    const std::int64_t end = all_.offsets[answer + 1];
    std::int64_t edge = all_.offsets[answer];
    // Few edges lead to a neighbour, and which do cannot be foretold. So each is written down, and
    // the next overwrites it if it does not: no branch to guess wrong.
    std::array<std::int64_t, 128> meeting;
    while (edge < end) {
      const std::int64_t part_end = std::min(end, edge + std::ssize(meeting));
      steps_.take(part_end - edge);
      std::size_t count = 0;
      for (; edge < part_end; ++edge) {
        meeting[count] = edge;
        count += neighbours_.may_have(all_.tails[edge]);
      }
      for (std::size_t at = 0; at < count; ++at)
        join_at(tally, answer, meeting[at]);
    }
  }

  // The paths whose last step is this edge of the answer, walked back.
  void join_at(Tally& tally, Id answer, std::int64_t edge) {
    const Id middle = all_.tails[edge];
    if (middle == answer)
      return;
    const PathType last = packing_.step(inverse(all_.relations[edge]), 1);
    neighbours_.each_relation(middle,
                              [&](Id first) { add_path(tally, packing_.step(first, 0) | last); });
  }

  void add_path(Tally& tally, PathType type) {
    steps_.take();
    ++paths;
    tally.add(type, 1);
  }

  Steps steps_;
  const Adjacency& all_;
  const Packing packing_;
  const int longest_;
  std::vector<Tally> tallies_;  // by relation
  NeighbourTable neighbours_;   // of the entity
  Id entity_ = -1;
};

}  // namespace casegraph
