#include "cycles.hpp"

#include <array>
#include <atomic>
#include <numeric>

#include "layer.hpp"
#include "pairs.hpp"
#include "tally.hpp"

namespace casegraph {
namespace {

// What is done for one path or pair of paths, in steps: measured, so that a step takes five nanoseconds, or ten where counts fill the memory. Halves are kept
// in memory and read again; a pair that is counted, or not to be counted, goes to a place in memory that was not looked at before.
constexpr Count making_a_half = 5, numbering_a_half = 3, counting_a_pair = 8, excepting_a_pair = 2;
constexpr Count room = 1 << 25;  // for what is kept of the cycles of one top: 800 megabytes a thread

// The steps from the top to an entity below it; the entity is known by where the half is kept.
struct Half {
  PathType out;
  std::array<Id, 2> inner;  // the entities in between; -1 where there are fewer
};

bool passes(const Half& half, Id entity) { return half.inner[0] == entity || half.inner[1] == entity; }

bool apart(const Half& one, const Half& other) {
  return std::none_of(one.inner.begin(), one.inner.end(), [&](Id entity) { return entity >= 0 && passes(other, entity); });
}

// What all threads have spent together, and whether that was too much.
class Spent {
 public:
  explicit Spent(const Limit& limit) : limit_(limit) {}

  void work(Count more) {
    if ((work_ += more) > limit_.work) is_too_much_ = true;
  }
  void kinds(Count kinds) {
    if (kinds > limit_.kinds) is_too_much_ = true;
  }
  void kept(Count kept) {
    if (kept > room) is_too_much_ = true;
  }
  bool is_too_much() const { return is_too_much_.load(std::memory_order_relaxed); }
  Count so_far() const { return work_; }

 private:
  const Limit limit_;
  std::atomic<Count> work_{0};
  std::atomic<bool> is_too_much_{false};
};

class Finder {
 public:
  Finder(const Graph& graph, const Ranked& ranked, int max_length, Spent& spent, Progress& progress)
      : all_(ranked), packing_(max_length), spent_(spent), steps_(progress),
        tallies_(graph.relations.size()), layers_((max_length + 1) / 2, Layer<Half>(graph.entities)) {}

  // Count the paths of one length whose cycles have this top. A path of 2k - 1 steps and the edge that closes it are two halves
  // of k steps that meet; one of 2k steps, two halves that have an edge between them.
  void count(Id top, int length) {
    if (spent_.is_too_much()) return;
    top_ = top;
    const int steps = (length + 1) / 2;
    const bool halves_meet = length % 2 == 1;
    begin();
    for (int longer = 2; longer <= steps && !spent_.is_too_much(); ++longer) extend(longer, halves_meet && longer == steps);
    if (!spent_.is_too_much()) halves_meet ? meet(steps) : meet_across(steps);
    for (auto& layer : layers_) layer.clear();
  }

  // All paths of one length have been counted.
  void finish() {
    spent_.work(unspoken_);
    unspoken_ = 0;
    kinds_ = 0;
  }

  // Of the paths counted since this was last asked for, by the relation that closes the cycle.
  std::vector<Tally>& tallies() { return tallies_; }

 private:
  // Call `visit(relation, tail)` for the edges of an entity that lead below another; how many there are.
  template <class Visit>
  Count each_below(Id other, Id entity, const Visit& visit) {
    const std::int64_t begin = all_.offsets[entity], end = all_.offsets[entity + 1];
    std::int64_t edge = begin;
    steps_.take();
    for (; edge < end && all_.tails[edge] < other; ++edge)
      if (all_.tails[edge] != entity) visit(all_.relations[edge], all_.tails[edge]);
    return edge - begin;
  }

  // Halves of one step.
  void begin() {
    Layer<Half>& layer = layers_[0];
    spend(1 + each_below(top_, top_, [&](Id, Id end) { layer.expect(end, 1); }));
    layer.arrange();
    each_below(top_, top_, [&](Id relation, Id end) { layer.add(end, {packing_.step(relation, 0), {-1, -1}}); });
  }

  // Halves of so many steps, from those with one less. If they need to meet, one that is alone at its end is not kept.
  void extend(int steps, bool must_meet) {
    Layer<Half> &shorter = layers_[steps - 2], &longer = layers_[steps - 1];
    Count work = 0;
    for (Id at : shorter.ends) {
      const std::size_t many = shorter.at(at).size();
      work += static_cast<Count>(many) * each_below(top_, at, [&](Id, Id end) { longer.expect(end, many); });
    }
    spend(making_a_half * work);
    spent_.kept(work);
    if (spent_.is_too_much()) return longer.clear();
    longer.arrange(must_meet ? 2 : 1);
    for (Id at : shorter.ends) {
      const std::span<const Half> halves = shorter.at(at);
      each_below(top_, at, [&](Id relation, Id end) {
        steps_.take(std::ssize(halves));
        for (const Half& half : halves) {
          if (passes(half, end)) continue;
          Half more{half.out | packing_.step(relation, steps - 1), half.inner};
          more.inner[steps - 2] = at;
          longer.add(end, more);
        }
      });
    }
  }

