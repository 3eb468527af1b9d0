package plan

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// overlap says whether some request may match both rules, by their hosts and paths. It errs on
// the side of yes.
func overlap(a, b []model.Condition) bool {
	ra, rb := model.Rule{Conditions: a}, model.Rule{Conditions: b}
	return meet(ra.Hosts(), rb.Hosts(), regexHost(a) || regexHost(b), true) &&
		meet(ra.Paths(), rb.Paths(), regexPath(a) || regexPath(b), false)
}

func regexHost(cs []model.Condition) bool {
	for _, c := range cs {
		if h, ok := c.(model.HostHeader); ok && len(h.Regex) > 0 {
			return true
		}
	}
	return false
}

func regexPath(cs []model.Condition) bool {
	for _, c := range cs {
		if p, ok := c.(model.PathPattern); ok && len(p.Regex) > 0 {
			return true
		}
	}
	return false
}

func meet(a, b []string, regex, fold bool) bool {
	if len(a) == 0 || len(b) == 0 || regex {
		return true
	}
	for _, x := range a {
		for _, y := range b {
			if fold {
				x, y = strings.ToLower(x), strings.ToLower(y)
			}
			if globsMeet(x, y) {
				return true
			}
		}
	}
	return false
}

// HostsMeet reports whether one host may match two patterns.
func HostsMeet(a, b string) bool { return globsMeet(strings.ToLower(a), strings.ToLower(b)) }

// globsMeet compares the literal beginnings and ends of two patterns, which is exact when at most
// one of them has wildcards at one end, and says yes otherwise.
func globsMeet(a, b string) bool {
	wildA, wildB := strings.ContainsAny(a, "*?"), strings.ContainsAny(b, "*?")
	if !wildA && !wildB {
		return a == b
	}
	headA, headB := head(a), head(b)
	if !strings.HasPrefix(headA, headB) && !strings.HasPrefix(headB, headA) {
		return false
	}
	if !wildA && len(headA) < len(headB) || !wildB && len(headB) < len(headA) {
		return false
	}
	tailA, tailB := tail(a), tail(b)
	return strings.HasSuffix(tailA, tailB) || strings.HasSuffix(tailB, tailA)
}

func head(p string) string {
	if i := strings.IndexAny(p, "*?"); i >= 0 {
		return p[:i]
	}
	return p
}

func tail(p string) string {
	if i := strings.LastIndexAny(p, "*?"); i >= 0 {
		return p[i+1:]
	}
	return p
}
