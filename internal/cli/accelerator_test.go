package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// ageColumn matches the last word of each line in the output of get, which is the age.
var ageColumn = regexp.MustCompile(`(?m) +\S+$`)

// TestCommandsShowAccelerators compares the output of commands about accelerators with golden files. The controller creates
// the accelerator; then the objects are edited (edit.yaml) or deleted (delete.txt). Each line of commands.txt is a command.
func TestCommandsShowAccelerators(t *testing.T) {
	goldentest.Run(t, testdata, "testdata/accelerators/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		w := runScenarioWith(t, harness.Options{Accelerators: true}, func(t *testing.T, r *harness.Harness) {
			r.Apply(c.Text("cluster.yaml"))
			if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
				t.Fatal(failed)
			}
			time.Sleep(10 * time.Minute) // virtual time
			if edit := c.Text("edit.yaml"); edit != "" {
				r.Apply(edit)
			}
			if c.Text("delete.txt") != "" {
				if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindGlobalAccelerator, Namespace: "shop", Name: "edge"}); err != nil {
					t.Fatal(err)
				}
			}
		})
		file := filepath.Join(writeTempFiles(t, map[string]string{"objects.yaml": w.objects}), "objects.yaml")
		flags := append(emulatorFlags(t, w.em, w.vpc), "-f", file, acceleratorGate)
		var out []goldentest.File
		name := acceleratorAddressReplacer(w)
		for i, line := range strings.Split(strings.TrimSpace(c.Text("commands.txt")), "\n") {
			code, stdout, stderr := run(t, append(strings.Fields(name.Replace(line)), flags...)...)
			if stderr != "" {
				t.Fatalf("%s: %s", line, stderr)
			}
			if strings.HasPrefix(line, "get") {
				stdout = ageColumn.ReplaceAllString(stdout, "")
			}
			out = append(out, goldentest.File{Name: fmt.Sprintf("%d.txt", i+1), Text: fmt.Sprintf("$ fulcrum %s\n%sexit code %d\n", line, stdout, code)})
		}
		if n := w.em.Calls().CountMutating(); n > 0 {
			t.Errorf("%d calls that change something", n)
		}
		return out
	})
}

// acceleratorAddressReplacer replaces DNSNAME and ADDRESS by the DNS name and the first IPv4 address of the only
// accelerator. It replaces nothing if there is no accelerator.
func acceleratorAddressReplacer(w clusterState) *strings.Replacer {
	if a := onlyAccelerator(w.em); a != nil {
		return strings.NewReplacer("DNSNAME", a.DNSName, "ADDRESS", a.IPv4[0].String())
	}
	return strings.NewReplacer()
}

// onlyAccelerator returns the only accelerator in the emulator, or nil if there is none.
func onlyAccelerator(em *emulator.Emulator) *store.Accelerator {
	s := em.Store()
	s.Lock()
	defer s.Unlock()
	for _, a := range s.AcceleratorState(harness.Account).Accelerators {
		return a
	}
	return nil
}

// TestOrphansListsAccelerators checks that the command orphans lists an accelerator whose object does not exist.
func TestOrphansListsAccelerators(t *testing.T) {
	w := runScenarioWith(t, harness.Options{Accelerators: true}, func(t *testing.T, r *harness.Harness) {
		r.Apply(edgeYAML)
		r.Settle(30 * time.Minute)
	})
	_, config := serveCluster(t, classYAML)
	code, out, stderr := runWithInput(t, "", map[string]string{"KUBECONFIG": config}, append([]string{"orphans", acceleratorGate}, emulatorFlags(t, w.em, w.vpc)...)...)
	if code != 0 || !strings.Contains(out, "GlobalAccelerator shop/edge\n  arn:aws:globalaccelerator::"+harness.Account+":accelerator/") {
		t.Errorf("exit %d: %s%s", code, stderr, out)
	}
}

const edgeYAML = `apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata: {name: edge, namespace: shop, uid: shop-edge}
spec: {listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}]}]}
`

// TestCommandsReportDisabledAccelerators checks that tree, get and explain print that they show no accelerators because the
// feature gate is off. It checks this for objects in files and in a cluster.
func TestCommandsReportDisabledAccelerators(t *testing.T) {
	_, flags := startEmulator(t)
	const why = "feature gate GlobalAcceleratorController is off, so GlobalAccelerators are ignored; set --feature-gates=GlobalAcceleratorController=true on the controller"
	for _, command := range []string{"tree", "get", "explain"} {
		code, out, stderr := runWithInput(t, edgeYAML, nil, append([]string{command, "globalaccelerator/edge", "-n=shop", "-f=-"}, flags...)...)
		if code != 0 || !strings.Contains(out, why) {
			t.Errorf("%s of a file: exit %d: %s%s", command, code, stderr, out)
		}
		_, config := serveCluster(t, classYAML)
		code, out, stderr = runWithInput(t, "", map[string]string{"KUBECONFIG": config}, append([]string{command, "globalaccelerator/edge", "-n=shop"}, flags...)...)
		if code != 1 || !strings.Contains(stderr, why) {
			t.Errorf("%s of a cluster: exit %d: %s%s", command, code, stderr, out)
		}
	}
}

// TestAcceleratorsAreRecorded checks that tree, explain and get show an accelerator from a recording that tree made. They do
// not need AWS then.
func TestAcceleratorsAreRecorded(t *testing.T) {
	w := runScenarioWith(t, harness.Options{Accelerators: true}, func(t *testing.T, r *harness.Harness) {
		r.Apply(classYAML, strings.Replace(serviceYAML, "ports: [{port: 80}]", "ports: [{port: 80, nodePort: 30080}]", 1), ingressYAML, strings.Replace(edgeYAML, "toPort: 80}]}", "toPort: 80}], endpointGroups: [{endpoints: [{type: Ingress, name: web}]}]}", 1))
		r.Settle(30 * time.Minute)
	})
	dir := writeTempFiles(t, map[string]string{"objects.yaml": w.objects})
	objects, rec := filepath.Join(dir, "objects.yaml"), filepath.Join(dir, "aws.json")
	args := []string{"globalaccelerator/edge", "-n=shop", "-f=" + objects, acceleratorGate, "--cluster-name=" + harness.ClusterName}
	if code, out, stderr := run(t, append(append([]string{"tree", "--record", rec}, args...), emulatorFlags(t, w.em, w.vpc)...)...); code != 0 || !strings.Contains(out, "listener TCP:80") {
		t.Fatalf("exit %d: %s%s", code, stderr, out)
	}
	for command, want := range map[string]string{"tree": "endpoint of Ingress shop/web, weight 128", "explain": "similarity 150", "get": "DEPLOYED"} {
		if code, out, stderr := run(t, append([]string{command, "--observed", rec}, args...)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d: %s%s", command, code, stderr, out)
		}
	}
}