  // Told to the other threads now and then: that takes longer than the work.
  void spend(Count more) {
    if ((unspoken_ += more) < 1 << 16) return;
    spent_.work(unspoken_);
    unspoken_ = 0;
  }

  void meet(int steps) {
    if (steps == 2) return meet_alike();
    for (Id end : layers_[steps - 1].ends) {
      const std::span<const Half> halves = layers_[steps - 1].at(end);
      spend(counting_a_pair * (std::ssize(halves) * (std::ssize(halves) - 1) / 2));
      if (spent_.is_too_much()) return;
      for (std::size_t one = 1; one < halves.size(); ++one) {
        const Closing closing(*this, halves[one].out, steps, steps);
        steps_.take(static_cast<Count>(one));
        for (std::size_t other = 0; other < one; ++other)
          if (apart(halves[one], halves[other])) closing(halves[other].out, 1);
      }
    }
  }

  // Halves of two steps make as many cycles as pairs of their types say, end by end, but for pairs that share their middle.
  void meet_alike() {
    Layer<Half>& layer = layers_[1];
    pairs_.clear();  // of what was left when there was too much
    for (Id meeting : layer.ends) {
      const std::span<const Half> halves = layer.at(meeting);
      steps_.take(std::ssize(halves));
      for (const Half& half : halves) pairs_.add(half.out);
      spend(numbering_a_half * std::ssize(halves) + pairs_.close());
      for (std::size_t begin = 0, end; begin < halves.size(); begin = end) {  // those with one middle stand together
        for (end = begin + 1; end < halves.size() && halves[end].inner[0] == halves[begin].inner[0]; ++end) {}
        const auto alike = static_cast<Count>((end - begin) * (end - begin - 1) / 2);
        spend(excepting_a_pair * alike);
        spent_.kept(alike);
        for (std::size_t one = begin + 1; one < end && !spent_.is_too_much(); ++one)
          for (std::size_t other = begin; other < one; ++other) {
            steps_.take();
            pairs_.but(halves[one].out, halves[other].out);
          }
      }
      if (spent_.is_too_much()) return;
      if (pairs_.kept() > room / 8) add_pairs();
    }
    add_pairs();
  }

  void add_pairs() {
    spend(counting_a_pair * pairs_.each(steps_, [&](PathType type) { return Closing(*this, type, 2, 2); }));
    pairs_.clear();
  }

  void meet_across(int steps) {
    Layer<Half>& layer = layers_[steps - 1];
    for (Id end : layer.ends) {
      const std::span<const Half> these = layer.at(end);
      const Count edges = each_below(end, end, [&](Id relation, Id next) {  // below the end, so that every cycle is found once
        const std::span<const Half> those = layer.at(next);
        spend(counting_a_pair * std::ssize(these) * std::ssize(those));
        if (spent_.is_too_much()) return;
        for (const Half& one : those) {
          steps_.take(std::ssize(these));
          const Closing closing(*this, one.out, steps, steps + 1);
          for (const Half& other : these)
            if (apart(one, other) && !passes(one, end) && !passes(other, next)) closing(other.out | packing_.step(relation, steps), 1);
        }
      });
      spend(edges);
      if (spent_.is_too_much()) return;
    }
  }

  // The way back along a half of so many steps, after so many steps out: its first step closes the cycle.
  class Closing {
   public:
    Closing(Finder& finder, PathType half, int steps, int out)
        : finder_(finder), tally_(finder.tallies_[finder.packing_.relation(half, 0)]) {
      for (int step = 1; step < steps; ++step) back_ |= finder.packing_.step(inverse(finder.packing_.relation(half, steps - step)), out + step - 1);
    }
    void operator()(PathType out, Count cycles) const {
      const std::size_t before = tally_.size();
      tally_.add(out | back_, cycles);
      if (tally_.size() != before) finder_.spent_.kinds(++finder_.kinds_);
    }

   private:
    Finder& finder_;
    Tally& tally_;
    PathType back_ = 0;
  };

