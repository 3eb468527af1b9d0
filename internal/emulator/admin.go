package emulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/imds"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

const adminPrefix = "/_fulcrum/"

// AdminFunc serves one admin path. body is the body of the request. The result is sent as JSON, and an error is sent as
// {"error": …} with status 400.
type AdminFunc func(r *http.Request, body []byte) (any, error)

// HandleAdmin sets the function that serves a path below /_fulcrum/, such as "loadbalancers".
func (em *Emulator) HandleAdmin(name string, f AdminFunc) {
	em.adminMu.Lock()
	defer em.adminMu.Unlock()
	em.admin[name] = f
}

func (em *Emulator) registerAdmin() {
	em.HandleAdmin("reset", em.adminReset)
	em.HandleAdmin("state", em.adminState)
	em.HandleAdmin("calls", em.adminCalls)
	em.HandleAdmin("faults", em.adminFaults)
	em.HandleAdmin("limits", em.adminLimits)
	em.HandleAdmin("clock", em.adminClock)
	em.HandleAdmin("config", em.adminConfig)
	em.HandleAdmin("accounts", em.adminAccounts)
	em.HandleAdmin("permissions", em.adminPermissions)
	em.HandleAdmin("imds", em.adminIMDS)
	em.HandleAdmin("force", em.adminForce)
	em.HandleAdmin("check", em.adminCheck)
}

func (em *Emulator) serveAdmin(r *http.Request) wire.Response {
	name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, adminPrefix), "/")
	em.adminMu.Lock()
	f := em.admin[name]
	names := store.SortedKeys(em.admin)
	em.adminMu.Unlock()
	if f == nil {
		return jsonResponse(404, map[string]any{"error": "no admin path " + name, "paths": names})
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, 256<<20)); err != nil {
			return jsonResponse(400, map[string]string{"error": err.Error()})
		}
	}
	out, err := f(r, body)
	if err != nil {
		return jsonResponse(400, map[string]string{"error": err.Error()})
	}
	return jsonResponse(200, out)
}

func jsonResponse(status int, v any) wire.Response {
	if raw, ok := v.(json.RawMessage); ok {
		return wire.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: raw}
	}
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status, body = 500, fmt.Appendf(nil, `{"error": %q}`, err)
	}
	return wire.Response{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: append(body, '\n')}
}

var errMethodNotSupported = errors.New("this admin path does not support the method")

var okResponse = map[string]bool{"ok": true}

// adminReset serves the path "reset": POST calls Reset, which removes the AWS resources, the call log and all faults.
func (em *Emulator) adminReset(r *http.Request, _ []byte) (any, error) {
	if r.Method != http.MethodPost {
		return nil, errMethodNotSupported
	}
	em.Reset()
	return okResponse, nil
}

// adminState serves the path "state": GET exports the state (store.Store.Export), and PUT replaces the state with an
// exported state.
func (em *Emulator) adminState(r *http.Request, body []byte) (any, error) {
	em.store.Lock()
	defer em.store.Unlock()
	switch r.Method {
	case http.MethodGet:
		state, err := em.store.Export()
		return json.RawMessage(state), err
	case http.MethodPut:
		if err := em.store.Restore(body); err != nil {
			return nil, err
		}
		em.store.WakeWaiters()
		return okResponse, nil
	}
	return nil, errMethodNotSupported
}

// adminCalls serves the path "calls": GET lists the calls, filtered by the parameters service, operation and mutating
// (true). DELETE removes all calls from the log.
func (em *Emulator) adminCalls(r *http.Request, _ []byte) (any, error) {
	switch r.Method {
	case http.MethodDelete:
		em.calls.Reset()
		return okResponse, nil
	case http.MethodGet:
	default:
		return nil, errMethodNotSupported
	}
	q := r.URL.Query()
	calls := []Entry{}
	for _, e := range em.calls.Entries() {
		if s := q.Get("service"); s != "" && s != e.Service {
			continue
		}
		if o := q.Get("operation"); o != "" && o != e.Operation {
			continue
		}
		if q.Get("mutating") == "true" && !e.Mutating {
			continue
		}
		calls = append(calls, e)
	}
	return map[string]any{
		"total": em.calls.Total(), "mutating": em.calls.CountMutating(),
		"counts": em.calls.Counts(), "throttled": em.faults.ThrottledCalls(), "calls": calls,
	}, nil
}

// adminFaults serves the path "faults": GET lists the fault rules, POST adds a fault rule (the JSON form of fault.Rule), and
// DELETE removes all faults and limits.
func (em *Emulator) adminFaults(r *http.Request, body []byte) (any, error) {
	switch r.Method {
	case http.MethodGet:
		return map[string]any{"rules": em.faults.Rules(), "limits": em.faults.Limits(), "throttled": em.faults.ThrottledCalls()}, nil
	case http.MethodPost:
		var rule fault.Rule
		if err := decodeStrict(body, &rule); err != nil {
			return nil, err
		}
		em.faults.Add(rule)
		return okResponse, nil
	case http.MethodDelete:
		em.faults.Reset()
		return okResponse, nil
	}
	return nil, errMethodNotSupported
}

