#include "closed_paths.hpp"

#include <array>
#include <tuple>

namespace casegraph {
namespace {

// Path type -> count, by open addressing; path type 0 is no path type and marks a free place.
class Tally {
 public:
  void add(PathType type, Count more) {
    if (keys_.size() < 2 * (used_ + 1)) grow();
    std::size_t place = slot(type);
    while (keys_[place] != type && keys_[place] != 0) place = (place + 1) & (keys_.size() - 1);
    if (keys_[place] == 0) {
      keys_[place] = type;
      ++used_;
    }
    counts_[place] += more;
  }
  template <class Visit>
  void drain(const Visit& visit) {
    for (std::size_t place = 0; place < keys_.size(); ++place)
      if (keys_[place] != 0) visit(keys_[place], counts_[place]);
    keys_.clear();
    counts_.clear();
    used_ = 0;
  }
  bool empty() const { return used_ == 0; }

 private:
  std::size_t slot(PathType type) const {
    return (static_cast<std::uint64_t>(type) * 0x9E3779B97F4A7C15u >> 20) & (keys_.size() - 1);
  }
  void grow() {
    std::vector<PathType> keys(std::max<std::size_t>(16, 2 * keys_.size()));
    std::vector<Count> counts(keys.size());
    keys.swap(keys_);
    counts.swap(counts_);
    used_ = 0;
    for (std::size_t place = 0; place < keys.size(); ++place)
      if (keys[place] != 0) add(keys[place], counts[place]);
  }

  std::vector<PathType> keys_;
  std::vector<Count> counts_;
  std::size_t used_ = 0;
};

// A loop-free path from the entity under count; its end is known by where it is kept.
struct Half {
  PathType type;
  std::array<Id, 2> inner;  // the entities between start and end; -1 where there are fewer
};

// All such paths of one length, grouped by where they end.
class Layer {
 public:
  explicit Layer(std::size_t entities) : begin_(entities), size_(entities) {}

  void add(Id end, const Half& half) {
    found_.emplace_back(end, half);
    if (size_[end]++ == 0) ends_.push_back(end);
  }
  void group() {
    std::uint32_t place = 0;
    for (Id end : ends_) {
      begin_[end] = place;
      place += size_[end];
      size_[end] = 0;
    }
    grouped_.resize(place);
    for (const auto& [end, half] : found_)
      grouped_[begin_[end] + size_[end]++] = half;
  }
  void clear() {
    for (Id end : ends_) size_[end] = 0;
    ends_.clear();
    found_.clear();
  }
  std::span<const Half> at(Id end) const {
    return {grouped_.data() + begin_[end], size_[end]};
  }

 private:
  std::vector<std::pair<Id, Half>> found_;
  std::vector<Half> grouped_;
  std::vector<Id> ends_;
  std::vector<std::uint32_t> begin_, size_;
};

class Counter {
 public:
  Counter(const Adjacency& adjacency, std::size_t relations, const std::vector<bool>& wanted, int max_length)
      : adjacency_(adjacency), wanted_(wanted), packing_(max_length), max_length_(max_length), tallies_(relations),
        layers_(static_cast<std::size_t>((max_length + 1) / 2), Layer(adjacency.offsets.size() - 1)) {}

  void count(Id entity, Id cluster) {
    if (cluster != cluster_) flush();
    cluster_ = cluster;
    if (!find_answers(entity)) return;
    entity_ = entity;
    forward(entity, Half{0, {-1, -1}}, 0);
    for (Layer& layer : layers_) layer.group();
    for (std::size_t begin = 0, end; begin < answers_.size(); begin = end) {
      for (end = begin; end < answers_.size() && answers_[end].first == answers_[begin].first; ++end) {}
      questions_ = std::span(answers_).subspan(begin, end - begin);
      backward(answers_[begin].first, -1, 0, 0);
    }
    for (Layer& layer : layers_) layer.clear();
  }

  void flush() {
    for (std::size_t relation = 0; relation < tallies_.size(); ++relation)
      if (!tallies_[relation].empty())
        tallies_[relation].drain([&](PathType type, Count hits) {
          rows.push_back({cluster_, static_cast<Id>(relation), type, hits});
        });
  }

  std::vector<Hits> rows;

 private:
  std::size_t first(Id entity) const { return static_cast<std::size_t>(adjacency_.offsets[entity]); }
  std::size_t last(Id entity) const { return first(entity + 1); }

