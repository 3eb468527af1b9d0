package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
)

// AcceleratorOptions are what GlobalAccelerators are checked with.
type AcceleratorOptions struct {
	// Served reports that the controller serves GlobalAccelerators. Where it does not, they are not checked.
	Served bool
	// Region is the region of the cluster.
	Region string
}

// maxAcceleratorWarnings is how many warnings the answer about a GlobalAccelerator has at most.
const maxAcceleratorWarnings = 5

// validateAccelerator denies a GlobalAccelerator for what is wrong with it by itself, and an update for what it adds of
// that. One that is being deleted, or whose spec does not change, is allowed, because its finalizer has to be removable.
func (c Config) validateAccelerator(_ context.Context, r Request) (Answer, error) {
	ga, err := acceleratorOf(r, r.Object)
	if err != nil {
		return Answer{}, err
	}
	if !c.Accelerator.Served || !c.isWatched(r.Namespace) || ga.DeletionTimestamp != nil {
		return Answer{}, nil
	}
	found := c.violations(ga)
	if r.Operation == admissionv1.Update {
		old, err := acceleratorOf(r, r.Old)
		if err != nil {
			return Answer{}, err
		}
		if equality.Semantic.DeepEqual(ga.Spec, old.Spec) {
			return Answer{}, nil
		}
		found = append(rules.Added(c.violations(old), found), rules.Changes(old, ga)...)
	}
	return answerForViolations(found), nil
}

func acceleratorOf(r Request, raw []byte) (*aga.GlobalAccelerator, error) {
	ga := &aga.GlobalAccelerator{}
	if err := decode(raw, ga); err != nil {
		return nil, err
	}
	ga.Namespace = r.Namespace
	return ga, nil
}

func (c Config) violations(ga *aga.GlobalAccelerator) []rules.Violation {
	return rules.Find(rules.Subject{Spec: &ga.Spec, Namespace: ga.Namespace, Region: c.Accelerator.Region})
}

// answerForViolations denies for the first violation that is no advice, and warns of the others.
func answerForViolations(found []rules.Violation) (out Answer) {
	left := 0
	for _, v := range found {
		switch {
		case out.Refusal == nil && !v.Advice:
			out.Refusal = &Refusal{Check: string(v.Check), Message: v.Text()}
		case len(out.Warnings) < maxAcceleratorWarnings-1:
			out.Warnings = append(out.Warnings, v.Text())
		default:
			left++
		}
	}
	if left > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more faults", left))
	}
	return out
}
