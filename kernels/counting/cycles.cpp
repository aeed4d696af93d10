#include "counting/cycles.hpp"

#include <array>
#include <atomic>
#include <numeric>
#include <utility>

#include "common/fetch.hpp"
#include "common/parallel.hpp"
#include "common/radix_sort.hpp"
#include "common/tally.hpp"
#include "counting/degree_order.hpp"
#include "counting/half_paths.hpp"
#include "counting/hit_rows.hpp"
#include "counting/type_pairs.hpp"

namespace casegraph {
namespace {

// The work of one half or one pair of halves, in steps of five nanoseconds, or ten where counts
// fill the memory. Measured. Halves are stored and read again. A pair goes to a random place in
// memory.
constexpr Count making_a_half = 5;
constexpr Count numbering_a_half = 3;
constexpr Count counting_a_pair = 8;
constexpr Count excluding_a_pair = 2;

// The most halves or excluded pairs that are kept for one top: at most 800 megabytes a thread. More
// counts as too much work.
constexpr Count most_kept = 1 << 25;

// A path of two or three steps from the top to an entity below it. The entity is known by where the
// half is stored.
struct Half {
  PathType out;             // its type, from the top
  std::array<Id, 2> inner;  // the entities in between; -1 where there is only one
};

// A half path of two steps, where only its type counts.
class TypeOfHalf {
 public:
  TypeOfHalf() = default;
  TypeOfHalf(std::uint32_t number, bool has_same_middle)
      : bits_(2 * number + static_cast<std::uint32_t>(has_same_middle)) {}

  std::uint32_t number() const { return bits_ >> 1; }  // in `TypePairs`

  // Whether it has the middle entity of the half before it, which ends at the same entity.
  bool has_same_middle() const { return bits_ & 1; }

 private:
  std::uint32_t bits_ = 0;  // half as much to keep as with two members
};

bool passes(const Half& half, Id entity) {
  return half.inner[0] == entity || half.inner[1] == entity;
}

bool are_disjoint(const Half& one, const Half& other) {
  return std::none_of(one.inner.begin(), one.inner.end(),
                      [&](Id entity) { return entity >= 0 && passes(other, entity); });
}

// The work of all threads together, and whether it exceeds the limit.
class Budget {
 public:
  explicit Budget(const Limit& limit) : limit_(limit) {}

  void add_work(Count more) {
    if ((work_ += more) > limit_.work)
      is_exceeded_ = true;
  }
  void check_kinds(Count kinds) {
    if (kinds > limit_.kinds)
      is_exceeded_ = true;
  }
  void check_kept(Count kept) {
    if (kept > most_kept)
      is_exceeded_ = true;
  }
  bool is_exceeded() const { return is_exceeded_.load(std::memory_order_relaxed); }
  Count work() const { return work_; }

 private:
  const Limit limit_;
  std::atomic<Count> work_{0};
  std::atomic<bool> is_exceeded_{false};
};

// Finds the cycles of one top after the other; one for each thread.
class alignas(own_lines) CycleFinder {
 public:
  CycleFinder(const Graph& graph, const DegreeOrder& order, int max_length, Budget& budget,
              Progress& progress)
      : order_(order),
        packing_(max_length),
        budget_(budget),
        steps_(progress),
        tallies_(graph.relations.size()),
        is_neighbour_(graph.entities),
        first_edge_(max_length < 2 ? 0 : graph.entities),
        half_types_(max_length < 3 ? 0 : graph.entities),
        pairs_(packing_, graph.relations.size()),
        halves_(max_length < 4 ? 0 : graph.entities),
        longer_halves_(max_length < 5 ? 0 : graph.entities) {}

  // Count the cycles with this top that are paths of one length and an edge.
  void count(Id top, int length) {
    const std::int64_t begin = order_.offsets[top], end = order_.below[top];
    if (begin == end || budget_.is_exceeded())
      return;
    // Edges are sorted by where they lead. All but the shortest cycles leave the top to one entity
    // and come back from another.
    const bool has_one_neighbour = order_.tails[begin] == order_.tails[end - 1];
    if (length > 1 && has_one_neighbour)
      return;
    top_ = top;
    if (length == 1)
      count_parallel_edges();
    else if (length == 2)
      count_triangles();
    else if (length == 3)
      count_squares();
    else
      count_longer(length);
  }

