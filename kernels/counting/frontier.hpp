// Where the loop-free paths of a path type end, found one step at a time.
//
// Problem: the distinct ends of all loop-free paths (no entity twice) of a path type. Walking every
// path takes too long: there can be very many to one end. But keeping only the ends is wrong:
// whether a path may go on to w depends on the entities that it has passed.
//
// Idea: representative families (Monien 1985). Every end keeps some of the paths to it, chosen so
// that for any set of up to `ahead` entities that the coming steps may visit: if any path to the
// end avoids the set, a kept path does. How many must be kept depends on the number of steps only:
//
//   ahead = 0   none: nothing comes after.
//   ahead = 1   one, with just the entities that all paths have in common: a coming entity is
//               avoided by some path unless every path passes it.
//   ahead > 1   a path is added if some `ahead` entities meet every kept path and avoid this one.
#pragma once

#include <algorithm>
#include <array>

#include "common/fetch.hpp"
#include "common/stamps.hpp"
#include "graph/graph.hpp"

namespace casegraph {

// The entities between the start and the end of a path; -1 where there are fewer than three. Paths
// have at most five steps, and the last one is not remembered.
using Inner = std::array<Id, 3>;

inline bool passes(const Inner& inner, Id entity) {
  return inner[0] == entity || inner[1] == entity || inner[2] == entity;
}

// The ends of all loop-free paths of one path type from one entity.
struct Frontier {
  struct Path {
    Inner inner;
    std::int32_t next;  // in `more`: another kept path to the same end, or -1
  };
  std::vector<Id> ends;             // distinct
  std::vector<Path> paths;          // parallel to the ends: one kept path to each
  std::vector<Path> more;           // the further kept paths, as linked lists
  std::vector<std::int32_t> table;  // hash table of the places of ends; made when first needed

  void clear() {
    ends.clear();
    paths.clear();
    more.clear();
    table.clear();
  }

  // The path of no steps.
  void start(Id entity) {
    clear();
    add(entity, {-1, -1, -1});
  }

  void add(Id end, const Inner& inner) {
    ends.push_back(end);
    paths.push_back({inner, -1});
  }

  // The next kept path to the same end, or null.
  const Path* after(const Path& path) const { return path.next < 0 ? nullptr : &more[path.next]; }

  // The place of an end, or -1.
  std::int32_t place(Id entity) {
    if (table.empty())
      make_table();
    for (std::size_t at = slot(entity);; at = (at + 1) & (table.size() - 1))
      if (table[at] < 0 || ends[static_cast<std::size_t>(table[at])] == entity)
        return table[at];
  }

  bool some_path_avoids(std::int32_t place, Id entity) const {
    const Path& path = paths[static_cast<std::size_t>(place)];
    return !passes(path.inner, entity) || other_path_avoids(path, entity);
  }

  // Whether a kept path after the first one avoids an entity.
  bool other_path_avoids(const Path& first, Id entity) const {
    for (const Path* path = after(first); path != nullptr; path = after(*path))
      if (!passes(path->inner, entity))
        return true;
    return false;
  }

 private:
  std::size_t slot(Id entity) const {
    return static_cast<std::uint32_t>(entity) * 0x9E3779B1u &
           (table.size() - 1);  // 2^32 / golden ratio
  }
  void make_table();
};

// Whether a loop-free path goes on from an end of `from` along `edges` to `tail`.
//
// back  the inverse of `edges`
bool leads_to(const Edges& edges, const Edges& back, Frontier& from, Id tail, Steps& steps);

// Whether a loop-free path goes on from `from` along `edges` to anywhere.
bool leads_on(const Edges& edges, Id start, const Frontier& from, Steps& steps);

// An end, by its place in a frontier, and its row in the edges of a relation.
struct EndRow {
  std::int32_t end;
  Id row;
};

// What is known beforehand of the ends that have edges of a relation.
struct KnownEnds {
  // where  the place of each end of the frontier, or null
  KnownEnds(const Stamps* where_) : where(where_) {}
  // rows   all ends that have edges of the relation
  explicit KnownEnds(std::span<const EndRow> rows_) : has_rows(true), rows(rows_) {}

