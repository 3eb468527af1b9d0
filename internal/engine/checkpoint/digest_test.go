package checkpoint

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// plainDigest is a simple implementation of Digest, which must return the same result. Digests are stored: if the result of
// Digest changed, each stack would be compared with AWS after an upgrade.
func plainDigest(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		hashValue(h, reflect.ValueOf(v))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:digestBytes])
}

func hashValue(h hash.Hash, v reflect.Value) {
	put := func(s string) { _, _ = io.WriteString(h, fmt.Sprintf("%d:%s", len(s), s)) }
	switch v.Kind() {
	case reflect.Invalid:
		put("nil")
	case reflect.String:
		put(v.String())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			put("nil")
			return
		}
		put(v.Elem().Type().String())
		hashValue(h, v.Elem())
	case reflect.Slice, reflect.Array:
		put(fmt.Sprintf("list of %d", v.Len()))
		for i := range v.Len() {
			hashValue(h, v.Index(i))
		}
	case reflect.Map:
		var entries [][2]string
		part := func(v reflect.Value) string {
			sub := sha256.New()
			hashValue(sub, v)
			return string(sub.Sum(nil))
		}
		for it := v.MapRange(); it.Next(); {
			entries = append(entries, [2]string{part(it.Key()), part(it.Value())})
		}
		slices.SortFunc(entries, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		put(fmt.Sprintf("map of %d", len(entries)))
		for _, e := range entries {
			put(e[0])
			put(e[1])
		}
	case reflect.Struct:
		put(v.Type().String())
		for i := range v.NumField() {
			put(v.Type().Field(i).Name)
			hashValue(h, v.Field(i))
		}
	case reflect.Bool:
		put(fmt.Sprint(v.Bool()))
	default:
		switch {
		case v.CanInt():
			put(fmt.Sprint(v.Int()))
		case v.CanUint():
			put(fmt.Sprint(v.Uint()))
		default:
			put(fmt.Sprint(v.Float()))
		}
	}
}

func TestDigestMatchesPlainDigest(t *testing.T) {
	type inner struct {
		names map[string]string
		any   any
	}
	type outer struct {
		inner
		deep map[string]map[int]inner
		list [2]*inner
	}
	large := desiredStack(nil)
	l := &large.LoadBalancer.Listeners[0]
	for i := range 2000 {
		r := l.Rules[0]
		r.Conditions = []model.Condition{model.PathPattern{Values: []string{fmt.Sprint("/", i)}}}
		r.Tags = map[string]string{"number": fmt.Sprint(i), "text": strings.Repeat("x", i%300)}
		l.Rules = append(l.Rules, r)
	}
	for name, values := range map[string][]any{
		"nothing":  nil,
		"nil":      {nil},
		"scalars":  {true, false, 0, -12, int8(-8), uint64(1 << 63), 1.5, 1e100, float32(0.1), math.Copysign(0, -1)},
		"texts":    {"", "a", strings.Repeat("ä", 5000), model.Secret("s")},
		"lists":    {[]string(nil), []string{}, []string{"a", "b"}, [2]int{1, 2}, []byte("ab")},
		"maps":     {map[string]string(nil), map[string]string{"a": "1", "b": "2", "": ""}, map[int]bool{1: true, 2: false}},
		"pointers": {&seven, (*int32)(nil), []*int32{&seven, nil}},
		"what is not exported": {outer{
			inner: inner{map[string]string{"x": "y", "z": ""}, seven},
			deep:  map[string]map[int]inner{"a": {1: {nil, "text"}, 2: {map[string]string{"k": "v"}, map[string]string{"a": "b"}}}, "b": nil},
			list:  [2]*inner{{names: map[string]string{"m": "n"}}, nil},
		}},
		"a stack":       {desiredStack(nil), finding.List{{Reason: finding.AccessDenied, Message: "m"}}},
		"a large stack": {large, finding.List(nil), "behind"},
	} {
		if got, want := Digest(values...), plainDigest(values...); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

var seven = int32(7)

// TestDigestIsTheSameInEveryVersion compares a digest with the one that an earlier version computed.
func TestDigestIsTheSameInEveryVersion(t *testing.T) {
	if got, want := Digest("a", []int{1, 2}, map[string]string{"k": "v"}, model.PathPattern{Values: []string{"/"}}), "QL-rNpJ5K43KNQS8sOUQDw"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDigestOfAFunctionPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there is no panic")
		}
	}()
	Digest(func() {})
}

func BenchmarkDigest(b *testing.B) {
	for _, n := range []int{10, 1000} {
		s := desiredStack(nil)
		l := &s.LoadBalancer.Listeners[0]
		for i := range n {
			l.Rules = append(l.Rules, model.Rule{
				Conditions: []model.Condition{model.HostHeader{Values: []string{"a.example.com"}}, model.PathPattern{Values: []string{fmt.Sprint("/", i)}}},
				Actions:    []model.Action{model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ID: "shop/web-svc:80"}}}}},
				Member:     finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}, Tags: map[string]string{"team": "shop", "stage": "test"},
			})
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Digest(s, finding.List(nil))
			}
		})
	}
}