  // All cycles of one length have been counted: report the rest of the work.
  void finish_length() {
    budget_.add_work(unreported_);
    unreported_ = 0;
    kinds_ = 0;
  }

  // The cycles counted since the tallies were last drained, as paths by the relation that closes
  // the cycle.
  std::vector<Tally>& tallies() { return tallies_; }

 private:
  // Call `visit(relation, tail)` for the edges of an entity that lead below `limit`. Returns how
  // many there are.
  template <class Visit>
  Count each_edge_below(Id limit, Id entity, const Visit& visit) {
    const std::int64_t begin = order_.offsets[entity], end = order_.offsets[entity + 1];
    std::int64_t edge = begin;
    steps_.take();
    for (; edge < end && order_.tails[edge] < limit; ++edge)
      if (order_.tails[edge] != entity)
        visit(order_.relations[edge], order_.tails[edge]);
    return edge - begin;
  }

  // Call `visit(neighbour, first, last)` for all entities below the top, other than `entity`, that
  // its edges lead to. These are the edges first .. last - 1: edges are sorted by where they lead.
  // Returns how many edges lead below the top.
  template <class Visit>
  Count each_neighbour(Id entity, const Visit& visit) {
    const std::int64_t begin = order_.offsets[entity], end = order_.offsets[entity + 1];
    std::int64_t first = begin;
    steps_.take();
    while (first < end && order_.tails[first] < top_) {
      const Id neighbour = order_.tails[first];
      std::int64_t last = first + 1;
      while (last < end && order_.tails[last] == neighbour)
        ++last;
      if (neighbour != entity)
        visit(neighbour, first, last);
      first = last;
    }
    return first - begin;
  }

  // The edges of neighbours lie anywhere in memory. So while those of one are looked at, ask for
  // those of a later neighbour of the top: first for where they begin, then for the first of them.
  CASEGRAPH_INLINE void fetch_neighbour_after(std::int64_t edge) const {
    constexpr std::int64_t ahead = 8;
    const std::int64_t end = order_.below[top_];
    if (edge + 2 * ahead < end)
      fetch(&order_.offsets[order_.tails[edge + 2 * ahead]]);
    if (edge + ahead < end)
      fetch_start(order_.tails.data() + order_.offsets[order_.tails[edge + ahead]]);
  }

  // Cycles of two edges: pairs of edges from the top to the same entity.
  void count_parallel_edges() {
    const Count edges = each_neighbour(top_, [&](Id, std::int64_t first, std::int64_t last) {
      const Count pairs = (last - first) * (last - first - 1) / 2;
      if (pairs == 0)
        return;
      add_work(counting_a_pair * pairs);
      if (budget_.is_exceeded())
        return;
      for (std::int64_t one = first + 1; one < last; ++one) {
        steps_.take(one - first);
        for (std::int64_t other = first; other < one; ++other)
          add_cycles(order_.relations[one], packing_.step(order_.relations[other], 0), 1);
      }
    });
    // An entity that has lost all its facts takes no work: a rebuild would not know it.
    add_work(edges);
  }

  // Cycles of three edges: an edge between two neighbours of the top. It is found from the larger.
  void count_triangles() {
    const std::int64_t begin = order_.offsets[top_], end = order_.below[top_];
    add_work(end - begin);
    for (std::int64_t edge = end; edge-- > begin;) {  // the first to a neighbour comes last
      is_neighbour_.insert(static_cast<std::size_t>(order_.tails[edge]));
      first_edge_[order_.tails[edge]] = static_cast<std::uint32_t>(edge - begin);
    }
    each_neighbour(top_, [&](Id larger, std::int64_t first, std::int64_t last) {
      fetch_neighbour_after(last);
      if (!budget_.is_exceeded())
        find_triangles(larger, first, last);
    });
    add_triangles_found();
    for (std::int64_t edge = begin; edge < end; ++edge)
      is_neighbour_.erase(static_cast<std::size_t>(order_.tails[edge]));
  }

