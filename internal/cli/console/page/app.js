import { setToken, takeToken, watch } from "./api.js";
import { el, fill } from "./dom.js";
import { Again } from "./again.js";
import { Ask } from "./ask.js";
import { Changes } from "./history.js";
import { Detail } from "./detail.js";
import { Migrate } from "./migrate.js";
import { Reported, older } from "./reported.js";
import { objectNamed, refText } from "./rows.js";
import { Topology } from "./topology.js";
import { Trouble } from "./trouble.js";

takeToken();
const $ = (id) => document.getElementById(id);

// Links say all of a view, so that they can be sent to somebody else.
const link = (page, params) => {
  const q = new URLSearchParams(Object.entries(params).filter(([, v]) => v));
  return "#/" + page + (q.size ? "?" + q : "");
};
const go = {
  row: (key) => link("topology", { row: key }),
  object: (o) => link("topology", { object: typeof o === "string" ? o : refText(o) }),
  ask: (params) => link("ask", params),
};

const reported = new Reported();
const detail = new Detail($("detail"), go, reported);
const topology = new Topology($("list"), $("rows"), (row, key) => {
  detail.show(row, key);
  stay({ row: key, object: "" });
}, reported);
const trouble = new Trouble($("trouble"), topology, go, reported);
const changes = new Changes($("history"), go);
const migrate = new Migrate($("migrate"), go);
const ask = new Ask($("ask"), $("answer"), go);
const again = new Again($("again"), () => ({ trouble, ask, migrate })[where().page] || {});
detail.show();
trouble.changed = counts;

const filters = { query: $("query"), namespace: $("namespace"), kind: $("kind"), state: $("state") };

// stay has the address say what is shown, without a new entry in the browser's history.
function stay(params) {
  if (where().page !== "topology") return;
  const q = where().params;
  for (const [k, v] of Object.entries(params)) v ? q.set(k, v) : q.delete(k);
  history.replaceState(null, "", "#/topology" + (q.size ? "?" + q : ""));
}

