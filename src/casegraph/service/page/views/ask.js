// The main view: a question, what answers it, why, and like whom.

import { get } from "../api.js";
import { change } from "../address.js";
import { info, relations } from "../catalogue.js";
import { button, element, fill, refill } from "../dom.js";
import { label, learn, named, percent, signed } from "../names.js";
import { questionText } from "../wording.js";
import { answerForm } from "../parts/adding.js";
import { neighboursShown } from "../parts/alike.js";
import { moveByKeys, showAnswers } from "../parts/answers.js";
import { askedFor } from "../parts/asking.js";
import { claim } from "../parts/claim.js";
import { controls } from "../parts/controls.js";
import { emptyGraph } from "../parts/emptiness.js";
import { counterfactual, showImagined } from "../parts/imagining.js";
import { knownShown } from "../parts/known.js";
import { problemShown } from "../parts/problems.js";
import { showQuestion } from "../parts/question.js";
import { overallDrawing, reasonsShown, summaryOf } from "../parts/reasons.js";
import { suggestionsShown } from "../parts/start.js";
import { showMoment } from "../parts/timeline.js";

/** The view; it lives as long as questions are asked, so that answers can be seen to move. */
export function askView() {
  const head = headOf();
  const columns = columnsOf();
  const node = element("div", { class: "ask" }, head.node, columns.node);
  let last = { key: "", found: null, before: null }; // the question, its answers, those before
  let open = { key: "", reasons: new Set() }; // the reasons of one answer that are open

  async function show(parameters, signal, place) {
    const { entity, relation, as_of: asOf } = parameters;
    relations(asOf).catch(() => {}); // the sentence needs them, after the answers
    const about = await info(asOf);
    if (!about.facts && !entity) return fill(node, emptyGraph(about));
    if (!node.contains(columns.node)) fill(node, head.node, columns.node);
    await showMoment(head.moment, asOf, signal);
    if (!entity || !relation) return showStart(parameters, about, signal);
    try {
      const found = learn(await get("ask", askedFor(parameters), signal));
      // A note may say that nothing is known of the entity: then this is the problem to show.
      if (found.note) await get("entity", { entity, limit: 1, as_of: asOf }, signal);
      await showFound(found, parameters, about, signal, place);
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      await showProblem(problem, parameters);
    }
  }

  async function showStart(parameters, about, signal) {
    columns.node.hidden = true;
    showQuestion(head.sentence, parameters);
    fill(head.controls);
    fill(head.below, await suggestionsShown(about, parameters.entity, signal));
    document.title = "casegraph";
  }

  async function showProblem(problem, parameters) {
    columns.node.hidden = true;
    showQuestion(head.sentence, parameters);
    fill(head.controls);
    fill(head.below, await problemShown(problem, parameters));
  }

  async function showFound(found, parameters, about, signal, place) {
    const { question } = found;
    const { known, type, as_of: asOf } = parameters;
    const key = JSON.stringify({ ...question, known, type });
    const answer = answerShown(found, parameters);
    const state = { parameters, question, answers: found, answer, info: about };
    await showSentence(question, parameters, last.key === key);
    const isSame = last.key === key;
    const isFresh = isSame && last.found.sequence !== found.sequence;
    const before = isFresh ? last.found : isSame ? last.before : null;
    showAnswers(columns.answers, found, answer, { before, isFresh });
    last = { key, found, before };
    fill(head.below);
    columns.node.hidden = false;
    keepForm(columns.form, question, asOf);
    place();
    await Promise.all([
      showWhy(state, signal),
      showImagined(columns.imagined, question, answer, parameters, signal),
      knownShown(parameters, found, answer, signal).then((list) => {
        fill(columns.none, notesOn(found), list);
      }),
      controls({ ...parameters, ...question }, () => state).then((list) => {
        refill(head.controls, list);
      }),
    ]);
  }

  /** The question, unless it is the same and somebody is typing into it. */
  async function showSentence(question, parameters, isSame) {
    const type = await typeWanted(question, parameters.as_of);
    const isTyping = isSame && head.sentence.contains(document.activeElement);
    if (!isTyping) showQuestion(head.sentence, { ...parameters, ...question }, type);
    document.title = `${questionText(question, label, type)} – casegraph`;
  }

  async function showWhy(state, signal) {
    const { question, answer, parameters } = state;
    if (!answer) return showNoAnswer(state, signal);
    const asked = { ...question, answer, as_of: parameters.as_of };
    try {
      state.explanation = learn(await get("explain", asked, signal));
    } catch (problem) {
      if (problem.name === "AbortError") throw problem;
      return showNoReason(problem);
    }
    const key = JSON.stringify([question, answer]);
    if (open.key !== key) open = { key, reasons: new Set() };
    showReasons(state.explanation, parameters, open.reasons);
  }

  function showReasons(explanation, parameters, openReasons) {
    const { question, answer } = explanation;
    refill(
      columns.why,
      element("h2", {}, "Why ", named(answer.entity)),
      claim(explanation, parameters.as_of !== undefined),
      counterfactual(question, answer.entity, parameters, summaryOf(explanation)),
      reasonsShown(explanation, openReasons),
    );
    refill(
      columns.like,
      element("h2", {}, "Like whom"),
      neighboursShown(explanation.neighbours, question, answer.entity, weightOf),
    );
    const drawing = overallDrawing(explanation);
    columns.graph.hidden = drawing === null;
    fill(columns.graph, element("h2", {}, "In the graph"), drawing);
  }

  function showNoReason(problem) {
    const again = problem.status === 503 ? button("Try again", () => change({})) : null;
    fill(columns.why, element("h2", {}, "Why"), element("p", {}, problem.message), again);
    fill(columns.like, element("h2", {}, "Like whom"));
    columns.graph.hidden = true;
  }

  /** Where nothing is found, who is alike may still help. */
  async function showNoAnswer({ question, answers, parameters }, signal) {
    fill(columns.why, element("h2", {}, "Why"), element("p", {}, answers.note || "No answer."));
    columns.graph.hidden = true;
    const asked = { entity: question.entity, top: 5, as_of: parameters.as_of };
    const similar = learn(await get("similar", asked, signal));
    const list = neighboursShown(similar.neighbours, question, "", similarityOf);
    fill(columns.like, element("h2", {}, "Like whom"), list);
  }

  return { node, show };
}

