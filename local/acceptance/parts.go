package acceptance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// part is a test of a run. Each part creates the objects that it needs, so that it can run alone and repeatedly.
type part struct {
	name, description string
	loadBalancers     int // number of load balancers that the part creates
	run               func(t *partRun, ctx context.Context) error
}

var parts = []part{
	{"ingress", "an Ingress: an ALB answers by pods, and by a fixed response", 1, (*partRun).testIngress},
	{"service", "a Service: an NLB with nodes as targets", 1, (*partRun).testService},
	{"gateway", "a Gateway with an HTTPRoute: an ALB answers by pods, and redirects", 1, (*partRun).testGateway},
	{"tls-secret", "an Ingress with a TLS Secret: imported into ACM, renewed under traffic", 1, (*partRun).testTLSSecret},
	{"drift", "a listener rule is deleted by hand and restored; up to 15 minutes", 0, (*partRun).testDrift},
	{"replacement", "the scheme of the Ingress changes under traffic: a new ALB is created, then the old one is deleted", 1, (*partRun).testReplacement},
	{"take-over", "a controller without stored state finds all resources and changes nothing", 0, (*partRun).testTakeOver},
}

// PartNames returns the names of the parts in their order.
func PartNames() []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.name)
	}
	return out
}

func partsByName(names []string) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !slices.Contains(names, p.name) })
}

// runParts runs the parts that have no result yet. After a part has failed, the other parts still run. After an error
// the run can be continued.
func (r *run) runParts(ctx context.Context) error {
	for _, p := range partsByName(r.Parts) {
		if r.state.Results[p.name] != nil {
			r.printf("%s: has a result already", p.name)
			continue
		}
		r.proxy.setPart(p.name)
		r.printf("%s: %s", p.name, p.description)
		began := time.Now()
		res, err := r.runPart(ctx, p)
		if unreachable := r.proxy.checkReachable(); unreachable != nil || ctx.Err() != nil || errors.Is(err, errUnreachable) {
			return cmp.Or(unreachable, err, ctx.Err())
		}
		res.Duration = time.Since(began).Round(time.Second)
		if err != nil {
			res.Error = err.Error()
			r.printf("  FAILED after %s: %v", res.Duration, err)
		} else {
			r.printf("  passed in %s", res.Duration)
		}
		r.state.Results[p.name] = res
		if err := r.saveState(); err != nil {
			return err
		}
		if err := r.ensureController(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxTries is the maximum number of attempts at a part that fails while AWS is unreachable.
const maxTries = 3

// runPart runs a part. If it fails while AWS is unreachable, it waits for AWS and repeats the part.
func (r *run) runPart(ctx context.Context, p part) (*result, error) {
	for n := 1; ; n++ {
		t := &partRun{run: r, result: &result{}}
		err := p.run(t, ctx)
		if err == nil || !r.proxy.isFailing() || n == maxTries {
			return t.result, err
		}
		r.printf("  paused until AWS answers: %v", err)
		// The calls of the controller show when AWS answers again.
		if err := r.awaitSuccess(ctx, "AWS answers", func(context.Context) error {
			if r.proxy.isFailing() {
				return errUnreachable
			}
			return nil
		}); err != nil {
			return t.result, err
		}
	}
}

// partRun is one attempt at a part.
type partRun struct {
	*run
	result *result
}

// addObservation adds an observation to the result and prints it.
func (r *partRun) addObservation(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.result.Notes = append(r.result.Notes, text)
	r.printf("  %s", text)
}

// ensureController starts the controller unless it runs.
func (r *run) ensureController(ctx context.Context) error {
	if r.controller.isAlive() {
		return nil
	}
	return r.startController(ctx)
}
