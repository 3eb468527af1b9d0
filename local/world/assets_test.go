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

// prebuiltPrograms returns a directory with the programs etcd and kube-apiserver. They are scripts that create the file
// ROLE.started in the directory, and then run the role of fulcrum-local.
func prebuiltPrograms(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, role := range []string{world.RoleEtcd, world.RoleAPIServer} {
		text := fmt.Sprintf("#!/bin/sh\ntouch %q\nexec %q %s \"$@\"\n", filepath.Join(dir, role+".started"), worldtest.BinaryPath(t), role)
		if err := os.WriteFile(filepath.Join(dir, role), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// testPrebuiltProgramsAreUsed checks that local world w runs the programs etcd and kube-apiserver in dir. dir is the
// directory of prebuiltPrograms, to which KUBEBUILDER_ASSETS was set when w was started.
func testPrebuiltProgramsAreUsed(t *testing.T, w *world.World, dir string) {
	for _, role := range []string{world.RoleEtcd, world.RoleAPIServer} {
		if _, err := os.Stat(filepath.Join(dir, role+".started")); err != nil || !w.IsAlive(role) {
			t.Errorf("%s: %v, alive: %v", role, err, w.IsAlive(role))
		}
	}
}

// TestIncompletePrebuiltProgramsAreAnError checks that a local world does not start if the directory in KUBEBUILDER_ASSETS
// lacks a program.
func TestIncompletePrebuiltProgramsAreAnError(t *testing.T) {
	dir := prebuiltPrograms(t)
	if err := os.Remove(filepath.Join(dir, world.RoleAPIServer)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	_, err := world.Start(t.Context(), world.Options{Binary: worldtest.BinaryPath(t)})
	if err == nil || !strings.Contains(err.Error(), "KUBEBUILDER_ASSETS") || !strings.Contains(err.Error(), "without kube-apiserver") {
		t.Errorf("the error is %v, want the variable and the missing program", err)
	}
}
