// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// What is said of a member after its name.
const (
	noNewline = ",no-newline"
	quoted    = ",quoted"
)

// likeMarker is a line that begins a member, or that the library takes for one.
var likeMarker = regexp.MustCompile(`(?m)^-- .*--\r?$`)

// member is a file of an archive that can hold any bytes.
func member(name, text string) (txtar.File, error) {
	data := []byte(text)
	if len(data) > 0 && data[len(data)-1] != '\n' {
		name, data = name+noNewline, append(data, '\n')
	}
	if likeMarker.Match(data) {
		var err error
		if data, err = txtar.Quote(data); err != nil {
			return txtar.File{}, fmt.Errorf("%s: %w", name, err)
		}
		name += quoted
	}
	return txtar.File{Name: name, Data: data}, nil
}

// content returns the name and the bytes of a file from its member.
func content(f txtar.File) (name, text string, err error) {
	name, data := f.Name, f.Data
	if rest, is := strings.CutSuffix(name, quoted); is {
		name = rest
		if data, err = txtar.Unquote(data); err != nil {
			return "", "", fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if rest, is := strings.CutSuffix(name, noNewline); is {
		name, data = rest, bytes.TrimSuffix(data, []byte("\n"))
	}
	return name, string(data), nil
}
