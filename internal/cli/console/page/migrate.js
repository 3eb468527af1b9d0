import { command } from "./api.js";
import { copyable, el, fill } from "./dom.js";
import { objectNamed } from "./rows.js";
import { statusOf, titleOf } from "./status.js";
import { running } from "./trouble.js";

// The classes and words of what is said about a load balancer or in a note, with a sign for each.
const verdicts = { lost: ["error", "✕ lost"], differs: ["warning", "! differs"], info: ["note", "… info"], alike: ["ok", "✓ alike"] };
const verdict = (word) => el("span", { class: "badge " + verdicts[word][0] }, verdicts[word][1]);
const mostShown = 100;

/**
 * Migrate shows what "fulcrum migrate --check" says: what Ingresses become as Gateways, and what those answer otherwise; and what
 * "fulcrum migrate status" says: how far their load balancers have moved.
 */
export class Migrate {
  constructor(element, go) {
    this.go = go;
    this.answer = el("div", { "aria-live": "polite" });
    fill(element,
      el("p", { class: "hint" }, "What each Ingress and IngressGroup becomes as a Gateway with its routes, and which requests it would answer otherwise. Nothing is written. ",
        this.at = el("span", { class: "from" })),
      this.answer);
  }

  /** visit translates when the page is first looked at, and shows the load balancer of a link. */
  visit(params) {
    this.wanted = new Set([params.get("id") || ""]);
    if (this.visited) return this.open();
    this.visited = true;
    this.run();
  }

  /** again translates again. */
  again() { return this.visited && this.run(); }

  async run() {
    const open = new Set([...this.answer.querySelectorAll("details.group[open]")].map((d) => d.dataset.id));
    if (open.size > 0) this.wanted = open;
    this.at.textContent = "";
    await running(this.answer, "fulcrum migrate", async () => {
      const [translated, moved] = await Promise.allSettled([command("migrate"), command("status")]);
      if (translated.status === "rejected") throw translated.reason;
      const a = translated.value;
      this.calls = a.calls + (moved.value?.calls || 0);
      this.document = a.document;
      this.states = moved.value?.document?.loadBalancers || [];
      const unknown = moved.reason?.message || (moved.value?.document ? "" : moved.value?.notes);
      const others = this.states.filter((s) => s.kind !== "Ingress" || !a.document?.groups.some((g) => g.id === s.id));
      return [
        unknown ? el("pre", { class: "notes" }, "Who has the load balancers is not known: " + unknown) : null,
        a.document ? null : el("pre", { class: "failed" }, a.notes),
        a.document?.groups.map((g) => this.one(g)),
        others.slice(0, mostShown).map((s) => el("details", { class: "group" }, el("summary", {}, titleOf(s), ": ", s.state), statusOf(s))),
        others.length > mostShown ? el("p", {}, `and ${others.length - mostShown} more, which the command shows`) : null,
        a.document?.notOurs.length ? el("p", {}, "Served by another controller, and not translated: ", a.document.notOurs.join(", ")) : null,
        a.document?.deleted.length ? el("p", {}, "Being deleted, and not translated: ", a.document.deleted.join(", ")) : null,
        a.document && a.notes ? el("pre", { class: "notes" }, a.notes) : null,
        el("p", { class: "hint" }, copyable(a.command), " ", moved.value ? copyable(moved.value.command) : null),
      ];
    });
    this.at.textContent = `as it was at ${new Date().toLocaleTimeString()}; "Look again" at the top asks again`;
    this.open();
  }

  open() {
    for (const d of this.answer.querySelectorAll("details.group")) if (this.wanted.has(d.dataset.id)) d.open = true;
  }

