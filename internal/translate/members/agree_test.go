package members

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

var (
	errNoValue = errors.New("no value")
	createdAt  = time.Unix(1000000, 0)
)

// newTestMember returns an Ingress with a value for setting Name. If says begins with "class:", the class sets the value,
// otherwise an annotation of the Ingress. If says is empty, there is no value; if says is "?", the value cannot be read. The
// last character of name determines the creation time: "1" is older than "2".
func newTestMember(name, says string) *Member {
	namespace, _, _ := strings.Cut(name, "/")
	m := &Member{
		Ref:     finding.Ref{Kind: "Ingress", Namespace: namespace, Name: strings.TrimPrefix(name, namespace+"/")},
		Created: createdAt.Add(time.Duration(name[len(name)-1]) * time.Minute),
	}
	m.ClaimedAt = m.Created
	m.Set.Class.Origin = finding.Origin{Object: finding.Ref{Kind: "IngressClassParams", Name: "class-" + namespace}, Field: "spec.x"}
	from := finding.Origin{Object: m.Ref, Field: "x"}
	if v, ok := strings.CutPrefix(says, "class:"); ok {
		from, says = m.Set.Class.Origin, v
	}
	switch says {
	case "":
	case "?":
		m.Set.Name = settings.Opt[string]{Fault: errNoValue, Origin: from}
	default:
		m.Set.Name = settings.NewOpt(says, from)
	}
	return m
}

// parseMembers returns members. Each item of list is "namespace/name=value".
func parseMembers(list ...string) (out []*Member) {
	for _, x := range list {
		name, says, _ := strings.Cut(x, "=")
		out = append(out, newTestMember(name, says))
	}
	return out
}

func nameSetting(m *Member) settings.Opt[string] { return m.Set.Name }

// liveStackServing returns an observed stack with a listener on a port. The listener has one rule for each of the objects in
// names, which are "namespace/name".
func liveStackServing(port int32, protocol string, names ...string) *observed.Stack {
	l := observed.Listener{ARN: "listener", Port: port, Protocol: protocol}
	live := &observed.Stack{}
	for _, name := range names {
		live.TargetGroups = append(live.TargetGroups, observed.TargetGroup{ARN: "arn/" + name, ResourceID: name + "-web:80"})
		l.Rules = append(l.Rules, observed.Rule{Actions: []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: "arn/" + name}}}}}})
	}
	live.LoadBalancers = []observed.LoadBalancer{{ARN: "lb", ResourceID: model.LoadBalancerID, Name: "live", Listeners: []observed.Listener{l}}}
	return live
}

// reportedText returns the name of the object and the reason of each finding.
func reportedText(l finding.List) string {
	var out []string
	for _, f := range l {
		out = append(out, f.Object.Name+" "+string(f.Reason))
	}
	return strings.Join(out, ", ")
}