  // The answers of the entity with the relations they answer, grouped by answer.
  bool find_answers(Id entity) {
    answers_.clear();
    for (std::size_t edge = first(entity); edge < last(entity); ++edge)
      if (adjacency_.tails[edge] != entity && (wanted_.empty() || wanted_[adjacency_.relations[edge]]))
        answers_.emplace_back(adjacency_.tails[edge], adjacency_.relations[edge]);
    std::sort(answers_.begin(), answers_.end());
    return !answers_.empty();
  }

  void forward(Id at, const Half& half, int length) {
    for (std::size_t edge = first(at); edge < last(at); ++edge) {
      const Id next = adjacency_.tails[edge];
      if (next == at || next == entity_ || next == half.inner[0] || next == half.inner[1]) continue;
      Half longer{half.type | packing_.step(adjacency_.relations[edge], length), half.inner};
      layers_[length].add(next, longer);
      if (length + 1 == static_cast<int>(layers_.size()) || length == 2) continue;
      longer.inner[length] = next;
      forward(next, longer, length + 1);
    }
  }

  // `at` is where the steps back from the answer stand, `between` the entity they passed, `type` what they spell.
  void backward(Id at, Id between, PathType type, int length) {
    const Id answer = questions_.front().first;
    for (int ahead = std::max(length, 1); ahead <= length + 1 && ahead + length <= max_length_; ++ahead)
      for (const Half& half : layers_[ahead - 1].at(at)) {
        if (length > 0 && (half.inner[0] == answer || half.inner[1] == answer)) continue;
        if (length > 1 && (half.inner[0] == between || half.inner[1] == between)) continue;
        const PathType whole = half.type | packing_.shift(type, ahead);
        for (const auto& [tail, relation] : questions_) tallies_[relation].add(whole, 1);
      }
    if (2 * (length + 1) > max_length_) return;
    for (std::size_t edge = first(at); edge < last(at); ++edge) {
      const Id next = adjacency_.tails[edge];
      if (next == entity_ || next == answer || next == at) continue;
      const PathType step = packing_.step(inverse(adjacency_.relations[edge]), 0);
      backward(next, at, step | packing_.shift(type, 1), length + 1);
    }
  }

  const Adjacency& adjacency_;
  const std::vector<bool>& wanted_;
  const Packing packing_;
  const int max_length_;
  std::vector<Tally> tallies_;
  std::vector<Layer> layers_;
  std::vector<std::pair<Id, Id>> answers_;
  std::span<const std::pair<Id, Id>> questions_;
  Id entity_ = -1, cluster_ = -1;
};

std::vector<Hits> merged(std::vector<Counter>& counters) {
  std::vector<Hits> rows;
  for (Counter& counter : counters) {
    counter.flush();
    rows.insert(rows.end(), counter.rows.begin(), counter.rows.end());
    std::vector<Hits>().swap(counter.rows);
  }
  const auto key = [](const Hits& row) { return std::tie(row.cluster, row.relation, row.type); };
  std::sort(rows.begin(), rows.end(), [&](const Hits& a, const Hits& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (const Hits& row : rows)
    if (kept > 0 && key(rows[kept - 1]) == key(row))
      rows[kept - 1].hits += row.hits;
    else
      rows[kept++] = row;
  rows.resize(kept);
  return rows;
}

}  // namespace

std::vector<Hits> closed_paths(const Graph& graph, Ids entities, Ids clusters, const std::vector<bool>& wanted,
                               int max_length, int threads, Progress progress) {
  const Adjacency& adjacency = graph.adjacency();
  std::vector<Id> order(entities.begin(), entities.end());
  std::sort(order.begin(), order.end(), [&](Id a, Id b) {
    return std::pair(clusters[a], a) < std::pair(clusters[b], b);
  });
  std::vector<Counter> counters(static_cast<std::size_t>(threads), Counter(adjacency, graph.relations.size(), wanted, max_length));
  constexpr std::size_t at_once = 16;
  parallel(threads, (order.size() + at_once - 1) / at_once, [&](int thread, std::size_t task) {
    const std::size_t end = std::min(order.size(), (task + 1) * at_once);
    for (std::size_t place = task * at_once; place < end; ++place)
      counters[thread].count(order[place], clusters[order[place]]);
    progress.done(static_cast<std::int64_t>(end - task * at_once));
  });
  return merged(counters);
}

}  // namespace casegraph
