// Whether arrays from outside fit each other and the graph.
//
// Kernels trust what they are given. What does not fit is refused here, with a
// `std::invalid_argument` of one sentence, which Python sees as a ValueError.
//
// Sentences and names are views: making a string for each of many checks would take longer than the
// checks. Each binding file has further checks of its own beside it.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/path_type.hpp"
#include "graph/graph.hpp"

namespace casegraph::checks {

constexpr int threads_for_a_processor = 4;  // with more, threads only wait, and each takes memory

inline void require(bool holds, std::string_view sentence) {
  if (!holds)
    throw std::invalid_argument(std::string(sentence));
}

template <class Number>
void in_range(std::string_view name, Number number, std::int64_t least, std::int64_t most) {
  if (number >= least && number <= most)
    return;
  throw std::invalid_argument(std::string(name) + " is " + std::to_string(number) +
                              "; expected from " + std::to_string(least) + " to " +
                              std::to_string(most));
}

// Every id is at least `least`, and less than `end`.
inline void ids(std::string_view name, Ids ids, Id least,
                std::int64_t end = std::int64_t{INT32_MAX} + 1) {
  for (Id id : ids)
    if (id < least || id >= end)
      in_range(name, id, least, end - 1);
}

inline void lengths(std::string_view name, std::size_t length, std::string_view other,
                    std::size_t expected) {
  if (length == expected)
    return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(length) +
                              " entries; expected " + std::to_string(expected) + ", to go with " +
                              std::string(other));
}

// Offsets cut `all` entries into so many parts, one after the other.
template <class Offset>
void offsets(std::string_view name, std::span<const Offset> offsets, std::size_t parts,
             std::size_t all) {
  const auto end = static_cast<std::int64_t>(all);
  lengths(name, offsets.size(), "what they cut", parts + 1);
  require(offsets.front() == 0, "offsets do not begin with 0");
  require(std::is_sorted(offsets.begin(), offsets.end()), "offsets fall somewhere");
  in_range("the last of the offsets", offsets.back(), end, end);
}

// One entry for each entity of the graph.
inline void one_for_each_entity(std::string_view name, std::size_t length, const Graph& graph) {
  lengths(name, length, "the entities", static_cast<std::size_t>(graph.entities));
}

inline void entity(std::string_view name, Id entity, const Graph& graph) {
  in_range(name, entity, 0, graph.entities - 1);
}
inline void entities(std::string_view name, Ids some, const Graph& graph, Id least = 0) {
  ids(name, some, least, graph.entities);
}
inline void relation(std::string_view name, Id relation, const Graph& graph) {
  in_range(name, relation, 0, std::ssize(graph.relations) - 1);
}
inline void relations(std::string_view name, Ids some, const Graph& graph) {
  ids(name, some, 0, std::ssize(graph.relations));
}

// The length of the longest path, which must leave room for all relations in a path type.
inline void max_length(int max_length, const Graph& graph) {
  in_range("max_length", max_length, 1, longest_path);
  const Packing packing(max_length);
  if (packing.has_room(graph.relations.size()))
    return;
  throw std::invalid_argument("path types of " + std::to_string(max_length) +
                              " steps have no room for so many relations");
}

inline void path_types(std::span<const PathType> types, int longest, const Graph& graph) {
  max_length(longest, graph);
  const Packing packing(longest);
  for (PathType type : types) {
    if (packing.is_path_type(type, longest, graph.relations.size()))
      continue;
    throw std::invalid_argument(std::to_string(type) + " is no path type of these relations");
  }
}

// As many threads as were asked for, or as make sense on this machine.
inline int threads(int asked) {
  if (asked < 1)
    throw std::invalid_argument("threads is " + std::to_string(asked) + "; expected at least 1");
  static const auto processors =  // asked once: the system reads files for this
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return std::min(asked, threads_for_a_processor * processors);
}

}  // namespace casegraph::checks
