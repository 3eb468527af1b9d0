// Package equal compares desired with observed values in the same way as AWS. Values that AWS treats as equal need not be
// written.
package equal
