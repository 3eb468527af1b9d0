package cluster

// Object reads an object of a kind that is known only at run time, as Get does. It returns nil if the object does not exist,
// and the error of the view.
func (v *View) Object(kind Kind, namespace, name string) (Object, error) {
	o, _ := Get[Object](v, kind, namespace, name)
	return o, v.err
}
