import { command } from "./api.js";
import { answerOf } from "./answers.js";
import { badge, copyable, el, fill, localTimes } from "./dom.js";
import { reportOf } from "./reported.js";
import { refText } from "./rows.js";

const meaning = {
  live: "in AWS as it is desired", held: "kept as it is in AWS, because its desired state cannot be determined", missing: "desired and not in AWS",
  differs: "in AWS, and the plan changes it", surplus: "in AWS, and the plan deletes it",
};

// meaningOf says what the state of a row means. What is in AWS may have parts that are not as they are desired.
function meaningOf(row) {
  if (row.state === "live" && row.inside?.size) return "in AWS; what is marked inside it is not as it is desired, or has a fault";
  if (row.state === "held" && row.depth === 0 && row.children === 0) return "its desired state cannot be determined, and nothing of it is in AWS";
  return meaning[row.state];
}

const mostReports = 10;

/** Detail shows a row, and what plan and explain say of its object. */
export class Detail {
  constructor(element, go, reported) {
    this.element = element;
    this.go = go;
    this.reported = reported;
  }

  show(row, key) {
    if (row && this.row?.key === row.key && this.row.stack === row.stack && this.events === this.reported.events) return;
    this.events = this.reported.events;
    const same = row && this.row?.key === row.key;
    this.row = row;
    delete this.element.dataset.object;
    if (!row) {
      fill(this.element, key ? el("p", {}, "This is not there any more, or not yet.") : el("p", { class: "hint" }, "Choose a row to see where it comes from and what the plan changes."));
      return;
    }
    const line = (name, ...value) => value.some(Boolean) ? [el("dt", {}, name), el("dd", {}, value)] : [];
    this.answer = same ? this.answer : el("div", { class: "answer" });
    const focused = this.answer.contains(document.activeElement) ? document.activeElement : undefined, scrolled = this.element.scrollTop;
    fill(this.element,
      el("h3", {}, row.what, " ", el("span", { class: "name" }, row.name)),
      el("dl", {},
        line("state", badge(row.state), " ", meaningOf(row)),
        line("health", row.health),
        line("", row.label),
        line("note", row.note),
        line("from", row.from),
        line("dns name", row.dnsName && copyable(row.dnsName)),
        line("arn", row.arn && copyable(row.arn)),
        line("leads to", row.leads && el("a", { href: this.go.row("/" + row.leads) }, row.leads)),
        line("accelerators", ...(row.what === "load balancer" && row.source.accelerators || []).map((a) => [el("a", { href: this.go.row(`/${a.kind} ${a.namespace}/${a.name}`) }, refText(a)), " "])),
      ),
      row.changes?.length ? el("div", {}, el("h4", {}, "The plan changes"), el("ul", {}, row.changes.map((c) =>
        el("li", {}, el("b", {}, c.field), ": ", el("del", {}, c.from || "nothing"), " → ", el("ins", {}, c.to || "nothing"))))) : null,
      row.findings?.length ? el("div", {}, el("h4", {}, "Findings"), row.findings.map((f) => findingOf(f, this.go))) : null,
      this.reports(row.stack),
      el("h4", {}, "Objects"),
      el("ul", { class: "plain" }, row.stack.members.map((m) => el("li", {}, refText(m), " ",
        this.button("explain", "explain", m), this.button("plan", "plan", m)))),
      this.answer,
    );
    this.element.scrollTop = same ? scrolled : 0;
    focused?.focus({ preventScroll: true }); // what is taken out of the page and put back loses the keyboard
  }

  /** showObject is an object that no row is of: what the commands say of it. */
  showObject(object, text) {
    if (this.element.dataset.object === text && !this.row) return;
    this.row = undefined;
    this.answer = el("div", { class: "answer" });
    fill(this.element, el("h3", {}, text), el("p", {}, "No load balancer that is shown has this object."),
      object ? el("p", {}, this.button("explain", "explain", object), this.button("plan", "plan", object)) : null, this.answer);
    this.element.dataset.object = text;
  }

  // reports are what the controller has reported of the objects of a stack, which is why something may stay as it is.
  reports(stack) {
    const all = this.reported.of(stack);
    if (all.length === 0 && !this.reported.failed) return null;
    return el("div", {}, el("h4", {}, "Reported by the controller"), all.slice(0, mostReports).map((e) => reportOf(e, this.go.object(e.object))),
      all.length > mostReports ? el("p", { class: "hint" }, `and ${all.length - mostReports} more`) : null,
      this.reported.failed ? el("p", { class: "failed" }, this.reported.failed) : null);
  }

  button(text, name, object) {
    return el("button", { type: "button", class: "quiet", "aria-label": `${text} ${refText(object)}`, onclick: () => this.ask(name, object) }, text);
  }

  async ask(name, object) {
    const answer = this.answer, body = el("div", {});
    const title = el("h4", { class: "title", tabindex: "-1" }, `${name} of ${refText(object)}`);
    fill(body, el("p", { role: "status" }, `fulcrum ${name} is running …`));
    fill(answer, title, body);
    lead(title);
    try {
      fill(body, said(name, await command(name, { kind: object.kind, name: object.name, namespace: object.namespace }), this.go));
    } catch (e) {
      fill(body, el("p", { class: "failed" }, e.message));
    }
    if (document.activeElement === title) lead(title); // what was below the fold is long enough now to scroll
  }
}

/** findingOf is a finding with a link to its object, or others that it says the same of, and the places that it is the cause of. */
export function findingOf(f, go, others, places) {
  return el("article", { class: "finding " + f.severity },
    badge(f.severity), " ", el("b", {}, f.reason), " ", others ? null : go ? el("a", { href: go.object(f.object) }, refText(f.object)) : refText(f.object),
    f.field && !others ? el("code", {}, " " + f.field) : null, el("p", {}, f.message),
    f.blocks && f.blocks !== "nothing" ? el("p", { class: "hint" }, "holds: " + f.blocks) : null, others, places,
  );
}

// lead has a heading, which comes after what was clicked, in view and read out.
function lead(title) {
  title.focus({ preventScroll: true });
  title.scrollIntoView({ block: "start" });
}

// outcome is what an exit code says, which differs by command.
function outcome(name, exit) {
  if (name === "plan") return { 0: "nothing to change", 2: "there are changes" }[exit] || "failed";
  return exit === 0 ? "" : "failed";
}

/** said is what a command has answered, with the line that gives the same in a terminal. */
export function said(name, a, go) {
  return el("div", {},
    el("p", {}, copyable(a.command)),
    a.notes ? el("pre", { class: "notes" }, a.notes) : null,
    a.document ? localTimes(answerOf(name, a.document, go)) : null,
    el("p", { class: "hint" }, [outcome(name, a.exit), `${a.calls} calls to AWS`].filter(Boolean).join(", ")),
  );
}
