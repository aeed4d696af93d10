#include "graph/name_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>

#include "common/parallel.hpp"

namespace casegraph {
namespace {

constexpr std::size_t first_slots = 1 << 4;
constexpr std::size_t block_bytes = 1 << 20;

// Sixteen bytes of a name from some depth on, as two numbers that rise as the bytes do. With fewer,
// most names of a large graph would not be told apart by their first bytes.
using Key = std::array<std::uint64_t, 2>;

// Names that are sorted together: an id, and a part of its name.
struct Keyed {
  Key key;
  Id id;
};

constexpr std::size_t key_bytes = sizeof(Key);

std::uint64_t eight_bytes_at(std::string_view name, std::size_t depth) {
  std::uint64_t bytes = 0;
  const std::size_t end = std::min(name.size(), depth + 8);
  for (std::size_t at = depth; at < end; ++at)
    bytes |= std::uint64_t{static_cast<unsigned char>(name[at])} << (8 * (depth + 7 - at));
  return bytes;
}

Key key_at(std::string_view name, std::size_t depth) {
  return {eight_bytes_at(name, depth), eight_bytes_at(name, depth + 8)};
}

// A radix sort from the first bytes on (MSD), sixteen bytes at a time: sort by these, then each run
// of equal ones by the next sixteen. Most names are told apart by what is in the key, so that few
// comparisons go to memory.
//
// Runs that are still to be sorted are on a stack of our own: names may have a megabyte in common.
class NameSorter {
 public:
  NameSorter(const std::vector<std::string_view>& names, Progress& progress)
      : names_(names), steps_(progress) {}

  void find_keys(std::span<Keyed> keyed, std::size_t depth) {
    for (Keyed& one : keyed) {
      steps_.take();
      one.key = key_at(name(one), depth);
    }
  }

  // Sort names whose first keys are known.
  void sort(std::span<Keyed> keyed) {
    runs_.assign(1, {keyed, 0});
    while (!runs_.empty()) {
      const Run run = runs_.back();
      runs_.pop_back();
      if (run.depth > 0)
        find_keys(run.keyed, run.depth);
      sort_by_keys(run);
    }
  }

 private:
  // Names that are equal up to a depth.
  struct Run {
    std::span<Keyed> keyed;
    std::size_t depth;
  };

  void sort_by_keys(const Run& run) {
    const auto [keyed, depth] = run;
    std::sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
      steps_.take();
      return a.key < b.key;
    });
    for (std::size_t begin = 0, end; begin < keyed.size(); begin = end) {
      for (end = begin + 1; end < keyed.size() && keyed[end].key == keyed[begin].key; ++end) {
      }
      if (end - begin > 1)
        sort_equal({keyed.subspan(begin, end - begin), depth + key_bytes});
    }
  }

  // The names of a run may also end before its depth: zeros in a name look like its end.
  void sort_equal(const Run& run) {
    const auto [keyed, depth] = run;
    const bool all_go_on = std::all_of(keyed.begin(), keyed.end(),
                                       [&](const Keyed& one) { return name(one).size() > depth; });
    constexpr std::size_t few = 16;
    if (all_go_on && keyed.size() > few) {
      runs_.push_back(run);
      return;
    }
    std::sort(keyed.begin(), keyed.end(), [&](const Keyed& a, const Keyed& b) {
      steps_.take();
      return name(a) < name(b);
    });
  }

  std::string_view name(const Keyed& one) const { return names_[static_cast<std::size_t>(one.id)]; }

  const std::vector<std::string_view>& names_;
  Steps steps_;
  std::vector<Run> runs_;  // that are still to be sorted
};

