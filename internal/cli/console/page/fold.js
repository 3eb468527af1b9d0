// Rows of one stack and one cause, folded into one that opens.
import { badge, batched, el, fill } from "./dom.js";

const mostShown = 100; // rows that are added at a time to a fold that is open

/** folds has things by their cause, each cause where its first thing is: {key, text, of}. causeOf gives {key, text}. */
export function folds(things, causeOf) {
  const out = new Map();
  for (const thing of things) {
    const { key, text } = causeOf(thing);
    if (!out.has(key)) out.set(key, { key, text, of: [] });
    out.get(key).of.push(thing);
  }
  return [...out.values()];
}

/**
 * causeOfRow is why a row is not as desired, as far as the document says that: the replacement of a load balancer, what it is in
 * that is made or deleted as a whole, or a change that other resources of the stack get too. A row that is held has a cause of its own.
 */
export function causeOfRow(row) {
  const alone = { key: row.key, text: "" };
  if (/^held\b/.test(row.note || "")) return alone;
  if (row.state === "differs") {
    return row.changes?.length ? { key: [row.stack.kind, row.stack.id, JSON.stringify(row.changes), row.note].join("\n"), text: "the same change of " } : alone;
  }
  if (row.state !== "missing" && row.state !== "surplus") return alone;
  let top = row, replaced = row.source?.replaced;
  while (top.parent?.state === row.state && !/^held\b/.test(top.parent.note || "")) {
    top = top.parent;
    replaced ||= top.source?.replaced;
  }
  if (replaced) return { key: [row.stack.kind, row.stack.id, replaced].join("\n"), text: `replacement of load balancer ${replaced}: ` };
  return { key: top.key, text: `${top.what} ${top.name} ${row.state === "missing" ? "is not in AWS yet" : "is to be deleted"}: ` };
}

/** Folds shows folds, and has those stay open that were opened, and the keyboard where it was, when they are shown again. */
export class Folds {
  constructor(element) {
    this.element = element;
    this.opened = new Set();
    this.last = [];
  }

  /** show has folds in place of those before. Nothing happens where all of them hold the same things. */
  show(list, make) {
    const things = list.flatMap((f) => f.of);
    if (this.drawn && things.length === this.last.length && things.every((t, i) => t === this.last[i])) return;
    this.drawn = true;
    this.last = things;
    const focused = this.element.contains(document.activeElement) ? document.activeElement.closest("details")?.dataset.key : undefined;
    fill(this.element, make(list));
    if (focused !== undefined) [...this.element.querySelectorAll("details")].find((d) => d.dataset.key === focused)?.firstElementChild.focus();
  }

  /** details are the things of a fold under a line that says what they have in common. They are made once it is open. */
  details(fold, summary, item) {
    const body = el("div", {});
    const open = () => { if (body.childElementCount === 0) fill(body, batched(el("ul", { class: "plain" }), fold.of, item, mostShown)); };
    const d = el("details", { class: "fold", ontoggle: () => {
      if (d.open) this.opened.add(fold.key);
      else this.opened.delete(fold.key);
      if (d.open) open();
    } }, el("summary", {}, summary), body);
    d.dataset.key = fold.key;
    if (this.opened.has(fold.key)) {
      d.open = true;
      open();
    }
    return d;
  }
}

/** statesOf are how many rows of a fold have each state, as badges. */
export function statesOf(rows) {
  return ["surplus", "missing", "differs"].map((s) => [s, rows.filter((r) => r.state === s).length]).filter(([, n]) => n > 0)
    .map(([s, n]) => [badge(s), ` ${n} `]);
}
