// Package equal compares desired with live values in the way that AWS does, so that values which AWS treats as equal need no
// write.
package equal
