package dataplane

import "encoding/hex"

// quicServerIDBytes is the length of the server ID in QUIC connection IDs, in bytes.
const quicServerIDBytes = 8

// parseQUICServerID converts a server ID in its configured form, "0x" and 16 hexadecimal digits, to the bytes in packets. It
// returns "" if the ID is empty or invalid.
func parseQUICServerID(s string) string {
	if len(s) != 2+2*quicServerIDBytes {
		return ""
	}
	raw, err := hex.DecodeString(s[2:])
	if err != nil {
		return ""
	}
	return string(raw)
}

// readQUICServerID returns the server ID in a packet: the eight bytes after the first byte of the destination connection ID.
// It returns "" if the connection ID is too short.
func readQUICServerID(packet []byte) string {
	const longHeader = 0x80
	if len(packet) == 0 {
		return ""
	}
	id := packet[1:] // the connection ID, whose length is unknown in a short header
	if packet[0]&longHeader != 0 {
		const before = 6 // flags, version, length of the ID
		if len(packet) < before || len(packet) < before+int(packet[5]) {
			return ""
		}
		id = packet[before : before+int(packet[5])]
	}
	if len(id) < 1+quicServerIDBytes {
		return ""
	}
	return string(id[1 : 1+quicServerIDBytes])
}
