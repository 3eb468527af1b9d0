import { command } from "./api.js";
import { badge, copyable, el, fill } from "./dom.js";
import { findingOf } from "./detail.js";
import { Folds, causeOfRow, folds, statesOf } from "./fold.js";
import { reportOf } from "./reported.js";
import { refText, serves } from "./rows.js";

const bySeverity = { error: 0, warning: 1 };
const mostListed = 100, mostPlaces = 20;
const withoutEndpoints = new Set(["SelectorMatchesNoPod", "ServiceWithoutEndpoints", "TargetPortNotFound"]); // reasons for which a Service has no targets

/** Trouble lists what is wrong, the worst first. Doctor and orphans are asked when the page is first looked at. */
export class Trouble {
  constructor(element, topology, go, reported) {
    this.topology = topology;
    this.go = go;
    this.reported = reported;
    this.reports = el("div", {});
    this.findings = new Folds(el("div", {}));
    this.drift = new Folds(el("div", {}));
    this.checks = el("div", {});
    this.orphans = el("div", {});
    this.notes = el("div", {});
    this.note("");
    this.counts = new Map();
    const section = (key, title) => {
      this.counts.set(key, el("span", { class: "count" }));
      return el("h3", {}, title, " ", this.counts.get(key));
    };
    fill(element,
      section("findings", "Findings"), this.findings.element,
      section("reports", "Reported by the controller in the last hour"), this.reports,
      section("drift", "What AWS has otherwise than desired"), this.drift.element,
      section("checks", "Checks: rights, quotas, definitions"), this.checks,
      section("orphans", "Orphans"), this.orphans,
      el("h3", {}, "Notes"), this.notes,
    );
  }

  /** count is how many entries the page lists. all reports whether checks and orphans, which cost calls to AWS, are among them. */
  count() {
    const of = this.entries();
    return { n: Object.values(of).reduce((n, list) => n + (list?.length || 0), 0), all: Boolean(of.checks && of.orphans) };
  }

  // entries are what the page lists, by section. Those of checks and orphans are undefined as long as they are not known.
  entries() {
    if (this.made?.version !== this.topology.version || this.made.events !== this.reported.events) {
      const findings = this.foundOnce(), events = this.others().filter((e) => !told(e, findings));
      const reports = folds(events, (e) => ({ key: JSON.stringify([e.severity, e.finding || e.reason, e.message]), text: "" }));
      this.made = { version: this.topology.version, events: this.reported.events, of: { findings, reports, drift: folds(this.elsewhere([...findings, ...reports]), causeOfRow) } };
    }
    return { ...this.made.of, checks: this.wrong, orphans: this.found };
  }

  // counted has the number of entries beside the title of each section, and in the badge of the page.
  counted() {
    const of = this.entries();
    for (const [key, e] of this.counts) e.textContent = of[key]?.length ?? "";
    this.changed?.();
  }

  // others are what the controller has reported and no finding has.
  others() { return this.reported.beside(this.topology.stacks().flatMap((s) => s.findings)); }

  // report lists what the controller has reported. An object that is in no load balancer is no link.
  report(others) {
    fill(this.reports, others.length === 0 && !this.reported.failed ? el("p", { class: "none" }, "nothing else") : null,
      others.slice(0, mostListed).map((fold) => this.reportFold(fold)),
      others.length > mostListed ? el("p", {}, `and ${others.length - mostListed} more`) : null, this.reported.limits());
  }

  // foundOnce are the findings, the worst first, those that say the same of several objects or fields as one.
  foundOnce() {
    const seen = new Set(), stackOf = new Map();
    const once = [];
    for (const s of this.topology.stacks()) {
      for (const f of s.findings) {
        const key = JSON.stringify(f);
        if (seen.has(key)) continue;
        seen.add(key);
        stackOf.set(f, s);
        once.push(f);
      }
    }
    once.sort((a, b) => bySeverity[a.severity] - bySeverity[b.severity]);
    const cause = (f) => ({ key: JSON.stringify([stackOf.get(f).kind, stackOf.get(f).id, f.severity, f.reason, f.message, f.blocks]), text: "" });
    return folds(once, cause);
  }

  // elsewhere are rows that are not as desired. Target groups and targets that are not healthy as a Service has no endpoints are the places
  // of the entry that says so, and in no other list.
  elsewhere(entries) {
    const services = entries.filter((x) => x.of[0].object.kind === "Service" && withoutEndpoints.has(x.of[0].finding || x.of[0].reason));
    for (const x of services) x.places = [];
    return [...this.topology.rows.values()].flatMap((rows) => rows.filter((r) => {
      if (differs(r)) return true;
      if (!r.trouble || !r.unhealthy) return false;
      const group = r.what === "target" ? r.parent : r, of = services.find((x) => x.of.some((f) => serves(group, f.object)));
      of?.places.push(r);
      return !of;
    }));
  }

  // places are the rows that an entry is the cause of.
  places(fold) {
    if (!fold.places?.length) return null;
    return el("ul", { class: "plain" }, fold.places.slice(0, mostPlaces).map((r) => el("li", {}, this.one(r))),
      fold.places.length > mostPlaces ? el("li", {}, `and ${fold.places.length - mostPlaces} more`) : null);
  }

  // one is a row with a link to it.
  one(r) {
    return [r.unhealthy && !differs(r) ? badge("unhealthy") : badge(r.state), " ", el("a", { href: this.go.row(r.key) }, r.what, " ", r.name), " ",
      r.health || "", " ", from(r), r.note ? el("span", { class: "hint" }, " " + r.note) : null];
  }

