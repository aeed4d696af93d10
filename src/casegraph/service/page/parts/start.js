// What the page shows before anything is asked.

import { get } from "../api.js";
import { to, toQuestion } from "../address.js";
import { element } from "../dom.js";
import { counted, label, learn } from "../names.js";
import { questionText } from "../wording.js";

/** What the graph holds, and questions to begin with. */
export async function suggestionsShown(about, entity, signal) {
  const found = learn(await get("suggestions", {}, signal));
  const asked = found.suggestions.map((one) =>
    card(toQuestion(one.question), questionText(one.question, label), one.why),
  );
  const largest = learn({ hits: about.largest }).hits.map((hit) =>
    card(to("ask", { entity: hit.entity }), label(hit.entity), counted(hit.facts, "fact")),
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
  const cards = asked.length ? asked : largest;
  return [
    choose ?? intro,
    element("section", { class: "suggestions" }, element("h2", {}, "Try one of these")),
    element("ul", { class: "cards" }, cards),
  ];
}

function card(address, words, why) {
  return element("li", {}, element("a", { href: address }, words), element("small", {}, why));
}
