import { badge, el, fill } from "./dom.js";

const mostKept = 1000;

/** Changes are what looks have found since the page was opened, the last first. */
export class Changes {
  constructor(element, go) {
    this.element = element;
    this.go = go;
    this.all = [];
    this.update();
  }

  take(changes) {
    if (changes.length === 0) return;
    this.all = [...changes.toReversed(), ...this.all].slice(0, mostKept);
    this.update();
  }

  update() {
    fill(this.element, this.all.length === 0 ? el("p", { class: "none" }, "Nothing so far.") : this.all.map((c) => el("article", { class: "change" },
      el("h3", {}, el("time", { datetime: c.at }, new Date(c.at).toLocaleTimeString()), " ", el("a", { href: c.event ? this.go.object(c.of) : this.go.row("/" + c.of) }, c.of)),
      el("ul", { class: "plain" },
        c.event ? el("li", {}, badge(c.event.warning ? "warning" : "note"), " ", el("b", {}, c.event.reason), " ", c.event.message, el("span", { class: "from" }, ` event by ${c.event.by}`)) : null,
        (c.was || []).map((l) => el("li", {}, el("span", { class: "sign" }, "was "), el("del", {}, l.trim()))),
        (c.now || []).map((l) => el("li", {}, el("span", { class: "sign" }, "now "), el("ins", {}, l.trim())))))));
  }
}
