package properties

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Names and tags that AWS and Kubernetes accept.
var (
	elbName           = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?$`)
	securityGroupName = regexp.MustCompile(`^[A-Za-z0-9 ._:/()#,@\[\]+=&;{}!$*-]{1,255}$`)
	tagText           = regexp.MustCompile(`^[\pL\pZ\pN_.:/=+\-@]*$`)
	labelValue        = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$`)
	objectName        = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
)

// checkNamesAndTags checks the names and tags of all resources in have. AWS and Kubernetes must accept them, names and
// resource IDs must be unique, and tracking tags must be those of the stack.
func checkNamesAndTags(t *testing.T, seed uint64, want model.Stack, have observed.Stack) {
	t.Helper()
	seen := map[string]bool{}
	once := func(kind, what string) {
		if seen[kind+" "+what] {
			t.Errorf("seed %d: %s %q occurs twice", seed, kind, what)
		}
		seen[kind+" "+what] = true
	}
	name := func(kind string, form *regexp.Regexp, n string) {
		if !form.MatchString(n) || strings.HasPrefix(n, "internal-") || strings.HasPrefix(n, "sg-") {
			t.Errorf("seed %d: %s has the name %q", seed, kind, n)
		}
		once(kind+" name", n)
	}
	tags := func(kind, within string, tags map[string]string, tracked bool) {
		for k, v := range tags {
			if k == "" || utf8.RuneCountInString(k) > 128 || utf8.RuneCountInString(v) > 256 || strings.HasPrefix(strings.ToLower(k), "aws:") ||
				!tagText.MatchString(k) || !tagText.MatchString(v) {
				t.Errorf("seed %d: %s has the tag %q=%q", seed, kind, k, v)
			}
		}
		if len(tags) > 50 {
			t.Errorf("seed %d: %s has %d tags", seed, kind, len(tags))
		}
		if !tracked {
			return
		}
		id := tags[naming.ResourceTag(want.ID.Kind)]
		if id == "" || tags[naming.StackTag(want.ID.Kind)] != want.ID.String() || tags["elbv2.k8s.aws/cluster"] != planOptions.Cluster {
			t.Errorf("seed %d: %s is not tracked: %v", seed, kind, tags)
		}
		if kind != "target group" || !hasHeldRuleOrMember(want) {
			once(kind+" of "+within, id)
		}
	}
	for _, lb := range have.LoadBalancers {
		name("load balancer", elbName, lb.Name)
		tags("load balancer", "", lb.Tags, true)
		for _, l := range lb.Listeners {
			tags("listener", "", l.Tags, true)
			for _, r := range l.Rules {
				tags("rule", lb.ARN, r.Tags, true)
			}
		}
	}
	for _, g := range have.TargetGroups {
		name("target group", elbName, g.Name)
		tags("target group", "", g.Tags, true)
	}
	for _, g := range have.SecurityGroups {
		name("security group", securityGroupName, g.Name)
		tags("security group", "", g.Tags, true)
	}
	if g := have.Facts.BackendSecurityGroup; g != nil {
		name("security group", securityGroupName, g.Name)
		tags("backend group", "", g.Tags, false)
	}
	for _, b := range have.Bindings {
		if !objectName.MatchString(b.Name) {
			t.Errorf("seed %d: a binding has the name %q", seed, b.Name)
		}
		once("binding", b.Namespace+"/"+b.Name)
		for k, v := range b.Labels {
			if !labelValue.MatchString(v) {
				t.Errorf("seed %d: a binding has the label %s=%q", seed, k, v)
			}
		}
	}
}

// hasHeldRuleOrMember reports whether a rule, default action or member is held, or no load balancer is desired. Then two
// target groups may have the same resource ID: an old and a new one.
func hasHeldRuleOrMember(s model.Stack) bool {
	if s.Held.AllResources || len(s.Held.Members) > 0 || s.LoadBalancer == nil {
		return true
	}
	for _, l := range s.LoadBalancer.Listeners {
		if l.DefaultHeld != 0 {
			return true
		}
		for _, r := range l.Rules {
			if r.Held != 0 {
				return true
			}
		}
	}
	return false
}
