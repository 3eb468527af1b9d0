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

// deploy deploys the desired state of one stack once.
type deploy struct {
	*Controller
	ctx   context.Context
	stack model.StackID
	elb   *elb.Client
	ec2   *ec2.Client

	desired map[document.ResourceType]map[string]any
	// references has the values of references in the document, by the text of the reference.
	references map[string]string
	dnsName    string
	// post has the deletions at the end. They are performed in order if all other changes have succeeded.
	post []func() error
}

func newDeploy(ctx context.Context, c *Controller, id model.StackID) *deploy {
	return &deploy{
		Controller: c, ctx: ctx, stack: id, elb: elb.NewFromConfig(c.AWS), ec2: ec2.NewFromConfig(c.AWS),
		desired: map[document.ResourceType]map[string]any{}, references: map[string]string{},
	}
}

// unsupported has the types that this model cannot deploy.
var unsupported = []document.ResourceType{document.TypeWebACL, document.TypeClassicACL, document.TypeProtection, document.TypeCertificate}

// read reads the desired state from a document.
func (d *deploy) read(text []byte) error {
	var doc struct {
		Resources map[document.ResourceType]map[string]struct{ Spec any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	for t, resources := range doc.Resources {
		if slices.Contains(unsupported, t) && len(resources) > 0 {
			return fmt.Errorf("the model of aws-load-balancer-controller does not support %s", t)
		}
		d.desired[t] = map[string]any{}
		for id, r := range resources {
			d.desired[t][id] = r.Spec
		}
	}
	return nil
}

// run synthesizes all kinds of resources in order. After the first error it stops, so that only load balancers,
// listeners and rules may have been deleted.
func (d *deploy) run() error {
	for _, synthesize := range []func() error{
		securityGroups{d}.synthesize, targetGroups{d}.synthesize, loadBalancers{d}.synthesize, listeners{d}.synthesize, rules{d}.synthesize, bindings{d}.synthesize,
	} {
		if err := synthesize(); err != nil {
			return err
		}
	}
	slices.Reverse(d.post)
	for _, remove := range d.post {
		if err := remove(); err != nil {
			return err
		}
	}
	return nil
}

// ids returns the sorted logical IDs of the desired resources of a type.
func (d *deploy) ids(t document.ResourceType) []string { return slices.Sorted(maps.Keys(d.desired[t])) }

// spec decodes the desired state of a resource, with values instead of references.
func (d *deploy) spec(t document.ResourceType, id string, into any) error {
	value, err := d.resolved(d.desired[t][id])
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

func (d *deploy) resolved(value any) (any, error) {
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
			if out[k], err = d.resolved(v[k]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = d.resolved(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case string:
		if v == naming.BackendGroup(d.Cluster) {
			return d.backend, nil // the name is its value before it is created
		}
	}
	return value, nil
}

// setReference stores the value of a reference to a resource.
func (d *deploy) setReference(t document.ResourceType, id, field, value string) {
	d.references["#/resources/"+string(t)+"/"+id+"/status/"+field] = value
}

// announce calls Before with a change.
func (d *deploy) announce(operation, of string) {
	if d.Before != nil {
		d.Before(Change{operation, of})
	}
}

// retry repeats a call within a time limit while AWS rejects it with an error code.
func (d *deploy) retry(code string, every, limit time.Duration, call func() error) error {
	for end := time.Now().Add(limit); ; time.Sleep(every) {
		err := call()
		if !hasCode(err, code) || !time.Now().Before(end) {
			return err
		}
	}
}

// hasCode reports whether AWS rejected a call with an error code.
func hasCode(err error, code string) bool {
	var of smithy.APIError
	return errors.As(err, &of) && of.ErrorCode() == code
}

// matching assigns existing resources to desired resources by their logical IDs. Several existing resources may have
// the same ID.
type matching[T any] struct {
	create []string
	update []pair[T]
	remove []T
}

type pair[T any] struct {
	id   string
	have T
}

// match matches resources only by the resource tag, never by name. Resources that would have to be replaced do not
// match.
func match[T any](d *deploy, t document.ResourceType, have []tagged[T], replaces func(id string, have T) (bool, error)) (out matching[T], err error) {
	by := map[string][]T{}
	for _, h := range have {
		id := h.tags[naming.ResourceTag(d.stack.Kind)]
		if id == "" {
			return out, fmt.Errorf("%s has no resource tag", h.id)
		}
		by[id] = append(by[id], h.of)
	}
	for _, id := range d.ids(t) {
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
				out.update = append(out.update, pair[T]{id, h})
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

// tagged is a resource with its tags.
type tagged[T any] struct {
	id   string
	of   T
	tags map[string]string
}

// ownTags returns the tags of a resource of the stack: tags of users and the tracking tags.
func (d *deploy) ownTags(id string, user map[string]string) map[string]string {
	return naming.ResourceTags(d.Cluster, d.stack, id, user)
}

// attribute is an attribute of a resource.
type attribute struct{ Key, Value string }

func sameSet(a, b []string) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

func text(p *string) string { return aws.ToString(p) }
