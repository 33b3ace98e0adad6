// Results as you type, documents like another one, and what the collection is. The address holds all of it.

import { askLatest, stop } from "./api.js";
import { attempt } from "./app.js";
import { badge, compareLink, counted, find, heading, keyOf, make, marked } from "./dom.js";
import { editing } from "./edit.js";
import { nameOf, textOf } from "./texts.js";

const PAUSE = 120; // milliseconds without a key before the service is asked
const PAGE = 10; // results at a time
let timer = 0;
let model = null;
let shown = null; // what the results on the page answer: {query, id, label, count}

export function startSearch() {
  find("query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(typed, PAUSE);
  });
  find("query").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") move(event, 0);
    if (event.key === "Enter" && shown && find("query").value.trim() === shown.query) find("results").querySelector("a")?.click();
  });
  find("results").addEventListener("keydown", (event) => {
    const links = [...find("results").querySelectorAll("h2 a")];
    const place = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") move(event, place + 1);
    if (event.key === "ArrowUp") move(event, place - 1);
    if (event.key === "Escape") find("query").focus();
  });
  find("label-filter").addEventListener("change", () => {
    location.hash = address({ ...wanted(), label: find("label-filter").value, count: PAGE });
  });
  find("more").addEventListener("click", () => attempt(more));
}

export function knowModel(described) {
  model = described;
  const options = described.classes.map((label, place) => make("option", { value: String(label) }, `${label} (${described.class_counts[place]})`));
  find("label-filter").replaceChildren(make("option", { value: "" }, "All labels"), ...options);
  find("label-filter").value = shown?.label ?? "";
  find("label-filter").hidden = !described.classes.length;
}

