import { badge, el, fill } from "./dom.js";
import { objectNamed, refText, rowsOf, serves, worst, worstOf } from "./rows.js";

const rowHeight = 30;
const beyond = 12; // rows that are made above and below what is visible
const fewStacks = 12; // so many are open at first

/** Topology is the list of all stacks with what belongs to them, of which only the visible rows are elements. */
export class Topology {
  constructor(list, inner, choose, reported) {
    this.reported = reported;
    this.severities = new Map(); // of stacks, by what findings and events have
    this.list = list;
    this.inner = inner;
    this.choose = choose;
    this.rows = new Map(); // by stack
    this.objects = new Map(); // rows of objects that were asked for, by the text of the object
    this.keys = [];
    this.version = 0; // of the documents
    this.open = new Map(); // by key of a row: whether its children are shown
    this.openInSearch = new Map();
    this.opened = this.open;
    this.filter = { query: "", namespace: "", kind: "", state: "" };
    this.shown = [];
    this.selected = "";
    list.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(list);
    list.addEventListener("keydown", (e) => this.key(e));
    inner.addEventListener("click", (e) => this.click(e));
  }

  /** take has what a look found in place of what was there. */
  take(keys, stacks) {
    this.keys = keys;
    this.objects.clear();
    this.version++;
    this.severities.clear();
    for (const s of stacks) this.rows.set(s.kind + " " + s.id, rowsOf(s));
    const there = new Set(keys);
    for (const k of this.rows.keys()) if (!there.has(k)) this.rows.delete(k);
    this.update();
  }

  /** stacks are those that are known, in order. */
  stacks() { return this.keys.map((k) => this.rows.get(k)?.[0].stack).filter(Boolean); }

  /** balancers are the rows of load balancers. */
  balancers() { return this.keys.flatMap((k) => (this.rows.get(k) || []).filter((r) => r.what === "load balancer")); }

  /** find is the row with a key. */
  find(key) {
    for (const rows of this.rows.values()) {
      if (key === rows[0].key || key.startsWith(rows[0].key + "/")) {
        const row = rows.find((r) => r.key === key);
        if (row) return row;
      }
    }
    return undefined;
  }

  /** rowOf is the row of an object, by its text: that of its load balancer, or the first in a shared one that comes from it. */
  rowOf(text) {
    if (!this.objects.has(text)) this.objects.set(text, this.findObject(text));
    return this.objects.get(text);
  }

  findObject(text) {
    const object = objectNamed(text);
    if (!object) return undefined;
    const id = (object.namespace ? object.namespace + "/" : "") + object.name;
    const stacks = this.keys.map((k) => this.rows.get(k)).filter(Boolean);
    const of = stacks.filter(([top]) => top.stack.members.some((m) => refText(m) === text));
    const own = of.find(([top]) => top.stack.id === id);
    if (own) return own[0];
    if (of.length > 0) return of[0].find((r) => r.from?.endsWith(" of " + text)) || of[0][0];
    const alone = stacks.find(([top]) => top.stack.kind + " " + top.stack.id === text);
    if (alone) return alone[0];
    if (object.kind === "Service") {
      for (const rows of stacks) {
        for (let r = rows.find((x) => serves(x, object)); r; r = r.parent) if (r.what === "load balancer") return r;
      }
    }
    return stacks.find(([top]) => top.stack.findings.some((f) => refText(f.object) === text))?.[0];
  }

  setFilter(filter) {
    this.filter = { ...this.filter, ...filter };
    this.openInSearch.clear();
    this.list.scrollTop = 0;
    this.update();
  }

  /** select chooses a row, and opens what it is in. */
  select(key, scroll = true) {
    this.selected = key;
    const row = this.find(key);
    if (row && !this.shown.includes(row)) {
      for (let p = row.parent; p; p = p.parent) this.opened.set(p.key, true);
      this.update();
    } else {
      this.draw(true);
    }
    const at = this.shown.findIndex((r) => r.key === key);
    if (at >= 0 && scroll) this.reveal(at);
    this.choose(row, key);
  }

  // severity is the worst of what findings, and for a stack events, say of a row; undefined if that is nothing.
  severity(row) {
    if (row.depth > 0) return worstOf(row.findings || []);
    if (!this.severities.has(row.stack)) this.severities.set(row.stack, worst(worstOf(row.stack.findings), worstOf(this.reported.of(row.stack).filter((e) => e.severity !== "info"))));
    return this.severities.get(row.stack);
  }

  // isOpen reports whether children are shown of a row that nobody has opened or closed.
  isOpen(row) {
    return this.keys.length <= fewStacks && row.depth < 2;
  }

  matches(row, words) {
    const f = this.filter;
    if (f.state === "trouble" && !row.trouble && (row.depth > 0 || !this.severity(row))) return false;
    if (f.state === "changes" && (row.state === "live" || row.state === "held")) return false;
    if (f.state === "unhealthy" && !(row.what === "target" || row.what === "endpoint")) return false;
    if (f.state === "unhealthy" && !row.unhealthy) return false;
    return words.every((w) => row.text.includes(w));
  }

