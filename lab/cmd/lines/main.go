// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Lines fails unless every scenario of a section of the readme has printed its last line into the output of tests that
// is given on standard input.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/rke-lm/rke-lm/lab/recorder"
)

func main() {
	section := flag.String("section", "Scenarios", "section of the readme")
	flag.Parse()
	readme, err := os.ReadFile("README.md")
	if err == nil {
		err = check(string(readme), *section, os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check names all that is wrong.
func check(readme, section string, in io.Reader) error {
	output, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	wrong := recorder.CheckLines(readme, section, string(output))
	for _, w := range wrong {
		fmt.Fprintln(os.Stderr, w)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of the scenarios' last lines are wrong", len(wrong))
	}
	fmt.Printf("every one of the %d scenarios printed its line\n", len(recorder.Scenarios(readme, section)))
	return nil
}
