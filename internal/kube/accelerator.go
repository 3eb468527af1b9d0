package kube

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// recordAccelerator writes the ARN of an accelerator into the status of its object, before anything else is made: an
// accelerator costs money, and its addresses cannot be had back.
func (c *Cluster) recordAccelerator(ctx context.Context, do plan.RecordAccelerator, known plan.KnownIDs) error {
	arn := known[plan.AcceleratorAddress]
	if arn == "" {
		return errors.New("the ARN of the accelerator is not known, since what makes it was not carried out")
	}
	ref := cluster.Ref{Kind: cluster.Kind(do.Ref.Kind), Namespace: do.Ref.Namespace, Name: do.Ref.Name}
	return c.editStatus(ctx, cluster.StatusEdit{Ref: ref, Edit: func(obj cluster.Object, _ metav1.Time) any {
		if ga, ok := obj.(*aga.GlobalAccelerator); !ok || ga.Status.AcceleratorARN == arn {
			return nil
		}
		return map[string]any{"acceleratorARN": arn}
	}})
}
