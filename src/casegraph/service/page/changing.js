// Adding and retracting facts, each with a way back.

import { update } from "./api.js";
import { label } from "./names.js";
import { asText, factParts } from "./wording.js";
import { toast } from "./toasts.js";

/** Add a fact; says so, and offers to undo it. True if the graph has it now. */
export function add(fact) {
  return changed({ add: [fact] }, { retract: [fact] }, "Added", fact);
}

/** Retract a fact; says so, and offers to undo it. True if the graph has it no more. */
export function retract(fact) {
  return changed({ retract: [fact] }, { add: [fact] }, "Retracted", fact);
}

async function changed(forth, back, verb, fact) {
  const words = asText(factParts(fact, label), label);
  try {
    const done = await update(forth);
    const isDone = done.added + done.retracted > 0;
    const undo = isDone ? () => undone(back, words) : null;
    toast(isDone ? `${verb}: ${words}` : `Nothing to do: ${words}`, { undo });
    return true;
  } catch (problem) {
    toast(`Not done: ${problem.message}`, { isBad: true });
    return false;
  }
}

async function undone(back, words) {
  try {
    await update(back);
    toast(`As before: ${words}`);
  } catch (problem) {
    toast(`Not undone: ${problem.message}`, { isBad: true });
  }
}
