package reference

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/smithy-go"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// deployment changes AWS once to the desired state of one stack.
type deployment struct {
	*Controller
	ctx   context.Context
	stack model.StackID
	elb   *elb.Client
	ec2   *ec2.Client

	// desired has the specs of the desired resources, by type and logical ID.
	desired map[document.ResourceType]map[string]any
	// references has the values of references. Keys are references of the document: "#/resources/TYPE/ID/status/FIELD".
	references map[string]string
	dnsName    string
	// finalDeletions are performed after all other changes have succeeded, in reverse order.
	finalDeletions []func() error
}

func newDeployment(ctx context.Context, c *Controller, id model.StackID) *deployment {
	return &deployment{
		Controller: c, ctx: ctx, stack: id, elb: elb.NewFromConfig(c.AWS), ec2: ec2.NewFromConfig(c.AWS),
		desired: map[document.ResourceType]map[string]any{}, references: map[string]string{},
	}
}

// unsupportedTypes has the resource types that the model cannot deploy.
var unsupportedTypes = []document.ResourceType{document.TypeWebACL, document.TypeClassicWebACL, document.TypeShieldProtection, document.TypeCertificate}

// readDocument reads the desired state from a document.
func (d *deployment) readDocument(text []byte) error {
	var doc struct {
		Resources map[document.ResourceType]map[string]struct{ Spec any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	for t, resources := range doc.Resources {
		if slices.Contains(unsupportedTypes, t) && len(resources) > 0 {
			return fmt.Errorf("the model of aws-load-balancer-controller does not support %s", t)
		}
		d.desired[t] = map[string]any{}
		for id, r := range resources {
			d.desired[t][id] = r.Spec
		}
	}
	return nil
}

// run synthesizes all types of resources, and then performs finalDeletions. It stops at the first error. Only load
// balancers, listeners and rules are deleted before finalDeletions.
func (d *deployment) run() error {
	for _, synthesize := range []func() error{
		securityGroups{d}.synthesize, targetGroups{d}.synthesize, loadBalancers{d}.synthesize, listeners{d}.synthesize, rules{d}.synthesize, bindings{d}.synthesize,
	} {
		if err := synthesize(); err != nil {
			return err
		}
	}
	slices.Reverse(d.finalDeletions)
	for _, remove := range d.finalDeletions {
		if err := remove(); err != nil {
			return err
		}
	}
	return nil
}

// desiredIDs returns the sorted logical IDs of the desired resources of a type.
func (d *deployment) desiredIDs(t document.ResourceType) []string {
	return slices.Sorted(maps.Keys(d.desired[t]))
}

// decodeSpec decodes the spec of a desired resource into the value to which into points. It replaces references by their
// values.
func (d *deployment) decodeSpec(t document.ResourceType, id string, into any) error {
	value, err := d.resolveReferences(d.desired[t][id])
	if err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s %s: %w", t, id, err)
	}
	return nil
}

func (d *deployment) resolveReferences(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			if d.references[ref] == "" {
				return nil, fmt.Errorf("reference %s has no value yet", ref)
			}
			return d.references[ref], nil
		}
		out := map[string]any{}
		for k := range v {
			var err error
			if out[k], err = d.resolveReferences(v[k]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = d.resolveReferences(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string:
		if v == naming.BackendSecurityGroupName(d.Cluster) {
			return d.backendSecurityGroupID, nil // the document has the name if the security group did not exist yet
		}
	}
	return value, nil
}

// setReference stores the value of a reference to a resource.
func (d *deployment) setReference(t document.ResourceType, id, field, value string) {
	d.references["#/resources/"+string(t)+"/"+id+"/status/"+field] = value
}

// announceChange calls BeforeChange, unless it is nil. Each change calls announceChange first.
func (d *deployment) announceChange(operation, of string) {
	if d.BeforeChange != nil {
		d.BeforeChange(Change{operation, of})
	}
}

// retry repeats call while AWS rejects it with the error code, until the time limit is over. It waits for the duration
// every before it repeats the call, and returns the last error.
func (d *deployment) retry(code string, every, limit time.Duration, call func() error) error {
	for end := time.Now().Add(limit); ; time.Sleep(every) {
		err := call()
		if !hasErrorCode(err, code) || !time.Now().Before(end) {
			return err
		}
	}
}

// hasErrorCode reports whether err is an error response of AWS with the error code.
func hasErrorCode(err error, code string) bool {
	var of smithy.APIError
	return errors.As(err, &of) && of.ErrorCode() == code
}

// matchResult has the resources that must be created, updated or removed. Several existing resources may have the same
// logical ID.
type matchResult[T any] struct {
	create []string // logical IDs
	update []matchedPair[T]
	remove []T
}

// matchedPair is an existing resource with the logical ID of the desired resource that it matches.
type matchedPair[T any] struct {
	id       string
	existing T
}

// matchResources matches existing with desired resources of type t, by the resource tag and never by name. replaces reports
// whether the existing resource would have to be replaced. Such a resource does not match and is removed.
func matchResources[T any](d *deployment, t document.ResourceType, have []taggedResource[T], replaces func(id string, have T) (bool, error)) (out matchResult[T], err error) {
	by := map[string][]T{}
	for _, h := range have {
		id := h.tags[naming.ResourceTag(d.stack.Kind)]
		if id == "" {
			return out, fmt.Errorf("%s has no resource tag", h.id)
		}
		by[id] = append(by[id], h.resource)
	}
	for _, id := range d.desiredIDs(t) {
		found := false
		for _, h := range by[id] {
			replace, err := replaces(id, h)
			switch {
			case err != nil:
				return out, err
			case replace:
				out.remove = append(out.remove, h)
			default:
				found = true
				out.update = append(out.update, matchedPair[T]{id, h})
			}
		}
		if !found {
			out.create = append(out.create, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(by)) {
		if d.desired[t][id] == nil {
			out.remove = append(out.remove, by[id]...)
		}
	}
	return out, nil
}

// taggedResource is an existing resource with its tags.
type taggedResource[T any] struct {
	id       string // ARN or security group ID
	resource T
	tags     map[string]string
}

// desiredTags returns the desired tags of the resource with a logical ID: user tags and tracking tags.
func (d *deployment) desiredTags(id string, user map[string]string) map[string]string {
	return naming.ResourceTags(d.Cluster, d.stack, id, user)
}

// attribute is an attribute of a load balancer, listener or target group.
type attribute struct{ Key, Value string }

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

func stringValue(p *string) string { return aws.ToString(p) }
