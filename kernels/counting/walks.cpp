#include "counting/walks.hpp"

#include <numeric>

namespace casegraph {
namespace {

Count sum_that_fits(Count a, Count b) {
  return a > too_many - b ? too_many : a + b;  // both are non-negative
}

// The number of walks of a path type from every entity, for one path type after the other.
//
// It keeps the products of all endings of the last path type, and reuses those that the next
// shares.
class alignas(own_lines) Walker {
 public:
  Walker(const Graph& graph, int max_length, Progress& progress)
      : graph_(graph),
        packing_(max_length),
        steps_taken_(progress),
        walks_(static_cast<std::size_t>(max_length) + 1,
               std::vector<Count>(static_cast<std::size_t>(graph.entities))) {
    std::fill(walks_[0].begin(), walks_[0].end(), 1);
  }

  const std::vector<Count>& of(PathType type) {
    const int length = packing_.length(type);
    const auto from_last = [&](std::size_t step) {
      return packing_.relation(type, length - 1 - static_cast<int>(step));
    };
    std::size_t shared = 0;
    while (shared < ending_.size() && shared < static_cast<std::size_t>(length) &&
           ending_[shared] == from_last(shared))
      ++shared;
    while (ending_.size() > shared)
      drop_first_step();
    for (std::size_t step = shared; step < static_cast<std::size_t>(length); ++step)
      prepend(from_last(step));
    return walks_[ending_.size()];
  }

 private:
  void drop_first_step() {
    for (Id head : graph_.edges(ending_.back()).heads)
      walks_[ending_.size()][head] = 0;
    ending_.pop_back();
  }

  // Multiply by the matrix of a relation.
  void prepend(Id relation) {
    const std::vector<Count>& after = walks_[ending_.size()];
    std::vector<Count>& before = walks_[ending_.size() + 1];
    const Edges& edges = graph_.edges(relation);
    for (std::size_t row = 0; row < edges.heads.size(); ++row) {
      Count total = 0;
      steps_taken_.take(1 + edges.offsets[row + 1] - edges.offsets[row]);
      for (Id place = edges.offsets[row]; place < edges.offsets[row + 1]; ++place)
        total = sum_that_fits(total, after[edges.tails[place]]);
      before[edges.heads[row]] = total;
    }
    ending_.push_back(relation);
  }

  const Graph& graph_;
  const Packing packing_;
  Steps steps_taken_;
  std::vector<Id> ending_;                 // from the last step of the path type to the first
  std::vector<std::vector<Count>> walks_;  // by steps of the ending: walks from each entity
};

// Clusters numbered densely from 1 on, since their ids may be large; 0 stands for all entities.
class ClusterNumbers {
 public:
  explicit ClusterNumbers(Ids clusters) : known_(clusters.begin(), clusters.end()) {
    std::sort(known_.begin(), known_.end());
    known_.erase(std::unique(known_.begin(), known_.end()), known_.end());
    if (!known_.empty() && known_.front() < 0)
      known_.erase(known_.begin());
  }

  std::size_t size() const { return known_.size() + 1; }

  // The number of a cluster; `size()` for a cluster without entities.
  std::size_t operator()(Id cluster) const {
    if (cluster < 0)
      return 0;
    const auto at = std::lower_bound(known_.begin(), known_.end(), cluster);
    const bool is_known = at != known_.end() && *at == cluster;
    return is_known ? static_cast<std::size_t>(at - known_.begin()) + 1 : size();
  }

 private:
  std::vector<Id> known_;  // sorted
};

// The steps in an integer that compares by the last step first.
PathType last_step_highest(PathType type, const Packing& packing, int max_length) {
  PathType key = 0;
  const int length = packing.length(type);
  for (int place = 0; place < length; ++place)
    key |= packing.step(packing.relation(type, length - 1 - place), max_length - 1 - place);
  return key;
}

// Questions sorted so that common endings come together; those of one group differ only in their
// cluster.
struct GroupedQuestions {
  GroupedQuestions(std::span<const WalkQuestion> questions, int max_length, Steps& steps)
      : order(questions.size()) {
    const Packing packing(max_length);
    std::vector<PathType> keys(questions.size());
    for (std::size_t at = 0; at < keys.size(); ++at)
      keys[at] = last_step_highest(questions[at].type, packing, max_length);
    const auto group = [&](std::size_t at) { return std::pair(keys[at], questions[at].relation); };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      steps.take();
      return std::pair(group(a), a) < std::pair(group(b), b);
    });
    for (std::size_t at = 0; at < order.size(); ++at)
      if (at == 0 || group(order[at]) != group(order[at - 1]))
        starts.push_back(at);
    starts.push_back(order.size());
  }

  std::size_t groups() const { return starts.size() - 1; }

  std::vector<std::size_t> order;   // places of questions
  std::vector<std::size_t> starts;  // of groups in the order, and the end
};

}  // namespace

std::vector<Count> walks(const Graph& graph, std::span<const WalkQuestion> questions, Ids clusters,
                         int max_length, int threads, Progress& progress) {
  Steps steps(progress);
  const GroupedQuestions grouped(questions, max_length, steps);
  const ClusterNumbers number_of(clusters);
  std::vector<std::size_t> numbers;  // by entity: the number of its cluster
  numbers.reserve(clusters.size());
  for (Id cluster : clusters)
    numbers.push_back(number_of(cluster));

  // Chunks are large: a walker shares endings only with the groups just before in its own chunk.
  const Chunks chunks(grouped.groups(), 256);
  std::vector<Walker> walkers(chunks.workers(threads), Walker(graph, max_length, progress));
  // By number of the cluster; the last sum is that of clusters without entities, always 0.
  std::vector<std::vector<Count>> all_sums(walkers.size(),
                                           std::vector<Count>(number_of.size() + 1));
  std::vector<Count> tries(questions.size());

  chunks.each(threads, progress, [&](std::size_t thread, std::size_t begin, std::size_t end) {
    std::vector<Count>& sums = all_sums[thread];
    Steps taken(progress);
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t first = grouped.starts[group], after = grouped.starts[group + 1];
      const WalkQuestion& question = questions[grouped.order[first]];
      const std::vector<Count>& walks_from = walkers[thread].of(question.type);
      const Ids heads = graph.edges(question.relation).heads;
      taken.take(std::ssize(heads));
      for (Id head : heads) {
        const std::size_t number = numbers[head];
        sums[0] = sum_that_fits(sums[0], walks_from[head]);
        if (number > 0)
          sums[number] = sum_that_fits(sums[number], walks_from[head]);
      }
      for (std::size_t place = first; place < after; ++place) {
        const std::size_t which = grouped.order[place];
        tries[which] = sums[number_of(questions[which].cluster)];
      }
      sums[0] = 0;
      for (Id head : heads)
        sums[numbers[head]] = 0;
    }
    progress.done(static_cast<std::int64_t>(grouped.starts[end] - grouped.starts[begin]));
  });
  return tries;
}

}  // namespace casegraph