// The address of a question: what is looked for, the label, and how many results are shown.
function address({ query, id, label, count }) {
  const parts = id === null ? ["search", nameOf(query)] : ["similar", String(id)];
  if (label || count > PAGE) parts.push(label);
  if (count > PAGE) parts.push(String(count));
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export const searchLink = (query, label = "") => address({ query, id: null, label, count: PAGE });

function wanted() {
  return shown && shown.id !== null ? shown : { query: find("query").value.trim(), id: null };
}

export function openSearch(query = "", label = "", count = "") {
  if (!shown && !query && find("query").value) return typed(); // before the page was ready
  find("query").value = textOf(query);
  find("query").focus();
  return open({ query: textOf(query).trim(), id: null, label, count: Number(count) || PAGE });
}

export function openSimilar(id = "", label = "", count = "") {
  find("query").value = "";
  return open({ query: "", id: Number(id), label, count: Number(count) || PAGE });
}

function move(event, place) {
  const links = find("results").querySelectorAll("h2 a");
  event.preventDefault();
  if (place < 0) find("query").focus();
  else links[Math.min(place, links.length - 1)]?.focus();
}

// A pause in typing: the address follows, as a step back in the history only where something else was shown.
function typed() {
  if (!model || find("view-search").hidden) return undefined; // what was typed before is read once the model is known
  const question = { query: find("query").value.trim(), id: null, label: find("label-filter").value, count: PAGE };
  const begins = !shown || shown.id !== null || !shown.query;
  history[begins ? "pushState" : "replaceState"](null, "", address(question));
  return attempt(() => open(question));
}

async function open(question) {
  stop();
  const same = shown && question.id === shown.id && question.query === shown.query && question.label === shown.label;
  shown = question;
  find("label-filter").value = question.label;
  const isStart = !question.query && question.id === null;
  find("start").hidden = !isStart;
  find("found").hidden = isStart;
  if (isStart) return showStart();
  if (!same) find("results").replaceChildren();
  return answer(question);
}

async function ask(question, offset) {
  const where = question.label ? { label: model.classes.find((label) => String(label) === question.label) ?? question.label } : null;
  const body = { k: PAGE, offset, where, highlight: true };
  const path = question.id === null ? "search" : "similar";
  const { results } = await askLatest(path, question.id === null ? { ...body, texts: [question.query] } : { ...body, id: question.id });
  return results[0];
}

async function answer(question) {
  const began = performance.now();
  const found = await ask(question, 0);
  const milliseconds = Math.round(performance.now() - began);
  const hits = found.hits;
  while (found.more && hits.length < question.count) {
    const further = await ask(question, hits.length);
    hits.push(...further.hits);
    found.more = further.more;
  }
  showStatus(question, found, milliseconds);
  showUnknown(question, found.unknown);
  const best = hits[0];
  find("results").replaceChildren(...hits.map((hit) => result(question, hit, best)));
  find("more").hidden = !found.more;
  if (question.id !== null) window.scrollTo(0, 0);
}

async function more() {
  const question = { ...shown, count: find("results").children.length + PAGE };
  const found = await ask(question, find("results").children.length);
  const best = find("results").best;
  find("results").append(...found.hits.map((hit) => result(question, hit, best)));
  find("more").hidden = !found.more;
  shown = question;
  history.replaceState(null, "", address(question));
}

function showStatus(question, { ranking, known, hits, more: isMore }, milliseconds) {
  const number = counted(hits.length, isMore ? "best document" : "document");
  find("results").best = hits[0];
  let sentence = `${number} by the words they hold, and their topic · ${milliseconds} ms`;
  if (ranking === "distance") sentence = `${number} nearest to the whole text, by the learned distance · ${milliseconds} ms`;
  if (question.id !== null) sentence = `${number} most like document ${question.id}, by the learned distance · ${milliseconds} ms`;
  if (!hits.length) sentence = known && question.label ? "No document with this label holds one of these words." : "No document holds one of these words.";
  find("search-status").textContent = sentence;
}

function showUnknown(question, unknown) {
  const sentences = unknown.map(({ word, suggestion }) => {
    const sentence = make("p", { className: "hint" }, "No document holds ", make("strong", {}, word), ".");
    if (suggestion) sentence.append(" Did you mean ", make("a", { href: searchLink(replaced(question.query, word, suggestion), question.label) }, suggestion), "?");
    return sentence;
  });
  find("unknown").replaceChildren(...sentences);
}

function replaced(query, word, suggestion) {
  const parts = query.split(/([\p{L}\p{M}\p{N}_]+)/u);
  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const place = parts.findIndex((part) => plain(part) === plain(word));
  if (place >= 0) parts[place] = suggestion;
  return place >= 0 ? parts.join("") : suggestion;
}

function result(question, hit, best) {
  const isRanked = hit.score !== null;
  const share = isRanked ? hit.score / best.score : (best.distance || 1e-12) / (hit.distance || 1e-12);
  const compared = compareLink(question.id === null ? question.query : `id:${question.id}`, `id:${hit.id}`);
  const figure = (isRanked ? hit.score : hit.distance).toFixed(3);
  const title = isRanked ? "Score: larger is better" : "Distance: smaller is better, a longer bar is nearer";
  return make(
    "li",
    { className: "card" },
    make(
      "div",
      { className: "result-head" },
      make("h2", {}, make("a", { href: compared, title: "Compare with what you asked for" }, heading(hit))),
      keyOf(hit),
      hit.label === null ? "" : badge(hit.label),
      make("span", { className: "number distance", title, style: { "--share": `${100 * share}%` } }, figure),
    ),
    marked(hit.pieces.length ? hit.pieces : hit.text ? [{ text: hit.text, weight: 0 }] : [], hit.words.join(", ") || "No text is kept."),
    details(question, hit, isRanked),
  );
}

function details(question, hit, isRanked) {
  const line = make("p", { className: "details" }, make("a", { href: address({ query: "", id: hit.id, label: "", count: PAGE }) }, "More like this"));
  if (isRanked && hit.missing.length) line.append(make("span", {}, "without ", ...hit.missing.flatMap((word, place) => (place ? [" ", make("s", {}, word)] : [make("s", {}, word)]))));
  if (hit.branch) line.append(make("span", {}, "shares ", make("a", { href: `#/tree/${hit.branch.node}/${hit.branch.component}` }, "a branch"), ": ", hit.branch.words.slice(0, 4).join(", ")));
  for (const [name, value] of Object.entries(hit.columns)) if (value !== null) line.append(make("span", {}, `${name} ${value}`));
  line.append(...editing(hit));
  return line;
}

// What there is to find, before anything is asked for.
function showStart() {
  find("unknown").replaceChildren();
  const isLabelled = model.classes.length > 0;
  const rows = model.examples.map((example, place) =>
    make(
      "li",
      {},
      isLabelled ? badge(model.classes[place]) : "",
      isLabelled ? make("span", { className: "hint number" }, model.class_counts[place].toLocaleString("en")) : "",
      example ? make("a", { href: searchLink(example) }, example) : "",
    ),
  );
  const number = (count) => count.toLocaleString("en");
  const unlabelled = isLabelled && model.unlabelled ? `, ${number(model.unlabelled)} of them without a label` : "";
  const inClasses = isLabelled ? `, in ${model.classes.length} classes` : "";
  const learned = model.learned ? ` Learned ${model.learned.slice(0, 10)}.` : "";
  find("start").replaceChildren(
    make("p", {}, `${number(model.documents)} documents${unlabelled}${inClasses}, with ${number(model.words)} different words.${learned}`),
    make("h2", {}, isLabelled ? "Classes, and words to try" : "Words to try"),
    make("ul", { className: "classes" }, ...rows),
  );
}
