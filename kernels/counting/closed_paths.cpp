#include "counting/closed_paths.hpp"

#include <array>

#include "common/tally.hpp"
#include "counting/cycles.hpp"
#include "counting/half_paths.hpp"

namespace casegraph {
namespace {

// A loop-free path from the entity under count; its end is known by where it is kept.
struct Half {
  PathType type;
  std::array<Id, 2> inner;  // the entities between start and end; -1 where there are fewer
};

// The edges of an entity, all in one piece: for counting everywhere.
class Gathered {
 public:
  Gathered(const Graph& graph, Steps& steps) : all_(graph.adjacency(steps)) {}
  template <class Visit>
  void each(Id entity, Steps& steps, const Visit& visit) const {
    steps.take(1 + all_.offsets[entity + 1] - all_.offsets[entity]);
    for (std::int64_t edge = all_.offsets[entity]; edge < all_.offsets[entity + 1]; ++edge)
      visit(all_.relations[edge], all_.tails[edge]);
  }

 private:
  const Adjacency& all_;
};

// The same, looked up relation by relation: for counting around a few entities.
class LookedUp {
 public:
  LookedUp(const Graph& graph, Steps&) : graph_(graph) {}
  template <class Visit>
  void each(Id entity, Steps& steps, const Visit& visit) const {
    steps.take(std::ssize(graph_.relations));
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation)
      for (Id tail : graph_.tails(entity, static_cast<Id>(relation)))
        visit(static_cast<Id>(relation), tail);
  }

 private:
  const Graph& graph_;
};

// Whether anybody wants to know the entities that paths pass.
struct Unseen {
  void operator()(Id) const {}
};
class Seen {
 public:
  explicit Seen(std::size_t size) : seen_(size) {}
  void operator()(Id entity) {
    if (entity < 0 || seen_[entity]) return;
    seen_[entity] = true;
    entities.push_back(entity);
  }
  std::vector<Id> entities;

 private:
  std::vector<bool> seen_;
};

template <class Neighbours, class Passed>
class Counter {
 public:
  Counter(const Graph& graph, const std::vector<bool>& wanted, int max_length, int longest,
          Passed told, Progress& progress)
      : passed(std::move(told)),
        steps_(progress),
        neighbours_(graph, steps_),
        wanted_(wanted),
        packing_(max_length),
        longest_(longest),
        tallies_(graph.relations.size()),
        found_((longest + 1) / 2),
        layers_(found_.size(), Layer<Half>(graph.entities)) {}

  // Count the paths from `entity` to `answer` as if `relation` led there.
  void count_between(Id entity, Id relation, Id answer) {
    answers_.assign(1, {answer, relation});
    entity_ = entity;
    walk_forward();
    questions_ = answers_;
    backward(answer, -1, 0, 0);
  }

  void count(Id entity, Id cluster) {
    if (cluster != cluster_) flush();
    cluster_ = cluster;
    if (!find_answers(entity)) return;
    entity_ = entity;
    walk_forward();
    for (std::size_t begin = 0, end; begin < answers_.size(); begin = end) {
      for (end = begin; end < answers_.size() && answers_[end].first == answers_[begin].first;
           ++end) {
      }
      questions_ = std::span(answers_).subspan(begin, end - begin);
      backward(answers_[begin].first, -1, 0, 0);
    }
    for (auto& layer : layers_) layer.clear();
  }

  void flush() {
    for (std::size_t relation = 0; relation < tallies_.size(); ++relation)
      if (!tallies_[relation].empty())
        tallies_[relation].drain([&](PathType type, Count hits) {
          rows.push_back({cluster_, static_cast<Id>(relation), type, hits});
        });
  }

  std::vector<Hits> rows;
  Passed passed;  // told of every entity inside a path that was found

 private:
  // The answers of the entity with the relations they answer, grouped by answer.
  bool find_answers(Id entity) {
    answers_.clear();
    neighbours_.each(entity, steps_, [&](Id relation, Id tail) {
      if (tail != entity && (wanted_.empty() || wanted_[relation]))
        answers_.emplace_back(tail, relation);
    });
    std::sort(answers_.begin(), answers_.end());
    return !answers_.empty();
  }

  void walk_forward() {
    for (auto& found : found_) found.clear();
    forward(entity_, Half{0, {-1, -1}}, 0);
    for (std::size_t steps = 0; steps < layers_.size(); ++steps) {
      steps_.take(2 * std::ssize(found_[steps]));
      for (const auto& [end, half] : found_[steps]) layers_[steps].expect(end, 1);
      layers_[steps].arrange();
      for (const auto& [end, half] : found_[steps]) layers_[steps].add(end, half);
    }
  }

  void forward(Id at, const Half& half, int length) {
    neighbours_.each(at, steps_, [&](Id relation, Id next) {
      if (next == at || next == entity_ || next == half.inner[0] || next == half.inner[1]) return;
      Half longer{half.type | packing_.step(relation, length), half.inner};
      found_[length].emplace_back(next, longer);
      if (length + 1 == static_cast<int>(layers_.size()) || length == 2) return;
      longer.inner[length] = next;
      forward(next, longer, length + 1);
    });
  }

