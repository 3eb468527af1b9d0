// Package enis finds the network interfaces of nodes and pods, and changes the rules of their security groups.
package enis
