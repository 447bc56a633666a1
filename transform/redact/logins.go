// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "bytes"

func hasLogins(text []byte) bool {
	return bytes.Contains(text, []byte("password ")) && (bytes.Contains(text, []byte("machine ")) || bytes.Contains(text, []byte("login ")))
}

// logins hides passwords as a .netrc has them: machine NAME login NAME password
// SECRET.
func (o *outline) logins(at, end int) (found bool) {
	secret := false
	for i := at; i < end; {
		i = skip(o.text[:end], i, " \t\r")
		stop := i
		for stop < end && bytes.IndexByte([]byte(" \t\r"), o.text[stop]) < 0 {
			stop++
		}
		if secret {
			o.hide(i, stop)
			found = true
		}
		field := string(o.text[i:stop])
		secret = !secret && (field == "password" || field == "passwd" || field == "account")
		i = max(stop, i+1)
	}
	return found
}

// passwordFile hides the password on a line of a .pgpass: HOST:PORT:DATABASE:USER:PASSWORD.
func (o *outline) passwordFile(at, end int) bool {
	line := o.text[at:end]
	if bytes.IndexByte(line, ':') <= 0 || bytes.ContainsAny(line, " \t\"'={}") {
		return false
	}
	parts := bytes.SplitN(line, []byte(":"), 5)
	if len(parts) < 5 || len(parts[4]) == 0 {
		return false
	}
	port, host := parts[1], parts[0]
	isPort := len(port) > 1 && len(bytes.Trim(port, "0123456789")) == 0 || string(port) == "*"
	isHost := string(host) == "*" || len(bytes.Trim(host, "0123456789abcdefABCDEF")) > 0
	if !isPort || !isHost {
		return false
	}
	o.hide(end-len(parts[4]), end)
	return true
}
