// Results as you type.

import { askLatest, stop } from "./api.js";
import { attempt } from "./app.js";
import { badge, compareLink, find, heading, make, marked } from "./dom.js";

const PAUSE = 120; // milliseconds without a key before the service is asked
let timer = 0;
let answered = ""; // the query whose results are shown

export function startSearch() {
  find("query").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE);
  });
  find("query").addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") move(event, 0);
    if (event.key === "Enter" && find("query").value.trim() === answered) find("results").querySelector("a")?.click();
  });
  find("results").addEventListener("keydown", (event) => {
    const links = [...find("results").querySelectorAll("h2 a")];
    const place = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") move(event, place + 1);
    if (event.key === "ArrowUp") move(event, place - 1);
    if (event.key === "Escape") find("query").focus();
  });
}

export function openSearch() {
  find("query").focus();
  return search();
}

function move(event, place) {
  const links = find("results").querySelectorAll("h2 a");
  event.preventDefault();
  if (place < 0) find("query").focus();
  else links[Math.min(place, links.length - 1)]?.focus();
}

function search() {
  if (find("view-search").hidden) return undefined;
  stop();
  const query = find("query").value.trim();
  if (!query) {
    answered = "";
    find("results").replaceChildren();
    find("search-status").textContent = "";
    return undefined;
  }
  return attempt(() => answer(query));
}

async function answer(query) {
  const began = performance.now();
  const { results } = await askLatest("search", { texts: [query], k: 10, highlight: true });
  const [{ known, neighbors }] = results;
  answered = query;
  const milliseconds = Math.round(performance.now() - began);
  find("search-status").textContent = known
    ? `The ${neighbors.length} nearest documents, in ${milliseconds} ms`
    : "None of these words is known to the model.";
  const farthest = Math.max(...neighbors.map((neighbor) => neighbor.distance), 1e-12);
  find("results").replaceChildren(...neighbors.map((neighbor) => result(query, neighbor, farthest)));
}

function result(query, neighbor, farthest) {
  const link = make("a", { href: compareLink(query, `id:${neighbor.id}`), title: "Compare with the query" }, heading(neighbor));
  return make(
    "li",
    { className: "card" },
    make(
      "div",
      { className: "result-head" },
      make("h2", {}, link),
      badge(neighbor.label),
      make("span", { className: "number distance", title: "Distance", style: { "--share": `${(100 * neighbor.distance) / farthest}%` } }, neighbor.distance.toFixed(3)),
    ),
    marked(neighbor.pieces, neighbor.words.map((word) => word.word).join(", ") || "No text is kept."),
  );
}
