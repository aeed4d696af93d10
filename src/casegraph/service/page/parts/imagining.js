// What if: the same question to a world that is not, and counterfactuals.

import { post, update } from "../api.js";
import { change, go, here } from "../address.js";
import { button, element, fill, joined } from "../dom.js";
import { counted, learn, named, number, percent } from "../names.js";
import { toast } from "../toasts.js";
import { doubt, factSentence, isSame, wish } from "./fact.js";
import { worthOf } from "./answers.js";

const TOP = 10;

/**
 * Show the answers before and after the facts that the address doubts or wishes.
 *
 * answer  the one that is looked at
 */
export async function showImagined(node, question, answer, parameters, signal) {
  const { without, with: wished } = parameters;
  node.hidden = !without.length && !wished.length;
  if (node.hidden) return;
  const body = {
    question,
    add: wished,
    retract: without,
    top: TOP,
    known: parameters.known === "mark" ? "mark" : "exclude",
    as_of: parameters.as_of ? Number(parameters.as_of) : null,
  };
  fill(node, headline(without, wished), element("p", { class: "soft" }, "Asking …"));
  try {
    const imagined = await post("what-if", body, signal);
    learn(imagined.before);
    learn(imagined.after);
    const changed = imagined.moves.filter((move) => isChanged(imagined, move));
    fill(
      node,
      headline(without, wished),
      verdict(imagined, answer),
      changed.length ? table(imagined, changed) : null,
      rest(imagined.moves.length - changed.length),
      actions(parameters),
    );
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    fill(node, headline(without, wished), element("p", { class: "bad" }, problem.message));
    node.append(actions(parameters));
  }
}

function headline(without, wished) {
  const clauses = [
    ...without.map((fact) => clause(doubt(fact), "without", fact)),
    ...wished.map((fact) => clause(wish(fact), "with", fact)),
  ];
  return element("h2", { class: "as-is" }, "What if ", joined(clauses, " and "), "?");
}

/** A doubt or a wish, with a button that takes it back. */
function clause(words, list, fact) {
  const dropped = () => {
    const rest = here().parameters[list].filter((one) => !isSame(one, fact));
    change({ [list]: rest });
  };
  const attributes = { class: "plain", "aria-label": "take this back" };
  return element("span", { class: "clause" }, words, button("×", dropped, attributes));
}

/** The outcome as sentences: what becomes of the answer that is looked at, and who comes first. */
function verdict({ before, after }, answer) {
  const was = find(before, answer);
  const is = find(after, answer);
  const first = after.answers[0]?.entity;
  const isOther = first !== undefined && first !== before.answers[0]?.entity;
  return element(
    "p",
    { class: "verdict" },
    first === undefined ? ["There would be no answer. ", after.note] : fate(answer, was, is),
    isOther && first !== answer ? [" ", named(first), " would come first."] : null,
  );
}

function fate(answer, was, is) {
  const who = element("b", {}, named(answer));
  if (!was && !is) return [who, " would not be among the first, as it is not now."];
  if (!is) return [who, " would no longer be among the first."];
  if (!was) return [who, ` would come in at rank ${is.rank}.`];
  const worths = `${worthOf(was)} to ${worthOf(is)}`;
  const worth = worthOf(was) === worthOf(is) ? "" : `, from ${worths}`;
  if (is.rank === was.rank) return [who, ` would stay at rank ${is.rank}${worth}.`];
  const way = is.rank < was.rank ? "rise" : "fall";
  return [who, ` would ${way} from rank ${was.rank} to rank ${is.rank}${worth}.`];
}

function find({ answers }, entity) {
  return answers.find((answer) => answer.entity === entity);
}

function isChanged({ before, after }, move) {
  if (move.before !== move.after) return true;
  return worthOf(find(before, move.entity)) !== worthOf(find(after, move.entity));
}

function rest(count) {
  if (!count) return null;
  return element("p", { class: "soft" }, `${counted(count, "answer")} would stay as they are.`);
}

function table({ before, after }, moves) {
  const rows = moves.map((move) => {
    const was = find(before, move.entity);
    const is = find(after, move.entity);
    return element(
      "tr",
      { class: kindOf(move) },
      element("td", {}, named(move.entity)),
      cell(move.before),
      cell(was ? worthOf(was) : null),
      element("td", { class: "arrow", "aria-hidden": "true" }, signOf(move)),
      cell(move.after),
      cell(is ? worthOf(is) : null),
    );
  });
  const value = before.none_probability === null ? "score" : "probability";
  const heads = ["answer", "rank", value, "", "new rank", `new ${value}`];
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": "ranks before and after" },
    element(
      "table",
      { class: "moves" },
      element("thead", {}, element("tr", {}, heads.map(headCell))),
      element("tbody", {}, rows),
    ),
  );
}

