#include "answering/workspace.hpp"

namespace casegraph {
namespace {

std::size_t entities_of(const Workspace& workspace) { return workspace.counts.of.size(); }

}  // namespace

std::unique_ptr<Workspace> Workspaces::take(std::size_t entities) {
  const std::lock_guard lock(guard_);
  const bool is_for_another_graph = !waiting_.empty() && entities_of(*waiting_.back()) != entities;
  if (is_for_another_graph) waiting_.clear();
  if (waiting_.empty()) return std::make_unique<Workspace>(entities);
  std::unique_ptr<Workspace> next = std::move(waiting_.back());
  waiting_.pop_back();
  return next;
}

const FactSimilarity& Workspaces::similarity(std::size_t entities, Count living) {
  const std::lock_guard lock(guard_);
  if (similarity_ == nullptr)
    similarity_ = std::make_unique<const FactSimilarity>(entities, living);
  return *similarity_;
}

void Workspaces::give_back(std::unique_ptr<Workspace> used) {
  std::size_t held = 0;
  for (const Frontier& frontier : used->frontiers)
    held += frontier.paths.capacity() + frontier.more.capacity();
  if (held > most_held) used->frontiers.clear();

  const std::lock_guard lock(guard_);
  const bool is_for_another_graph =
      !waiting_.empty() && entities_of(*waiting_.back()) != entities_of(*used);
  if (!is_for_another_graph) waiting_.push_back(std::move(used));
}

}  // namespace casegraph
