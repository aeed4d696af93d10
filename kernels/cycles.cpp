#include "cycles.hpp"

#include <array>
#include <atomic>
#include <numeric>

#include "layer.hpp"
#include "tally.hpp"

namespace casegraph {
namespace {

constexpr int longest_cycle = 6;

// The steps from the top to an entity below it; the entity is known by where the half is kept.
struct Half {
  std::array<Id, 3> steps;
  std::array<Id, 2> inner;  // the entities in between; -1 where there are fewer
  auto operator<=>(const Half&) const = default;
};

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
  Finder(const Graph& graph, const Ranked& ranked, int max_length, Spent& spent)
      : all_(ranked), packing_(max_length), max_length_(max_length), spent_(spent),
        tallies_(longest_cycle, std::vector<Tally>(graph.relations.size())), kinds_(longest_cycle),
        layers_(max_length / 2 + 1, Layer<Half>(graph.entities)) {}

  void count(Id top, Progress progress) {
    top_ = top;
    walk(top, {{-1, -1, -1}, {-1, -1}}, 0);
    for (auto& layer : layers_) layer.group();
    for (int length = 1; length <= max_length_ && spent_.affordable(length); ++length) {
      progress.done(0);  // one entity can be long work
      join(length + 1);
    }
    for (auto& layer : layers_) layer.clear();
  }

  void finish() {
    for (int length = 1; length < longest_cycle; ++length) spent_.work(length, unspoken_[length]);
  }

  // The tallies of paths of a length, by the relation that closes the cycle.
  std::vector<Tally>& tallies(int length) { return tallies_[length]; }

 private:
  void walk(Id at, const Half& half, int length) {
    const int needed_for = std::max(2 * length, 1);  // the shortest paths that are made of halves of so many steps and one
    if (needed_for > max_length_ || !spent_.affordable(needed_for)) return;
    std::int64_t edge = all_.offsets[at];
    for (; edge < all_.offsets[at + 1] && all_.tails[edge] < top_; ++edge) {
      const Id next = all_.tails[edge];
      if (next == at || next == half.inner[0] || next == half.inner[1]) continue;
      Half longer = half;
      longer.steps[length] = all_.relations[edge];
      layers_[length].add(next, longer);
      if (length == 2) continue;
      longer.inner[length] = next;
      walk(next, longer, length + 1);
    }
    spend(needed_for, edge - all_.offsets[at] + 1);
  }

  // Told to the other threads now and then: that takes longer than the work.
  void spend(int length, Count more) {
    if ((unspoken_[length] += more) < 1 << 16) return;
    spent_.work(length, unspoken_[length]);
    unspoken_[length] = 0;
  }

  // All cycles of so many edges: for an even number two halves alike, each pair once; else one of them longer, both ways round.
  void join(int edges) {
    Layer<Half> &longer = layers_[(edges + 1) / 2 - 1], &shorter = layers_[edges / 2 - 1];
    for (Id end : longer.ends) {
      const std::span<Half> these = longer.at(end), those = shorter.at(end);
      if (edges == 4)
        join_alike(these);
      else if (edges % 2 == 0)
        for (std::size_t one = 0; one < these.size(); ++one) {
          for (std::size_t other = 0; other < one; ++other)
            if (apart(these[one], these[other])) add(these[one], these[other], edges, 1);
          spend(edges - 1, static_cast<Count>(one));
        }
      else
        for (const Half& one : these) {
          for (const Half& other : those)
            if (apart(one, other)) add(one, other, edges, 1);
          spend(edges - 1, static_cast<Count>(those.size()));
        }
      if (!spent_.affordable(edges - 1)) return;
    }
  }

  static bool apart(const Half& one, const Half& other) {
    for (Id entity : one.inner)
      if (entity >= 0 && (entity == other.inner[0] || entity == other.inner[1])) return false;
    return true;
  }

  // Halves of two steps to one end: as many cycles as pairs of types say, but for pairs that share their middle.
  void join_alike(std::span<Half> halves) {
    std::sort(halves.begin(), halves.end());
    groups_.clear();
    for (std::size_t begin = 0, end; begin < halves.size(); begin = end) {
      for (end = begin; end < halves.size() && halves[end].steps == halves[begin].steps; ++end) {}
      groups_.push_back({begin, static_cast<Count>(end - begin)});
    }
    for (std::size_t one = 0; one < groups_.size(); ++one) {
      const auto& [first, many] = groups_[one];
      if (many > 1) add(halves[first], halves[first], 4, many * (many - 1) / 2);
      for (std::size_t other = 0; other < one; ++other) add(halves[first], halves[groups_[other].first], 4, many * groups_[other].second);
    }
    spend(3, static_cast<Count>(groups_.size() * (groups_.size() + 1) / 2));
    std::sort(halves.begin(), halves.end(), [](const Half& a, const Half& b) { return std::pair(a.inner, a.steps) < std::pair(b.inner, b.steps); });
    for (std::size_t begin = 0, end; begin < halves.size(); begin = end) {
      for (end = begin; end < halves.size() && halves[end].inner == halves[begin].inner; ++end)
        for (std::size_t other = begin; other < end; ++other) add(halves[end], halves[other], 4, -1);
      spend(3, static_cast<Count>((end - begin) * (end - begin - 1) / 2));
    }
  }

