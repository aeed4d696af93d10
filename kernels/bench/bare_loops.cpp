#include "bench/bare_loops.hpp"

#include <atomic>

#include "common/parallel.hpp"
#include "counting/degree_order.hpp"

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

}  // namespace casegraph