// Names in buckets, each before the next, that several threads sort (sample sort): the keys of some
// names, evenly spread, divide the buckets. Equal keys are in one bucket.
class Buckets {
 public:
  Buckets(std::span<const Keyed> keyed, std::size_t most, Steps& steps) {
    constexpr std::size_t samples_a_bucket = 32;
    const std::size_t distance = keyed.size() / (most * samples_a_bucket) + 1;
    std::vector<Key> samples;
    for (std::size_t at = 0; at < keyed.size(); at += distance)
      samples.push_back(keyed[at].key);
    std::sort(samples.begin(), samples.end());
    for (std::size_t at = samples_a_bucket; at < samples.size(); at += samples_a_bucket)
      first_keys_.push_back(samples[at]);

    // A counting sort by bucket.
    starts_.resize(first_keys_.size() + 2);
    for (const Keyed& one : keyed) {
      steps.take();
      ++starts_[bucket_of(one) + 1];
    }
    for (std::size_t bucket = 1; bucket < starts_.size(); ++bucket)
      starts_[bucket] += starts_[bucket - 1];
    sorted.resize(keyed.size());
    std::vector<std::size_t> next = starts_;
    for (const Keyed& one : keyed) {
      steps.take();
      sorted[next[bucket_of(one)]++] = one;
    }
  }

  std::size_t count() const { return starts_.size() - 1; }
  std::span<Keyed> of(std::size_t bucket) {
    return std::span(sorted).subspan(starts_[bucket], starts_[bucket + 1] - starts_[bucket]);
  }

  std::vector<Keyed> sorted;  // by bucket, and within one as far as its user has sorted it

 private:
  std::size_t bucket_of(const Keyed& one) const {
    const auto above = std::upper_bound(first_keys_.begin(), first_keys_.end(), one.key);
    return static_cast<std::size_t>(above - first_keys_.begin());
  }

  std::vector<Key> first_keys_;      // of each bucket but the first
  std::vector<std::size_t> starts_;  // of each bucket, and the end
};

}  // namespace

NameTable::NameTable() : slots_(first_slots, Slot{0, nobody}) {
}

NameTable::NameTable(std::string_view content, std::span<const std::int64_t> offsets,
                     std::shared_ptr<const void> owner, Progress& progress)
    : owner_(std::move(owner)) {
  if (!is_utf8(content))
    throw std::invalid_argument("a name is not UTF-8");
  constexpr std::size_t most = std::numeric_limits<Id>::max();
  const std::size_t count = offsets.size() - 1;
  if (count > most)
    throw std::invalid_argument("there are more names than ids");
  Steps steps(progress);
  names_.reserve(count);
  for (std::size_t id = 0; id < count; ++id) {
    steps.take();
    const auto start = static_cast<std::size_t>(offsets[id]);
    const auto end = static_cast<std::size_t>(offsets[id + 1]);
    const bool is_amid_sign = start < end && (content[start] & 0xC0) == 0x80;
    if (is_amid_sign)
      throw std::invalid_argument("a name is not UTF-8");
    names_.push_back(content.substr(start, end - start));
  }
  fill_slots(&steps);
}

NameTable::NameTable(const NameTable& other, Id count) {
  const std::lock_guard lock(other.guard_);
  const auto kept_names = static_cast<std::size_t>(count);
  names_.assign(other.names_.begin(),
                other.names_.begin() + static_cast<std::ptrdiff_t>(kept_names));
  blocks_ = other.blocks_;  // the rest of the last block stays with the other
  owner_ = other.owner_;
  fill_slots(nullptr);
}

Id NameTable::size() const {
  const std::lock_guard lock(guard_);
  return static_cast<Id>(names_.size());
}

std::string_view NameTable::name(Id id) const {
  const std::lock_guard lock(guard_);
  return names_[static_cast<std::size_t>(id)];
}

std::vector<std::string_view> NameTable::names(Id first, Id end) const {
  const std::lock_guard lock(guard_);
  return {names_.begin() + first, names_.begin() + end};
}

Id NameTable::find(std::string_view name) const {
  const std::lock_guard lock(guard_);
  return slots_[place_of(name, hash_(name))].id;
}

std::vector<Id> NameTable::find(std::span<const std::string_view> names) const {
  const std::lock_guard lock(guard_);
  std::vector<Id> found;
  found.reserve(names.size());
  for (std::string_view name : names)
    found.push_back(slots_[place_of(name, hash_(name))].id);
  return found;
}

void NameTable::append(std::span<const std::string_view> names) {
  const std::lock_guard lock(guard_);
  constexpr std::size_t most = std::numeric_limits<Id>::max();
  if (names.size() > most - names_.size())
    throw std::length_error("more names than ids");
  make_room(names_.size() + names.size());
  for (std::string_view name : names) {
    const std::uint32_t hash = hash_(name);
    Slot& slot = slots_[place_of(name, hash)];
    if (slot.id != nobody)
      throw std::invalid_argument("a name occurs twice");
    names_.push_back(kept(name));
    slot = {hash, static_cast<Id>(names_.size() - 1)};
  }
}

