// Closed paths from one entity after the other, by meeting in the middle: what counting by cluster,
// by relation and around an edge have in common.
//
// First halves are walked from the entity and stored by where they end; second halves are walked
// back from an answer, and each is joined with the first halves that end where it stands.
#pragma once

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "common/parallel.hpp"
#include "common/tally.hpp"
#include "counting/half_paths.hpp"
#include "counting/hit_rows.hpp"
#include "graph/graph.hpp"

namespace casegraph::meeting {

// A loop-free path from the entity at hand. Its end is known by where it is stored.
struct Half {
  PathType type;
  std::array<Id, 2> inner;  // the entities between start and end; -1 where there are fewer
};

inline bool passes(const Half& half, Id entity) {
  return half.inner[0] == entity || half.inner[1] == entity;
}

// The edges of an entity, all in one piece: for counting from many entities.
class GatheredEdges {
 public:
  GatheredEdges(const Graph& graph, Steps& steps) : all_(graph.adjacency(steps)) {}

  template <class Visit>
  void each(Id entity, Steps& steps, const Visit& visit) const {
    const std::int64_t begin = all_.offsets[entity], end = all_.offsets[entity + 1];
    steps.take(1 + end - begin);
    for (std::int64_t edge = begin; edge < end; ++edge)
      visit(all_.relations[edge], all_.tails[edge]);
  }

 private:
  const Adjacency& all_;
};

// Whether to note the entities that paths pass: not at all, or each once.
struct NoteNothing {
  void operator()(Id) const {}
};
class NoteEntities {
 public:
  explicit NoteEntities(std::size_t size) : is_noted_(size) {}

  void operator()(Id entity) {
    if (entity < 0 || is_noted_[entity])
      return;
    is_noted_[entity] = true;
    entities.push_back(entity);
  }

  std::vector<Id> entities;

 private:
  std::vector<bool> is_noted_;
};

// Thrown where an entity has more first halves than are to be held in memory.
struct TooManyHalves : std::length_error {
  TooManyHalves() : std::length_error("an entity has more half paths than fit into memory") {}
};

// Counts closed paths from one entity after the other.
template <class Neighbours, class Note>
class alignas(own_lines) ClosedPathCounter {
 public:
  ClosedPathCounter(const Graph& graph, const std::vector<bool>& wanted, int max_length,
                    int longest, Note note, Progress& progress,
                    std::size_t most_halves = UINT32_MAX)
      : note_passed(std::move(note)),
        steps_(progress),
        neighbours_(graph, steps_),
        wanted_(wanted),
        packing_(max_length),
        longest_(longest),
        most_halves_(most_halves),
        tallies_(graph.relations.size()),
        found_((longest + 1) / 2),
        halves_(found_.size(), HalfPaths<Half>(graph.entities)) {}

  // Count the paths from `entity` to `answer` as if `relation` led there. To be called once.
  void count_between(Id entity, Id relation, Id answer) {
    answers_.assign(1, {answer, relation});
    entity_ = entity;
    walk_forward();
    questions_ = answers_;
    walk_back({answer, -1, 0, 0});
  }

  // Walk from an entity; then `count_answer` for some of its answers, and `leave` it.
  void start_from(Id entity) {
    entity_ = entity;
    walk_forward();
  }

  // Count the paths from there to one answer, as if `relation` led there.
  void count_answer(Id relation, Id answer) {
    answers_.assign(1, {answer, relation});
    questions_ = answers_;
    walk_back({answer, -1, 0, 0});
  }

  void leave() {
    for (auto& halves : halves_)
      halves.clear();
  }

  const Neighbours& neighbours() const { return neighbours_; }

  // How many path types were counted for a relation.
  std::size_t kinds(Id relation) const { return tallies_[relation].size(); }

  // Count the paths from an entity to all of its answers.
  void count(Id entity, Id cluster) {
    if (cluster != cluster_)
      flush();
    cluster_ = cluster;
    entity_ = entity;
    if (!find_answers())
      return;
    walk_forward();
    for (std::size_t begin = 0, end; begin < answers_.size(); begin = end) {
      const Id answer = answers_[begin].first;
      for (end = begin; end < answers_.size() && answers_[end].first == answer; ++end) {
      }
      questions_ = std::span(answers_).subspan(begin, end - begin);
      walk_back({answer, -1, 0, 0});
    }
    leave();
  }

  // Move the counts of the cluster at hand to `rows`.
  void flush() {
    for (std::size_t relation = 0; relation < tallies_.size(); ++relation) {
      if (tallies_[relation].empty())
        continue;
      tallies_[relation].drain([&](PathType type, Count hits) {
        rows.push_back({cluster_, static_cast<Id>(relation), type, hits});
      });
    }
  }

