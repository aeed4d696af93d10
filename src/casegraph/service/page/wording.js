// Questions, facts and doubts as English sentences.
//
// A relation is called anything, so a sentence is chosen by the shape of its label:
//   treats      does  What does Metformin treat?        What treats pain?
//   citizen of  is    What is Einstein citizen of?      What is citizen of Japan?
//   born in     is    What was Einstein born in?        What was born in Ulm?
//   capital     noun  What is the capital of France?    What has Paris as its capital?
//   died in     past  What did Einstein die in?         What died in Princeton?
//   has part    other Einstein has part what?           What has part Ulm?
//   _hypernym   arrow Metformin — _hypernym → ?         ? — _hypernym → Metformin
// "other" reads well for any other verb, too. An arrow stands where a sentence may be wrong: for
// identifiers, and for phrases such as "compound treats disease".

const PREPOSITIONS = new Set(
  [
    "about above after against among around as at before behind below beside between beyond",
    "by during for from in inside into like near of off on onto over through to toward",
    "towards under until upon via with within without",
  ]
    .join(" ")
    .split(" "),
);
// Verbs in the past, each with its infinitive.
const PAST_VERBS = new Map(
  [
    "acted:act appeared:appear attended:attend began:begin collaborated:collaborate",
    "competed:compete corresponded:correspond died:die emigrated:emigrate fought:fight",
    "graduated:graduate immigrated:immigrate lectured:lecture lived:live moved:move",
    "participated:participate performed:perform played:play reigned:reign resided:reside",
    "retired:retire served:serve settled:settle starred:star studied:study taught:teach",
    "trained:train travelled:travel went:go worked:work wrote:write",
  ]
    .join(" ")
    .split(" ")
    .map((pair) => pair.split(":")),
);
const COPULAS = new Set(["is", "are", "was", "were", "has", "had", "can", "may", "did", "does"]);
const OPEN = "→\u00a0?";
const PLAIN = /^[a-z]+( [a-z]+)*$/i;
const VERB = /[a-z]{2}[^siu]s$/i;

/** The kind of sentence in which a relation reads well. */
export function kindOf(relation) {
  if (!PLAIN.test(relation)) return "arrow";
  const words = relation.toLowerCase().split(" ");
  const [first] = words;
  const endsInPreposition = PREPOSITIONS.has(words.at(-1));
  if (PAST_VERBS.has(first)) return "past";
  if (COPULAS.has(first)) return "other";
  const isVerb = VERB.test(first);
  if (isVerb && (words.length === 1 || endsInPreposition)) return "does";
  if (isVerb) return "other";
  if (endsInPreposition) return "is";
  const isPhrase = words.length > 2 || words.slice(1).some((word) => VERB.test(word));
  return isPhrase ? "arrow" : "noun";
}

/** The verb without its ending: treats, treat; carries, carry; teaches, teach; died, die. */
export function infinitive(relation) {
  const [verb, ...rest] = relation.split(" ");
  const past = PAST_VERBS.get(verb.toLowerCase());
  if (past) return [past, ...rest].join(" ");
  const bare = verb
    .replace(/ies$/, "y")
    .replace(/(ch|sh|ss|x|z|o)es$/, "$1")
    .replace(/([^s])s$/, "$1");
  return [bare, ...rest].join(" ");
}

/** The form of "to be" before a relation: one is born once. */
export function be(relation) {
  return /^born\b/i.test(relation) ? "was" : "is";
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
  if (kind === "arrow") {
    return wanted === "head" ? ["? —", verb, "→", subject] : [subject, "—", verb, OPEN];
  }
  if (wanted === "head") {
    if (kind === "noun") return [`${what} has`, subject, "as its", verb, "?"];
    if (kind === "is") return [`${what} ${be(relationLabel)}`, verb, subject, "?"];
    return [what, verb, subject, "?"];
  }
  if (kind === "noun") return [`${what} is the`, verb, "of", subject, "?"];
  if (kind === "is") return [`${what} ${be(relationLabel)}`, subject, verb, "?"];
  if (kind === "does" || kind === "past") {
    const auxiliary = kind === "does" ? "does" : "did";
    return [`${what} ${auxiliary}`, subject, { relation: infinitive(relationLabel) }, "?"];
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
  if (kind === "is") return [{ entity: head }, `${be(words)} ${words}`, { entity: tail }];
  return [{ entity: head }, between(words), { entity: tail }];
}

/** What stands between the ends of a fact: the verb, or an arrow. */
export function between(words) {
  return kindOf(words) === "arrow" ? `— ${words} →` : words;
}

/** That a fact was not so, as parts. */
export function doubtParts([head, relation, tail], labelOf) {
  const words = labelOf(relation);
  const kind = kindOf(words);
  if (kind === "noun") return [{ entity: tail }, `was not the ${words} of`, { entity: head }];
  if (kind === "is") return [{ entity: head }, `was not ${words}`, { entity: tail }];
  if (kind === "does" || kind === "past") {
    return [{ entity: head }, `did not ${infinitive(words)}`, { entity: tail }];
  }
  return ["there was no", { entity: head }, between(words), { entity: tail }];
}

/** That a fact was so, as parts. */
export function wishParts([head, relation, tail], labelOf) {
  const words = labelOf(relation);
  const kind = kindOf(words);
  if (kind === "noun") return [{ entity: tail }, `was the ${words} of`, { entity: head }];
  if (kind === "is") return [{ entity: head }, `was ${words}`, { entity: tail }];
  return [{ entity: head }, between(words), { entity: tail }];
}

/** Parts as one text. */
export function asText(parts, labelOf) {
  return parts.map((part) => (typeof part === "string" ? part : labelOf(part.entity))).join(" ");
}
