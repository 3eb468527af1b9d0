package emulator

import (
	"maps"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/authz"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/imds"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/wire"
)

// Options configures an emulator. The zero value emulates AWS with short delays in real time.
type Options struct {
	// Clock defaults to the time package.
	Clock store.Clock
	// Seed determines identifiers and the order of lists.
	Seed uint64
	// Config defaults to store.DefaultConfig.
	Config *store.Config
	// Account is the account of access keys that are not registered and do not contain an account ID. The default is
	// "123456789012".
	Account string
	// Partition is the AWS partition, such as "aws-cn" or "aws-us-gov". The default is "aws". The emulator does not serve
	// regions of other partitions.
	Partition string
	// Observe is called after each call that reaches a service of the emulator, from the goroutine that serves the call. It
	// may be called concurrently.
	Observe func(Exchange)
}

// Exchange has the request and the answer of a call, as they are sent over HTTP.
type Exchange struct {
	Entry
	Request wire.Request
	// Answer is the answer of the emulator, even if a fault prevented the emulator from sending it. Its Status is 0 if
	// there is no answer.
	Answer wire.Response
}

// Emulator is an emulated AWS. It is safe for concurrent use.
type Emulator struct {
	store    *store.Store
	services []*service
	faults   *fault.Set
	calls    *Calls
	observe  func(Exchange)
	imds     *imds.Server

	historyMu  sync.Mutex
	history    []savedState
	lastChange time.Time // time of the last change; zero if history already has the state after it

	permissionsMu   sync.Mutex
	usedPermissions map[authz.UsedPermission]int
	denials         map[string]int

	adminMu sync.Mutex
	admin   map[string]AdminFunc
}

// New returns an emulator without resources, except the default VPC of each account and region.
func New(o Options) *Emulator {
	w := store.New(store.Options{Clock: o.Clock, Seed: o.Seed, Config: o.Config, Account: o.Account, Partition: o.Partition})
	em := &Emulator{
		store:           w,
		services:        services(w),
		faults:          fault.NewSet(),
		calls:           newCalls(),
		observe:         o.Observe,
		imds:            imds.New(w),
		admin:           map[string]AdminFunc{},
		usedPermissions: map[authz.UsedPermission]int{},
		denials:         map[string]int{},
	}
	em.registerAdmin()
	return em
}

// Store returns the emulator state behind the API. Lock it before use.
func (em *Emulator) Store() *store.Store { return em.store }

// Faults returns the set of faults that the emulator injects. Callers add faults to it.
func (em *Emulator) Faults() *fault.Set { return em.faults }

// Calls returns the log of all calls.
func (em *Emulator) Calls() *Calls { return em.calls }

// IMDS returns the instance metadata service.
func (em *Emulator) IMDS() *imds.Server { return em.imds }

// AnswerType returns the output type of an operation, or nil if the emulator does not have the operation. service is the
// signing name of the service.
func (em *Emulator) AnswerType(service, operation string) reflect.Type {
	for _, s := range em.services {
		if s.name == service {
			return s.operations[operation].Output
		}
	}
	return nil
}

// Operations returns the names of the operations of each service, sorted, by the signing name of the service.
func (em *Emulator) Operations() map[string][]string {
	out := map[string][]string{}
	for _, s := range em.services {
		out[s.name] = store.SortedKeys(s.operations)
	}
	return out
}

// Permissions returns the permissions that have allowed calls of callers with policies, with the number of these calls.
func (em *Emulator) Permissions() map[authz.UsedPermission]int {
	em.permissionsMu.Lock()
	defer em.permissionsMu.Unlock()
	return maps.Clone(em.usedPermissions)
}

// Denials returns how often policies have denied calls on existing resources, by the message of the denial.
func (em *Emulator) Denials() map[string]int {
	em.permissionsMu.Lock()
	defer em.permissionsMu.Unlock()
	return maps.Clone(em.denials)
}

// recordDecision records the permissions that allowed a call, or why the call was denied.
func (em *Emulator) recordDecision(v authz.Decision) {
	em.permissionsMu.Lock()
	defer em.permissionsMu.Unlock()
	if v.Denial != nil && !v.IsResourceMissing {
		em.denials[v.Denial.Message]++
	}
	for _, p := range v.Permissions {
		em.usedPermissions[p]++
	}
}

// Reset removes the state, the call log, all faults and the instance metadata. It does not change the clock, the
// configuration, or the results of Permissions and Denials.
func (em *Emulator) Reset() {
	em.store.Lock()
	em.store.Reset()
	em.store.Unlock()
	em.faults.Reset()
	em.calls.Reset()
	em.imds.Reset()
	em.historyMu.Lock()
	em.history, em.lastChange = nil, time.Time{}
	em.historyMu.Unlock()
	em.store.WakeWaiters()
}

// Client returns an HTTP client that reaches the emulator in memory, for any host of a request.
func (em *Emulator) Client() *http.Client { return &http.Client{Transport: em.RoundTripper()} }
