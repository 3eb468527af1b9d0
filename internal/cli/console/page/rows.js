// The documents of "fulcrum tree" as rows. A row is made for each thing that the document has; nothing is computed but how it
// is written.

/** rowsOf are the rows of a stack: each has a key, its parent, a depth, what is shown of it, and the text that is searched. */
export function rowsOf(stack) {
  const out = [];
  const namespaces = [...new Set(stack.members.map((m) => m.namespace || ""))];
  const add = (parent, id, row) => {
    const key = (parent ? parent.key : "") + "/" + id;
    const r = {
      key, parent, depth: parent ? parent.depth + 1 : 0, children: 0, stack, namespaces,
      state: "live", trouble: false, unhealthy: false, ...row,
    };
    r.text = [r.what, r.name, r.label, r.from, r.arn, r.note, r.health, r.search, r.source?.id].filter(Boolean).join(" ").toLowerCase();
    if (parent) parent.children++;
    out.push(r);
    return r;
  };
  const compared = (c) => ({ state: c.state || "live", arn: c.arn, note: c.note, changes: c.changes, source: c });

  const top = add(null, stack.kind + " " + stack.id, {
    what: stack.kind, name: stack.id, state: stack.held ? "held" : "live", object: objectOf(stack), findings: stack.findings,
    trouble: stack.findings.length > 0, label: countsOf(stack),
    search: stack.members.map(refText).concat(namespaces, stack.findings.map((f) => `${f.reason} ${refText(f.object)} ${f.message}`)).join(" "),
  });
  const groups = new Map((stack.targetGroups || []).flatMap((g) => [[g.id, g], [g.arn, g]]));
  const used = new Set();
  const about = aboutFields(stack.findings);
  const forwarded = forwardedOf(stack);

  // AWS does not check targets of a target group that nothing forwards to.
  const idle = (g) => !forwarded.has(g.id) && !forwarded.has(g.arn);

  const targetGroup = (parent, id) => {
    const g = groups.get(id);
    if (!g) {
      add(parent, id, { what: "target group", name: id, label: "of another owner" });
      return;
    }
    used.add(g);
    const row = add(parent, g.id, {
      what: "target group", name: g.name, label: `${g.protocol}:${g.port} ${g.type}`, from: g.from, ...compared(g), ...healthOf(g.targets, idle(g)),
    });
    for (const [i, t] of (g.targets || []).entries()) {
      add(row, i + ":" + t.id + ":" + t.port, {
        what: "target", name: t.id, label: t.port ? "port " + t.port : "", state: t.compared || "live", health: idle(g) && notInUse(t) ? unused : t.state,
        idle: idle(g) && notInUse(t), unhealthy: t.state !== "healthy" && !(idle(g) && notInUse(t)), trouble: t.state === "unhealthy", note: [t.reason, t.description].filter(Boolean).join(": "), source: t,
      });
    }
  };

  for (const a of stack.accelerators || []) {
    const acc = add(top, "accelerator " + a.name, {
      what: "accelerator", name: a.name, label: [a.dnsName, (a.addresses || []).join(", "), a.enabled ? "" : "disabled"].filter(Boolean).join(" "),
      health: a.status, search: a.dualStackDNSName, ...compared(a), trouble: !a.enabled,
    });
    for (const l of a.listeners || []) {
      const lis = add(acc, `${l.protocol}:${l.ports}`, { what: "listener", name: `${l.protocol}:${l.ports}`, from: l.from, ...compared(l) });
      for (const g of l.endpointGroups || []) {
        const group = add(lis, g.region, {
          what: "endpoint group", name: g.region, label: `traffic dial ${g.dial}%` + (g.owner ? ", of " + g.owner : ""), from: g.from, ...compared(g),
        });
        for (const e of g.endpoints || []) {
          const lb = e.loadBalancer;
          add(group, e.id, {
            what: "endpoint", name: lb ? lb.name : e.id, label: `weight ${e.weight}`, health: e.health, from: e.from, ...compared(e),
            unhealthy: e.health === "UNHEALTHY", trouble: e.health === "UNHEALTHY", leads: lb && lb.kind ? lb.kind + " " + lb.id : undefined, search: e.id,
          });
        }
      }
    }
  }
  for (const [i, lb] of stack.loadBalancers.entries()) {
    const row = add(top, i + " " + lb.name, {
      what: "load balancer", name: lb.name, label: [lb.type, lb.scheme].filter(Boolean).join(", "), health: lb.status, dnsName: lb.dnsName,
      search: [lb.dnsName, (lb.accelerators || []).map(refText).join(" ")].join(" "), ...compared(lb),
    });
    for (const l of lb.listeners || []) {
      const lis = add(row, `${l.protocol}:${l.port}`, {
        what: "listener", name: `${l.protocol}:${l.port}`, label: "default: " + l.default, ...compared(l),
        search: (l.certificates || []).map((c) => [c.arn, ...(c.domains || [])].join(" ")).join(" "),
      });
      for (const [n, c] of (l.certificates || []).entries()) {
        add(lis, "certificate " + n, {
          what: "certificate", name: (c.domains || []).join(", ") || c.arn, label: [c.default ? "default" : "", c.secret ? "Secret " + c.secret : ""].filter(Boolean).join(", "),
          state: c.state, arn: c.arn, health: c.status, source: c,
        });
      }
      for (const [n, r] of (l.rules || []).entries()) {
        const rule = add(lis, "rule " + r.priority + " " + n, {
          what: "rule", name: r.priority ? String(r.priority) : "new", label: `${r.conditions} → ${r.actions}`, from: r.from, ...compared(r), findings: about(r.from),
        });
        rule.trouble = rule.findings.length > 0;
        for (const id of r.targetGroups || []) targetGroup(rule, id);
      }
      for (const id of l.targetGroups || []) targetGroup(lis, id);
    }
  }
  for (const g of stack.targetGroups || []) if (!used.has(g)) targetGroup(top, g.id);
  for (const g of stack.securityGroups || []) {
    add(top, "security group " + (g.id || g.name), { what: "security group", name: g.name, label: (g.ingress || []).join(", "), search: g.id, ...compared(g) });
  }
  for (const r of out) r.trouble ||= r.state !== "live" && r.state !== "held";
  carry(out);
  return out;
}