// TestSettingHasOneValueIfMembersDiffer checks which value MergeSetting returns if members set different values.
func TestSettingHasOneValueIfMembersDiffer(t *testing.T) {
	live := func(v string) *LiveValue[string] { x := LiveValueOf(v, true, Equal[string]); return &x }
	for name, x := range map[string]struct {
		members []string
		live    *LiveValue[string]
		edit    func(*Translation)
		want    string
		kept    bool
		agreed  bool // whether Contested is not set
		found   string
	}{
		"none says anything":                     {members: []string{"a/1", "b/2"}, agreed: true},
		"one does":                               {members: []string{"a/1", "b/2=x"}, want: "x", agreed: true},
		"all say the same":                       {members: []string{"a/1=x", "b/2=x"}, want: "x", agreed: true},
		"the first decides on what is new":       {members: []string{"a/1=x", "b/2=y"}, want: "x", found: "2 AnnotationConflict"},
		"what exists in AWS stays":               {members: []string{"a/1=x", "b/2=y"}, live: live("y"), want: "y", found: "1 AnnotationConflict"},
		"unless none asks for it":                {members: []string{"a/1=x", "b/2=y"}, live: live("z"), want: "x", found: "2 AnnotationConflict"},
		"one that cannot be read may ask for it": {members: []string{"a/1=x", "b/2=?"}, live: live("z"), want: "z", kept: true, found: "1 AnnotationConflict"},
		"but not where nothing is live":          {members: []string{"a/1=x", "b/2=?"}, live: &LiveValue[string]{Absent: true}, want: "x"},
		"nor where another asks for it":          {members: []string{"a/1=x", "b/2=?"}, live: live("x"), want: "x"},
		"what AWS does not show is not changed":  {members: []string{"a/1=x", "b/2=y"}, live: &LiveValue[string]{Unavailable: true}, want: "x"},
		"what AWS cannot compare may be live": {members: []string{"a/1=x", "b/2=y"}, want: "live", kept: true, found: "2 AnnotationConflict",
			edit: func(tr *Translation) {
				tr.Members[0].Set.Name.Value = "unanswered"
			}, live: &LiveValue[string]{Known: true, Value: "live"}},
		"a class that is missing may have asked for it": {members: []string{"a/1=x"}, live: live("z"), want: "z", kept: true, found: "1 AnnotationConflict",
			edit: withPreviousMember("old/9")},
		"and no new member decides meanwhile": {members: []string{"a/1=x"}, live: &LiveValue[string]{}, found: "1 AnnotationConflict",
			edit: withPreviousMember("old/9")},
		"unless nothing is live": {members: []string{"a/1=x"}, live: &LiveValue[string]{Absent: true}, want: "x", edit: withPreviousMember("old/9")},
		"or another class decided before it came": {members: []string{"a/1=class:x"}, live: live("z"), want: "x",
			edit: func(tr *Translation) {
				setIsolated(tr)
				tr.Members[0].StackNamedByClass = true
				withPreviousMember("old/9")(tr)
			}},
		"but not one that came later": {members: []string{"a/1=class:x"}, live: live("z"), want: "z", kept: true, found: "1 AnnotationConflict",
			edit: func(tr *Translation) {
				setIsolated(tr)
				tr.Members[0].StackNamedByClass = true
				withPreviousMember("old/0")(tr)
				tr.Live = liveStackServing(80, "HTTP", "old/0")
			}},
		"unless it served nothing": {members: []string{"a/1=x"}, live: live("z"), want: "x", agreed: false,
			edit: withPreviousMember("new/9")},
		"in isolated tenancy members decide nothing":     {members: []string{"a/1=x", "b/2=y"}, edit: setIsolated, found: "1 SettingOfClass, 2 SettingOfClass"},
		"but what exists in AWS stays":                   {members: []string{"a/1=x", "b/2=y"}, live: live("y"), edit: setIsolated, want: "y", found: "1 SettingOfClass"},
		"the class decides":                              {members: []string{"a/1=class:x", "b/2=y"}, live: live("y"), edit: setIsolated, want: "x", found: "2 SettingOfClass"},
		"that of the oldest claim":                       {members: []string{"b/2=class:y", "a/1=class:x"}, edit: setIsolated, want: "x", found: "2 SettingOfClass"},
		"or of a member that is served":                  {members: []string{"a/1=class:x", "old/9=class:y"}, live: live("z"), edit: setIsolated, want: "y", found: "1 SettingOfClass"},
		"the owner decides before guests":                {members: []string{"guest/1=x", "own/2=y"}, edit: setOwner, want: "y", found: "1 AnnotationConflict"},
		"also by silence":                                {members: []string{"guest/1=x", "own/2"}, edit: setOwner, found: "1 AnnotationConflict"},
		"unless what a guest asks for is live":           {members: []string{"guest/1=x", "own/2"}, live: live("x"), edit: setOwner, want: "x"},
		"a guest that cannot be read counts for nothing": {members: []string{"guest/1=?", "own/2=y"}, live: live("z"), edit: setOwner, want: "y", agreed: true},
		"guests without an owner are no guests":          {members: []string{"guest/1=x", "guest/2"}, edit: setOwner, want: "x", agreed: true},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &Translation{Members: parseMembers(x.members...), ClassKind: "IngressClassParams"}
			if x.live != nil {
				tr.Live = liveStackServing(80, "HTTP", "old/9")
			}
			if x.edit != nil {
				x.edit(tr)
			}
			tr.FindRetainedMember()
			current := func() LiveValue[string] {
				i := *x.live
				if i.Known && i.Matches == nil {
					i.Matches = func(v string) bool {
						if v == "unanswered" {
							tr.CountUnknownLiveValue()
						}
						return false
					}
				}
				return i
			}
			got := MergeSetting(tr, tr.Members, "x", nameSetting, Equal[string], current)
			if got.Value != x.want || got.Set != (x.want != "") || got.RetainsObserved != x.kept {
				t.Errorf("got %q, set %v, kept %v", got.Value, got.Set, got.RetainsObserved)
			}
			if tr.Stack.Contested == x.agreed {
				t.Errorf("contested: %v", tr.Stack.Contested)
			}
			if reportedText(tr.Found) != x.found {
				t.Errorf("findings: %v", tr.Found)
			}
		})
	}
}

