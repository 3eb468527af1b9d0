package tree

import (
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// state is the result of comparing a resource in AWS with the desired state.
type state string

const (
	stateLive    state = "live"    // the resource exists in AWS as desired, or is held
	stateDiffers state = "differs" // the resource exists in AWS, and the plan changes it
	stateMissing state = "missing" // the resource is desired and does not exist in AWS
	stateSurplus state = "surplus" // the resource exists in AWS, and the plan deletes it
)

// The resources of stacks in AWS, and the desired resources that are missing in AWS, for JSON and YAML.
type (
	// Document is the output of the command tree.
	Document struct {
		Cluster string  `json:"cluster"`
		Stacks  []Stack `json:"stacks"`
	}
	// Stack is a load balancer, or an accelerator, with all that belongs to it.
	Stack struct {
		Kind string `json:"kind"`
		ID   string `json:"id"`
		// Held reports whether nothing of the stack is changed, because its desired state cannot be determined.
		Held bool `json:"held"`
		// Members are the objects that contribute to the stack.
		Members  []output.Object  `json:"members"`
		Findings []output.Finding `json:"findings"`
		// Leaving are members that move to another load balancer, while this load balancer still serves them.
		Leaving []LeavingMember `json:"leaving,omitempty"`
		// Accelerators replaces LoadBalancers in a stack of kind GlobalAccelerator.
		Accelerators  []Accelerator  `json:"accelerators,omitempty"`
		LoadBalancers []LoadBalancer `json:"loadBalancers"`
		TargetGroups  []TargetGroup  `json:"targetGroups"`
		// SecurityGroups are the security groups that the controller manages for the load balancer.
		SecurityGroups []SecurityGroup `json:"securityGroups"`

		stack       model.StackID
		findingList finding.List // the source of Findings
		// hasChangesOrFindings reports whether the plan has steps or the stack has findings.
		hasChangesOrFindings bool
		names                plan.ResourceNames // readable names in place of ARNs and ids
	}
	// SecurityGroup is a security group with its ingress rules.
	SecurityGroup struct {
		comparison
		ID      string   `json:"id,omitempty"`
		Name    string   `json:"name"`
		Ingress []string `json:"ingress"`
	}
	// comparison is the difference between a resource in AWS and its desired state.
	comparison struct {
		State state  `json:"state"`
		ARN   string `json:"arn,omitempty"`
		// Note explains the state. For example, it has the condition for which a step waits, or the reason why the resource
		// is not created.
		Note string `json:"note,omitempty"`
		// Replaced is the load balancer whose replacement creates or deletes the resource. It is missing if there is another
		// reason.
		Replaced string `json:"replaced,omitempty"`
		// Changes are the values that the plan changes.
		Changes []output.Field `json:"changes,omitempty"`
	}
	// LoadBalancer is a load balancer with its listeners.
	LoadBalancer struct {
		comparison
		Name   string       `json:"name"`
		Type   string       `json:"type"`
		Scheme model.Scheme `json:"scheme"`
		// Status is the state code that AWS shows: provisioning, active, active_impaired or failed.
		Status    string     `json:"status,omitempty"`
		DNSName   string     `json:"dnsName,omitempty"`
		Listeners []Listener `json:"listeners"`
		// Accelerators are the GlobalAccelerators that have an endpoint with this load balancer.
		Accelerators []output.Object `json:"accelerators,omitempty"`

		forwardedTargetGroups map[string]bool // ARNs of the target groups that listeners and rules forward to in AWS
	}
	// Listener is a listener with its certificates and rules.
	Listener struct {
		comparison
		Protocol     string        `json:"protocol"`
		Port         int32         `json:"port"`
		Certificates []Certificate `json:"certificates,omitempty"`
		Rules        []Rule        `json:"rules,omitempty"`
		Default      string        `json:"default"`
		// TargetGroups are the target groups of the default action: IDs of target groups of the stack, and ARNs or names
		// of other target groups.
		TargetGroups []string `json:"targetGroups,omitempty"`
	}
	// Certificate is a certificate of a listener.
	Certificate struct {
		State   state    `json:"state"`
		ARN     string   `json:"arn"`
		Default bool     `json:"default"`
		Domains []string `json:"domains,omitempty"`
		Status  string   `json:"status,omitempty"`
		// Secret is NAMESPACE/NAME of the TLS Secret that the certificate was imported from.
		Secret string `json:"secret,omitempty"`
	}
	// Rule is a listener rule.
	Rule struct {
		comparison
		Priority   int32  `json:"priority"`
		Conditions string `json:"conditions"`
		Actions    string `json:"actions"`
		// From is the object and field that the rule comes from.
		From string `json:"from,omitempty"`
		// TargetGroups are the target groups of the actions: IDs of target groups of the stack, and ARNs or names of
		// other target groups.
		TargetGroups []string `json:"targetGroups,omitempty"`
	}
	// TargetGroup is a target group with its targets.
	TargetGroup struct {
		comparison
		ID       string           `json:"id"`
		Name     string           `json:"name"`
		Type     model.TargetType `json:"type"`
		Protocol string           `json:"protocol"`
		Port     int32            `json:"port"`
		// From is the object and field that the target group comes from.
		From string `json:"from,omitempty"`
		// Targets is null if the health of the targets is not known.
		Targets []Target `json:"targets"`
	}
	// Target is a target with its health, as AWS shows it.
	Target struct {
		ID          string `json:"id"`
		Port        int32  `json:"port"`
		State       string `json:"state"`
		Reason      string `json:"reason,omitempty"`
		Description string `json:"description,omitempty"`
		// Compared is "missing" for an endpoint that is not registered, and "surplus" for a target that is not an endpoint.
		// There is no value for other targets.
		Compared state `json:"compared,omitempty"`
	}
)