  const Ranked& all_;
  const Packing packing_;
  Spent& spent_;
  Steps steps_;
  std::vector<Tally> tallies_;  // by the relation that closes the cycle
  Count kinds_ = 0;             // in all of them
  Count unspoken_ = 0;
  std::vector<Layer<Half>> layers_;  // by steps, from one on
  Pairs pairs_;
  Id top_ = -1;
};

// The edges themselves: everyone is led to its answers by the relation that is asked for.
void add_edges(const Graph& graph, Ids tops, const Packing& packing, std::vector<Hits>& rows, Steps& steps) {
  const Adjacency& all = graph.adjacency(steps);
  std::vector<Count> edges(graph.relations.size());
  for (Id top : tops) {
    steps.take(1 + all.offsets[top + 1] - all.offsets[top]);
    for (std::int64_t edge = all.offsets[top]; edge < all.offsets[top + 1]; ++edge) edges[all.relations[edge]] += all.tails[edge] != top;
  }
  for (std::size_t relation = 0; relation < edges.size(); ++relation)
    if (edges[relation] > 0) rows.push_back({-1, static_cast<Id>(relation), packing.step(static_cast<Id>(relation), 0), edges[relation]});
}

}  // namespace

Ranked::Ranked(const Graph& graph, Ids rank, Steps& steps) : order(graph.entities) {
  const Adjacency& all = graph.adjacency(steps);
  std::vector<Id> entities(graph.entities);
  std::iota(entities.begin(), entities.end(), 0);
  const auto degree = [&](Id entity) { return all.offsets[entity + 1] - all.offsets[entity]; };
  std::sort(entities.begin(), entities.end(), [&](Id a, Id b) {
    steps.take();
    return std::pair(degree(a), rank[a]) < std::pair(degree(b), rank[b]);
  });
  offsets.push_back(0);
  for (Id entity : entities) {
    order[entity] = static_cast<Id>(offsets.size()) - 1;
    offsets.push_back(offsets.back() + degree(entity));
  }
  relations.resize(all.relations.size());
  tails.resize(all.tails.size());
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  for (Id entity : entities) {  // in their new order, so that every list gets its entries in that order
    steps.take(1 + degree(entity));
    for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge) {
      const auto place = static_cast<std::size_t>(next[order[all.tails[edge]]]++);
      relations[place] = inverse(all.relations[edge]);
      tails[place] = order[entity];
    }
  }
}

Counted cycles(const Graph& graph, Ids tops, Ids rank, int max_length, const Limit& limit, int threads, Progress& progress) {
  Steps steps(progress);
  const Packing packing(max_length);
  const Ranked ranked(graph, rank, steps);
  Spent spent(limit);
  constexpr std::size_t at_once = 16;
  const std::size_t tasks = (tops.size() + at_once - 1) / at_once;
  std::vector<Finder> finders(useful(threads, tasks), Finder(graph, ranked, max_length, spent, progress));
  Counted counted;
  add_edges(graph, tops, packing, counted.rows, steps);
  std::vector<Id> cycle;
  counted.work.assign(static_cast<std::size_t>(max_length), INT64_MAX);
  for (int length = 1; length <= max_length; ++length) {  // one by one, so that nothing is done for lengths that are too much
    parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
      const std::size_t end = std::min(tops.size(), (task + 1) * at_once);
      for (std::size_t place = task * at_once; place < end; ++place) finders[thread].count(ranked.order[tops[place]], length);
      const auto all = static_cast<std::int64_t>(end - task * at_once);
      progress.done(all * length / max_length - all * (length - 1) / max_length);
    });
    std::vector<Hits> found;  // a row for each kind of cycle
    for (Finder& finder : finders) {
      finder.finish();
      for (std::size_t relation = 0; relation < graph.relations.size(); ++relation)
        finder.tallies()[relation].drain(
            [&](PathType type, Count many) { found.push_back({-1, static_cast<Id>(relation), type, many}); });
    }
    found = merged(std::move(found), steps);
    spent.kinds(static_cast<Count>(found.size()));
    if (spent.is_too_much()) break;
    counted.work[static_cast<std::size_t>(length) - 1] = spent.so_far();
    for (const Hits& kind : found) {
      steps.take();
      if (kind.hits == 0) continue;
      cycle.clear();
      for (int place = 0; place < length; ++place) cycle.push_back(packing.relation(kind.type, place));
      cycle.push_back(inverse(kind.relation));
      for (int direction = 0; direction < 2; ++direction, turn(cycle))
        each_reading(cycle, packing, [&](Id asked, PathType type) { counted.rows.push_back({-1, asked, type, kind.hits}); });
    }
  }
  counted.rows = merged(std::move(counted.rows), steps);
  return counted;
}

}  // namespace casegraph
