// A field that completes what is typed from a list, as the ARIA practices describe a combobox.

import { element, fill, newId } from "../dom.js";

const PAUSE = 60; // milliseconds after a key before the list is fetched

/**
 * A field with completion.
 *
 * name         what it is for, to a screen reader
 * value        what it holds at first
 * placeholder  what it says while it is empty
 * find         from a text to options {value, words, detail}, or a promise of them
 * choose       is called with the option chosen, or {value} with what was typed if there is none
 * isFree       whether what is typed stays, also if it is no option
 */
export function combobox({ name, value = "", placeholder = "", find, choose, isFree = false }) {
  const listId = newId("options");
  const input = element("input", {
    type: "text",
    size: 1,
    role: "combobox",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    placeholder,
    "aria-label": name,
    "aria-expanded": "false",
    "aria-controls": listId,
    "aria-autocomplete": "list",
  });
  const list = element("ul", { id: listId, role: "listbox", class: "options", hidden: true });
  list.setAttribute("aria-label", name);
  const slot = element("span", { class: "slot" }, input, list);
  let settled = value;
  let options = [];
  let active = -1;
  let asked = 0;
  let timer = 0;

  function show(text) {
    input.value = text;
    slot.dataset.value = text || placeholder;
  }

  /** The options that are shown or on their way are for another text: Enter takes none of them. */
  function outdate() {
    clearTimeout(timer);
    asked += 1;
    activate(-1);
  }

  function close() {
    outdate();
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }

  function activate(place) {
    active = place;
    for (const [row, node] of [...list.children].entries()) {
      node.setAttribute("aria-selected", String(row === place));
    }
    const node = list.children[place];
    if (!node) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", node.id);
    node.scrollIntoView({ block: "nearest" });
  }

  async function open(text) {
    asked += 1;
    const mine = asked;
    let found = [];
    try {
      found = await find(text.trim());
    } catch {
      // A list that cannot be fetched is an empty one: the question itself will say what is wrong.
    }
    if (mine !== asked || document.activeElement !== input) return;
    options = found;
    fill(list, options.length ? options.map(row) : nothing());
    list.hidden = !options.length && (isFree || !text.trim());
    input.setAttribute("aria-expanded", String(!list.hidden));
    activate(text.trim() && options.length && !isFree ? 0 : -1);
  }

  function row(option) {
    const attributes = { role: "option", id: newId("option"), "aria-selected": "false" };
    const pressed = (event) => {
      event.preventDefault();
      take(option);
    };
    return element(
      "li",
      { ...attributes, mousedown: pressed },
      element("bdi", {}, option.words ?? option.value),
      option.detail ? element("small", {}, option.detail) : null,
    );
  }

  function nothing() {
    const attributes = { class: "nothing", role: "option", "aria-disabled": "true" };
    return element("li", attributes, "nothing is called so");
  }

  function take(option) {
    settled = isFree ? (option.words ?? option.value) : settled;
    show(settled);
    close();
    choose(option);
  }

  function typed() {
    slot.dataset.value = input.value || placeholder;
    outdate();
    if (isFree) {
      settled = input.value;
      choose({ value: input.value.trim(), isTyped: true });
    }
    timer = setTimeout(() => open(input.value), PAUSE);
  }

  function pressed(event) {
    const isOpen = !list.hidden;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!isOpen) return void open(input.value === settled ? "" : input.value);
      const step = event.key === "ArrowDown" ? 1 : -1;
      const from = active < 0 && step < 0 ? 0 : active;
      if (options.length) activate((from + step + options.length) % options.length);
    } else if (event.key === "Enter") {
      if (isOpen && active >= 0) {
        event.preventDefault();
        take(options[active]);
      } else if (!isFree && input.value.trim() && input.value !== settled) {
        event.preventDefault();
        takeTyped(input.value.trim());
      }
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      show(settled);
      close();
    }
  }

  /** What was typed before its options came: the first of these, or else the text itself. */
  async function takeTyped(text) {
    const found = await Promise.resolve(find(text)).catch(() => []);
    take(found[0] ?? { value: text, isUnknown: true });
  }

  input.addEventListener("input", typed);
  input.addEventListener("keydown", pressed);
  input.addEventListener("focus", () => {
    if (!isFree) input.select();
    open("");
  });
  input.addEventListener("blur", () => {
    show(settled);
    close();
  });
  show(value);
  return slot;
}
