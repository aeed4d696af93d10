// Questions, facts and doubts as English sentences.
//
// A relation is called anything, so a sentence is chosen by the shape of its label:
//   treats      does  What does Metformin treat?        What treats pain?
//   citizen of  is    What is Einstein citizen of?      What is citizen of Japan?
//   capital     noun  What is the capital of France?    What has Paris as its capital?
//   died in     past  Einstein died in what?            What died in Princeton?
// The last one reads well for any other verb, too. What is no plain English is taken for a noun.

const PREPOSITIONS = new Set(
  [
    "about above after against among around as at before behind below beside between beyond",
    "by during for from in inside into like near of off on onto over through to toward",
    "towards under until upon via with within without",
  ]
    .join(" ")
    .split(" "),
);
const PAST_VERBS = new Set(
  [
    "acted appeared attended began collaborated competed corresponded died emigrated fought",
    "graduated immigrated lectured lived moved participated performed played reigned resided",
    "retired served settled starred studied taught trained travelled went worked wrote",
  ]
    .join(" ")
    .split(" "),
);
const COPULAS = new Set(["is", "are", "was", "were", "has", "had", "can", "may", "did", "does"]);
const PLAIN = /^[a-z]+( [a-z]+)*$/i;
const VERB = /[a-z]{2}[^siu]s$/i;

/** The kind of sentence in which a relation reads well. */
export function kindOf(relation) {
  if (!PLAIN.test(relation)) return "noun";
  const words = relation.toLowerCase().split(" ");
  const [first] = words;
  const endsInPreposition = PREPOSITIONS.has(words.at(-1));
  if (COPULAS.has(first) || PAST_VERBS.has(first)) return "past";
  const isVerb = VERB.test(first);
  if (isVerb && (words.length === 1 || endsInPreposition)) return "does";
  if (isVerb) return "past";
  return endsInPreposition ? "is" : "noun";
}

/** The verb without its ending: treats, treat; carries, carry; teaches, teach. */
export function infinitive(relation) {
  const [verb, ...rest] = relation.split(" ");
  const bare = verb
    .replace(/ies$/, "y")
    .replace(/(ch|sh|ss|x|z|o)es$/, "$1")
    .replace(/([^s])s$/, "$1");
  return [bare, ...rest].join(" ");
}

/** What is asked for, at the beginning of a question. */
function asked(type) {
  return type ? `Which ${type.toLowerCase()}` : "What";
}

/**
 * A question as parts, in the order of reading: texts, {entity} and {relation}.
 *
 * type  of what is asked for, if it is known
 */
export function questionParts({ entity, wanted }, relationLabel, type = "") {
  const what = asked(type);
  const subject = { entity };
  const verb = { relation: relationLabel };
  const kind = kindOf(relationLabel);
  if (wanted === "head") {
    if (kind === "noun") return [`${what} has`, subject, "as its", verb, "?"];
    if (kind === "is") return [`${what} is`, verb, subject, "?"];
    return [what, verb, subject, "?"];
  }
  if (kind === "noun") return [`${what} is the`, verb, "of", subject, "?"];
  if (kind === "is") return [`${what} is`, subject, verb, "?"];
  if (kind === "does") {
    return [`${what} does`, subject, { relation: infinitive(relationLabel) }, "?"];
  }
  return [subject, verb, `${what.toLowerCase()}?`];
}

/** A question as one text. */
export function questionText(question, labelOf, type = "") {
  const parts = questionParts(question, labelOf(question.relation), type);
  const words = parts.map((part) => {
    if (typeof part === "string") return part;
    return part.relation ?? labelOf(part.entity);
  });
  return words.join(" ").replace(/ \?$/, "?");
}

/** A fact as parts: {entity}, a text, {entity}. */
export function factParts([head, relation, tail], labelOf) {
  const words = labelOf(relation);
  const kind = kindOf(words);
  if (kind === "noun") return [{ entity: tail }, `is the ${words} of`, { entity: head }];
  if (kind === "is") return [{ entity: head }, `is ${words}`, { entity: tail }];
  return [{ entity: head }, words, { entity: tail }];
}

/** That a fact were not so, as parts. */
export function doubtParts([head, relation, tail], labelOf) {
  const words = labelOf(relation);
  const kind = kindOf(words);
  if (kind === "noun") return [{ entity: tail }, `were not the ${words} of`, { entity: head }];
  if (kind === "is") return [{ entity: head }, `were not ${words}`, { entity: tail }];
  if (kind === "does") return [{ entity: head }, `did not ${infinitive(words)}`, { entity: tail }];
  return ["it were not so that", { entity: head }, words, { entity: tail }];
}

/** That a fact were so, as parts. */
export function wishParts([head, relation, tail], labelOf) {
  const words = labelOf(relation);
  const kind = kindOf(words);
  if (kind === "noun") return [{ entity: tail }, `were the ${words} of`, { entity: head }];
  if (kind === "is") return [{ entity: head }, `were ${words}`, { entity: tail }];
  if (kind === "does") return [{ entity: head }, `did ${infinitive(words)}`, { entity: tail }];
  return [{ entity: head }, words, { entity: tail }];
}

/** Parts as one text. */
export function asText(parts, labelOf) {
  return parts.map((part) => (typeof part === "string" ? part : labelOf(part.entity))).join(" ");
}
