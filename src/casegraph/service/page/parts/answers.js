// What: the ranked answers, and how they moved since they were shown last.

import { change, here, to } from "../address.js";
import { element, mayMove, refill } from "../dom.js";
import { label, named, percent } from "../names.js";
import { say } from "../toasts.js";

const MOVING = 450; // milliseconds

/**
 * Show answers in a list, and mark what is different from those before.
 *
 * before   the answers to the same question before it changed, or null
 * isFresh  whether it changed just now
 */
export function showAnswers(list, found, selected, { before, isFresh }) {
  const places = placesOf(list);
  const best = Math.max(...found.answers.map((answer) => answer.score), 0);
  const moves = movesBetween(before, found);
  refill(
    list,
    found.answers.map((answer) => row(answer, { best, selected, move: moves.get(answer.entity) })),
  );
  list.classList.toggle("fresh", isFresh);
  slide(list, places);
  if (isFresh) tell(before, found, moves);
}

function row(answer, { best, selected, move }) {
  const isSelected = answer.entity === selected;
  const { view, parameters } = here();
  const address = to(view, { ...parameters, answer: answer.entity });
  const link = element(
    "a",
    {
      href: address,
      class: "answer",
      "data-key": answer.entity,
      "aria-current": isSelected ? "true" : null,
    },
    element("span", { class: "rank" }, answer.rank),
    element("span", { class: "name" }, named(answer.entity), markOf(answer), moved(move)),
    element("span", { class: "worth" }, worthOf(answer)),
    element("span", { class: "bar", lengths: { part: partOf(answer, best) } }),
  );
  const kind = [answer.known ? "known" : "", move ? "changed" : ""].join(" ").trim();
  return element("li", { "data-entity": answer.entity, class: kind || null }, link);
}

function markOf(answer) {
  return answer.known ? element("span", { class: "tag known" }, "known fact") : null;
}

/** What the number beside an answer says: its probability, or its score if there is none. */
export function worthOf(answer) {
  if (answer.probability !== null) return percent(answer.probability);
  return answer.score.toFixed(2);
}

function partOf(answer, best) {
  if (answer.probability !== null) return answer.probability;
  return best ? answer.score / best : 0;
}

/** How answers moved: {by: ranks up, down if negative}, {was: worth, isMore}, or {isNew}. */
function movesBetween(before, found) {
  const moves = new Map();
  if (!before) return moves;
  const ranks = new Map(before.answers.map((answer) => [answer.entity, answer]));
  for (const answer of found.answers) {
    const earlier = ranks.get(answer.entity);
    const by = earlier ? earlier.rank - answer.rank : 0;
    const was = earlier ? worthOf(earlier) : "";
    if (!earlier) moves.set(answer.entity, { isNew: true });
    else if (by) moves.set(answer.entity, { by });
    else if (was !== worthOf(answer)) {
      moves.set(answer.entity, { was, isMore: answer.score > earlier.score });
    }
  }
  return moves;
}

function moved(move) {
  if (move === undefined) return null;
  if (move.isNew) return element("span", { class: "move up" }, "new here");
  if (move.was) {
    const kind = move.isMore ? "move up" : "move down";
    return element("span", { class: kind }, `was ${move.was}`);
  }
  const isUp = move.by > 0;
  const ranks = Math.abs(move.by);
  const words = `${isUp ? "up" : "down"} ${ranks}`;
  const kind = isUp ? "move up" : "move down";
  const attributes = { class: kind, role: "img", "aria-label": words };
  return element("span", attributes, `${isUp ? "▲" : "▼"} ${ranks}`);
}

function tell(before, found, moves) {
  if (!moves.size || !found.answers.length) return;
  const first = found.answers[0].entity;
  const was = before.answers[0]?.entity;
  const is = first === was ? "is still first" : "is first now";
  say(`The ranking changed: ${label(first)} ${is}.`);
}

function placesOf(list) {
  const places = new Map();
  for (const item of list.children) {
    places.set(item.dataset.entity, item.getBoundingClientRect().top);
  }
  return places;
}

/** Let rows slide from where they were to where they are. */
function slide(list, places) {
  if (!mayMove()) return;
  for (const item of list.children) {
    const earlier = places.get(item.dataset.entity);
    const by = earlier === undefined ? 0 : earlier - item.getBoundingClientRect().top;
    if (by) {
      const frames = [{ transform: `translateY(${by}px)` }, { transform: "none" }];
      item.animate(frames, { duration: MOVING, easing: "cubic-bezier(.2,.8,.2,1)" });
    }
  }
}

/** Go to the answer before or after the one that is selected, with the arrow keys. */
export function moveByKeys(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const link = event.target.closest("a.answer");
  if (!step || !link) return;
  const links = [...event.currentTarget.querySelectorAll("a.answer")];
  const next = links[links.indexOf(link) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
  change({ answer: next.closest("li").dataset.entity }, { replace: true });
}
