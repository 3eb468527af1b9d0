package checkpoint

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func desiredStack(edit func(*model.Stack)) model.Stack {
	s := model.Stack{
		ID: model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"},
		LoadBalancer: &model.LoadBalancer{
			Name: "web", Scheme: model.Internal, Subnets: model.SubnetsNamed{Refs: []string{"subnet-1", "subnet-2"}},
			Attributes: map[string]string{"a": "1", "b": "2", "c": "3"},
			Listeners: []model.Listener{{Port: 443, TLS: &model.TLS{}, Rules: []model.Rule{{
				Conditions: []model.Condition{model.PathPattern{Values: []string{"/"}}},
				Actions:    []model.Action{model.AuthOIDC{ClientSecret: "one"}, model.FixedResponse{Status: "200"}},
			}}}},
		},
	}
	if edit != nil {
		edit(&s)
	}
	return s
}

func TestDigestDiffersWithTheDesiredState(t *testing.T) {
	seven := int32(7)
	stacks := map[string]func(*model.Stack){
		"as it is":           nil,
		"another attribute":  func(s *model.Stack) { s.LoadBalancer.Attributes["c"] = "4" },
		"attributes swapped": func(s *model.Stack) { s.LoadBalancer.Attributes["a"], s.LoadBalancer.Attributes["b"] = "2", "1" },
		"another secret": func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].Rules[0].Actions[0] = model.AuthOIDC{ClientSecret: "two"}
		},
		"secret as id": func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].Rules[0].Actions[0] = model.AuthOIDC{ClientID: "one"}
		},
		"another kind of condition": func(s *model.Stack) {
			s.LoadBalancer.Listeners[0].Rules[0].Conditions[0] = model.HostHeader{Values: []string{"/"}}
		},
		"texts joined": func(s *model.Stack) { s.LoadBalancer.Subnets = model.SubnetsNamed{Refs: []string{"subnet-1subnet-2"}} },
		"no TLS":       func(s *model.Stack) { s.LoadBalancer.Listeners[0].TLS = nil },
		"capacity":     func(s *model.Stack) { s.LoadBalancer.Capacity = &seven },
		"empty":        func(s *model.Stack) { s.LoadBalancer = nil },
	}
	seen := map[string]string{}
	for name, edit := range stacks {
		d := Digest(desiredStack(edit), finding.List(nil))
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[d] = name
		for range 20 {
			if again := Digest(desiredStack(edit), finding.List(nil)); again != d {
				t.Fatalf("%q has two digests", name)
			}
		}
	}
	if Digest(desiredStack(nil), finding.List{{Reason: finding.AccessDenied}}) == Digest(desiredStack(nil), finding.List(nil)) {
		t.Error("a finding makes no difference")
	}
}

func TestDigestIgnoresMapOrder(t *testing.T) {
	got := Digest("a", map[string]int{"x": 1, "y": 2}, []string{"b"}, model.Secret("s"))
	if want := Digest("a", map[string]int{"y": 2, "x": 1}, []string{"b"}, "s"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if strings.Contains(got, "=") || len(got) != 22 {
		t.Errorf("the digest %q does not fit its place", got)
	}
}

func stackIDs(n int) (out []model.StackID) {
	for i := range n {
		out = append(out, model.StackID{Kind: model.Ingress, Namespace: "shop", Name: fmt.Sprintf("web%d", i)})
	}
	return out
}

// checkSavedText calls Save and checks the text that is written; "nothing" if Save does not write.
func checkSavedText(t *testing.T, b *Registry, want string) {
	t.Helper()
	got := "nothing"
	if err := b.Save(func(text string) error { got = text; return nil }); err != nil || got != want {
		t.Errorf("stored %q, want %q; %v", got, want, err)
	}
}

func TestAppliedStackIsUnchanged(t *testing.T) {
	before, id := New(), stackIDs(1)[0]
	before.Load("")
	if before.IsUnchanged(id, "w") || before.IsUnchanged(id, "") {
		t.Error("unchanged without a mark")
	}
	before.SetDigest(id, "w")
	text, changed := textOf(before)
	if !changed {
		t.Fatal("there is nothing to store")
	}
	checkSavedText(t, before, text)
	if _, changed := textOf(before); changed {
		t.Error("what was stored is to be stored again")
	}
	b := New()
	b.Load(text)
	if !b.IsUnchanged(id, "w") || b.IsUnchanged(id, "other") {
		t.Errorf("of the desired state %t, of another one %t", b.IsUnchanged(id, "w"), b.IsUnchanged(id, "other"))
	}
	if b.SetDigest(id, ""); b.IsUnchanged(id, "w") {
		t.Error("unchanged though it was forgotten")
	}
}

func TestCheckpointsAreReadFromText(t *testing.T) {
	b := New()
	b.Load("")
	b.SetDigest(model.StackID{Kind: model.Ingress, Name: "group"}, "g")
	b.SetDigest(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, "w")
	b.SetDigest(model.StackID{Kind: model.Service, Namespace: "shop", Name: "web"}, "s")
	b.SetDigest(model.StackID{Kind: model.Service, Namespace: "shop", Name: "old"}, "s")
	b.SetDigest(model.StackID{Kind: model.Service, Namespace: "shop", Name: "old"}, "")
	text, _ := textOf(b)
	want := "Ingress group g\nIngress shop/web w\nService shop/web s\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Fatal(diff)
	}
	again := New()
	if stacks, leftOut := again.Load(text + "Service half"); stacks != 3 || leftOut != 1 {
		t.Errorf("%d stacks are read and %d lines are not, want 3 and 1", stacks, leftOut)
	}
	if got, changed := textOf(again); got != want || changed {
		t.Errorf("read as %q, changed %v", got, changed)
	}
}

