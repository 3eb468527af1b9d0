package cli

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// ageText is the last word of a line of get.
var ageText = regexp.MustCompile(`(?m) +\S+$`)

// What the commands show of accelerators that the controller has made, and whose objects have changed since (edit.yaml) or are deleted (delete.txt).
// Each line of commands.txt is a command.
func TestCommandsShowAccelerators(t *testing.T) {
	goldentest.Run(t, "testdata/accelerators/*.txtar", func(t *testing.T, c goldentest.Case) []goldentest.File {
		w := livedWith(t, harness.Options{Accelerators: true}, func(t *testing.T, r *harness.Harness) {
			r.Apply(c.Text("cluster.yaml"))
			if failed := r.Settle(30 * time.Minute); len(failed) > 0 {
				t.Fatal(failed)
			}
			time.Sleep(10 * time.Minute) // virtual
			if edit := c.Text("edit.yaml"); edit != "" {
				r.Apply(edit)
			}
			if c.Text("delete.txt") != "" {
				if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindGlobalAccelerator, Namespace: "shop", Name: "edge"}); err != nil {
					t.Fatal(err)
				}
			}
		})
		file := filepath.Join(filesIn(t, map[string]string{"objects.yaml": w.objects}), "objects.yaml")
		flags := append(flagsOf(t, w.em, w.vpc), "-f", file, acceleratorGate)
		var out []goldentest.File
		name := acceleratorAddresses(w)
		for i, line := range strings.Split(strings.TrimSpace(c.Text("commands.txt")), "\n") {
			code, stdout, stderr := run(t, append(strings.Fields(name.Replace(line)), flags...)...)
			if stderr != "" {
				t.Fatalf("%s: %s", line, stderr)
			}
			if strings.HasPrefix(line, "get") {
				stdout = ageText.ReplaceAllString(stdout, "")
			}
			out = append(out, goldentest.File{Name: fmt.Sprintf("%d.txt", i+1), Text: fmt.Sprintf("$ fulcrum %s\n%sexit code %d\n", line, stdout, code)})
		}
		if n := w.em.Calls().Mutating(); n > 0 {
			t.Errorf("%d calls that change something", n)
		}
		return out
	})
}

// acceleratorAddresses puts the DNS name and the first address of the only accelerator in place of DNSNAME and ADDRESS.
func acceleratorAddresses(w world) *strings.Replacer {
	s := w.em.Store()
	s.Lock()
	defer s.Unlock()
	for _, a := range s.AcceleratorState(harness.Account).Accelerators {
		return strings.NewReplacer("DNSNAME", a.DNSName, "ADDRESS", a.IPv4[0].String())
	}
	return strings.NewReplacer()
}
