// Copying what is shown: as a link, JSON, Python, a command, or CSV.

import { button, element } from "../dom.js";
import { say, toast } from "../toasts.js";

const FORMULA = /^[=+\-@\t\r]/;

/** A menu of what can be copied; `shown` gives the question, the answers and the explanation. */
export function copyMenu(shown) {
  const item = (words, text) => {
    return button(words, () => copied(words, text(shown())), { class: "item" });
  };
  const menu = element(
    "details",
    { class: "menu" },
    element("summary", { class: "button" }, "Copy"),
    element(
      "div",
      { class: "items" },
      item("Link", () => location.href),
      item("JSON", asJson),
      item("Python", asPython),
      item("Command", asCommand),
      item("CSV", asCsv),
    ),
  );
  menu.addEventListener("click", (event) => {
    if (event.target.matches(".item")) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  return menu;
}

async function copied(what, text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`${what} copied.`);
  } catch {
    showText(what, text);
  }
}

/** Where the browser does not let us copy, a person can. */
function showText(what, text) {
  const field = element("textarea", { rows: 12, readonly: true, "aria-label": what });
  field.value = text;
  const dialog = element(
    "dialog",
    { class: "dialog", "aria-label": what, close: () => dialog.remove() },
    element("h2", {}, what),
    field,
    element("p", { class: "row" }, button("Close", () => dialog.close())),
  );
  document.body.append(dialog);
  dialog.showModal();
  field.select();
  say(`${what} can be copied from a field.`);
}

/** The answers, and the explanation that is open. */
export function asJson({ answers, explanation }) {
  return JSON.stringify({ ...answers, explanation }, null, 2);
}

/** A program that asks this service the same. */
export function asPython({ parameters, question, answer }) {
  const { entity, relation, wanted } = question;
  const options = [
    wanted === "head" ? 'wanted="head"' : null,
    parameters.as_of ? `as_of=${Number(parameters.as_of)}` : null,
  ].filter((option) => option !== null);
  const askOptions = [
    ...options,
    parameters.known === "mark" ? null : 'known="exclude"',
    parameters.type ? `of_type=${quoted(parameters.type)}` : null,
  ].filter((option) => option !== null);
  const asked = [quoted(entity), quoted(relation), ...askOptions].join(", ");
  const why = [quoted(entity), quoted(relation), quoted(answer ?? ""), ...options].join(", ");
  const lines = [
    'from casegraph.client import Client  # pip install "casegraph[client]"',
    "",
    `with Client(${quoted(location.origin)}) as client:`,
    `    for answer in client.ask(${asked}).answers:`,
    "        print(answer.rank, answer.entity, answer.score)",
  ];
  if (answer) {
    lines.push(`    for reason in client.explain(${why}).reasons:`);
    lines.push('        print(f"{reason.share:.3f} {reason.sentence}")');
  }
  return `${lines.join("\n")}\n`;
}

/** A text as Python and JSON both write it. */
function quoted(text) {
  return JSON.stringify(text);
}

/** A command that asks the same. */
export function asCommand({ parameters, question, info }) {
  const words = ["casegraph", "ask", info.name, question.entity, question.relation];
  if (question.wanted === "head") words.push("--head");
  if (parameters.known !== "mark") words.push("--known", "exclude");
  if (parameters.type) words.push("--type", parameters.type);
  for (const fact of parameters.without) words.push("--without", ...fact);
  for (const fact of parameters.with) words.push("--with", ...fact);
  if (parameters.as_of) words.push("--as-of", parameters.as_of);
  words.push("--explain");
  return words.map(shellQuoted).join(" ");
}

function shellQuoted(word) {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The answers as a table that is safe to open in a spreadsheet. */
export function asCsv({ answers }) {
  const columns = ["rank", "entity", "label", "score", "probability", "known"];
  const rows = answers.answers.map((answer) => [
    answer.rank,
    answer.entity,
    answers.labels[answer.entity] ?? "",
    answer.score,
    answer.probability ?? "",
    answer.known,
  ]);
  return [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function csvCell(value) {
  const text = String(value);
  const safe = typeof value === "string" && FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
