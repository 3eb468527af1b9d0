// What the controller has reported in events of the cluster. Texts are shown as text: whoever may write events has written them.
import { badge, el } from "./dom.js";
import { refText } from "./rows.js";

/** Reported are the warnings of the controller that no success came after, or that report a change. */
export class Reported {
  constructor() {
    this.events = [];
    this.take({});
  }

  take(r) {
    this.more = r.more || 0;
    this.failed = r.failed || "";
    this.partial = Boolean(r.partial);
    this.events = r.events || [];
  }

  /** beside are those that no finding of the same object has: a fault is shown once. */
  beside(findings) {
    const known = new Set(findings.map((f) => refText(f.object) + " " + f.reason));
    return this.events.filter((e) => !known.has(refText(e.object) + " " + (e.finding || e.reason)));
  }

  /** of are those about the objects of a stack that its findings do not have. */
  of(stack) {
    const members = new Set(stack.members.map(refText));
    return this.beside(stack.findings).filter((e) => members.has(refText(e.object)));
  }

  /** limits says what is not shown. */
  limits() {
    return [
      this.failed ? el("p", { class: "failed" }, this.failed, "; what the controller has reported is not shown, or old") : null,
      this.partial ? el("p", { class: "hint" }, "the cluster has more events than are read, so that some may not be shown") : null,
      this.more ? el("p", {}, `and ${this.more} more; explain shows those of an object`) : null,
    ];
  }
}

/** ago is a time as people say it. */
export function ago(at, now = Date.now()) {
  const minutes = Math.floor((now - new Date(at).getTime()) / 60000);
  return minutes < 1 ? "less than a minute ago" : `${minutes} min ago`;
}

/** older has times that are shown grow older. */
export function older() {
  for (const e of document.querySelectorAll("time.ago")) {
    const text = ago(e.getAttribute("datetime"));
    if (e.textContent !== text) e.textContent = text;
  }
}

/** reportOf is a warning of the controller, with a link to its object if the page shows it, and more below. */
export function reportOf(e, href, ...more) {
  return el("article", { class: "finding " + e.severity },
    badge(e.severity), " ", el("b", {}, e.reason), " ", href ? el("a", { href }, refText(e.object)) : refText(e.object), el("p", {}, e.message),
    el("p", { class: "hint" }, "reported ", el("time", { class: "ago", datetime: e.at, title: new Date(e.at).toLocaleString() }, ago(e.at)),
      e.count > 1 ? `, ${e.count} times` : "", `, in an event by ${e.by}`, e.past ? "; the last look does not find it any more" : ""), more,
  );
}
