// Half paths of one length, grouped by where they end: what meet-in-the-middle looks up.
//
// A counting sort: call `expect` for all halves, `arrange` once, then `add` for each half, and read
// those of an end with `at`. Halves of one end lie together in memory, in the order they were
// added.
#pragma once

#include <vector>

#include "common/bits.hpp"

namespace casegraph {

template <class Half>
class HalfPaths {
 public:
  explicit HalfPaths(std::size_t entities) : rooms_(entities), is_end_(entities) {}

  // There will be `count` more halves that end here.
  void expect(Id end, std::size_t count) {
    Room& room = rooms_[end];
    if (room.end == 0)
      ends.push_back(end);
    room.end += static_cast<std::uint32_t>(count);
  }

  // Make room for all halves that are expected. Ends with fewer than `least` of them are forgotten.
  void arrange(std::size_t least = 1) {
    std::uint32_t place = 0;
    std::size_t kept = 0;
    for (Id end : ends) {
      Room& room = rooms_[end];
      const std::uint32_t expected = room.end;
      if (expected < least) {
        room = {};
        continue;
      }
      room = {place, place};
      is_end_.insert(static_cast<std::size_t>(end));
      ends[kept++] = end;
      place += expected;
    }
    ends.resize(kept);
    halves_.resize(place);
  }

  // Where the next `count` halves that end here are to be written; null if these are not kept.
  Half* room_for(Id end, std::size_t count) {
    Room& room = rooms_[end];
    if (room.begin == nowhere)
      return nullptr;
    Half* const next = halves_.data() + room.end;
    room.end += static_cast<std::uint32_t>(count);
    return next;
  }

  void add(Id end, const Half& half) {
    Room& room = rooms_[end];
    if (room.begin != nowhere)
      halves_[room.end++] = half;
  }

  std::span<const Half> at(Id end) const {
    if (!is_end_.has(static_cast<std::size_t>(end)))
      return {};
    const Room& room = rooms_[end];
    return {halves_.data() + room.begin, room.end - room.begin};
  }

  void clear() {
    for (Id end : ends) {
      rooms_[end] = {};
      is_end_.erase(static_cast<std::size_t>(end));
    }
    ends.clear();
  }

  std::vector<Id> ends;  // distinct

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;

  // The halves of an end: halves_[begin .. end). Before `arrange`, `end` is how many are expected.
  struct Room {
    std::uint32_t begin = nowhere;
    std::uint32_t end = 0;
  };

  std::vector<Half> halves_;
  std::vector<Room> rooms_;  // by end
  Bits is_end_;              // most lookups find nothing, and this answers them from the cache
};

}  // namespace casegraph
