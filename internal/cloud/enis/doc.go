// Package enis finds the ENIs of nodes and pods, and changes the rules of their security groups.
package enis
