#include "graph/interning.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <stdexcept>

namespace casegraph {

namespace {

constexpr std::size_t first_slots = 1 << 10;

// The three fields of a line that are read.
using Fields = std::array<std::string_view, 3>;

// Cuts lines as a shape says.
class Cutter {
 public:
  explicit Cutter(const LineShape& shape) : shape_(shape) {
    for (char byte : {'\t', '\r', '\0'})
      is_refused_[place_of(byte)] = true;
    is_refused_[place_of(shape.separator)] = false;
    place_among_read_.assign(static_cast<std::size_t>(shape.width), -1);
    for (int part = 0; part < 3; ++part) {
      const auto place = static_cast<std::size_t>(shape.places[static_cast<std::size_t>(part)]);
      place_among_read_[place] = part;
    }
  }

  // The fields of a line that are read; nothing if the line is not plain.
  std::optional<Fields> fields(std::string_view line) const {
    if (!line.ends_with(shape_.end))
      return {};
    line.remove_suffix(shape_.end.size());

    Fields found;
    std::size_t start = 0;
    std::size_t field = 0;
    for (std::size_t at = 0; at <= line.size(); ++at) {
      const bool is_end = at == line.size() || line[at] == shape_.separator;
      if (!is_end) {
        if (is_refused_[place_of(line[at])])
          return {};
        continue;
      }
      if (field == place_among_read_.size())
        return {};  // one too many
      if (!take(line.substr(start, at - start), field, found))
        return {};
      ++field;
      start = at + 1;
    }
    if (field != place_among_read_.size())
      return {};
    return found;
  }

 private:
  static std::size_t place_of(char byte) { return static_cast<unsigned char>(byte); }

  // Put a field in its place if it is one of those that are read; whether it may be there.
  bool take(std::string_view text, std::size_t field, Fields& found) const {
    const int part = place_among_read_[field];
    if (part < 0)
      return true;
    if (!shape_.brackets.empty()) {
      const bool has_brackets = text.size() > 1 && text.front() == shape_.brackets.front() &&
                                text.back() == shape_.brackets.back();
      if (!has_brackets)
        return false;
      text = text.substr(1, text.size() - 2);
    }
    found[static_cast<std::size_t>(part)] = text;
    return !text.empty();
  }

  const LineShape& shape_;
  std::array<bool, 256> is_refused_{};
  std::vector<int> place_among_read_;  // of each field: head, relation or tail, or -1
};

}  // namespace

Interner::Interner() : slots_(first_slots, Slot{0, 0, 0, nobody}) {
}

Id Interner::intern(std::string_view text, std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = first_place(hash);
  for (; slots_[place].number != nobody; place = (place + 1) & mask) {
    const Slot& slot = slots_[place];
    const bool is_alike = slot.hash == hash && slot.length == text.size();
    if (is_alike && std::memcmp(content_.data() + slot.start, text.data(), text.size()) == 0)
      return slot.number;
  }

  constexpr std::size_t most = std::numeric_limits<Id>::max();
  if (ends_.size() == most || text.size() > most)
    throw std::length_error("there are more texts than numbers");
  const Id number = size();
  slots_[place] = {hash, static_cast<std::uint32_t>(text.size()), content_.size(), number};
  content_ += text;
  ends_.push_back(content_.size());
  if (2 * ends_.size() > slots_.size())
    grow();
  return number;
}

std::string Interner::texts_from(Id first) const {
  std::string joined;
  auto place = static_cast<std::size_t>(first);
  std::uint64_t start = place == 0 ? 0 : ends_[place - 1];
  for (; place < ends_.size(); ++place) {
    if (!joined.empty())
      joined += '\n';  // no text is empty
    joined.append(content_, start, ends_[place] - start);
    start = ends_[place];
  }
  return joined;
}

void Interner::grow() {
  LargeVector<Slot> larger(2 * slots_.size(), Slot{0, 0, 0, nobody});
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.number == nobody)
      continue;
    std::size_t place = slot.hash & mask;
    while (larger[place].number != nobody)
      place = (place + 1) & mask;
    larger[place] = slot;
  }
  slots_ = std::move(larger);
}

InternedLines interned_lines(std::string_view block, const LineShape& shape, Interner& entities,
                             Interner& relations, Progress& progress) {
  // Cut all lines.
  const Cutter cutter(shape);
  InternedLines found;
  std::vector<Fields> lines;
  Steps steps(progress);
  std::size_t start = 0;
  while (start < block.size()) {
    const std::size_t end = std::min(block.find('\n', start), block.size());
    const std::string_view line = block.substr(start, end - start);
    steps.take(static_cast<std::int64_t>(line.size()) + 1);
    if (!line.empty()) {
      const bool has_end = end < block.size();
      const std::optional<Fields> fields = has_end ? cutter.fields(line) : std::nullopt;
      if (fields)
        lines.push_back(*fields);
      (fields ? found.starts : found.others).push_back(static_cast<Count>(start));
    }
    start = end + 1;
  }

  // Look up the fields of each, while the texts of some lines later are fetched, and the slots of
  // others after these.
  constexpr std::size_t ahead = 16;
  std::vector<std::array<std::uint32_t, 3>> hashes(lines.size());
  found.rows.reserve(3 * lines.size());
  for (std::size_t place = 0; place < lines.size() + 2 * ahead; ++place) {
    if (place < lines.size()) {
      const auto& [head, relation, tail] = lines[place];
      hashes[place] = {entities.hash(head), relations.hash(relation), entities.hash(tail)};
      entities.fetch_slot(hashes[place][0]);
      entities.fetch_slot(hashes[place][2]);
    }
    if (place >= ahead && place - ahead < lines.size()) {
      entities.fetch_text(hashes[place - ahead][0]);
      entities.fetch_text(hashes[place - ahead][2]);
    }
    if (place >= 2 * ahead) {
      const auto& [head, relation, tail] = lines[place - 2 * ahead];
      const auto& [head_hash, relation_hash, tail_hash] = hashes[place - 2 * ahead];
      found.rows.push_back(entities.intern(head, head_hash));
      found.rows.push_back(relations.intern(relation, relation_hash));
      found.rows.push_back(entities.intern(tail, tail_hash));
      steps.take();
    }
  }
  return found;
}

}  // namespace casegraph
