package settings

import (
	"errors"
	"reflect"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// settingsWithFields returns a struct in which every setting is set, or, if fault is not nil, has the fault. The origin of
// each setting is field.
func settingsWithFields[S any](t *testing.T, field string, fault error) (out S) {
	t.Helper()
	n := 0
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		if _, ok := v.Field(i).Interface().(setting); ok {
			n++
			v.Field(i).FieldByName("Set").SetBool(fault == nil)
			v.Field(i).FieldByName("Origin").Set(reflect.ValueOf(finding.Origin{Field: field}))
			if fault != nil {
				v.Field(i).FieldByName("Fault").Set(reflect.ValueOf(fault))
			}
		}
	}
	if n == 0 {
		t.Fatalf("%T has no settings", out)
	}
	return out
}

// checkOrigins checks that each setting of a struct has the origin want.
func checkOrigins[S any](t *testing.T, what string, got S, want string) {
	t.Helper()
	v := reflect.ValueOf(got)
	for i := range v.NumField() {
		if _, ok := v.Field(i).Interface().(setting); !ok {
			continue
		}
		if from := v.Field(i).FieldByName("Origin").Interface().(finding.Origin).Field; from != want {
			t.Errorf("%s: %T.%s comes from %q, want %q", what, got, v.Type().Field(i).Name, from, want)
		}
	}
}

// checkOverlay checks the function over for each setting of a struct: the setting in top has precedence, even if its value
// is not valid, and the setting in base is used if top has none.
func checkOverlay[S any](t *testing.T, over func(top, base S) S) {
	t.Helper()
	var none S
	top, base := settingsWithFields[S](t, "top", nil), settingsWithFields[S](t, "base", nil)
	checkOrigins(t, "both", over(top, base), "top")
	checkOrigins(t, "base alone", over(none, base), "base")
	checkOrigins(t, "top alone", over(top, none), "top")
	checkOrigins(t, "unreadable on top", over(settingsWithFields[S](t, "bad", errors.New("bad")), base), "bad")
}

// TestWithDefaultsHandlesEachSetting checks that WithDefaults handles each setting, including settings that are added later.
func TestWithDefaultsHandlesEachSetting(t *testing.T) {
	checkOverlay(t, TargetGroup.WithDefaults)
	checkOverlay(t, Auth.WithDefaults)
}

// checkFaultsOf checks that faults returns one fault for each setting of a struct in which no setting is valid. without is
// the number of settings that faults does not check.
func checkFaultsOf[S any](t *testing.T, faults func(S) []Fault, without int) {
	t.Helper()
	all := settingsWithFields[S](t, "bad", errors.New("bad"))
	n := -without
	for _, field := range reflect.ValueOf(all).Fields() {
		if _, ok := field.Interface().(setting); ok {
			n++
		}
	}
	if got := len(faults(all)); got != n {
		t.Errorf("%T: %d of %d faults are reported", all, got, n)
	}
}

func TestEachFaultIsReported(t *testing.T) {
	checkFaultsOf(t, TargetGroup.Faults, 0)
	checkFaultsOf(t, Auth.Faults, 0)
	checkFaultsOf(t, NetworkTargets.Faults, 0)
	checkFaultsOf(t, Frontend.Faults, 1) // without the setting that enables the frontend NLB
	checkFaultsOf(t, func(h FrontendHealthCheck) []Fault { return Frontend{FrontendHealth: h}.Faults() }, 0)
}
