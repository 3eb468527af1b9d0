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

// Controller is a model of aws-load-balancer-controller in a VPC and a cluster. AWS is the configuration of its AWS
// clients, Objects has the Kubernetes objects.
type Controller struct {
	AWS     aws.Config
	Cluster string
	VPC     string
	Objects *cluster.Memory
	// RunBindings runs the TargetGroupBinding controller of Fulcrum until it is idle. The model has no TargetGroupBinding
	// controller.
	RunBindings func()
	// BeforeChange, if not nil, is called before each change. Tests use it to change objects or AWS resources during a
	// reconcile.
	BeforeChange func(Change)

	backendSecurityGroupID string // ID of the shared backend security group
}

// Change is a change that the controller makes to an AWS resource or to a TargetGroupBinding.
type Change struct {
	Operation string // as in the AWS API, or for example "CreateTargetGroupBinding"
	Resource  string // ARN or ID of the changed resource, or the name of the created resource
}

// Stack is the input of Reconcile: the objects and the desired state of the load balancer of an IngressGroup or a Gateway.
type Stack struct {
	ID model.StackID
	// Objects are the members of the IngressGroup, or the Gateway. Objects that do not exist are ignored.
	Objects []cluster.Ref
	// DesiredDocument returns the desired state of the stack as a document of package document. live are the objects that
	// are not being deleted.
	DesiredDocument func(live []cluster.Ref) ([]byte, error)
}

// Outcome is the result of a reconcile.
type Outcome struct {
	Stack model.StackID
	// IsDryRun reports that nothing was changed because the Gateway has the dry-run annotation.
	IsDryRun bool
	// DNSName is the DNS name in the status of the objects, or empty if their status is not written.
	DNSName string
	// Err is the error of the reconcile. The real controller also reports it in an event.
	Err error
}

// Reconcile reconciles a stack once. The outcome includes errors of AWS and of Kubernetes.
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
	if out.IsDryRun = s.ID.Kind == model.ALBGateway && len(live) > 0 && c.isDryRun(s.ID, live[0]); out.IsDryRun {
		return out
	}
	// The real controller adds the finalizer of a Gateway later than the finalizer of an Ingress. But it makes no change
	// in AWS before it adds a finalizer.
	if out.Err = c.setFinalizers(live, s.ID, true); out.Err != nil {
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
		out.DNSName = d.dnsName
	}
	out.Err = c.setFinalizers(leaving, s.ID, false)
	return out
}

// isDryRun reports whether a Gateway has the dry-run annotation and not yet the finalizer of the stack. The annotation has
// no effect on a Gateway with the finalizer.
func (c *Controller) isDryRun(id model.StackID, ref cluster.Ref) bool {
	obj, err := c.Objects.Get(ref)
	return err == nil && obj != nil && obj.GetAnnotations()[naming.DryRunAnnotation] == "true" && !slices.Contains(obj.GetFinalizers(), naming.Finalizer(id))
}

// setFinalizers adds the finalizer of a stack to objects if has is true, and removes the finalizer if has is false.
// Removal of the last finalizer of an object that is being deleted removes the object.
func (c *Controller) setFinalizers(refs []cluster.Ref, id model.StackID, has bool) error {
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
		if _, err := c.Objects.Update(next, cluster.MainPart); err != nil {
			return err
		}
	}
	return nil
}

// build returns the deployment of a stack. live are the objects that are not being deleted; if there are none, the
// deployment deletes all resources. build creates the shared backend security group if the stack needs it and it does not
// exist.
func (c *Controller) build(ctx context.Context, s Stack, live []cluster.Ref) (*deployment, error) {
	d := newDeployment(ctx, c, s.ID)
	if len(live) == 0 {
		return d, nil // without desired resources
	}
	text, err := s.DesiredDocument(live)
	if err != nil {
		return nil, err
	}
	if bytes.Contains(text, []byte(naming.BackendSecurityGroupName(c.Cluster))) {
		if err := (securityGroups{d}).ensureBackendSecurityGroup(); err != nil {
			return nil, err
		}
	}
	return d, d.readDocument(text)
}