  // Out along one half and back along the other; the first step of the other closes the cycle.
  void add(const Half& one, const Half& other, int edges, Count cycles) {
    PathType type = 0;
    const int out = (edges + 1) / 2, back = edges / 2;
    for (int step = 0; step < out; ++step) type |= packing_.step(one.steps[step], step);
    for (int step = 1; step < back; ++step) type |= packing_.step(inverse(other.steps[back - step]), out + step - 1);
    Tally& tally = tallies_[edges - 1][other.steps[0]];
    const std::size_t before = tally.size();
    tally.add(type, cycles);
    if (tally.size() != before) spent_.kinds(edges - 1, ++kinds_[edges - 1]);
  }

  const Ranked& all_;
  const Packing packing_;
  const int max_length_;
  Spent& spent_;
  std::vector<std::vector<Tally>> tallies_;  // by the length of paths, and the relation that closes the cycle
  std::vector<Count> kinds_;
  std::array<Count, longest_cycle> unspoken_{};
  std::vector<Layer<Half>> layers_;
  std::vector<std::pair<std::size_t, Count>> groups_;
  Id top_ = -1;
};

// The edges themselves: everyone is led to its answers by the relation that is asked for.
void add_edges(const Graph& graph, Ids tops, const Packing& packing, std::vector<Hits>& rows) {
  const Adjacency& all = graph.adjacency();
  std::vector<Count> edges(graph.relations.size());
  for (Id top : tops)
    for (std::int64_t edge = all.offsets[top]; edge < all.offsets[top + 1]; ++edge) edges[all.relations[edge]] += all.tails[edge] != top;
  for (std::size_t relation = 0; relation < edges.size(); ++relation)
    if (edges[relation] > 0) rows.push_back({-1, static_cast<Id>(relation), packing.step(static_cast<Id>(relation), 0), edges[relation]});
}

}  // namespace

Ranked::Ranked(const Graph& graph, Ids rank) : order(graph.entities) {
  const Adjacency& all = graph.adjacency();
  std::vector<Id> entities(graph.entities);
  std::iota(entities.begin(), entities.end(), 0);
  const auto degree = [&](Id entity) { return all.offsets[entity + 1] - all.offsets[entity]; };
  std::sort(entities.begin(), entities.end(), [&](Id a, Id b) { return std::pair(degree(a), rank[a]) < std::pair(degree(b), rank[b]); });
  offsets.push_back(0);
  for (Id entity : entities) {
    order[entity] = static_cast<Id>(offsets.size()) - 1;
    offsets.push_back(offsets.back() + degree(entity));
  }
  relations.resize(all.relations.size());
  tails.resize(all.tails.size());
  std::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1);
  for (Id entity : entities)  // in their new order, so that every list gets its entries in that order
    for (std::int64_t edge = all.offsets[entity]; edge < all.offsets[entity + 1]; ++edge) {
      const auto place = static_cast<std::size_t>(next[order[all.tails[edge]]]++);
      relations[place] = inverse(all.relations[edge]);
      tails[place] = order[entity];
    }
}

Counted cycles(const Graph& graph, Ids tops, Ids rank, int max_length, const Limit& limit, int threads, Progress progress) {
  const Packing packing(max_length);
  const Ranked ranked(graph, rank);
  Spent spent(limit);
  constexpr std::size_t at_once = 16;
  const std::size_t tasks = (tops.size() + at_once - 1) / at_once;
  std::vector<Finder> finders(useful(threads, tasks), Finder(graph, ranked, max_length, spent));
  parallel(threads, tasks, [&](int thread, std::size_t task) {
    const std::size_t end = std::min(tops.size(), (task + 1) * at_once);
    for (std::size_t place = task * at_once; place < end; ++place) finders[thread].count(ranked.order[tops[place]], progress);
    progress.done(static_cast<std::int64_t>(end - task * at_once));
  });
  for (Finder& finder : finders) finder.finish();
  Counted counted;
  add_edges(graph, tops, packing, counted.rows);
  std::vector<Id> cycle;
  for (int length = 1; length <= max_length; ++length) {
    std::vector<Hits> found;  // a row for each kind of cycle
    for (Finder& finder : finders)
      for (std::size_t relation = 0; relation < graph.relations.size(); ++relation)
        finder.tallies(length)[relation].drain(
            [&](PathType type, Count many) { found.push_back({-1, static_cast<Id>(relation), type, many}); });
    found = merged(std::move(found));
    spent.kinds(length, static_cast<Count>(found.size()));
    counted.work.push_back(spent.affordable(length) ? spent.spent(length) : INT64_MAX);
    if (!spent.affordable(length)) continue;
    for (const Hits& kind : found) {
      if (kind.hits == 0) continue;
      cycle.clear();
      for (int place = 0; place < length; ++place) cycle.push_back(packing.relation(kind.type, place));
      cycle.push_back(inverse(kind.relation));
      for (int direction = 0; direction < (length % 2 == 0 ? 1 : 2); ++direction, turn(cycle))
        each_reading(cycle, packing, [&](Id asked, PathType type) { counted.rows.push_back({-1, asked, type, kind.hits}); });
    }
  }
  counted.rows = merged(std::move(counted.rows));
  return counted;
}

}  // namespace casegraph
