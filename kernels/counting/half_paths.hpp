// Half paths of one length, grouped by where they end.
#pragma once

#include "common/bits.hpp"

namespace casegraph {

// Room is made for all halves before the first is kept: `expect` them, `arrange` once, `add` each.
template <class Half>
class Layer {
 public:
  explicit Layer(std::size_t entities) : rooms_(entities), marks_(entities) {}

  void expect(Id end, std::size_t many) {
    Room& room = rooms_[end];
    if (room.end == 0) {
      ends.push_back(end);
      marks_.take(static_cast<std::size_t>(end));
    }
    room.end += static_cast<std::uint32_t>(many);
  }
  // Ends with fewer halves than `least` are forgotten.
  void arrange(std::size_t least = 1) {
    std::uint32_t place = 0;
    std::size_t kept = 0;
    for (Id end : ends) {
      Room& room = rooms_[end];
      const std::uint32_t many = room.end;
      room = many < least ? Room{} : Room{place, place};
      if (many < least) continue;
      ends[kept++] = end;
      place += many;
    }
    ends.resize(kept);
    halves_.resize(place);
  }
  void add(Id end, const Half& half) {
    Room& room = rooms_[end];
    if (room.begin != nowhere) halves_[room.end++] = half;
  }
  void clear() {
    for (Id end : ends) {
      rooms_[end] = {};
      marks_.drop(static_cast<std::size_t>(end));
    }
    ends.clear();
  }
  std::span<const Half> at(Id end) const {
    if (!marks_.has(static_cast<std::size_t>(end))) return {};
    const Room& room = rooms_[end];
    if (room.begin == nowhere) return {};
    return {halves_.data() + room.begin, room.end - room.begin};
  }

  std::vector<Id> ends;

 private:
  static constexpr std::uint32_t nowhere = UINT32_MAX;
  struct Room {
    std::uint32_t begin = nowhere, end = 0;
  };
  std::vector<Half> halves_;
  std::vector<Room> rooms_;  // by end
  Bits marks_;               // the ends: what most lookups ask for, and small enough for the cache
};

}  // namespace casegraph
