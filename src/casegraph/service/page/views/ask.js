// The main view: a question, what answers it, why, and like whom.

import { get } from "../api.js";
import { change, to, toQuestion } from "../address.js";
import { info, profile, relations, types } from "../catalogue.js";
import { add, retract } from "../changing.js";
import { button, element, fill, joined, refill } from "../dom.js";
import { counted, label, learn, named, number, percent } from "../names.js";
import { questionText } from "../wording.js";
import { answerForm } from "../parts/adding.js";
import { neighboursShown } from "../parts/alike.js";
import { moveByKeys, showAnswers } from "../parts/answers.js";
import { copyMenu } from "../parts/copying.js";
import { emptyGraph } from "../parts/emptiness.js";
import { factOf, factSentence } from "../parts/fact.js";
import { changeOfMind, showImagined } from "../parts/imagining.js";
import { problemShown } from "../parts/problems.js";
import { showQuestion, swapped } from "../parts/question.js";
import { overallDrawing, reasonsShown, summaryOf } from "../parts/reasons.js";
import { showMoment, timeline } from "../parts/timeline.js";

const TOP = 10;
const KNOWN_SHOWN = 12;
const MOST_KNOWN = 200; // answers that are looked through for known ones
const MOST_FACTS = 1000; // facts that are looked through for them

/** The view; it lives as long as questions are asked, so that answers can be seen to move. */
export function askView() {
  const parts = {
    sentence: element("h1", { class: "sentence" }),
    controls: element("div", { class: "controls" }),
    moment: element("p", { class: "notice", hidden: true }),
    below: element("div"),
  };
  const columns = columnsOf();
  const head = element("section", { class: "question", "aria-label": "question" });
  head.append(...Object.values(parts));
  const node = element("div", { class: "ask" }, head, columns.node);
  let shownLast = null; // {key, answers}
  let openReasons = new Set();
  let reasonsOf = "";

  async function show(parameters, signal) {
    const { entity, relation, as_of: asOf } = parameters;
    const about = await info(asOf);
    if (!about.facts && !entity) return fill(node, emptyGraph(about));
    if (!node.contains(columns.node)) fill(node, head, columns.node);
    columns.node.hidden = !entity || !relation;
    await showMoment(parts.moment, asOf, signal);
    if (!entity || !relation) {
      showQuestion(parts.sentence, parameters);
      fill(parts.controls);
      fill(parts.below, await suggestionsShown(about, entity, signal));
      document.title = "casegraph";
      return;
    }
    fill(parts.below);
    const question = questionOf(parameters);
    let found;
    try {
      found = learn(await get("ask", askedFor(parameters), signal));
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      showQuestion(parts.sentence, parameters);
      columns.node.hidden = true;
      fill(parts.controls, await controls(parameters));
      fill(parts.below, await problemShown(problem, parameters));
      return;
    }
    const isKnown = found.answers.length > 0 || (await isEntity(entity, asOf, signal));
    if (isKnown !== true) {
      showQuestion(parts.sentence, parameters);
      columns.node.hidden = true;
      fill(parts.controls);
      fill(parts.below, await problemShown(isKnown, parameters));
      return;
    }
    // The names of the question, where it was asked by labels.
    const named = { ...parameters, ...found.question };
    const type = await typeWanted(found.question, asOf);
    const { known, type: ofType } = parameters;
    const key = JSON.stringify({ ...question, known, ofType });
    const isSame = shownLast?.key === key;
    const isTyping = isSame && parts.sentence.contains(document.activeElement);
    if (!isTyping) showQuestion(parts.sentence, named, type);
    document.title = `${questionText(found.question, label, type)} – casegraph`;
    const answer = answerShown(found, parameters);
    const isChanged = isSame && shownLast.found.sequence !== found.sequence;
    showAnswers(columns.answers, found, answer, isChanged ? shownLast.found : null);
    const isFormOf = `${key} ${asOf !== undefined}`;
    if (columns.form.dataset.of !== isFormOf) fill(columns.form, answerForm(found.question, asOf));
    columns.form.dataset.of = isFormOf;
    shownLast = { key, found };
    fill(columns.none, noneShown(found), await knownShown(parameters, found, answer, signal));
    refill(parts.controls, await controls(named, () => state));
    const state = { parameters, question: found.question, answers: found, answer, info: about };
    const imagined = showImagined(
      columns.imagined,
      found.question,
      answer,
      parameters,
      signal,
    );
    if (answer) {
      const explained = { ...askedFor(parameters), answer };
      for (const unused of ["top", "known", "of_type"]) delete explained[unused];
      const explanation = await get("explain", explained, signal).catch((problem) => {
        if (problem.name === "AbortError") throw problem;
        return problem;
      });
      if (explanation instanceof Error) {
        showNoReason(explanation);
      } else {
        state.explanation = learn(explanation);
        const about = `${key} ${answer}`;
        if (reasonsOf !== about) openReasons = new Set();
        reasonsOf = about;
        showReasons(explanation, parameters, openReasons);
      }
    } else {
      fill(columns.why, element("h2", {}, "Why"), element("p", {}, found.note || "No answer."));
      fill(columns.like, element("h2", {}, "Like whom"));
      columns.graph.hidden = true;
      await showAlike(parameters, signal);
    }
    await imagined;
  }

  function showNoReason(problem) {
    const again = problem.status === 503 ? button("Try again", () => change({})) : null;
    fill(columns.why, element("h2", {}, "Why"), element("p", {}, problem.message), again);
    fill(columns.like, element("h2", {}, "Like whom"));
    columns.graph.hidden = true;
  }

  function showReasons(explanation, parameters, open) {
    const { question, answer } = explanation;
    refill(
      columns.why,
      element("h2", {}, "Why ", named(answer.entity)),
      claim(explanation, parameters.as_of !== undefined),
      changeOfMind(question, answer.entity, parameters, summaryOf(explanation)),
      reasonsShown(explanation, open),
    );
    refill(
      columns.like,
      element("h2", {}, "Like whom"),
      neighboursShown(explanation.neighbours, question, answer.entity),
    );
    const drawing = overallDrawing(explanation);
    columns.graph.hidden = drawing === null;
    fill(columns.graph, element("h2", {}, "In the graph"), drawing);
  }

  async function showAlike(parameters, signal) {
    const { entity, as_of: asOf } = parameters;
    const similar = learn(await get("similar", { entity, top: 5, as_of: asOf }, signal));
    const question = questionOf(parameters);
    columns.like.append(neighboursShown(similar.neighbours, question, ""));
  }

  return { node, show };
}

