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

// retryAfter is the delay before the next attempt to serve a configuration after errors, such as a port in use.
const retryAfter = time.Second

// Options configure a server. The zero value is valid: listeners on loopback addresses, and no resolver.
type Options struct {
	// Resolver is the address of the DNS server, such as "127.0.0.1:0"; empty for none.
	Resolver string
	// EnforceSecurityGroups drops connections that the security groups of
	// load balancers and targets do not allow.
	EnforceSecurityGroups bool
	// PropagationDelay is the delay until nodes of load balancers apply listeners, rules, target groups and registrations
	// that the API has accepted. Deletions of load balancers and target groups, and deregistrations, take effect
	// immediately. 0 means no delay.
	PropagationDelay time.Duration
	// ReadObject reads objects of S3, which the emulator does not have: bundles
	// and revocation lists of trust stores. Without it, no client certificate
	// is accepted in mode verify.
	ReadObject func(bucket, key, version string) ([]byte, error)
	// Plane contains the options of the data plane. The server sets ReportHealth. It calls LogAccess for each request after
	// it has logged the request, and IsPermitted only without EnforceSecurityGroups.
	Plane dataplane.Options
	// Log receives errors about configuration that cannot be served. Nothing is logged if it is nil.
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
	// propagation is only used by the goroutine that applies the state.
	propagation propagation
	log         *slog.Logger
	requests    accessLog

	cancel          context.CancelFunc
	done            chan struct{}
	closeOnce       sync.Once
	lastLoggedError string // the last error that was logged
}

// Start serves the emulator's load balancers until ctx ends or Close is called. Meanwhile the health of targets
// comes from real health checks. When it returns, the current state is served; errors of parts of the state are
// logged. It returns an error if the address of the resolver cannot be used.
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

// Resolver returns the address of the DNS server; invalid if there is none.
func (s *Server) Resolver() netip.AddrPort {
	if s.dns == nil {
		return netip.AddrPort{}
	}
	return s.dns.Addr()
}

// Endpoints lists the local addresses of listeners.
func (s *Server) Endpoints() []dataplane.Endpoint { return s.plane.Endpoints() }

// AcceleratorSockets lists the open sockets of accelerators with their local addresses.
func (s *Server) AcceleratorSockets() []dataplane.AcceleratorSocket {
	return s.plane.AcceleratorSockets()
}

// Lookup returns the addresses of a load balancer's or an accelerator's DNS name, and false for an unknown name.
func (s *Server) Lookup(name string) ([]netip.Addr, bool) { return s.plane.Resolve(name) }

// Close stops serving and waits until all listeners are closed. It may be
// called more than once.
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

// run applies the state after each change, and at the times when it changes without a call.
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

// waitForChange returns after a change of the emulator state, or after the duration next if next is not 0. It returns an
// error when ctx has ended.
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

// apply applies the current state to the data plane. It returns the duration after which the caller must call it
// again even without a change, 0 for never.
func (s *Server) apply() time.Duration {
	b := s.buildConfig()
	if len(b.certificatesWithoutKey) > 0 {
		s.keyPairs.createKeys(s.store, b.certificatesWithoutKey)
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

// recordHealth writes a health result of the data plane into the emulator state.
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
