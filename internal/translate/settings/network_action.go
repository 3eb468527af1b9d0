package settings

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// NetworkForward is the parsed value of an actions annotation of a Service: a forward to the target group of the
// Service itself, and to Targets.
type NetworkForward struct {
	// BaseServiceWeight is the weight of the target group of the Service itself. It is nil only if there are no Targets.
	BaseServiceWeight *int32
	Targets           []NetworkTarget
	// Sticky switches stickiness on or off; nil if the annotation does not set it.
	Sticky *bool
}

// NetworkTarget is a port of another Service in the namespace, or a target group that the controller does not own.
type NetworkTarget struct {
	Service string
	// Port is a port number, or a port name if the annotation has the port in quotes.
	Port   intstr.IntOrString
	ARN    string
	Weight int32
	// Decrypt reports whether targets behind a TLS listener receive plain TCP. If nil, they receive the same as the targets
	// of the Service itself.
	Decrypt *bool
}

// networkActionForm is a valid example of an actions annotation of a Service. Error messages show it.
const networkActionForm = `{"type":"forward","forwardConfig":{"baseServiceWeight":90,"targetGroups":[{"serviceName":"NAME","servicePort":80,"weight":10}]}}`

type networkActionJSON struct {
	Type          string
	ForwardConfig *struct {
		BaseServiceWeight           *int32
		TargetGroups                []networkTargetJSON
		TargetGroupStickinessConfig *struct{ Enabled *bool }
	}
}

type networkTargetJSON struct {
	ServiceName    string
	ServicePort    *intstr.IntOrString
	TargetGroupARN string
	Weight         *int32
	Decrypt        *bool
}

// maxWeight is the maximum weight of a target group in AWS.
const maxWeight = 999

// parseNetworkAction parses the value of an actions annotation of a Service.
func parseNetworkAction(raw string) (NetworkForward, error) {
	var in networkActionJSON
	if err := decodeAnnotation(raw, &in, networkActionForm); err != nil {
		return NetworkForward{}, err
	}
	c := in.ForwardConfig
	switch {
	case in.Type != "forward":
		return NetworkForward{}, fmt.Errorf("type %q is not forward%s", finding.TruncateValue(in.Type), finding.SpellingHint(in.Type, []string{"forward"}))
	case c == nil:
		return NetworkForward{}, errors.New("forward needs a forwardConfig")
	case len(c.TargetGroups) >= maxForwardTargetGroups:
		return NetworkForward{}, fmt.Errorf("forwardConfig has %d targetGroups, but AWS accepts at most %d in addition to the target group of the Service itself", len(c.TargetGroups), maxForwardTargetGroups-1)
	}
	out := NetworkForward{BaseServiceWeight: c.BaseServiceWeight}
	for i, t := range c.TargetGroups {
		target, err := parseNetworkTarget(t)
		if err != nil {
			return NetworkForward{}, fmt.Errorf("targetGroups[%d] %w", i, err)
		}
		out.Targets = append(out.Targets, target)
	}
	if err := out.checkBaseServiceWeight(); err != nil {
		return NetworkForward{}, err
	}
	if s := c.TargetGroupStickinessConfig; s != nil {
		out.Sticky = new(s.Enabled != nil && *s.Enabled)
	}
	return out, nil
}

func (f NetworkForward) checkBaseServiceWeight() error {
	if len(f.Targets) > 0 && f.BaseServiceWeight == nil {
		return errors.New("forwardConfig has targetGroups and therefore needs a baseServiceWeight, the weight of the Service itself")
	}
	if err := checkWeight(f.BaseServiceWeight); err != nil {
		return fmt.Errorf("baseServiceWeight %w", err)
	}
	return nil
}

func checkWeight(w *int32) error {
	if w != nil && (*w < 0 || *w > maxWeight) {
		return fmt.Errorf("has a weight of %d, which is not from 0 to %d", *w, maxWeight)
	}
	return nil
}

func parseNetworkTarget(t networkTargetJSON) (NetworkTarget, error) {
	out := NetworkTarget{Service: t.ServiceName, ARN: t.TargetGroupARN, Decrypt: t.Decrypt}
	switch {
	case t.TargetGroupARN != "" && t.ServiceName != "":
		return NetworkTarget{}, errors.New("names both a Service and a target group")
	case t.TargetGroupARN == "" && t.ServiceName == "":
		return NetworkTarget{}, errors.New("names neither a Service nor a target group")
	case t.ServiceName != "" && t.ServicePort == nil:
		return NetworkTarget{}, errors.New("has a serviceName without a servicePort")
	case t.Weight == nil:
		return NetworkTarget{}, errors.New("needs a weight, because the Service itself has a weight")
	}
	if t.ServiceName != "" {
		out.Port = *t.ServicePort
	}
	out.Weight = *t.Weight
	return out, checkWeight(t.Weight)
}
