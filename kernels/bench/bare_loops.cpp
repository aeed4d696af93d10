#include "bench/bare_loops.hpp"

#include <atomic>

#include "counting/degree_order.hpp"
#include "counting/frontier.hpp"
#include "counting/reach_by_tile.hpp"
#include "counting/reach_choice.hpp"
#include "counting/reach_plan.hpp"
#include "counting/start_batches.hpp"

namespace casegraph {
namespace {

// Add up `each(thread, item)` over all items.
template <class Each>
Count sum_over(std::size_t items, int threads, Progress& progress, const Each& each) {
  const Chunks chunks(items, 8);
  std::atomic<Count> total{0};
  chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
    Count sum = 0;
    for (std::size_t item = begin; item < end; ++item)
      sum += each(thread, item);
    total += sum;
  });
  return total;
}

// Walk so many steps from an entity, over entities below the top, and call `use(end)` for each end.
// Returns how many edges and entities were looked at.
template <class Use>
Count walk_below(const DegreeOrder& order, Id top, Id at, int length, Steps& steps,
                 const Use& use) {
  steps.take();
  std::int64_t edge = order.offsets[at];
  Count edges = 0;
  for (; edge < order.offsets[at + 1] && order.tails[edge] < top; ++edge) {
    if (length > 1)
      edges += walk_below(order, top, order.tails[edge], length - 1, steps, use);
    else
      use(order.tails[edge]);
  }
  return edges + edge - order.offsets[at] + 1;
}

// Brings the halves of cycles together where they meet, from one top after the other, and does
// nothing with them.
class alignas(own_lines) BareHalves {
 public:
  BareHalves(const DegreeOrder& order, Id entities, Progress& progress)
      : order_(order), steps_(progress), last_(static_cast<std::size_t>(entities)) {}

  // Those of cycles that are paths of this length and an edge. Returns how many edges were looked
  // at.
  Count join(Id top, int length) {
    const int steps = (length + 1) / 2;
    const bool is_an_edge_between = length % 2 == 0;
    Count edges = list_by_end(top, steps);
    if (is_an_edge_between)
      edges += walk(top, steps + 1, [&](Id end) { met_ += last_[end]; });
    for (Id end : ends_)
      last_[end] = 0;
    ends_.clear();
    before_.clear();
    return edges;
  }

 private:
  Count list_by_end(Id top, int steps) {
    return walk(top, steps, [&](Id end) {
      if (last_[end] == 0)
        ends_.push_back(end);
      before_.push_back(last_[end]);
      last_[end] = static_cast<std::uint32_t>(before_.size());
    });
  }

  template <class Use>
  Count walk(Id top, int steps, const Use& use) {
    return walk_below(order_, top, top, steps, steps_, use);
  }

  const DegreeOrder& order_;
  Steps steps_;
  std::vector<Id> ends_;
  std::vector<std::uint32_t> last_;    // by end: which half reached it last, counted from 1
  std::vector<std::uint32_t> before_;  // by half: which one before it has the same end
  Count met_ = 0;
};

// Add one to counts, at random.
void add_at_random(Count additions, Count kinds, int threads, Progress& progress) {
  constexpr Count additions_a_part = 1 << 16;
  const Count parts = (additions + additions_a_part - 1) / additions_a_part;
  const auto workers = static_cast<std::size_t>(std::max(threads, 1));
  std::vector<std::vector<Count>> counts(workers,
                                         std::vector<Count>(static_cast<std::size_t>(kinds)));
  const auto add = [&](std::size_t thread, std::size_t part) {
    std::uint64_t random = part;  // a linear congruential generator, with Knuth's constants
    for (Count addition = 0; addition < additions_a_part; ++addition) {
      random = random * 0x5851F42D4C957F2Du + 0x14057B7EF767814Fu;
      ++counts[thread][(random >> 32) * static_cast<std::uint64_t>(kinds) >> 32];
    }
    return Count{0};
  };
  sum_over(static_cast<std::size_t>(parts), threads, progress, add);
}

class alignas(own_lines) BareWalker {
 public:
  BareWalker(const Graph& graph, const ReachPlan& plan, int max_length, Progress& progress)
      : graph_(graph),
        plan_(plan),
        steps_(progress),
        frontiers_(max_length + 1),
        stamps_(max_length + 1, Stamps(graph.entities)) {}

