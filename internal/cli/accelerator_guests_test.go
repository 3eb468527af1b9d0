package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestCommandsShowSharedAccelerators compares the output of commands about an accelerator that two clusters share with
// golden files. Each line of commands.txt has a cluster ("owner" or "guest") and a command. The commands must not change
// AWS.
func TestCommandsShowSharedAccelerators(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/shared_accelerators/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		objects, vpcs := map[string]string{}, map[string]string{}
		w := runScenarioWith(t, harness.Options{Accelerators: true}, func(t *testing.T, owner *harness.Harness) {
			guest := harness.New(t, harness.Options{Accelerators: true, SharesAWSWith: owner, Drift: true})
			settle := func() {
				for range 20 {
					owner.Settle(30 * time.Second)
					guest.Settle(30 * time.Second)
					time.Sleep(30 * time.Second) // virtual time
				}
			}
			owner.Apply(c.Text("cluster.yaml"), c.Text("owner.yaml"))
			guest.Apply(c.Text("cluster.yaml"))
			settle()
			shared := strings.NewReplacer("SHARED", onlyAccelerator(owner.Emulator).ARN)
			guest.Apply(shared.Replace(c.Text("guest.yaml")))
			settle()
			if edit := c.Text("guest-edit.yaml"); edit != "" {
				guest.Apply(shared.Replace(edit))
			}
			objects["guest"], vpcs["guest"] = objectsText(t, guest.Store), guest.Seeded.VPC
		})
		objects["owner"], vpcs["owner"] = w.objects, w.vpc
		endpoints := emulatorFlags(t, w.em, w.vpc)[3:]
		regions := map[string]string{"owner": harness.Region, "guest": harness.SecondRegion}
		name := acceleratorAddressReplacer(w)
		var out []goldentest.File
		for i, line := range strings.Split(strings.TrimSpace(c.Text("commands.txt")), "\n") {
			in, command, _ := strings.Cut(line, ": ")
			file := filepath.Join(writeTempFiles(t, map[string]string{"objects.yaml": objects[in]}), "objects.yaml")
			args := append(strings.Fields(name.Replace(command)), endpoints...)
			args = append(args, "-f", file, acceleratorGate, "--cluster-name="+harness.ClusterName, "--aws-region="+regions[in], "--aws-vpc-id="+vpcs[in])
			code, stdout, stderr := run(t, args...)
			if stderr != "" {
				t.Fatalf("%s: %s", line, stderr)
			}
			if strings.HasPrefix(command, "get") {
				stdout = ageColumn.ReplaceAllString(stdout, "")
			}
			out = append(out, goldentest.File{Name: fmt.Sprintf("%d.txt", i+1), Text: fmt.Sprintf("$ fulcrum %s   (in the cluster of the %s)\n%sexit code %d\n", command, in, stdout, code)})
		}
		if n := w.em.Calls().CountMutating(); n > 0 {
			t.Errorf("%d calls that change something", n)
		}
		return out
	})
}
