// Half paths of one length, grouped by where they end: what meet-in-the-middle looks up.
//
// A counting sort: call `expect` for all halves, `arrange` once, then `add` for each half, and read
// those of an end with `at`. Halves of one end lie together in memory, in the order they were
// added.
//
// Halves that pass the same entity just before their end cannot be joined there. So where only such
// halves end, they can be forgotten: expect them all at once, and say that halves must meet.
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
    else
      is_end_.insert(static_cast<std::size_t>(end));  // halves meet here
    room.end += static_cast<std::uint32_t>(count);
  }

  // Make room for all halves that are expected. If they must meet, those are forgotten whose end
  // was expected only once.
  void arrange(bool must_meet = false) {
    std::uint32_t place = 0;
    std::size_t kept = 0;
    for (Id end : ends) {
      Room& room = rooms_[end];
      if (must_meet && !is_end(end)) {
        room = {};
        continue;
      }
      const std::uint32_t expected = room.end;
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

  // Whether halves that end here are kept.
  bool is_end(Id end) const { return is_end_.has(static_cast<std::size_t>(end)); }

  // Add a half that ends where halves are kept.
  void add(Id end, const Half& half) { halves_[rooms_[end].end++] = half; }

  std::span<const Half> at(Id end) const {
    if (!is_end(end))
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

  // The ends; before `arrange`, those that were expected more than once. Most lookups find nothing,
  // and this answers them from the cache.
  Bits is_end_;
};

}  // namespace casegraph
