#include "counting/cycles.hpp"

#include <array>
#include <atomic>

#include "common/parallel.hpp"
#include "common/tally.hpp"
#include "counting/degree_order.hpp"
#include "counting/half_paths.hpp"
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

// A path from the top to an entity below it. The entity is known by where the half is stored.
struct Half {
  PathType out;             // its type, from the top
  std::array<Id, 2> inner;  // the entities in between; -1 where there are fewer
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
    if ((work_ += more) > limit_.work) is_exceeded_ = true;
  }
  void check_kinds(Count kinds) {
    if (kinds > limit_.kinds) is_exceeded_ = true;
  }
  void check_kept(Count kept) {
    if (kept > most_kept) is_exceeded_ = true;
  }
  bool is_exceeded() const { return is_exceeded_.load(std::memory_order_relaxed); }
  Count work() const { return work_; }

 private:
  const Limit limit_;
  std::atomic<Count> work_{0};
  std::atomic<bool> is_exceeded_{false};
};

// Finds the cycles of one top after the other; one for each thread.
class CycleFinder {
 public:
  CycleFinder(const Graph& graph, const DegreeOrder& order, int max_length, Budget& budget,
              Progress& progress)
      : order_(order),
        packing_(max_length),
        budget_(budget),
        steps_(progress),
        tallies_(graph.relations.size()),
        halves_((max_length + 1) / 2, HalfPaths<Half>(graph.entities)) {}

  // Count the cycles with this top that are paths of one length and an edge.
  //
  // A path of 2k - 1 steps and its edge are two halves of k steps that meet. A path of 2k steps and
  // its edge are two halves of k steps with an edge between them.
  void count(Id top, int length) {
    if (budget_.is_exceeded()) return;
    top_ = top;
    const int steps = (length + 1) / 2;
    const bool halves_meet = length % 2 == 1;
    make_first_halves();
    for (int longer = 2; longer <= steps && !budget_.is_exceeded(); ++longer)
      extend_halves(longer, halves_meet && longer == steps);
    if (!budget_.is_exceeded()) join_halves(steps, halves_meet);
    for (auto& halves : halves_) halves.clear();
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
      if (order_.tails[edge] != entity) visit(order_.relations[edge], order_.tails[edge]);
    return edge - begin;
  }

  // Halves of one step.
  void make_first_halves() {
    HalfPaths<Half>& halves = halves_[0];
    const auto expect = [&](Id, Id end) { halves.expect(end, 1); };
    // An entity that has lost all its facts takes no work: a rebuild would not know it.
    add_work(each_edge_below(top_, top_, expect));
    halves.arrange();
    each_edge_below(top_, top_, [&](Id relation, Id end) {
      halves.add(end, {packing_.step(relation, 0), {-1, -1}});
    });
  }

  // Halves of so many steps, from those with one step less. If they must meet, a half that is alone
  // at its end is not kept.
  void extend_halves(int steps, bool must_meet) {
    const HalfPaths<Half>& shorter = halves_[steps - 2];
    HalfPaths<Half>& longer = halves_[steps - 1];

    Count made = 0;
    for (Id at : shorter.ends) {
      const std::size_t count = shorter.at(at).size();
      const auto expect = [&](Id, Id end) { longer.expect(end, count); };
      made += static_cast<Count>(count) * each_edge_below(top_, at, expect);
    }
    add_work(making_a_half * made);
    budget_.check_kept(made);
    if (budget_.is_exceeded()) return longer.clear();

    longer.arrange(must_meet ? 2 : 1);
    for (Id at : shorter.ends) {
      const std::span<const Half> halves = shorter.at(at);
      each_edge_below(top_, at, [&](Id relation, Id end) {
        steps_.take(std::ssize(halves));
        for (const Half& half : halves) {
          if (passes(half, end)) continue;
          Half extended{half.out | packing_.step(relation, steps - 1), half.inner};
          extended.inner[steps - 2] = at;
          longer.add(end, extended);
        }
      });
    }
  }

  // Reports to the other threads only after much work: an atomic addition takes longer than a step.
  void add_work(Count more) {
    constexpr Count much = 1 << 16;
    if ((unreported_ += more) < much) return;
    budget_.add_work(unreported_);
    unreported_ = 0;
  }

