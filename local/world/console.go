package world

import "path/filepath"

// RoleConsole is the process of the console, if there is one.
const RoleConsole = "console"

// StartConsole starts the console of Fulcrum, the program at a path, for this world, and returns the URL of its page. It has
// the rights of a cluster admin.
func StartConsole(w *World, fulcrum string) (url string, err error) {
	path, err := filepath.Abs(fulcrum)
	if err != nil {
		return "", err
	}
	at := w.at(portConsole)
	return "http://" + at + "/", w.run(RoleConsole, path, []string{"console", "--listen=" + at}, w.Environment())
}
