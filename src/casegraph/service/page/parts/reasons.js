// Why: each reason as a sentence with its share of the score, opening into what it is based on.

import { change, here, toQuestion } from "../address.js";
import { retract } from "../changing.js";
import { button, element, newId } from "../dom.js";
import { counted, entityLink, named, percent, signed } from "../names.js";
import { drawDescent } from "./descent.js";
import { doubt, factSentence } from "./fact.js";
import { drawPaths } from "./paths.js";
import { pathType } from "./pathtypes.js";

const SHOWN = 6; // reasons before "more"
const FACTS_SHOWN = 4;
const OF_ASKED = ["path", "precedents"]; // whose precedents have the relation

/**
 * The reasons of an explanation, those with the largest share first.
 *
 * open  the keys of the reasons that are open; it is kept up to date
 */
export function reasonsShown(explanation, open) {
  const reasons = largestFirst(explanation);
  const isOpen = reasons.some((reason) => open.has(keyOf(reason)));
  if (!isOpen && reasons.length) open.add(keyOf(reasons[0]));
  const largest = reasons[0]?.share ?? 0;
  const nodes = reasons.map((reason) => reasonShown(explanation, reason, largest, open));
  const rest = nodes.slice(SHOWN);
  if (!rest.length) return nodes;
  const share = reasons.slice(SHOWN).reduce((sum, reason) => sum + reason.share, 0);
  const part = percent(partOf(share, explanation));
  const words = `${counted(rest.length, "more reason")}, ${part} of the score`;
  const more = button(words, () => more.replaceWith(...rest), { class: "button wide" });
  return [...nodes.slice(0, SHOWN), more];
}

function largestFirst(explanation) {
  return explanation.reasons.toSorted((one, other) => other.share - one.share);
}

/** A share of the score as a part of 1. */
function partOf(share, { answer }) {
  return answer.score ? share / answer.score : 0;
}

/** The paths of a reason, each with its entities and the steps between them. */
function pathsOf({ paths, steps }) {
  return paths.map((entities) => ({ entities, steps }));
}

/** What tells a reason from the others of the same answer. */
function keyOf(reason) {
  return JSON.stringify([reason.kind, reason.steps]);
}

function reasonShown(explanation, reason, largest, open) {
  const key = keyOf(reason);
  const length = largest > 0 ? Math.max(0, reason.share / largest) : 0;
  const bodyId = newId("reason");
  const body = element("div", { class: "body", id: bodyId, hidden: true });
  const head = element(
    "button",
    {
      type: "button",
      class: "head",
      "data-key": key,
      "aria-expanded": "false",
      "aria-controls": bodyId,
    },
    element(
      "span",
      { class: "share" },
      percent(partOf(reason.share, explanation)),
      element("span", { class: "bar", lengths: { part: length } }),
    ),
    element("span", { class: "says" }, saysOf(reason)),
  );
  const toggle = (isOpen) => {
    if (isOpen && !body.hasChildNodes()) body.append(...bodyOf(explanation, reason));
    body.hidden = !isOpen;
    head.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) open.add(key);
    else open.delete(key);
  };
  head.addEventListener("click", () => toggle(body.hidden));
  toggle(open.has(key));
  return element("div", { class: "reason" }, head, body);
}

/** What a reason states, with its kind beside it; a path type is drawn as arrows. */
function saysOf({ kind, steps, statement }) {
  if (kind === "path") {
    return [pathType(steps), element("small", {}, `path · ${statement}`)];
  }
  const sentence = `${statement[0].toUpperCase()}${statement.slice(1)}.`;
  return [sentence, element("small", {}, kind)];
}

function bodyOf(explanation, reason) {
  const { question, answer } = explanation;
  const predicted = { ...question, known: answer.known };
  const drawings = reason.paths.length
    ? element("div", { class: "scroll", tabindex: "0" }, drawPaths(pathsOf(reason), predicted))
    : null;
  drawings?.setAttribute("role", "group");
  drawings?.setAttribute("aria-label", "paths walked");
  const more = reason.more ? element("p", { class: "soft" }, "There are more such paths.") : null;
  const parts = [drawings, more, precedentsOf(explanation, reason), factsOf(reason)];
  return parts.filter((part) => part !== null);
}

/**
 * Those it worked for, and those it failed for; each is a link to the same question about it.
 *
 * Where they were weighed, each has its weight beside it.
 */
function precedentsOf(explanation, reason) {
  const link = (name) => {
    const isAsked = OF_ASKED.includes(reason.kind);
    if (!isAsked) return entityLink(name);
    const question = { ...explanation.question, entity: name };
    return element("a", { href: toQuestion(question), class: "precedent" }, named(name));
  };
  const listed = (words, names, kind, weights = []) => {
    if (!names.length) return null;
    const items = names.map((name, place) => {
      const weight = weights[place];
      return element("li", {}, link(name), weight === undefined ? null : ` ${signed(weight)}`);
    });
    const title = element("span", { class: "title" }, words);
    return element("div", { class: `precedents ${kind}` }, title, element("ul", {}, items));
  };
  const worked = reason.kind === "answers" ? "Like the answers" : "It worked for";
  const lists = [
    listed(worked, reason.precedents, "worked", reason.weights),
    listed("It failed for", reason.failures, "failed"),
  ];
  return lists.some((list) => list !== null) ? element("div", {}, lists) : null;
}

/** What it is based on: each fact can be doubted, or retracted. */
function factsOf(reason) {
  if (!reason.facts.length) return null;
  const isPast = here().parameters.as_of !== undefined;
  const items = reason.facts.map((fact) =>
    element(
      "li",
      {},
      element("span", { class: "grow" }, factSentence(fact)),
      button(["What if ", doubt(fact), "?"], () => imagine(fact), { class: "button what-if" }),
      isPast ? null : button("Retract", () => retract(fact), { class: "button quiet" }),
    ),
  );
  const list = element("ul", { class: "rests-on" }, items.slice(0, FACTS_SHOWN));
  const rest = items.slice(FACTS_SHOWN);
  const more = rest.length
    ? button(counted(rest.length, "more fact"), () => {
        more.remove();
        list.append(...rest);
      })
    : null;
  return element("div", {}, element("span", { class: "title" }, "Based on"), list, more);
}

/** Ask a world without a fact, besides those that are doubted already. */
function imagine(fact) {
  const { without } = here().parameters;
  const isThere = without.some((one) => JSON.stringify(one) === JSON.stringify(fact));
  if (!isThere) change({ without: [...without, fact] });
}

/** The paths of all reasons as one drawing: those of the largest reasons first. */
export function overallDrawing(explanation, most = 3) {
  const paths = largestFirst(explanation).flatMap(pathsOf).slice(0, most);
  if (!paths.length) return null;
  return drawDescent(paths, { ...explanation.question, known: explanation.answer.known });
}

/** How many reasons there are, as a sentence. */
export function summaryOf(explanation) {
  const count = explanation.reasons.filter((reason) => reason.share > 0).length;
  if (!count) return "Nothing supports it.";
  const one = "One reason supports it.";
  const several = `${count} reasons support it.`;
  return count === 1 ? one : several;
}

