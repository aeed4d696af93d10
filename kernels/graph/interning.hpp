// From lines of text to rows of numbers.
//
// The problem: a file of ten million facts has thirty million fields, but only a million different
// texts. Making a string of each field is what takes the time. So the fields of a block of lines
// are looked up where they stand, in a hash table with open addressing (linear probing), and only a
// text that was never seen before is copied.
//
// What always holds: a text has the number of texts that were seen before it, whatever the hash.
//
// Cost: one pass over the bytes, and a lookup for each of three fields a line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/fetch.hpp"
#include "common/ids.hpp"
#include "common/large_vector.hpp"
#include "common/progress.hpp"
#include "graph/text_hash.hpp"

namespace casegraph {

// Distinct texts; the number of a text is its place in the order of first sight.
class Interner {
 public:
  Interner();

  Id size() const { return static_cast<Id>(ends_.size()); }

  std::uint32_t hash(std::string_view text) const { return hash_(text); }

  // Have the slot of a hash in the processor's cache by the time it is needed: a table of many
  // texts is not there, and waiting for it would take longer than everything else.
  CASEGRAPH_INLINE void fetch_slot(std::uint32_t hash) const { fetch(&slots_[first_place(hash)]); }

  // The same for the text in that slot; the slot itself should be there already.
  CASEGRAPH_INLINE void fetch_text(std::uint32_t hash) const {
    fetch(content_.data() + slots_[first_place(hash)].start);
  }

  // The number of a text with its hash, which is a new one if the text is new.
  Id intern(std::string_view text, std::uint32_t hash);

  // The texts from number `first` on, with a line end between each two.
  std::string texts_from(Id first) const;

 private:
  // A text, with all that is needed to compare it, so that no other table is looked at.
  struct Slot {
    std::uint32_t hash;
    std::uint32_t length;
    std::uint64_t start;  // in the content
    Id number;            // or `nobody`
  };
  static constexpr Id nobody = -1;

  std::size_t first_place(std::uint32_t hash) const { return hash & (slots_.size() - 1); }
  void grow();

  const TextHash hash_;
  LargeVector<Slot> slots_;          // a power of two of them, at most half of them taken
  std::string content_;              // all texts, one after the other
  std::vector<std::uint64_t> ends_;  // of each text in the content
};

// What a plain line is made of: fields, one byte between each two, and an end.
//
// separator  the byte between two fields
// brackets   what the first and the last byte of each field that is read must be; or empty
// end        what follows the last field, before the line end
// width      how many fields there are
// places     which of them are head, relation and tail, from 0
struct LineShape {
  char separator;
  std::string_view brackets;
  std::string_view end;
  int width;
  std::array<int, 3> places;
};

// What a block of lines became. An empty line is neither plain nor anything else.
//
// rows    (3 × plain lines,)  the numbers of head, relation and tail, without brackets
// starts  (plain lines,)      where each of them begins in the block
// others  (other lines,)      where each line begins that is not plain
struct InternedLines {
  std::vector<Id> rows;
  std::vector<Count> starts;
  std::vector<Count> others;
};

// The plain lines of a block as rows. A field that is read is not empty, and none has a tab, a
// carriage return or a zero byte in it. A line that does not end is not plain.
InternedLines interned_lines(std::string_view block, const LineShape& shape, Interner& entities,
                             Interner& relations, Progress& progress);

}  // namespace casegraph
