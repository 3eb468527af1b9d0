// Package imports limits how often certificates of TLS Secrets are imported into ACM.
package imports

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// Budgets limit how often certificates are imported, because ACM has a quota of imports per account and year, and a TLS
// Secret can change at any rate. There are budgets for each certificate, for each importOwner, and for the share of a
// namespace in the imports of a year. They outlive the stack, which can be created again. After a restart all counts begin
// at zero.
type Budgets struct {
	spentBudgets map[importBudget]spentBudget
	// importsByNamespace are the decayed numbers of imports of each namespace.
	importsByNamespace map[string]namespaceImports
	// totalImports is the decayed number of imports of all namespaces.
	totalImports decayingCount
}

// importBudget is the key of a budget, which is either the budget of one certificate of a stack or the budget of an owner.
type importBudget struct {
	stack model.StackID
	id    string
	owner importOwner
}

// importOwner is a pair of namespaces whose budgets an import uses up: userNamespace contains the objects that use a Secret,
// and its users decide how often stacks are created that need it; secretNamespace contains the Secret, and its users decide
// how often it changes. So neither namespace can use up the budget that another namespace has with the same Secret or for
// the same stack.
type importOwner struct{ userNamespace, secretNamespace string }

// spentBudget is the number of imports that a budget had spent at a time. The budget refills from then on.
type spentBudget struct {
	count float64
	at    time.Time
}

// The sizes of the budgets.
const (
	importsAtOnce      = 5   // imports of one certificate
	ownerImportsAtOnce = 250 // imports of one owner
	// yearlyImports is the largest decayed count of all imports. The count decays over a year, so that no year has more than
	// twice as many, which is ACM's default quota of 5,000.
	yearlyImports = 2500
)

// maxImportBudgets is the number of entries above which entries that no longer matter are removed.
const maxImportBudgets = 10000

// namespaceImports holds the decayed numbers of imports of one namespace.
type namespaceImports struct {
	// userImports counts imports for objects of the namespace. secretImports counts imports of Secrets of the namespace.
	userImports, secretImports decayingCount
	lastUsed                   time.Time // when an object of the namespace last used a Secret
}

// decayingCount is a number of imports that decays exponentially, with a time constant of one year.
type decayingCount struct {
	count float64
	at    time.Time
}

// countAt returns the count as it has decayed until now.
func (f decayingCount) countAt(now time.Time) float64 {
	return f.count * math.Exp(-float64(now.Sub(f.at))/float64(durations.Year))
}

// addOne returns the count after one more import.
func (f decayingCount) addOne(now time.Time) decayingCount {
	return decayingCount{count: f.countAt(now) + 1, at: now}
}

// limits returns the maximum number of imports in the budget, and the time in which it gains one import.
func (b importBudget) limits() (atOnce float64, every time.Duration) {
	if b.owner != (importOwner{}) {
		return ownerImportsAtOnce, durations.DeniedWait
	}
	return importsAtOnce, durations.ImportInterval
}

// spentAt returns the number of imports of a budget that are spent and not refilled yet.
func (s spentBudget) spentAt(b importBudget, now time.Time) float64 {
	_, every := b.limits()
	return max(s.count-float64(now.Sub(s.at))/float64(every), 0)
}

// ownerOfImport returns the owner of an import of a Secret ("namespace/name") for members. Its userNamespace is the
// namespace of the first member, or that of the Secret if there is no member with a namespace.
func ownerOfImport(members []finding.Ref, secret string) importOwner {
	namespace, _, _ := strings.Cut(secret, "/")
	owner := importOwner{userNamespace: namespace, secretNamespace: namespace}
	if len(members) > 0 && members[0].Namespace != "" {
		owner.userNamespace = members[0].Namespace
	}
	return owner
}

// importBudgets returns the budgets that an import is counted in.
func importBudgets(id model.StackID, certificate string, owner importOwner) []importBudget {
	return []importBudget{{stack: id, id: certificate}, {owner: owner}}
}

// shareExhaustedFor returns how much longer the share of an owner in the imports of a year is used up; 0: it is not used up.
func (m *Budgets) shareExhaustedFor(owner importOwner, now time.Time) time.Duration {
	var others []float64
	for namespace, y := range m.importsByNamespace {
		if namespace != owner.userNamespace && y.sharesYearlyImports(now) {
			others = append(others, y.userImports.countAt(now))
		}
	}
	slices.Sort(others) // the sum of floating-point numbers depends on their order
	// The smaller count of the two namespaces is compared, so that namespaces that use Secrets of each other have no more
	// than their shares.
	have := min(m.importsByNamespace[owner.userNamespace].userImports.countAt(now), m.importsByNamespace[owner.secretNamespace].secretImports.countAt(now))
	if model.MayTakeOneMore(yearlyImports, m.totalImports.countAt(now), have, others) {
		return 0
	}
	if have < 1 {
		return time.Hour
	}
	// After that time the count of the owner, or the count of all namespaces, has decayed by one.
	return min(time.Duration(float64(durations.Year)/have), 24*time.Hour)
}

