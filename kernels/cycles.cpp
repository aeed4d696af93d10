#include "cycles.hpp"

#include <array>
#include <atomic>
#include <numeric>

#include "layer.hpp"
#include "pairs.hpp"
#include "tally.hpp"

namespace casegraph {
namespace {

constexpr int longest_cycle = 6;
constexpr Count room = 1 << 27;  // for what is kept of the cycles of one top: two gigabytes

// The steps from the top to an entity below it; the entity is known by where the half is kept.
struct Half {
  PathType out;
  std::array<Id, 2> inner;  // the entities in between; -1 where there are fewer
};

bool passes(const Half& half, Id entity) { return half.inner[0] == entity || half.inner[1] == entity; }

bool apart(const Half& one, const Half& other) {
  return std::none_of(one.inner.begin(), one.inner.end(), [&](Id entity) { return entity >= 0 && passes(other, entity); });
}

// What all threads have spent on each length together, and whether that was too much.
class Spent {
 public:
  explicit Spent(const Limit& limit) : limit_(limit) {}

  void work(int length, Count more) {
    if ((work_[length] += more) > limit_.work) too_much_[length] = true;
  }
  void kinds(int length, Count kinds) {
    if (kinds > limit_.kinds) too_much_[length] = true;
  }
  void kept(int length, Count kept) {
    if (kept > room) too_much_[length] = true;
  }
  // Whether paths of this length may still be counted: those of no shorter length were too many.
  bool affordable(int length) const {
    for (int shorter = 1; shorter <= length; ++shorter)
      if (too_much_[shorter]) return false;
    return true;
  }
  Count spent(int length) const { return work_[length]; }

 private:
  const Limit limit_;
  std::array<std::atomic<Count>, longest_cycle> work_{};  // by the length of paths
  std::array<std::atomic<bool>, longest_cycle> too_much_{};
};

class Finder {
 public:
  Finder(const Graph& graph, const Ranked& ranked, int max_length, Spent& spent, Progress& progress)
      : all_(ranked), packing_(max_length), max_length_(max_length), spent_(spent), steps_(progress),
        tallies_(longest_cycle, std::vector<Tally>(graph.relations.size())), kinds_(longest_cycle),
        layers_((max_length + 1) / 2, Layer<Half>(graph.entities)) {}

  // Cycles of 2k edges are two halves of k steps that meet; those of 2k + 1, two that have an edge between them.
  void count(Id top) {
    top_ = top;
    for (int steps = 1; 2 * steps - 1 <= max_length_ && spent_.affordable(2 * steps - 1); ++steps) {
      steps == 1 ? begin() : extend(steps);
      meet(steps);
      if (2 * steps <= max_length_ && spent_.affordable(2 * steps)) meet_across(steps);
    }
    for (auto& layer : layers_) layer.clear();
  }

  void finish() {
    for (int length = 1; length < longest_cycle; ++length) spent_.work(length, unspoken_[length]);
  }

  // The tallies of paths of a length, by the relation that closes the cycle.
  std::vector<Tally>& tallies(int length) { return tallies_[length]; }

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
    spend(1, 1 + each_below(top_, top_, [&](Id, Id end) { layer.expect(end, 1); }));
    layer.arrange();
    each_below(top_, top_, [&](Id relation, Id end) { layer.add(end, {packing_.step(relation, 0), {-1, -1}}); });
  }

