// Package rules checks a GlobalAccelerator alone, without AWS and other objects. Admission denies objects with violations,
// except those that are advice: the translation decides about these, because it has more facts. The cost of the checks
// grows linearly with the size of the object, which its author chooses.
package rules
