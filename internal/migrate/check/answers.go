package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/migrate/match"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Side is one side of a comparison: a desired state, and what is needed to describe it.
type Side struct {
	model.Stack
	// Port returns the number of the Service port of a binding.
	Port func(b *model.Binding) string
	// FrontendStack is the desired state of the Gateway whose network load balancer replaces the frontend NLB; nil for the
	// side of the Ingresses, or if no Gateway replaces it.
	FrontendStack *model.Stack
	// ALBARN is the ARN of the ALB of this side. The target groups of FrontendStack name the ALB by this ARN.
	ALBARN string
	// TakesOver reports whether the Gateway takes over the load balancer of the other side.
	TakesOver bool
}

// answer is the answer to a request. Two answers are equal if they have the same id. text describes the answer for users.
type answer struct{ id, text string }

// answerTo returns the answer that actions and transforms give to a request on listener l.
func (s Side) answerTo(actions []model.Action, transforms []model.Transform, req model.Request, l model.Listener) answer {
	var id, text []string
	for _, a := range actions {
		switch a := a.(type) {
		case model.Forward:
			forwardID, forwardText := s.forwardAnswer(a)
			if forwardID == "" {
				id, text = append(id, `answer 503 text/plain ""`), append(text, "answer 503, because all weights are 0")
				continue
			}
			to := rewrittenTarget(transforms, req)
			if id = append(id, forwardID, to); to != requestTarget(req) {
				forwardText += " as " + to
			}
			text = append(text, forwardText)
		case model.Redirect:
			redirect := a.Status + " " + a.Location(req, l.Protocol(), l.Port)
			id, text = append(id, redirect), append(text, "redirect "+redirect)
		case model.FixedResponse:
			id = append(id, fmt.Sprintf("answer %s %s %q", a.Status, cmp.Or(a.ContentType, "text/plain"), a.Body))
			text = append(text, strings.TrimSpace("answer "+a.Status+" "+a.Body))
		default:
			content, _ := json.Marshal(a)
			id = append(id, fmt.Sprintf("%T %s", a, content))
			text = append(text, plan.ActionsText([]model.Action{a}))
		}
	}
	return answer{strings.Join(id, "\n"), strings.Join(text, ", then ")}
}

// forwardAnswer returns the target groups of a forward action with their shares of the requests, as an identifier and as
// text for users. Both are empty if all weights are 0.
func (s Side) forwardAnswer(f model.Forward) (id, text string) {
	total := int32(0)
	weight := func(g model.WeightedTargetGroup) int32 {
		if g.Weight == nil || len(f.Groups) == 1 && *g.Weight > 0 {
			return 1
		}
		return *g.Weight
	}
	for _, g := range f.Groups {
		total += weight(g)
	}
	if total == 0 {
		return "", ""
	}
	shares := map[string]int32{}
	var names []string
	for _, g := range f.Groups {
		name := s.targetGroupKey(g.Group)
		shares[name] += weight(g)
		if len(f.Groups) > 1 {
			name = fmt.Sprintf("%s with weight %d of %d", name, weight(g), total)
		}
		names = append(names, name)
	}
	var ids []string
	for name, n := range shares {
		if n > 0 {
			ids = append(ids, fmt.Sprintf("%s %.4f", name, float64(n)/float64(total)))
		}
	}
	slices.Sort(ids)
	id, text = "forward "+strings.Join(ids, ", "), "forward to "+strings.Join(names, ", ")
	if st := f.Stickiness; st != nil && st.Enabled != nil && *st.Enabled {
		id += " sticky"
		if st.Duration != nil {
			id += fmt.Sprint(" ", *st.Duration)
		}
	}
	return id, text
}

// targetGroupKey returns a text that is the same for corresponding target groups of both sides: the Service and its port, or
// the name of a target group of another owner.
func (s Side) targetGroupKey(ref model.TargetGroupRef) string {
	if ref.ID == "" {
		name := ref.Name
		if ref.ARN != "" {
			_, rest, _ := strings.Cut(ref.ARN, "targetgroup/")
			name, _, _ = strings.Cut(rest, "/")
		}
		return "target group " + name
	}
	t := s.TargetGroup(ref.ID)
	if t == nil || t.Binding == nil {
		return "target group " + ref.ID
	}
	return fmt.Sprintf("Service %s/%s:%s", t.Binding.Namespace, t.Binding.Service, s.Port(t.Binding))
}

// requestTarget returns the path and the query of a request.
func requestTarget(r model.Request) string {
	if r.Query == "" {
		return r.Path
	}
	return r.Path + "?" + r.Query
}

// rewrittenTarget returns the path and the query of a request after transforms. If the transforms change the host, the new
// host precedes them.
func rewrittenTarget(transforms []model.Transform, r model.Request) string {
	host, path := r.Host, requestTarget(r)
	for _, t := range transforms {
		for _, x := range t.Rewrites {
			re, err := regexp.Compile(x.Regex)
			if err != nil {
				continue
			}
			text := &path
			if t.Kind == model.HostRewrite {
				text = &host
			}
			*text = match.Rewrite(re, x.Replace, *text)
		}
	}
	if host != r.Host {
		return host + path
	}
	return path
}
