// Problems, in sentences, with what can be done about them.

import { get } from "../api.js";
import { change, to } from "../address.js";
import { button, element } from "../dom.js";
import { learn, named } from "../names.js";

/** A problem with a question; for a name that is unknown, the names that may be meant. */
export async function problemShown(problem, parameters) {
  const { kind, name, names } = problem.document ?? {};
  const field = kind === "relation" ? "relation" : "entity";
  const meant = names ?? (kind ? await namesLike(kind, name, parameters) : []);
  return element(
    "div",
    { class: "notice bad", role: "alert" },
    element("p", {}, sentence(meant.length ? withoutHint(problem.message) : problem.message)),
    meant.length
      ? element("p", { class: "row" }, "Did you mean ", meant.map((one) => choice(field, one)), "?")
      : null,
    kind === "entity" && !meant.length ? advice() : null,
    problem.status === 503 ? button("Try again", () => change({})) : null,
  );
}

function advice() {
  const toAdd = element("a", { href: to("add") }, "add facts about this one");
  return element("p", {}, "Ask about another name, or ", toAdd, ".");
}

function sentence(text) {
  const end = /[.?!]$/.test(text) ? "" : ".";
  return `${text[0].toUpperCase()}${text.slice(1)}${end}`;
}

/** The message without the names that it offers: there are buttons for them. */
function withoutHint(message) {
  return message.replace(/; did you mean .*$/s, "");
}

function choice(field, name) {
  return button(named(name), () => change({ [field]: name }));
}

async function namesLike(kind, name, parameters) {
  if (kind !== "entity" || !name) return [];
  const words = name.trim().split(/\s+/);
  for (const part of [name, ...words, name.slice(0, 4)]) {
    if (part.length < 3) continue;
    const found = await get("search", { words: part, top: 5, as_of: parameters.as_of });
    if (found.hits.length) return learn(found).hits.map((hit) => hit.entity);
  }
  return [];
}

/** A problem in the place of a whole view. */
export function problemPage(problem) {
  return element(
    "div",
    { class: "page" },
    element("h1", {}, "That did not work"),
    element("p", { class: "notice bad", role: "alert" }, sentence(problem.message)),
    element("p", {}, element("a", { href: "#ask" }, "Back to questions")),
  );
}
