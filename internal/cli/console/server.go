package console

import (
	"cmp"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

//go:embed page
var files embed.FS

// asset is a file of the page.
type asset struct {
	name, kind string
}

// assets are the files by path. Nothing else is served.
var assets = map[string]asset{
	"/":            {"index.html", "text/html; charset=utf-8"},
	"/style.css":   {"style.css", "text/css; charset=utf-8"},
	"/icon.svg":    {"icon.svg", "image/svg+xml"},
	"/app.js":      {"app.js", "text/javascript; charset=utf-8"},
	"/again.js":    {"again.js", "text/javascript; charset=utf-8"},
	"/api.js":      {"api.js", "text/javascript; charset=utf-8"},
	"/dom.js":      {"dom.js", "text/javascript; charset=utf-8"},
	"/topology.js": {"topology.js", "text/javascript; charset=utf-8"},
	"/rows.js":     {"rows.js", "text/javascript; charset=utf-8"},
	"/detail.js":   {"detail.js", "text/javascript; charset=utf-8"},
	"/trouble.js":  {"trouble.js", "text/javascript; charset=utf-8"},
	"/ask.js":      {"ask.js", "text/javascript; charset=utf-8"},
	"/fold.js":     {"fold.js", "text/javascript; charset=utf-8"},
	"/answers.js":  {"answers.js", "text/javascript; charset=utf-8"},
	"/history.js":  {"history.js", "text/javascript; charset=utf-8"},
	"/migrate.js":  {"migrate.js", "text/javascript; charset=utf-8"},
	"/status.js":   {"status.js", "text/javascript; charset=utf-8"},
	"/reported.js": {"reported.js", "text/javascript; charset=utf-8"},
	"/plans.js":    {"plans.js", "text/javascript; charset=utf-8"},
}

// policy has the browser run and show what the program contains, and connect to it alone. Text is never made markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Page serves the files of the page alone, for measurements of it with documents of any size.
func Page() http.Handler { return http.HandlerFunc(serveAsset) }

// handler serves the page and what it asks for.
func (c *console) handler(h *hub, asks *commands) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", serveAsset)
	mux.Handle("GET /api/command/{name}", c.guarded(asks))
	mux.Handle("GET /api/again", c.guarded(http.HandlerFunc(h.serveAgain)))
	mux.Handle("GET /api/looks", c.guarded(http.HandlerFunc(h.serve)))
	return c.checked(mux)
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	data, err := fs.ReadFile(files, "page/"+a.name)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Write(data)
}

