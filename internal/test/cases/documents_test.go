package cases

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/cases/testdata"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// documentsFolder is the folder in testdata with the expected plan documents of some cases. Together, these cases cover
// everything that cases can express.
const documentsFolder = "documents/"

// TestPlanDocumentsOfCases compares two plan documents of each Ingress case: the one before its resources exist, and the one
// in the annotation of the first member when they exist. Some documents are also compared with files.
func TestPlanDocumentsOfCases(t *testing.T) {
	t.Parallel()
	kept := 0
	for _, name := range Names(t) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewHarness(t, harness.Options{Ingress: func(o *ingress.Options) { o.DescribePlan = true }})
				NewLoader(t, r).Apply(t, name)
				before := map[cluster.Ref]string{}
				for _, obj := range r.Store.All(cluster.KindIngress) {
					for _, id := range r.Stacks(obj) {
						draft := r.Draft(id)
						if doc := r.Plan(id); doc != nil {
							first := draft.Stack.Members[0].Ref
							before[cluster.Ref{Kind: cluster.KindIngress, Namespace: first.Namespace, Name: first.Name}] = doc.JSON()
						}
					}
				}
				r.Settle(controllerRunTime)
				after, names := map[cluster.Ref]string{}, nameTableOf(t, r)
				for _, obj := range r.Store.All(cluster.KindIngress) {
					if text, ok := obj.GetAnnotations()[cluster.IngressPlanAnnotation]; ok {
						after[cluster.RefOf(obj)] = readableDocument(t, text, names)
					}
				}
				for ref, text := range before {
					// The shared security group had only a name before it had an ID.
					text = strings.ReplaceAll(text, naming.BackendSecurityGroupName(harness.ClusterName), "sg:backend")
					before[ref] = readableDocument(t, text, names)
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("(-before +shown):\n%s", diff)
				}
				if file := documentsFolder + name + ".txt"; fileExists(file) {
					kept++
					for _, text := range after {
						checkDocumentFile(t, file, text)
					}
				}
			})
		})
	}
	if kept < 12 {
		t.Errorf("only %d documents are compared with files", kept)
	}
}

func checkDocumentFile(t *testing.T, file, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := testdata.Files.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// nameTableOf returns the name table with the seeded resources and the security groups of the controller.
func nameTableOf(t *testing.T, r *harness.Harness) nameTable {
	t.Helper()
	rd := newReader(t, r)
	rd.nameSubnets()
	rd.managedSecurityGroups()
	return rd.names
}

var generatedName = regexp.MustCompile(`"(k8s-[0-9a-z-]+-)[0-9a-f]{10}(-nlb)?"`)

// readableDocument returns a plan document with two lines for each resource, and with names instead of generated IDs.
func readableDocument(t *testing.T, document string, names nameTable) string {
	t.Helper()
	var doc struct {
		ID        string
		Resources map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintln(&out, doc.ID)
	for _, typ := range slices.Sorted(maps.Keys(doc.Resources)) {
		for _, id := range slices.Sorted(maps.Keys(doc.Resources[typ])) {
			value, err := json.Marshal(renameAll(doc.Resources[typ][id], names.replacer()))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %s\n  %s\n", typ, id, generatedName.ReplaceAll(value, []byte(`"${1}#${2}"`)))
		}
	}
	return out.String()
}
