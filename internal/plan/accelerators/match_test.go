package accelerators_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/accelerators"
)

// TestListenersAreMatched checks which existing listener is changed to a desired one. Listeners are written as protocol and
// ports, with "+" for client affinity SOURCE_IP; the result is the index of the existing listener and the similarity.
func TestListenersAreMatched(t *testing.T) {
	t.Parallel()
	parse := func(text string) (protocol model.BaseProtocol, ports []model.PortRange, sourceIP bool) {
		for i, field := range strings.Fields(strings.TrimSuffix(text, "+")) {
			var p model.PortRange
			switch n, _ := fmt.Sscanf(field, "%d-%d", &p.From, &p.To); {
			case i == 0:
				protocol = model.BaseProtocol(field)
				continue
			case n == 1:
				p.To = p.From
			}
			ports = append(ports, p)
		}
		return protocol, ports, strings.HasSuffix(text, "+")
	}
	for name, c := range map[string]struct {
		want, have []string
		result     string
	}{
		"the same protocol and affinity": {[]string{"TCP 80"}, []string{"TCP 443"}, "0:50"},
		"half of the ports":              {[]string{"TCP 80-81"}, []string{"TCP 80+"}, "0:90"},
		"a third of the ports":           {[]string{"TCP 80-82"}, []string{"TCP 80+"}, "0:73"},
		"another protocol":               {[]string{"UDP 53"}, []string{"TCP 53"}, "0:110"},
		"only the affinity":              {[]string{"UDP 53"}, []string{"TCP 80"}, "new"},
		"more ports":                     {[]string{"TCP 443 8443"}, []string{"TCP 443"}, "0:100"},
		"the most similar one":           {[]string{"TCP 80-81"}, []string{"TCP 80-85", "TCP 80-82"}, "1:116"},
		"equal ones first":               {[]string{"TCP 80-81", "TCP 80"}, []string{"TCP 80"}, "new 0:150"},
		"equal ones, another affinity":   {[]string{"TCP 443", "TCP 80"}, []string{"TCP 80+", "TCP 443"}, "1:150 0:140"},
		"in the order of the spec":       {[]string{"TCP 1", "TCP 2", "TCP 3"}, []string{"TCP 8", "TCP 9"}, "0:50 1:50 new"},
	} {
		want := model.Stack{ID: model.StackID{Kind: model.GlobalAccelerator, Namespace: "shop", Name: "edge"}, Accelerator: &model.Accelerator{}}
		for i, text := range c.want {
			l := model.AcceleratorListener{ID: fmt.Sprint("Listener-", i)}
			l.Protocol, l.Ports, l.SourceIP = parse(text)
			want.Accelerator.Listeners = append(want.Accelerator.Listeners, l)
		}
		live := observed.Accelerator{ARN: "acc"}
		for i, text := range c.have {
			l := observed.AcceleratorListener{ARN: fmt.Sprint(i)}
			l.Protocol, l.Ports, l.SourceIP = parse(text)
			live.Listeners = append(live.Listeners, l)
		}
		var got []string
		for _, l := range accelerators.Choose(want, observed.Stack{Accelerators: []observed.Accelerator{live}}, plan.Options{}, plan.Memory{}).Accelerator.Listeners {
			text := "new"
			if l.Live != nil {
				text = fmt.Sprintf("%s:%d", l.Live.ARN, l.Score)
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.result {
			t.Errorf("%s: %s, want %s", name, text, c.result)
		}
	}
}
