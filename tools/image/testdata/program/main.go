// Command program stands for the controller: it compiles in a second.
package main

func main() { println("started") }
