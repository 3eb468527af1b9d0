package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fulcrum-lb/fulcrum/local/secondregion"
)

// TestAcceleratorScripts runs testdata/accelerators/*.txtar. They take minutes, because an accelerator can be deleted only a
// minute after it is disabled. So they are in the first file of the package: its tests start first.
func TestAcceleratorScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, filepath.Join("testdata", "accelerators"))
}

// cmdElsewhere implements the script command "elsewhere REGION APP". It creates a load balancer in another region, with
// an echo server as its target that responds like a pod of the app, and sets the variable ELSEWHERE to the ARN of the
// load balancer.
func cmdElsewhere(ts *testscript.TestScript, neg bool, args []string) {
	checkArgumentCount(ts, args, 2, "elsewhere REGION APP")
	s := scriptClusterOf(ts)
	r, err := secondregion.Start(s.ctx, s.World, args[0], args[1])
	checkOutcome(ts, neg, err)
	ts.Setenv("ELSEWHERE", r.ARN)
	ts.Defer(func() {
		if err := r.Close(context.WithoutCancel(s.ctx)); err != nil {
			ts.Logf("end region %s: %v", args[0], err)
		}
	})
}

// checkAcceleratorState returns a check that compares the state of a GlobalAccelerator in AWS with patterns. Each line
// of the state must match a different pattern. ref is the NAMESPACE/NAME of the GlobalAccelerator.
func (s *scriptCluster) checkAcceleratorState(ts *testscript.TestScript, ref string, patterns []string) func(context.Context) error {
	namespace, name := splitReference(ts, ref)
	var all []*regexp.Regexp
	for _, p := range patterns {
		re, err := regexp.Compile("^" + p + "$")
		ts.Check(err)
		all = append(all, re)
	}
	return func(ctx context.Context) error {
		lines, err := s.AcceleratorState(ctx, namespace, name)
		if err != nil {
			return err
		}
		rest := slices.Clone(lines)
		for _, re := range all {
			i := slices.IndexFunc(rest, re.MatchString)
			if i < 0 {
				return fmt.Errorf("no line matches %q:\n%s", re, strings.Join(lines, "\n"))
			}
			rest = slices.Delete(rest, i, i+1)
		}
		if len(rest) > 0 {
			return fmt.Errorf("these lines are left over:\n%s", strings.Join(rest, "\n"))
		}
		return nil
	}
}
