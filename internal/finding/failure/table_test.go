package failure_test

import (
	"errors"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
)

func TestEveryReportedFailureHasAReasonAndAFix(t *testing.T) {
	err := errors.New("not authorized to perform: elasticloadbalancing:RegisterTargets on resource")
	for class := failure.Unknown; class <= failure.Fenced; class++ {
		for _, s := range []failure.Subject{failure.Step, failure.Kubernetes, failure.Targets, failure.ENIRules} {
			m, ok := failure.MeaningOf(s, class, err)
			if ok != (m.Reason != "") || ok != (m.Fix != "") {
				t.Errorf("subject %v, class %v: %+v, %v", s, class, m, ok)
			}
			if !ok && s != failure.Targets {
				t.Errorf("subject %v, class %v has no meaning", s, class)
			}
		}
	}
}

func TestFixNamesTheMissingPermission(t *testing.T) {
	err := errors.New("not authorized to perform: elasticloadbalancing:RegisterTargets on resource")
	for _, s := range []failure.Subject{failure.Step, failure.Targets} {
		m, _ := failure.MeaningOf(s, failure.Denied, err)
		if want := "add elasticloadbalancing:RegisterTargets to the controller's IAM policy"; m.Reason != finding.AccessDenied || m.Fix != want {
			t.Errorf("want %q, got %+v", want, m)
		}
	}
	m, _ := failure.MeaningOf(failure.Targets, failure.Denied, err)
	want := "let the controller assume the role, and add elasticloadbalancing:RegisterTargets to its policy"
	if m = m.ForAssumedRole(); m.Fix != want {
		t.Errorf("want %q, got %q", want, m.Fix)
	}
}
