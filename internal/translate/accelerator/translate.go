package accelerator

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// translation is the state of one call of Translate. live is the observed state, or nil if it is not known yet.
// accelerator is the desired accelerator, and found are the findings so far.
type translation struct {
	opt         Options
	view        *cluster.View
	live        *observed.Stack
	ga          *aga.GlobalAccelerator
	ref         finding.Ref
	stack       model.Stack
	found       finding.List
	accelerator *model.Accelerator
	// askedKeys are the keys of the questions of the stack.
	askedKeys map[string]bool
	// endpointGroupCount is the number of endpoint groups that were translated so far.
	endpointGroupCount int
	// grants has the ReferenceGrants, which are read once.
	grants *attach.Grants
	// dial is the rule for traffic dials, or nil if there is none. targets has the numbers of targets by ID of the
	// endpoint group.
	dial    *dialRule
	targets map[string]targetCounts
	// membersOf has the accepted members of shared load balancers that were looked up.
	membersOf map[model.StackID][]model.Member
	// asksForPorts reports whether questions about load balancers that are named by ARN also ask for their listener ports.
	asksForPorts bool
}

func (t *translation) build() {
	t.dial = dialBuilder{t}.parseDialRule()
	if arn := (sharingBuilder{t}).sharedARN(); arn != "" {
		sharingBuilder{t}.buildShared(arn)
		return
	}
	if t.ga.DeletionTimestamp == nil && t.holdIfOverLimit() {
		return
	}
	dual := t.isDualStack()
	t.accelerator = &model.Accelerator{
		Name: t.acceleratorName(dual), AddressType: model.IPv4, Addresses: t.addresses(), UID: string(t.ga.UID), Protected: t.isProtected(), Guests: sharingBuilder{t}.guests(),
		Origins: map[string]finding.Origin{},
	}
	t.accelerator.Tags = t.tags(len(t.accelerator.Guests))
	for setting, field := range map[string]string{"name": "spec.name", "address-type": "spec.ipAddressType", "addresses": "spec.ipAddresses", "tags": "spec.tags"} {
		t.accelerator.Origins[setting] = t.origin(field)
	}
	if dual {
		t.accelerator.AddressType = model.DualStack
	}
	listenerBuilder{t}.buildListeners()
	rightsChecker{t}.setRights()
	rightsChecker{t}.setRevoked()
	t.stack.Accelerator = t.accelerator
	t.stack.Contested = true
}

// holdIfOverLimit holds the stack and adds a finding if the namespace already has MaxPerNamespace older
// GlobalAccelerators. It returns true if it holds the stack. An object that already has an accelerator in AWS is not
// affected.
func (t *translation) holdIfOverLimit() bool {
	most := t.opt.MaxPerNamespace
	if most <= 0 || t.live != nil && len(t.live.Accelerators) > 0 {
		return false
	}
	older := 0
	for _, o := range cluster.List[*aga.GlobalAccelerator](t.view, cluster.Query{Kind: cluster.KindGlobalAccelerator, Namespace: t.ga.Namespace}) {
		if o.Name != t.ga.Name && (o.CreationTimestamp.Before(&t.ga.CreationTimestamp) || o.CreationTimestamp.Equal(&t.ga.CreationTimestamp) && o.Name < t.ga.Name) {
			older++
		}
	}
	if older < most {
		return false
	}
	t.stack.Contested = true // the result depends on the observed state: an object with an accelerator is not held
	t.stack.Accelerator = &model.Accelerator{Held: true}
	t.stack.Held.AllResources = true
	t.reportFault("", finding.QuotaReached, finding.Error, fmt.Sprintf("the limit of accelerators in namespace %q is %d, and the number of older GlobalAccelerators is %d; no accelerator is created", t.ga.Namespace, most, older),
		"delete GlobalAccelerators of the namespace, or ask the operator to raise --max-accelerators-per-namespace")
	return true
}

func (t *translation) origin(field string) finding.Origin {
	return finding.Origin{Object: t.ref, Field: field}
}

// reportFault adds a finding about a field of the object.
func (t *translation) reportFault(field string, reason finding.Reason, severity finding.Severity, message, fix string) {
	t.found.Add(finding.Finding{Object: t.ref, Field: field, Reason: reason, Severity: severity, Message: message, Fix: fix})
}

