package world_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

func TestStartReportsWhyARoleEnded(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho cannot work like this >&2\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	_, err := world.Start(t.Context(), world.Options{Binary: broken, BaseDir: base, WithoutAWS: true})
	if err == nil || !strings.Contains(err.Error(), "cannot work like this") || !strings.Contains(err.Error(), world.RoleEtcd) {
		t.Errorf("error is %v; want the role and the end of its log", err)
	}
	left, err := filepath.Glob(filepath.Join(base, "[0-9]*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
