// Like whom: the entities most like the one asked about, what they share, and what they answer.

import { toQuestion } from "../address.js";
import { element, joined } from "../dom.js";
import { label, named } from "../names.js";

const SHARED = 4;
const ANSWERS = 3;

/**
 * The neighbours of an explanation, or of an entity, as a list.
 *
 * howLike  says of a neighbour how like it is
 */
export function neighboursShown(neighbours, question, answer, howLike) {
  if (!neighbours.length) {
    return element("p", { class: "soft" }, "No entity with this relation shares a fact with it.");
  }
  return element(
    "ul",
    { class: "alike" },
    neighbours.map((one) => neighbourShown(one, question, answer, howLike)),
  );
}

/** The first facts or relations that a neighbour shares. */
export function sharedShown(neighbour) {
  return neighbour.shared.slice(0, SHARED).map(({ relation, inverse, entity }) => {
    const words = inverse ? `${label(relation)}⁻¹` : label(relation);
    return element("bdi", {}, entity === null ? words : `${words} ${label(entity)}`);
  });
}

function neighbourShown(neighbour, question, answer, howLike) {
  const asked = { ...question, entity: neighbour.entity };
  const answers = neighbour.answers.slice(0, ANSWERS).map((one) => named(one));
  const isSame = neighbour.answers.includes(answer);
  const more = neighbour.answers.length > ANSWERS ? " …" : "";
  const shared = sharedShown(neighbour);
  const rest = neighbour.shared.length - SHARED;
  return element(
    "li",
    {},
    element("a", { href: toQuestion(asked), class: "who" }, named(neighbour.entity)),
    element("span", { class: "like" }, howLike(neighbour)),
    answers.length
      ? element("span", { class: isSame ? "gives same" : "gives" }, joined(answers, ", "), more)
      : null,
    element(
      "small",
      {},
      "shares ",
      joined(shared, ", "),
      rest > 0 ? ` and ${rest} more` : null,
    ),
  );
}
