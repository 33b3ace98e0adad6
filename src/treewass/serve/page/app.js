// The frame: which view is shown, the theme, the token, and problems in a sentence.

import { ask, stop, useToken } from "./api.js";
import { openClassify, startClassify } from "./classify.js";
import { openCompare, startCompare } from "./compare.js";
import { find, knowLabels } from "./dom.js";
import { openSearch, startSearch } from "./search.js";
import { openTree } from "./tree.js";

const views = { search: openSearch, compare: openCompare, tree: openTree, classify: openClassify };

export function report(error) {
  if (error && error.name === "AbortError") return;
  if (error && error.status === 401) {
    find("token-form").hidden = false;
    find("token").focus();
  }
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

function show() {
  stop();
  const [, name, ...rest] = location.hash.split("/");
  const current = Object.hasOwn(views, name) ? name : "search";
  for (const view of Object.keys(views)) find(`view-${view}`).hidden = view !== current;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  report(null);
  attempt(() => views[current](...rest.map(decodeURIComponent)));
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("treewass-theme", root.dataset.theme);
}

async function start() {
  const model = await attempt(() => ask("model"));
  if (!model) return;
  find("token-form").hidden = true;
  find("model-name").textContent = `${model.name} · ${model.documents.toLocaleString("en")} documents`;
  document.title = `${model.name} · treewass`;
  knowLabels(model.classes);
  show();
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
start();