/** refText is an object as people write it. */
export function refText(o) { return `${o.kind} ${o.namespace ? o.namespace + "/" : ""}${o.name}`; }

/** objectNamed is the object that refText writes so; undefined for text that names none. */
export function objectNamed(text) {
  const m = /^([A-Z][A-Za-z]*) (?:([^\s/]+)\/)?([^\s/]+)$/.exec(text || "");
  return m ? { kind: m[1], namespace: m[2] || "", name: m[3] } : undefined;
}

/** serves reports whether a row is a target group for a Service, by the logical id, which has the names of both. */
export function serves(row, service) {
  const id = row.what === "target group" && row.source?.id || "";
  const { namespace, name } = service;
  return id.startsWith(`${namespace}/${name}:`) || id.includes(`Route-${namespace}-${name}:`) ||
    row.stack.members.some((m) => m.namespace === namespace && id.startsWith(`${namespace}/${m.name}-${name}:`));
}

// objectOf is the object that explain and plan take for a stack: one of those that make it up.
function objectOf(stack) { return stack.members[0]; }

function countsOf(stack) {
  const parts = [];
  const n = (list, word) => { if (list && list.length) parts.push(`${list.length} ${word}${list.length === 1 ? "" : "s"}`); };
  n(stack.members, "object");
  n(stack.findings, "finding");
  return parts.join(", ");
}

// carry counts for each row the trouble in it, which is not seen while it is closed. A target group of several rules is
// trouble once.
function carry(rows) {
  for (const r of rows) {
    if (!r.trouble) continue;
    for (let p = r.parent; p; p = p.parent) {
      (p.inside ||= new Set()).add(r.source || r);
      p.insideWorst = worst(p.insideWorst, worstOf(r.findings || []));
    }
  }
}

/** worst is the worse of two severities, either of which may be missing. */
export function worst(a, b) { return (ranks[b] || 0) > (ranks[a] || 0) ? b : a; }

const ranks = { error: 3, warning: 2, info: 1 };

/** worstOf is the worst severity of findings or events; undefined for none. */
export function worstOf(all) { return all.reduce((w, f) => worst(w, f.severity), undefined); }

// aboutFields gives the findings about the field that something comes from, or about a part of it. What is about a rule of an Ingress, or
// its host, is about all its paths.
function aboutFields(findings) {
  const of = new Map();
  for (const f of findings) {
    if (f.field) of.set(refText(f.object), [...(of.get(refText(f.object)) || []), f]);
  }
  const within = (part, field) => part.startsWith(field) && /^($|[.[])/.test(part.slice(field.length));
  return (from) => {
    const at = from ? from.indexOf(" of ") : -1;
    if (at < 0) return [];
    const field = from.slice(0, at);
    return (of.get(from.slice(at + 4)) || []).filter((f) => within(f.field, field) || /^spec\.rules\[\d+\](\.host)?$/.test(f.field) && within(field, f.field.replace(".host", "")));
  };
}

const unused = "unused: no rule forwards to the target group";

// notInUse reports whether AWS does not check a target because no load balancer uses it.
function notInUse(t) { return t.state === "unused" && t.reason === "Target.NotInUse"; }

// forwardedOf are the target groups, by id or ARN, to which listeners and rules forward that AWS has.
function forwardedOf(stack) {
  const out = new Set();
  const add = (x) => { if (x.state !== "missing") for (const id of x.targetGroups || []) out.add(id); };
  for (const lb of stack.loadBalancers) {
    for (const l of lb.listeners || []) {
      add(l);
      for (const r of l.rules || []) add(r);
    }
  }
  return out;
}

function healthOf(targets, idle) {
  if (!targets) return { health: "health not known" };
  if (targets.length === 0) return { health: "no targets", unhealthy: true, trouble: true };
  const out = targets.filter(notInUse).length;
  if (idle && out > 0 && targets.every((t) => notInUse(t) || t.compared === "missing")) return { health: `${out} ${unused}`, idle };
  const healthy = targets.filter((t) => t.state === "healthy").length;
  return { health: `${healthy} of ${targets.length} healthy`, unhealthy: healthy < targets.length, trouble: healthy === 0 };
}
