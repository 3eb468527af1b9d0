package tree

import (
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// state is how a resource compares with the desired state.
type state string

const (
	live    state = "live"    // in AWS, as it is desired or held
	differs state = "differs" // in AWS, and the plan changes it
	missing state = "missing" // desired and not in AWS
	surplus state = "surplus" // in AWS, and the plan deletes it
)

// The documents are what AWS has, resource by resource, and what of the desired state is missing there.
type (
	Document struct {
		Cluster string  `json:"cluster"`
		Stacks  []Stack `json:"stacks"`
	}
	Stack struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		Held bool   `json:"held"`
		// Members are the objects that make up the load balancer.
		Members  []output.Object  `json:"members"`
		Findings []output.Finding `json:"findings"`
		// Leaving are members that go to another load balancer and are still served by this one.
		Leaving []Leaving `json:"leaving,omitempty"`
		// Accelerators are in place of load balancers in a stack of kind GlobalAccelerator.
		Accelerators  []Accelerator  `json:"accelerators,omitempty"`
		LoadBalancers []LoadBalancer `json:"loadBalancers"`
		TargetGroups  []TargetGroup  `json:"targetGroups"`
		// SecurityGroups are the stack's own.
		SecurityGroups []SecurityGroup `json:"securityGroups"`

		found finding.List
		// pending reports whether there is something to change, or a finding.
		pending bool
		names   plan.Names
	}
	SecurityGroup struct {
		compared
		ID      string   `json:"id,omitempty"`
		Name    string   `json:"name"`
		Ingress []string `json:"ingress"`
	}
	compared struct {
		State state  `json:"state"`
		ARN   string `json:"arn,omitempty"`
		// Note is what the state alone does not show: what a step waits for, why something is not made.
		Note string `json:"note,omitempty"`
		// Replaced is the load balancer whose replacement makes or deletes it; it is missing where another cause does.
		Replaced string         `json:"replaced,omitempty"`
		Changes  []output.Field `json:"changes,omitempty"`
	}
	LoadBalancer struct {
		compared
		Name      string       `json:"name"`
		Type      string       `json:"type"`
		Scheme    model.Scheme `json:"scheme"`
		Status    string       `json:"status,omitempty"` // AWS's word: provisioning, active, ...
		DNSName   string       `json:"dnsName,omitempty"`
		Listeners []Listener   `json:"listeners"`
		// Accelerators are the GlobalAccelerators that lead to it.
		Accelerators []output.Object `json:"accelerators,omitempty"`

		groups map[string]bool // ARNs of the target groups that AWS forwards to
	}
	Listener struct {
		compared
		Protocol     string        `json:"protocol"`
		Port         int32         `json:"port"`
		Certificates []Certificate `json:"certificates,omitempty"`
		Rules        []Rule        `json:"rules,omitempty"`
		Default      string        `json:"default"`
		// TargetGroups are the target groups of the default action: ids of the load balancer's own, ARNs of others.
		TargetGroups []string `json:"targetGroups,omitempty"`
	}
	Certificate struct {
		State   state    `json:"state"`
		ARN     string   `json:"arn"`
		Default bool     `json:"default"`
		Domains []string `json:"domains,omitempty"`
		Status  string   `json:"status,omitempty"`
		// Secret is the one that it was imported from.
		Secret string `json:"secret,omitempty"`
	}
	Rule struct {
		compared
		Priority   int32  `json:"priority"`
		Conditions string `json:"conditions"`
		Actions    string `json:"actions"`
		From       string `json:"from,omitempty"`
		// TargetGroups are ids of the load balancer's own, and ARNs of others.
		TargetGroups []string `json:"targetGroups,omitempty"`
	}
	TargetGroup struct {
		compared
		ID       string           `json:"id"`
		Name     string           `json:"name"`
		Type     model.TargetType `json:"type"`
		Protocol string           `json:"protocol"`
		Port     int32            `json:"port"`
		From     string           `json:"from,omitempty"`
		// Targets are null where their health is not known.
		Targets []Target `json:"targets"`
	}
	Target struct {
		ID          string `json:"id"`
		Port        int32  `json:"port"`
		State       string `json:"state"`
		Reason      string `json:"reason,omitempty"`
		Description string `json:"description,omitempty"`
		// Compared is missing for an endpoint that is not registered, and surplus for a target that is no endpoint.
		Compared state `json:"compared,omitempty"`
	}
)
