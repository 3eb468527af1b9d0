package cluster

// Object reads one object of a kind that is known only at run time; nil if there is none.
func (v *View) Object(kind Kind, namespace, name string) (Object, error) {
	o, _ := Get[Object](v, kind, namespace, name)
	return o, v.err
}
