package main_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestASecondClusterUsesTheAWS follows the line that up prints for a second cluster: commands in the environment of each
// cluster find the region of that cluster.
func TestASecondClusterUsesTheAWS(t *testing.T) {
	if worldtest.Foreign() {
		t.Skip("the commands are those of Fulcrum")
	}
	fulcrum := "--controller=" + worldtest.Controller(t)
	first := up(t, fulcrum)
	line := regexp.MustCompile(`(?m)^another cluster of this AWS: \S+ up (.*)$`).FindStringSubmatch(first.String())
	if line == nil {
		t.Fatal("up prints no line for another cluster")
	}
	second := upIn(t, first.base, append(strings.Fields(line[1]), fulcrum)...)
	for r, want := range map[*running]string{first: "us-west-2", second: "eu-west-1"} {
		out, err := r.shell(worldtest.Controller(t) + " doctor -A").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("doctor in the cluster of %s: %v\n%s", want, err, out)
		}
	}
	for _, refused := range []struct{ args, want string }{
		{"--beside 15", "no world 15 runs"},
		{strings.Replace(line[1], "--cluster-name green", "", 1), `has the name "local" too`},
		{strings.Replace(line[1], "eu-west-1", "cn-north-1", 1), "in another partition"},
		{line[1] + " --without-aws", "set one of them"},
	} {
		args := append([]string{"up", "--controller=none", "--base=" + first.base}, strings.Fields(refused.args)...)
		out, err := exec.CommandContext(t.Context(), worldtest.Binary(t), args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), refused.want) {
			t.Errorf("up %s: %v\n%s\nwant an error with %q", refused.args, err, out, refused.want)
		}
	}
}