  const Stamps* where = nullptr;
  bool has_rows = false;
  std::span<const EndRow> rows;
};

// Call `visit(place of the end in `from`, row of the end in `edges`)` for every end with edges.
//
// known  if it has the place of each end, a relation with fewer heads than there are ends is
//        scanned instead, so that this takes the smaller of both numbers
// steps  are taken for the ends or heads looked at, and for the edges of those visited
//
// There is one loop for the three ways to find rows, so that `visit`, which may be long, is called
// in one place: then compilers put it into the loop, which takes a third less time.
template <class Visit>
void each_end(const Edges& edges, const Frontier& from, const KnownEnds& known, Steps& steps,
              const Visit& visit) {
  const Stamps* const where = known.where;
  const bool scans_heads =
      !known.has_rows && where != nullptr && edges.heads.size() < from.ends.size();
  std::size_t count = from.ends.size();
  if (known.has_rows)
    count = known.rows.size();
  else if (scans_heads)
    count = edges.heads.size();
  steps.take(static_cast<Count>(count));

  // Where a row begins is somewhere in memory. So rows are found some at a time, and fetched,
  // before the first of these is visited.
  struct Found {
    std::size_t end;
    std::size_t row;
  };
  std::array<Found, 16> found;
  Count edges_seen = 0;  // kept in a register: `steps` is in memory, and visits are many
  for (std::size_t at = 0; at < count;) {
    std::size_t found_count = 0;
    for (; at < count && found_count < found.size(); ++at) {
      std::size_t end = at;
      std::size_t row = at;
      if (known.has_rows) {
        end = static_cast<std::size_t>(known.rows[at].end);
        row = static_cast<std::size_t>(known.rows[at].row);
      } else if (scans_heads) {
        const Id head = edges.heads[row];
        if (!where->has(head))
          continue;
        end = where->slot(head);
      } else {
        row = edges.row_of(from.ends[end]);
        if (row == edges.heads.size())
          continue;
      }
      fetch(&edges.offsets[row]);
      found[found_count++] = {end, row};
    }

    for (std::size_t next = 0; next < found_count; ++next) {
      const auto [end, row] = found[next];
      visit(end, row);
      edges_seen += std::ssize(edges.row(row));
      if (edges_seen < Steps::between_checks)
        continue;
      steps.take(edges_seen);
      edges_seen = 0;
    }
  }
}

// Follow `edges` from every end of `from`, which is `length` steps away from `start`. Returns the
// number of edges looked at.
//
// ahead   how many steps may follow this one: how much the new ends must remember
// stamps  afterwards hold the place of each new end in `into` (if ahead is 0, only mark them)
Count step(const Edges& edges, Id start, const Frontier& from, const KnownEnds& known, int length,
           int ahead, Stamps& stamps, Frontier& into, Steps& steps);

// The same for walks, which may pass an entity twice, over edges for which `allowed(head, tail)`.
template <class Allowed>
Count step_walks(const Edges& edges, const Frontier& from, Stamps& stamps, Frontier& into,
                 Steps& steps, const Allowed& allowed) {
  into.clear();
  stamps.renew();
  Count followed = 0;
  each_end(edges, from, nullptr, steps, [&](std::size_t end, std::size_t row) {
    const Ids tails = edges.row(row);
    followed += static_cast<Count>(tails.size());
    for (Id tail : tails) {
      if (stamps.has(tail) || !allowed(from.ends[end], tail))
        continue;
      stamps.set(tail);
      into.ends.push_back(tail);
    }
  });
  return followed;
}

// The last step of a path type: call `arrive(tail)` once for every distinct end. Returns the number
// of edges looked at.
//
// seen  `Stamps`, or a class with the same `renew`, `has` and `set`. Ends that it has are skipped
template <class Seen, class Arrive>
Count last_step(const Edges& edges, Id start, const Frontier& from, const KnownEnds& known,
                Seen& seen, Steps& steps, const Arrive& arrive) {
  seen.renew();
  Count followed = 0;
  each_end(edges, from, known, steps, [&](std::size_t end, std::size_t row) {
    const Ids tails = edges.row(row);
    followed += static_cast<Count>(tails.size());
    const Id self = from.ends[end];
    const Frontier::Path& path = from.paths[end];
    for (Id tail : tails) {
      if (seen.has(tail) || tail == start || tail == self)
        continue;
      if (passes(path.inner, tail) && !from.other_path_avoids(path, tail))
        continue;
      seen.set(tail);
      arrive(tail);
    }
  });
  return followed;
}

}  // namespace casegraph