  // The triangles whose larger entity the edges first .. last - 1 of the top lead to.
  void find_triangles(Id larger, std::int64_t first, std::int64_t last) {
    const Id* const tails = order_.tails.data();
    const std::int64_t end = order_.below[larger];
    std::int64_t edge = order_.offsets[larger];
    add_work(end - edge);
    // Whether an edge leads to a neighbour cannot be foretold, so each is written down, and the
    // next overwrites it if it does not: no branch to guess wrong.
    std::array<std::int64_t, 128> across;
    while (edge < end) {
      const std::int64_t part_end = std::min(end, edge + std::ssize(across));
      steps_.take(part_end - edge);
      std::size_t count = 0;
      for (; edge < part_end; ++edge) {
        across[count] = edge;
        count += is_neighbour_.has(static_cast<std::size_t>(tails[edge]));
      }
      for (std::size_t at = 0; at < count; ++at) {
        fetch(&order_.relations[across[at]]);
        fetch(&first_edge_[tails[across[at]]]);
        across_.push_back({across[at], first, last});
      }
    }
    constexpr std::size_t many = 1 << 7;  // as many as can be on their way from memory
    if (across_.size() >= many)
      add_triangles_found();
  }

  void add_triangles_found() {
    for (const auto& [edge, first, last] : across_)
      add_triangles(first, last, edge);
    across_.clear();
  }

  // The triangles of an edge that leads across, from the entity that the edges first .. last - 1 of
  // the top lead to.
  void add_triangles(std::int64_t first, std::int64_t last, std::int64_t across) {
    const Id smaller = order_.tails[across];
    const std::int64_t begin = order_.offsets[top_] + first_edge_[smaller];
    std::int64_t end = begin + 1;
    while (order_.tails[end] == smaller)
      ++end;  // edges to the larger entity come later
    add_work(counting_a_pair * (last - first) * (end - begin));
    if (budget_.is_exceeded())
      return;
    const auto out = Ids(order_.relations).subspan(first, last - first);
    for (std::int64_t back = begin; back < end; ++back) {
      steps_.take(last - first);
      const PathType second = packing_.step(order_.relations[across], 1);
      for (Id first_relation : out)
        add_cycles(order_.relations[back], packing_.step(first_relation, 0) | second, 1);
    }
  }

  // Cycles of four edges: two halves of two steps that meet. They are counted by their types: as
  // many cycles as there are pairs of halves, except for pairs that share their middle entity.
  void count_squares() {
    expect_two_steps(half_types_);
    if (!budget_.is_exceeded()) {
      half_types_.arrange(/*must_meet=*/true);
      if (!half_types_.ends.empty()) {
        make_half_types();
        join_pairs_of_types();
      }
    }
    half_types_.clear();
  }

  // Say how many halves of two steps there will be at each end.
  template <class AnyHalf>
  void expect_two_steps(HalfPaths<AnyHalf>& halves) {
    Count made = 0;
    const auto step_on = [&](Id middle, std::int64_t first, std::int64_t last) {
      fetch_neighbour_after(last);
      const std::int64_t out = last - first;
      const auto expect = [&](Id end, std::int64_t first_on, std::int64_t last_on) {
        halves.expect(end, static_cast<std::size_t>(out * (last_on - first_on)));
      };
      made += out * each_neighbour(middle, expect);
    };
    add_work(each_neighbour(top_, step_on));
    add_work(making_a_half * made);
    budget_.check_kept(made);
  }

  void make_half_types() {
    pairs_.clear();
    each_neighbour(top_, [&](Id middle, std::int64_t first, std::int64_t last) {
      each_neighbour(middle, [&](Id end, std::int64_t first_on, std::int64_t last_on) {
        const std::int64_t count = (last - first) * (last_on - first_on);
        TypeOfHalf* next = half_types_.room_for(end, static_cast<std::size_t>(count));
        if (next == nullptr)
          return;
        steps_.take(count);
        bool has_same_middle = false;
        for (std::int64_t on = first_on; on < last_on; ++on) {
          for (std::int64_t out = first; out < last; ++out) {
            *next++ = {pairs_.number_of(order_.relations[out], order_.relations[on]),
                       has_same_middle};
            has_same_middle = true;
          }
        }
      });
    });
  }

