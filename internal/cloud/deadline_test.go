package cloud_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestEveryAttemptHasADeadline checks that an attempt that hangs is cancelled after 30 seconds, in whichever phase it hangs.
// The call, including its retries, is cancelled after one minute.
func TestEveryAttemptHasADeadline(t *testing.T) {
	const elbService = "Elastic Load Balancing v2"
	overPipes := func(r *harness, serve http.Handler, dial func(context.Context) error) {
		r.cfg.HTTP = r.newPipeClient(serve, dial)
		r.cfg.Endpoints = map[string]string{elbService: "http://aws.test"}
	}
	at := func(context.Context) error { return nil }
	cases := map[string]func(*harness){
		"in the connection": func(r *harness) {
			overPipes(r, r.em.Handler(), func(ctx context.Context) error { return sleepOrDone(ctx, time.Hour) })
		},
		"before the answer": func(r *harness) {
			r.em.Faults().Add(fault.Rule{Action: fault.Action{Hang: true}})
		},
		"in the middle of the answer": func(r *harness) {
			overPipes(r, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				time.Sleep(time.Millisecond) // until the client has seen the end of its request body
				_, _ = w.Write([]byte("<DescribeLoadBalancersResponse>"))
				w.(http.Flusher).Flush()
				<-req.Context().Done()
			}), at)
		},
		"in the search for credentials": func(r *harness) {
			r.cfg.Credentials = hangingCredentials{}
		},
	}
	for name, edit := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts []time.Duration
				r := newHarnessOn(t, nil, func(c *cloud.Config) {
					c.MaxAttempts = 10
					c.CallRecorder = &callRecorder{afterAttempt: func(c cloud.Call) { attempts = append(attempts, c.Duration) }}
				})
				edit(r)
				r.restart()
				start := time.Now()
				_, err := r.cloud.Observe(r.ctx, webStack, nil)
				if took := time.Since(start); err == nil || took != time.Minute {
					t.Errorf("want an error after a minute, got %v after %v", err, took)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error looks as if the caller gave up: %v", err)
				}
				if len(attempts) == 0 || attempts[0] != 30*time.Second {
					t.Errorf("want the first attempt to end after 30 s, got %v", attempts)
				}
			})
		})
	}
}

// hangingCredentials is a credentials provider that never returns credentials.
type hangingCredentials struct{}

func (hangingCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	<-ctx.Done()
	return aws.Credentials{}, ctx.Err()
}

// TestCreatedLoadBalancerIsFoundAfterTimeout checks that the controller creates no second load balancer if
// CreateLoadBalancer takes effect but is not answered. The next run finds the load balancer.
func TestCreatedLoadBalancerIsFoundAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHarnessOn(t, nil, func(c *cloud.Config) { c.MaxAttempts = 10 })
		r.em.Faults().Add(fault.Rule{Operation: "CreateLoadBalancer", Count: 1, Action: fault.Action{Hang: true, Lose: true}})
		if err := r.converge(desiredStack(webStack)); err != nil {
			t.Fatal(err)
		}
		r.checkCounts(1, 2)
	})
}

// TestASharedReadEndsAtItsDeadline checks that runs that wait for the same read continue when the read ends, at the latest
// at its deadline. A run whose context ends earlier stops waiting.
func TestASharedReadEndsAtItsDeadline(t *testing.T) {
	cases := map[string]struct {
		count int // number of attempts that hang; 0 for all
		want  time.Duration
		fails bool
	}{
		"one attempt hangs": {1, 30 * time.Second, false},
		"all attempts hang": {0, time.Minute, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newHarnessOn(t, nil, func(c *cloud.Config) { c.MaxAttempts, c.MaxBackoff = 10, time.Nanosecond })
				r.em.Faults().Add(fault.Rule{Operation: "DescribeLoadBalancers", Count: c.count, Action: fault.Action{Hang: true}})
				start := time.Now()
				var wg sync.WaitGroup
				for n := range 5 {
					id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: fmt.Sprint(n)}
					wg.Go(func() {
						_, err := r.cloud.Observe(r.ctx, id, nil)
						if took := time.Since(start).Truncate(time.Millisecond); (err != nil) != c.fails || took != c.want {
							t.Errorf("want %v and failure %v, got %v after %v", c.want, c.fails, err, took)
						}
					})
				}
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(r.ctx, 5*time.Second)
					defer cancel()
					time.Sleep(time.Second) // until another run has started the read
					if _, err := r.cloud.Observe(ctx, webStack, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
						t.Errorf("a run that waits for a read of another run did not end at its own deadline: %v after %v", err, time.Since(start))
					}
				})
				wg.Wait()
			})
		})
	}
}

// TestARequestForCredentialsHasADeadline checks that a request for credentials that hangs is cancelled. The SDK makes one
// such request for all waiting calls, so without a deadline no call would succeed any more.
func TestARequestForCredentialsHasADeadline(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("e30."+base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"controller"}`))+".e30"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/controller")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CA_BUNDLE", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	synctest.Test(t, func(t *testing.T) {
		r := newHarnessOn(t, nil, func(c *cloud.Config) { c.MaxAttempts = 2; c.Credentials = nil })
		r.em.Faults().Add(fault.Rule{Service: "sts", Count: 2, Action: fault.Action{Hang: true}})
		start := time.Now()
		for time.Since(start) < 5*time.Minute {
			if _, err := r.cloud.Observe(r.ctx, webStack, nil); err == nil {
				break
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(start); took > 3*time.Minute {
			t.Errorf("no credentials for %v after two requests that hang", took)
		}
	})
}

// TestReadOfManyBatchesSucceedsOnceAWSAnswers checks that a read that needs many calls fails if one of them misses its
// deadline, and that the next read succeeds.
func TestReadOfManyBatchesSucceedsOnceAWSAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHarnessOn(t, nil)
		want := desiredStack(webStack, withListeners(41))
		if err := r.converge(want); err != nil {
			t.Fatal(err)
		}
		r.restart()
		r.em.Calls().Reset()
		r.em.Faults().Add(fault.Rule{Operation: "DescribeTags", Skip: 1, Count: 1, Action: fault.Action{Hang: true}})
		for n, faults := range []int{1, 0} {
			have := must(r.cloud.Observe(r.ctx, webStack, want.Questions()))(t)
			if len(have.Facts.Faults) != faults {
				t.Errorf("reading %d: want %d faults, got %v", n, faults, have.Facts.Faults)
			}
			time.Sleep(30 * time.Second)
		}
		if n := r.em.Calls().Count("DescribeTags"); n < 5 {
			t.Errorf("tags are read with %d calls, want at least 5", n)
		}
	})
}
