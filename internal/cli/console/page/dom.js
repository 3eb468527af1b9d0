// Elements are made from text alone: names of objects are never markup.

/** el makes an element with properties and children; text and null are children too. */
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v === undefined || v === null || v === false) continue;
    if (k === "class") e.className = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  append(e, children);
  return e;
}

function append(e, children) {
  for (const c of children) {
    if (c === null || c === undefined || c === false) continue;
    if (Array.isArray(c)) append(e, c);
    else e.append(c instanceof Node ? c : document.createTextNode(String(c)));
  }
}

/** fill has children in place of those of an element. */
export function fill(e, ...children) {
  e.replaceChildren();
  append(e, children);
}

/** badge is a word for a state, with a sign, so that colour is not all that tells. */
export function badge(state) {
  const [sign, word] = signs[state] || ["", state];
  return el("span", { class: "badge " + state }, sign ? sign + " " : "", word);
}

// The signs of fulcrum tree.
const signs = {
  missing: ["+", "missing"], differs: ["~", "differs"], surplus: ["−", "surplus"], held: ["=", "held"], live: ["", "live"],
  error: ["✕", "error"], warning: ["!", "warning"], info: ["…", "past"], ok: ["✓", "ok"],
  healthy: ["✓", "healthy"], unhealthy: ["✕", "not healthy"], note: ["…", "note"],
};

/** copyable is text with a button that copies it. */
export function copyable(text) {
  const button = el("button", { type: "button", class: "quiet", "aria-label": "Copy " + text, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      button.textContent = "select and copy";
    }
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  } }, "copy");
  return el("span", { class: "copyable" }, el("code", {}, text), " ", button);
}

const mostShown = 200;
const timestamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)/;

/** localTimes has times in the text of an element as the header has them, with the full one as title. Values of fields stay unchanged. */
export function localTimes(element) {
  if (!timestamp.test(element.textContent)) return element;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (let text of texts) {
    if (text.parentElement.closest("code, pre, time, del, ins, button")) continue;
    for (let m = timestamp.exec(text.data); m; m = timestamp.exec(text.data)) {
      const at = new Date(m[0]);
      if (isNaN(at)) break;
      const rest = text.splitText(m.index + m[0].length);
      text.splitText(m.index).replaceWith(el("time", { datetime: m[0], title: m[0] }, at.toDateString() === new Date().toDateString() ? at.toLocaleTimeString() : at.toLocaleString()));
      text = rest;
    }
  }
  return element;
}

/** batched has things in a list, so many at a time and the others by a button. */
export function batched(list, things, item, most = mostShown) {
  const more = el("button", { type: "button", class: "quiet" });
  const next = () => {
    const from = list.childElementCount;
    for (const t of things.slice(from, from + most)) list.append(localTimes(el("li", {}, item(t))));
    const rest = things.length - list.childElementCount;
    more.hidden = rest <= 0;
    more.textContent = `${rest} more`;
  };
  more.addEventListener("click", next);
  next();
  return [list, more.hidden ? null : more];
}

/** shown is a document of a command, as nested lists. */
export function shown(value, name = "") {
  if (value === null || value === undefined) return el("span", { class: "none" }, "—");
  if (Array.isArray(value)) {
    if (value.length === 0) return el("span", { class: "none" }, "none");
    return el("div", {}, batched(el("ul", { class: "plain" }), value, (v) => shown(v, name)));
  }
  if (typeof value === "object") {
    const dl = el("dl", {});
    for (const [k, v] of Object.entries(value)) {
      if (v === null || v === "" || Array.isArray(v) && v.length === 0) continue;
      dl.append(el("dt", {}, words(k)), el("dd", {}, shown(v, k)));
    }
    return dl;
  }
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

/** words has a field's name as words: "dnsName" is "dns name". */
export function words(field) {
  return field.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}