// checked refuses what a page of another site makes a browser send, and says what browsers may do with the answer. A name
// that another party resolves to this machine is refused: its page would be of the same origin.
func (c *console) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if !c.servesHost(r.Host) {
			http.Error(w, fmt.Sprintf("host %q is not served; use the address that fulcrum console has printed, or localhost", r.Host), http.StatusMisdirectedRequest)
			return
		}
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host && o != "https://"+r.Host {
			http.Error(w, "requests of other sites are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// servesHost reports whether a Host header names this machine in a way that no other party decides: by an address, as
// localhost, or by the name that --listen has.
func (c *console) servesHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	listen, _, _ := net.SplitHostPort(c.listen)
	return strings.EqualFold(name, "localhost") || listen != "" && strings.EqualFold(name, listen)
}

// guarded admits the page itself, which sends a header that other sites cannot, with the token if there is one.
func (c *console) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		if r.Header.Get("X-Fulcrum-Console") != "1" || site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "only the page of fulcrum console is answered", http.StatusForbidden)
			return
		}
		given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if c.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(c.token)) != 1 {
			http.Error(w, "the token is missing or wrong; open the line that fulcrum console has printed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// update is what a page is sent: the whole state for the first time, and then what differs.
type update struct {
	// Have is what the page gives when it comes back.
	Have    string `json:"have"`
	Cluster string `json:"cluster"`
	// Keys are the keys of all stacks in order, as "KIND ID", and Stacks those of fulcrum tree that have changed.
	Keys   []string          `json:"keys"`
	Stacks []json.RawMessage `json:"stacks"`
	// Changes were found since the page was opened.
	Changes []change `json:"changes"`
	// Reported is what the controller has reported in events, if it has changed.
	Reported json.RawMessage `json:"reported,omitempty"`
	Text     string          `json:"text,omitempty"`
	Notes    string          `json:"notes,omitempty"`
	// Failed is why the last look failed, and Since from when on looks have.
	Failed string     `json:"failed,omitempty"`
	Since  *time.Time `json:"since,omitempty"`
	At     time.Time  `json:"at"`
	// Next is in how many seconds the next look is.
	Next float64 `json:"next"`
	// Wanted reports that the next look reads AWS again, as a page has asked for; Reads counts such looks.
	Wanted bool `json:"wanted,omitempty"`
	Reads  int  `json:"reads"`
	// AWS are calls to AWS: of the last look; of the last minute, and of looks among them; and the limit of those of looks.
	AWS struct {
		Look   int   `json:"look"`
		Minute int64 `json:"minute"`
		Looks  int64 `json:"looks"`
		Budget int   `json:"budget"`
	} `json:"aws"`
}

// updateFor returns a snapshot for a page that has an earlier one, and never had one if that is 0.
func (h *hub) updateFor(s *snapshot, have int) update {
	n := update{
		Have: fmt.Sprintf("%s.%d", h.instance, s.generation), Cluster: s.cluster, Keys: []string{}, Stacks: []json.RawMessage{}, Changes: []change{},
		Text: s.text, Notes: s.notes, Failed: s.failed, At: s.at, Next: s.next.Seconds(), Wanted: s.wanted, Reads: s.reads,
	}
	n.AWS.Look, n.AWS.Budget = s.cost, h.budget
	n.AWS.Minute, n.AWS.Looks = s.lastMinute()
	if s.failed != "" {
		n.Since = &s.since
	}
	for _, p := range s.parts {
		n.Keys = append(n.Keys, p.key)
		if p.generation > have {
			n.Stacks = append(n.Stacks, p.json)
		}
	}
	if s.reported.generation > have {
		n.Reported = s.reported.json
	}
	for _, c := range s.changes {
		if have > 0 && c.generation > have {
			n.Changes = append(n.Changes, c)
		}
	}
	return n
}

// serveAgain answers GET /api/again: AWS is read again, as soon as the budget has room for that and for the calls that the
// page makes after it. It sends that time to all pages.
func (h *hub) serveAgain(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("after"), "0"))
	if err != nil || after < 0 {
		http.Error(w, "after is how many calls to AWS the page makes once AWS is read", http.StatusBadRequest)
		return
	}
	h.lookAgain(after)
	w.WriteHeader(http.StatusNoContent)
}

// serve answers GET /api/looks by server-sent events, each of which is an update.
func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	have := 0
	if instance, generation, ok := strings.Cut(r.URL.Query().Get("have"), "."); ok && instance == h.instance {
		have, _ = strconv.Atoi(generation)
	}
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
	default:
		http.Error(w, fmt.Sprintf("%d pages are open, which is the most; close one", mostViewers), http.StatusServiceUnavailable)
		return
	}
	v := &viewer{background: r.URL.Query().Has("background"), update: make(chan *snapshot, 1)}
	if !h.send(h.join, v) {
		return
	}
	defer h.send(h.leave, v)
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case s := <-v.update:
			data, err := json.Marshal(h.updateFor(s, have))
			if err != nil {
				return
			}
			have = s.generation
			out.SetWriteDeadline(time.Now().Add(durations.Request))
			if _, err := w.Write(slices.Concat([]byte("data: "), data, []byte("\n\n"))); err != nil {
				return
			}
			if out.Flush() != nil {
				return
			}
		}
	}
}