function headCell(words) {
  return words ? element("th", { scope: "col" }, words) : element("td", {});
}

function cell(value) {
  return element("td", { class: "number" }, value ?? "–");
}

function kindOf(move) {
  if (move.before === move.after) {
    return move.score_after < move.score_before ? "falls" : "rises";
  }
  const isUp = move.after !== null && (move.before === null || move.after < move.before);
  return isUp ? "rises" : "falls";
}

function signOf(move) {
  const isSameRank = move.before === move.after;
  const signs = isSameRank ? { rises: "+", falls: "−" } : { rises: "▲", falls: "▼" };
  return signs[kindOf(move)];
}

function actions(parameters) {
  const { without, with: wished } = parameters;
  const back = () => change({ without: [], with: [] });
  const forReal = async () => {
    try {
      await update({ retract: without, add: wished });
      toast("The changes were saved.", {
        undo: () => update({ add: without, retract: wished }),
      });
      back();
    } catch (problem) {
      toast(`Not done: ${problem.message}`, { isBad: true });
    }
  };
  return element(
    "p",
    { class: "row" },
    element("span", { class: "soft grow" }, "Nothing has been saved."),
    button("Discard", back),
    button("Save these changes", forReal),
  );
}

/**
 * A button that finds the fewest facts without which the answer loses its rank or half of its
 * probability, after words.
 */
export function counterfactual(question, answer, parameters, words) {
  const found = element("div", { "aria-live": "polite" });
  const find = async () => {
    fill(found, element("p", { class: "soft" }, "Looking for the fewest facts that matter …"));
    try {
      const body = { question, answer, as_of: parameters.as_of ? Number(parameters.as_of) : null };
      fill(found, mindShown(learn(await post("counterfactual", body))));
    } catch (problem) {
      fill(found, element("p", { class: "bad" }, problem.message));
    }
  };
  return element(
    "div",
    { class: "mind" },
    element(
      "p",
      { class: "row" },
      element("span", { class: "soft grow" }, words),
      button("What would change this?", find),
    ),
    found,
  );
}

function mindShown(mind) {
  const tried = `${number(mind.tried)} combinations were tried`;
  if (!mind.facts.length) {
    const facts = `up to three of the ${number(mind.considered)} facts behind it`;
    const words = mind.is_smallest
      ? `It would stay, whichever ${facts} were missing.`
      : `No ${facts} were found without which it would lose its rank or half of its probability.`;
    return element("p", {}, words, element("small", {}, tried));
  }
  const facts = mind.facts.map((fact) => element("li", {}, factSentence(fact)));
  const smallest = mind.is_smallest ? "no smaller set is enough" : "there may be a smaller set";
  return element(
    "div",
    { class: "mind-found" },
    element("p", {}, facts.length === 1 ? "Without this fact" : "Without these facts"),
    element("ul", {}, facts),
    element("p", {}, rankThen(mind)),
    element("p", {}, probabilityThen(mind)),
    element("small", {}, `${smallest}; ${tried}`),
    element("p", { class: "row" }, button("Show this ranking", () => imagineWithout(mind.facts))),
  );
}

/** How the rank of the answer would change, if it would. */
function rankThen({ answer, instead, rank, rank_then: then }) {
  if (then !== null && then <= rank) return [];
  if (!instead) return ["there would be no answer."];
  const entity = named(answer.entity);
  if (rank === 1) return [named(instead), " would come first instead of ", entity, "."];
  if (then === null) return [entity, " would not be found."];
  return [entity, ` would fall from rank ${rank} to ${then}.`];
}

/** How its probability would change, if there is one. */
function probabilityThen({ answer, probability, probability_then: then }) {
  if (probability === null || then === null) return [];
  const change = `from ${percent(probability)} to ${percent(then)}.`;
  return ["the probability of ", named(answer.entity), ` would change ${change}`];
}

function imagineWithout(facts) {
  const { view, parameters } = here();
  go(view, { ...parameters, without: facts, with: [] });
  document.getElementById("imagined")?.scrollIntoView({ block: "nearest" });
}
