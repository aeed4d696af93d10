#include "counting/degree_order.hpp"

#include <numeric>

#include "common/radix_sort.hpp"

namespace casegraph {

DegreeOrder::DegreeOrder(const Graph& graph, Ids rank, Steps& steps) : number(graph.entities) {
  const Adjacency& all = graph.adjacency(steps);
  const auto degree = [&](Id entity) { return all.offsets[entity + 1] - all.offsets[entity]; };
  std::vector<Id> order(graph.entities);
  std::iota(order.begin(), order.end(), 0);
  std::vector<Id> buffer;
  sort_by(order, buffer, steps, [&](Id entity) {
    return static_cast<std::uint64_t>(rank[entity]) ^ std::uint64_t{1} << 63;  // -1 comes before 0
  });
  sort_by(order, buffer, steps,
          [&](Id entity) { return static_cast<std::uint64_t>(degree(entity)); });

  offsets.reserve(order.size() + 1);
  offsets.push_back(0);
  for (Id entity : order) {
    number[entity] = static_cast<Id>(offsets.size()) - 1;
    offsets.push_back(offsets.back() + degree(entity));
  }

  // Every edge stands in the list of its tail, read backwards. Heads come in order, so each list
  // gets its entries in order.
  relations.resize(all.relations.size());
  tails.resize(all.tails.size());
  below.reserve(order.size());
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  for (Id entity : order) {
    steps.take(1 + degree(entity));
    below.push_back(next[below.size()]);  // only smaller entities came so far
    for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge) {
      const auto place = static_cast<std::size_t>(next[number[all.tails[edge]]]++);
      relations[place] = inverse(all.relations[edge]);
      tails[place] = number[entity];
    }
  }
}

}  // namespace casegraph
