package dataplane

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// Names of the cookies that load balancers set. A CORS cookie has the same value as the other cookie, but browsers also send
// it in cross-site requests.
const (
	cookieTargetGroup     = "AWSALBTG"
	cookieTargetGroupCORS = "AWSALBTGCORS"
	cookieTarget          = "AWSALB"
	cookieTargetCORS      = "AWSALBCORS"
	cookieApp             = "AWSALBAPP-0"
)

// cookieLifetime is the time for which browsers keep the cookies. Stickiness ends earlier if its duration is shorter: the
// time of issue is in the value of the cookie.
const cookieLifetime = 7 * 24 * time.Hour

// stickySession is the content of a stickiness cookie: the ARN of the target group and, for stickiness of targets, the ID
// and port of the target. The cookie is sealed, so clients can neither read nor forge it.
type stickySession struct {
	TargetGroup string    `json:"g"`
	ID          string    `json:"i,omitempty"`
	Port        uint16    `json:"p,omitempty"`
	IssuedAt    time.Time `json:"t"`
}

// targetGroupChoice is the target group that was chosen for a request. If the choice is sticky, the response has a cookie
// with the target group.
type targetGroupChoice struct {
	arn      string
	isSticky bool
}

// chooseTargetGroup returns the target group in the client's cookie, if the action is sticky and the cookie is valid.
// Otherwise it selects a target group at random by weight.
func (x *exchange) chooseTargetGroup(to Forward, now time.Time) targetGroupChoice {
	sticky := to.StickinessDuration > 0
	if sticky {
		s, ok := x.readStickyCookie("tg", cookieTargetGroup, cookieTargetGroupCORS)
		known := slices.ContainsFunc(to.TargetGroups, func(g WeightedTargetGroup) bool { return g.ARN == s.TargetGroup })
		if ok && known && now.Sub(s.IssuedAt) < to.StickinessDuration {
			return targetGroupChoice{arn: s.TargetGroup, isSticky: true}
		}
	}
	return targetGroupChoice{arn: chooseTargetGroup(to.TargetGroups), isSticky: sticky}
}

// stickyTarget returns the target in the client's cookie, and true. It returns nil and false if the target group is not
// sticky, if the cookie is missing or has expired, or if the target cannot receive the request.
func (x *exchange) stickyTarget(g *targetGroup, v *targetGroupView, at receivingNode, now time.Time) (t *target, stays bool) {
	if !v.attr.isSticky {
		return nil, false
	}
	var s stickySession
	var ok bool
	limit := v.attr.lbCookieDuration
	if v.attr.stickyType == "app_cookie" {
		if _, err := x.r.Cookie(v.attr.appCookieName); err != nil {
			return nil, false
		}
		limit = v.attr.appCookieDuration
		s, ok = x.readStickyCookie("app", cookieApp)
	} else {
		s, ok = x.readStickyCookie("lb", cookieTarget, cookieTargetCORS)
	}
	if !ok || s.TargetGroup != g.arn || now.Sub(s.IssuedAt) >= limit {
		return nil, false
	}
	for _, m := range v.candidates(at) {
		if m.key == (targetKey{id: s.ID, port: s.Port}) {
			return m.target, true
		}
	}
	return nil, false
}

// stickyCookies returns the stickiness cookies for the response of target t. stays reports whether the client's cookie
// selected the target.
func (x *exchange) stickyCookies(resp *http.Response, choice targetGroupChoice, stays bool, g *targetGroup, v *targetGroupView, t *target) []*http.Cookie {
	now := x.startTime
	var out []*http.Cookie
	if choice.isSticky {
		value := x.sealStickyCookie("tg", stickySession{TargetGroup: choice.arn, IssuedAt: now})
		out = append(out, cookiePair(cookieTargetGroup, cookieTargetGroupCORS, value, now)...)
	}
	if !v.attr.isSticky {
		return out
	}
	here := stickySession{TargetGroup: g.arn, ID: t.key.id, Port: t.key.port, IssuedAt: now}
	if v.attr.stickyType != "app_cookie" {
		return append(out, cookiePair(cookieTarget, cookieTargetCORS, x.sealStickyCookie("lb", here), now)...)
	}
	sets := slices.ContainsFunc(resp.Cookies(), func(c *http.Cookie) bool { return c.Name == v.attr.appCookieName })
	if !sets && !stays {
		return out
	}
	return append(out, &http.Cookie{Name: cookieApp, Value: x.sealStickyCookie("app", here), Path: "/", Expires: now.Add(cookieLifetime)})
}

func cookiePair(name, cors, value string, now time.Time) []*http.Cookie {
	expires := now.Add(cookieLifetime)
	return []*http.Cookie{
		{Name: name, Value: value, Path: "/", Expires: expires},
		{Name: cors, Value: value, Path: "/", Expires: expires, SameSite: http.SameSiteNoneMode, Secure: true},
	}
}

// readStickyCookie returns the content of the first valid cookie with one of the names. kind is "tg", "lb" or "app", as in
// sealStickyCookie.
func (x *exchange) readStickyCookie(kind string, names ...string) (stickySession, bool) {
	for _, name := range names {
		for _, c := range x.r.CookiesNamed(name) {
			raw, ok := x.plane.cookieCipher.open(kind+x.route.lb.arn, c.Value)
			var s stickySession
			if ok && json.Unmarshal(raw, &s) == nil {
				return s, true
			}
		}
	}
	return stickySession{}, false
}

func (x *exchange) sealStickyCookie(kind string, s stickySession) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and a time always marshal
	}
	return x.plane.cookieCipher.seal(kind+x.route.lb.arn, raw)
}
