#include "answers.hpp"

#include <cmath>
#include <deque>

#include "frontier.hpp"
#include "trie.hpp"

namespace casegraph {
namespace {

struct Candidate {
  Id entity;
  std::int32_t found_by;          // the place in the list of the first path type that led here
  Count paths;                    // how many of its walks did
  double score;
  std::array<double, 8> pieces;   // the best pieces of evidence, best first
  int kept;
};

// What several pieces of evidence are worth together.
class Combination {
 public:
  explicit Combination(const Manner& manner) : sum_(manner.sum), discount_(manner.discount), best_(std::min(manner.best, 8)) {}

  void add(Candidate& candidate, double piece) const {
    if (sum_) {
      candidate.score += piece;
      return;
    }
    if (candidate.kept == best_ && piece <= candidate.pieces[best_ - 1]) return;
    int place = candidate.kept < best_ ? candidate.kept++ : best_ - 1;
    for (; place > 0 && candidate.pieces[place - 1] < piece; --place) candidate.pieces[place] = candidate.pieces[place - 1];
    candidate.pieces[place] = piece;
  }
  void finish(Candidate& candidate) const {
    if (sum_) return;
    double weight = 1;
    for (int place = 0; place < candidate.kept; ++place, weight *= discount_)
      candidate.score -= weight * std::log1p(-candidate.pieces[place]);
  }

 private:
  const bool sum_;
  const double discount_;
  const int best_;
};

class Answerer {
 public:
  Answerer(const Graph& graph, const Queries& queries, const Lists& lists, const Trie& trie, const Manner& manner)
      : graph_(graph), queries_(queries), lists_(lists), trie_(trie), manner_(manner), combination_(manner),
        places_(graph.entities), stamps_(graph.entities), tally_(graph.entities), walks_(graph.entities),
        visited_(trie.nodes.size()), frontier_of_(trie.nodes.size()) {}

  // Gather and combine everything that speaks for any answer of the query.
  const std::vector<Candidate>& ask(std::size_t query) {
    entity_ = queries_.entities[query];
    left_out_ = queries_.left_out[query];
    candidates_.clear();
    places_.renew();
    if (entity_ < 0) return candidates_;
    walk(queries_.lists[query]);
    if (manner_.precedents) {
      share();
      follow_habit();
    }
    for (Candidate& candidate : candidates_) combination_.finish(candidate);
    return candidates_;
  }

  void record(Id answer) { recorded_ = answer; }
  const Candidate* find(Id entity) const {
    return entity >= 0 && entity < graph_.entities && places_.has(entity) ? &candidates_[places_.slot(entity)] : nullptr;
  }

  std::vector<Evidence> record_;
  Count followed = 0;

 private:
  void add(Id answer, const Evidence& piece, Count paths = 0) {
    if (!places_.has(answer)) {
      places_.set(answer, candidates_.size());
      candidates_.push_back({answer, piece.walked, paths, 0, {}, 0});
    }
    combination_.add(candidates_[places_.slot(answer)], piece.value);
    if (answer == recorded_) record_.push_back(piece);
  }

  void walk(Id list) {
    for (std::size_t used = 0; used < in_use_; ++used) pool_[used].clear();
    in_use_ = 0;
    if (++epoch_ == 0) {
      std::fill(visited_.begin(), visited_.end(), 0);
      epoch_ = 1;
    }
    int walked = 0;
    for (std::int64_t at = lists_.offsets[list]; at < lists_.offsets[list + 1]; ++at) {
      const std::int32_t node = trie_.node_of_type[lists_.walked[at]];
      const Frontier* reached = frontier(node);
      if (reached == nullptr) continue;
      if (!manner_.loop_free) count_walks(lists_.types[lists_.walked[at]]);
      for (Id end : reached->ends)
        add(end, {Evidence::path, -1, -1, static_cast<std::int32_t>(at - lists_.offsets[list]), 0, 0, lists_.weights[at]},
            manner_.loop_free ? 0 : walks_[end]);
      if (++walked == manner_.walked) return;
    }
  }

