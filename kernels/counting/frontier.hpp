// Where the loop-free paths of a path type end, one step at a time.
#pragma once

#include <algorithm>
#include <array>

#include "graph/graph.hpp"

namespace casegraph {

// The entities between the start and the end of a path; -1 where there are fewer than three.
using Inner = std::array<Id, 3>;

inline bool passes(const Inner& inner, Id entity) {
  return inner[0] == entity || inner[1] == entity || inner[2] == entity;
}

// The distinct ends of the loop-free paths of one path type from one entity.
//
// Whether a path can go on to w depends on the entities it has passed, so every end keeps some of
// the paths that lead to it: enough of them that, whichever `ahead` entities the coming steps
// visit, one of the kept paths avoids them if any path at all does (a representative family, Monien
// 1985). With one step ahead, what the paths have in common is enough; with none, nothing has to be
// kept.
struct Frontier {
  struct Path {
    Inner inner;
    std::int32_t next;  // in `more`: another path to the same end, or -1
  };
  std::vector<Id> ends;
  std::vector<Path> paths;  // one to each end
  std::vector<Path> more;   // further ones
  std::vector<std::int32_t>
      table;  // the place of each end, by open addressing; made when first asked for

  void clear() {
    ends.clear();
    paths.clear();
    more.clear();
    table.clear();
  }
  void start(Id entity) {
    clear();
    add(entity, {-1, -1, -1});
  }
  void add(Id end, const Inner& inner) {
    ends.push_back(end);
    paths.push_back({inner, -1});
  }
  const Path* after(const Path& path) const { return path.next < 0 ? nullptr : &more[path.next]; }
  // The place of an end, or -1.
  std::int32_t place(Id entity) {
    if (table.empty()) make_table();
    for (std::size_t at = slot(entity);; at = (at + 1) & (table.size() - 1))
      if (table[at] < 0 || ends[static_cast<std::size_t>(table[at])] == entity) return table[at];
  }
  bool some_path_avoids(std::int32_t place, Id entity) const {
    const Path& path = paths[static_cast<std::size_t>(place)];
    return !passes(path.inner, entity) || other_path_avoids(path, entity);
  }
  bool other_path_avoids(const Path& first, Id entity) const {
    for (const Path* path = after(first); path != nullptr; path = after(*path))
      if (!passes(path->inner, entity)) return true;
    return false;
  }

 private:
  std::size_t slot(Id entity) const {
    return static_cast<std::uint32_t>(entity) * 0x9E3779B1u & (table.size() - 1);
  }
  void make_table();
};

// Whether `edges` lead from an end of `from` to `tail`, without passing an entity twice; `back` are
// the edges reversed.
bool leads_to(const Edges& edges, const Edges& back, Frontier& from, Id tail, Steps& steps);

// Whether `edges` lead anywhere from `from`, without passing an entity twice.
bool leads_on(const Edges& edges, Id start, const Frontier& from, Steps& steps);

// The marks by which a step knows what it has already reached.
class Stamps {
 public:
  explicit Stamps(std::size_t entities) : epoch_(entities), slot_(entities) {}

  void renew() {
    if (++now_ == 0) {  // after four billion steps the old marks would count again
      std::fill(epoch_.begin(), epoch_.end(), 0);
      now_ = 1;
    }
  }
  bool has(Id entity) const { return epoch_[entity] == now_; }
  std::size_t slot(Id entity) const { return slot_[entity]; }
  void set(Id entity) { epoch_[entity] = now_; }
  // Set it, and say whether it was not.
  bool take(Id entity) {
    const bool is_new = epoch_[entity] != now_;
    epoch_[entity] = now_;
    return is_new;
  }
  void set(Id entity, std::size_t slot) {
    epoch_[entity] = now_;
    slot_[entity] = static_cast<std::uint32_t>(slot);
  }

 private:
  std::vector<std::uint32_t> epoch_, slot_;
  std::uint32_t now_ = 0;
};

// Call `visit(place of the end in `from`, its row in `edges`)` for every end of `from` that `edges`
// leave.
//
// where  the place of each end, if known: then a relation with fewer heads than there are ends is
// gone through instead steps  counts the ends or heads that are looked at, and the edges of those
// that are visited
template <class Visit>
void each_end(const Edges& edges, const Frontier& from, const Stamps* where, Steps& steps,
              const Visit& use) {
  Count edges_seen = 0;  // counted here, so that there is no need to go to memory for every visit
  const auto visit = [&](std::size_t end, std::size_t row) {
    use(end, row);
    edges_seen += std::ssize(edges.row(row));
    if (edges_seen < Steps::between_looks) return;
    steps.take(edges_seen);
    edges_seen = 0;
  };
  steps.take(static_cast<Count>(std::min(edges.heads.size(), from.ends.size())));
  if (where != nullptr && edges.heads.size() < from.ends.size()) {
    for (std::size_t row = 0; row < edges.heads.size(); ++row)
      if (where->has(edges.heads[row])) visit(where->slot(edges.heads[row]), row);
  } else {
    for (std::size_t end = 0; end < from.ends.size(); ++end) {
      const std::size_t row = edges.row_of(from.ends[end]);
      if (row != edges.heads.size()) visit(end, row);
    }
  }
}

// Follow `edges` from every end of `from`, which stands `length` steps away from `start`. Returns
// the edges looked at.
//
// ahead   how many steps may follow this one: how much the new ends must remember
// stamps  afterwards hold the place of each new end
Count step(const Edges& edges, Id start, const Frontier& from, const Stamps* where, int length,
           int ahead, Stamps& stamps, Frontier& into, Steps& steps);

// The same for walks, which may pass an entity twice, over the edges for which `allowed(head,
// tail)` holds.
template <class Allowed>
Count step_freely(const Edges& edges, const Frontier& from, Stamps& stamps, Frontier& into,
                  Steps& steps, const Allowed& allowed) {
  into.clear();
  stamps.renew();
  Count followed = 0;
  each_end(edges, from, nullptr, steps, [&](std::size_t end, std::size_t row) {
    const Ids tails = edges.row(row);
    followed += static_cast<Count>(tails.size());
    for (Id tail : tails) {
      if (stamps.has(tail) || !allowed(from.ends[end], tail)) continue;
      stamps.set(tail);
      into.ends.push_back(tail);
    }
  });
  return followed;
}

// The last step of a path type: call `arrive(tail)` once for every distinct end. Returns the edges
// looked at.
//
// seen  `Stamps`, or what has the same `renew`, `has` and `set`: an end that it has is passed over
template <class Seen, class Arrive>
Count last_step(const Edges& edges, Id start, const Frontier& from, const Stamps* where, Seen& seen,
                Steps& steps, const Arrive& arrive) {
  seen.renew();
  Count followed = 0;
  each_end(edges, from, where, steps, [&](std::size_t end, std::size_t row) {
    const Ids tails = edges.row(row);
    followed += static_cast<Count>(tails.size());
    const Id self = from.ends[end];
    const Frontier::Path& path = from.paths[end];
    for (Id tail : tails) {
      if (seen.has(tail) || tail == start || tail == self ||
          (passes(path.inner, tail) && !from.other_path_avoids(path, tail)))
        continue;
      seen.set(tail);
      arrive(tail);
    }
  });
  return followed;
}

}  // namespace casegraph