// sharesYearlyImports reports whether a namespace is one of those that share the imports of a year.
func (y namespaceImports) sharesYearlyImports(now time.Time) bool {
	const week = durations.Year / 52
	return now.Sub(y.lastUsed) < week || y.userImports.countAt(now) >= 0.5
}

// noteUse records that the namespace of an owner uses a Secret now.
func (m *Budgets) noteUse(owner importOwner, now time.Time) {
	y, known := m.importsByNamespace[owner.userNamespace]
	if !known {
		m.removeUnneededEntries(now)
	}
	y.lastUsed = now
	m.importsByNamespace[owner.userNamespace] = y
}

// ImportPauses returns how long the certificates of a stack are not imported, by certificate ID. For a certificate that is
// about to expire (ImportPause.DurationIfExpiring), only the share of the yearly imports counts, because of ACM's quota, and
// a minimum interval between two imports.
func (m *Budgets) ImportPauses(stack model.Stack, now time.Time) map[string]plan.ImportPause {
	if now.IsZero() {
		return nil
	}
	var out map[string]plan.ImportPause
	for _, c := range stack.Certificates {
		if c.Import == nil {
			continue
		}
		owner := ownerOfImport(c.Import.Members(), c.Import.Secret)
		m.noteUse(owner, now)
		share := m.shareExhaustedFor(owner, now)
		pause := plan.ImportPause{UsualDuration: share, DurationIfExpiring: share}
		for _, b := range importBudgets(stack.ID, c.ID, owner) {
			most, every := b.limits()
			spent := m.spentBudgets[b]
			over := spent.spentAt(b, now) + 1 - most
			pause.UsualDuration = max(pause.UsualDuration, time.Duration(over*float64(every)))
			if b.owner == (importOwner{}) && !spent.at.IsZero() {
				pause.DurationIfExpiring = max(pause.DurationIfExpiring, durations.DeniedWait-now.Sub(spent.at))
			}
		}
		if pause.UsualDuration > 0 {
			if out == nil {
				out = map[string]plan.ImportPause{}
			}
			out[c.ID] = pause
		}
	}
	return out
}

// NoteImport counts a step that has imported a certificate. It ignores all other steps.
func (m *Budgets) NoteImport(id model.StackID, s plan.Step, now time.Time) {
	do, ok := s.Do.(plan.ImportCertificate)
	if !ok || now.IsZero() {
		return
	}
	m.removeUnneededEntries(now)
	owner := ownerOfImport(s.Blames, do.Secret)
	for _, b := range importBudgets(id, s.Address.ID, owner) {
		m.spentBudgets[b] = spentBudget{count: m.spentBudgets[b].spentAt(b, now) + 1, at: now}
	}
	user := m.importsByNamespace[owner.userNamespace]
	user.userImports, user.lastUsed = user.userImports.addOne(now), now
	m.importsByNamespace[owner.userNamespace] = user
	secret := m.importsByNamespace[owner.secretNamespace]
	secret.secretImports = secret.secretImports.addOne(now)
	m.importsByNamespace[owner.secretNamespace] = secret
	m.totalImports = m.totalImports.addOne(now)
}

// removeUnneededEntries removes entries that no longer matter, once there are too many. It also removes namespaces whose
// decayed count is below half an import. The other namespaces are limited in number, because the sum of their counts is
// limited.
func (m *Budgets) removeUnneededEntries(now time.Time) {
	if m.spentBudgets == nil || len(m.spentBudgets) > maxImportBudgets {
		kept := map[importBudget]spentBudget{}
		for b, s := range m.spentBudgets {
			if s.spentAt(b, now) > 0 {
				kept[b] = s
			}
		}
		m.spentBudgets = kept
	}
	if m.importsByNamespace == nil || len(m.importsByNamespace) > maxImportBudgets {
		kept := map[string]namespaceImports{}
		for n, y := range m.importsByNamespace {
			if y.sharesYearlyImports(now) || y.secretImports.countAt(now) >= 0.5 {
				kept[n] = y
			}
		}
		m.importsByNamespace = kept
	}
}