function weightOf(neighbour) {
  return `weight ${signed(neighbour.similarity)}`;
}

function similarityOf(neighbour) {
  return `${percent(neighbour.similarity)} similar`;
}

function headOf() {
  const sentence = element("h1", { class: "sentence" });
  const under = element("div", { class: "controls" });
  const moment = element("p", { class: "notice", hidden: true });
  const below = element("div");
  const attributes = { class: "question", "aria-label": "question" };
  const node = element("section", attributes, sentence, under, moment, below);
  return { node, sentence, controls: under, moment, below };
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

/** The form for an answer of one's own; it stays as it is while the question does. */
function keepForm(node, question, asOf) {
  const key = JSON.stringify([question, asOf !== undefined]);
  if (node.dataset.key !== key) fill(node, answerForm(question, asOf));
  node.dataset.key = key;
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

/** What there is to say about the answers as a whole. */
function notesOn(found) {
  const notes = found.note ? [element("p", { class: "notice" }, found.note)] : [];
  if (!found.answers.length) return notes;
  if (found.none_probability !== null) {
    const words = element("span", {}, "Nothing is missing here");
    const sure = element("b", {}, percent(found.none_probability));
    notes.push(element("p", { class: "none" }, words, sure));
  }
  if (!found.tuned) {
    const words = "Judged as in other graphs; casegraph tune fits the probabilities to this one.";
    notes.push(element("p", { class: "soft small" }, words));
  }
  if (!found.exact) {
    notes.push(element("p", { class: "soft small" }, "Some evidence was left out to be quick."));
  }
  return notes;
}