  void join_halves(int steps, bool halves_meet) {
    if (!halves_meet)
      join_across_edges(steps);
    else if (steps == 2)
      join_pairs_of_types();
    else
      join_at_ends(steps);
  }

  // Every pair of disjoint halves with the same end is a cycle.
  void join_at_ends(int steps) {
    for (Id end : halves_[steps - 1].ends) {
      const std::span<const Half> halves = halves_[steps - 1].at(end);
      const Count pairs = std::ssize(halves) * (std::ssize(halves) - 1) / 2;
      add_work(counting_a_pair * pairs);
      if (budget_.is_exceeded()) return;
      for (std::size_t one = 1; one < halves.size(); ++one) {
        const WayBack back(*this, halves[one].out, steps, steps);
        steps_.take(static_cast<Count>(one));
        for (std::size_t other = 0; other < one; ++other)
          if (are_disjoint(halves[one], halves[other])) back.count(halves[other].out, 1);
      }
    }
  }

  // The same for halves of two steps, which are counted by their types: as many cycles as there are
  // pairs of halves, except for pairs that share their middle entity.
  void join_pairs_of_types() {
    const HalfPaths<Half>& all = halves_[1];
    pairs_.clear();  // something is left if the budget was exceeded
    for (Id end : all.ends) {
      const std::span<const Half> halves = all.at(end);
      steps_.take(std::ssize(halves));
      for (const Half& half : halves) pairs_.add(half.out);
      add_work(numbering_a_half * std::ssize(halves) + pairs_.finish_set());
      exclude_equal_middles(halves);
      if (budget_.is_exceeded()) return;
      if (pairs_.size() > most_kept / 8) count_pairs();  // now and then, to bound the memory
    }
    count_pairs();
  }

