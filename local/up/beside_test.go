package up_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// checkClustersUseTheirRegions checks that `fulcrum doctor`, in the environment that up prints for each cluster, uses
// the region of that cluster.
func checkClustersUseTheirRegions(t *testing.T, first, second *upProcess, fulcrum string) {
	t.Helper()
	for r, want := range map[*upProcess]string{first: "us-west-2", second: "eu-west-1"} {
		out, err := r.shellCommand(fulcrum + " doctor -A").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("doctor in the cluster of %s: %v\n%s", want, err, out)
		}
	}
}

// checkWrongArgumentsAreRejected checks that `fulcrum-local up` rejects wrong variants of line, which has the arguments
// for a second cluster that first has printed.
func checkWrongArgumentsAreRejected(t *testing.T, first *upProcess, line string) {
	t.Helper()
	for _, refused := range []struct{ args, want string }{
		{"--beside 15", "no world 15 runs"},
		{strings.Replace(line, "--cluster-name green", "", 1), `also has the name "local"`},
		{strings.Replace(line, "eu-west-1", "cn-north-1", 1), "in another partition"},
		{line + " --without-aws", "set one of them"},
	} {
		args := append([]string{"up", "--controller=none", "--base=" + first.baseDir}, strings.Fields(refused.args)...)
		out, err := exec.CommandContext(t.Context(), worldtest.BinaryPath(t), args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), refused.want) {
			t.Errorf("up %s: %v\n%s\nwant an error with %q", refused.args, err, out, refused.want)
		}
	}
}
