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
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

//go:embed page
var pageFiles embed.FS

// contentTypes are the content types of the files of the page, by file name extension.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// startFile is the file that is served for the URL path "/". It is not served under its own name.
const startFile = "index.html"

// contentSecurityPolicy makes the browser load scripts, styles and images only from the console, connect only to the
// console, and never parse text as markup.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// PageHandler returns a handler that serves the files of the page but not its API. Tests of the page use it.
func PageHandler() http.Handler { return http.HandlerFunc(serveFile) }

// handler returns the handler for the files of the page and for its API.
func (c *console) handler(h *hub, commands *commandRunner) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", serveFile)
	mux.Handle("GET /api/command/{name}", c.requirePage(commands))
	mux.Handle("GET /api/again", c.requirePage(http.HandlerFunc(h.serveFullRefresh)))
	mux.Handle("GET /api/looks", c.requirePage(http.HandlerFunc(h.serveUpdates)))
	return c.checkOrigin(mux)
}

// serveFile serves a file of the page.
func serveFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	data, err := fs.ReadFile(pageFiles, "page/"+cmp.Or(name, startFile))
	if err != nil || name == startFile {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(cmp.Or(name, startFile))])
	w.Write(data)
}

// checkOrigin sets security headers on all responses. It refuses requests that a page of another site makes a browser send.
// As a protection against DNS rebinding, it also refuses requests for host names for which servesHost returns false.
func (c *console) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", contentSecurityPolicy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cache-Control", "no-store")
		if !c.servesHost(r.Host) {
			http.Error(w, fmt.Sprintf("host %q is not allowed; use the address that fulcrum console has printed, or localhost", r.Host), http.StatusMisdirectedRequest)
			return
		}
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host && o != "https://"+r.Host {
			http.Error(w, "requests from other sites are refused", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// servesHost reports whether a Host header names an IP address, localhost or the host of --listen. An attacker can make any
// other name resolve to this machine.
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

// requirePage refuses requests without the header that only the page can send. If a token is set, it also refuses requests
// without the token.
func (c *console) requirePage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site := r.Header.Get("Sec-Fetch-Site")
		if r.Header.Get("X-Fulcrum-Console") != "1" || site != "" && site != "same-origin" && site != "none" {
			http.Error(w, "only requests of the page of fulcrum console are accepted", http.StatusForbidden)
			return
		}
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if c.token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(c.token)) != 1 {
			http.Error(w, "the token is missing or wrong; open the URL that fulcrum console has printed", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// pageUpdate is a message to a page. The first message has the whole state. A later message has the parts that have changed.
type pageUpdate struct {
	// Have is INSTANCE.GENERATION of the state that the page has after this message. The page sends it when it reconnects.
	Have    string `json:"have"`
	Cluster string `json:"cluster"`
	// Keys are the keys of all stacks in order, as "KIND ID".
	Keys []string `json:"keys"`
	// Stacks are the stacks that have changed, as in the document of fulcrum tree.
	Stacks []json.RawMessage `json:"stacks"`
	// Changes are the changes since the last message.
	Changes []change `json:"changes"`
	// Reported is a reportedWarnings as JSON, if the warnings have changed.
	Reported json.RawMessage `json:"reported,omitempty"`
	// Text is the output of tree if there is no load balancer.
	Text  string `json:"text,omitempty"`
	Notes string `json:"notes,omitempty"`
	// Failed is the reason why the last refresh failed.
	Failed string `json:"failed,omitempty"`
	// Since is the time of the first failed refresh since the last successful refresh. It is nil if the last refresh
	// succeeded.
	Since *time.Time `json:"since,omitempty"`
	// At is when the last refresh ended.
	At time.Time `json:"at"`
	// Next is the time until the next refresh in seconds.
	Next float64 `json:"next"`
	// Wanted reports whether the next refresh is a full refresh that a page has requested.
	Wanted bool `json:"wanted,omitempty"`
	// Reads is the number of full refreshes so far.
	Reads int `json:"reads"`
	// AWS has the numbers of calls to AWS, and their limit.
	AWS struct {
		Look   int   `json:"look"`   // of the last refresh
		Minute int64 `json:"minute"` // of the last minute
		Looks  int64 `json:"looks"`  // of refreshes in the last minute
		Budget int   `json:"budget"` // the value of --aws-calls-per-minute
	} `json:"aws"`
}

// updateFor returns the message that updates a page to state s. have is the generation of the state that the page has, or 0
// for a new page.
func (h *hub) updateFor(s *pageState, have int) pageUpdate {
	n := pageUpdate{
		Have: fmt.Sprintf("%s.%d", h.instance, s.generation), Cluster: s.cluster, Keys: []string{}, Stacks: []json.RawMessage{}, Changes: []change{},
		Text: s.text, Notes: s.notes, Failed: s.failure, At: s.refreshedAt, Next: s.untilNextRefresh.Seconds(), Wanted: s.fullRefreshWanted, Reads: s.fullRefreshCount,
	}
	n.AWS.Look, n.AWS.Budget = s.refreshCalls, h.budget
	n.AWS.Minute, n.AWS.Looks = s.lastMinute()
	if s.failure != "" {
		n.Since = &s.failingSince
	}
	for _, p := range s.stackParts {
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

// serveFullRefresh answers GET /api/again. It requests a full refresh with requestFullRefresh, and does not wait for the
// refresh. The query parameter "after" is the number of calls that the page will make after the refresh.
func (h *hub) serveFullRefresh(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("after"), "0"))
	if err != nil || after < 0 {
		http.Error(w, "query parameter \"after\" must be a number of AWS calls, 0 or more", http.StatusBadRequest)
		return
	}
	h.requestFullRefresh(after)
	w.WriteHeader(http.StatusNoContent)
}

// serveUpdates answers GET /api/looks with server-sent events until the page is closed. Each event is a pageUpdate as JSON.
func (h *hub) serveUpdates(w http.ResponseWriter, r *http.Request) {
	have := 0
	if instance, generation, ok := strings.Cut(r.URL.Query().Get("have"), "."); ok && instance == h.instance {
		have, _ = strconv.Atoi(generation)
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		http.Error(w, fmt.Sprintf("the maximum of %d pages is open; close a page", maxViewers), http.StatusServiceUnavailable)
		return
	}
	v := &viewer{background: r.URL.Query().Has("background"), update: make(chan *pageState, 1)}
	if !h.sendViewer(h.join, v) {
		return
	}
	defer h.sendViewer(h.leave, v)
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
			out.SetWriteDeadline(time.Now().Add(durations.RequestTimeout))
			if _, err := w.Write(slices.Concat([]byte("data: "), data, []byte("\n\n"))); err != nil {
				return
			}
			if out.Flush() != nil {
				return
			}
		}
	}
}
