#include "graph.hpp"

namespace casegraph {

Edges::Edges(Ids heads_, Ids offsets_, Ids tails_, std::shared_ptr<const void> owner)
    : heads(heads_), offsets(offsets_), tails(tails_), owner_(std::move(owner)) {
  if (heads.size() < 4) return;
  if (static_cast<std::size_t>(heads.back()) / 32 > heads.size()) {  // rare: sixteen bytes for 64 entities would be too much
    while ((static_cast<std::size_t>(heads.back()) >> shift_) + 2 > heads.size()) ++shift_;
    stretches_.resize((static_cast<std::size_t>(heads.back()) >> shift_) + 2);
    for (Id head : heads) ++stretches_[(static_cast<std::size_t>(head) >> shift_) + 1];
    for (std::size_t at = 1; at < stretches_.size(); ++at) stretches_[at] += stretches_[at - 1];
    return;
  }
  index_.resize((static_cast<std::size_t>(heads.back()) >> 6) + 1);
  for (Id head : heads) index_[static_cast<std::size_t>(head) >> 6].bits |= std::uint64_t{1} << (head & 63);
  std::uint64_t before = 0;
  for (Word& word : index_) {
    word.before = before;
    before += static_cast<std::uint64_t>(std::popcount(word.bits));
  }
}

bool Edges::holds(Id head, Id tail) const {
  const Ids found = of(head);
  return std::binary_search(found.begin(), found.end(), tail);
}

namespace {

Adjacency all_edges(Id entities, const std::vector<std::shared_ptr<const Edges>>& relations) {
  Adjacency all;
  all.offsets.assign(static_cast<std::size_t>(entities) + 1, 0);
  for (const auto& edges : relations)
    for (std::size_t row = 0; row < edges->heads.size(); ++row)
      all.offsets[static_cast<std::size_t>(edges->heads[row]) + 1] += edges->offsets[row + 1] - edges->offsets[row];
  for (std::size_t entity = 0; entity < static_cast<std::size_t>(entities); ++entity)
    all.offsets[entity + 1] += all.offsets[entity];
  all.relations.resize(static_cast<std::size_t>(all.offsets.back()));
  all.tails.resize(all.relations.size());
  std::vector<std::int64_t> next(all.offsets.begin(), all.offsets.end() - 1);
  for (std::size_t relation = 0; relation < relations.size(); ++relation) {
    const Edges& edges = *relations[relation];
    for (std::size_t row = 0; row < edges.heads.size(); ++row)
      for (Id at = edges.offsets[row]; at < edges.offsets[row + 1]; ++at) {
        const auto place = static_cast<std::size_t>(next[edges.heads[row]]++);
        all.relations[place] = static_cast<Id>(relation);
        all.tails[place] = edges.tails[at];
      }
  }
  return all;
}

}  // namespace

const Adjacency& Graph::adjacency() const {
  std::call_once(made_, [&] { adjacency_ = all_edges(entities, relations); });
  return adjacency_;
}

Profiles profiles(const Graph& graph, Ids entities) {
  Profiles found;
  found.offsets.push_back(0);
  const bool few = entities.size() < 64;  // then looking into every relation is cheaper than gathering all edges
  for (Id entity : entities) {
    if (few) {
      for (std::size_t relation = 0; relation < graph.relations.size(); ++relation)
        if (!graph.relations[relation]->of(entity).empty()) found.relations.push_back(static_cast<Id>(relation));
    } else {
      const Adjacency& all = graph.adjacency();
      for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge)
        if (edge == all.offsets[entity] || all.relations[edge] != all.relations[edge - 1]) found.relations.push_back(all.relations[edge]);
    }
    found.offsets.push_back(static_cast<std::int64_t>(found.relations.size()));
  }
  return found;
}

std::vector<Count> walks_from_each(const Graph& graph, int steps) {
  const Adjacency& all = graph.adjacency();
  const auto plus = [](Count a, Count b) { return a > INT64_MAX - b ? INT64_MAX : a + b; };
  std::vector<Count> walks(graph.entities, 0), longer(graph.entities);
  for (; steps > 0; --steps) {
    for (std::size_t entity = 0; entity < walks.size(); ++entity) {
      longer[entity] = 0;
      for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge)
        longer[entity] = plus(longer[entity], plus(walks[all.tails[edge]], 1));
    }
    walks.swap(longer);
  }
  return walks;
}

}  // namespace casegraph
