package version

import (
	"runtime/debug"
	"testing"
)

// TestLinkerValuesHavePrecedence checks that values of the linker have precedence. Otherwise the values that the Go
// toolchain reads from the repository are used. Values that are not known get a default text.
func TestLinkerValuesHavePrecedence(t *testing.T) {
	info := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}}
	b := Build{}
	b.fillFromBuildInfo(info)
	if want := (Build{"", "c0ffee", "2026-01-02T03:04:05Z"}); b != want {
		t.Errorf("of the toolchain: %+v", b)
	}
	b = Build{"v1.2.3", "beef", "2026-02-03T04:05:06Z"}
	b.fillFromBuildInfo(info)
	if want := "fulcrum v1.2.3\ncommit beef\nbuilt 2026-02-03T04:05:06Z\n"; b.Text("fulcrum") != want {
		t.Errorf("of a release: %s", b.Text("fulcrum"))
	}
	if b := Current(); b.Version != "development" || b.Commit == "" || b.Date == "" {
		t.Errorf("of a test: %+v", b)
	}
}
