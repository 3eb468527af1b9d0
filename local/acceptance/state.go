package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/child"
)

// state is what a run that goes on has to know. It is written before anything is made that it names.
type state struct {
	Run     string    `json:"run"`
	Context string    `json:"context"`
	Region  string    `json:"region"`
	Account string    `json:"account"`
	At      time.Time `json:"at"`
	// Definitions are the CRDs that the run has installed.
	Definitions []string `json:"definitions,omitempty"`
	// Tagged are the security groups of nodes that it has given a tag.
	Tagged  []string           `json:"tagged,omitempty"`
	Results map[string]*result `json:"results,omitempty"`
	// Tested is set once all parts have a result, Done once everything is removed.
	Tested bool     `json:"tested,omitempty"`
	Left   []string `json:"left,omitempty"`
	Done   bool     `json:"done,omitempty"`
}

// result is what became of a part.
type result struct {
	Error string        `json:"error,omitempty"`
	Took  time.Duration `json:"took"`
	Notes []string      `json:"notes,omitempty"`
}

// open goes on with the unfinished run of this context and region, or begins one.
func (r *run) open() (resumed bool, err error) {
	files, err := filepath.Glob(filepath.Join(r.Dir, "*", "state.json"))
	if err != nil {
		return false, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return false, err
		}
		var s state
		if err := json.Unmarshal(text, &s); err != nil {
			return false, fmt.Errorf("%s: %w", f, err)
		}
		if s.Context == r.Context && s.Region == r.Region && !s.Done {
			r.state, r.dir = s, filepath.Dir(f)
			if r.state.Results == nil {
				r.state.Results = map[string]*result{}
			}
			return true, nil
		}
	}
	r.state = state{Run: newRun(), Context: r.Context, Region: r.Region, At: time.Now().UTC().Truncate(time.Millisecond), Results: map[string]*result{}}
	if r.dir, err = filepath.Abs(filepath.Join(r.Dir, r.state.Run)); err != nil {
		return false, err
	}
	for _, d := range []string{"logs", child.PIDs} {
		if err := os.MkdirAll(r.file(d), 0o700); err != nil {
			return false, err
		}
	}
	return false, r.save()
}

// save writes the state as a whole or not at all.
func (r *run) save() error {
	text, err := json.MarshalIndent(r.state, "", "  ")
	if err != nil {
		return err
	}
	next := r.file("state.json.next")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.file("state.json"))
}
