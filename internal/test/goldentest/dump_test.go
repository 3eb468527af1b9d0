package goldentest

import "testing"

type animal interface{ animal() }
type cat struct{ Lives int }
type fish struct{}

func (cat) animal()  {}
func (fish) animal() {}

func TestDumpHasTypeNamesAndOmitsEmptyFields(t *testing.T) {
	zero := 0
	got := Dump(struct {
		Name  string
		Empty string
		None  map[string]string
		Zero  *int
		Pets  []animal
		One   animal
		Tags  map[string]string
		List  []struct{ A, B string }
	}{
		Name: "a b", None: map[string]string{}, Zero: &zero, Pets: []animal{cat{Lives: 9}, fish{}}, One: cat{Lives: 1},
		Tags: map[string]string{"z": "", "a": "[x]"}, List: []struct{ A, B string }{{"1", "2"}},
	})
	want := `Name: a b
Zero: 0
Pets:
  - cat:
      Lives: 9
  - fish
One:
  cat:
    Lives: 1
Tags:
  a: "[x]"
  z: ""
List:
  - A: 1
    B: 2
`
	if got != want {
		t.Errorf("want:\n%s\ngot:\n%s", want, got)
	}
}