// withPreviousMember adds a previous member that retains its rights.
func withPreviousMember(name string) func(*Translation) {
	return func(t *Translation) {
		m := newTestMember(name, "")
		m.RetainsRights = true
		t.Previous = append(t.Previous, m)
	}
}

func setIsolated(t *Translation) { t.Isolated = true }

func setOwner(t *Translation) { t.Owner = new("own") }

// memberWithAttributes returns a member with load balancer attributes. A pair "k=v" is an attribute of the member, and
// "class.k=v" an attribute of its class.
func memberWithAttributes(name string, pairs ...string) *Member {
	m := newTestMember(name, "")
	own, ofClass := map[string]string{}, map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		if c, ok := strings.CutPrefix(k, "class."); ok {
			ofClass[c] = v
		} else {
			own[k] = v
		}
	}
	m.Set.Class.Attributes = ofClass
	if len(own) > 0 {
		m.Set.Attributes = settings.NewOpt(own, finding.Origin{Object: m.Ref, Field: "attributes"})
	}
	return m
}

// TestEachKeyOfAMapIsMergedSeparately checks the result of MergeMapSetting if members set different values for keys of a
// map. Each key is a separate setting.
func TestEachKeyOfAMapIsMergedSeparately(t *testing.T) {
	for name, x := range map[string]struct {
		members []*Member
		live    map[string]string
		edit    func(*Translation)
		want    map[string]string
		found   string
	}{
		"keys are united":                              {members: []*Member{memberWithAttributes("a/1", "k=1"), memberWithAttributes("b/2", "l=2")}, want: map[string]string{"k": "1", "l": "2"}},
		"the first decides on each":                    {members: []*Member{memberWithAttributes("a/1", "k=1"), memberWithAttributes("b/2", "k=2", "l=2")}, want: map[string]string{"k": "1", "l": "2"}, found: "2 AnnotationConflict"},
		"what exists in AWS stays":                     {members: []*Member{memberWithAttributes("a/1", "k=1"), memberWithAttributes("b/2", "k=2")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "2"}, found: "1 AnnotationConflict"},
		"the first class decides":                      {members: []*Member{memberWithAttributes("a/1", "class.k=1", "k=3"), memberWithAttributes("a/2", "k=2")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "1"}},
		"unless another has the live":                  {members: []*Member{memberWithAttributes("a/1", "class.k=1"), memberWithAttributes("b/2", "class.k=2")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "2"}, found: "1 AnnotationConflict"},
		"or a member of another class":                 {members: []*Member{memberWithAttributes("a/1", "class.k=1"), memberWithAttributes("b/2", "k=2")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "2"}, found: "1 AnnotationConflict"},
		"another class is not heard on what is new":    {members: []*Member{memberWithAttributes("a/1"), memberWithAttributes("b/2", "class.k=2")}, want: map[string]string{}},
		"but on what is live":                          {members: []*Member{memberWithAttributes("a/1"), memberWithAttributes("b/2", "class.k=2"), memberWithAttributes("c/3", "k=3")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "2"}, found: "3 AnnotationConflict"},
		"also where no member names the key":           {members: []*Member{memberWithAttributes("a/1"), memberWithAttributes("b/2", "class.k=2")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "2"}},
		"for nothing that is not live":                 {members: []*Member{memberWithAttributes("a/1"), memberWithAttributes("b/2", "class.k=2")}, live: map[string]string{"k": "3"}, want: map[string]string{}},
		"a class that is missing has the live value":   {members: []*Member{memberWithAttributes("a/1", "class.k=1")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "2"}, found: "1 AnnotationConflict", edit: withPreviousMember("old/9")},
		"in isolated tenancy the class decides":        {members: []*Member{memberWithAttributes("a/1", "class.k=1"), memberWithAttributes("b/2", "k=2", "class.l=2")}, edit: setIsolated, want: map[string]string{"k": "1"}},
		"a member that cannot be read may ask for all": {members: []*Member{memberWithAttributes("a/1", "k=1"), memberWithUnavailableAttributes("b/2")}, live: map[string]string{"k": "2"}, want: map[string]string{"k": "2"}, found: "1 AnnotationConflict"},
		"but for nothing that is not live":             {members: []*Member{memberWithAttributes("a/1", "k=1"), memberWithUnavailableAttributes("b/2")}, live: map[string]string{}, want: map[string]string{"k": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &Translation{Members: x.members, ClassKind: "IngressClassParams"}
			if x.live != nil {
				tr.Live = liveStackServing(80, "HTTP", "old/9")
			}
			if x.edit != nil {
				x.edit(tr)
			}
			tr.FindRetainedMember()
			got := MergeMapSetting(tr, tr.Members, "attributes", func(m *Member) settings.Opt[map[string]string] { return m.Set.Attributes },
				func(c settings.Class) map[string]string { return c.Attributes }, func() map[string]string { return x.live }, Equal[string])
			if !maps.Equal(got, x.want) {
				t.Errorf("got %v, want %v", got, x.want)
			}
			if reportedText(tr.Found) != x.found {
				t.Errorf("findings: %v", tr.Found)
			}
		})
	}
	all := []*Member{memberWithAttributes("a/1", "k=1", "class.k=1"), memberWithAttributes("a/2", "class.k=1"), memberWithAttributes("b/3", "k=3")}
	var askers []string
	for _, o := range OriginsOfKeys(all, func(m *Member) settings.Opt[map[string]string] { return m.Set.Attributes }, func(c settings.Class) map[string]string { return c.Attributes }) {
		askers = append(askers, o.Object.Name)
	}
	if got := strings.Join(askers, " "); got != "1 class-a 3" {
		t.Errorf("who asks: %s", got)
	}
}

