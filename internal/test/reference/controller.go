package reference

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Controller is the other controller in a world.
type Controller struct {
	AWS     aws.Config
	Cluster string
	VPC     string
	Objects *cluster.Memory
	// Bindings lets the controller of TargetGroupBindings work until it has nothing to do. It is the same here and there.
	Bindings func()
	// Before is called before each change, so that something else can happen meanwhile. Nil: nothing does.
	Before func(Change)

	backend string // id of the shared security group
}

// Change is a change that the controller makes in AWS, or of a TargetGroupBinding.
type Change struct {
	Operation string
	Of        string // ARN or id of what is changed, or the name of what is made
}

// Stack is one load balancer, of an IngressGroup or a Gateway.
type Stack struct {
	ID model.StackID
	// Objects are the members of the IngressGroup, or the Gateway. An object that does not exist is none.
	Objects []cluster.Ref
	// Desired is the desired state of the stack as a document, if of the objects only some are there.
	Desired func(live []cluster.Ref) ([]byte, error)
}

// Outcome is what became of a stack.
type Outcome struct {
	Stack model.StackID
	// Planned: the Gateway is planned only.
	Planned bool
	// LoadBalancer is the DNS name that the objects show afterwards; empty if their status is not written.
	LoadBalancer string
	// Err is the error with which the stack ends, in an event.
	Err error
}

// Reconcile works on a stack once. Errors of AWS and of Kubernetes are in the outcome.
func (c *Controller) Reconcile(ctx context.Context, s Stack) Outcome {
	out := Outcome{Stack: s.ID}
	var live, leaving []cluster.Ref
	for _, ref := range s.Objects {
		obj, err := c.Objects.Get(ref)
		switch {
		case err != nil:
			out.Err = err
			return out
		case obj == nil:
		case obj.GetDeletionTimestamp() == nil:
			live = append(live, ref)
		case slices.Contains(obj.GetFinalizers(), naming.Finalizer(s.ID)):
			leaving = append(leaving, ref)
		}
	}
	if len(live)+len(leaving) == 0 {
		return out
	}
	if out.Planned = s.ID.Kind == model.ALBGateway && len(live) > 0 && c.planned(s.ID, live[0]); out.Planned {
		return out
	}
	// An Ingress gets its finalizer before anything is built. A Gateway does not, but nothing of it is changed until then.
	if out.Err = c.finalizers(live, s.ID, true); out.Err != nil {
		return out
	}
	d, err := c.build(ctx, s, live)
	if err != nil {
		out.Err = fmt.Errorf("build: %w", err)
		return out
	}
	if err := d.run(); err != nil {
		out.Err = fmt.Errorf("deploy: %w", err)
		return out
	}
	if len(live) > 0 {
		out.LoadBalancer = d.dnsName
	}
	out.Err = c.finalizers(leaving, s.ID, false)
	return out
}

// planned reports whether a Gateway is planned only: the annotation counts for nothing once the finalizer is there.
func (c *Controller) planned(id model.StackID, ref cluster.Ref) bool {
	obj, err := c.Objects.Get(ref)
	return err == nil && obj != nil && obj.GetAnnotations()[naming.DryRunAnnotation] == "true" && !slices.Contains(obj.GetFinalizers(), naming.Finalizer(id))
}

// finalizers adds the finalizer of a stack to objects, or removes it. An object under deletion goes with its last one.
func (c *Controller) finalizers(refs []cluster.Ref, id model.StackID, has bool) error {
	for _, ref := range refs {
		obj, err := c.Objects.Get(ref)
		if err != nil || obj == nil {
			return err
		}
		next := obj.DeepCopyObject().(cluster.Object)
		own := naming.Finalizer(id)
		list := slices.DeleteFunc(slices.Clone(next.GetFinalizers()), func(f string) bool { return f == own })
		if has {
			list = append(list, own)
		}
		next.SetFinalizers(list)
		if _, err := c.Objects.Update(next, cluster.Main); err != nil {
			return err
		}
	}
	return nil
}

// build makes the model of a stack, for which the shared security group is made if it is needed and missing.
func (c *Controller) build(ctx context.Context, s Stack, live []cluster.Ref) (*deploy, error) {
	d := newDeploy(ctx, c, s.ID)
	if len(live) == 0 {
		return d, nil // an empty stack
	}
	text, err := s.Desired(live)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(text, []byte(naming.BackendGroup(c.Cluster))) {
		if err := (groups{d}).backendGroup(); err != nil {
			return nil, err
		}
	}
	return d, d.read(text)
}
