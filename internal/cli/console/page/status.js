import { command } from "./api.js";
import { copyable, el, fill } from "./dom.js";
import { compare } from "./plans.js";
import { running } from "./trouble.js";

// The class and sign of each state of a load balancer on its way to a Gateway, and of each field that is compared.
const states = {
  ingress: ["note", "…"], shadow: ["note", "…"], refused: ["error", "✕"], adopting: ["warning", "~"], adopted: ["ok", "✓"],
  "giving-back": ["warning", "~"], released: ["ok", "✓"], unknown: ["error", "?"],
};
const fields = { same: ["ok", "✓"], differs: ["differs", "~"], "ingress only": ["missing", "+"], "gateway only": ["missing", "+"] };
const mark = (of, word) => el("span", { class: "badge " + (of[word]?.[0] || "note") }, (of[word]?.[1] || "") + " " + word);
const mostNotes = 20, mostFields = 500;

/** titleOf is what people call the load balancer of a status. */
export function titleOf(s) {
  if (!s.kind) return "Gateway " + s.gateway;
  return s.kind === "Ingress" && !s.id.includes("/") ? "IngressGroup " + s.id : s.kind + " " + s.id;
}

/** statusOf shows where a load balancer is, what is in the way, and the next step as a command. */
export function statusOf(s) {
  const notes = [...s.obstacles.map((o) => ["obstacle", o.message]), ...s.notes.map((n) => ["note", n])];
  const plans = el("div", { "aria-live": "polite" });
  return el("div", { class: "status" },
    el("p", {}, mark(states, s.state), s.gateway ? ` Gateway ${s.gateway}` : " no Gateway requests the load balancer", s.reason ? `: ${s.reason}` : ""),
    notes.length ? el("ul", { class: "plain" }, notes.slice(0, mostNotes).map(([what, text]) => el("li", {}, el("b", {}, what), " ", text))) : null,
    notes.length > mostNotes ? el("p", {}, `and ${notes.length - mostNotes} more, which the command shows`) : null,
    el("p", {}, "Next: ", s.next, " ", s.command ? copyable(s.command) : null),
    s.back ? el("p", {}, "To give it back: ", copyable(s.back)) : null,
    s.gateway && s.members.length ? el("p", {}, el("button", { type: "button", onclick: () => sideBySide(plans, s) }, "compare both plans field by field")) : null,
    plans);
}

// planOf is the plan of the load balancer of an object.
async function planOf(object, wanted) {
  const a = await command("plan", object);
  const stack = a.document?.stacks.find(wanted);
  return { command: a.command, notes: a.document ? "" : a.notes, result: stack?.result };
}

function sideBySide(into, s) {
  const slash = s.gateway.indexOf("/");
  return running(into, "fulcrum plan", async () => {
    const m = s.members[0];
    const ingress = await planOf({ kind: m.kind, name: m.name, namespace: m.namespace }, (x) => x.kind === s.kind && x.id === s.id);
    const gateway = await planOf({ kind: "Gateway", name: s.gateway.slice(slash + 1), namespace: s.gateway.slice(0, slash) }, (x) => x.kind.endsWith("Gateway") && x.id === s.gateway);
    const lacking = [["Ingresses", ingress], ["Gateway", gateway]].filter(([, p]) => !p.result).map(([of, p]) =>
      el("p", { class: "notes" }, `What the ${of} ask for cannot be determined now, as the plan says. `, p.notes, " ", copyable(p.command)));
    if (lacking.length) return lacking;
    return [table(s, compare(ingress.result, gateway.result)), el("p", { class: "hint" }, copyable(ingress.command), " ", copyable(gateway.command))];
  });
}

function table(s, rows) {
  const body = el("tbody", {}), count = el("p", { role: "status" });
  const which = el("select", {}, ["not the same", "all", ...Object.keys(fields)].map((w) => el("option", { value: w }, w)));
  const text = el("input", { type: "search", autocomplete: "off" });
  const wanted = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    return rows.filter((r) => (which.value === "all" || which.value === r.status || which.value === "not the same" && r.status !== "same") &&
      words.every((w) => [r.kind, r.resource, r.field, r.ingress, r.gateway, r.cause].join(" ").toLowerCase().includes(w)));
  };
  const show = () => {
    const found = wanted();
    count.textContent = `${found.length} of ${rows.length} fields` + (found.length > mostFields ? `, of which ${mostFields} are shown; the export has all` : "");
    fill(body, found.slice(0, mostFields).map((r) => el("tr", {}, el("td", {}, mark(fields, r.status)), el("td", {}, r.kind, " ", r.resource, el("div", { class: "from" }, r.field)),
      el("td", {}, r.ingress ?? "—"), el("td", {}, r.gateway ?? "—"), el("td", {}, r.cause || ""))));
  };
  which.addEventListener("change", show);
  text.addEventListener("input", show);
  show();
  return el("div", { class: "plans" },
    el("p", {}, el("label", {}, "Fields ", which), " ", el("label", {}, "that contain ", text), " ",
      el("button", { type: "button", onclick: () => save(s, wanted()) }, "export as JSON")),
    count,
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Both plans of " + titleOf(s) }, el("table", {},
      el("thead", {}, el("tr", {}, ["Status", "Field", s.kind === "Service" ? "Service" : "Ingress", "Gateway", "Known cause"].map((h) => el("th", { scope: "col" }, h)))), body)));
}

// save gives the fields that are shown, and those beyond the bound, as a file.
function save(s, rows) {
  const url = URL.createObjectURL(new Blob([JSON.stringify({ kind: s.kind, id: s.id, gateway: s.gateway, state: s.state, fields: rows }, null, 2) + "\n"], { type: "application/json" }));
  const link = el("a", { href: url, download: `${titleOf(s)}.json`.replace(/[^A-Za-z0-9.-]+/g, "-") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