func memberWithUnavailableAttributes(name string) *Member {
	m := newTestMember(name, "")
	m.Set.Attributes = settings.Opt[map[string]string]{Fault: errNoValue, Origin: finding.Origin{Object: m.Ref, Field: "attributes"}}
	return m
}

// TestProtocolsOfPorts checks which members listen on a port if the members disagree on its protocol.
func TestProtocolsOfPorts(t *testing.T) {
	for name, x := range map[string]struct {
		tls      []bool // for each member, whether it uses TLS on port 80
		live     *observed.Stack
		previous string
		want     string // protocol, members that listen, members that do not listen
		found    string
	}{
		"all agree":                          {tls: []bool{false, false}, want: "HTTP [1 2] []"},
		"the first decides":                  {tls: []bool{true, false}, want: "HTTPS [1] [2]", found: "2 ListenerConflict"},
		"what exists in AWS stays":           {tls: []bool{true, false}, live: liveStackServing(80, "HTTP"), want: "HTTP [2] [1]", found: "1 ListenerConflict"},
		"and is confirmed":                   {tls: []bool{true, false}, live: liveStackServing(80, "HTTPS"), want: "HTTPS [1] [2]", found: "2 ListenerConflict"},
		"unless all want another":            {tls: []bool{true, true}, live: liveStackServing(80, "HTTP"), want: "HTTPS [1 2] []"},
		"of another port nothing is live":    {tls: []bool{true, false}, live: liveStackServing(81, "HTTP"), want: "HTTPS [1] [2]", found: "2 ListenerConflict"},
		"one whose class is missing has it":  {tls: []bool{true, true}, live: liveStackServing(80, "HTTP", "old/9"), previous: "old/9", want: "HTTP [1 2] [] held", found: "1 ListenerConflict, 2 ListenerConflict"},
		"if it is served there":              {tls: []bool{true, true}, live: liveStackServing(81, "HTTP", "old/9"), previous: "old/9", want: "HTTPS [1 2] []"},
		"and wants another than the members": {tls: []bool{true, true}, live: liveStackServing(80, "HTTPS", "old/9"), previous: "old/9", want: "HTTPS [1 2] []"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &Translation{ID: model.StackID{Kind: model.Ingress}, Live: x.live}
			for i, tls := range x.tls {
				m := newTestMember(fmt.Sprintf("a/%d", i+1), "")
				m.Ports = []settings.ListenPort{{Port: 80, TLS: tls}}
				tr.Members = append(tr.Members, m)
			}
			if x.previous != "" {
				withPreviousMember(x.previous)(tr)
			}
			tr.MergePorts()
			p := tr.Ports[0]
			got := fmt.Sprintf("%s %v %v", p.ListenPort().Protocol(), memberNames(p.Members), memberNames(p.ConflictingMembers))
			if p.Held {
				got += " held"
			}
			if got != x.want || reportedText(tr.Found) != x.found {
				t.Errorf("got %s, findings %s", got, reportedText(tr.Found))
			}
			if !slices.Equal(p.MembersWithRules(tr.Members), tr.Members) {
				t.Errorf("members of the port: %v", memberNames(p.MembersWithRules(tr.Members)))
			}
		})
	}
}

