// Options for the fields: entities by name, and the directions of relations that exist.

import { get } from "../api.js";
import { info, profile, profilesAlike, relations } from "../catalogue.js";
import { counted, label, learn } from "../names.js";
import { questionText } from "../wording.js";

const MOST = 60; // directions in a list

/** Entities by parts of their names; the largest ones if nothing is typed. */
export async function entitiesFor(text, asOf) {
  const hits = text
    ? learn(await get("search", { words: text, top: 12, as_of: asOf })).hits
    : (await info(asOf)).largest;
  return hits.map((hit) => ({
    value: hit.entity,
    words: hit.label || hit.entity,
    detail: [...hit.types.slice(0, 2).map(label), counted(hit.facts, "fact")].join(" · "),
  }));
}

/** The relations whose name or label has all these words in it. */
export async function relationsFor(text, asOf) {
  const found = (await relations(asOf)).filter((one) => matches(text, label(one.relation)));
  return found.slice(0, MOST).map((one) => ({
    value: one.relation,
    words: label(one.relation),
    detail: counted(one.facts, "fact"),
  }));
}

/**
 * Questions about an entity, as sentences: first those with answers that are known, then those that
 * entities like it have answers to, then the rest.
 */
export async function directionsFor(entity, text, asOf) {
  const [all, own, alike] = await Promise.all([
    relations(asOf),
    profile(entity, asOf),
    profilesAlike(entity, asOf),
  ]);
  const known = new Map(own.profile.map((one) => [key(one.relation, one.inverse), one.count]));
  const having = new Map();
  for (const group of alike.flatMap((one) => one.profile)) {
    const direction = key(group.relation, group.inverse);
    having.set(direction, (having.get(direction) ?? 0) + 1);
  }
  const options = [];
  for (const relation of all) {
    for (const wanted of ["tail", "head"]) {
      const question = { entity, relation: relation.relation, wanted };
      const words = questionText(question, label);
      const direction = key(relation.relation, wanted === "head");
      const count = known.get(direction) ?? 0;
      const others = having.get(direction) ?? 0;
      if (matches(text, `${label(relation.relation)} ${words}`)) {
        options.push({ value: question, words, count, others, facts: relation.facts });
      }
    }
  }
  options.sort(
    (one, other) =>
      other.count - one.count || other.others - one.others || other.facts - one.facts,
  );
  return options.slice(0, MOST).map((option) => ({ ...option, detail: detailOf(option) }));
}

function detailOf(option) {
  if (option.count) return `${counted(option.count, "answer")} known`;
  return option.others ? "others like it have answers" : "nothing like it has answers";
}

function key(relation, isInverse) {
  return `${isInverse ? "<" : ">"}${relation}`;
}

function matches(text, words) {
  const within = words.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => within.includes(part));
}
