// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package yamledit

import (
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

func TestWordsAreHiddenByEscapesTagsAndEncodingsAlone(t *testing.T) {
	for text, want := range map[string]bool{
		`a: "\x62c"`:                          true,
		`a: "\u0062c"`:                        true,
		`a: "\U00000062c"`:                    true,
		`{"a": "b\/c"}`:                       true,
		"a: \"b\\\n  c\"":                     true,
		"a: \"b\\\u2028c\"":                   true,
		"a: !!binary YmM=":                    true,
		"a: !!b%69nary YmM=":                  true,
		"a: !<tag:yaml.org,2002:binary> YmM=": true,
		"%TAG !e! tag:yaml.org,2002:bin\r---\ra: !e!ary YmM=": true,
		"\xfe\xff\x00a\x00:\x00 \x00b\x00\n":                  true,
		"a: bc\n":                                             false,
		`a: "say \"b\"\n\tc\\ \e\0 d"`:                        false,
		"a: &x bc\nd: *x\n":                                   false,
		"a: >-\n  b\n  c\n":                                   false,
		"a: 'b''c'\n? d\n: !Ref e\n":                          false,
		"a: \"b\n  c\"\n":                                     false,
		`\`:                                                   false,
	} {
		assert.Equal(t, Disguised([]byte(text)), want, text)
	}
}

// The YAML library reads neither \/ nor the surrogates of a character, which other programs write.
func TestJSONIsReadAndEditedWithEveryEscape(t *testing.T) {
	text := `{"a\/b": "x\/\/y", "emoji \ud83d\ude00": "\ud83d\ude00\ud83d\ude00 é \"\\/\\\ud83d\ude00", "lone": "\ud83d", "z": ["\/", 1]}` + "\n"
	d := assert.Value(Parse(Chunk{File: "in.json", Bytes: []byte(text)}))(t)
	want := map[string]any{"a/b": "x//y", "emoji 😀": "😀😀 é \"\\/\\😀", "lone": "\uFFFD", "z": []any{"/", 1.0}}
	assert.DeepEqual(t, d.Root().Value(), want)
	e := d.Edit()
	e.Set(d.Root().Get("a/b"), "new")
	e.Insert(d.Root(), "last", "w/v")
	after, _, err := e.Apply()
	assert.NilError(t, err)
	assert.Equal(t, string(after.Bytes()), strings.NewReplacer(`"x\/\/y"`, `"new"`, `"lone"`, `"last": "w/v", "lone"`).Replace(text))
	_, err = Parse(Chunk{File: "in.yaml", Bytes: []byte("a: \"b\\/c\"\n")})
	assert.True(t, err != nil, "kubectl does not read \\/ in YAML")
}

func TestAKeyThatIsHiddenIsRefused(t *testing.T) {
	for _, text := range []string{
		"a: &k b\n*k : 1\n",
		"a: {x: &k b, *k : 1}\n",
		"!!binary YQ==: 1\n",
		"- {!!str a: 1}\n",
		"!!merge <<: {a: 1}\n",
	} {
		assert.Error(Parse(Chunk{File: "f", Bytes: []byte(text)}))(t, "write the key as text", text)
	}
}

func TestKeysAreThoseOfJSON(t *testing.T) {
	for text, want := range map[string]string{"1000000": "1000000", "-0": "0", "007": "7", "1e3": "1000", "1.10": "1.1", "yes": "true", "0x10": "16", "1.10000001": "1.1", "x": "x"} {
		d := assert.Value(Parse(Chunk{Bytes: []byte(text + ": v\n")}))(t)
		assert.DeepEqual(t, d.Root().Value(), map[string]any{want: "v"}, text)
	}
}
