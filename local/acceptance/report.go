package acceptance

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/recording"
)

// report writes report.md and recording.json and prints the report. It returns ErrFailed unless all parts passed
// and the controller left no resources.
func (r *run) report() error {
	versions := map[string]string{"Kubernetes": r.site.kubernetes, "Fulcrum": versionOf(r.Controller)}
	calls := r.proxy.recordedCalls()
	text, passed := r.reportText(versions, calls)
	if err := os.WriteFile(r.filePath("report.md"), []byte(text), 0o600); err != nil {
		return err
	}
	r.printf("\n%s\nReport: %s", text, r.filePath("report.md"))
	if err := writeRecording(r, versions, calls); err != nil {
		return fmt.Errorf("there is a report but no recording: %w", err)
	}
	r.printf("Recording: %s", r.filePath("recording.json"))
	r.printf("\"fulcrum-aws compare %s\" shows where the emulator answers differently from AWS.", r.filePath("recording.json"))
	if !passed {
		return ErrFailed
	}
	return nil
}

// writeRecording writes recording.json without data that identify the account. It removes the file of unredacted calls
// and the kubeconfig, even after an error.
func writeRecording(r *run, versions map[string]string, calls []recording.Call) error {
	rec := &recording.Recording{
		Version: recording.Version, Run: r.state.Run, At: r.state.StartedAt, Programs: versions, Region: r.Region, Account: r.site.account, Site: r.site.Site, Calls: calls,
	}
	secrets := []string{r.site.account, r.site.VPC}
	for _, i := range r.site.Instances {
		secrets = append(secrets, i.ID)
	}
	err := rec.Redact(secrets...)
	os.Remove(r.filePath("calls.jsonl"))
	os.Remove(r.filePath("kubeconfig"))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := rec.Write(&text); err != nil {
		return err
	}
	return os.WriteFile(r.filePath("recording.json"), text.Bytes(), 0o600)
}

// versionOf returns the first line that a program prints with --version.
func versionOf(program string) string {
	text, err := exec.Command(program, "--version").Output()
	if err != nil {
		return "not known: " + err.Error()
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return first
}

// reportText returns the text of the report, without the account ID. passed is false if a part failed or the controller
// left resources.
func (r *run) reportText(versions map[string]string, calls []recording.Call) (text string, passed bool) {
	passed = true
	var b strings.Builder
	fmt.Fprintf(&b, "# Acceptance run %s\n\n", r.state.Run)
	fmt.Fprintf(&b, "%s, region %s.\n\n", r.state.StartedAt.Format("2006-01-02 15:04 UTC"), r.Region)
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		fmt.Fprintf(&b, "- %s: %s\n", name, versions[name])
	}
	fmt.Fprintf(&b, "- nodes: %d, subnets: %d, of which %d were used\n\n", len(r.site.Instances), len(r.site.Subnets), len(r.site.publicSubnets))
	count := map[string]int{}
	changing := map[string]int{}
	for _, c := range calls {
		if c.Caller != "controller" {
			continue
		}
		count[c.Phase]++
		if c.IsMutating() {
			changing[c.Phase]++
		}
	}
	b.WriteString("| Part | Result | Time | Calls | Mutating calls |\n|---|---|---|---|---|\n")
	for _, name := range PartNames() {
		res := r.state.Results[name]
		if res == nil {
			continue
		}
		what := "passed"
		if res.Error != "" {
			what, passed = "**failed**", false
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d |\n", name, what, res.Duration.Round(time.Second), count[name], changing[name])
	}
	fmt.Fprintf(&b, "| removal | | | %d | %d |\n\n", count["remove"], changing["remove"])
	for _, name := range PartNames() {
		if res := r.state.Results[name]; res != nil {
			for _, n := range res.Notes {
				fmt.Fprintf(&b, "- %s: %s\n", name, n)
			}
			if res.Error != "" {
				fmt.Fprintf(&b, "- %s failed: %s\n", name, strings.ReplaceAll(res.Error, r.site.account, recording.Account))
			}
		}
	}
	switch len(r.state.NotRemoved) {
	case 0:
		b.WriteString("\nAfter the removal AWS had nothing with the tag of the run.\n")
	default:
		passed = false
		fmt.Fprintf(&b, "\nThe controller left %d resources in AWS, which the run has removed:\n", len(r.state.NotRemoved))
		for _, l := range r.state.NotRemoved {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(l, r.site.account, recording.Account))
		}
	}
	b.WriteString("\n" + callTable(calls))
	return b.String(), passed
}

// callTable returns a table of the calls by operation, with the response times of AWS.
func callTable(calls []recording.Call) string {
	type row struct {
		took         []int64
		refused, cut int
	}
	rows := map[string]*row{}
	for _, c := range calls {
		at := rows[c.Operation]
		if at == nil {
			at = &row{}
			rows[c.Operation] = at
		}
		switch {
		case c.Status == 0:
			at.cut++
		default:
			at.took = append(at.took, c.DurationMillis)
			if c.Status >= 300 {
				at.refused++
			}
		}
	}
	var b strings.Builder
	b.WriteString("| Operation | Answers | Refused | Without answer | Median | Longest |\n|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		at := rows[name]
		slices.Sort(at.took)
		median, longest := "", ""
		if n := len(at.took); n > 0 {
			median, longest = fmt.Sprintf("%d ms", at.took[n/2]), fmt.Sprintf("%d ms", at.took[n-1])
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %s | %s |\n", name, len(at.took), at.refused, at.cut, median, longest)
	}
	return b.String()
}
