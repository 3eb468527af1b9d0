package recording

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/awsmodel"
)

// Account is the account ID in every recording. It is an example from the AWS documentation.
const Account = "111122223333"

// RemovedText is the text that replaces private keys and other secrets.
const RemovedText = "removed"

var (
	accountNumberPattern = regexp.MustCompile(`\b\d{12}\b`)
	resourceIDPattern    = regexp.MustCompile(`\b[a-z]{1,10}-(?:[0-9a-f]{17}|[0-9a-f]{8})\b`)
	uuidPattern          = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	addressPattern       = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
	arnPattern           = regexp.MustCompile(`arn:(aws[a-z-]*):([a-z0-9-]*):([a-z0-9-]*):(\d{12}|aws|):([^\s"',)]+)`)
	numberPattern        = regexp.MustCompile(`^-?[0-9.]+$`)
	zonePattern          = regexp.MustCompile(`^[a-z]{2,3}(-[a-z]+)+-\d[a-z]?$|^[a-z]{3,4}\d-az\d$`)
)

// harmlessTexts lists values that do not identify an account and that are not values of an enumeration in AWS's models.
var harmlessTexts = []string{"true", "false", "tcp", "udp", "icmp", "icmpv6", "-1", "default", "/", "amazon", "Sender", "Receiver", "#{protocol}", "#{host}", "#{port}", "/#{path}", "#{query}"}

// redactor replaces values that identify an account. Equal values get equal replacements.
type redactor struct {
	sentValues   map[string]bool // values in requests that change resources, which the run has chosen
	createdNames []string        // names of the resources that the run created
	numbers      map[string]int  // number of each replaced text, by kind and text; see numberOf
	counts       map[string]int  // highest number so far, by kind
}

// Redact changes the recording so that it does not identify an account. It removes private keys, and replaces account IDs,
// resource IDs and public addresses. It also replaces each text of an answer, unless the text is known to be harmless, for
// example because it is in a request of the run or in AWS's models. It returns an error if the recording still contains one
// of the secrets.
func (r *Recording) Redact(secrets ...string) error {
	x := redactor{sentValues: map[string]bool{}, numbers: map[string]int{}, counts: map[string]int{}}
	for _, c := range r.Calls {
		if !c.IsMutating() {
			continue
		}
		_, err := ReplaceValues(c.Body, func(name, value string) string {
			x.sentValues[value] = true
			if last := name[strings.LastIndexByte(name, '.')+1:]; slices.Contains([]string{"Name", "GroupName"}, last) && len(value) > 5 {
				x.createdNames = append(x.createdNames, value)
			}
			return value
		})
		if err != nil {
			return fmt.Errorf("read the request of %s: %w", c.Operation, err)
		}
	}
	r.Account = Account
	r.Site.VPC = x.redactText(r.Site.VPC)
	for i := range r.Site.Subnets {
		r.Site.Subnets[i].ID = x.redactText(r.Site.Subnets[i].ID)
	}
	for i := range r.Site.Instances {
		at := &r.Site.Instances[i]
		at.ID, at.Subnet = x.redactText(at.ID), x.redactText(at.Subnet)
		for g := range at.SecurityGroups {
			at.SecurityGroups[g] = x.redactText(at.SecurityGroups[g])
		}
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		var err error
		if c.Body, err = ReplaceValues(c.Body, x.redactRequestValue); err != nil {
			return fmt.Errorf("read the request of %s: %w", c.Operation, err)
		}
		c.Path, c.Query = x.redactText(c.Path), x.redactText(c.Query)
		if c.Answer != nil {
			x.redactNode(nil, c.Answer, false)
		}
	}
	return r.checkNoSecrets(secrets)
}

// checkNoSecrets returns an error if the recording contains one of the secrets.
func (r *Recording) checkNoSecrets(secrets []string) error {
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		return err
	}
	for _, s := range secrets {
		if s != "" && strings.Contains(out.String(), s) {
			return fmt.Errorf("the recording has a secret of %d characters that was not removed; the recording is not written", len(s))
		}
	}
	return nil
}

// redactRequestValue redacts a value of a request. The value may contain IDs of the account.
func (x *redactor) redactRequestValue(name, value string) string {
	if isSecret(name) {
		return RemovedText
	}
	return x.redactText(value)
}

// isSecret reports whether a member with this name contains a private key or another secret.
func isSecret(name string) bool {
	return strings.Contains(name, "PrivateKey") || strings.Contains(name, "ClientSecret") || strings.Contains(name, "SecretAccessKey") || strings.Contains(name, "SessionToken")
}

// redactNode redacts an element of an answer. own reports whether the element belongs to a resource that the run created:
// then it replaces only IDs, account IDs and public addresses.
func (x *redactor) redactNode(path []string, n *Node, own bool) {
	path = append(slices.Clip(path), n.Name)
	if len(n.Children) == 0 {
		n.Text = x.redactResponseText(path, n.Text, own)
		return
	}
	if isItem(n) {
		own = x.mentionsCreatedResource(n)
	}
	for _, k := range n.Children {
		x.redactNode(path, k, own)
	}
}