function columnsOf() {
  const answers = element("ol", { class: "answers", keydown: moveByKeys });
  const none = element("div");
  const form = element("div");
  const imagined = element("section", { id: "imagined", class: "imagined", hidden: true });
  imagined.setAttribute("aria-label", "what if");
  imagined.setAttribute("aria-live", "polite");
  const why = element("section", { class: "why", "aria-label": "reasons" });
  const like = element("section", { class: "like-whom", "aria-label": "like whom" });
  const graph = element("section", { class: "in-graph", "aria-label": "in the graph" });
  const what = element(
    "section",
    { class: "what", "aria-label": "answers" },
    element("h2", {}, "What"),
    answers,
    none,
    form,
  );
  const node = element(
    "div",
    { class: "columns", hidden: true },
    what,
    element("div", { class: "stack" }, imagined, why),
    element("div", { class: "stack" }, like, graph),
  );
  return { node, answers, none, form, imagined, why, like, graph };
}

function questionOf({ entity, relation, wanted }) {
  return { entity, relation, wanted: wanted === "head" ? "head" : "tail" };
}

function askedFor(parameters) {
  return {
    ...questionOf(parameters),
    top: TOP,
    known: parameters.known === "mark" ? "mark" : "exclude",
    of_type: parameters.type,
    as_of: parameters.as_of,
  };
}

/** True if there is such an entity, else the problem that says so. */
function isEntity(entity, asOf, signal) {
  return get("entity", { entity, limit: 1, as_of: asOf }, signal).then(
    () => true,
    (problem) => {
      if (problem.name === "AbortError") throw problem;
      return problem;
    },
  );
}

/** The answer whose reasons are shown: the one in the address, or else the best new one. */
function answerShown(found, parameters) {
  if (parameters.answer) return parameters.answer;
  const best = found.answers.find((answer) => !answer.known) ?? found.answers[0];
  return best?.entity ?? null;
}

/** The type of what is asked for, if most that are known are of one. */
async function typeWanted({ relation, wanted }, asOf) {
  const own = (await relations(asOf)).find((one) => one.relation === relation);
  const [type = ""] = (wanted === "head" ? own?.head_types : own?.tail_types) ?? [];
  return type ? label(type) : "";
}

async function controls(parameters, shown = null) {
  const isMarked = parameters.known === "mark";
  const toggle = () => change({ known: isMarked ? null : "mark" });
  return [
    button("⇄ The other way round", () => swapped(parameters)),
    button("Rank known answers, too", toggle, { "aria-pressed": String(isMarked) }),
    await typeChoice(parameters),
    timeline(await info(), parameters.as_of),
    shown ? copyMenu(shown) : null,
  ];
}

