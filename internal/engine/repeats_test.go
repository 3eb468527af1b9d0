package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestTheSameChangeIsNotMadeForEver(t *testing.T) {
	var r repeats
	var got []time.Duration
	for range 7 {
		got = append(got, r.count("modify x"))
	}
	want := []time.Duration{0, 0, 0, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second}
	if !slices.Equal(want, got) {
		t.Errorf("waits %s, want %s", got, want)
	}
	for range 20 {
		if w := r.count("modify x"); w > longestBackOff {
			t.Errorf("waits %s", w)
		}
	}
	if w := r.count("modify y"); w != 0 {
		t.Errorf("another change waits %s", w)
	}
}

func TestAChangeThatIsNotKeptIsReportedAndMadeMoreRarely(t *testing.T) {
	e, mem := New(Config{}), &memory{}
	member := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
	var last Outcome
	for range tooOften + 5 {
		out := Outcome{
			ID: model.StackID{Kind: model.Ingress, Name: "a"}, RetryAfter: polling,
			Stack: model.Stack{Members: []model.Member{{Ref: member}}},
		}
		r := run{e: e, mem: mem, out: &out, did: []string{"modify rule/80:1"}}
		r.slowDown()
		last = out
	}
	if last.RetryAfter != soon<<6 || len(last.Findings.On(member)) != 1 {
		t.Errorf("looks again after %s, findings %v", last.RetryAfter, last.Findings)
	}
	rest := Outcome{ID: last.ID}
	(&run{e: e, mem: mem, out: &rest, did: []string{"modify rule/80:1"}}).slowDown()
	if rest.RetryAfter != 0 || len(rest.Findings) > 0 {
		t.Errorf("what waits for nothing is looked at after %s, findings %v", rest.RetryAfter, rest.Findings)
	}
}
