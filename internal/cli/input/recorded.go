package input

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// recording is the content of a file with the answers of AWS for some stacks. --record writes the file, and --observed makes
// plans from it without AWS. It contains no client IDs and secrets, so a listener rule that authenticates by OIDC looks
// changed in such a plan.
type recording struct {
	VPC    string           `json:"vpc"`
	Stacks []recordedAnswer `json:"stacks"`
}

// recordedAnswer is a stack with its observed state.
type recordedAnswer struct {
	Stack model.StackID
	Have  recordedStack
}

// The recorded types replace the observed types that have fields of interface types, because JSON needs the type of each
// value of an interface. An outer field hides the field of the same name in the embedded type.
type (
	recordedStack struct {
		observed.Stack
		LoadBalancers []recordedLoadBalancer
	}
	recordedLoadBalancer struct {
		observed.LoadBalancer
		Listeners []recordedListener
	}
	recordedListener struct {
		observed.Listener
		Default []typedValue
		Rules   []recordedRule
	}
	recordedRule struct {
		observed.Rule
		Conditions []typedValue
		Actions    []typedValue
	}
	// typedValue is a condition or an action of a rule, with the AWS name of its type.
	typedValue struct {
		Kind  string
		Value json.RawMessage
	}
)

// valueTypes are the types of conditions and actions, by their names in AWS.
var valueTypes = map[string]reflect.Type{
	"host-header": reflect.TypeFor[model.HostHeader](), "path-pattern": reflect.TypeFor[model.PathPattern](), "http-header": reflect.TypeFor[model.HTTPHeader](),
	"http-request-method": reflect.TypeFor[model.RequestMethod](), "query-string": reflect.TypeFor[model.QueryString](), "source-ip": reflect.TypeFor[model.SourceIP](),
	"forward": reflect.TypeFor[model.Forward](), "redirect": reflect.TypeFor[model.Redirect](), "fixed-response": reflect.TypeFor[model.FixedResponse](),
	"authenticate-oidc": reflect.TypeFor[model.AuthOIDC](), "authenticate-cognito": reflect.TypeFor[model.AuthCognito](), "jwt-validation": reflect.TypeFor[model.ValidateJWT](),
}

// kindOf returns the key in valueTypes for the type of a condition or an action, or "" for any other type.
func kindOf(v any) string {
	for kind, t := range valueTypes {
		if t == reflect.TypeOf(v) {
			return kind
		}
	}
	return ""
}

// encodeTypedValues encodes a list of conditions or actions.
func encodeTypedValues[T any](in []T) ([]typedValue, error) {
	var out []typedValue
	for _, v := range in {
		kind := kindOf(v)
		if kind == "" {
			return nil, fmt.Errorf("a %T cannot be recorded", v)
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		out = append(out, typedValue{kind, data})
	}
	return out, nil
}

// decodeTypedValues decodes a list of conditions or actions. what names the list in errors.
func decodeTypedValues[T any](in []typedValue, what string) ([]T, error) {
	var out []T
	for _, a := range in {
		t := valueTypes[a.Kind]
		if t == nil || !t.Implements(reflect.TypeFor[T]()) {
			return nil, fmt.Errorf("unknown %s %q", what, a.Kind)
		}
		v := reflect.New(t)
		if err := json.Unmarshal(a.Value, v.Interface()); err != nil {
			return nil, err
		}
		out = append(out, v.Elem().Interface().(T))
	}
	return out, nil
}

// recordStack converts an observed state for a recording.
func recordStack(s observed.Stack) (recordedStack, error) {
	out := recordedStack{Stack: s}
	var errs []error
	alternatives := func(a []typedValue, err error) []typedValue {
		errs = append(errs, err)
		return a
	}
	for _, lb := range s.LoadBalancers {
		rlb := recordedLoadBalancer{LoadBalancer: lb}
		for _, l := range lb.Listeners {
			rl := recordedListener{Listener: l, Default: alternatives(encodeTypedValues(l.Default))}
			for _, r := range l.Rules {
				rl.Rules = append(rl.Rules, recordedRule{Rule: r,
					Conditions: alternatives(encodeTypedValues(r.Conditions)), Actions: alternatives(encodeTypedValues(r.Actions))})
			}
			rlb.Listeners = append(rlb.Listeners, rl)
		}
		out.LoadBalancers = append(out.LoadBalancers, rlb)
	}
	return out, errors.Join(errs...)
}

// toObserved converts a recorded stack back to the observed state.
func (r recordedStack) toObserved() (observed.Stack, error) {
	out := r.Stack
	out.LoadBalancers = nil
	for _, rlb := range r.LoadBalancers {
		lb := rlb.LoadBalancer
		lb.Listeners = nil
		for _, rl := range rlb.Listeners {
			l := rl.Listener
			l.Rules = nil
			var err error
			if l.Default, err = decodeTypedValues[model.Action](rl.Default, "action"); err != nil {
				return out, err
			}
			for _, rr := range rl.Rules {
				rule := rr.Rule
				if rule.Conditions, err = decodeTypedValues[model.Condition](rr.Conditions, "condition"); err != nil {
					return out, err
				}
				if rule.Actions, err = decodeTypedValues[model.Action](rr.Actions, "action"); err != nil {
					return out, err
				}
				l.Rules = append(l.Rules, rule)
			}
			lb.Listeners = append(lb.Listeners, l)
		}
		out.LoadBalancers = append(out.LoadBalancers, lb)
	}
	return out, nil
}

// recorder forwards calls to AWS, and stores the last questions and the last answers of each stack.
type recorder struct {
	engine.Cloud
	answers   map[model.StackID]observed.Stack
	questions map[model.StackID][]model.Question
	// maxAge and maxAgeOf are Source.MaxAge and Source.MaxAgeOf. They limit the age that cached facts have at the time
	// start.
	maxAge   time.Duration
	maxAgeOf func(model.StackID) time.Duration
	start    time.Time
}

// Observe implements engine.Cloud.
func (r *recorder) Observe(ctx context.Context, id model.StackID, q []model.Question) (observed.Stack, error) {
	more := q
	if r.maxAge > 0 {
		age := r.maxAge
		if r.maxAgeOf != nil {
			age = r.maxAgeOf(id)
		}
		since, listedSince := r.start.Add(-age), r.start.Add(-min(age, r.maxAge))
		// AskComparison reads known resources again. AskListings finds new resources.
		more = append(slices.Clone(q), model.AskComparison{Since: since, TagsSince: since}, model.AskListings{Since: listedSince})
	}
	have, err := r.Cloud.Observe(ctx, id, more)
	if err == nil {
		r.answers[id], r.questions[id] = have, q
	}
	return have, err
}

// replayedCloud answers questions from a recording. It implements engine.Cloud.
type replayedCloud struct {
	readOnlyCloud
	answers map[model.StackID]observed.Stack
}

// Observe implements engine.Cloud.
func (r replayedCloud) Observe(_ context.Context, id model.StackID, _ []model.Question) (observed.Stack, error) {
	have, ok := r.answers[id]
	if !ok {
		return have, fmt.Errorf("the recording has no answers for %s %s", id.Kind, id)
	}
	return have, nil
}