std::vector<Id> NameTable::sorted(Id count, int threads, Progress& progress) const {
  const std::vector<std::string_view> all = names(0, count);
  std::vector<Keyed> keyed(all.size());
  for (std::size_t id = 0; id < keyed.size(); ++id)
    keyed[id].id = static_cast<Id>(id);
  const Chunks chunks(keyed.size(), 1 << 14);
  chunks.each(threads, progress, [&](std::size_t, std::size_t begin, std::size_t end) {
    NameSorter(all, progress).find_keys(std::span(keyed).subspan(begin, end - begin), 0);
  });

  Steps steps(progress);
  const std::size_t most_buckets = threads > 1 ? 16 * static_cast<std::size_t>(threads) : 1;
  Buckets buckets(keyed, most_buckets, steps);
  parallel(threads, buckets.count(), progress,
           [&](int, std::size_t bucket) { NameSorter(all, progress).sort(buckets.of(bucket)); });

  std::vector<Id> ids;
  ids.reserve(keyed.size());
  for (const Keyed& one : buckets.sorted)
    ids.push_back(one.id);
  return ids;
}

void NameTable::make_room(std::size_t names) {
  if (2 * names <= slots_.size())
    return;
  LargeVector<Slot> larger(std::bit_ceil(2 * names), Slot{0, nobody});
  const std::size_t mask = larger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == nobody)
      continue;
    std::size_t place = slot.hash & mask;
    while (larger[place].id != nobody)
      place = (place + 1) & mask;
    larger[place] = slot;
  }
  slots_ = std::move(larger);
}

// The place of a name, or a free one where it can be put.
std::size_t NameTable::place_of(std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = hash & mask;
  for (; slots_[place].id != nobody; place = (place + 1) & mask) {
    const Slot& slot = slots_[place];
    if (slot.hash == hash && names_[static_cast<std::size_t>(slot.id)] == name)
      break;
  }
  return place;
}

// Enter all names into an empty table.
void NameTable::fill_slots(Steps* steps) {
  slots_.assign(std::bit_ceil(std::max(first_slots, 2 * names_.size())), Slot{0, nobody});
  for (std::size_t id = 0; id < names_.size(); ++id) {
    if (steps != nullptr)
      steps->take();
    const std::uint32_t hash = hash_(names_[id]);
    Slot& slot = slots_[place_of(names_[id], hash)];
    if (slot.id != nobody)
      throw std::invalid_argument("a name occurs twice");
    slot = {hash, static_cast<Id>(id)};
  }
}

// A copy of a text in a block of ours.
std::string_view NameTable::kept(std::string_view name) {
  if (name.size() > free_) {
    const std::size_t bytes = std::max(block_bytes, name.size());
    blocks_.emplace_back(new char[bytes]);
    free_ = bytes;
    block_end_ = blocks_.back().get() + bytes;
  }
  char* text = block_end_ - free_;
  std::copy(name.begin(), name.end(), text);
  free_ -= name.size();
  return {text, name.size()};
}

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = at + text.size();
  const auto goes_on = [&](std::ptrdiff_t place) {
    return place < end - at && (at[place] & 0xC0) == 0x80;
  };
  while (at < end) {
    if (*at < 0x80) {
      ++at;
    } else if (*at >= 0xC2 && *at <= 0xDF && goes_on(1)) {
      at += 2;
    } else if ((*at & 0xF0) == 0xE0 && goes_on(1) && goes_on(2)) {
      if (*at == 0xE0 && at[1] < 0xA0)
        return false;  // could be shorter
      at += 3;
    } else if (*at >= 0xF0 && *at <= 0xF4 && goes_on(1) && goes_on(2) && goes_on(3)) {
      if (*at == 0xF0 && at[1] < 0x90)
        return false;  // could be shorter
      if (*at == 0xF4 && at[1] >= 0x90)
        return false;  // above the last code point
      at += 4;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace casegraph
