// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Counts the lines of code of a binary: those of this module's packages in it, without blank
// lines and comments: go run scripts/lines.go ./cmd/rke-lm
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}} {{end}}{{end}}{{end}}`, os.Args[1]).Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	files, folders, sum := strings.Fields(string(out)), map[string]bool{}, 0
	for _, name := range files {
		n, err := lines(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		sum += n
		folders[filepath.Dir(name)] = true
	}
	fmt.Printf("%s: %d lines of code in %d files of %d packages\n", os.Args[1], sum, len(files), len(folders))
}

// lines counts the lines of a file that hold a token. A text of several lines counts whole.
func lines(name string) (int, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile(name, -1, len(text))
	s.Init(file, text, nil, 0)
	count, last := 0, 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return count, nil
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		end := first + strings.Count(lit, "\n")
		count += end - max(first-1, last)
		last = max(last, end)
	}
}
