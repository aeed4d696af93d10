// Names by id, and ids by name.
//
// Problem: a graph of fifty million facts has five million names. As Python strings, with a list
// and a dictionary of them, each takes some 250 bytes, and making them takes longer than reading
// everything else from a store.
//
// Here a name is a piece of UTF-8 in memory that never moves: in blocks of our own, or in a file
// that is mapped, which is not even copied. Ids are found by a hash table with open addressing
// (linear probing) of eight bytes a place, at most half full. A name takes 16 bytes, its text, and
// 16 to 32 bytes of the table.
//
// What always holds: names are distinct, valid UTF-8 (surrogates are let through, as Python strings
// may have them), and only ever appended. Bytes of UTF-8 are in the order of code points.
//
// Several threads may call at once: a lock is held while names are looked up and appended, which is
// short. It is not held while names are sorted.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.hpp"
#include "common/large_vector.hpp"
#include "common/progress.hpp"
#include "graph/text_hash.hpp"

namespace casegraph {

class NameTable {
 public:
  static constexpr Id nobody = -1;

  NameTable();

  // Names that stand one after the other in `content`, which `owner` keeps alive: the i-th is
  // content[offsets[i] .. offsets[i + 1]). Throws `std::invalid_argument` if one is not UTF-8, or
  // occurs twice. The offsets must rise from 0 to the end of the content.
  NameTable(std::string_view content, std::span<const std::int64_t> offsets,
            std::shared_ptr<const void> owner, Progress& progress);

  // A copy of the first names. Their texts are shared.
  NameTable(const NameTable& other, Id count);

  Id size() const;

  // The name with an id, which must be below the size; its text stays where it is.
  std::string_view name(Id id) const;

  // The names from `first` up to but without `end`.
  std::vector<std::string_view> names(Id first, Id end) const;

  Id find(std::string_view name) const;
  std::vector<Id> find(std::span<const std::string_view> names) const;

  // Append names that are not in the table; each once, and valid.
  void append(std::span<const std::string_view> names);

  // The first `count` ids, sorted by name, by code points.
  std::vector<Id> sorted(Id count, int threads, Progress& progress) const;

 private:
  struct Slot {
    std::uint32_t hash;
    Id id;
  };

  void make_room(std::size_t names);
  std::size_t place_of(std::string_view name, std::uint32_t hash) const;
  void fill_slots(Steps* steps);
  std::string_view kept(std::string_view name);

  // A block of memory for texts. Whoever copies a table shares its blocks.
  using Block = std::shared_ptr<char[]>;

  mutable std::mutex guard_;
  TextHash hash_;
  std::vector<std::string_view> names_;
  LargeVector<Slot> slots_;  // a power of two of them, at most half of them taken
  std::vector<Block> blocks_;
  char* block_end_ = nullptr;
  std::size_t free_ = 0;  // bytes at the end of the last block
  std::shared_ptr<const void> owner_;
};

// Whether bytes are UTF-8 as Python writes it with `surrogatepass`.
bool is_utf8(std::string_view text);

}  // namespace casegraph
