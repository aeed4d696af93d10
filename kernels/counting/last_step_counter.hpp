// The last step of a path type from one entity: how many distinct ends it has, and whether an
// entity is one of them.
#pragma once

#include "counting/frontier.hpp"
#include "counting/tail_bitsets.hpp"

namespace casegraph {

class Arrival {
 public:
  // landings  for counting everything; none for counting a little
  Arrival(const Graph& graph, Landings* landings, Progress& progress)
      : graph_(graph), landings_(landings), earned_(graph.relations.size()), steps_(progress) {}

  // Look from `from`, where `start` has come, along a relation: how many edges there are to follow.
  std::size_t look(Id start, Id relation, const Frontier& from, const Stamps* where) {
    start_ = start;
    relation_ = relation;
    from_ = &from;
    loops_ = landings_ == nullptr || landings_->loops(relation);
    visits_.clear();
    width_ = widest_ = 0;
    each_end(graph_.edges(relation), from, where, steps_, [&](std::size_t end, std::size_t row) {
      const Ids tails = graph_.edges(relation).row(row);
      if (!visits_.empty() && tails.size() > visits_[widest_].tails.size())
        widest_ = visits_.size();
      visits_.push_back({end, row, tails});
      width_ += tails.size();
    });
    return width_;
  }

  // Follow them: how many distinct ends they have.
  Count count(Stamps& stamps) {
    if (visits_.empty()) return 0;
    landing_ = pays() ? &landings_->of(relation_, steps_) : nullptr;
    if (landing_ != nullptr) return count_bits();
    const std::size_t most = visits_[widest_].tails.size();
    apart_ = visits_.size() <= 8 && most >= 64 + 8 * (width_ - most) ? &visits_[widest_] : nullptr;
    return count_marks(stamps);
  }

  // Whether an entity is one of those that were counted.
  bool reaches(Id entity, const Stamps& stamps) const {
    if (entity == start_) return false;
    if (landing_ == nullptr)
      return stamps.has(entity) || (apart_ != nullptr && leads(*apart_, entity));
    const std::size_t place = landing_->place(entity);
    return place != landing_->size() && reached_.has(place);
  }

 private:
  struct Visit {
    std::size_t end, row;  // of the frontier, and of the relation
    Ids tails;
  };

  // Whether to count in bits: if there are not far fewer edges to follow than words to clear, and
  // numbering the tails has been earned.
  bool pays() {
    if (landings_ == nullptr || 8 * 64 * width_ < graph_.edges(inverse(relation_)).heads.size())
      return false;
    earned_[relation_] += width_;
    return earned_[relation_] > graph_.edges(relation_).tails.size();
  }

  Count count_bits() {
    reached_.renew(landing_->size() + 1);
    reached_.take(landing_->place(start_));  // or a place that nobody has
    Count ends = 0;
    for (const Visit& visit : visits_) ends += more_bits(visit);
    return ends;
  }

  Count more_bits(const Visit& visit) {
    const Ids places = landing_->places(visit.tails);
    Count ends = 0;
    if (places.size() < 8) {
      for (std::size_t at = 0; at < places.size(); ++at)
        if (allowed(visit, visit.tails[at]))
          ends += reached_.take(static_cast<std::size_t>(places[at]));
      return ends;
    }
    const Inner& inner = from_->paths[visit.end].inner;
    std::array<std::size_t, 4> barred;  // where a path has been, and no other visit has led yet
    std::size_t many = 0;
    for (Id entity : {loops_ ? from_->ends[visit.end] : -1, inner[0], inner[1], inner[2]}) {
      if (entity < 0 || allowed(visit, entity)) continue;
      const std::size_t place = landing_->place(entity);
      if (place != landing_->size() && !reached_.has(place)) barred[many++] = place;
    }
    if (const auto set = landing_->set(visit.row); !set.empty())
      ends += reached_.take(set);
    else
      for (Id place : places) ends += reached_.take(static_cast<std::size_t>(place));
    for (std::size_t at = 0; at < many; ++at)
      if (reached_.has(barred[at])) {
        reached_.drop(barred[at]);
        --ends;
      }
    return ends;
  }

  // If one of few ends has far more edges than the others it is not gone through: it has as many
  // ends as edges, but for those where a path has been, and of the others' only those count where
  // it does not lead.
  Count count_marks(Stamps& stamps) {
    stamps.renew();
    stamps.set(start_);
    Count ends = apart_ == nullptr ? 0 : ends_of(*apart_);
    for (const Visit& visit : visits_)
      if (&visit != apart_) ends += more_marks(visit, stamps);
    return ends;
  }

  Count more_marks(const Visit& visit, Stamps& stamps) {
    const Frontier::Path& path = from_->paths[visit.end];
    const auto met = [&](Id entity) { return entity >= 0 && among(visit.tails, entity); };
    Count ends = 0;
    const auto may_loop = [&] {
      return (loops_ && met(from_->ends[visit.end])) ||
             std::any_of(path.inner.begin(), path.inner.end(), met);
    };
    if (apart_ == nullptr && visit.tails.size() >= 8 && !may_loop()) {
      for (Id tail : visit.tails) ends += stamps.take(tail);  // nothing to decide on the way
      return ends;
    }
    for (Id tail : visit.tails)
      if (allowed(visit, tail) && stamps.take(tail))
        ends += apart_ == nullptr || !leads(*apart_, tail);
    return ends;
  }

  Count ends_of(const Visit& visit) const {
    const Inner& inner = from_->paths[visit.end].inner;
    std::array<Id, 5> been{start_, from_->ends[visit.end], inner[0], inner[1], inner[2]};
    std::sort(been.begin(), been.end());
    auto ends = static_cast<Count>(visit.tails.size());
    for (std::size_t at = 0; at < been.size(); ++at)
      if (been[at] >= 0 && (at == 0 || been[at] != been[at - 1]))
        ends -= among(visit.tails, been[at]) && !allowed(visit, been[at]);
    return ends;
  }

  // Whether a path may go on from an end to one of its tails.
  bool allowed(const Visit& visit, Id tail) const {
    const Frontier::Path& path = from_->paths[visit.end];
    return tail != start_ && tail != from_->ends[visit.end] &&
           (!passes(path.inner, tail) || from_->other_path_avoids(path, tail));
  }
  static bool among(Ids tails, Id entity) {
    return std::binary_search(tails.begin(), tails.end(), entity);
  }
  bool leads(const Visit& visit, Id tail) const {
    return among(visit.tails, tail) && allowed(visit, tail);
  }

  const Graph& graph_;
  Landings* const landings_;
  std::vector<std::size_t>
      earned_;  // how many edges could have been followed in bits so far, by relation
  const Frontier* from_ = nullptr;
  std::vector<Visit> visits_;
  std::size_t width_ = 0, widest_ = 0;
  const Landing* landing_ = nullptr;
  const Visit* apart_ = nullptr;
  Bits reached_;
  Steps steps_;
  Id start_ = -1, relation_ = -1;
  bool loops_ = true;  // whether the relation may lead anyone to itself
};

}  // namespace casegraph
