// Elements made from code: texts become text nodes, so that markup in a document is only ever shown.

import { nameOf } from "./texts.js";

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "style") for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const find = (id) => document.getElementById(id);

export const percent = (share) => `${(100 * share).toFixed(share < 0.1 && share > 0 ? 1 : 0)} %`;

const colors = new Map(); // of labels, as in reports

export function knowLabels(model) {
  model.classes.forEach((label, place) => colors.set(label, model.colors[place]));
}

const color = (label) => colors.get(label) ?? "#9aa0a6";

export function badge(label) {
  return make("span", { className: "badge", style: { "--tag": color(label) } }, String(label));
}

// A text whose words are marked: green brings near or speaks for, red keeps apart or speaks against.
export function marked(pieces, fallback) {
  const paragraph = make("p", { className: "text" });
  for (const piece of pieces) {
    if (!piece.weight) paragraph.append(piece.text);
    else
      paragraph.append(
        make("mark", { className: piece.weight > 0 ? "near" : "far", style: { "--weight": String(Math.abs(piece.weight)) } }, piece.text),
      );
  }
  if (!pieces.length) paragraph.append(make("em", {}, fallback));
  return paragraph;
}

export function shares(items) {
  const list = make("ul", { className: "shares" });
  for (const { label, share } of items) {
    list.append(
      make("li", { style: { "--tag": color(label), "--share": `${100 * share}%` } }, make("span", {}, String(label)), make("span", { className: "number" }, percent(share))),
    );
  }
  return list;
}

export function heading(document) {
  return document.title || document.key || `Document ${document.id}`;
}

// The key, where the heading is a title.
export function keyOf(document) {
  return document.title && document.key ? make("span", { className: "key" }, document.key) : "";
}

export const counted = (number, noun, plural = `${noun}s`) => `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;

export const compareLink = (first, second) => `#/compare/${encodeURIComponent(nameOf(first))}/${encodeURIComponent(nameOf(second))}`;
