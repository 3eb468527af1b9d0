// Package enis finds the ENIs of nodes and pods, and changes the rules of the security groups of these ENIs.
package enis
