// Package imports keeps the budgets of importing certificates from TLS Secrets.
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

// Budgets bounds how often certificates are imported, as ACM counts the imports of a year for the whole account, and
// a TLS Secret can change at any rate. It limits each certificate, the Secrets that one namespace uses of one
// namespace, and the share that these have of a year. It outlives the stack, which can be made again. After a restart
// all counts begin at zero.
type Budgets struct {
	spent map[importBudget]spentImports
	// years are the imports of a year by namespaces, year those of all of them.
	years map[string]importYears
	year  fadingImports
}

// importBudget is the budget of imports of one certificate of a stack, or of an owner.
type importBudget struct {
	stack model.StackID
	id    string
	owner importOwner
}

// importOwner is to whom imports are counted: who uses a Secret decides how often stacks are made that need it, and who
// writes it how often it changes. Neither can spend what another one has with the same Secret or for the same stack.
type importOwner struct{ user, secret string } // namespaces

type spentImports struct {
	count float64
	at    time.Time
}

// The budgets: so many at once, and one more after each such time.
const (
	importsAtOnce      = 5
	ownerImportsAtOnce = 250
	mostImportBudgets  = 10000
)

// yearlyImports is how many imports are counted at the same time at most. What is counted fades over a year, so that no
// year has more than twice as many, which is ACM's default quota of 5,000.
const (
	yearlyImports = 2500
)

// importYears are the imports of a year that a namespace had as the one that uses Secrets, and as the one that has them.
type importYears struct {
	user, secret fadingImports
	asked        time.Time
}

// fadingImports are imports that are counted less from day to day.
type fadingImports struct {
	count float64
	at    time.Time
}

func (f fadingImports) remainingAt(now time.Time) float64 {
	return f.count * math.Exp(-float64(now.Sub(f.at))/float64(durations.Year))
}

func (f fadingImports) plusOne(now time.Time) fadingImports {
	return fadingImports{count: f.remainingAt(now) + 1, at: now}
}

func (b importBudget) limits() (atOnce float64, every time.Duration) {
	if b.owner != (importOwner{}) {
		return ownerImportsAtOnce, durations.DeniedWait
	}
	return importsAtOnce, durations.ImportInterval
}

// spentAt returns what is spent of a budget and has not come back yet.
func (s spentImports) spentAt(b importBudget, now time.Time) float64 {
	_, every := b.limits()
	return max(s.count-float64(now.Sub(s.at))/float64(every), 0)
}

func ownerOfImport(members []finding.Ref, secret string) importOwner {
	namespace, _, _ := strings.Cut(secret, "/")
	owner := importOwner{user: namespace, secret: namespace}
	if len(members) > 0 && members[0].Namespace != "" {
		owner.user = members[0].Namespace
	}
	return owner
}

func importBudgets(id model.StackID, certificate string, owner importOwner) []importBudget {
	return []importBudget{{stack: id, id: certificate}, {owner: owner}}
}

// shareSpent returns how long an owner has no more imports of this year.
func (m *Budgets) shareSpent(owner importOwner, now time.Time) time.Duration {
	var others []float64
	for namespace, y := range m.years {
		if namespace != owner.user && y.sharesYear(now) {
			others = append(others, y.user.remainingAt(now))
		}
	}
	slices.Sort(others) // a sum of fractions depends on their order
	// What both of its namespaces had is counted, so that a number of them that use Secrets of each other have no more
	// than their shares.
	have := min(m.years[owner.user].user.remainingAt(now), m.years[owner.secret].secret.remainingAt(now))
	if model.MayTakeOneMore(yearlyImports, m.year.remainingAt(now), have, others) {
		return 0
	}
	if have < 1 {
		return time.Hour
	}
	// By then it is counted one less, or the whole is.
	return min(time.Duration(float64(durations.Year)/have), 24*time.Hour)
}

// sharesYear reports whether a namespace counts among those that share the imports of a year.
func (y importYears) sharesYear(now time.Time) bool {
	const week = durations.Year / 52
	return now.Sub(y.asked) < week || y.user.remainingAt(now) >= 0.5
}

// noteUse notes that a namespace uses Secrets.
func (m *Budgets) noteUse(owner importOwner, now time.Time) {
	y, known := m.years[owner.user]
	if !known {
		m.forget(now)
	}
	y.asked = now
	m.years[owner.user] = y
}

// Paused returns how long certificates of a stack are not imported. Before the one that serves ends, only the share
// of the year counts, which is what ACM's own quota leaves to the owner, and that no certificate is imported more often
// than those of an owner are in the long run.
func (m *Budgets) Paused(stack model.Stack, now time.Time) map[string]plan.ImportPause {
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
		share := m.shareSpent(owner, now)
		pause := plan.ImportPause{For: share, ForExpiring: share}
		for _, b := range importBudgets(stack.ID, c.ID, owner) {
			most, every := b.limits()
			spent := m.spent[b]
			over := spent.spentAt(b, now) + 1 - most
			pause.For = max(pause.For, time.Duration(over*float64(every)))
			if b.owner == (importOwner{}) && !spent.at.IsZero() {
				pause.ForExpiring = max(pause.ForExpiring, durations.DeniedWait-now.Sub(spent.at))
			}
		}
		if pause.For > 0 {
			if out == nil {
				out = map[string]plan.ImportPause{}
			}
			out[c.ID] = pause
		}
	}
	return out
}

// Note counts an import.
func (m *Budgets) Note(id model.StackID, s plan.Step, now time.Time) {
	do, ok := s.Do.(plan.ImportCertificate)
	if !ok || now.IsZero() {
		return
	}
	m.forget(now)
	owner := ownerOfImport(s.Blames, do.Secret)
	for _, b := range importBudgets(id, s.Address.ID, owner) {
		m.spent[b] = spentImports{count: m.spent[b].spentAt(b, now) + 1, at: now}
	}
	user := m.years[owner.user]
	user.user, user.asked = user.user.plusOne(now), now
	m.years[owner.user] = user
	secret := m.years[owner.secret]
	secret.secret = secret.secret.plusOne(now)
	m.years[owner.secret] = secret
	m.year = m.year.plusOne(now)
}

// forget drops what no longer counts, once there is much. Namespaces with a part of an import are among them: together they
// are bounded by the whole.
func (m *Budgets) forget(now time.Time) {
	if m.spent == nil || len(m.spent) > mostImportBudgets {
		kept := map[importBudget]spentImports{}
		for b, s := range m.spent {
			if s.spentAt(b, now) > 0 {
				kept[b] = s
			}
		}
		m.spent = kept
	}
	if m.years == nil || len(m.years) > mostImportBudgets {
		kept := map[string]importYears{}
		for n, y := range m.years {
			if y.sharesYear(now) || y.secret.remainingAt(now) >= 0.5 {
				kept[n] = y
			}
		}
		m.years = kept
	}
}
