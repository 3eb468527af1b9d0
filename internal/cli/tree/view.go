package tree

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// View reads the same snapshots as "tree --watch", for a command that shows them in another form. It must not be used by
// several goroutines at a time.
type View struct {
	treeCommand
	current Snapshot
	// stderr has the text that treeCommand writes to standard error during one call of Update: notes about the flags of
	// the controller. treeCommand writes these notes only at the first call and when the flags have changed, so flagNotes
	// has the last notes.
	stderr    bytes.Buffer
	flagNotes string
}

// NewView returns a View, and binds its flags to a command. The View prints nothing.
func NewView(cmd *cobra.Command, env output.Environment) *View {
	v := &View{}
	env.Stderr = &v.stderr
	v.treeCommand = treeCommand{Source: input.Source{Env: env}, form: output.Format{Name: "text"}}
	v.Bind(cmd)
	return v
}

// SetMaxCacheAgeWithoutSteps sets the maximum age of cached facts about a stack whose plan has no steps and no findings. It
// has no effect if age is shorter than the maximum age for other stacks.
func (v *View) SetMaxCacheAgeWithoutSteps(age time.Duration) { v.unchangedMaxAge = age }

// Update reads the cluster and AWS. It returns the previous snapshot, which is empty at the first call, and the new
// snapshot. If uncached is true, it reads all facts from AWS again.
func (v *View) Update(ctx context.Context, uncached bool) (previous, current Snapshot, err error) {
	previous, v.bypassCache = v.current, uncached
	v.stderr.Reset()
	current, err = v.confirmedSnapshot(ctx, strings.NewReader(""), previous)
	if v.stderr.Len() > 0 {
		v.flagNotes = v.stderr.String()
	}
	if err == nil {
		current.Notes += v.flagNotes
		v.current = current
	}
	return previous, current, err
}

// UIDOf returns the UID of an object, and whether the last update found the object. If the store has not been read yet or
// cannot be read, it returns "" and true.
func (v *View) UIDOf(o output.Object) (uid string, found bool) {
	if v.store == nil {
		return "", true
	}
	obj, err := v.store.Get(finding.Ref(o))
	switch {
	case err != nil:
		return "", true
	case obj == nil:
		return "", false
	}
	return string(obj.GetUID()), true
}
