// A form of three fields that adds one fact.

import { add } from "../changing.js";
import { button, element, fill } from "../dom.js";
import { combobox } from "./combobox.js";
import { entitiesFor, relationsFor } from "./finding.js";

/** The form; `head` is filled in, if it is given. */
export function factForm(head = "") {
  const node = element("form", { class: "fact-form" });
  const begin = () => {
    const given = { head, relation: "", tail: "" };
    const field = (name, find) =>
      combobox({
        name,
        value: given[name],
        placeholder: name,
        isFree: true,
        find,
        choose: (option) => {
          given[name] = option.value;
        },
      });
    const submit = async (event) => {
      event.preventDefault();
      const fact = [given.head, given.relation, given.tail].map((name) => name.trim());
      const isWhole = fact.every((name) => name !== "");
      if (isWhole && (await add(fact))) begin();
    };
    node.onsubmit = submit;
    fill(
      node,
      field("head", (text) => entitiesFor(text)),
      field("relation", (text) => relationsFor(text)),
      field("tail", (text) => entitiesFor(text)),
      element("button", { class: "button main" }, "Add the fact"),
      button("Clear", begin, { class: "button quiet" }),
    );
  };
  begin();
  return node;
}