func memberNames(list []*Member) (out []string) {
	for _, m := range list {
		out = append(out, m.Ref.Name)
	}
	return out
}

// TestAMemberWithoutPortsMayListenAnywhere checks a setting of a port if the ports of another member are not known. If that
// member is served, it may listen on any port, so the value in AWS stays.
func TestAMemberWithoutPortsMayListenAnywhere(t *testing.T) {
	for name, x := range map[string]struct {
		live *observed.Stack
		says string
		want string
	}{
		"served":            {liveStackServing(80, "HTTP", "lost/9"), "y", "live"},
		"not served":        {liveStackServing(80, "HTTP"), "y", "x"},
		"without a setting": {liveStackServing(80, "HTTP", "lost/9"), "", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &Translation{Live: x.live, Members: parseMembers("a/1=x", "lost/9="+x.says)}
			tr.Members[1].Undetermined = true
			got := MergePortSetting(tr, &Port{Number: 80, Members: tr.Members[:1]}, "x", nameSetting, Equal[string], LiveField(tr.LiveLoadBalancer(), func(lb *observed.LoadBalancer) string { return lb.Name }))
			if got.Value != x.want || got.RetainsObserved != (x.want == "live") {
				t.Errorf("got %q, kept %v", got.Value, got.RetainsObserved)
			}
		})
	}
}