// adminLimits serves the path "limits": GET returns the limits, and PUT replaces them. The body of PUT is {"name":
// "documented" | "documented-2025" | "off", "factor": 1} or {"buckets": […]}. With {…, "otherClient": 0.5}, half of the
// tokens in each bucket are used by another client.
func (em *Emulator) adminLimits(r *http.Request, body []byte) (any, error) {
	switch r.Method {
	case http.MethodGet:
		return em.faults.Limits(), nil
	case http.MethodPut:
	default:
		return nil, errMethodNotSupported
	}
	in := struct {
		Name        string
		Factor      float64
		Buckets     []fault.Bucket
		OtherClient float64
	}{Factor: 1}
	if err := decodeStrict(body, &in); err != nil {
		return nil, err
	}
	if in.OtherClient < 0 || in.OtherClient > 1 {
		return nil, fmt.Errorf("otherClient %v is not between 0 and 1", in.OtherClient)
	}
	var limits fault.Limits
	switch {
	case len(in.Buckets) > 0:
		limits = fault.Limits{Name: in.Name, Buckets: in.Buckets}
	case in.Name == "documented":
		limits = fault.DocumentedLimits(in.Factor)
	case in.Name == "documented-2025":
		limits = fault.DocumentedLimits2025(in.Factor)
	case in.Name == "off":
	default:
		return nil, fmt.Errorf("there are no limits named %q; allowed: documented, documented-2025, off", in.Name)
	}
	limits.OtherClient = in.OtherClient
	em.faults.SetLimits(limits)
	return okResponse, nil
}

// advancer is a clock that the admin API can advance, such as store.ManualClock.
type advancer interface{ Advance(time.Duration) }

// adminClock serves the path "clock": GET returns the time, and POST {"advance": "30s"} advances a manual clock.
func (em *Emulator) adminClock(r *http.Request, body []byte) (any, error) {
	if r.Method == http.MethodPost {
		clock, ok := em.store.Clock.(advancer)
		if !ok {
			return nil, errors.New("the clock cannot be advanced: it is not a manual clock")
		}
		var in struct{ Advance string }
		if err := decodeStrict(body, &in); err != nil {
			return nil, err
		}
		d, err := time.ParseDuration(in.Advance)
		if err != nil {
			return nil, err
		}
		clock.Advance(d)
		em.store.WakeWaiters()
	}
	_, manual := em.store.Clock.(advancer)
	return map[string]any{"now": em.store.Clock.Now(), "manual": manual}, nil
}

// adminConfig serves the path "config": GET returns the configuration, and PATCH changes the members that the body has.
func (em *Emulator) adminConfig(r *http.Request, body []byte) (any, error) {
	em.store.Lock()
	defer em.store.Unlock()
	if r.Method == http.MethodPatch {
		cfg := em.store.Config
		cfg.Quotas = map[string]int{}
		maps.Copy(cfg.Quotas, em.store.Config.Quotas)
		if err := decodeStrict(body, &cfg); err != nil {
			return nil, err
		}
		em.store.Config = cfg
		for _, p := range em.store.Partitions() {
			em.store.UpdateValidations(p.Account)
		}
		em.store.WakeWaiters()
	}
	return em.store.Config, nil
}

// adminAccounts serves the path "accounts": POST adds access keys, roles, and policies of access keys. The body is
// {"accessKeys": {key: account}, "roles": [store.Role], "policies": {key: [policy]}}.
func (em *Emulator) adminAccounts(r *http.Request, body []byte) (any, error) {
	if r.Method != http.MethodPost {
		return nil, errMethodNotSupported
	}
	var in struct {
		AccessKeys map[string]string
		Roles      []store.Role
		Policies   map[string][]iam.Policy
	}
	if err := decodeStrict(body, &in); err != nil {
		return nil, err
	}
	em.store.Lock()
	defer em.store.Unlock()
	for key, account := range in.AccessKeys {
		em.store.AddAccessKey(key, account)
	}
	for key, policies := range in.Policies {
		em.store.PutPrincipal(key, store.Principal{Policies: policies})
	}
	for _, role := range in.Roles {
		em.store.PutRole(role)
	}
	return okResponse, nil
}

// adminPermissions serves the path "permissions", for callers with policies. GET returns the permissions that allowed calls,
// as {"Action": …, "Sid": …, "Count": …}, and the messages of denials with their counts.
func (em *Emulator) adminPermissions(r *http.Request, _ []byte) (any, error) {
	if r.Method != http.MethodGet {
		return nil, errMethodNotSupported
	}
	type permission struct {
		Action, Sid string
		Count       int
	}
	out := []permission{}
	for p, n := range em.Permissions() {
		out = append(out, permission{p.Action, p.Sid, n})
	}
	slices.SortFunc(out, func(a, b permission) int { return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Sid, b.Sid)) })
	return map[string]any{"Allowed": out, "Denied": em.Denials()}, nil
}

// adminIMDS serves the path "imds": GET returns the instance whose metadata the emulator serves, and PUT replaces it.
func (em *Emulator) adminIMDS(r *http.Request, body []byte) (any, error) {
	if r.Method == http.MethodPut {
		var in imds.Identity
		if err := decodeStrict(body, &in); err != nil {
			return nil, err
		}
		em.imds.SetIdentity(in)
	}
	return em.imds.Identity(), nil
}

// adminCheck serves the path "check": GET returns the invariants that the state violates (store.Store.CheckInvariants).
func (em *Emulator) adminCheck(*http.Request, []byte) (any, error) {
	em.store.Lock()
	defer em.store.Unlock()
	broken := em.store.CheckInvariants()
	return map[string]any{"ok": len(broken) == 0, "broken": broken}, nil
}

// decodeStrict decodes JSON and rejects unknown members.
func decodeStrict(body []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(v)
}
