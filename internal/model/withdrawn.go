package model

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Withdrawn are the parts of what is live to which its members have no right any more: a class or a listener does not
// admit their namespace, or no ReferenceGrant permits what they refer to. They stop serving at once, whether or not the
// object that had the right can be translated, and are never held. What is not known to be withdrawn is not in it.
type Withdrawn struct {
	// Rules, by ARN, are for hosts that their namespace may not serve, or of a member that is not admitted. The ARN of a
	// listener stands for its default action.
	Rules map[string]Withdrawal
	// TargetGroups, by ARN, get no requests: a rule that forwards to nothing else answers 500.
	TargetGroups map[string]Withdrawal
	// Certificates are not used by a listener: without another one it is deleted.
	Certificates map[ListenerCertificate]Withdrawal
	// Protocols, by ARN, are of listeners that take both TCP and UDP, and lose one.
	Protocols map[string]WithdrawnProtocol
	// Hostnames belong to others than the member of a live rule that gets their requests.
	Hostnames []ForeignHostname
}

// WithdrawnProtocol is why a listener that takes both TCP and UDP takes only one of them any more.
type WithdrawnProtocol struct {
	Left Base
	Withdrawal
}

// ForeignHostname is a hostname within what a live rule matches, such as one of a wildcard, to which the member of the rule
// has no right. The rule may serve the rest.
type ForeignHostname struct {
	// Rule is the ARN of the rule.
	Rule string
	Host HostHeader
	Withdrawal
}

// ListenerCertificate is a certificate on a port.
type ListenerCertificate struct {
	Port int32
	ARN  string
}

// MarshalText makes it a key of a JSON object: port and ARN.
func (c ListenerCertificate) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %s", c.Port, c.ARN), nil
}

// UnmarshalText reads what MarshalText returns.
func (c *ListenerCertificate) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d %s", &c.Port, &c.ARN)
	return err
}

// Withdrawal is the member whose right was withdrawn, and why.
type Withdrawal struct {
	Object finding.Ref
	// Field, Reason, Message and Fix are those of the finding. The message says what is wrong, and not what happens now.
	Field, Message, Fix string
	Reason              finding.Reason
}

// Empty reports whether nothing is withdrawn.
func (w *Withdrawn) Empty() bool {
	return w == nil || len(w.Rules)+len(w.TargetGroups)+len(w.Certificates)+len(w.Protocols)+len(w.Hostnames) == 0
}