  // Where the paths that node spells end, walking every common beginning once; null if they lead nowhere.
  const Frontier* frontier(std::int32_t node) {
    if (visited_[node] == epoch_) return frontier_of_[node] < 0 ? nullptr : &pool_[frontier_of_[node]];
    visited_[node] = epoch_;
    frontier_of_[node] = -1;
    const Trie::Node& at = trie_.nodes[node];
    const Frontier* from = nullptr;
    if (at.parent >= 0 && (from = frontier(at.parent)) == nullptr) return nullptr;
    Frontier& into = fresh();
    if (from == nullptr) {
      into.start(entity_);
    } else {
      const Edges& edges = graph_.edges(at.relation);
      followed += manner_.loop_free ? step(edges, entity_, *from, at.length - 1, at.ahead, stamps_, into)
                                    : step_freely(edges, *from, stamps_, into);
      if (at.length == 1 && at.relation == queries_.relation && left_out_ >= 0) leave_out(into);
    }
    if (into.ends.empty()) {
      --in_use_;
      return nullptr;
    }
    frontier_of_[node] = static_cast<std::int32_t>(in_use_) - 1;
    return &into;
  }

  Frontier& fresh() {
    if (in_use_ == pool_.size()) pool_.emplace_back();
    pool_[in_use_].clear();
    return pool_[in_use_++];
  }

  void leave_out(Frontier& reached) const {
    const auto at = std::find(reached.ends.begin(), reached.ends.end(), left_out_);
    if (at == reached.ends.end()) return;
    if (!reached.paths.empty()) reached.paths.erase(reached.paths.begin() + (at - reached.ends.begin()));
    reached.ends.erase(at);
  }

  // How many walks of the type end where; only the order of discovery asks for it.
  void count_walks(PathType type) {
    const Packing packing(manner_.max_length);
    std::vector<std::pair<Id, Count>> now{{entity_, 1}}, next;
    for (int place = 0, length = packing.length(type); place < length; ++place) {
      next.clear();
      stamps_.renew();
      for (const auto& [end, walks] : now)
        for (Id tail : graph_.tails(end, packing.relation(type, place))) {
          if (!stamps_.has(tail)) {
            stamps_.set(tail, next.size());
            next.emplace_back(tail, 0);
          }
          Count& total = next[stamps_.slot(tail)].second;
          total = total > INT64_MAX - walks ? INT64_MAX : total + walks;
        }
      now.swap(next);
    }
    for (const auto& [end, walks] : now) walks_[end] = walks;
  }

  // Of the others that share a fact with the entity and have the query relation, how many give which answer.
  void share() {
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation)
      for (Id tail : graph_.tails(entity_, static_cast<Id>(relation)))
        if (static_cast<Id>(relation) != queries_.relation || tail != left_out_) share(static_cast<Id>(relation), tail);
  }

  void share(Id relation, Id tail) {
    const Edges& answers = graph_.edges(queries_.relation);
    const Ids sharing = graph_.tails(tail, inverse(relation));
    Count others = 0;
    given_.clear();
    for (Id other : sharing) {
      if (other == entity_) continue;
      const Ids given = answers.of(other);
      followed += static_cast<Count>(given.size());
      others += !given.empty();
      for (Id answer : given)
        if (tally_[answer]++ == 0) given_.push_back(answer);
    }
    followed += static_cast<Count>(sharing.size());
    for (Id answer : given_) {
      if (tally_[answer] >= manner_.support)
        add(answer, {Evidence::shared_fact, relation, tail, -1, tally_[answer], others,
                     static_cast<double>(tally_[answer]) / (static_cast<double>(others) + manner_.doubt)});
      tally_[answer] = 0;
    }
  }

  // Of all others that have the query relation, how many give which answer.
  void follow_habit() {
    const Edges& given = graph_.edges(inverse(queries_.relation));
    const Ids own = graph_.tails(entity_, queries_.relation);
    const Count others = static_cast<Count>(graph_.edges(queries_.relation).heads.size()) - !own.empty();
    for (std::size_t row = 0; row < given.heads.size(); ++row) {
      const Count count = given.offsets[row + 1] - given.offsets[row] - std::binary_search(own.begin(), own.end(), given.heads[row]);
      if (count == 0) continue;
      add(given.heads[row], {Evidence::habit, -1, -1, -1, count, others,
                             manner_.habit * static_cast<double>(count) / (static_cast<double>(others) + manner_.doubt)});
    }
  }