  // update finds the rows that are shown. Of a search these are the rows that match, what they are in, and what was opened.
  update() {
    const f = this.filter;
    const words = f.query.toLowerCase().split(/\s+/).filter(Boolean);
    const searching = words.length > 0 || f.state !== "";
    this.opened = searching ? this.openInSearch : this.open;
    this.shown = [];
    this.found = 0;
    for (const k of this.keys) {
      const rows = this.rows.get(k);
      if (!rows || f.kind && rows[0].stack.kind !== f.kind || f.namespace && !rows[0].namespaces.includes(f.namespace)) continue;
      const hit = new Set();
      if (searching) {
        for (const r of rows) {
          if (!this.matches(r, words)) continue;
          this.found++;
          for (let p = r; p && !hit.has(p); p = p.parent) hit.add(p);
        }
        if (hit.size === 0) continue;
      }
      const visible = new Set();
      for (const r of rows) {
        const under = r.parent;
        const set = under && this.opened.get(under.key);
        if (under && (!visible.has(under) || set === false || !set && !(searching ? hit.has(r) : this.isOpen(under)))) continue;
        visible.add(r);
        this.shown.push(r);
      }
    }
    this.inner.style.height = this.shown.length * rowHeight + "px";
    this.draw(true);
  }

  draw(anew = false) {
    const first = Math.max(0, Math.floor(this.list.scrollTop / rowHeight) - beyond);
    const last = Math.min(this.shown.length, Math.ceil((this.list.scrollTop + this.list.clientHeight) / rowHeight) + beyond);
    if (!anew && first === this.first && last === this.last) return;
    this.first = first;
    this.last = last;
    const rows = [];
    for (let i = first; i < last; i++) rows.push(this.row(this.shown[i], i, this.shown[i + 1]));
    fill(this.inner, rows);
    const at = this.shown.findIndex((r) => r.key === this.selected);
    if (at >= first && at < last) this.list.setAttribute("aria-activedescendant", "row-" + at);
    else this.list.removeAttribute("aria-activedescendant");
  }

  row(r, i, next) {
    const open = next && next.parent === r, severity = this.severity(r);
    const e = el("div", {
      id: "row-" + i, class: "row" + (r.key === this.selected ? " selected" : ""), role: "treeitem", "data-at": i,
      "aria-level": r.depth + 1, "aria-selected": r.key === this.selected ? "true" : "false", "aria-expanded": r.children ? String(Boolean(open)) : undefined,
    },
      el("span", { class: "twist", "aria-hidden": "true" }, r.children ? (open ? "▾" : "▸") : ""),
      r.state !== "live" ? badge(r.state) : null,
      el("span", { class: "what" }, r.what), " ", el("span", { class: "name" }, r.name), " ",
      r.health ? el("span", { class: "health" + (r.unhealthy ? " bad" : r.idle ? " idle" : "") }, r.unhealthy ? "✕ " : "", r.health) : null, " ",
      r.inside && !open ? el("span", { class: "badge " + (r.insideWorst || "warning"), title: "rows in this one with a change of the plan, a finding, or without healthy targets" }, `${r.insideWorst === "error" ? "✕" : "!"} ${r.inside.size} inside`) : null,
      severity ? badge(severity) : null,
      el("span", { class: "label" }, r.label || ""),
      r.from ? el("span", { class: "from" }, r.from) : null,
    );
    e.style.transform = `translateY(${i * rowHeight}px)`;
    e.style.paddingInlineStart = 4 + 18 * r.depth + "px";
    return e;
  }

  toggle(row, open) {
    this.opened.set(row.key, open);
    this.update();
  }

  click(e) {
    const at = Number(e.target.closest("[data-at]")?.dataset.at ?? -1);
    const row = this.shown[at];
    if (!row) return;
    const open = this.shown[at + 1]?.parent === row;
    if (row.children && (e.target.classList.contains("twist") || row.key === this.selected)) this.toggle(row, !open);
    else if (row.children && !open && row.depth < 2) this.toggle(row, true);
    this.select(row.key, false);
  }

  key(e) {
    const at = this.shown.findIndex((r) => r.key === this.selected);
    const row = this.shown[at];
    const page = Math.max(1, Math.floor(this.list.clientHeight / rowHeight) - 1);
    const open = row && this.shown[at + 1]?.parent === row;
    let to = -1;
    switch (e.key) {
      case "ArrowDown": to = at + 1; break;
      case "ArrowUp": to = Math.max(0, at - 1); break;
      case "PageDown": to = at + page; break;
      case "PageUp": to = Math.max(0, at - page); break;
      case "Home": to = 0; break;
      case "End": to = this.shown.length - 1; break;
      case "ArrowRight":
        if (row?.children && !open) this.toggle(row, true);
        else if (open) to = at + 1;
        break;
      case "ArrowLeft":
        if (open) this.toggle(row, false);
        else if (row?.parent) to = this.shown.indexOf(row.parent);
        break;
      case "Enter": case " ":
        if (row?.children) this.toggle(row, !open);
        break;
      default: return;
    }
    e.preventDefault();
    to = Math.min(to, this.shown.length - 1);
    if (to >= 0) this.select(this.shown[to].key);
  }

  reveal(at) {
    const top = at * rowHeight;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + rowHeight > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + rowHeight - this.list.clientHeight;
    this.draw(true);
  }
}
