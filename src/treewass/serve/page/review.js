// Labels that look wrong, one after the other: change or keep each, by mouse or keys, and take the decisions along.

import { askLatest, hasToken, write } from "./api.js";
import { attempt, learnModel, offerToken } from "./app.js";
import { badge, compareLink, counted, find, heading, keyOf, make, percent } from "./dom.js";

let model = null;
let items = []; // {name, content, choices: [{text, changes: [{document, label}]}]}
let place = 0;
const decisions = new Map(); // {number, changes} of the choice, by the item's name
const stored = new Set(); // names of items whose decision the service has

export function startReview() {
  find("review-previous").addEventListener("click", () => go(place - 1));
  find("review-next").addEventListener("click", () => go(place + 1));
  find("review-export").addEventListener("click", exportDecisions);
  find("review-item").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowRight") go(place + 1);
    else if (event.key === "ArrowLeft") go(place - 1);
    else if (/^[1-9]$/.test(event.key)) find("review-item").querySelectorAll(".line button")[Number(event.key) - 1]?.click();
    else return;
    event.preventDefault();
  });
}

export function knowReviewed(described) {
  model = described;
  find("review-link").hidden = !model.classes.length;
}

export async function openReview() {
  find("review-status").textContent = "Looking at the labels …";
  find("review-item").hidden = true;
  const found = await askLatest("review");
  items = [...found.pairs.map(pairItem), ...found.doubtful.map(doubtItem)];
  const number = (count) => count.toLocaleString("en");
  const sample = found.is_sample ? ` A sample was looked at: ${number(found.looked_at)} of ${number(found.documents)} documents.` : "";
  const leftOut = found.n_unknown ? ` Left out: ${counted(found.n_unknown, "document")} without a known word.` : "";
  const kept = model.writable ? "Changes are stored with the service's token." : "This service can be read only: decisions are exported, not stored.";
  const shownDoubts = found.doubtful.length < found.n_doubtful ? `${found.doubtful.length} of ` : "";
  find("review-about").textContent = `${counted(found.pairs.length, "pair")} of near-duplicates with different labels, ${shownDoubts}${counted(found.n_doubtful, "doubtful label")}.${sample}${leftOut} ${kept} With the card focused, keys 1 to 3 decide, arrows go on and back.`;
  window.scrollTo(0, 0);
  go(Math.max(items.findIndex((item) => !decisions.has(item.name)), 0), { preventScroll: true });
  if (model.writable && !hasToken() && items.length) offerToken("The service stores new labels only with its token for writing. You can look around without it.");
}

function doubtItem({ document, suggested, probability, own_probability: own }) {
  return {
    name: JSON.stringify([document.id, document.label, suggested]), // with other labels, it is another question
    content: [shown(document), make("p", {}, badge(suggested), ` is more probable, ${percent(probability)}; its own label has ${percent(own)}.`)],
    choices: [
      { text: ["Change to ", badge(suggested)], changes: [{ document, label: suggested }] },
      { text: ["Keep ", badge(document.label)], changes: [{ document, label: document.label }] },
    ],
  };
}

function pairItem({ first, second, likeness }) {
  const both = (label) => ({ text: ["Both are ", badge(label)], changes: [first, second].map((document) => ({ document, label })) });
  const link = make("a", { href: compareLink(`id:${first.id}`, `id:${second.id}`) }, "Compare them");
  return {
    name: JSON.stringify([first.id, second.id, first.label, second.label]),
    content: [make("p", {}, `Two documents that share ${percent(likeness)} of their word triples, with different labels. `, link), shown(first), shown(second)],
    choices: [both(first.label), both(second.label), { text: ["Keep both as they are"], changes: [first, second].map((document) => ({ document, label: document.label })) }],
  };
}

function shown(document) {
  const head = make("h2", {}, make("a", { href: `#/similar/${document.id}` }, heading(document)));
  const section = make("section", {}, make("div", { className: "result-head" }, head, keyOf(document), badge(document.label)), make("p", { className: "text" }, document.text || "No text is kept."));
  section.dataset.document = document.id;
  return section;
}

// Show the label that a document has now, on every card that it is on.
function showLabel(id, label) {
  const sections = items.flatMap(({ content }) => content).filter((part) => part.dataset.document === String(id));
  for (const section of sections) section.querySelector(".badge").replaceWith(badge(label));
}

function go(target, focusing = {}) {
  place = Math.min(Math.max(target, 0), items.length - 1);
  for (const id of ["review-item", "review-previous", "review-next"]) find(id).hidden = !items.length;
  find("review-export").hidden = !items.length && !decisions.size;
  find("review-status").textContent = items.length ? `${place + 1} of ${items.length}, ${decisions.size} decided` : "No label looks wrong.";
  if (!items.length) return;
  const { name, content, choices } = items[place];
  const buttons = choices.map(({ text }, number) => {
    const button = make("button", { type: "button", className: "plain", ariaPressed: String(decisions.get(name)?.number === number) }, make("kbd", {}, String(number + 1)), " ", ...text);
    button.addEventListener("click", () => attempt(() => decide(number)));
    return button;
  });
  find("review-item").replaceChildren(...content, make("div", { className: "line" }, ...buttons));
  find("review-item").focus(focusing);
}

async function decide(number) {
  const { name, choices } = items[place];
  const changes = choices[number].changes.filter(({ document, label }) => document.label !== label || stored.has(name));
  if (model.writable && changes.length) {
    stored.add(name); // before it is: if one of them fails, another choice still writes all labels
    decisions.delete(name);
    for (const { document, label } of changes) {
      await write("PATCH", `documents/${document.id}`, { label });
      showLabel(document.id, label);
    }
    await learnModel();
  }
  decisions.set(name, { number, changes: choices[number].changes });
  go(place + 1);
}

const cell = (value) => {
  const text = value === null ? "" : String(value);
  const defused = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; // a spreadsheet would run it
  return `"${defused.replaceAll('"', '""')}"`;
};

function exportDecisions() {
  const rows = [["id", "key", "label", "new_label", "stored"]];
  for (const [name, { changes }] of decisions) {
    for (const { document, label } of changes) rows.push([document.id, document.key, document.label, label, stored.has(name) ? "yes" : "no"]);
  }
  const content = `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
  const link = make("a", { href: URL.createObjectURL(new Blob([content], { type: "text/csv" })), download: "decisions.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
