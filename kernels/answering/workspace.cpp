#include "answering/workspace.hpp"

namespace casegraph {
namespace {

std::size_t entities_of(const Workspace& workspace) {
  return workspace.nearness.entities();
}

}  // namespace

std::unique_ptr<Workspaces> Workspaces::of_another_state() const {
  return std::unique_ptr<Workspaces>(new Workspaces(pool_));
}

std::unique_ptr<Workspace> Workspaces::take(std::size_t entities) {
  std::unique_lock lock(pool_->guard);
  auto& waiting = pool_->waiting;
  const bool is_for_another_graph = !waiting.empty() && entities_of(*waiting.back()) != entities;
  if (is_for_another_graph)
    waiting.clear();
  if (!waiting.empty()) {
    std::unique_ptr<Workspace> next = std::move(waiting.back());
    waiting.pop_back();
    return next;
  }
  lock.unlock();
  return std::make_unique<Workspace>(entities);
}

void Workspaces::give_back(std::unique_ptr<Workspace> used) {
  std::size_t held = 0;
  for (const Frontier& frontier : used->frontiers)
    held += frontier.paths.capacity() + frontier.more.capacity();
  if (held > most_held)
    used->frontiers.clear();

  const std::lock_guard lock(pool_->guard);
  auto& waiting = pool_->waiting;
  const bool is_for_another_graph =
      !waiting.empty() && entities_of(*waiting.back()) != entities_of(*used);
  if (!is_for_another_graph)
    waiting.push_back(std::move(used));
}

}  // namespace casegraph