// ask adds a question to the stack, unless the stack already has it. The stack is translated again with the answer.
func (t *translation) ask(q model.Question) {
	if t.askedKeys == nil {
		t.askedKeys = map[string]bool{}
	}
	if key := q.Key(); !t.askedKeys[key] {
		t.askedKeys[key] = true
		t.stack.Compare = append(t.stack.Compare, q)
	}
}

func (t *translation) isDualStack() bool {
	of := t.ga.Spec.IPAddressType
	if of != "" && of != aga.IPAddressTypeIPv4 && of != aga.IPAddressTypeDualStack {
		t.reportFault("spec.ipAddressType", finding.SpecInvalid, finding.Error, fmt.Sprintf("address type %q is neither %s nor %s; %[2]s is used", finding.TruncateValue(string(of)), aga.IPAddressTypeIPv4, aga.IPAddressTypeDualStack), "change the address type")
	}
	return of == aga.IPAddressTypeDualStack
}

func (t *translation) acceleratorName(dual bool) string {
	if t.ga.Spec.Name == "" {
		return t.generatedName(dual)
	}
	why := naming.AcceleratorNameFault(t.ga.Spec.Name)
	if why == "" {
		return t.ga.Spec.Name
	}
	t.reportFault("spec.name", finding.SpecInvalid, finding.Error, fmt.Sprintf("%q cannot be the name of an accelerator: %s; a generated name is used", finding.TruncateValue(t.ga.Spec.Name), why), "change the name")
	return t.generatedName(dual)
}

// addresses returns the desired IP addresses of the account (BYOIP), and reports addresses that cannot be used.
func (t *translation) addresses() []string {
	given := t.ga.Spec.IPAddresses
	if allowed := t.opt.AddressNamespaces; len(given) > 0 && len(allowed) > 0 && !slices.Contains(allowed, t.ga.Namespace) {
		t.reportFault("spec.ipAddresses", finding.SpecInvalid, finding.Error, fmt.Sprintf("namespace %q may not use addresses of the account; AWS chooses the addresses", t.ga.Namespace), "remove the addresses, or ask the operator to add the namespace to --accelerator-address-namespaces")
		return nil
	}
	if len(given) > rules.MaxAddresses {
		t.reportFault("spec.ipAddresses", finding.SpecInvalid, finding.Error, fmt.Sprintf("there are %d addresses, and AWS allows %d; the first %[2]d are used", len(given), rules.MaxAddresses), "remove addresses")
		given = given[:rules.MaxAddresses]
	}
	var out []string
	for i, text := range given {
		if a, err := netip.ParseAddr(text); err != nil || !a.Is4() {
			t.reportFault(fmt.Sprintf("spec.ipAddresses[%d]", i), finding.SpecInvalid, finding.Error, fmt.Sprintf("%q is not an IPv4 address; AWS chooses an address instead", finding.TruncateValue(text)), "correct or remove the address")
			continue
		}
		out = append(out, text)
	}
	return out
}

// reservedTagCount is the number of tags that the controller itself needs on each accelerator.
const reservedTagCount = 4

// tags returns the default tags and the user tags. It omits and reports user tags that are invalid, or for which AWS
// permits no more tags. guests is the number of guests, each of which needs a tag.
func (t *translation) tags(guests int) map[string]string {
	user := map[string]string{}
	room := max(0, naming.MaxTags-reservedTagCount-guests-len(t.opt.DefaultTags))
	reported := 0
	for _, k := range slices.Sorted(maps.Keys(t.ga.Spec.Tags)) {
		value := t.ga.Spec.Tags[k]
		reason, severity, why := assemble.TagFault(k, value, t.opt.ExternalTags, naming.IsReservedAcceleratorTag)
		if why == "" && len(user) == room {
			reason, severity, why = finding.TagInvalid, finding.Error, fmt.Sprintf("exceeds the limit of %d tags", room)
		}
		if why == "" {
			user[k] = value
			continue
		}
		if reported++; reported > maxTagFindings {
			continue
		}
		t.reportFault("spec.tags", reason, severity, fmt.Sprintf("tag %q %s and is left out", finding.Truncate(k, 40), why), "remove the tag")
	}
	return assemble.MergeTags(user, t.opt.DefaultTags, t.opt.DefaultTagsLowPriority)
}

// maxTagFindings is the maximum number of tags of an object that are reported.
const maxTagFindings = 10
