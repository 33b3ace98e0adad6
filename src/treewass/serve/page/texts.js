// Texts that are too long for an address: it holds a name for them, this window holds the texts.

const LONGEST = 1000; // characters in an address
const MOST = 20; // texts of links that nobody has followed yet
const NAME = /^kept:[0-9a-z]+-\d+$/;
const linked = new Map();
let latest = "";
let count = 0;

// The text itself if it is short, or else a name.
export function nameOf(text) {
  if (text.length <= LONGEST) return text;
  if (linked.get(latest) === text) return latest;
  count += 1;
  latest = `kept:${Date.now().toString(36)}-${count}`;
  linked.set(latest, text);
  if (linked.size > MOST) linked.delete(linked.keys().next().value);
  return latest;
}

// The text of a name; once it is asked for, it is there after a reload too, as far as the browser has room.
export function textOf(name) {
  if (!NAME.test(name)) return name;
  const text = linked.get(name) ?? sessionStorage.getItem(name);
  if (text === null) throw new Error("The text of this address is no longer kept. Paste it again.");
  try {
    sessionStorage.setItem(name, text);
  } catch {
    // it is full: the text stays for as long as the page does
  }
  return text;
}
