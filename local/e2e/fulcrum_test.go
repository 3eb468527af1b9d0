package e2e

import (
	"os"
	"os/exec"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdFulcrum runs the controller program with args as a command, such as "fulcrum plan", in the directory of the script. The
// command has the permissions of an administrator.
func cmdFulcrum(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptClusterOf(ts)
	cmd := exec.CommandContext(s.ctx, s.controller, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), ts.Stdout(), ts.Stderr()
	cmd.Env = slices.Concat(os.Environ(), s.World.Environment())
	checkOutcome(ts, neg, cmd.Run())
}
