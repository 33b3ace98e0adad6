// The OpenAPI description of the service as a page: every operation, what it takes and what it gives.

import { find, make } from "./dom.js";

const typeName = (schema) => {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(typeName).join(" or ");
  if (schema.type === "array") return `list of ${schema.items ? typeName(schema.items) : "values"}`;
  return schema.type ?? "any value";
};

const bounds = (schema) =>
  [
    ["at least", schema.minimum ?? schema.minLength ?? schema.minItems],
    ["at most", schema.maximum ?? schema.maxLength ?? schema.maxItems],
  ]
    .filter(([, value]) => value !== undefined && Math.abs(value) < 1e12)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");

function link(name) {
  return make("a", { href: `#${name}` }, name);
}

function typed(schema) {
  const name = typeName(schema);
  const linked = [schema, schema.items ?? {}].find((item) => item.$ref);
  return linked ? make("span", {}, name.replace(typeName(linked), ""), link(typeName(linked))) : make("span", {}, name);
}

function row(name, schema, required) {
  const notes = [schema.description, bounds(schema), schema.default !== undefined && schema.default !== null ? `default ${JSON.stringify(schema.default)}` : ""];
  return make("tr", {}, make("td", {}, make("code", {}, name), required ? " *" : ""), make("td", {}, typed(schema)), make("td", {}, notes.filter(Boolean).join("; ")));
}

function example(schema, all, depth = 0) {
  if (schema.$ref) return example(all[typeName(schema)], all, depth + 1);
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.anyOf) return example(schema.anyOf[0], all, depth);
  if (schema.type === "array") return [example(schema.items ?? {}, all, depth + 1)];
  if (schema.type === "object") {
    const required = new Set(schema.required ?? []);
    return Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([name, item]) => required.has(name) || item.default !== undefined).filter(([, item]) => item.default !== null && !(item.anyOf && !required.size)).map(([name, item]) => [name, example(item, all, depth + 1)]));
  }
  return { string: "a text", integer: 1, number: 0.5, boolean: false }[schema.type] ?? null;
}

function operation(method, path, described, all) {
  const body = described.requestBody?.content["application/json"].schema;
  const details = make("details", { className: "operation card" }, make("summary", {}, make("span", { className: "method" }, method.toUpperCase()), make("code", {}, path), ` — ${described.description ?? described.summary}`));
  if (described.parameters?.length) {
    const rows = described.parameters.map((parameter) => row(parameter.name, { ...parameter.schema, description: parameter.description }, parameter.required));
    details.append(make("div", { className: "scroll" }, make("table", {}, make("tbody", {}, ...rows))));
  }
  const parts = ["curl", `${location.origin}${path}`];
  if (method !== "get" && method !== "post") parts.push("-X", method.toUpperCase());
  if (described.security && method !== "get" && path.startsWith("/api/documents")) parts.push("-H 'Authorization: Bearer …'");
  if (body) {
    details.append(make("p", {}, "Takes ", link(typeName(body)), "."));
    parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(example(body, all))}'`);
  }
  details.append(make("pre", { tabIndex: 0 }, make("code", {}, parts.join(" "))));
  for (const [status, answer] of Object.entries(described.responses)) {
    const schema = answer.content?.["application/json"]?.schema;
    details.append(make("p", { className: "hint" }, make("code", {}, status), ` ${answer.description} `, schema?.$ref ? link(typeName(schema)) : ""));
  }
  return details;
}

function schemaCard(name, schema) {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([key, item]) => row(key, item, required.has(key)));
  return make("article", { className: "card operation", id: name }, make("h2", {}, name), make("p", { className: "hint" }, schema.description ?? ""), make("div", { className: "scroll" }, make("table", {}, make("tbody", {}, ...rows))));
}

const description = await (await fetch("openapi.json")).json();
find("about").textContent = description.info.description.replaceAll("`", "");
const all = description.components.schemas;
for (const [path, methods] of Object.entries(description.paths)) {
  for (const [method, described] of Object.entries(methods)) find("operations").append(operation(method, path, described, all));
}
find("schemas").append(...Object.entries(all).filter(([name]) => !name.startsWith("HTTP") && name !== "ValidationError").map(([name, schema]) => schemaCard(name, schema)));
