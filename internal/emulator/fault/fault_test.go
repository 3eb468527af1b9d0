package fault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestRules(t *testing.T) {
	denied := &store.Error{Code: "AccessDenied"}
	cases := map[string]struct {
		rule fault.Rule
		call fault.Call
		want []bool // whether each of several consecutive calls fails
	}{
		"every call of an operation": {
			rule: fault.Rule{Operation: "CreateRule"},
			call: fault.Call{Operation: "CreateRule"},
			want: []bool{true, true, true},
		},
		"other operations do not match": {
			rule: fault.Rule{Operation: "CreateRule"},
			call: fault.Call{Operation: "DeleteRule"},
			want: []bool{false, false},
		},
		"the second call only": {
			rule: fault.Rule{Operation: "Create*", Skip: 1, Count: 1},
			call: fault.Call{Operation: "CreateRule"},
			want: []bool{false, true, false},
		},
		"reads do not match with MutatingOnly": {
			rule: fault.Rule{MutatingOnly: true},
			call: fault.Call{Operation: "DescribeRules"},
			want: []bool{false},
		},
		"changes match with MutatingOnly": {
			rule: fault.Rule{MutatingOnly: true},
			call: fault.Call{Operation: "CreateRule", Mutating: true},
			want: []bool{true},
		},
		"calls of the service match": {
			rule: fault.Rule{Service: "acm"},
			call: fault.Call{Service: "acm", Operation: "ListCertificates"},
			want: []bool{true},
		},
		"another service does not match": {
			rule: fault.Rule{Service: "ec2"},
			call: fault.Call{Service: "acm", Operation: "ListCertificates"},
			want: []bool{false},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := fault.NewSet()
			c.rule.Action.Error = denied
			s.Add(c.rule)
			var got []bool
			for range c.want {
				got = append(got, s.Decide(c.call).Error != nil)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHookGetsCallNumbers(t *testing.T) {
	s := fault.NewSet()
	s.Decide(fault.Call{Operation: "CreateRule", Mutating: true})
	var got [][3]int
	s.SetHook(func(c fault.Call) fault.Action {
		got = append(got, [3]int{c.Sequence, c.Number, c.Mutation})
		return fault.Action{}
	})
	s.Decide(fault.Call{Operation: "DescribeRules"})
	s.Decide(fault.Call{Operation: "CreateRule", Mutating: true})
	s.Decide(fault.Call{Operation: "CreateRule", Mutating: true})
	want := [][3]int{{1, 1, 0}, {2, 1, 1}, {3, 2, 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentedLimits(t *testing.T) {
	cases := map[string]struct {
		limits fault.Limits
		call   fault.Call
		burst  int // number of calls admitted at startTime
		later  int // number of calls admitted ten seconds later
	}{
		"creating load balancers":       {fault.DocumentedLimits(1), fault.Call{Service: "elasticloadbalancing", Operation: "CreateLoadBalancer"}, 10, 2},
		"other changes":                 {fault.DocumentedLimits(1), fault.Call{Service: "elasticloadbalancing", Operation: "CreateRule"}, 20, 20},
		"reads":                         {fault.DocumentedLimits(1), fault.Call{Service: "elasticloadbalancing", Operation: "DescribeRules"}, 200, 200},
		"reads with the limits of 2025": {fault.DocumentedLimits2025(1), fault.Call{Service: "elasticloadbalancing", Operation: "DescribeRules"}, 40, 40},
		"factor 5":                      {fault.DocumentedLimits(5), fault.Call{Service: "elasticloadbalancing", Operation: "CreateRule"}, 100, 100},
		"unfiltered reads of instances": {fault.DocumentedLimits(1), fault.Call{Service: "ec2", Operation: "DescribeInstances", Unfiltered: true}, 50, 50},
		"filtered reads of instances":   {fault.DocumentedLimits(1), fault.Call{Service: "ec2", Operation: "DescribeInstances"}, 100, 100},
		"rules of security groups":      {fault.DocumentedLimits(1), fault.Call{Service: "ec2", Operation: "AuthorizeSecurityGroupIngress"}, 50, 50},
		"tags":                          {fault.DocumentedLimits(1), fault.Call{Service: "ec2", Operation: "CreateTags"}, 100, 100},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := fault.NewSet()
			s.SetLimits(c.limits)
			passing := func(at time.Time) int {
				c.call.Time = at
				for n := 0; ; n++ {
					if s.Decide(c.call).Error != nil {
						return n
					}
				}
			}
			if got := passing(startTime); got != c.burst {
				t.Errorf("burst: want %d, got %d", c.burst, got)
			}
			if got := passing(startTime.Add(10 * time.Second)); got != c.later {
				t.Errorf("ten seconds later: want %d, got %d", c.later, got)
			}
		})
	}
}

func TestDenialNamesTheIAMAction(t *testing.T) {
	want := map[string][2]string{
		"ec2": {"UnauthorizedOperation", "ec2:Do"}, "elasticloadbalancing": {"AccessDenied", "elasticloadbalancing:Do"},
		"acm": {"AccessDeniedException", "acm:Do"}, "tagging": {"AccessDeniedException", "tag:Do"},
	}
	for service, w := range want {
		s := fault.NewSet()
		s.Add(fault.Rule{Action: fault.Action{Deny: true}})
		got := s.Decide(fault.Call{Service: service, Operation: "Do"}).Error
		if got == nil || got.Code != w[0] || !strings.Contains(got.Message, "not authorized to perform: "+w[1]) {
			t.Errorf("%s: %v", service, got)
		}
	}
}
