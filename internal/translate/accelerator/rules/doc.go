// Package rules checks a GlobalAccelerator alone, without AWS and without other objects. Admission denies objects with
// violations, except for violations that are only advice: about these the translation decides, because it has more facts.
// The cost of the checks grows only linearly with the size of the object, because users choose the size.
package rules