  Count paths = 0;  // that were found
  std::vector<Hits> rows;
  Note note_passed;  // called for every entity inside a path that was found

 private:
  // Steps back from an answer.
  struct Back {
    Id at;          // where they stand
    Id between;     // the entity between there and the answer, if there are two steps
    PathType type;  // the steps, read towards the answer
    int length;
  };

  // The answers of the entity with the relations that they answer, grouped by answer.
  bool find_answers() {
    answers_.clear();
    neighbours_.each(entity_, steps_, [&](Id relation, Id tail) {
      const bool is_wanted = wanted_.empty() || wanted_[relation];
      if (tail != entity_ && is_wanted)
        answers_.emplace_back(tail, relation);
    });
    std::sort(answers_.begin(), answers_.end());
    return !answers_.empty();
  }

  // Store all first halves, by length and end.
  void walk_forward() {
    for (auto& found : found_)
      found.clear();
    walk_on(entity_, Half{0, {-1, -1}}, 0);
    for (std::size_t length = 0; length < halves_.size(); ++length) {
      steps_.take(2 * std::ssize(found_[length]));
      for (const auto& [end, half] : found_[length])
        halves_[length].expect(end, 1);
      halves_[length].arrange();
      for (const auto& [end, half] : found_[length])
        halves_[length].add(end, half);
    }
  }

  void walk_on(Id at, const Half& half, int length) {
    neighbours_.each(at, steps_, [&](Id relation, Id next) {
      if (next == at || next == entity_ || passes(half, next))
        return;
      Half longer{half.type | packing_.step(relation, length), half.inner};
      if (found_[length].size() == most_halves_)
        throw TooManyHalves{};
      found_[length].emplace_back(next, longer);
      const bool is_longest = length + 1 == static_cast<int>(halves_.size()) || length == 2;
      if (is_longest)
        return;
      longer.inner[length] = next;
      walk_on(next, longer, length + 1);
    });
  }

  // Join the steps back with the first halves that end there, then take one more step back.
  void walk_back(const Back& back) {
    const Id answer = questions_.front().first;
    // First halves are as long as what comes back, or one step longer.
    for (int ahead = std::max(back.length, 1); ahead <= back.length + 1; ++ahead) {
      if (ahead + back.length > longest_)
        break;
      for (const Half& half : halves_[ahead - 1].at(back.at)) {
        if (back.length > 0 && passes(half, answer))
          continue;
        if (back.length > 1 && passes(half, back.between))
          continue;
        add_path(half, ahead, back);
      }
    }
    if (2 * (back.length + 1) > longest_)
      return;
    const bool is_last = 2 * (back.length + 2) > longest_;
    neighbours_.each(back.at, steps_, [&](Id relation, Id next) {
      if (next == entity_ || next == answer || next == back.at)
        return;
      if (is_last && !meets_a_half(next, back.length + 1))
        return;
      const PathType first = packing_.step(inverse(relation), 0);
      const PathType type = first | packing_.shift(back.type, 1);
      walk_back({next, back.at, type, back.length + 1});
    });
  }

  // Whether a first half ends where a number of steps back stand. Most of them meet none.
  bool meets_a_half(Id at, int steps_back) const {
    for (int ahead = steps_back; ahead <= steps_back + 1 && ahead + steps_back <= longest_; ++ahead)
      if (!halves_[ahead - 1].at(at).empty())
        return true;
    return false;
  }

  void add_path(const Half& half, int ahead, const Back& back) {
    steps_.take(std::ssize(questions_));
    ++paths;
    const PathType type = half.type | packing_.shift(back.type, ahead);
    note_passed(half.inner[0]);
    note_passed(half.inner[1]);
    if (back.length > 0)
      note_passed(back.at);
    if (back.length > 1)
      note_passed(back.between);
    for (const auto& [tail, relation] : questions_)
      tallies_[relation].add(type, 1);
  }

  Steps steps_;
  Neighbours neighbours_;
  const std::vector<bool>& wanted_;
  const Packing packing_;
  const int longest_;
  const std::size_t most_halves_;                        // of one length, from one entity
  std::vector<Tally> tallies_;                           // by relation
  std::vector<std::vector<std::pair<Id, Half>>> found_;  // first halves with their ends, by length
  std::vector<HalfPaths<Half>> halves_;                  // the same, grouped by end
  std::vector<std::pair<Id, Id>> answers_;               // (answer, relation), sorted
  std::span<const std::pair<Id, Id>> questions_;         // those of one answer
  Id entity_ = -1;
  Id cluster_ = -1;
};

}  // namespace casegraph::meeting
