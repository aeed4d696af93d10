#include "counting/walks.hpp"

#include <numeric>

namespace casegraph {
namespace {

Count sum(Count a, Count b) {
  return a > too_many - b ? too_many : a + b;  // both are non-negative
}

// The number of walks of one suffix from every entity, for the suffixes of the path type at hand,
// longest last.
class Walker {
 public:
  Walker(const Graph& graph, int max_length, Progress& progress)
      : graph_(graph),
        packing_(max_length),
        steps_taken_(progress),
        walks_(static_cast<std::size_t>(max_length) + 1,
               std::vector<Count>(static_cast<std::size_t>(graph.entities))) {
    std::fill(walks_[0].begin(), walks_[0].end(), 1);
  }

  // Walks of `type` from every entity.
  const std::vector<Count>& of(PathType type) {
    const int length = packing_.length(type);
    std::size_t shared = 0;
    while (shared < steps_.size() && shared < static_cast<std::size_t>(length) &&
           steps_[shared] == packing_.relation(type, length - 1 - static_cast<int>(shared)))
      ++shared;
    while (steps_.size() > shared) {
      for (Id head : graph_.edges(steps_.back()).heads) walks_[steps_.size()][head] = 0;
      steps_.pop_back();
    }
    for (std::size_t step = shared; step < static_cast<std::size_t>(length); ++step)
      prepend(packing_.relation(type, length - 1 - static_cast<int>(step)));
    return walks_[steps_.size()];
  }

 private:
  void prepend(Id relation) {
    const std::vector<Count>& after = walks_[steps_.size()];
    std::vector<Count>& before = walks_[steps_.size() + 1];
    const Edges& edges = graph_.edges(relation);
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      Count total = 0;
      steps_taken_.take(1 + edges.offsets[row + 1] - edges.offsets[row]);
      for (Id place = edges.offsets[row]; place < edges.offsets[row + 1]; ++place)
        total = sum(total, after[edges.tails[place]]);
      before[edges.heads[row]] = total;
    }
    steps_.push_back(relation);
  }

  const Graph& graph_;
  const Packing packing_;
  Steps steps_taken_;
  std::vector<Id> steps_;  // from the last step of the path type to the first
  std::vector<std::vector<Count>> walks_;
};

// Clusters, numbered from one on; 0 is everyone. Their ids may be large, and would then make large
// arrays.
class Numbering {
 public:
  explicit Numbering(Ids clusters) : known_(clusters.begin(), clusters.end()) {
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    if (!known_.empty() && known_.front() < 0) known_.erase(known_.begin());
  }
  std::size_t size() const { return known_.size() + 1; }
  // The number of a cluster; `size()` for one that nobody is in.
  std::size_t operator()(Id cluster) const {
    if (cluster < 0) return 0;
    const auto at = std::lower_bound(known_.begin(), known_.end(), cluster);
    return at != known_.end() && *at == cluster ? static_cast<std::size_t>(at - known_.begin()) + 1
                                                : size();
  }

 private:
  std::vector<Id> known_;  // sorted
};

PathType reversed(PathType type, const Packing& packing, int max_length) {
  PathType other = 0;
  const int length = packing.length(type);
  for (int place = 0; place < length; ++place)
    other |= packing.step(packing.relation(type, length - 1 - place), max_length - 1 - place);
  return other;  // compares by last step first
}

}  // namespace

std::vector<Count> walks(const Graph& graph, std::span<const Question> questions, Ids clusters,
                         int max_length, int threads, Progress& progress) {
  const Packing packing(max_length);
  std::vector<PathType> keys(questions.size());
  for (std::size_t at = 0; at < keys.size(); ++at)
    keys[at] = reversed(questions[at].type, packing, max_length);
  std::vector<std::size_t> order(questions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto group = [&](std::size_t at) { return std::pair(keys[at], questions[at].relation); };
  Steps steps(progress);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    steps.take();
    return std::pair(group(a), a) < std::pair(group(b), b);
  });
  std::vector<std::size_t> starts;  // of the questions that differ in their cluster only
  for (std::size_t at = 0; at < order.size(); ++at)
    if (at == 0 || group(order[at]) != group(order[at - 1])) starts.push_back(at);
  starts.push_back(order.size());

  std::vector<Count> tries(questions.size());
  const Numbering number(clusters);
  std::vector<std::size_t> numbers;  // of the cluster of each entity
  numbers.reserve(clusters.size());
  for (Id cluster : clusters) numbers.push_back(number(cluster));
  constexpr std::size_t at_once = 256;
  const std::size_t tasks = (starts.size() - 1 + at_once - 1) / at_once;
  std::vector<Walker> walkers(useful(threads, tasks), Walker(graph, max_length, progress));
  std::vector<std::vector<Count>> sums(walkers.size(), std::vector<Count>(number.size() + 1));
  parallel(threads, tasks, progress, [&](int thread, std::size_t task) {
    std::vector<Count>& sum_of =
        sums[thread];  // by number; what comes last is that of clusters that nobody is in
    Steps taken(progress);
    const std::size_t end = std::min(starts.size() - 1, (task + 1) * at_once);
    for (std::size_t at = task * at_once; at < end; ++at) {
      const Question& question = questions[order[starts[at]]];
      const std::vector<Count>& from = walkers[thread].of(question.type);
      const Ids heads = graph.edges(question.relation).heads;
      taken.take(std::ssize(heads));
      for (Id head : heads) {
        sum_of[0] = sum(sum_of[0], from[head]);
        if (numbers[head] > 0) sum_of[numbers[head]] = sum(sum_of[numbers[head]], from[head]);
      }
      for (std::size_t place = starts[at]; place < starts[at + 1]; ++place)
        tries[order[place]] = sum_of[number(questions[order[place]].cluster)];
      sum_of[0] = 0;
      for (Id head : heads) sum_of[numbers[head]] = 0;
    }
    progress.done(static_cast<std::int64_t>(starts[end] - starts[task * at_once]));
  });
  return tries;
}

}  // namespace casegraph
