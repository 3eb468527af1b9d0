package settings

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Action is the parsed value of an actions annotation: a redirect or fixed response in Direct, or, if Direct is nil, a
// forward to Targets.
type Action struct {
	Direct     model.Action // Redirect or FixedResponse
	Targets    []ActionTarget
	Stickiness *model.TargetGroupStickiness
}

// ActionTarget is a target of a forward: a port of a Service in the namespace of the Ingress, or a target group that the
// controller does not own, by ARN or name.
type ActionTarget struct {
	Service   string
	Port      intstr.IntOrString
	ARN, Name string
	Weight    *int32
}

type actionJSON struct {
	Type                string
	TargetGroupARN      string
	TargetGroupName     string
	FixedResponseConfig *struct {
		ContentType, MessageBody, StatusCode string
	}
	RedirectConfig *struct {
		Host, Path, Port, Protocol, StatusCode string
		Query                                  *string
	}
	ForwardConfig *struct {
		TargetGroups                []actionTargetJSON
		TargetGroupStickinessConfig *struct {
			Enabled         *bool
			DurationSeconds *int32
		}
	}
}

type actionTargetJSON struct {
	ServiceName     string
	ServicePort     *intstr.IntOrString
	TargetGroupARN  string
	TargetGroupName string
	Weight          *int32
}

var actionTypes = []string{"forward", "redirect", "fixed-response"}

// parseAction parses the value of an actions annotation of an Ingress.
func parseAction(raw string) (Action, error) {
	var in actionJSON
	if err := decodeAnnotation(raw, &in, actionForm); err != nil {
		return Action{}, err
	}
	switch in.Type {
	case "fixed-response":
		c := in.FixedResponseConfig
		if c == nil || c.StatusCode == "" {
			return Action{}, errors.New("fixed-response needs a fixedResponseConfig with a statusCode")
		}
		return Action{Direct: model.FixedResponse{Status: c.StatusCode, ContentType: c.ContentType, Body: c.MessageBody}}, nil
	case "redirect":
		c := in.RedirectConfig
		if c == nil || c.StatusCode == "" {
			return Action{}, errors.New("redirect needs a redirectConfig with a statusCode")
		}
		to := model.Redirect{Host: c.Host, Path: c.Path, Port: c.Port, Protocol: c.Protocol, Status: c.StatusCode}
		if c.Query != nil {
			to.Query, to.DropQuery = *c.Query, *c.Query == ""
		}
		return Action{Direct: to}, nil
	case "forward":
		return parseForward(in)
	}
	return Action{}, fmt.Errorf("type %q is not one of %s%s", in.Type, strings.Join(actionTypes, ", "), finding.SpellingHint(in.Type, actionTypes))
}

// maxForwardTargetGroups is the maximum number of target groups of a forward action in AWS.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
const maxForwardTargetGroups = 5

func parseForward(in actionJSON) (Action, error) {
	simple := in.TargetGroupARN != "" || in.TargetGroupName != ""
	if simple == (in.ForwardConfig != nil) {
		return Action{}, errors.New("forward needs exactly one of targetGroupARN, targetGroupName and forwardConfig")
	}
	if simple {
		return Action{Targets: []ActionTarget{externalTarget(in.TargetGroupARN, in.TargetGroupName, nil)}}, nil
	}
	if n := len(in.ForwardConfig.TargetGroups); n > maxForwardTargetGroups {
		return Action{}, fmt.Errorf("forwardConfig has %d targetGroups, but AWS accepts at most %d", n, maxForwardTargetGroups)
	}
	var out Action
	for i, t := range in.ForwardConfig.TargetGroups {
		target, err := parseTarget(t)
		if err == nil {
			err = checkWeight(target.Weight)
		}
		if err != nil {
			return Action{}, fmt.Errorf("targetGroups[%d] %w", i, err)
		}
		if t.Weight == nil && len(in.ForwardConfig.TargetGroups) > 1 {
			return Action{}, fmt.Errorf("targetGroups[%d] needs a weight, because forwardConfig has more than one target group", i)
		}
		out.Targets = append(out.Targets, target)
	}
	if len(out.Targets) == 0 {
		return Action{}, errors.New("forwardConfig has no targetGroups")
	}
	if s := in.ForwardConfig.TargetGroupStickinessConfig; s != nil {
		out.Stickiness = &model.TargetGroupStickiness{Enabled: s.Enabled, Duration: s.DurationSeconds}
	}
	return out, nil
}

func parseTarget(t actionTargetJSON) (ActionTarget, error) {
	byGroup := t.TargetGroupARN != "" || t.TargetGroupName != ""
	switch {
	case byGroup && t.ServiceName != "":
		return ActionTarget{}, errors.New("names both a Service and a target group")
	case byGroup:
		return externalTarget(t.TargetGroupARN, t.TargetGroupName, t.Weight), nil
	case t.ServiceName == "":
		return ActionTarget{}, errors.New("names neither a Service nor a target group")
	case t.ServicePort == nil:
		return ActionTarget{}, errors.New("has a serviceName without a servicePort")
	}
	port := *t.ServicePort
	if port.Type == intstr.String {
		// A port number in quotes means the same port as a number without quotes, and must result in the same target group.
		port = intstr.Parse(port.StrVal)
	}
	return ActionTarget{Service: t.ServiceName, Port: port, Weight: t.Weight}, nil
}

// externalTarget returns the ActionTarget for a target group that the controller does not own. An ARN has precedence over a
// name.
func externalTarget(arn, name string, weight *int32) ActionTarget {
	if arn != "" {
		name = ""
	}
	return ActionTarget{ARN: arn, Name: name, Weight: weight}
}
