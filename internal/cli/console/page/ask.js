import { command } from "./api.js";
import { badge, copyable, el } from "./dom.js";
import { running } from "./trouble.js";
import { refText } from "./rows.js";

const mostAnswers = 20;

/** Ask is the form for "fulcrum explain request". */
export class Ask {
  constructor(form, answer, go) {
    this.form = form;
    this.answer = answer;
    this.go = go;
    this.fields = Object.fromEntries(["url", "method", "source", "headers"].map((f) => [f, form.querySelector("#ask-" + f)]));
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      location.hash = go.ask(Object.fromEntries(Object.entries(this.fields).map(([k, f]) => [k, f.value.trim()])));
      this.run();
    });
  }

  /** visit fills the form from a link, and asks. */
  visit(params) {
    let differs = false;
    for (const [k, f] of Object.entries(this.fields)) {
      if (params.has(k) && f.value !== params.get(k)) {
        f.value = params.get(k);
        differs = true;
      }
    }
    if (differs) this.run();
  }

  /** again asks again what was asked last. */
  again() { return this.calls !== undefined && this.run(); }

  async run() {
    const q = { url: this.fields.url.value.trim(), method: this.fields.method.value.trim(), source: this.fields.source.value.trim() };
    q.header = this.fields.headers.value.split("\n").map((h) => h.trim()).filter(Boolean);
    if (!q.url) return;
    await running(this.answer, "fulcrum explain request", async () => {
      const a = await command("request", q);
      const d = a.document;
      this.calls = a.calls;
      return [
        d ? null : el("pre", { class: "failed" }, a.notes),
        d ? this.accelerator(d.accelerator) : null,
        d?.unserved ? this.unserved(d.unserved, d.answers) : d?.answers.map((x) => this.one(x)),
        d && !d.unserved && d.answers.length === 0 ? el("p", {}, "No load balancer answers it.") : null,
        d?.notes?.map((n) => el("p", { class: "notes" }, n)),
        d && a.notes ? el("pre", { class: "notes" }, a.notes) : null,
        el("p", { class: "hint" }, copyable(a.command), ` ${a.calls} calls to AWS`),
      ];
    });
  }

  // unserved says that no rule names the host, and why; what would answer is closed, as DNS does not lead there because of a rule.
  unserved(u, answers) {
    return el("div", {},
      el("article", { class: "finding warning" }, badge("warning"), el("b", {}, `No rule for ${u.scheme} on port ${u.port} names host "${u.host}"`), el("p", {}, u.why, "."),
        u.objects.length ? el("ul", { class: "plain" }, u.objects.map((o) => el("li", {}, el("a", { href: this.go.object(o.object) }, refText(o.object)), " ", el("code", {}, o.field), ": ", o.why))) : null),
      answers.length ? el("details", {}, el("summary", {}, answers.length === 1 ? "What one load balancer answers if DNS leads the host to it" : `What ${answers.length} load balancers answer if DNS leads the host to them`), answers.slice(0, mostAnswers).map((x) => this.one(x)),
        answers.length > mostAnswers ? el("p", {}, `and ${answers.length - mostAnswers} more`) : null) : el("p", {}, "No load balancer answers it."));
  }

  accelerator(a) {
    if (!a) return null;
    return el("article", { class: "finding" }, el("h3", {}, "By accelerator ", a.name), el("p", {}, refText(a.object), ", ", a.status, ", ", a.listener ? "listener " + a.listener : "no listener accepts it"),
      el("ul", { class: "plain" }, a.endpointGroups.map((g) => el("li", {}, `endpoint group ${g.region}, traffic dial ${g.dial}%`, g.owner ? `, of ${g.owner}` : "",
        el("ul", { class: "plain" }, (g.endpoints || []).map((e) => el("li", {}, e.loadBalancer ? e.loadBalancer.name : e.id, ` ${e.share}% of the requests, `, e.health || "health not known")))))));
  }

  one(x) {
    return el("article", { class: "finding" },
      el("h3", {}, x.does, x.location ? " to " + x.location : ""),
      el("p", {}, el("a", { href: this.go.row(`/${x.kind} ${x.id}`) }, x.type, " ", x.loadBalancer || "that is to be made"), `, ${x.protocol}:${x.port}`, x.named ? `, listed because of ${x.named}` : ""),
      el("p", {}, x.rule ? ["rule ", el("b", {}, x.rule.priority || "new"), " ", x.rule.conditions] : "the default action answers", x.from ? el("span", { class: "from" }, " " + x.from) : null),
      x.rule?.note ? el("p", { class: "notes" }, x.rule.note) : null,
      x.now ? el("p", { class: "notes" }, badge("differs"), " AWS does now: ", x.now) : null,
      x.targets?.length ? el("ul", { class: "plain" }, x.targets.map((t) => el("li", {}, "target group ", t.targetGroup, ": ", t.health, t.note ? el("span", { class: "notes" }, " " + t.note) : null))) : null,
      x.shadowed?.length ? el("div", {}, el("h4", {}, "These match too and come later"), el("ol", {}, x.shadowed.map((r) =>
        el("li", {}, "rule ", r.priority || "new", " ", r.conditions, " → ", r.actions, " ", el("span", { class: "from" }, r.from))))) : null,
    );
  }
}