async function typeChoice(parameters) {
  const all = await types(parameters.as_of);
  if (!all.length) return null;
  const option = ({ type }) => {
    const isChosen = type === parameters.type;
    return element("option", { value: type, selected: isChosen }, label(type));
  };
  const select = element(
    "select",
    { class: "button", "aria-label": "type of answers" },
    element("option", { value: "" }, "Any type"),
    all.map(option),
  );
  select.addEventListener("change", () => change({ type: select.value, answer: null }));
  return select;
}

function noneShown(found) {
  if (!found.answers.length) return element("p", { class: "notice" }, found.note);
  const notes = [];
  if (found.none !== null) {
    const words = element("span", {}, "none of the new ones");
    notes.push(element("p", { class: "none" }, words, element("b", {}, percent(found.none))));
  }
  if (!found.tuned) {
    const words = "The numbers are scores. After casegraph tune, they are probabilities.";
    notes.push(element("p", { class: "soft small" }, words));
  }
  if (!found.exact) {
    notes.push(element("p", { class: "soft small" }, "Some evidence was left out to be quick."));
  }
  return notes;
}

/** The answers that are facts already, where they are not in the list. */
async function knownShown(parameters, found, answer, signal) {
  if (parameters.known === "mark") return null;
  const { entity, relation, wanted } = found.question;
  const own = await profile(entity, parameters.as_of);
  const isOwn = (one) => one.relation === relation && one.inverse === (wanted === "head");
  const count = own.profile.find(isOwn)?.count ?? 0;
  if (!count) return null;
  const known = await knownAnswers(parameters, found.question, count, signal);
  const links = known.slice(0, KNOWN_SHOWN).map((one) => {
    const address = to("ask", { ...parameters, answer: one });
    const isShown = one === answer ? "true" : null;
    return element("a", { href: address, "aria-current": isShown }, named(one));
  });
  const rest = count - links.length;
  const more = rest > 0 ? ` and ${number(rest)} more` : null;
  const title = element("span", { class: "title" }, "Known already");
  return element("p", { class: "known-already" }, title, joined(links, ", "), more);
}

/** The known answers: those that evidence speaks for, the best first, and then others. */
async function knownAnswers(parameters, question, count, signal) {
  const { entity, relation, wanted } = question;
  const top = Math.min(count + TOP, MOST_KNOWN);
  const asked = { ...askedFor(parameters), known: "mark", top };
  const marked = learn(await get("ask", asked, signal));
  const known = marked.answers.filter((one) => one.known).map((one) => one.entity);
  if (known.length >= Math.min(count, KNOWN_SHOWN)) return known;
  const own = { entity, limit: MOST_FACTS, as_of: parameters.as_of };
  const { facts } = learn(await get("entity", own, signal));
  const [mine, other] = wanted === "head" ? [2, 0] : [0, 2];
  const isKnown = (fact) => fact[mine] === entity && fact[1] === relation;
  const others = facts.filter(isKnown).map((fact) => fact[other]);
  return [...new Set([...known, ...others])];
}

/** What the answer says, how sure that is, and a way to make it so. */
function claim({ question, answer }, isPast) {
  const fact = factOf(question, answer.entity);
  const sure = answer.known
    ? "This is a fact in the graph."
    : answer.probability === null
      ? `Not in the graph. Its score is ${answer.score.toFixed(2)}.`
      : `Not in the graph. Its probability is ${percent(answer.probability)}.`;
  const added = button("Add as a fact", () => add(fact));
  const retracted = button("Retract this fact", () => retract(fact));
  const act = isPast ? null : answer.known ? retracted : added;
  return [
    element("p", { class: "claim" }, factSentence(fact)),
    element("p", { class: "row sure" }, element("span", { class: "grow" }, sure), act),
  ];
}

async function suggestionsShown(about, entity, signal) {
  const found = learn(await get("suggestions", {}, signal));
  const asked = found.suggestions.map((one) =>
    element(
      "li",
      {},
      element("a", { href: toQuestion(one.question) }, questionText(one.question, label)),
      element("small", {}, one.why),
    ),
  );
  const choose = entity
    ? element("p", { class: "soft" }, "Choose what you want to know about it.")
    : null;
  const entities = counted(about.entities, "entity", "entities");
  const size = `${counted(about.facts, "fact")} about ${entities}`;
  const intro = element(
    "p",
    { class: "lead" },
    `This graph holds ${size}. Ask it for one that is missing: it answers by precedent, and shows `,
    "for every answer why, for whom that was right before and for whom not.",
  );
  return [
    choose ?? intro,
    asked.length
      ? element("section", { class: "suggestions" }, element("h2", {}, "Try one of these"))
      : null,
    asked.length ? element("ul", { class: "cards" }, asked) : null,
  ];
}
