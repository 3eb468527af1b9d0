package world_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// TestPrebuiltProgramsAreUsed checks that etcd and the API server are the programs in KUBEBUILDER_ASSETS, as in
// tests with controller-runtime.
func TestPrebuiltProgramsAreUsed(t *testing.T) {
	dir := t.TempDir()
	for _, role := range []string{world.RoleEtcd, world.RoleAPIServer} {
		text := fmt.Sprintf("#!/bin/sh\ntouch %q\nexec %q %s \"$@\"\n", filepath.Join(dir, role+".started"), worldtest.Binary(t), role)
		if err := os.WriteFile(filepath.Join(dir, role), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	w := worldtest.Start(t, world.Options{WithoutAWS: true})
	for _, role := range []string{world.RoleEtcd, world.RoleAPIServer} {
		if _, err := os.Stat(filepath.Join(dir, role+".started")); err != nil || !w.Alive(role) {
			t.Errorf("%s: %v, alive: %v", role, err, w.Alive(role))
		}
	}
	if err := os.Remove(filepath.Join(dir, world.RoleAPIServer)); err != nil {
		t.Fatal(err)
	}
	_, err := world.Start(t.Context(), world.Options{Binary: worldtest.Binary(t)})
	if err == nil || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS") || !strings.Contains(err.Error(), "without kube-apiserver") {
		t.Errorf("with one program missing the start says: %v", err)
	}
}