  Count walk(Id entity) {
    signature_ = {};
    for (Id relation = 0; relation < static_cast<Id>(graph_.relations.size()); ++relation)
      if (!graph_.tails(entity, relation).empty())
        add_to(signature_, relation);
    frontiers_[0].ends.assign(1, entity);
    return walk_below(0);
  }

 private:
  Count walk_below(std::int32_t parent) {
    const auto& nodes = plan_.trie.nodes;
    Count edges = 0;
    for (std::int32_t node = parent + 1; node < nodes[parent].after; node = nodes[node].after)
      if (have_common_bits(plan_.below[node], signature_))
        edges += walk_to(node);
    return edges;
  }

  Count walk_to(std::int32_t node) {
    const Trie::Node& at = plan_.trie.nodes[node];
    const int before = at.length - 1;
    const Stamps* where = before == 0 ? nullptr : &stamps_[before];
    const Edges& along = graph_.edges(at.relation);
    const bool is_last = at.ahead == 0;
    Frontier& into = frontiers_[at.length];
    Stamps& stamps = stamps_[at.length];
    stamps.renew();
    into.ends.clear();

    Count edges = 0;
    each_end(along, frontiers_[before], where, steps_, [&](std::size_t, std::size_t row) {
      const Ids tails = along.row(row);
      edges += static_cast<Count>(tails.size());
      if (is_last) {
        for (Id tail : tails)
          stamps.set(tail);
        return;
      }
      for (Id tail : tails) {
        if (stamps.has(tail))
          continue;
        stamps.set(tail, into.ends.size());
        into.ends.push_back(tail);
      }
    });
    if (!is_last && !into.ends.empty())
      edges += walk_below(node);
    return edges;
  }

  const Graph& graph_;
  const ReachPlan& plan_;
  Steps steps_;
  std::vector<Frontier> frontiers_;
  std::vector<Stamps> stamps_;
  Signature signature_{};
};

// The same from many entities at once: joins the sets of starts, and does nothing with them.
class alignas(own_lines) BareBatchWalker {
 public:
  BareBatchWalker(const Graph& graph, const Trie& trie, Progress& progress)
      : graph_(graph), trie_(trie), steps_(progress), sets_(4, StartSets(graph.entities)) {}

  Count walk(const Batch& batch) {
    for (std::size_t start = 0; start < batch.starts.size(); ++start) {
      StartSet only;
      only.insert(start);
      sets_[0].add(batch.starts[start], only);
    }
    const Count edges = walk_to(batch.child);
    sets_[0].clear();
    return edges;
  }

 private:
  Count walk_to(std::int32_t node) {
    const Trie::Node& at = trie_.nodes[node];
    Count edges = step(at.relation, sets_[at.length - 1], sets_[at.length]);
    for (std::int32_t child = node + 1; child < at.after; child = trie_.nodes[child].after)
      edges += walk_to(child);
    sets_[at.length].clear();
    return edges;
  }

  Count step(Id relation, const StartSets& from, StartSets& into) {
    const Edges& along = graph_.edges(relation);
    std::size_t width = 0;
    for (Id entity : from.entities)
      width += along.of(entity).size();
    steps_.take(std::ssize(from.entities));
    return 2 * width < along.tails.size() ? follow(along, from, into)
                                          : gather(graph_.edges(inverse(relation)), from, into);
  }

  Count follow(const Edges& along, const StartSets& from, StartSets& into) {
    Count edges = 0;
    for (Id entity : from.entities) {
      const Ids tails = along.of(entity);
      steps_.take(std::ssize(tails));
      edges += std::ssize(tails);
      for (Id tail : tails)
        into.add(tail, from.of[entity]);
    }
    return edges;
  }

  Count gather(const Edges& back, const StartSets& from, StartSets& into) {
    Count edges = 0;
    for (std::size_t row = 0; row < back.heads.size(); ++row) {
      const Ids sources = back.row(row);
      StartSet joined;
      std::size_t at = 0;
      while (at < sources.size()) {
        joined |= from.of[sources[at]];
        if ((++at & 7) == 0 && joined == from.all)
          break;
      }
      steps_.take(1 + static_cast<Count>(at) / 4);
      edges += static_cast<Count>(at);
      into.add(back.heads[row], joined);
    }
    return edges;
  }

  const Graph& graph_;
  const Trie& trie_;
  Steps steps_;
  std::vector<StartSets> sets_;  // by length
};

