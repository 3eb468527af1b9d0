package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/child"
)

// state is the stored state of a run. A later call reads the state to continue the run. The state is written before the
// resources in it are created.
type state struct {
	Run       string    `json:"run"`
	Context   string    `json:"context"`
	Region    string    `json:"region"`
	Account   string    `json:"account"`
	StartedAt time.Time `json:"at"`
	// Definitions are the CRDs that the run has installed.
	Definitions []string `json:"definitions,omitempty"`
	// TaggedSecurityGroups are the security groups of nodes to which the run has added a tag.
	TaggedSecurityGroups []string           `json:"tagged,omitempty"`
	Results              map[string]*result `json:"results,omitempty"`
	// Tested is set when all parts have a result, Done when everything is removed. NotRemoved are resources that the
	// controller did not remove.
	Tested     bool     `json:"tested,omitempty"`
	NotRemoved []string `json:"left,omitempty"`
	Done       bool     `json:"done,omitempty"`
}

// result is the result of a part.
type result struct {
	Error    string        `json:"error,omitempty"`
	Duration time.Duration `json:"took"`
	Notes    []string      `json:"notes,omitempty"`
}

// loadOrCreateState loads the unfinished run of this context and region, or creates one.
func (r *run) loadOrCreateState() (resumed bool, err error) {
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
	r.state = state{Run: newRunName(), Context: r.Context, Region: r.Region, StartedAt: time.Now().UTC().Truncate(time.Millisecond), Results: map[string]*result{}}
	if r.dir, err = filepath.Abs(filepath.Join(r.Dir, r.state.Run)); err != nil {
		return false, err
	}
	for _, d := range []string{"logs", child.PIDsDir} {
		if err := os.MkdirAll(r.filePath(d), 0o700); err != nil {
			return false, err
		}
	}
	return false, r.saveState()
}

// saveState writes the state atomically.
func (r *run) saveState() error {
	text, err := json.MarshalIndent(r.state, "", "  ")
	if err != nil {
		return err
	}
	next := r.filePath("state.json.next")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, r.filePath("state.json"))
}
