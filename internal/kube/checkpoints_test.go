package kube_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

func TestCheckpointsAreStoredInASecret(t *testing.T) {
	store, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	c := kube.SecretStore{API: kube.MemoryAPI{Store: store}, Namespace: "kube-system", Name: kube.CheckpointsName}
	read := func() string {
		t.Helper()
		text, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := read(); got != "" {
		t.Errorf("before anything was written: %q", got)
	}
	for _, text := range []string{"one", "two", ""} {
		if err := c.Write(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		if got := read(); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	other := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: kube.CheckpointsName}, Data: map[string][]byte{"note": []byte("of a person")}}
	if _, err := store.Update(other, cluster.MainPart); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "no key v1, but note: another version") {
		t.Errorf("what another version has written is read with %v", err)
	}
	if err := c.Write(t.Context(), "three"); err != nil {
		t.Fatal(err)
	}
	m := &corev1.Secret{ObjectMeta: other.ObjectMeta}
	if err := store.ReadInto(m); err != nil {
		t.Fatal(err)
	}
	if string(m.Data["note"]) != "of a person" || read() != "three" {
		t.Errorf("the Secret holds %v", m.Data)
	}
}
