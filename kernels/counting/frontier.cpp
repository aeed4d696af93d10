#include "counting/frontier.hpp"

namespace casegraph {
namespace {

using Path = Frontier::Path;

// Whether up to `ahead` entities that are not in `inner` can meet `path` and every kept path after
// it. `blocked` are those chosen so far.
//
// A search tree: some entity of the first path that is not met yet has to be chosen. Paths have at
// most three inner entities, so there are at most 3^ahead branches.
bool can_be_blocked(const Frontier& frontier, const Path* path, const Inner& inner, int ahead,
                    std::array<Id, 3>& blocked) {
  const auto is_met = [&](const Path& kept) {
    return std::any_of(blocked.begin(), blocked.end(),
                       [&](Id entity) { return entity >= 0 && passes(kept.inner, entity); });
  };
  while (path != nullptr && is_met(*path))
    path = frontier.after(*path);
  if (path == nullptr)
    return true;
  if (ahead == 0)
    return false;
  for (Id entity : path->inner) {
    if (entity < 0 || passes(inner, entity))
      continue;
    blocked[ahead - 1] = entity;
    if (can_be_blocked(frontier, frontier.after(*path), inner, ahead - 1, blocked))
      return true;
    blocked[ahead - 1] = -1;
  }
  return false;
}

// Another path to an end that is known: keep it if the coming steps could need it.
void keep(Frontier& into, std::size_t slot, const Inner& inner, int ahead) {
  if (ahead <= 1) {  // what all paths have in common is enough
    for (Id& entity : into.paths[slot].inner)
      if (!passes(inner, entity))
        entity = -1;
    return;
  }
  std::array<Id, 3> blocked{-1, -1, -1};
  if (!can_be_blocked(into, &into.paths[slot], inner, ahead, blocked))
    return;
  into.more.push_back({inner, into.paths[slot].next});
  into.paths[slot].next = static_cast<std::int32_t>(into.more.size()) - 1;
}

}  // namespace

void Frontier::make_table() {
  table.assign(std::bit_ceil(2 * ends.size() + 1), -1);  // at most half full
  for (std::size_t end = 0; end < ends.size(); ++end) {
    std::size_t at = slot(ends[end]);
    while (table[at] >= 0)
      at = (at + 1) & (table.size() - 1);
    table[at] = static_cast<std::int32_t>(end);
  }
}

bool leads_to(const Edges& edges, const Edges& back, Frontier& from, Id tail, Steps& steps) {
  const Ids heads = back.of(tail);
  steps.take(static_cast<Count>(std::min(from.ends.size(), heads.size())));

  if (from.ends.size() < heads.size()) {  // fewer ends: look for the edge from each
    for (std::size_t end = 0; end < from.ends.size(); ++end) {
      const bool has_edge = from.ends[end] != tail && edges.holds(from.ends[end], tail);
      if (has_edge && from.some_path_avoids(static_cast<std::int32_t>(end), tail))
        return true;
    }
    return false;
  }
  return std::any_of(heads.begin(), heads.end(), [&](Id head) {
    const std::int32_t end = head == tail ? -1 : from.place(head);
    return end >= 0 && from.some_path_avoids(end, tail);
  });
}

bool leads_on(const Edges& edges, Id start, const Frontier& from, Steps& steps) {
  for (std::size_t end = 0; end < from.ends.size(); ++end) {
    steps.take();
    for (Id tail : edges.of(from.ends[end])) {
      if (tail == start || tail == from.ends[end])
        continue;
      if (from.some_path_avoids(static_cast<std::int32_t>(end), tail))
        return true;
    }
  }
  return false;
}

Count step(const Edges& edges, Id start, const Frontier& from, const KnownEnds& known, int length,
           int ahead, Stamps& stamps, Frontier& into, Steps& steps) {
  into.clear();
  if (ahead == 0) {
    const auto arrive = [&](Id tail) { into.ends.push_back(tail); };
    return last_step(edges, start, from, known, stamps, steps, arrive);
  }
  stamps.renew();
  Count followed = 0;
  each_end(edges, from, known, steps, [&](std::size_t end, std::size_t row) {
    const Ids tails = edges.row(row);
    followed += static_cast<Count>(tails.size());
    const Id self = from.ends[end];
    for (Id tail : tails) {
      if (tail == start || tail == self)
        continue;
      for (const Path* path = &from.paths[end]; path != nullptr; path = from.after(*path)) {
        if (passes(path->inner, tail))
          continue;
        if (path->next >= 0)
          steps.take();  // many paths can lead to one tail
        Inner inner = path->inner;
        if (length > 0)
          inner[length - 1] = self;
        if (stamps.has(tail)) {
          keep(into, stamps.slot(tail), inner, ahead);
        } else {
          stamps.set(tail, into.ends.size());
          into.add(tail, inner);
        }
      }
    }
  });
  return followed;
}

}  // namespace casegraph