  // `at` is where the steps back from the answer stand, `between` the entity they passed, `type`
  // what they spell.
  void backward(Id at, Id between, PathType type, int length) {
    const Id answer = questions_.front().first;
    for (int ahead = std::max(length, 1); ahead <= length + 1 && ahead + length <= longest_;
         ++ahead)
      for (const Half& half : layers_[ahead - 1].at(at)) {
        if (length > 0 && (half.inner[0] == answer || half.inner[1] == answer)) continue;
        if (length > 1 && (half.inner[0] == between || half.inner[1] == between)) continue;
        steps_.take(std::ssize(questions_));
        const PathType whole = half.type | packing_.shift(type, ahead);
        passed(half.inner[0]);
        passed(half.inner[1]);
        if (length > 0) passed(at);
        if (length > 1) passed(between);
        for (const auto& [tail, relation] : questions_) tallies_[relation].add(whole, 1);
      }
    if (2 * (length + 1) > longest_) return;
    neighbours_.each(at, steps_, [&](Id relation, Id next) {
      if (next == entity_ || next == answer || next == at) return;
      backward(next, at, packing_.step(inverse(relation), 0) | packing_.shift(type, 1), length + 1);
    });
  }

  Steps steps_;
  const Neighbours neighbours_;
  const std::vector<bool>& wanted_;
  const Packing packing_;
  const int longest_;
  std::vector<Tally> tallies_;
  std::vector<std::vector<std::pair<Id, Half>>> found_;  // halves as they come, with their ends
  std::vector<Layer<Half>> layers_;
  std::vector<std::pair<Id, Id>> answers_;
  std::span<const std::pair<Id, Id>> questions_;
  Id entity_ = -1, cluster_ = -1;
};

}  // namespace

std::vector<Hits> closed_paths(const Graph& graph, Ids entities, Ids clusters,
                               const std::vector<bool>& wanted, int max_length, int longest,
                               int threads, Progress& progress) {
  if (longest == 0) return {};
  Steps steps(progress);
  std::vector<Id> order(entities.begin(), entities.end());
  std::sort(order.begin(), order.end(), [&](Id a, Id b) {
    steps.take();
    return std::pair(clusters[a], a) < std::pair(clusters[b], b);
  });
  constexpr std::size_t at_once = 16;
  const std::size_t tasks = (order.size() + at_once - 1) / at_once;
  std::vector<Counter<Gathered, Unseen>> counters(
      useful(threads, tasks),
      Counter<Gathered, Unseen>(graph, wanted, max_length, longest, {}, progress));
  parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
    const std::size_t end = std::min(order.size(), (task + 1) * at_once);
    for (std::size_t place = task * at_once; place < end; ++place)
      counters[thread].count(order[place], clusters[order[place]]);
    progress.done(static_cast<std::int64_t>(end - task * at_once));
  });
  std::vector<Hits> rows;
  for (auto& counter : counters) {
    counter.flush();
    rows.insert(rows.end(), counter.rows.begin(), counter.rows.end());
    std::vector<Hits>().swap(counter.rows);
  }
  return merged(std::move(rows), steps);
}

Cycles cycles_through(const Graph& graph, const Edge& edge, int max_length, int longest,
                      Progress& progress) {
  const auto& [head, relation, tail] = edge;
  if (head == tail || longest == 0) return {};
  Steps steps(progress);
  const std::vector<bool> all;
  Counter<LookedUp, Seen> counter(graph, all, max_length, longest, Seen(graph.entities), progress);
  counter.count_between(head, relation, tail);
  counter.flush();
  counter.passed(head);
  counter.passed(tail);
  const Packing packing(max_length);
  Cycles through;
  through.entities = std::move(counter.passed.entities);
  std::sort(through.entities.begin(), through.entities.end());
  std::vector<Hits>& rows = through.rows;
  for (const Hits& found : counter.rows) {
    steps.take();
    through.cycles += found.hits;
    const int length = packing.length(found.type);
    if (length == 1 &&
        packing.relation(found.type, 0) == relation) {  // the edge itself, asked from either end
      rows.push_back({-1, relation, packing.step(relation, 0), found.hits});
      rows.push_back({-1, inverse(relation), packing.step(inverse(relation), 0), found.hits});
      continue;
    }
    std::vector<Id> cycle;  // from head along the path to tail, and back over the edge
    for (int place = 0; place < length; ++place)
      cycle.push_back(packing.relation(found.type, place));
    cycle.push_back(inverse(relation));
    for (int direction = 0; direction < 2; ++direction, turn(cycle))
      each_reading(cycle, packing,
                   [&](Id asked, PathType type) { rows.push_back({-1, asked, type, found.hits}); });
  }
  rows = merged(std::move(rows), steps);
  return through;
}

}  // namespace casegraph
