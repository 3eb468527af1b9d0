package dataplane

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// Names of the cookies that load balancers set. The CORS variants have the same value, for requests from other sites.
const (
	cookieTargetGroup     = "AWSALBTG"
	cookieTargetGroupCORS = "AWSALBTGCORS"
	cookieTarget          = "AWSALB"
	cookieTargetCORS      = "AWSALBCORS"
	cookieApp             = "AWSALBAPP-0"
)

// cookieLifetime is the lifetime of the cookies in browsers. The duration of the stickiness is in the value of the
// cookie.
const cookieLifetime = 7 * 24 * time.Hour

// stickySession is the content of a stickiness cookie. The cookie is sealed, so clients can neither read nor forge
// it.
type stickySession struct {
	TargetGroup string    `json:"g"`
	ID          string    `json:"i,omitempty"`
	Port        uint16    `json:"p,omitempty"`
	IssuedAt    time.Time `json:"t"`
}

// targetGroupChoice is the target group of a request. A sticky choice is sent to the client in a cookie.
type targetGroupChoice struct {
	arn      string
	isSticky bool
}

// chooseTargetGroup returns the target group of a valid cookie of the client. Without a valid cookie it selects a target
// group at random by weight.
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
// sticky, if the cookie is missing or expired, or if the target cannot take the request.
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

// stickyCookies returns the cookies to add to a target's response.
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

// readStickyCookie opens the first of the named cookies that is valid.
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