  const Graph& graph_;
  const Queries& queries_;
  const Lists& lists_;
  const Trie& trie_;
  const Manner& manner_;
  const Combination combination_;
  Stamps places_, stamps_;
  std::vector<Count> tally_, walks_;
  std::vector<Id> given_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> visited_;
  std::vector<std::int32_t> frontier_of_;
  std::deque<Frontier> pool_;
  std::size_t in_use_ = 0;
  std::uint32_t epoch_ = 0;
  Id entity_ = -1, left_out_ = -1, recorded_ = -1;
};

template <class Use>
void ask_all(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, int threads, const Use& use) {
  const Trie trie(lists.types, manner.max_length);
  std::vector<Answerer> answerers(std::min<std::size_t>(threads, queries.entities.size()), Answerer(graph, queries, lists, trie, manner));
  constexpr std::size_t at_once = 4;
  parallel(threads, (queries.entities.size() + at_once - 1) / at_once, [&](int thread, std::size_t task) {
    for (std::size_t query = task * at_once; query < std::min(queries.entities.size(), (task + 1) * at_once); ++query)
      use(answerers[thread], query);
  });
}

}  // namespace

Answers answers(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, Ids rank, Count top, int threads) {
  std::vector<std::vector<std::pair<Id, double>>> found(queries.entities.size());
  std::atomic<Count> followed{0};
  ask_all(graph, queries, lists, manner, threads, [&](Answerer& answerer, std::size_t query) {
    const Count before = answerer.followed;
    std::vector<Candidate> best = answerer.ask(query);
    const auto first = [&](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : rank[a.entity] < rank[b.entity];
    };
    const auto kept = top < 0 ? best.size() : std::min(best.size(), static_cast<std::size_t>(top));
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(kept), best.end(), first);
    for (std::size_t at = 0; at < kept; ++at) found[query].emplace_back(best[at].entity, best[at].score);
    followed += answerer.followed - before;
  });
  Answers result;
  result.offsets.push_back(0);
  for (const auto& best : found) {
    for (const auto& [entity, score] : best) {
      result.entities.push_back(entity);
      result.scores.push_back(score);
    }
    result.offsets.push_back(static_cast<std::int64_t>(result.entities.size()));
  }
  result.followed = followed;
  return result;
}

Standing standings(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, Ids rank,
                   const Targets& targets, int threads) {
  const std::size_t all = targets.entities.size();
  Standing standing{std::vector<double>(all), std::vector<Count>(all), std::vector<Count>(all), std::vector<Count>(all),
                    std::vector<Count>(all)};
  ask_all(graph, queries, lists, manner, threads, [&](Answerer& answerer, std::size_t query) {
    const std::vector<Candidate>& candidates = answerer.ask(query);
    const Ids known = targets.known.subspan(targets.known_offsets[query], targets.known_offsets[query + 1] - targets.known_offsets[query]);
    Count open = static_cast<Count>(candidates.size());
    for (Id entity : known) open -= answerer.find(entity) != nullptr;
    for (std::int64_t at = targets.offsets[query]; at < targets.offsets[query + 1]; ++at) {
      const Candidate* target = answerer.find(targets.entities[at]);
      standing.score[at] = target == nullptr ? 0 : target->score;
      const auto compare = [&](const Candidate& other, Count sign) {
        if (other.score < standing.score[at] || &other == target) return;
        if (other.score > standing.score[at]) {
          standing.better[at] += sign;
          return;
        }
        standing.equal[at] += sign;
        if (target != nullptr && std::tuple(other.found_by, -other.paths, rank[other.entity]) <
                                     std::tuple(target->found_by, -target->paths, rank[target->entity]))
          standing.earlier[at] += sign;
      };
      for (const Candidate& other : candidates) compare(other, 1);
      for (Id entity : known)
        if (const Candidate* other = answerer.find(entity)) compare(*other, -1);
      standing.reached[at] = open + (target != nullptr && std::binary_search(known.begin(), known.end(), targets.entities[at]));
    }
  });
  return standing;
}

std::vector<Evidence> evidence(const Graph& graph, const Queries& queries, const Lists& lists, const Manner& manner, Id answer) {
  const Trie trie(lists.types, manner.max_length);
  Answerer answerer(graph, queries, lists, trie, manner);
  answerer.record(answer);
  answerer.ask(0);
  return answerer.record_;
}

}  // namespace casegraph