  void exclude_equal_middles(std::span<const Half> halves) {
    for (std::size_t begin = 0, end; begin < halves.size(); begin = end) {
      // Halves with one middle stand together: they were made one after the other.
      const Id middle = halves[begin].inner[0];
      for (end = begin + 1; end < halves.size() && halves[end].inner[0] == middle; ++end) {
      }
      const auto pairs = static_cast<Count>((end - begin) * (end - begin - 1) / 2);
      add_work(excluding_a_pair * pairs);
      budget_.check_kept(pairs);
      for (std::size_t one = begin + 1; one < end && !budget_.is_exceeded(); ++one) {
        for (std::size_t other = begin; other < one; ++other) {
          steps_.take();
          pairs_.exclude(halves[one].out, halves[other].out);
        }
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
    pairs_.clear();
  }

  // Every edge between the ends of two disjoint halves is a cycle. It is found from its larger end.
  void join_across_edges(int steps) {
    const HalfPaths<Half>& all = halves_[steps - 1];
    for (Id end : all.ends) {
      const std::span<const Half> these = all.at(end);
      const Count edges = each_edge_below(end, end, [&](Id relation, Id next) {
        const std::span<const Half> those = all.at(next);
        add_work(counting_a_pair * std::ssize(these) * std::ssize(those));
        if (budget_.is_exceeded()) return;
        const PathType across = packing_.step(relation, steps);
        for (const Half& one : those) {
          steps_.take(std::ssize(these));
          const WayBack back(*this, one.out, steps, steps + 1);
          for (const Half& other : these) {
            const bool is_loop_free =
                are_disjoint(one, other) && !passes(one, end) && !passes(other, next);
            if (is_loop_free) back.count(other.out | across, 1);
          }
        }
      });
      add_work(edges);
      if (budget_.is_exceeded()) return;
    }
  }

  // A half walked back to the top, after `out` steps away from it. The first step of the half
  // closes the cycle; the others become the last steps of the path.
  class WayBack {
   public:
    WayBack(CycleFinder& finder, PathType half, int steps, int out)
        : finder_(finder), tally_(finder.tallies_[finder.packing_.relation(half, 0)]) {
      const Packing& packing = finder.packing_;
      for (int step = 1; step < steps; ++step) {
        const Id relation = inverse(packing.relation(half, steps - step));
        back_ |= packing.step(relation, out + step - 1);
      }
    }

    // Count cycles that go out by a path type and come back by this half.
    void count(PathType out, Count cycles) const {
      const std::size_t before = tally_.size();
      tally_.add(out | back_, cycles);
      if (tally_.size() != before) finder_.budget_.check_kinds(++finder_.kinds_);
    }

   private:
    CycleFinder& finder_;
    Tally& tally_;
    PathType back_ = 0;
  };

  const DegreeOrder& order_;
  const Packing packing_;
  Budget& budget_;
  Steps steps_;
  std::vector<Tally> tallies_;           // by the relation that closes the cycle
  Count kinds_ = 0;                      // entries of all tallies
  Count unreported_ = 0;                 // work
  std::vector<HalfPaths<Half>> halves_;  // by steps, from 1 on
  TypePairs pairs_;
  Id top_ = -1;
};

// Paths of one step that are the edge of the question itself: each relation leads to its answers.
void add_edges(const Graph& graph, Ids tops, const Packing& packing, std::vector<Hits>& rows,
               Steps& steps) {
  const Adjacency& all = graph.adjacency(steps);
  std::vector<Count> edges(graph.relations.size());
  for (Id top : tops) {
    const std::int64_t begin = all.offsets[top], end = all.offsets[top + 1];
    steps.take(1 + end - begin);
    for (std::int64_t edge = begin; edge < end; ++edge)
      edges[all.relations[edge]] += all.tails[edge] != top;
  }
  for (std::size_t at = 0; at < edges.size(); ++at) {
    const auto relation = static_cast<Id>(at);
    if (edges[at] > 0) rows.push_back({-1, relation, packing.step(relation, 0), edges[at]});
  }
}

// The cycles that all finders have counted, a row for each kind.
std::vector<Hits> kinds_of(std::vector<CycleFinder>& finders, Steps& steps) {
  std::vector<Hits> kinds;
  for (CycleFinder& finder : finders) {
    finder.finish_length();
    for (std::size_t relation = 0; relation < finder.tallies().size(); ++relation)
      finder.tallies()[relation].drain([&](PathType type, Count cycles) {
        kinds.push_back({-1, static_cast<Id>(relation), type, cycles});
      });
  }
  return merged(std::move(kinds), steps);
}

}  // namespace

CountedCycles cycles(const Graph& graph, Ids tops, Ids rank, int max_length, const Limit& limit,
                     int threads, Progress& progress) {
  Steps steps(progress);
  const Packing packing(max_length);
  const DegreeOrder order(graph, rank, steps);
  Budget budget(limit);
  const Chunks chunks(tops.size(), 16);  // most tops take microseconds
  std::vector<CycleFinder> finders(chunks.workers(threads),
                                   CycleFinder(graph, order, max_length, budget, progress));
  CountedCycles counted;
  add_edges(graph, tops, packing, counted.rows, steps);
  counted.work.assign(static_cast<std::size_t>(max_length), INT64_MAX);

  // One length after the other, so that nothing is done for lengths beyond the limit.
  for (int length = 1; length <= max_length; ++length) {
    chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
      for (std::size_t place = begin; place < end; ++place)
        finders[thread].count(order.number[tops[place]], length);
      // All lengths together report each top once.
      const auto all = static_cast<std::int64_t>(end - begin);
      progress.done(all * length / max_length - all * (length - 1) / max_length);
    });
    const std::vector<Hits> kinds = kinds_of(finders, steps);
    budget.check_kinds(static_cast<Count>(kinds.size()));
    if (budget.is_exceeded()) break;

    counted.work[static_cast<std::size_t>(length) - 1] = budget.work();
    for (const Hits& kind : kinds) {
      steps.take();
      if (kind.hits == 0) continue;
      const auto add = [&](Id relation, PathType type) {
        counted.rows.push_back({-1, relation, type, kind.hits});
      };
      each_reading_both_ways(kind.type, length, kind.relation, packing, add);
    }
  }
  counted.rows = merged(std::move(counted.rows), steps);
  return counted;
}

}  // namespace casegraph
