// The frame: which view is shown, the theme, the token, and problems in a sentence.

import { ask, stop, useToken } from "./api.js";
import { openClassify, startClassify } from "./classify.js";
import { openCompare, startCompare } from "./compare.js";
import { find, knowLabels } from "./dom.js";
import { knowWritable, openAdd, startAdd } from "./edit.js";
import { knowReviewed, openReview, startReview } from "./review.js";
import { knowModel, openSearch, openSimilar, startSearch } from "./search.js";
import { openTree } from "./tree.js";

let isKnown = false; // the model
const views = { search: openSearch, similar: openSimilar, compare: openCompare, tree: openTree, classify: openClassify, review: openReview, add: openAdd };

// Show the field for the token, and why it is needed.
export function offerToken(why) {
  find("token-why").textContent = why;
  find("token-form").hidden = false;
}

export function demandToken(why = "Whoever runs the service has it.") {
  offerToken(why);
  find("token").focus();
}

export function report(error) {
  if (error && error.name === "AbortError") return;
  if (error && error.status === 401) demandToken();
  find("problem").textContent = error ? error.message : "";
  find("problem").hidden = !error;
}

// Run something that asks the service, and say what went wrong.
export async function attempt(action) {
  try {
    const result = await action();
    report(null);
    return result;
  } catch (error) {
    report(error);
    return undefined;
  }
}

// Let the view of the address be seen, and give its name and parameters.
function reveal() {
  const [, name, ...rest] = location.hash.split("/");
  const current = Object.hasOwn(views, name) ? name : "search";
  const section = current === "similar" ? "search" : current;
  for (const view of document.querySelectorAll("main > section")) view.hidden = view.id !== `view-${section}`;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${section}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  return [current, ...rest];
}

function show() {
  const [current, ...parameters] = reveal();
  if (!isKnown) return; // one can type before the model is known; the view is opened then
  stop();
  find("token-form").hidden = true;
  report(null);
  attempt(() => views[current](...parameters.map(decodeURIComponent)));
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("treewass-theme", root.dataset.theme);
}

// Learn what is served, at first and after each write.
export async function learnModel() {
  const model = await ask("model");
  find("model-name").textContent = `${model.name} · ${model.documents.toLocaleString("en")} documents`;
  document.title = `${model.name} · treewass`;
  knowLabels(model);
  find("classify-link").hidden = !model.classes.length;
  knowWritable(model);
  knowReviewed(model);
  knowModel(model);
  isKnown = true;
  return model;
}

let sayOpened;
export const opened = new Promise((resolve) => (sayOpened = resolve)); // once the first view is, which gives up what runs

async function start() {
  if (!(await attempt(learnModel))) return;
  show();
  sayOpened();
}

find("theme").addEventListener("click", switchTheme);
find("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(find("token").value.trim());
  start();
});
window.addEventListener("hashchange", show);
startSearch();
startCompare();
startClassify();
startReview();
startAdd();
show();
start();
