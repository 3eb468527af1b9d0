package kube

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// recordAccelerator writes the ARN of a new accelerator into the status of its GlobalAccelerator. This is done before other
// resources are created, so that the accelerator can be found later. An accelerator that is not found causes costs, and its
// addresses cannot be restored after its deletion.
func (c *Cluster) recordAccelerator(ctx context.Context, action plan.RecordAccelerator, known plan.KnownIDs) error {
	arn := known[plan.AcceleratorAddress]
	if arn == "" {
		return errors.New("the ARN of the accelerator is not known, because the step that creates it was not carried out")
	}
	ref := action.Ref
	return c.editStatus(ctx, cluster.StatusEdit{Ref: ref, Edit: func(obj cluster.Object, _ metav1.Time) any {
		if ga, ok := obj.(*aga.GlobalAccelerator); !ok || ga.Status.AcceleratorARN == arn {
			return nil
		}
		return map[string]any{"acceleratorARN": arn}
	}}, "")
}