func TestCheckpointsOverTheSizeLimitAreNotStored(t *testing.T) {
	b := New()
	b.Load("")
	for _, id := range stackIDs(30000) {
		b.SetDigest(id, Digest(id))
	}
	if text, _ := textOf(b); text != "" {
		t.Errorf("%d bytes are to be stored", len(text))
	}
}

func TestSecretHashesAreStoredWithCheckpoints(t *testing.T) {
	web, group := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, model.StackID{Kind: model.Ingress, Name: "group"}
	before := New()
	before.Load("")
	before.SetDigest(web, "w")
	for _, arn := range []string{"a", "b", "c"} {
		before.RecordSecretHash(web, arn, "mark-"+arn)
		before.RecordSecretHash(group, arn, "other-"+arn)
	}
	before.RetainSecretHashes(web, []string{"a", "c"})
	text, changed := textOf(before)
	if !changed || strings.Count(text, "\n") != 6 {
		t.Fatalf("%v %q", changed, text)
	}
	checkSavedText(t, before, text)
	before.RecordSecretHash(web, "a", "mark-a")
	before.RetainSecretHashes(web, []string{"a", "c", "d"})
	if _, changed := textOf(before); changed {
		t.Error("what was known already is a change")
	}
	after := New()
	after.Load(text)
	got := []string{after.SecretHash(web, "a"), after.SecretHash(web, "b"), after.SecretHash(web, "c"), after.SecretHash(group, "b"), after.SecretHash(group, "d")}
	if d := cmp.Diff([]string{"mark-a", "", "mark-c", "other-b", ""}, got); d != "" {
		t.Error(d)
	}
	after.RetainSecretHashes(group, nil)
	if text, _ := textOf(after); strings.Contains(text, "other") || !strings.Contains(text, "mark-a") {
		t.Errorf("%q", text)
	}
}

