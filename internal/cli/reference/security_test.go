package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// threats and attackerKinds are the threats, and the kinds of objects that an attacker may write, in the matrix of
// docs/security-model.md.
var (
	threats = []string{
		"Take over a host", "Read another's secret", "Point at another's pods", "Enlarge client ranges", "Remove a web ACL or authentication",
		"Delete another's resources", "Starve others", "Crash the controller", "Spend the AWS budget", "Forge a status", "Poison names or tags",
		"Escape the namespace by a reference", "Confuse the webhooks", "Mislead by texts in events",
	}
	attackerKinds = []string{"Ingress", "Service", "EndpointSlice", "Pod", "TargetGroupBinding", "Secret", "IngressClassParams of a class owner", "GlobalAccelerator"}
)

// testLink matches a link whose text is the name of a test.
var testLink = regexp.MustCompile(`\[((?:Test|Fuzz)\w+)\]\(([^)]*)\)`)

// securityPageFaults returns the faults of the page docs/security-model.md: tests that are not in the file that their link
// names, and entries of the matrix that are missing, empty, or name neither a test nor a reason why the threat cannot arise.
// read returns the content of a linked file.
func securityPageFaults(page string, read func(path string) (string, error)) []string {
	var out []string
	for _, l := range testLink.FindAllStringSubmatch(page, -1) {
		source, err := read(l[2])
		if err != nil {
			out = append(out, fmt.Sprintf("%s: %v", l[1], err))
		} else if !strings.Contains(source, "\nfunc "+l[1]+"(") {
			out = append(out, fmt.Sprintf("%s is not in %s", l[1], l[2]))
		}
	}
	found := map[string]map[string]string{}
	kind := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "#"); ok {
			kind = strings.TrimSpace(strings.TrimLeft(title, "#"))
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 2 || !slices.Contains(attackerKinds, kind) {
			continue
		}
		if found[kind] == nil {
			found[kind] = map[string]string{}
		}
		found[kind][strings.TrimSpace(cells[0])] = strings.TrimSpace(cells[1])
	}
	for _, kind := range attackerKinds {
		for _, threat := range threats {
			entry := found[kind][threat]
			reason, cannot := strings.CutPrefix(entry, "Cannot arise: ")
			switch {
			case entry == "":
				out = append(out, fmt.Sprintf("%s, %s: no entry", kind, threat))
			case !testLink.MatchString(entry) && !cannot:
				out = append(out, fmt.Sprintf("%s, %s: neither a test nor why it cannot arise", kind, threat))
			case cannot && len(strings.Fields(reason)) < 4:
				out = append(out, fmt.Sprintf("%s, %s: the reason is too short", kind, threat))
			}
		}
	}
	return out
}

func readSecurityPage(t *testing.T) (page string, read func(path string) (string, error)) {
	t.Helper()
	read = func(path string) (string, error) {
		raw, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", filepath.FromSlash(path)))
		return string(raw), err
	}
	page, err := read("security-model.md")
	if err != nil {
		t.Fatal(err)
	}
	return page, read
}

func TestSecurityModelIsComplete(t *testing.T) {
	page, read := readSecurityPage(t)
	for _, fault := range securityPageFaults(page, read) {
		t.Error(fault)
	}
	if n := len(testLink.FindAllString(page, -1)); n < len(attackerKinds)*len(threats)/2 {
		t.Errorf("the page links %d tests", n)
	}
}

// TestFaultsInSecurityModelAreFound checks that securityPageFaults finds each kind of fault in an edited copy of the page.
func TestFaultsInSecurityModelAreFound(t *testing.T) {
	page, read := readSecurityPage(t)
	entry := "| Forge a status | Cannot arise: it has no status. |"
	link := testLink.FindString(page)
	name := testLink.FindStringSubmatch(page)[1]
	for what, broken := range map[string]string{
		"a test of another name":       strings.Replace(page, "["+name+"]", "["+name+"Anyway]", 1),
		"a beginning of a test's name": strings.Replace(page, "["+name+"]", "["+name[:len(name)-3]+"]", 1),
		"a file that is not there":     strings.Replace(page, link, strings.Replace(link, "_test.go", "_gone_test.go", 1), 1),
		"an empty entry":               strings.Replace(page, entry, "| Forge a status |  |", 1),
		"an entry without a reason":    strings.Replace(page, entry, "| Forge a status | fine |", 1),
		"a reason that is too short":   strings.Replace(page, entry, "| Forge a status | Cannot arise: never. |", 1),
		"a row that is missing":        strings.Replace(page, entry+"\n", "", 1),
		"a kind that is missing":       strings.Replace(page, "### Secret\n", "### Other\n", 1),
	} {
		if broken == page {
			t.Errorf("%s: nothing was changed", what)
		}
		if len(securityPageFaults(broken, read)) == 0 {
			t.Errorf("%s is not found", what)
		}
	}
}
