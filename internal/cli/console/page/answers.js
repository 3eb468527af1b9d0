// What plan and explain say, for people: steps, decisions and where each comes from. Everything is text of the documents.
import { badge, batched, copyable, el, shown } from "./dom.js";
import { findingOf } from "./detail.js";
import { refText } from "./rows.js";

const mostSteps = 100, mostChanges = 12;
const verbs = { create: "missing", update: "differs", delete: "surplus" };
const signs = { create: "+ create", update: "~ change", delete: "− delete" };

/** answerOf is the document of a command for people. */
export function answerOf(name, document, go) {
  if (name === "plan") return planned(document, go);
  if (name === "explain") return explained(document, go);
  return shown(document);
}

const titled = (title, ...children) => (children.flat().some((c) => c !== null && c !== undefined && c !== false) ? el("div", {}, el("h4", {}, title), children) : null);
const kinds = (kind) => kind.replaceAll("-", " ");
const objectLink = (o, go) => el("a", { href: go.object(o) }, refText(o));
const from = (text) => (text ? el("span", { class: "from" }, ` from ${text}`) : null);

/** changed are fields with their old and new values. What is made has no old ones. */
export function changed(changes) {
  const one = (c) => [el("b", {}, c.field), ": ", c.from ? el("del", {}, c.from) : null, c.from ? " → " : null, c.to ? el("ins", {}, c.to) : c.from ? "nothing" : null];
  return changes?.length ? batched(el("ul", { class: "changes" }), changes, one, mostChanges) : null;
}

function counted(summary) {
  const parts = ["create", "change", "replace", "delete"].filter((w) => summary[w]).map((w) => `${summary[w]} to ${w}`);
  if (summary.waiting) parts.push(`${summary.waiting} waiting`);
  return parts.join(", ") || "no changes";
}

// step is one with its resource, what it changes, why, and who asks for it. numbers are those of the steps before by their ids.
function step(s, numbers, joins, go) {
  const after = [...new Set((s.after || []).flatMap((id) => joins?.[id] || [id]).map((id) => numbers.get(id)).filter(Boolean))].sort((a, b) => a - b);
  return [
    el("div", {}, el("span", { class: "badge " + verbs[s.verb] }, signs[s.verb]), kinds(s.kind), " ", el("b", {}, s.name || s.resource), s.in ? ` in ${s.in}` : null,
      s.impact !== "none" ? el("span", { class: "badge warning" }, `! impact: ${s.impact}`) : null),
    changed(s.changes),
    el("dl", {},
      s.why ? [el("dt", {}, "reason"), el("dd", {}, s.why)] : null,
      s.from || s.objects?.length ? [el("dt", {}, "requested by"), el("dd", {}, s.from && !s.why?.includes(s.from) ? s.from + " " : null,
        batched(el("ul", { class: "inline" }), s.objects || [], (o) => objectLink(o, go), mostChanges))] : null,
      s.waitsFor ? [el("dt", {}, "waits for"), el("dd", {}, s.waitsFor)] : null,
      after.length ? [el("dt", {}, "after"), el("dd", {}, after.length === 1 ? "step " : "steps ", after.slice(0, mostChanges).join(", "), after.length > mostChanges ? ` and ${after.length - mostChanges} more` : "")] : null),
  ];
}

function steps(list, joins, go) {
  const numbers = new Map(list.map((s, i) => [s.id, i + 1]));
  return list.length ? batched(el("ol", { class: "steps" }), list, (s) => step(s, numbers, joins, go), mostSteps) : null;
}

function planned(d, go) {
  return el("div", {},
    el("p", {}, counted(d.summary), `, ${d.errors} errors and ${d.warnings} warnings`),
    d.assumed?.map((a) => el("p", { class: "notes" }, "assumed: " + a)),
    d.stacks.map((s) => el("section", {}, el("h4", {}, `${s.kind} ${s.id}: ${counted(s.summary)}`),
      s.findings.map((f) => findingOf(f, go)),
      steps(s.steps, s.joins, go) || el("p", { class: "none" }, "The load balancer is as it is desired."),
      s.leaving?.length ? titled("Leaving", shown(s.leaving)) : null, s.others?.length ? titled("Endpoint groups of others", shown(s.others)) : null)),
    d.bindings.filter((b) => b.steps.length || b.findings.length).map((b) => el("section", {}, el("h4", {}, `TargetGroupBinding ${b.namespace}/${b.name}`),
      b.findings.map((f) => findingOf(f, go)), steps(b.steps, undefined, go))),
    d.rules.length ? titled("Rules of security groups of nodes and pods", steps(d.rules, undefined, go)) : null);
}