  one(g) {
    const count = (severity) => g.notes.filter((n) => n.severity === severity).length;
    const lost = count("lost"), decide = count("differs"), answers = g.differences.length;
    const moved = this.states.filter((s) => s.kind === "Ingress" && s.id === g.id);
    const title = g.id.includes("/") ? "Ingress " + g.id : `IngressGroup ${g.id} (${g.members.join(", ")})`;
    const details = el("details", { class: "group" },
      el("summary", {},
        verdict(!g.gateway || lost ? "lost" : answers || decide || g.partial?.length ? "differs" : "alike"), " ", title, " → ", g.gateway ? "Gateway " + g.gateway : "not translated",
        g.frontendGateway ? ", behind Gateway " + g.frontendGateway : "",
        moved.length ? el("span", {}, " ", moved.map((s) => el("span", { class: "badge" }, s.state))) : null,
        el("span", { class: "from" }, ` ${lost} lost, ${decide} to decide`, g.gateway ? `, ${answers} answers or settings differ, ${g.requests} requests compared` : "")),
      el("p", {}, "Load balancer of ", g.members.map((m) => [el("a", { href: this.go.object("Ingress " + m) }, "Ingress " + m), " "])),
      moved.map((s) => statusOf(s)),
      g.partial?.length ? el("p", { class: "notes" }, "Not all requests were compared on ports ", g.partial.join(", ")) : null,
      this.notes(g.notes), g.gateway ? this.differences(g.differences) : null, this.annotations(g.annotations), this.manifestsOf(g, moved), this.manifests(g));
    details.dataset.id = g.id;
    return details;
  }

  notes(notes) {
    if (notes.length === 0) return null;
    return el("div", {}, el("h4", {}, "Notes"), el("ul", { class: "plain" }, notes.slice(0, mostShown).map((n) =>
      el("li", {}, verdict(n.severity), " ", el("b", {}, objectNamed(n.object) ? el("a", { href: this.go.object(n.object) }, n.object) : n.object || ""), " ", el("span", { class: "from" }, n.field || ""), " ", n.message, n.fix ? "; " + n.fix : ""))),
      notes.length > mostShown ? el("p", {}, `and ${notes.length - mostShown} more, which the command shows`) : null);
  }

  differences(all) {
    if (all.length === 0) return el("p", {}, verdict("alike"), " Each request that was compared is answered alike, and the settings are the same.");
    return el("div", {}, el("h4", {}, "What the Gateway has otherwise"), el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, el("th", {}, "Request or setting"), el("th", {}, "Ingress"), el("th", {}, "Gateway"))),
      el("tbody", {}, all.slice(0, mostShown).map((d) => el("tr", {},
        el("td", {}, d.request || (d.port ? `port ${d.port}: ` : "") + d.setting, d.requests > 1 ? el("span", { class: "from" }, ` and ${d.requests - 1} more`) : null),
        el("td", {}, d.ingress, d.ingressRule ? el("div", { class: "from" }, d.ingressRule) : null),
        el("td", {}, d.gateway, d.gatewayRule ? el("div", { class: "from" }, d.gatewayRule) : null)))))),
      all.length > mostShown ? el("p", {}, `and ${all.length - mostShown} more, which the command shows`) : null);
  }

  annotations(all) {
    if (all.length === 0) return null;
    return el("details", {}, el("summary", {}, `${all.length} annotations, and what each became`), el("dl", {}, all.map((a) =>
      [el("dt", {}, a.key.replace("alb.ingress.kubernetes.io/", "")), el("dd", {}, a.to || "nothing, see the notes", el("span", { class: "from" }, " " + a.object))])));
  }

  /** manifestsOf is the command that writes the manifests. Once a Gateway asks for the load balancer, its state shows the next step. */
  manifestsOf(g, moved) {
    if (!g.gateway || moved.some((s) => s.state !== "ingress")) return null;
    const only = g.id.includes("/") ? `--namespaces=${g.id.split("/")[0]} --ingress-name=${g.id.split("/")[1]}` : `--group=${g.id}`;
    return el("div", {},
      g.frontendGateway ? null : el("p", {}, "Write manifests of a Gateway that takes the load balancer over: ", copyable(`fulcrum migrate --from-cluster --in-place ${only}`)),
      el("p", {}, "Write manifests of a Gateway with a load balancer of its own: ", copyable(`fulcrum migrate --from-cluster ${only}`)));
  }

  manifests(g) {
    if (!g.manifests) return null;
    return el("details", {}, el("summary", {}, "Manifests, with where each part comes from"), el("pre", { class: "manifests", tabindex: "0" }, g.manifests));
  }
}