  void join_pairs_of_types() {
    pairs_.begin_sets();
    for (Id end : half_types_.ends) {
      const std::span<const TypeOfHalf> halves = half_types_.at(end);
      steps_.take(std::ssize(halves));
      bool is_a_middle_shared = false;
      for (const TypeOfHalf half : halves) {
        pairs_.add(half.number());
        is_a_middle_shared |= half.has_same_middle();
      }
      add_work(numbering_a_half * std::ssize(halves) + pairs_.finish_set());
      if (is_a_middle_shared)
        exclude_equal_middles(halves);
      if (budget_.is_exceeded())
        return;
      if (pairs_.size() > most_kept / 8) {  // now and then, to bound the memory
        count_pairs();
        pairs_.begin_sets();
      }
    }
    count_pairs();
  }

  void exclude_equal_middles(std::span<const TypeOfHalf> halves) {
    for (std::size_t begin = 0, end; begin < halves.size(); begin = end) {
      for (end = begin + 1; end < halves.size() && halves[end].has_same_middle(); ++end) {
      }
      const auto pairs = static_cast<Count>((end - begin) * (end - begin - 1) / 2);
      add_work(excluding_a_pair * pairs);
      budget_.check_kept(pairs);
      for (std::size_t one = begin + 1; one < end && !budget_.is_exceeded(); ++one) {
        steps_.take(static_cast<Count>(one - begin));
        for (std::size_t other = begin; other < one; ++other)
          pairs_.exclude(halves[one].number(), halves[other].number());
      }
    }
  }

  void count_pairs() {
    const auto start = [&](PathType type) {
      return [back = WayBack(*this, type, 2, 2)](PathType out, Count cycles) {
        back.count(out, cycles);
      };
    };
    const Count pairs = pairs_.each_pair(steps_, start);
    add_work(counting_a_pair * pairs);
  }

  // Cycles of five edges are two halves of two steps with an edge between them, cycles of six edges
  // two halves of three steps that meet.
  void count_longer(int length) {
    static_assert(longest_path == 5);
    const bool halves_meet = length == 5;
    make_halves();
    if (halves_meet && !budget_.is_exceeded())
      make_longer_halves();
    if (!budget_.is_exceeded()) {
      if (halves_meet)
        join_at_ends();
      else
        join_across_edges();
    }
    halves_.clear();
    longer_halves_.clear();
  }

  // Halves of two steps.
  void make_halves() {
    expect_two_steps(halves_);
    if (budget_.is_exceeded())
      return;

    halves_.arrange();
    each_neighbour(top_, [&](Id middle, std::int64_t first, std::int64_t last) {
      each_edge_below(top_, middle, [&](Id relation, Id end) {
        steps_.take(last - first);
        for (std::int64_t out = first; out < last; ++out) {
          const PathType first_step = packing_.step(order_.relations[out], 0);
          halves_.add(end, {first_step | packing_.step(relation, 1), {middle, -1}});
        }
      });
    });
  }

  // Halves of three steps, from those of two. One that is alone at its end is not kept.
  void make_longer_halves() {
    Count made = 0;
    for (Id at : halves_.ends) {
      const std::int64_t count = std::ssize(halves_.at(at));
      const auto expect = [&](Id end, std::int64_t first, std::int64_t last) {
        longer_halves_.expect(end, static_cast<std::size_t>(count * (last - first)));
      };
      made += count * each_neighbour(at, expect);
    }
    add_work(making_a_half * made);
    budget_.check_kept(made);
    if (budget_.is_exceeded())
      return;

    longer_halves_.arrange(/*must_meet=*/true);
    for (Id at : halves_.ends) {
      const std::span<const Half> halves = halves_.at(at);
      each_edge_below(top_, at, [&](Id relation, Id end) {
        if (!longer_halves_.is_end(end))
          return;
        steps_.take(std::ssize(halves));
        for (const Half& half : halves)
          if (!passes(half, end))
            longer_halves_.add(end, {half.out | packing_.step(relation, 2), {half.inner[0], at}});
      });
    }
  }

  // Reports to the other threads only after much work: an atomic addition takes longer than a step.
  void add_work(Count more) {
    constexpr Count much = 1 << 16;
    if ((unreported_ += more) < much)
      return;
    budget_.add_work(unreported_);
    unreported_ = 0;
  }

