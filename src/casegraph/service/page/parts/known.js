// The answers that are facts already, apart from the new ones.

import { get } from "../api.js";
import { to } from "../address.js";
import { profile } from "../catalogue.js";
import { element, joined } from "../dom.js";
import { learn, named, number } from "../names.js";
import { askedFor, TOP } from "./asking.js";

const SHOWN = 12;
const MOST_ANSWERS = 200; // that are looked through for known ones
const MOST_FACTS = 1000; // that are looked through for others

/** The answers that are facts already, where they are not in the list. */
export async function knownShown(parameters, found, answer, signal) {
  if (parameters.known === "mark") return null;
  const { entity, relation, wanted } = found.question;
  const own = await profile(entity, parameters.as_of);
  const isOwn = (one) => one.relation === relation && one.inverse === (wanted === "head");
  const count = own.profile.find(isOwn)?.count ?? 0;
  if (!count) return null;
  const known = await knownAnswers(parameters, found.question, count, signal);
  const links = known.slice(0, SHOWN).map((one) => {
    const address = to("ask", { ...parameters, answer: one });
    const isShown = one === answer ? "true" : null;
    return element("a", { href: address, "aria-current": isShown }, named(one));
  });
  const rest = count - links.length;
  const more = rest > 0 ? ` and ${number(rest)} more` : null;
  const title = element("span", { class: "title" }, "Known answers");
  return element("p", { class: "known-already" }, title, joined(links, ", "), more);
}

/** The known answers: those that evidence speaks for, the best first, and then others. */
async function knownAnswers(parameters, question, count, signal) {
  const { entity, relation, wanted } = question;
  const top = Math.min(count + TOP, MOST_ANSWERS);
  const asked = { ...askedFor(parameters), known: "mark", top };
  const marked = learn(await get("ask", asked, signal));
  const known = marked.answers.filter((one) => one.known).map((one) => one.entity);
  if (known.length >= Math.min(count, SHOWN)) return known;
  const own = { entity, limit: MOST_FACTS, as_of: parameters.as_of };
  const { facts } = learn(await get("entity", own, signal));
  const [mine, other] = wanted === "head" ? [2, 0] : [0, 2];
  const isKnown = (fact) => fact[mine] === entity && fact[1] === relation;
  const others = facts.filter(isKnown).map((fact) => fact[other]);
  return [...new Set([...known, ...others])];
}
