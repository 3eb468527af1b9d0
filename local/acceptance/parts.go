package acceptance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// part is one thing that a run tries. Each makes what it needs, so that it can be run alone and again.
type part struct {
	name, about string
	balancers   int // that it makes beside those of the parts before it
	run         func(t *trial, ctx context.Context) error
}

var parts = []part{
	{"ingress", "an Ingress: an ALB answers by pods, and by a fixed response", 1, (*trial).ingress},
	{"service", "a Service: an NLB with nodes as targets", 1, (*trial).service},
	{"gateway", "a Gateway with an HTTPRoute: an ALB answers by pods, and redirects", 1, (*trial).gateway},
	{"tls-secret", "an Ingress with a TLS Secret: imported into ACM, renewed under traffic", 1, (*trial).tlsSecret},
	{"drift", "a listener rule is deleted by hand and restored; up to 15 minutes", 0, (*trial).drift},
	{"replacement", "the scheme of the Ingress changes under traffic: a new ALB, then the old one goes", 1, (*trial).replacement},
	{"take-over", "a controller without memory finds all this and changes nothing", 0, (*trial).takeOver},
}

// Names are the parts in their order.
func Names() []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.name)
	}
	return out
}

func chosen(names []string) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !slices.Contains(names, p.name) })
}

// runParts runs those without a result. A part that fails stops no other; an error says that the run is cut off.
func (r *run) runParts(ctx context.Context) error {
	for _, p := range chosen(r.Parts) {
		if r.state.Results[p.name] != nil {
			r.say("%s: has a result already", p.name)
			continue
		}
		r.proxy.begin(p.name)
		r.say("%s: %s", p.name, p.about)
		began := time.Now()
		res, err := r.try(ctx, p)
		if cut := r.proxy.reachable(); cut != nil || ctx.Err() != nil || errors.Is(err, errCut) {
			return cmp.Or(cut, err, ctx.Err())
		}
		res.Took = time.Since(began).Round(time.Second)
		if err != nil {
			res.Error = err.Error()
			r.say("  FAILED after %s: %v", res.Took, err)
		} else {
			r.say("  passed in %s", res.Took)
		}
		r.state.Results[p.name] = res
		if err := r.save(); err != nil {
			return err
		}
		if err := r.revive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// mostTries is how often a part is run whose failure may be that of the way to AWS.
const mostTries = 3

// try runs a part, and again if it failed while AWS was out of reach and AWS has come back.
func (r *run) try(ctx context.Context, p part) (*result, error) {
	for n := 1; ; n++ {
		t := &trial{run: r, result: &result{}}
		err := p.run(t, ctx)
		if err == nil || !r.proxy.failing() || n == mostTries {
			return t.result, err
		}
		r.say("  AWS is out of reach: %v", err)
		// The controller goes on calling it.
		if err := r.until(ctx, "AWS answers", func(context.Context) error {
			if r.proxy.failing() {
				return errCut
			}
			return nil
		}); err != nil {
			return t.result, err
		}
	}
}

// trial is one attempt at a part.
type trial struct {
	*run
	result *result
}

// note adds a line about what was seen.
func (r *trial) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.result.Notes = append(r.result.Notes, text)
	r.say("  %s", text)
}

// revive starts the controller again if it has ended.
func (r *run) revive(ctx context.Context) error {
	if r.controller.alive() {
		return nil
	}
	return r.startController(ctx)
}