  // Every pair of disjoint halves with the same end is a cycle. Halves that come to their end from
  // the same entity lie together, and no two of these are disjoint: so each is compared with those
  // that come from another. A cycle goes out by the smaller of its two types and back by the
  // larger, so that there are half as many kinds to look up.
  void join_at_ends() {
    for (Id end : longer_halves_.ends) {
      const std::span<const Half> halves = longer_halves_.at(end);
      ways_back_.clear();
      std::size_t others = 0;  // halves before those that come from the same entity
      for (std::size_t one = 0; one < halves.size(); ++one) {
        ways_back_.emplace_back(*this, halves[one].out, 3, 3);
        if (one > 0 && halves[one].inner[1] != halves[one - 1].inner[1])
          others = one;
        steps_.take(1 + static_cast<Count>(others));
        add_work(counting_a_pair * static_cast<Count>(others));
        if (budget_.is_exceeded())
          return;
        for (std::size_t other = 0; other < others; ++other) {
          if (!are_disjoint(halves[one], halves[other]))
            continue;
          const bool is_smaller = halves[other].out < halves[one].out;
          const PathType out = is_smaller ? halves[other].out : halves[one].out;
          ways_back_[is_smaller ? one : other].count(out, 1);
        }
      }
    }
  }

  // Every edge between the ends of two disjoint halves is a cycle. It is found from its larger end.
  void join_across_edges() {
    for (Id end : halves_.ends) {
      const std::span<const Half> these = halves_.at(end);
      const Count edges = each_edge_below(end, end, [&](Id relation, Id next) {
        const std::span<const Half> those = halves_.at(next);
        add_work(counting_a_pair * std::ssize(these) * std::ssize(those));
        if (budget_.is_exceeded())
          return;
        const PathType across = packing_.step(relation, 2);
        for (const Half& one : those) {
          steps_.take(std::ssize(these));
          const WayBack back(*this, one.out, 2, 3);
          for (const Half& other : these) {
            const bool is_loop_free =
                are_disjoint(one, other) && !passes(one, end) && !passes(other, next);
            if (is_loop_free)
              back.count(other.out | across, 1);
          }
        }
      });
      add_work(edges);
      if (budget_.is_exceeded())
        return;
    }
  }

  // A half walked back to the top, after `out` steps away from it. The first step of the half
  // closes the cycle; the others become the last steps of the path.
  class WayBack {
   public:
    WayBack(CycleFinder& finder, PathType half, int steps, int out)
        : finder_(finder), closing_(finder.packing_.relation(half, 0)) {
      const Packing& packing = finder.packing_;
      for (int step = 1; step < steps; ++step) {
        const Id relation = inverse(packing.relation(half, steps - step));
        back_ |= packing.step(relation, out + step - 1);
      }
    }

    // Count cycles that go out by a path type and come back by this half.
    void count(PathType out, Count cycles) const {
      finder_.add_cycles(closing_, out | back_, cycles);
    }

   private:
    CycleFinder& finder_;
    Id closing_;
    PathType back_ = 0;
  };

  // Count cycles that are a path of this type from the top, and an edge of this relation from the
  // top to its end.
  void add_cycles(Id closing, PathType type, Count cycles) {
    Tally& tally = tallies_[closing];
    const std::size_t before = tally.size();
    tally.add(type, cycles);
    if (tally.size() != before)
      budget_.check_kinds(++kinds_);
  }

  const DegreeOrder& order_;
  const Packing packing_;
  Budget& budget_;
  Steps steps_;
  std::vector<Tally> tallies_;  // by the relation that closes the cycle
  Count kinds_ = 0;             // entries of all tallies
  Count unreported_ = 0;        // work
  Id top_ = -1;

  // Of triangles.
  // An edge between two neighbours of the top, from the one that the edges first .. last - 1 lead
  // to.
  struct Across {
    std::int64_t edge;
    std::int64_t first;
    std::int64_t last;
  };
  std::vector<Across> across_;  // found, and yet to be counted
  Bits is_neighbour_;           // of the top
  std::vector<std::uint32_t>
      first_edge_;  // by neighbour: which of the edges of the top leads there

  // Of squares.
  HalfPaths<TypeOfHalf> half_types_;
  TypePairs pairs_;