  update() {
    const of = this.entries();
    this.report(of.reports);
    this.counted();
    this.findings.show(of.findings, (list) => [
      list.length === 0 ? el("p", { class: "none" }, "none") : list.slice(0, mostListed).map((f) => this.finding(f)),
      list.length > mostListed ? el("p", {}, `and ${list.length - mostListed} more; search for an object to see its own`) : null]);
    this.drift.show(of.drift, (list) => [
      list.length === 0 ? el("p", { class: "none" }, "nothing") : el("ul", { class: "plain" }, list.slice(0, mostListed).map((f) => el("li", {}, this.row(f)))),
      list.length > mostListed ? el("p", {}, `and ${list.length - mostListed} more`) : null]);
  }

  // finding is one, or several that say the same of several objects or fields.
  finding(fold) {
    const [first] = fold.of;
    if (fold.of.length === 1) return findingOf(first, this.go, null, this.places(fold));
    return findingOf(first, this.go, this.findings.details(fold, `the same of ${fold.of.length} objects or fields`,
      (f) => [el("a", { href: this.go.object(f.object) }, refText(f.object)), f.field ? el("code", {}, " " + f.field) : null]), this.places(fold));
  }

  // row is one that is not as desired, or several of one cause.
  row(fold) {
    const [first] = fold.of;
    if (fold.of.length === 1) return this.one(first);
    return this.drift.details(fold, [statesOf(fold.of), el("b", {}, fold.text, `${fold.of.length} resources`), " ", from(first)], (r) => this.one(r));
  }

  // reportFold is what the controller has reported, of one or several objects in the same words. An object of no row is no link.
  reportFold(fold) {
    const [first, ...more] = fold.of;
    const link = (o) => (this.topology.rowOf(refText(o)) ? this.go.object(o) : undefined);
    return reportOf(first, link(first.object), more.length ? el("ul", { class: "plain" }, more.map((e) => el("li", {}, "of ", link(e.object) ? el("a", { href: link(e.object) }, refText(e.object)) : refText(e.object), " too"))) : null, this.places(fold));
  }

  /** note shows what a look could not know, and which flags it took over. */
  note(text) { fill(this.notes, text ? el("pre", {}, text) : el("p", { class: "none" }, "none")); }

  /** visit asks for what costs calls to AWS, the first time. */
  visit() {
    this.update();
    if (this.visited) return;
    this.visited = true;
    if (this.orphansAsked) this.check();
    else this.again();
  }

  /** again asks for it again. */
  again() { return Promise.all([this.check(), this.lookForOrphans()]); }

  /** calls to AWS are those that this took the last time. */
  get calls() { return (this.checked || 0) + (this.looked || 0); }

  async check() {
    await running(this.checks, "fulcrum doctor", async () => {
      const a = await command("doctor");
      this.checked = a.calls;
      const checks = a.document?.checks || [];
      const wrong = checks.filter((c) => c.result !== "ok" && !listedBelow(c)).sort((a, b) => (bySeverity[a.result] ?? 2) - (bySeverity[b.result] ?? 2));
      const fine = checks.filter((c) => c.result === "ok");
      this.wrong = wrong;
      this.counted();
      return [
        wrong.map((c) => el("article", { class: "finding " + c.result }, badge(c.result), " ", el("b", {}, c.area), el("p", {}, c.message), c.fix ? el("p", { class: "hint" }, c.fix) : null)),
        el("details", {}, el("summary", {}, `${fine.length} checks are ok`), el("ul", { class: "plain" }, fine.map((c) => el("li", {}, badge("ok"), " ", el("b", {}, c.area), " ", c.message)))),
        a.document ? null : el("pre", { class: "notes" }, a.notes),
        el("p", { class: "hint" }, copyable(a.command), ` ${a.calls} calls to AWS`),
      ];
    });
  }

  /** orphansLike are those that have each word of a search, as far as orphans have been looked for. */
  orphansLike(query) {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    return (this.found || []).filter((o) => {
      const text = [o.kind, o.id, ...o.resources].join(" ").toLowerCase();
      return words.every((w) => text.includes(w));
    });
  }

  async lookForOrphans() {
    this.orphansAsked = true;
    await running(this.orphans, "fulcrum orphans", async () => {
      const a = await command("orphans");
      this.looked = a.calls;
      const orphans = this.found = a.document?.orphans || [];
      this.counted();
      return [
        a.document ? null : el("pre", { class: "notes" }, a.notes),
        a.document && orphans.length === 0 ? el("p", { class: "none" }, "none: every AWS resource with the tags of the cluster belongs to an object") : null,
        orphans.map((o) => el("article", { class: "finding warning" }, badge("warning"), " ", el("b", {}, `${o.kind} ${o.id}`), " has resources that no object needs",
          el("ul", { class: "plain" }, o.resources.map((r) => el("li", {}, copyable(r)))))),
        el("p", { class: "hint" }, copyable(a.command), ` ${a.calls} calls to AWS`),
      ];
    });
  }
}

// listedBelow reports whether a check is about an orphan, which the page lists with its resources.
function listedBelow(check) { return check.area === "orphans" && check.result === "warning"; }

// told reports whether a finding says in the same words what an event about another object reports.
function told(event, findings) {
  return findings.some((x) => x.of[0].reason === (event.finding || event.reason) && x.of.some((f) => event.message.includes(f.message)));
}

function from(r) { return el("span", { class: "from" }, r.stack.kind + " " + r.stack.id); }

function differs(r) { return r.state !== "live" && r.state !== "held"; }

/** running shows that a command runs, and then what it gives or why it fails. */
export async function running(element, name, run) {
  fill(element, el("p", { role: "status" }, `${name} is running …`));
  try {
    fill(element, await run());
  } catch (e) {
    fill(element, el("p", { class: "failed" }, e.message));
  }
}
