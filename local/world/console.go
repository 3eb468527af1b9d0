package world

import "path/filepath"

// RoleConsole is the role of the console, which runs only after StartConsole.
const RoleConsole = "console"

// StartConsole starts `fulcrum console` for local world w and returns the URL of its page. fulcrum is the path of Fulcrum.
// The console has the permissions of a cluster admin.
func StartConsole(w *World, fulcrum string) (url string, err error) {
	path, err := filepath.Abs(fulcrum)
	if err != nil {
		return "", err
	}
	at := w.controlHostPort(portConsole)
	return "http://" + at + "/", w.startProcess(RoleConsole, path, []string{"console", "--listen=" + at}, w.Environment())
}