// TestForgetWaitsForTheStore checks that Forget returns a channel that is closed when the checkpoint is removed from the
// store. Several calls share one write. Forget returns nil if the store cannot have the checkpoint.
func TestForgetWaitsForTheStore(t *testing.T) {
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	ids := stackIDs(5)
	b := New()
	b.Load(fmt.Sprintf("Ingress %s a\nIngress %s b\nIngress %s c\n", ids[0], ids[1], ids[2]))
	if b.Forget(ids[3]) != nil || closed(b.WriteRequests()) {
		t.Error("what is not stored is waited for")
	}
	b.SetDigest(ids[3], "d")
	if b.Forget(ids[3]) != nil || b.IsUnchanged(ids[3], "d") || closed(b.WriteRequests()) {
		t.Error("what was not stored yet is waited for, or still counts")
	}
	first, second := b.Forget(ids[0]), b.Forget(ids[1])
	if first == nil || first != second || closed(first) || b.IsUnchanged(ids[0], "a") || !closed(b.WriteRequests()) || closed(b.WriteRequests()) {
		t.Error("two that are stored do not wait for one write")
	}
	var third <-chan struct{}
	if err := b.Save(func(text string) error {
		third = b.Forget(ids[2])
		if text != fmt.Sprintf("Ingress %s c\n", ids[2]) || closed(first) {
			t.Errorf("stored is %q, and it counts before it has ended: %v", text, closed(first))
		}
		return nil
	}); err != nil || !closed(first) || closed(third) || !closed(b.WriteRequests()) {
		t.Error("a write is not waited for, or one that began before")
	}
	failure := errors.New("no answer")
	if err := b.Save(func(string) error { return failure }); !errors.Is(err, failure) || !closed(third) {
		t.Error("a write that failed is waited for")
	}
	if b.Forget(ids[2]) != nil || closed(b.WriteRequests()) {
		t.Error("a store that fails is waited for")
	}
	b.SetDigest(ids[4], "e")
	_ = b.Save(func(string) error { return failure }) // the write may have been stored in spite of the error
	if err := b.Save(func(string) error { b.SetDigest(ids[4], ""); return nil }); err != nil {
		t.Error(err)
	}
	if c := b.Forget(ids[4]); c == nil || !closed(b.WriteRequests()) {
		t.Error("what was forgotten during a write is not stored again")
	}
	if b.Forget(ids[2]) != nil {
		t.Error("what is out of the store is waited for")
	}
}

// TestForgetWaitsWhileStoredCheckpointsAreUnavailable checks that each Forget waits for a write while the store may have
// checkpoints that were not read.
func TestForgetWaitsWhileStoredCheckpointsAreUnavailable(t *testing.T) {
	ids := stackIDs(3)
	for name, begin := range map[string]func(b *Registry){
		"nothing was read":    func(b *Registry) { b.MarkStoreUnavailable() },
		"a line was not read": func(b *Registry) { b.Load("Ingress of quite another version\n") },
	} {
		b := New()
		begin(b)
		first := b.Forget(ids[0])
		if first == nil || len(b.WriteRequests()) != 1 {
			t.Fatalf("%s: no write is requested", name)
		}
		var second <-chan struct{}
		err := b.Save(func(string) error { second = b.Forget(ids[1]); return nil })
		if err != nil {
			t.Fatal(err)
		}
		checkSavedText(t, b, "nothing")
		for _, c := range []<-chan struct{}{first, second} {
			select {
			case <-c:
			default:
				t.Errorf("%s: a run waits although the store has no mark", name)
			}
		}
		if b.Forget(ids[2]) != nil {
			t.Errorf("%s: what is not in the store is waited for", name)
		}
	}
}

// TestForgetSecretHash checks that after ForgetSecretHash, the stored entry for a client secret matches no secret until a
// new hash is recorded.
func TestForgetSecretHash(t *testing.T) {
	web := stackIDs(1)[0]
	notBegun := New()
	notBegun.RecordSecretHash(web, "a", "one")
	if notBegun.ForgetSecretHash(web, "a") != nil {
		t.Error("a write is waited for where nothing is stored")
	}
	b := New()
	b.Load("")
	if b.ForgetSecretHash(web, "a") != nil || b.SecretHash(web, "a") != "" {
		t.Error("a secret that is not known is forgotten")
	}
	b.RecordSecretHash(web, "a", "one")
	b.RecordSecretHash(web, "b", "one")
	first, second := b.ForgetSecretHash(web, "a"), b.ForgetSecretHash(web, "b")
	if first == nil || first != second || len(b.WriteRequests()) != 1 {
		t.Error("two secrets do not wait for one write")
	}
	if b.ForgetSecretHash(web, "a") != nil {
		t.Error("what is forgotten is forgotten again")
	}
	if b.ForgetSecretHash(web, "") == nil || b.ForgetSecretHash(web, "") != nil {
		t.Error("rules that are about to be created are not forgotten, or twice")
	}
	text, _ := textOf(b)
	after := New()
	after.Load(text)
	for _, arn := range []string{"a", "b", "created meanwhile"} {
		if mark := after.SecretHash(web, arn); mark == "" || mark == "one" {
			t.Errorf("after a start the mark of %s is %q", arn, mark)
		}
	}
	if after.RetainSecretHashes(web, []string{"a"}); after.SecretHash(web, "b") != "" {
		t.Error("a rule that was not created here counts as one")
	}
}

// textOf returns the text that the next write would store, and whether it differs from the text that was stored last.
func textOf(b *Registry) (text string, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text(), b.hasUnsavedChanges
}
