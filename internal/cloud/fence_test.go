package cloud_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// lease is an engine.Fence. It admits writes until the test calls setLost.
type lease struct{ lost atomic.Bool }

// CheckFence implements engine.Fence.
func (l *lease) CheckFence() error {
	if l.lost.Load() {
		return errors.New("the lease is not held by this process")
	}
	return nil
}

func (l *lease) setLost() { l.lost.Store(true) }

// createLoadBalancer applies a step that consists of one CreateLoadBalancer call.
func (r *harness) createLoadBalancer(name string) error {
	a := plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}
	var subnets []model.SubnetMapping
	for _, id := range r.publicSubnets {
		subnets = append(subnets, model.SubnetMapping{Subnet: id})
	}
	_, err := r.cloud.Apply(r.ctx, webStack, plan.Step{ID: "create", Address: a, Verb: plan.Create, Do: plan.CreateLoadBalancer{
		Name: name, Scheme: model.InternetFacing, AddressType: model.IPv4, Subnets: subnets,
		SecurityGroups: []plan.SecurityGroupRef{{ID: r.nodeSecurityGroup}}, Tags: naming.ResourceTags(cluster, webStack, model.LoadBalancerID, nil),
	}}, plan.KnownIDs{})
	return err
}

// countAttempts returns how many attempts of an operation reached AWS.
func (r *harness) countAttempts(operation string) (n int) {
	for _, e := range r.em.Calls().Entries() {
		if e.Operation == operation {
			n++
		}
	}
	return n
}

// newPipeClient starts an HTTP server that is connected by pipes, and returns a client for it. dial is called before each
// connection is opened. The emulator waits a millisecond before it answers, so that the client has seen the end of its
// request body.
func (r *harness) newPipeClient(serve http.Handler, dial func(context.Context) error) *http.Client {
	r.em.Faults().Add(fault.Rule{Action: fault.Action{Latency: time.Millisecond}})
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: serve}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := dial(ctx); err != nil {
			return nil, err
		}
		client, server := net.Pipe()
		select {
		case l.conns <- server:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	r.t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
		time.Sleep(time.Second) // virtual time: after an interrupted request the server waits for half a second
	})
	return &http.Client{Transport: transport}
}

// pipeListener is a net.Listener that accepts the connections that are sent on its channel.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// sleepOrDone sleeps for d. It returns the error of ctx if ctx ends earlier.
func sleepOrDone(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slowCredentials is a credentials provider that needs two seconds to return credentials.
type slowCredentials struct{ aws.CredentialsProvider }

func (s slowCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if err := sleepOrDone(ctx, 2*time.Second); err != nil {
		return aws.Credentials{}, err
	}
	return s.CredentialsProvider.Retrieve(ctx)
}

// TestNoAttemptIsSentAfterTheLeaseIsLost checks that a call that began while the lease was held is neither sent nor retried
// after the lease is lost. It covers everything that can delay an attempt.
func TestNoAttemptIsSentAfterTheLeaseIsLost(t *testing.T) {
	const operation = "CreateLoadBalancer"
	const elbService = "Elastic Load Balancing v2"
	cases := map[string]struct {
		edit func(*harness, *lease)
		want int // attempts that reach AWS
	}{
		"before the call": {func(_ *harness, l *lease) { l.setLost() }, 0},
		"before a retry": {func(r *harness, l *lease) {
			r.em.Faults().Add(fault.Rule{Operation: operation, Action: fault.Action{Throttle: true, After: l.setLost}})
		}, 1},
		"while the call waits for the rate limiter": {func(r *harness, l *lease) {
			paces, err := ratelimit.ParseTokenBuckets(elbService + ":^Create=0.2:1")
			if err != nil {
				r.t.Fatal(err)
			}
			r.cfg.TokenBuckets, r.cfg.MaxWait = paces, 10*time.Second
			r.restart()
			if err := r.createLoadBalancer("first"); err != nil {
				r.t.Fatal(err)
			}
			time.AfterFunc(time.Second, l.setLost)
		}, 1},
		"while credentials are found": {func(r *harness, l *lease) {
			r.cfg.Credentials = slowCredentials{r.cfg.Credentials}
			r.restart()
			time.AfterFunc(time.Second, l.setLost)
		}, 0},
		"while the connection is opened": {func(r *harness, l *lease) {
			r.cfg.HTTP = r.newPipeClient(r.em.Handler(), func(ctx context.Context) error { return sleepOrDone(ctx, 2*time.Second) })
			r.cfg.Endpoints = map[string]string{elbService: "http://aws.test"}
			r.restart()
			time.AfterFunc(time.Second, l.setLost)
		}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lease{}
				r := newHarnessOn(t, nil, func(c *cloud.Config) { c.MaxAttempts, c.Fence = 10, l })
				c.edit(r, l)
				err := r.createLoadBalancer("web")
				if got := r.cloud.Class(err); got != failure.Fenced {
					t.Errorf("want class %v, got %v: %v", failure.Fenced, got, err)
				}
				if n := r.countAttempts(operation); n != c.want {
					t.Errorf("want %d attempts to reach AWS, got %d", c.want, n)
				}
			})
		})
	}
}

// TestCallsAreSentWhileTheLeaseIsHeld checks that a throttled mutating call is sent and retried while the lease is held.
func TestCallsAreSentWhileTheLeaseIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHarnessOn(t, nil, func(c *cloud.Config) { c.MaxAttempts, c.Fence = 10, &lease{} })
		r.cfg.HTTP = r.newPipeClient(r.em.Handler(), func(context.Context) error { return nil })
		r.cfg.Endpoints = map[string]string{"Elastic Load Balancing v2": "http://aws.test"}
		r.restart()
		r.em.Faults().Add(fault.Rule{Operation: "CreateLoadBalancer", Count: 2, Action: fault.Action{Throttle: true}})
		if err := r.createLoadBalancer("web"); err != nil {
			t.Fatal(err)
		}
		if n := r.countAttempts("CreateLoadBalancer"); n != 3 {
			t.Errorf("want 3 attempts, got %d", n)
		}
	})
}
