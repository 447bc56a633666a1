// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import "strings"

// Substitute returns the program of sed that puts one text in the place of another,
// letter by letter. It is a value for Command like any other.
func Substitute(old, with string) string {
	return "s/" + pattern.Replace(old) + "/" + replacement.Replace(with) + "/"
}

var (
	pattern     = strings.NewReplacer(`\`, `\\`, "/", `\/`, ".", `\.`, "*", `\*`, "[", `\[`, "]", `\]`, "^", `\^`, "$", `\$`, "\n", `\n`)
	replacement = strings.NewReplacer(`\`, `\\`, "/", `\/`, "&", `\&`, "\n", `\n`)
)