  // Halves of so many steps, from those with one less. If no cycle needs them but such as meet, one that is alone at its end is not kept.
  void extend(int steps) {
    Layer<Half> &shorter = layers_[steps - 2], &longer = layers_[steps - 1];
    Count work = 0;
    for (Id at : shorter.ends) {
      const std::size_t many = shorter.at(at).size();
      work += static_cast<Count>(many) * each_below(top_, at, [&](Id, Id end) { longer.expect(end, many); });
    }
    spend(2 * steps - 1, work);
    spent_.kept(2 * steps - 1, work);
    if (!spent_.affordable(2 * steps - 1)) return longer.clear();
    longer.arrange(2 * steps > max_length_ ? 2 : 1);
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
  void spend(int length, Count more) {
    if ((unspoken_[length] += more) < 1 << 16) return;
    spent_.work(length, unspoken_[length]);
    unspoken_[length] = 0;
  }

  void meet(int steps) {
    if (steps == 2) return meet_alike();
    for (Id end : layers_[steps - 1].ends) {
      const std::span<const Half> halves = layers_[steps - 1].at(end);
      for (std::size_t one = 1; one < halves.size(); ++one) {
        const Closing closing(*this, halves[one].out, steps, steps);
        steps_.take(static_cast<Count>(one));
        for (std::size_t other = 0; other < one; ++other)
          if (apart(halves[one], halves[other])) closing(halves[other].out, 1);
      }
      spend(2 * steps - 1, static_cast<Count>(halves.size() * (halves.size() - 1) / 2));
      if (!spent_.affordable(2 * steps - 1)) return;
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
      spend(3, pairs_.close());
      for (std::size_t begin = 0, end; begin < halves.size(); begin = end) {  // those with one middle stand together
        for (end = begin + 1; end < halves.size() && halves[end].inner[0] == halves[begin].inner[0]; ++end) {}
        const auto alike = static_cast<Count>((end - begin) * (end - begin - 1) / 2);
        spend(3, alike);
        spent_.kept(3, alike);
        for (std::size_t one = begin + 1; one < end && spent_.affordable(3); ++one)
          for (std::size_t other = begin; other < one; ++other) {
            steps_.take();
            pairs_.but(halves[one].out, halves[other].out);
          }
      }
      if (!spent_.affordable(3)) return;
      if (pairs_.kept() > room / 8) add_pairs();
    }
    add_pairs();
  }

  void add_pairs() {
    pairs_.each(steps_, [&](PathType type) { return Closing(*this, type, 2, 2); });
    pairs_.clear();
  }

  void meet_across(int steps) {
    Layer<Half>& layer = layers_[steps - 1];
    for (Id end : layer.ends) {
      const std::span<const Half> these = layer.at(end);
      Count work = 0;
      work += each_below(end, end, [&](Id relation, Id next) {  // below the end, so that every cycle is found once
        const std::span<const Half> those = layer.at(next);
        work += static_cast<Count>(these.size() * those.size());
        for (const Half& one : those) {
          steps_.take(std::ssize(these));
          const Closing closing(*this, one.out, steps, steps + 1);
          for (const Half& other : these)
            if (apart(one, other) && !passes(one, end) && !passes(other, next)) closing(other.out | packing_.step(relation, steps), 1);
        }
      });
      spend(2 * steps, work);
      if (!spent_.affordable(2 * steps)) return;
    }
  }

  // The way back along a half of so many steps, after so many steps out: its first step closes the cycle.
  class Closing {
   public:
    Closing(Finder& finder, PathType half, int steps, int out)
        : finder_(finder), length_(steps + out - 1), is_lost_(!finder.spent_.affordable(length_)), tally_(finder.tallies_[length_][finder.packing_.relation(half, 0)]) {
      for (int step = 1; step < steps; ++step) back_ |= finder.packing_.step(inverse(finder.packing_.relation(half, steps - step)), out + step - 1);
    }
    void operator()(PathType out, Count cycles) const {
      if (is_lost_) return;
      const std::size_t before = tally_.size();
      tally_.add(out | back_, cycles);
      if (tally_.size() != before) finder_.spent_.kinds(length_, ++finder_.kinds_[length_]);
    }

   private:
    Finder& finder_;
    const int length_;
    const bool is_lost_;  // there is too much of this length, and it will be left out
    Tally& tally_;
    PathType back_ = 0;
  };

  const Ranked& all_;
  const Packing packing_;
  const int max_length_;
  Spent& spent_;
  Steps steps_;
  std::vector<std::vector<Tally>> tallies_;  // by the length of paths, and the relation that closes the cycle
  std::vector<Count> kinds_;
  std::array<Count, longest_cycle> unspoken_{};
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
  parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
    const std::size_t end = std::min(tops.size(), (task + 1) * at_once);
    for (std::size_t place = task * at_once; place < end; ++place) finders[thread].count(ranked.order[tops[place]]);
    progress.done(static_cast<std::int64_t>(end - task * at_once));
  });
  for (Finder& finder : finders) finder.finish();
  Counted counted;
  add_edges(graph, tops, packing, counted.rows, steps);
  std::vector<Id> cycle;
  for (int length = 1; length <= max_length; ++length) {
    std::vector<Hits> found;  // a row for each kind of cycle
    for (Finder& finder : finders)
      for (std::size_t relation = 0; relation < graph.relations.size(); ++relation)
        finder.tallies(length)[relation].drain(
            [&](PathType type, Count many) { found.push_back({-1, static_cast<Id>(relation), type, many}); });
    found = merged(std::move(found), steps);
    spent.kinds(length, static_cast<Count>(found.size()));
    counted.work.push_back(spent.affordable(length) ? spent.spent(length) : INT64_MAX);
    if (!spent.affordable(length)) continue;
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