// isItem reports whether an element is an item of a list.
func isItem(n *Node) bool { return n.Name == "member" || n.Name == "item" }

// mentionsCreatedResource reports whether a text of an element contains the name of a resource that the run created. It
// ignores items of lists below the element.
func (x *redactor) mentionsCreatedResource(n *Node) bool {
	return slices.ContainsFunc(n.Children, func(k *Node) bool {
		if len(k.Children) == 0 {
			return x.containsCreatedResourceName(k.Text)
		}
		return !isItem(k) && x.mentionsCreatedResource(k)
	})
}

// redactResponseText returns the redacted text of a member of an answer. path has the names of the elements down to the
// member. For own, see redactNode.
func (x *redactor) redactResponseText(path []string, text string, own bool) string {
	last := path[len(path)-1]
	switch {
	case isSecret(last):
		return RemovedText
	case text == "", slices.Contains(harmlessTexts, text), awsmodel.IsEnumValue(text), zonePattern.MatchString(text), last == "CanonicalHostedZoneId":
		return text
	case last == "Message" || last == "message", last == "Code", last == "Description" && slices.Contains(path, "TargetHealth"), last == "__type", slices.ContainsFunc(path, func(p string) bool { return strings.Contains(p, "Attributes") }), own, x.sentValues[text], x.containsCreatedResourceName(text):
		return x.redactText(text)
	case accountNumberPattern.FindString(text) == text:
		return Account
	case numberPattern.MatchString(text) && !addressPattern.MatchString(text):
		return text
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return text
	}
	if matchesWholeText(resourceIDPattern, text) || matchesWholeText(uuidPattern, text) || matchesWholeText(arnPattern, text) {
		return x.redactText(text)
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return x.redactText(text)
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return x.redactText(text)
	}
	return x.replacementFor(replacementPrefix, text)
}

// replacementPrefix is the prefix of the text that replaces a text of an answer.
const replacementPrefix = "text-"

var replacementPattern = regexp.MustCompile(`^` + replacementPrefix + `\d+$`)

// IsReplacement reports whether a text of an answer is a replacement of the original text.
func IsReplacement(text string) bool { return replacementPattern.MatchString(text) }

func matchesWholeText(of *regexp.Regexp, text string) bool { return of.FindString(text) == text }

// containsCreatedResourceName reports whether a text contains the name of a resource that the run created.
func (x *redactor) containsCreatedResourceName(text string) bool {
	return slices.ContainsFunc(x.createdNames, func(n string) bool { return strings.Contains(text, n) })
}

// redactText replaces IDs, account IDs and public addresses within a text.
func (x *redactor) redactText(text string) string {
	text = arnPattern.ReplaceAllStringFunc(text, func(arn string) string {
		if x.containsCreatedResourceName(arn) {
			return arn
		}
		p := arnPattern.FindStringSubmatch(arn)
		kind, _, named := strings.Cut(p[5], "/")
		switch {
		case p[4] == "aws", uuidPattern.MatchString(arn): // owned by AWS, or with a UUID as its name
			return arn
		case !named:
			kind = "resource"
		}
		return fmt.Sprintf("arn:%s:%s:%s:%s:%s/%s", p[1], p[2], p[3], p[4], kind, x.replacementFor("name-", p[5]))
	})
	text = accountNumberPattern.ReplaceAllString(text, Account)
	text = uuidPattern.ReplaceAllStringFunc(text, func(id string) string {
		return fmt.Sprintf("00000000-0000-4000-8000-%012d", x.numberOf("uuid", id))
	})
	text = resourceIDPattern.ReplaceAllStringFunc(text, func(id string) string {
		kind, _, _ := strings.Cut(id, "-")
		return fmt.Sprintf("%s-%017d", kind, x.numberOf(kind, id))
	})
	return addressPattern.ReplaceAllStringFunc(text, func(a string) string {
		at, err := netip.ParseAddr(a)
		if err != nil || at.IsPrivate() || at.IsLoopback() || at.IsUnspecified() || sharedAddressRange.Contains(at) {
			return a
		}
		n := x.numberOf("address", a)
		return netip.AddrFrom4([4]byte{198, 18 + byte(n>>16)&1, byte(n >> 8), byte(n)}).String() // reserved for benchmarks by RFC 2544
	})
}

// sharedAddressRange is a range that VPCs may use in addition to private ranges (RFC 6598). It identifies no account.
var sharedAddressRange = netip.MustParsePrefix("100.64.0.0/10")

// replacementFor returns the replacement of a text: the prefix and a number. Equal texts have equal replacements.
func (x *redactor) replacementFor(prefix, text string) string {
	return fmt.Sprintf("%s%d", prefix, x.numberOf(prefix, text))
}

// numberOf returns the number that represents a text in replacements. Equal texts of the same kind have equal numbers.
func (x *redactor) numberOf(kind, text string) int {
	key := kind + "\x00" + text
	if x.numbers[key] == 0 {
		x.counts[kind]++
		x.numbers[key] = x.counts[kind]
	}
	return x.numbers[key]
}