  // Of longer cycles.
  HalfPaths<Half> halves_;          // of two steps
  HalfPaths<Half> longer_halves_;   // of three steps
  std::vector<WayBack> ways_back_;  // parallel to the longer halves of one end
};

// The tops, by their numbers, as tasks for threads.
//
// They come from the largest to the smallest: those one after the other stand together in memory,
// and those that take longest come first. One with many edges is a task of its own. Of the others,
// most take less than a microsecond, so a task is as many as have many edges together.
class Tops {
 public:
  Tops(Ids tops, const DegreeOrder& order, Steps& steps) {
    numbers_.reserve(tops.size());
    for (Id top : tops)
      numbers_.push_back(order.number[top]);
    std::vector<Id> buffer;
    const auto from_the_largest = [](Id number) { return static_cast<std::uint64_t>(~number); };
    sort_by(numbers_, buffer, steps, from_the_largest);

    constexpr std::int64_t many_edges = 1 << 10;
    constexpr std::size_t many_tops = 1 << 6;
    std::int64_t edges = many_edges;
    for (std::size_t at = 0; at < numbers_.size(); ++at) {
      const bool is_full = edges >= many_edges || at - begins_.back() >= many_tops;
      if (is_full) {
        begins_.push_back(at);
        edges = 0;
      }
      edges += order.below[numbers_[at]] - order.offsets[numbers_[at]];
    }
    begins_.push_back(numbers_.size());
  }

  std::size_t tasks() const { return begins_.size() - 1; }
  Ids of(std::size_t task) const {
    return Ids(numbers_).subspan(begins_[task], begins_[task + 1] - begins_[task]);
  }

