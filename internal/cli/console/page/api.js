// What the page asks the program for. Nothing is asked of anybody else.

const tokenKey = "fulcrum-console-token";

/** takeToken keeps the token of the link that the program has printed for this tab, and takes it out of the address. */
export function takeToken() {
  const m = /^#token=(.+)$/.exec(location.hash);
  if (!m) return;
  sessionStorage.setItem(tokenKey, decodeURIComponent(m[1]));
  history.replaceState(null, "", "#/topology");
}

/** setToken keeps a token that was typed. */
export function setToken(token) { sessionStorage.setItem(tokenKey, token); }

async function get(path, signal) {
  const headers = { "X-Fulcrum-Console": "1" };
  const token = sessionStorage.getItem(tokenKey);
  if (token) headers.Authorization = "Bearer " + token;
  const r = await fetch(path, { headers, signal, cache: "no-store", credentials: "omit", redirect: "error" });
  if (!r.ok) {
    const e = new Error((await r.text()).trim() || r.statusText);
    e.status = r.status;
    throw e;
  }
  return r;
}

/** command carries out a command of the program: {command, exit, calls, notes, document}. */
export async function command(name, params = {}, signal) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(params)) {
    for (const one of Array.isArray(v) ? v : [v]) if (one) q.append(k, one);
  }
  return (await get(`/api/command/${name}?${q}`, signal)).json();
}

/** lookAgain has the program read AWS again, and says how many calls to AWS the page makes after that. It does not wait for it. */
export async function lookAgain(after) { await get(`/api/again?after=${after}`); }

/** watch calls news with each look of the program, and lost with why none comes. It does not end. */
export async function watch(news, lost) {
  let have = "";
  let wait = 1000;
  let stop;
  document.addEventListener("visibilitychange", () => stop?.abort());
  for (;;) {
    stop = new AbortController();
    let again = true;
    try {
      const q = new URLSearchParams();
      if (have) q.set("have", have);
      if (document.hidden) q.set("background", "1");
      const r = await get("/api/looks?" + q, stop.signal);
      await events(r.body, (text) => {
        const n = JSON.parse(text);
        have = n.have;
        wait = 1000;
        news(n);
      });
      lost(new Error("the program has closed the connection"));
    } catch (e) {
      if (e.name === "AbortError") again = false;
      else lost(e);
    }
    if (again) {
      await new Promise((done) => setTimeout(done, wait));
      wait = Math.min(2 * wait, 15000);
    }
  }
}

// events reads server-sent events; fetch is used in place of EventSource, which sends no headers.
async function events(body, each) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let parts = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parts.push(value);
    if (!value.includes("\n\n") && !(value.startsWith("\n") && parts.length > 1)) continue;
    rest += parts.join("");
    parts = [];
    let at;
    while ((at = rest.indexOf("\n\n")) >= 0) {
      const event = rest.slice(0, at);
      rest = rest.slice(at + 2);
      if (event.startsWith("data: ")) each(event.slice(6));
    }
  }
}
