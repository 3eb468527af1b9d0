package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// interruption is a single fault while load balancers are adopted and returned.
type interruption struct {
	kind        string
	atCall      int // number of the interrupted mutating call or write, from 1
	count       int
	hasHappened bool
}

// countCall counts a call or a write, and reports whether it is the one to interrupt.
func (i *interruption) countCall() bool {
	i.count++
	due := i.count == i.atCall
	i.hasHappened = i.hasHappened || due
	return due
}

// Kinds of interruptions.
const (
	killBefore  = "killed before a call"
	killAfter   = "killed after a call"
	loseAnswer  = "the answer to a call is lost"
	killAtWrite = "killed at a write to Kubernetes"
)

// interrupt makes the emulator interrupt the mutating call with number i.atCall. It does nothing if i is nil or interrupts a
// write to Kubernetes.
func (a *adoption) interrupt(i *interruption) {
	if i == nil || i.kind == killAtWrite {
		return
	}
	last := 0
	a.r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if c.Mutation == 0 || c.Mutation == last {
			return fault.Action{}
		}
		if last = c.Mutation; !i.countCall() {
			return fault.Action{}
		}
		switch i.kind {
		case loseAnswer:
			return fault.Action{Lose: true}
		case killBefore:
			a.r.Kill()
			return fault.Action{Reset: true}
		}
		a.r.Kill()
		return fault.Action{}
	})
}

// killAtWriteAPI kills the process at a write to Kubernetes, before the write takes effect.
type killAtWriteAPI struct {
	kube.API
	a *adoption
	i *interruption
}

func (k killAtWriteAPI) killIfDue() error {
	if k.a.wantAnswers == nil || !k.i.countCall() {
		return nil
	}
	k.a.r.Kill()
	return errors.New("the process was killed")
}

func (k killAtWriteAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if err := k.killIfDue(); err != nil {
		return err
	}
	return k.API.Patch(ctx, obj, part, kind, data)
}

func (k killAtWriteAPI) Create(ctx context.Context, obj cluster.Object) error {
	if err := k.killIfDue(); err != nil {
		return err
	}
	return k.API.Create(ctx, obj)
}

func (k killAtWriteAPI) Update(ctx context.Context, obj cluster.Object) error {
	if err := k.killIfDue(); err != nil {
		return err
	}
	return k.API.Update(ctx, obj)
}

func (k killAtWriteAPI) Delete(ctx context.Context, obj cluster.Object) error {
	if err := k.killIfDue(); err != nil {
		return err
	}
	return k.API.Delete(ctx, obj)
}

// TestAdoptionsContinueAfterInterruption interrupts adoptions at every 15th mutating call to AWS or write to Kubernetes. In
// the long form of tests it is every 7th, and with FULCRUM_ADOPTIONS=all each one. The next process must continue from the
// existing state.
func TestAdoptionsContinueAfterInterruption(t *testing.T) {
	t.Parallel()
	stride := seeds.Amount(15, 7)
	if os.Getenv("FULCRUM_ADOPTIONS") == "all" {
		stride = 1
	}
	runs := 0
	for c, name := range []string{"ingress-hosts", "ingress-group-namespaces", "ingress-ssl-redirect", "ingress-default-backend-rules"} {
		for k, what := range []string{killBefore, killAfter, loseAnswer, killAtWrite} {
			for at := 1 + (c+2*k)%stride; ; at += stride {
				i := &interruption{kind: what, atCall: at}
				t.Run(fmt.Sprintf("%s/%s/%d", name, what, at), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { checkAdoption(t, applyCaseFunc(t, name), i) })
				})
				if !i.hasHappened || t.Failed() {
					break
				}
				runs++
			}
		}
	}
	if runs < 30 && !t.Failed() {
		t.Errorf("%d interruptions", runs)
	}
	t.Logf("%d interruptions", runs)
}
