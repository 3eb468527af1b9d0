// What two plans make of one load balancer, field by field: that of the Ingresses, and that of the Gateway.

const mostDepth = 12;

// Why a field differs that is of no effect, by the kind of resource and the field. Of names AWS keeps what is live.
const causes = [
  [/^(LoadBalancer|TargetGroup|SecurityGroup)$/, /^(name|groupName|description)$/, "AWS cannot change it: what exists in AWS stays"],
  [/^TargetGroupBinding$/, /^template\.metadata\.name$/, "the binding keeps its name"],
  [/^TargetGroupBinding$/, /^template\.spec\.serviceRef\.port$/, "a Gateway names the port by its number"],
  [/./, /^tags\.gateway\.k8s\.aws\/migrated-from$/, "added by the translation, for people"],
  [/^ListenerRule$/, /^priority$/, "a Gateway derives the order of its rules"],
];

// fieldsOf has the fields of a plan's result by resource and path, under names that do not depend on the kind of object.
function fieldsOf(result, ports) {
  const resources = result?.resources || {};
  const named = names(resources, ports);
  const out = new Map();
  for (const [type, byID] of Object.entries(resources)) {
    for (const [id, resource] of Object.entries(byID || {})) {
      if (!resource?.spec) continue;
      const name = named.get(type + " " + id);
      flatten(resource.spec, "", 0, (path, value) => out.set(JSON.stringify([short(type), name, path]), [short(type), name, path, linked(value, named)]));
    }
  }
  return out;
}

/** compare sets the fields of two results side by side: {kind, resource, field, status, ingress, gateway, cause}. */
export function compare(ingress, gateway) {
  const left = fieldsOf(ingress, numbered(ingress, gateway)), right = fieldsOf(gateway, new Map());
  const rows = [];
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const a = left.get(key), b = right.get(key);
    const [kind, resource, field] = a || b;
    const status = !b ? "ingress only" : !a ? "gateway only" : a[3] === b[3] ? "same" : "differs";
    const cause = status === "same" ? undefined : causes.find(([of, path]) => of.test(kind) && path.test(field))?.[2];
    const second = JSON.stringify([kind, resource, field.replace("[0].weight", "[1].targetGroupARN")]);
    const single = /\.targetGroups\[0\]\.weight$/.test(field) && status !== "same" && !left.has(second) && !right.has(second);
    rows.push({ kind, resource, field, status, ingress: a?.[3], gateway: b?.[3], cause: single ? "no effect: it is the only target group" : cause });
  }
  const order = (r) => r.kind + "\n" + r.resource + "\n" + r.field;
  return rows.sort((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0));
}

function short(type) { return type.slice(type.lastIndexOf("::") + 1).replace(/^:/, ""); }

// servicesOf has the port of a Service that each binding is of, by the binding's id.
function servicesOf(result) {
  const out = new Map();
  for (const [type, byID] of Object.entries(result?.resources || {})) {
    if (short(type) !== "TargetGroupBinding") continue;
    for (const [id, binding] of Object.entries(byID || {})) {
      const t = binding?.spec?.template;
      if (t?.spec?.serviceRef) out.set(id, [`${t.metadata?.namespace}/${t.spec.serviceRef.name}`, String(t.spec.serviceRef.port)]);
    }
  }
  return out;
}

// numbered has the port of the Gateway for a port that an Ingress names, where each has one port of the Service that the other has not.
function numbered(ingress, gateway) {
  const only = (a, b) => [...servicesOf(a).values()].filter(([service, port]) => ![...servicesOf(b).values()].some(([s, p]) => s === service && p === port));
  const left = only(ingress, gateway), right = only(gateway, ingress);
  const out = new Map();
  for (const [service, port] of left) {
    const others = right.filter(([s]) => s === service);
    if (others.length === 1 && left.filter(([s]) => s === service).length === 1) out.set(service + ":" + port, others[0][1]);
  }
  return out;
}

// names are those of resources whose ids differ by the kind of object: target groups are known by the port of the Service, and rules by
// their port and conditions.
function names(resources, ports) {
  const out = new Map(), taken = new Set();
  const give = (type, id, name) => {
    let unique = name;
    for (let n = 2; taken.has(type + " " + unique); n++) unique = `${name} (${n})`;
    taken.add(type + " " + unique);
    out.set(type + " " + id, unique);
  };
  const services = servicesOf({ resources });
  for (const [type, byID] of Object.entries(resources)) {
    for (const [id, resource] of Object.entries(byID || {})) {
      const kind = short(type);
      if (/^TargetGroup(Binding)?$/.test(kind) && services.has(id)) {
        const [service, port] = services.get(id);
        give(type, id, service + ":" + (ports.get(service + ":" + port) || port));
      }
      else if (kind === "ListenerRule") give(type, id, id.split(":")[0] + conditions(resource?.spec?.conditions));
      else give(type, id, id);
    }
  }
  return out;
}

function conditions(all) {
  return (all || []).map((c) => {
    const { field, ...config } = c;
    return " " + field + " " + Object.values(config).map((v) => (v?.values || [JSON.stringify(v)]).map((x) => (typeof x === "string" ? x : JSON.stringify(x))).join(" ")).join(" ");
  }).sort().join(",");
}

// linked is a value as text, with the name of a resource in place of a reference to its id.
function linked(value, named) {
  const m = /^#\/resources\/([^/]+)\/(.*)\/status\/[^/]+$/s.exec(typeof value === "string" ? value : "");
  if (!m) return typeof value === "string" ? value : JSON.stringify(value);
  return short(m[1]) + " " + (named.get(m[1] + " " + m[2]) || m[2]);
}

// flatten gives each value with its path. A list of values is one value.
function flatten(value, path, depth, each) {
  const below = (key) => (path ? path + "." + key : key);
  if (depth > mostDepth || value === null || typeof value !== "object") return each(path, value);
  if (typeof value.$ref === "string") return each(path, value.$ref);
  if (Array.isArray(value)) {
    if (value.every((v) => v === null || typeof v !== "object")) return each(path, value);
    return value.forEach((v, i) => flatten(v, `${path}[${i}]`, depth + 1, each));
  }
  for (const key of Object.keys(value).sort()) flatten(value[key], below(key), depth + 1, each);
}