 private:
  std::vector<Id> numbers_;
  std::vector<std::size_t> begins_;  // where each task begins, and the end
};

// Paths of one step that are the edge of the question itself: how often each relation leads to its
// answers.
std::vector<Count> edges_of(const Graph& graph, Ids tops, Steps& steps) {
  const Adjacency& all = graph.adjacency(steps);
  std::vector<Count> edges(graph.relations.size());
  for (Id top : tops) {
    const std::int64_t begin = all.offsets[top], end = all.offsets[top + 1];
    steps.take(1 + end - begin);
    for (std::int64_t edge = begin; edge < end; ++edge)
      edges[all.relations[edge]] += all.tails[edge] != top;
  }
  return edges;
}

// How many kinds of cycles all finders have counted together. If there could be more than `most`,
// the first finder takes over the counts of the others: threads find the same kinds.
Count kinds_of(std::vector<CycleFinder>& finders, Count most, Steps& steps) {
  const auto all_kinds = [&] {
    std::size_t kinds = 0;
    for (CycleFinder& finder : finders)
      for (const Tally& tally : finder.tallies())
        kinds += tally.size();
    return static_cast<Count>(kinds);
  };
  const Count kinds = all_kinds();
  if (kinds <= most)
    return kinds;

  std::vector<Tally>& first = finders.front().tallies();
  for (std::size_t other = 1; other < finders.size(); ++other) {
    for (std::size_t relation = 0; relation < first.size(); ++relation)
      finders[other].tallies()[relation].drain([&](PathType type, Count cycles) {
        steps.take();
        first[relation].add(type, cycles);
      });
  }
  return all_kinds();
}

// The cycles that were counted, a row for each kind. Gives back the memory of the counts.
//
// The same cycle can be counted under several of its readings. All meet at the smallest.
std::vector<Hits> smallest_readings(std::vector<CycleFinder>& finders, int length,
                                    const Packing& packing, Count kinds, Steps& steps) {
  std::vector<Hits> rows;
  rows.reserve(static_cast<std::size_t>(kinds));
  for (CycleFinder& finder : finders) {
    for (std::size_t at = 0; at < finder.tallies().size(); ++at) {
      const auto relation = static_cast<Id>(at);
      finder.tallies()[at].drain([&](PathType type, Count cycles) {
        steps.take();
        auto smallest = std::pair(relation, type);
        const auto compare = [&](Id asked, PathType reading) {
          smallest = std::min(smallest, std::pair(asked, reading));
        };
        each_reading_both_ways(type, length, relation, packing, compare);
        rows.push_back({-1, smallest.first, smallest.second, cycles});
      });
    }
  }
  return merged(std::move(rows), steps);
}

// The hits of all edges and cycles, in all readings, sorted, with equal ones added up.
//
// A counting sort by relation, then a sort of the path types of each relation: most such parts fit
// into the cache. Everything is placed in the arrays where it stays. For memory that is used for
// the first time the system takes longer than this takes.
//
// kinds  by length, from 1 on: the cycles by their smallest readings
void add_hits(const std::vector<Count>& edges, const std::vector<std::vector<Hits>>& kinds,
              const Packing& packing, CountedCycles& counted, Steps& steps) {
  const auto each_hit = [&](const auto& use) {
    for (std::size_t at = 0; at < edges.size(); ++at) {
      const auto relation = static_cast<Id>(at);
      if (edges[at] > 0)
        use(relation, packing.step(relation, 0), edges[at]);
    }
    for (std::size_t length = 1; length <= kinds.size(); ++length) {
      for (const Hits& kind : kinds[length - 1]) {
        steps.take();
        const auto use_reading = [&](Id asked, PathType type) { use(asked, type, kind.hits); };
        each_reading_both_ways(kind.type, static_cast<int>(length), kind.relation, packing,
                               use_reading);
      }
    }
  };

  std::vector<std::size_t> part_ends(edges.size() + 1);  // by relation: where its part will end
  each_hit([&](Id relation, PathType, Count) { ++part_ends[relation + 1]; });
  std::partial_sum(part_ends.begin(), part_ends.end(), part_ends.begin());
  counted.types.resize(part_ends.back());
  counted.hits.resize(part_ends.back());
  each_hit([&](Id relation, PathType type, Count hits) {
    const std::size_t place = part_ends[relation]++;
    counted.types[place] = type;
    counted.hits[place] = hits;
  });

  struct HitsOfType {
    PathType type;
    Count hits;
  };
  std::vector<HitsOfType> part, buffer;
  counted.relations.reserve(counted.types.size());
  std::size_t begin = 0, kept = 0;
  for (std::size_t relation = 0; relation < edges.size(); ++relation) {
    part.clear();
    for (; begin < part_ends[relation]; ++begin)
      part.push_back({counted.types[begin], counted.hits[begin]});
    steps.take(std::ssize(part));
    sort_by(part, buffer, steps, [](const HitsOfType& row) { return row.type; });

    const std::size_t first = kept;
    for (const auto& [type, hits] : part) {
      const bool is_known = kept > first && counted.types[kept - 1] == type;
      if (is_known) {
        counted.hits[kept - 1] += hits;
        continue;
      }
      counted.types[kept] = type;
      counted.hits[kept++] = hits;
    }
    counted.relations.resize(kept, static_cast<Id>(relation));
  }
  counted.types.resize(kept);
  counted.hits.resize(kept);
}

}  // namespace

CountedCycles cycles(const Graph& graph, Ids tops, Ids rank, int max_length, const Limit& limit,
                     int threads, Progress& progress) {
  Steps steps(progress);
  const Packing packing(max_length);
  const DegreeOrder order(graph, rank, steps);
  Budget budget(limit);
  const Tops sorted(tops, order, steps);
  const int workers = useful_threads(threads, sorted.tasks());
  std::vector<CycleFinder> finders;
  finders.reserve(static_cast<std::size_t>(workers));
  for (int worker = 0; worker < workers; ++worker)
    finders.emplace_back(graph, order, max_length, budget, progress);
  std::vector<std::vector<Hits>> kinds;  // by length
  CountedCycles counted;
  counted.work.assign(static_cast<std::size_t>(max_length), INT64_MAX);

  // One length after the other, so that nothing is done for lengths beyond the limit.
  for (int length = 1; length <= max_length; ++length) {
    parallel(workers, sorted.tasks(), progress, [&](int thread, std::size_t task) {
      const Ids numbers = sorted.of(task);
      for (Id top : numbers)
        finders[thread].count(top, length);
      // All lengths together report each top once.
      const std::int64_t all = std::ssize(numbers);
      progress.done(all * length / max_length - all * (length - 1) / max_length);
    });
    for (CycleFinder& finder : finders)
      finder.finish_length();
    if (budget.is_exceeded())
      break;
    const Count found = kinds_of(finders, limit.kinds, steps);
    if (found > limit.kinds)
      break;

    counted.work[static_cast<std::size_t>(length) - 1] = budget.work();
    kinds.push_back(smallest_readings(finders, length, packing, found, steps));
  }
  add_hits(edges_of(graph, tops, steps), kinds, packing, counted, steps);
  return counted;
}

}  // namespace casegraph