function explained(d, go) {
  return el("div", {},
    d.stacks.some((s) => `${s.kind} ${s.id}` === refText(d.object)) ? null : el("p", {}, el("b", {}, refText(d.object))),
    d.notServed ? el("p", { class: "notes" }, "No load balancer of this controller serves it: " + d.notServed) : null,
    d.stacks.map((s) => explainedStack(s, go)),
    d.bindings.map((b) => el("section", {}, el("h4", {}, `TargetGroupBinding ${b.namespace}/${b.name}`),
      el("p", {}, `target group ${b.targetGroup}, targets of type ${b.targetType}, of Service ${b.service}`),
      !b.endpoints ? el("p", { class: "notes" }, "What is to be registered cannot be determined from the objects.") : el("p", {}, `${b.endpoints.length} endpoints`),
      b.findings.map((f) => findingOf(f, go)), steps(b.steps, undefined, go))),
    d.warnings.length ? titled("Written by the controller", batched(el("ul", { class: "plain" }), d.warnings, (w) =>
      [badge("warning"), el("b", {}, w.reason), ` in ${w.in}: ${w.message}`, w.last ? el("span", { class: "from" }, ` ${w.last}${w.count > 1 ? `, ${w.count} times` : ""}`) : null])) : null);
}

function explainedStack(s, go) {
  const found = (f) => el("div", {}, findingOf(f, go), f.wayOut ? el("p", { class: "hint" }, "fix: " + f.wayOut) : null);
  return el("section", {},
    el("h4", {}, `${s.kind} ${s.id}`, s.held ? " is held" : ""),
    titled("Objects", batched(el("ul", { class: "plain" }), s.members, (m) => [objectLink(m.object, go), " ", m.state])),
    s.findings.length ? titled("Findings about it", s.findings.map(found)) : null,
    s.others.length ? titled("Findings about other objects of the load balancer", s.others.map(found)) : null,
    s.loadBalancers.map((lb) => explainedLoadBalancer(lb)),
    s.accelerator ? titled("Accelerator", shown(s.accelerator)) : null,
    s.targetGroups.length ? titled("Target groups", batched(el("ul", { class: "plain" }), s.targetGroups, (g) =>
      [badge(g.state), el("b", {}, g.name), ` ${g.protocol}:${g.port} ${g.type}`, g.targets ? `, ${g.targets.filter((t) => t.state === "healthy").length} of ${g.targets.length} healthy` : "",
        from(g.from), g.note ? el("span", { class: "hint" }, " " + g.note) : null, changed(g.changes)])) : null,
    el("p", { class: "hint" }, "The plan has " + counted(s.summary)));
}

const how = { named: "named", managed: "of the load balancer's own", backend: "shared in the cluster, to be admitted by nodes and pods", kept: "kept as it is in AWS", tagged: "found by tags", discovered: "discovered" };

function explainedLoadBalancer(lb) {
  const subnets = lb.subnets;
  const subnet = (n) => [el("code", {}, n.id), n.zone ? ` in ${n.zone}` : "", n.why ? `: ${n.why}` : ""];
  return el("section", {},
    el("h4", {}, `${lb.type} load balancer ${lb.name}`),
    el("dl", {},
      [["scheme", lb.scheme, lb.schemeFrom], ["status", lb.status], ["dns name", lb.dnsName && copyable(lb.dnsName)], ["arn", lb.arn && copyable(lb.arn)]]
        .filter(([, v]) => v).map(([k, v, of]) => [el("dt", {}, k), el("dd", {}, v, from(of))]),
      el("dt", {}, "subnets"), el("dd", {}, how[subnets.how] || subnets.how, from(subnets.from), batched(el("ul", { class: "plain" }), subnets.chosen || [], subnet)),
      subnets.refused?.length ? [el("dt", {}, "refused"), el("dd", {}, batched(el("ul", { class: "plain" }), subnets.refused, subnet, mostChanges))] : null,
      el("dt", {}, "security groups"), el("dd", {}, lb.securityGroups?.length ? batched(el("ul", { class: "plain" }), lb.securityGroups, (g) =>
        [g.id ? el("code", {}, g.id) : "that is to be made", ", ", how[g.how] || g.how, from(g.from)]) : el("span", { class: "none" }, "none"))),
    (lb.listeners || []).map((l) => el("div", {},
      el("p", {}, el("b", {}, `listener ${l.protocol}:${l.port}`), l.inAWS ? null : l.made ? badge("missing") : badge("held"), ` otherwise: ${l.default}`, from(l.defaultFrom)),
      l.certificates?.length ? batched(el("ul", { class: "plain" }), l.certificates, (c) => ["certificate ", c.arn ? el("code", {}, c.arn) : "that was not found", c.default ? ", default" : "",
        ` ${c.how}`, c.host ? ` for ${c.host}` : "", c.secret ? `, of Secret ${c.secret}` : "", from(c.from)], mostChanges) : null,
      batched(el("ol", { class: "rules" }), l.rules || [], (r) => [el("b", {}, r.priority ? `rule ${r.priority}` : "not made"), " ", r.conditions, " → ", r.actions, from(r.from),
        r.own ? el("span", { class: "badge ok" }, "of this object") : null, r.note ? el("p", { class: "notes" }, r.note) : null]))));
}
