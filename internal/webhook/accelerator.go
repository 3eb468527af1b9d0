package webhook

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
)

// AcceleratorOptions are the options for the validation of GlobalAccelerators.
type AcceleratorOptions struct {
	// Served reports whether the controller serves GlobalAccelerators. If it is false, GlobalAccelerators are not checked.
	Served bool
	// Region is the region of the cluster.
	Region string
}

// maxAcceleratorWarnings is the maximum number of warnings in the answer about a GlobalAccelerator.
const maxAcceleratorWarnings = 5

// validateAccelerator denies a new GlobalAccelerator with violations, and an update that adds violations. It allows an
// update if the GlobalAccelerator is being deleted, or if the update does not change the spec, because the controller must
// be able to remove the finalizer.
func (c Config) validateAccelerator(_ context.Context, r Request) (Response, error) {
	ga := &aga.GlobalAccelerator{}
	if err := r.decode(r.Object, ga); err != nil {
		return Response{}, err
	}
	if !c.Accelerator.Served || ga.DeletionTimestamp != nil {
		return Response{}, nil
	}
	found := c.acceleratorViolations(ga)
	if r.Operation == admissionv1.Update {
		old := &aga.GlobalAccelerator{}
		if err := r.decode(r.Old, old); err != nil {
			return Response{}, err
		}
		if equality.Semantic.DeepEqual(ga.Spec, old.Spec) {
			return Response{}, nil
		}
		found = append(rules.NewViolations(c.acceleratorViolations(old), found), rules.ImmutableFieldChanges(old, ga)...)
	}
	return responseForViolations(found), nil
}

func (c Config) acceleratorViolations(ga *aga.GlobalAccelerator) []rules.Violation {
	return rules.FindViolations(rules.Subject{Spec: &ga.Spec, Namespace: ga.Namespace, Region: c.Accelerator.Region})
}

// responseForViolations returns an answer that denies the request because of the first violation that is not only a
// recommendation. The answer has warnings about all other violations.
func responseForViolations(found []rules.Violation) (out Response) {
	omitted := 0
	for _, v := range found {
		switch {
		case out.Refusal == nil && !v.IsAdvice:
			out.Refusal = &Denial{Check: string(v.Check), Message: v.Text()}
		case len(out.Warnings) < maxAcceleratorWarnings-1:
			out.Warnings = append(out.Warnings, v.Text())
		default:
			omitted++
		}
	}
	if omitted > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("faults not shown: %d; correct those above first", omitted))
	}
	return out
}
