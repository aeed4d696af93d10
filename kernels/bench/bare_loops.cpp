#include "bench/bare_loops.hpp"

#include "counting/cycles.hpp"
#include "counting/frontier.hpp"
#include "counting/reach_plan.hpp"

namespace casegraph {
namespace {

constexpr std::size_t at_once = 8;  // entities of one task

// Call `each(thread, entity)` for all entities, and add up what it returns.
template <class Each>
Count summed(std::size_t entities, int threads, Progress& progress, const Each& each) {
  const std::size_t tasks = (entities + at_once - 1) / at_once;
  std::vector<Count> sums(useful(threads, tasks));
  parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
    for (std::size_t at = task * at_once; at < std::min(entities, (task + 1) * at_once); ++at)
      sums[thread] += each(thread, at);
  });
  return std::accumulate(sums.begin(), sums.end(), Count{0});
}

Count below(const Ranked& all, Id top, Id at, int length, Steps& steps) {
  steps.take();
  std::int64_t edge = all.offsets[at];
  Count edges = 0;
  for (; edge < all.offsets[at + 1] && all.tails[edge] < top; ++edge)
    if (length > 1) edges += below(all, top, all.tails[edge], length - 1, steps);
  return edges + edge - all.offsets[at] + 1;
}

class Walker {
 public:
  Walker(const Graph& graph, const Plan& plan, int max_length, Progress& progress)
      : graph_(graph),
        plan_(plan),
        steps_(progress),
        frontiers_(max_length + 1),
        stamps_(max_length + 1, Stamps(graph.entities)) {}

  Count walk(Id entity) {
    relations_ = {};
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation)
      if (!graph_.tails(entity, static_cast<Id>(relation)).empty())
        mark(relations_, static_cast<Id>(relation));
    frontiers_[0].ends.assign(1, entity);
    return descend(0);
  }

 private:
  Count descend(std::int32_t parent) {
    const auto& nodes = plan_.trie.nodes;
    const int length = nodes[parent].length;
    const Frontier& from = frontiers_[length];
    const Stamps* where = length == 0 ? nullptr : &stamps_[length];
    Count edges = 0;
    for (std::int32_t node = parent + 1; node < nodes[parent].after; node = nodes[node].after) {
      if (!meet(plan_.below[node], relations_)) continue;
      Frontier& into = frontiers_[length + 1];
      Stamps& stamps = stamps_[length + 1];
      stamps.renew();
      into.ends.clear();
      const bool last = nodes[node].ahead == 0;
      const Edges& along = graph_.edges(nodes[node].relation);
      each_end(along, from, where, steps_, [&](std::size_t, std::size_t row) {
        const Ids tails = along.row(row);
        edges += static_cast<Count>(tails.size());
        if (last)
          for (Id tail : tails) stamps.set(tail);
        else
          for (Id tail : tails)
            if (!stamps.has(tail)) {
              stamps.set(tail, into.ends.size());
              into.ends.push_back(tail);
            }
      });
      if (!last && !into.ends.empty()) edges += descend(node);
    }
    return edges;
  }

  const Graph& graph_;
  const Plan& plan_;
  Steps steps_;
  std::vector<Frontier> frontiers_;
  std::vector<Stamps> stamps_;
  Signature relations_{};
};

}  // namespace

Count bare_cycles(const Graph& graph, Ids rank, int max_length, Count additions, Count kinds,
                  int threads, Progress& progress) {
  Steps steps(progress);
  const Ranked ranked(graph, rank, steps);
  std::vector<Steps> taken(static_cast<std::size_t>(std::max(threads, 1)), steps);
  const Count edges = summed(static_cast<std::size_t>(graph.entities), threads, progress,
                             [&](int thread, std::size_t top) {
                               return below(ranked, static_cast<Id>(top), static_cast<Id>(top),
                                            max_length / 2 + 1, taken[thread]);
                             });
  std::vector<std::vector<Count>> counts(static_cast<std::size_t>(std::max(threads, 1)),
                                         std::vector<Count>(static_cast<std::size_t>(kinds)));
  constexpr Count at_a_time = 1 << 16;
  summed(static_cast<std::size_t>((additions + at_a_time - 1) / at_a_time), threads, progress,
         [&](int thread, std::size_t part) {
           std::uint64_t somewhere = part;
           for (Count addition = 0; addition < at_a_time; ++addition) {
             somewhere = somewhere * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
             ++counts[thread][(somewhere >> 32) * static_cast<std::uint64_t>(kinds) >> 32];
           }
           return Count{0};
         });
  return edges;
}

Count bare_reach(const Graph& graph, Ids entities, std::span<const Use> uses, int max_length,
                 int threads, Progress& progress) {
  const Plan plan(uses, {}, max_length);
  std::vector<Walker> walkers(std::max(threads, 1), Walker(graph, plan, max_length, progress));
  return summed(entities.size(), threads, progress,
                [&](int thread, std::size_t at) { return walkers[thread].walk(entities[at]); });
}

}  // namespace casegraph