// TestLiveAttributesAreRequested checks that attributes that were not read from AWS are requested once, and not again if AWS
// gives no answer.
func TestLiveAttributesAreRequested(t *testing.T) {
	for name, x := range map[string]struct {
		edit       func(*Translation)
		read       bool
		asks       int
		unanswered int
	}{
		"that were read": {edit: func(tr *Translation) {
			lb := &tr.Live.LoadBalancers[0]
			lb.Attributes, lb.Listeners[0].Attributes = map[string]string{}, map[string]string{}
		}, read: true},
		"that were not": {edit: func(*Translation) {}, asks: 2},
		"that AWS does not show": {edit: func(tr *Translation) {
			tr.Live.Facts.Faults = map[string]observed.Fault{}
			for of, arn := range map[string]string{string(plan.LoadBalancer): "lb", string(plan.Listener): "listener"} {
				tr.Live.Facts.Faults[model.AskAttributes{Of: of, ARN: arn}.Key()] = observed.Fault{}
			}
		}, unanswered: 2},
		"of nothing": {edit: func(tr *Translation) { tr.Live.LoadBalancers = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			tr := &Translation{Live: liveStackServing(80, "HTTP")}
			x.edit(tr)
			a, b := tr.LiveAttributes(tr.LiveLoadBalancer()), tr.LiveListenerAttributes(80)
			if (a != nil) != x.read || (b != nil) != x.read || len(tr.Stack.Compare) != x.asks || tr.unknownLiveValues != x.unanswered {
				t.Errorf("read %v and %v, asked %v, unanswered %d", a, b, tr.Stack.Compare, tr.unknownLiveValues)
			}
		})
	}
	var unknown Translation
	if unknown.LiveLoadBalancer() != nil || unknown.LiveFrontendNLB() != nil || unknown.BackendSecurityGroupID() != "" || unknown.IsServed(newTestMember("a/1", "")) {
		t.Error("something is live of what is not known")
	}
	if tags := LiveTags(map[string]string{"team": "a", naming.ClusterTag: "c"}); len(tags) != 1 || tags["team"] != "a" || LiveTags(nil) != nil {
		t.Errorf("tags of users: %v", tags)
	}
}

// TestFaults checks on which member a fault is reported, and whether it holds the resources of the member.
func TestFaults(t *testing.T) {
	m := newTestMember("a/1", "")
	other := newTestMember("a/2", "")
	own := settings.Fault{Origin: finding.Origin{Object: other.Ref, Field: "x"}, Err: errNoValue}
	ofClass := settings.Fault{Origin: m.Set.Class.Origin, Err: errNoValue}
	tr := &Translation{Members: []*Member{m, other}}
	m.Faults = []settings.Fault{ofClass}
	tr.ReportMemberFaults()
	tr.HoldMember(other, nil, true)
	tr.HoldMember(other, &own, false)
	if other.Blocked {
		t.Error("a fault of what is not used blocks")
	}
	tr.HoldMember(other, &own, true)
	var got []string
	for _, f := range tr.Found {
		got = append(got, fmt.Sprintf("%s %s %v %v", f.Object.Name, f.Field, f.Severity, f.Blocks))
	}
	want := []string{
		fmt.Sprintf("1 %s %v %v", m.Set.Class.Origin, finding.Error, finding.BlocksMember),
		fmt.Sprintf("2 x %v %v", finding.Warning, finding.BlocksNothing),
		fmt.Sprintf("2 x %v %v", finding.Error, finding.BlocksMember),
	}
	if !slices.Equal(got, want) || !other.Blocked {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if tr.MemberOf(own.Origin) != other || tr.MemberOf(ofClass.Origin) != m {
		t.Error("an origin belongs to another member")
	}
	m.HoldCertificates(443, []string{"x", "y"}, "f")
	m.HoldCertificates(443, []string{"y", "z"}, "f")
	if got := m.HeldCertificates[443]; !slices.Equal(got, []string{"x", "y", "z"}) || m.HeldField != "f" {
		t.Errorf("held certificates %v for %q", got, m.HeldField)
	}
}

// TestValuesInMessagesAndSets checks that long values are shortened in messages, and that lists are compared as sets.
func TestValuesInMessagesAndSets(t *testing.T) {
	if got := quoteValue(strings.Repeat("x", 1000)); len(got) > 320 || !strings.HasSuffix(got, `..."`) {
		t.Errorf("a long value is shown as %s", got)
	}
	for _, x := range []struct {
		a, b []string
		want bool
	}{{nil, nil, true}, {[]string{"a", "b", "a"}, []string{"b", "a"}, true}, {[]string{"a"}, []string{"b"}, false}} {
		if SameSet(x.a, x.b) != x.want {
			t.Errorf("%v and %v", x.a, x.b)
		}
	}
}
