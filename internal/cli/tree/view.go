package tree

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// View is what "tree --watch" looks at, for a command that shows it otherwise. One goroutine uses it.
type View struct {
	treeCommand
	last Picture
	// aside collects what is printed besides the answer.
	aside bytes.Buffer
}

// NewView binds the flags of a view to a command. Nothing is printed.
func NewView(cmd *cobra.Command, env output.Environment) *View {
	v := &View{}
	env.Stderr = &v.aside
	v.treeCommand = treeCommand{Source: input.Source{Env: env}, form: output.Form{Kind: "text"}}
	v.Bind(cmd)
	return v
}

// KeepUnchanged lets what AWS has shown of load balancers that have nothing to change be as old as that, if it is longer than
// usual.
func (v *View) KeepUnchanged(age time.Duration) { v.unchangedAge = age }

// Look reads the cluster and AWS, and returns the picture of before too, which is empty the first time.
func (v *View) Look(ctx context.Context) (last, now Picture, err error) {
	last = v.last
	v.aside.Reset()
	now, err = v.confirmedPicture(ctx, strings.NewReader(""), last)
	if err == nil {
		now.Notes += v.aside.String()
		v.last = now
	}
	return last, now, err
}

// LookAgain returns a look for which AWS is read again, however young what it has shown is.
func (v *View) LookAgain(ctx context.Context) (last, now Picture, err error) {
	v.again = true
	defer func() { v.again = false }()
	return v.Look(ctx)
}

// UIDOf returns the UID of an object that the last look has read. There is false for an object that it has not found;
// both are unknown before the first look.
func (v *View) UIDOf(o output.Object) (uid string, there bool) {
	if v.store == nil {
		return "", true
	}
	obj, err := v.store.Get(cluster.Ref{Kind: cluster.Kind(o.Kind), Namespace: o.Namespace, Name: o.Name})
	switch {
	case err != nil:
		return "", true
	case obj == nil:
		return "", false
	}
	return string(obj.GetUID()), true
}
