package controller

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// The limits of the size of a report, which is held in memory and written to a file.
const (
	maxShadowSteps   = 20  // maximum number of steps of one item
	maxShadowChanges = 5   // maximum number of changes of one step
	maxShadowItems   = 200 // maximum number of items with steps or an error
	maxShadowText    = 200 // maximum number of characters of a text
)

// ShadowReport is the report of shadow mode: the steps that the controller would carry out.
type ShadowReport struct {
	// Written is the time at which the report was made.
	Written time.Time `json:"written"`
	Cluster string    `json:"cluster"`
	// Items has the numbers of planned items, and Steps the numbers of steps that would be carried out, by kind.
	Items []ShadowItemCount `json:"items"`
	Steps []ShadowStepCount `json:"steps"`
	// Changes are the items whose plan has steps or could not be made; Omitted is the number of such items beyond the first
	// 200.
	Changes []ShadowItem `json:"changes"`
	Omitted int          `json:"omitted"`
}

// ShadowItemCount is the number of items of one kind whose plans have the same state.
type ShadowItemCount struct {
	Kind string `json:"kind"`
	// Plan is none, changes or failed.
	Plan  string `json:"plan"`
	Count int    `json:"count"`
}

// ShadowStepCount is the number of planned steps on one kind of resource with the same impact on traffic.
type ShadowStepCount struct {
	Kind   string      `json:"kind"`
	Impact plan.Impact `json:"impact"`
	Count  int         `json:"count"`
}

// ShadowItem is an item with its planned steps: a load balancer, a TargetGroupBinding, or the security group rules of nodes
// and pods.
type ShadowItem struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Findings int    `json:"findings"`
	// Failed is the error if no plan could be made.
	Failed string `json:"failed,omitempty"`
	// Count is the number of all steps. Steps has the first 20 steps.
	Count int          `json:"count"`
	Steps []ShadowStep `json:"steps"`

	kinds map[shadowStepKey]int // number of steps by kind and impact
}

// ShadowStep is a step that would be carried out.
type ShadowStep struct {
	ID      string      `json:"id"`
	Kind    string      `json:"kind"`
	Impact  plan.Impact `json:"impact"`
	Why     string      `json:"why,omitempty"`
	Changes []string    `json:"changes,omitempty"`
	// Waits reports whether the step would wait for a condition.
	Waits bool `json:"waits,omitempty"`
}

// shadowStepKey is the key by which ShadowItem counts steps.
type shadowStepKey struct {
	kind   string
	impact plan.Impact
}

// addStep counts a step, and adds it to Steps if there are fewer than maxShadowSteps. It truncates long texts.
func (i *ShadowItem) addStep(s ShadowStep) {
	if i.kinds == nil {
		i.kinds = map[shadowStepKey]int{}
	}
	i.kinds[shadowStepKey{s.Kind, s.Impact}]++
	i.Count++
	if len(i.Steps) == maxShadowSteps {
		return
	}
	s.ID, s.Why = shadowText(s.ID), shadowText(s.Why)
	s.Changes = s.Changes[:min(len(s.Changes), maxShadowChanges)]
	for j := range s.Changes {
		s.Changes[j] = shadowText(s.Changes[j])
	}
	i.Steps = append(i.Steps, s)
}

func shadowText(s string) string {
	return finding.Truncate(finding.EscapeNonPrintable(s), maxShadowText)
}

// equal reports whether two plans have the same steps, findings and error.
func (i ShadowItem) equal(o ShadowItem) bool {
	return i.Kind == o.Kind && i.ID == o.ID && i.Findings == o.Findings && i.Failed == o.Failed && i.Count == o.Count && maps.Equal(i.kinds, o.kinds) &&
		slices.EqualFunc(i.Steps, o.Steps, func(a, b ShadowStep) bool {
			return a.ID == b.ID && a.Kind == b.Kind && a.Impact == b.Impact && a.Why == b.Why && a.Waits == b.Waits && slices.Equal(a.Changes, b.Changes)
		})
}

// planState returns none, changes or failed, the value of ShadowItemCount.Plan for the item.
func (i ShadowItem) planState() string {
	switch {
	case i.Failed != "":
		return "failed"
	case i.Count > 0:
		return "changes"
	}
	return "none"
}

// Report returns the report of the current plans. now is the time of the report.
func (s *Shadow) Report(now time.Time) ShadowReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := ShadowReport{Written: now, Items: []ShadowItemCount{}, Steps: []ShadowStepCount{}, Changes: []ShadowItem{}}
	items, steps := map[shadowKey]int{}, map[shadowStepKey]int{}
	for key, i := range s.items {
		items[shadowKey{key.kind, i.planState()}]++
		for k, n := range i.kinds {
			steps[k] += n
		}
		if i.planState() != "none" {
			out.Changes = append(out.Changes, i)
		}
	}
	for k, n := range items {
		out.Items = append(out.Items, ShadowItemCount{k.kind, k.name, n})
	}
	for k, n := range steps {
		out.Steps = append(out.Steps, ShadowStepCount{k.kind, k.impact, n})
	}
	slices.SortFunc(out.Items, func(a, b ShadowItemCount) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Plan, b.Plan))
	})
	slices.SortFunc(out.Steps, func(a, b ShadowStepCount) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Impact, b.Impact))
	})
	slices.SortFunc(out.Changes, func(a, b ShadowItem) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID)) })
	if n := len(out.Changes) - maxShadowItems; n > 0 {
		out.Changes, out.Omitted = out.Changes[:maxShadowItems], n
	}
	return out
}

// WriteReportPeriodically writes the report to a file when the report has changed, and otherwise every
// durations.LongInterval, until ctx ends.
func (s *Shadow) WriteReportPeriodically(ctx context.Context, file, cluster string, log logr.Logger) error {
	var written time.Time
	for {
		s.mu.Lock()
		due := s.reportChanged || time.Since(written) >= durations.LongInterval
		s.reportChanged = false
		s.mu.Unlock()
		if due {
			written = time.Now()
			r := s.Report(written.UTC())
			r.Cluster = cluster
			if err := r.write(file); err != nil {
				log.Error(err, "failed to write the shadow report", "file", file)
			}
		}
		if !pause(ctx, durations.ShortInterval) {
			return nil
		}
	}
}

// write writes the report to a file by a rename, so that a reader never sees an incomplete report.
func (r ShadowReport) write(file string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text.Bytes())
	if err = cmp.Or(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
