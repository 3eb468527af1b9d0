package goldentest

import "testing"

type animal interface{ animal() }
type cat struct{ Lives int }
type fish struct{}

func (cat) animal()  {}
func (fish) animal() {}

func TestDumpNamesVariantsAndLeavesZerosOut(t *testing.T) {
	zero := 0
	got := Dump(struct {
		Name  string
		Empty string
		Zero  *int
		Pets  []animal
		One   animal
		Tags  map[string]string
	}{Name: "a b", Zero: &zero, Pets: []animal{cat{Lives: 9}, fish{}}, One: cat{Lives: 1}, Tags: map[string]string{"z": "", "a": "1"}})
	want := `Name: a b
Zero: 0
Pets:
  - cat:
    Lives: 9
  - fish
One: cat:
  Lives: 1
Tags:
  a: 1
  z: ""
`
	if got != want {
		t.Errorf("want:\n%s\ngot:\n%s", want, got)
	}
}