function where() {
  const [page, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { page: ["topology", "trouble", "ask", "migrate", "history"].includes(page) ? page : "topology", params: new URLSearchParams(query || "") };
}

function route() {
  takeToken();
  const { page, params } = where();
  for (const e of document.querySelectorAll("main > section")) e.hidden = e.dataset.page !== page;
  for (const a of document.querySelectorAll("nav a")) {
    if (a.dataset.page === page) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  document.title = { topology: "Load balancers", trouble: "Trouble", ask: "Ask", migrate: "Migration", history: "History" }[page] + " – Fulcrum console";
  if (page === "trouble") trouble.visit();
  if (page === "ask") ask.visit(params);
  if (page === "migrate") migrate.visit(params);
  if (page !== "topology") return;
  for (const [k, f] of Object.entries(filters)) {
    const v = params.get(k) || "";
    if (f.tagName === "SELECT" && v && ![...f.options].some((o) => o.value === v)) f.append(el("option", { value: v }, v));
    f.value = v;
  }
  topology.setFilter(Object.fromEntries(Object.entries(filters).map(([k, f]) => [k, f.value])));
  topology.select(params.get("row") || "");
  if (params.has("object")) selectObject(params.get("object"));
  found();
}

// selectObject chooses the row of an object. The address keeps naming the object, whose row may have another key later.
function selectObject(text) {
  const row = topology.rowOf(text);
  if (row) topology.select(row.key);
  else if (last) detail.showObject(objectNamed(text), text);
  stay({ row: "", object: text });
}

for (const [k, f] of Object.entries(filters)) {
  f.addEventListener("input", () => {
    topology.setFilter({ [k]: f.value });
    stay({ [k]: f.value });
    found();
  });
}
$("filters").addEventListener("submit", (e) => e.preventDefault());
addEventListener("hashchange", () => {
  route();
  const at = document.activeElement;
  if (at === document.body || at.closest("nav, [hidden]")) scrollable(where().page).focus({ preventScroll: true });
});

// scrollable is what scrolls of a page, which has the keyboard once the page is chosen, so that PgDn and End scroll.
function scrollable(page) { return page === "topology" ? $("list") : document.querySelector(`main > section[data-page="${page}"]`); }

addEventListener("keydown", (e) => {
  if (e.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
    e.preventDefault();
    location.hash = "#/topology";
    route(); // what is hidden cannot have the keyboard
    filters.query.focus();
  }
});

const mostOverdue = 10; // seconds that a look may take without a word
const shortestSearch = 3; // characters for which orphans are looked for, if nothing else matches
const typing = 500; // milliseconds without a key after which a search is typed
let last; // of what looks have told
let orphansWanted; // a timer, so that orphans are looked for once the search is typed
function found() {
  const none = topology.shown.length === 0, query = filters.query.value.trim(), searched = none && query.length >= shortestSearch;
  const orphans = query ? trouble.orphansLike(query) : [];
  clearTimeout(orphansWanted);
  if (last && searched && !trouble.orphansAsked) orphansWanted = setTimeout(() => trouble.lookForOrphans().then(found), typing);
  $("list").hidden = none;
  $("empty").hidden = !none && orphans.length === 0;
  fill($("empty"),
    !none ? null : !last ? el("p", {}, "The program is looking at the cluster and AWS …") : last.text ? el("pre", { class: "notes" }, last.text) : el("p", {}, "Nothing matches. Change the search or the filters."),
    orphans.length ? el("p", {}, orphans.length === 1 ? "1 orphan matches" : `${orphans.length} orphans match`, ": see ", el("a", { href: "#/trouble" }, "Trouble")) : null);
}

function counts() {
  const balancers = topology.balancers(), absent = balancers.filter((r) => r.state === "missing").length;
  const put = (id, text, title) => {
    if ($(id).textContent !== String(text)) $(id).textContent = text;
    $(id).title = title;
  };
  put("count-stacks", balancers.length || "", `load balancers that are listed${absent ? `, ${absent} of them not in AWS yet` : ""}`);
  const { n, all } = trouble.count();
  put("count-trouble", all ? n || "" : last ? `${n} + checks` : "", all ? "entries of the page" : "entries of the page; checks and orphans cost calls to AWS, and are counted once the page is opened");
  $("count-history").textContent = changes.all.length || "";
}

function choices(select, values) {
  const have = [...select.options].slice(1).map((o) => o.value);
  const all = [...new Set([...values, select.value].filter(Boolean))].sort();
  if (have.join("\n") === all.join("\n")) return;
  const value = select.value;
  while (select.options.length > 1) select.lastElementChild.remove();
  for (const v of all) select.append(el("option", { value: v }, v));
  select.value = value;
}

let arrived; // when the last look was shown, by the page's own clock

/**
 * status says when the last look was and the next one is. What counts down is no part of what is read out at each change.
 * Where the next look is overdue, AWS or the cluster is slow, and what is shown grows old.
 */
function status() {
  if (!last) return;
  const put = (id, text) => { if ($(id).textContent !== text) $(id).textContent = text; };
  const at = new Date(last.at).toLocaleTimeString(), aws = last.aws;
  const left = last.next - (performance.now() - arrived) / 1000, overdue = Math.floor(-left);
  const waits = again.waits();
  put("status", `looked at ${at}` + (!waits && overdue >= mostOverdue ? `, the next look has not ended for ${overdue - overdue % mostOverdue} s`
    : `; calls to AWS in the last minute: looks ${aws.looks} (limit ${aws.budget}), commands ${aws.minute - aws.looks}`));
  put("next", overdue >= mostOverdue ? "" : left <= 0.5 ? "· looking" : `· ${waits ? "Look again, within the limit," : "next look"} in ${Math.round(left)} s`);
}

function banner(...children) {
  $("banner").hidden = children.length === 0;
  fill($("banner"), children);
}

function askForToken(message) {
  const input = el("input", { type: "password", "aria-label": "Token", autocomplete: "off" });
  banner(message, " ", el("form", { onsubmit: (e) => {
    e.preventDefault();
    setToken(input.value);
    location.reload();
  } }, el("label", {}, "Token ", input), " ", el("button", { type: "submit" }, "Use")));
  input.focus();
}

route();
setInterval(status, 1000);
setInterval(older, 10000);
watch((news) => {
  const first = !last;
  last = news;
  arrived = performance.now();
  again.take(news);
  $("cluster").textContent = news.cluster;
  if (news.reported) reported.take(news.reported);
  topology.take(news.keys, news.stacks);
  changes.take(news.changes);
  choices(filters.namespace, topology.stacks().flatMap((s) => s.members.map((m) => m.namespace)));
  choices(filters.kind, topology.stacks().map((s) => s.kind));
  trouble.note(news.notes);
  if (where().page === "trouble") trouble.update();
  if (topology.selected) detail.show(topology.find(topology.selected), topology.selected);
  else if (!first && where().page === "topology" && where().params.has("object")) selectObject(where().params.get("object"));
  if (first) {
    route();
    performance.mark("first rows");
  }
  found();
  counts();
  status();
  if (news.failed) banner(`The last look failed: ${news.failed} What is shown is as of before ${new Date(news.since).toLocaleTimeString()}.`);
  else banner();
}, (error) => {
  if (error.status === 401) askForToken(error.message);
  else banner(`Not connected: ${error.message}. Is "fulcrum console" running? The page tries again; what is shown is old.`);
});
