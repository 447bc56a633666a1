// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// value is one of JSON that keeps the order of its members.
type value struct {
	open     json.Delim // of an object or an array, or 0
	members  []value    // of an object, those with a name
	name     string
	text     string // of a string
	isString bool
	token    string // of all else
}

// parsed returns the value of a text.
func parsed(text string) (value, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := next(d)
	if err != nil {
		return value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("more than one value")
	}
	return v, nil
}

func next(d *json.Decoder) (value, error) {
	token, err := d.Token()
	if err != nil {
		return value{}, err
	}
	switch token := token.(type) {
	case string:
		return value{text: token, isString: true}, nil
	case json.Delim:
		v := value{open: token}
		for d.More() {
			name := ""
			if token == '{' {
				key, err := d.Token()
				if err != nil {
					return value{}, err
				}
				name, _ = key.(string)
			}
			m, err := next(d)
			if err != nil {
				return value{}, err
			}
			m.name = name
			v.members = append(v.members, m)
		}
		_, err := d.Token()
		return v, err
	}
	text, err := json.Marshal(token)
	return value{token: string(text)}, err
}

// member returns the text of a member of an object.
func (v value) member(name string) (string, bool) {
	for _, m := range v.members {
		if v.open == '{' && m.name == name && m.isString {
			return m.text, true
		}
	}
	return "", false
}

// format returns the value as the tool prints it, or with all on one line that fits.
func (v value) format(packed bool) string {
	var b strings.Builder
	v.write(&b, "", packed)
	return b.String() + "\n"
}

func (v value) write(b *strings.Builder, indent string, packed bool) {
	if v.open == 0 || len(v.members) == 0 {
		b.WriteString(v.line())
		return
	}
	if line := v.line(); packed && len(indent)+len(line) < 2*columns {
		b.WriteString(line)
		return
	}
	b.WriteString(v.open.String())
	for i, m := range v.members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + indent + "  ")
		if v.open == '{' {
			b.WriteString(inQuotes(m.name) + ": ")
		}
		m.write(b, indent+"  ", packed)
	}
	b.WriteString("\n" + indent + closing(v.open))
}

// line is the value on one line.
func (v value) line() string {
	switch {
	case v.isString:
		return inQuotes(v.text)
	case v.open == 0:
		return v.token
	}
	items := make([]string, 0, len(v.members))
	for _, m := range v.members {
		item := m.line()
		if v.open == '{' {
			item = inQuotes(m.name) + ": " + item
		}
		items = append(items, item)
	}
	return v.open.String() + strings.Join(items, ", ") + closing(v.open)
}

func closing(open json.Delim) string {
	if open == '{' {
		return "}"
	}
	return "]"
}

// inQuotes is a string of JSON; < and & are as they are.
func inQuotes(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err) // it is a string
	}
	return strings.TrimSuffix(b.String(), "\n")
}
