package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/resolver"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// retryAfter is the maximum delay before a configuration is applied again if parts of it had errors, such as a port in use.
const retryAfter = time.Second

// Options configure a server. With the zero value, listeners have loopback addresses, and there is no DNS server.
type Options struct {
	// Resolver is the address of the DNS server, such as "127.0.0.1:0"; empty for none.
	Resolver string
	// EnforceSecurityGroups drops connections that the security groups of load balancers or targets do not allow.
	EnforceSecurityGroups bool
	// PropagationDelay is the delay until nodes of load balancers apply listeners, rules, target groups and registrations
	// that the API has accepted. Deletions of load balancers and target groups, and deregistrations, take effect
	// immediately. 0 means no delay.
	PropagationDelay time.Duration
	// ReadObject reads an object of S3, which the emulator does not have. The objects are CA bundles and revocation lists of
	// trust stores. If ReadObject is nil, no client certificate is accepted in the mode "verify".
	ReadObject func(bucket, key, version string) ([]byte, error)
	// Plane has the options of the data plane. The server ignores Plane.ReportHealth. It calls Plane.LogAccess for each
	// request. It uses Plane.IsPermitted only without EnforceSecurityGroups.
	Plane dataplane.Options
	// Log receives errors of parts of the configuration that cannot be served. If it is nil, nothing is logged.
	Log *slog.Logger
}

// Server is a running data plane that follows the emulator state.
type Server struct {
	em       *emulator.Emulator
	store    *store.Store
	opt      Options
	plane    *dataplane.Plane
	dns      *resolver.Server
	keyPairs *keyPairCache
	// propagation is used only by the goroutine that applies the state.
	propagation propagation
	log         *slog.Logger
	requests    accessLog

	cancel          context.CancelFunc
	done            chan struct{}
	closeOnce       sync.Once
	lastLoggedError string // "" if the last configuration had no errors
}

// Start serves the emulator's load balancers until ctx ends or Close is called. From then on, real health checks determine
// the health of targets. When Start returns, the current state is served. Errors of parts of the state are logged. Start
// returns an error only if the resolver cannot listen on its address.
func Start(ctx context.Context, em *emulator.Emulator, opt Options) (*Server, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Server{em: em, store: em.Store(), opt: opt, keyPairs: newKeyPairCache(), log: opt.Log, cancel: cancel, done: make(chan struct{})}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	plane := opt.Plane
	plane.ReportHealth = s.recordHealth
	plane.LogAccess = s.recordAccess
	if opt.EnforceSecurityGroups {
		plane.IsPermitted = s.isPermitted
	}
	s.propagation.delay = opt.PropagationDelay
	s.plane = dataplane.New(plane)
	if opt.Resolver != "" {
		dns, err := resolver.Start(opt.Resolver, s.plane.Resolve)
		if err != nil {
			cancel()
			s.plane.Close()
			return nil, fmt.Errorf("start resolver: %w", err)
		}
		s.dns = dns
	}
	s.store.Lock()
	s.store.Config.Health = store.HealthReported
	s.store.Unlock()
	s.registerAdmin()
	gen := s.store.Generation()
	next := s.apply()
	go s.run(ctx, gen, next)
	return s, nil
}

// Resolver returns the address of the DNS server, or the zero AddrPort if there is none.
func (s *Server) Resolver() netip.AddrPort {
	if s.dns == nil {
		return netip.AddrPort{}
	}
	return s.dns.Addr()
}

// Endpoints lists the listeners of load balancers on each node, with their local addresses.
func (s *Server) Endpoints() []dataplane.Endpoint { return s.plane.Endpoints() }

// AcceleratorSockets lists the sockets of accelerators, with their local addresses.
func (s *Server) AcceleratorSockets() []dataplane.AcceleratorSocket {
	return s.plane.AcceleratorSockets()
}

// Lookup returns the addresses of a DNS name of a load balancer or an accelerator. It returns false for any other name.
func (s *Server) Lookup(name string) ([]netip.Addr, bool) { return s.plane.Resolve(name) }

// Close stops serving and waits until all listeners are closed. It may be called more than once.
func (s *Server) Close() {
	s.closeOnce.Do(func() {
		s.cancel()
		<-s.done
		if s.dns != nil {
			s.dns.Close()
		}
		s.plane.Close()
	})
}

// run applies the emulator state after each change, and at the times at which the state changes without a call.
func (s *Server) run(ctx context.Context, gen uint64, next time.Duration) {
	defer close(s.done)
	for {
		var err error
		if gen, err = s.waitForChange(ctx, gen, next); err != nil {
			return
		}
		next = s.apply()
	}
}

// waitForChange returns after a change of the emulator state. If next is not 0, it also returns after the duration next. It
// returns an error when ctx has ended.
func (s *Server) waitForChange(ctx context.Context, gen uint64, next time.Duration) (uint64, error) {
	until, cancel := context.WithCancel(ctx)
	defer cancel()
	if next > 0 {
		stop := s.store.Clock.AfterFunc(next, cancel)
		defer stop()
	}
	now, err := s.store.Wait(until, gen)
	if err != nil && ctx.Err() == nil {
		return gen, nil // next has passed
	}
	return now, err
}

// apply applies the current state to the data plane. It returns the duration after which it must be called again even if no
// call changes the state, or 0 if that is not necessary.
func (s *Server) apply() time.Duration {
	b := s.buildConfig()
	if len(b.certificatesWithoutKey) > 0 {
		createKeys(s.store, b.certificatesWithoutKey)
		b = s.buildConfig()
	}
	config, wait := s.propagation.apply(b)
	if wait > 0 && (b.nextBuild == 0 || wait < b.nextBuild) {
		b.nextBuild = wait
	}
	err := errors.Join(append(b.errs, s.plane.Apply(config))...)
	text := ""
	if err != nil {
		text = err.Error()
		if b.nextBuild == 0 || b.nextBuild > retryAfter {
			b.nextBuild = retryAfter
		}
	}
	if text != s.lastLoggedError && text != "" {
		s.log.Warn("parts of the configuration cannot be served", "error", text)
	}
	s.lastLoggedError = text
	return b.nextBuild
}

// recordHealth stores the result of a health check of the data plane in the emulator state.
func (s *Server) recordHealth(r dataplane.HealthResult) {
	if strings.Contains(r.TargetGroup, "/endpoint-group/") {
		health := gatypes.HealthStateUnhealthy
		if r.State == dataplane.StateHealthy {
			health = gatypes.HealthStateHealthy
		}
		s.store.ReportEndpointHealth(store.EndpointHealthReport{EndpointGroup: r.TargetGroup, Endpoint: r.ID, Health: health})
		return
	}
	state := elbtypes.TargetHealthStateEnumUnhealthy
	if r.State == dataplane.StateHealthy {
		state = elbtypes.TargetHealthStateEnumHealthy
	}
	s.store.ReportHealth(store.HealthReport{
		TargetGroup: r.TargetGroup, Target: r.ID, Port: int32(r.Port), Epoch: r.Epoch,
		Verdict: store.TargetHealthResult{State: state, Reason: elbtypes.TargetHealthReasonEnum(r.Reason), Description: r.Description},
	})
}