Count walk_together(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
                    int max_length, int threads, Progress& progress) {
  const ReachPlan plan(pairs, {}, max_length);
  const StartBatches batches(graph, entities, plan);
  std::vector<BareBatchWalker> walkers(std::max(threads, 1),
                                       BareBatchWalker(graph, plan.trie, progress));
  return sum_over(batches.list.size(), threads, progress, [&](std::size_t thread, std::size_t at) {
    return walkers[thread].walk(batches.list[at]);
  });
}

// The same with tiles: joins rows, and does nothing with them. The row of a tile counts as one
// edge, as the edge of a batch does.
Count walk_by_tile(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
                   int max_length, int threads, Progress& progress) {
  const ReachPlan plan(pairs, {}, max_length);
  const auto& nodes = plan.trie.nodes;
  Count edges = 0;
  for (std::size_t node = 1; node < nodes.size(); ++node) {
    if (nodes[node].length != length_by_tile)
      continue;
    const Edges& first = graph.edges(nodes[nodes[node].parent].relation);
    const Edges& last = graph.edges(nodes[node].relation);
    const Edges& back = graph.edges(inverse(nodes[node].relation));
    Steps steps(progress);
    const TailTiles tiles(last, back, steps);
    const std::vector<char> asks = plan.asks_below(graph, static_cast<std::int32_t>(node));
    std::vector<std::vector<Id>> rows;  // of each start that has any
    for (Id entity : entities) {
      std::vector<Id> of_start;
      for (Id tail : asks[entity] ? first.of(entity) : Ids{}) {
        const std::size_t row = last.row_of(tail);
        if (row != last.heads.size())
          of_start.push_back(static_cast<Id>(row));
      }
      edges += std::ssize(of_start) * static_cast<Count>(tiles.tiles());
      if (!of_start.empty())
        rows.push_back(std::move(of_start));
    }
    parallel(threads, tiles.tiles(), progress, [&](int, std::size_t tile) {
      Steps taken(progress);
      std::int32_t ends = 0;
      for (const std::vector<Id>& of_start : rows) {
        taken.take(1 + std::ssize(of_start));
        join_rows(tiles.tile(tile), of_start, TileRow::size, {}, std::span(&ends, 1));
      }
    });
  }
  return edges;
}

}  // namespace

Count bare_halves(const Graph& graph, Ids rank, int max_length, int threads, Progress& progress) {
  Steps steps(progress);
  const DegreeOrder order(graph, rank, steps);
  const auto walk = [&](std::size_t, std::size_t item) {
    const auto top = static_cast<Id>(item);
    Steps taken(progress);
    return walk_below(order, top, top, max_length / 2 + 1, taken, [](Id) {});
  };
  return sum_over(static_cast<std::size_t>(graph.entities), threads, progress, walk);
}

Count bare_cycles(const Graph& graph, Ids rank, int max_length, Count cycles, Count kinds,
                  int threads, Progress& progress) {
  Steps steps(progress);
  const DegreeOrder order(graph, rank, steps);
  std::vector<BareHalves> halves(static_cast<std::size_t>(std::max(threads, 1)),
                                 BareHalves(order, graph.entities, progress));
  Count edges = 0;
  for (int length = 1; length <= max_length; ++length) {
    const auto join = [&](std::size_t thread, std::size_t item) {
      return halves[thread].join(static_cast<Id>(item), length);
    };
    edges += sum_over(static_cast<std::size_t>(graph.entities), threads, progress, join);
  }
  add_at_random(cycles, kinds, threads, progress);
  return edges;
}

Count bare_reach(const Graph& graph, Ids entities, std::span<const RelationPathType> pairs,
                 int max_length, int threads, Progress& progress) {
  const std::vector<Method> methods =
      best_methods(graph, entities, pairs, {}, max_length, threads, progress);
  std::array<std::vector<RelationPathType>, 3> parts;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair)
    parts[static_cast<std::size_t>(methods[pair])].push_back(pairs[pair]);
  const auto& [one_by_one, together, by_tile] = parts;

  const ReachPlan plan(one_by_one, {}, max_length);
  std::vector<BareWalker> walkers(std::max(threads, 1),
                                  BareWalker(graph, plan, max_length, progress));
  const Count alone = sum_over(
      entities.size(), threads, progress,
      [&](std::size_t thread, std::size_t at) { return walkers[thread].walk(entities[at]); });
  return alone + walk_together(graph, entities, together, max_length, threads, progress) +
         walk_by_tile(graph, entities, by_tile, max_length, threads, progress);
}

}  // namespace casegraph
