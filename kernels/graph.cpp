#include "graph.hpp"

namespace casegraph {

namespace {

std::uint64_t mixed(Id entity) {
  const std::uint64_t product = (static_cast<std::uint64_t>(entity) + 1) * 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio
  return product ^ product >> 32;
}

}  // namespace

Survey::Survey(Ids heads, Ids offsets, Ids tails) {
  for (std::size_t row = 0; row < heads.size(); ++row) {
    std::uint64_t plain = 0, mixed_up = 0;  // sums over the tails of the row
    Id before = -1;
    for (Id at = offsets[row]; at < offsets[row + 1]; ++at) {
      const Id tail = tails[at];
      rises = rises && tail >= before && tail >= 0;
      before = tail;
      plain += static_cast<std::uint64_t>(tail) + 1;
      mixed_up += mixed(tail);
    }
    largest = std::max(largest, before);  // the last of a row is its largest, if it rises
    digest += mixed(heads[row]) * plain;
    digest_of_inverse += (static_cast<std::uint64_t>(heads[row]) + 1) * mixed_up;
  }
  if (!heads.empty()) largest = std::max(largest, heads.back());
}

Edges::Edges(Ids heads_, Ids offsets_, Ids tails_, const Survey& survey_, std::shared_ptr<const void> owner)
    : heads(heads_), offsets(offsets_), tails(tails_), survey(survey_), owner_(std::move(owner)) {
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

Adjacency all_edges(Id entities, const std::vector<std::shared_ptr<const Edges>>& relations, Steps& steps) {
  Adjacency all;
  all.offsets.assign(static_cast<std::size_t>(entities) + 1, 0);
  for (const auto& edges : relations) {
    steps.take(static_cast<Count>(edges->heads.size()));
    for (std::size_t row = 0; row < edges->heads.size(); ++row)
      all.offsets[static_cast<std::size_t>(edges->heads[row]) + 1] += edges->offsets[row + 1] - edges->offsets[row];
  }
  for (std::size_t entity = 0; entity < static_cast<std::size_t>(entities); ++entity)
    all.offsets[entity + 1] += all.offsets[entity];
  all.relations.resize(static_cast<std::size_t>(all.offsets.back()));
  all.tails.resize(all.relations.size());
  std::vector<std::int64_t> next(all.offsets.begin(), all.offsets.end() - 1);
  for (std::size_t relation = 0; relation < relations.size(); ++relation) {
    const Edges& edges = *relations[relation];
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      steps.take(1 + edges.offsets[row + 1] - edges.offsets[row]);
      for (Id at = edges.offsets[row]; at < edges.offsets[row + 1]; ++at) {
        const auto place = static_cast<std::size_t>(next[edges.heads[row]]++);
        all.relations[place] = static_cast<Id>(relation);
        all.tails[place] = edges.tails[at];
      }
    }
  }
  return all;
}

}  // namespace

const Adjacency& Graph::adjacency(Steps& steps) const {
  if (is_made_.load(std::memory_order_acquire)) return adjacency_;
  std::unique_lock lock(guard_, std::defer_lock);
  while (!lock.try_lock_for(Progress::patience)) steps.look();  // another thread makes it, and this one can be stopped
  if (!is_made_.load(std::memory_order_relaxed)) {
    adjacency_ = all_edges(entities, relations, steps);
    is_made_.store(true, std::memory_order_release);
  }
  return adjacency_;
}

Profiles profiles(const Graph& graph, Ids entities, Progress& progress) {
  Steps steps(progress);
  Profiles found;
  found.offsets.push_back(0);
  const bool few = entities.size() < 64;  // then looking into every relation is cheaper than gathering all edges
  for (Id entity : entities) {
    if (few) {
      steps.take(static_cast<Count>(graph.relations.size()));
      for (std::size_t relation = 0; relation < graph.relations.size(); ++relation)
        if (!graph.relations[relation]->of(entity).empty()) found.relations.push_back(static_cast<Id>(relation));
    } else {
      const Adjacency& all = graph.adjacency(steps);
      steps.take(all.offsets[entity + 1] - all.offsets[entity]);
      for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge)
        if (edge == all.offsets[entity] || all.relations[edge] != all.relations[edge - 1]) found.relations.push_back(all.relations[edge]);
    }
    found.offsets.push_back(static_cast<std::int64_t>(found.relations.size()));
  }
  return found;
}

std::vector<Count> walks_from_each(const Graph& graph, int length, Progress& progress) {
  Steps steps(progress);
  const Adjacency& all = graph.adjacency(steps);
  const auto plus = [](Count a, Count b) { return a > INT64_MAX - b ? INT64_MAX : a + b; };
  std::vector<Count> walks(graph.entities, 0), longer(graph.entities);
  for (; length > 0; --length) {
    for (std::size_t entity = 0; entity < walks.size(); ++entity) {
      longer[entity] = 0;
      steps.take(1 + all.offsets[entity + 1] - all.offsets[entity]);
      for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge)
        longer[entity] = plus(longer[entity], plus(walks[all.tails[edge]], 1));
    }
    walks.swap(longer);
  }
  return walks;
}

}  // namespace casegraph
