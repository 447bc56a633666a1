// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"unicode"
)

// goTexts returns the comments, names and messages of a Go file. The strings of a test are a kind of their own: they quote what
// a user wrote.
func goTexts(file string, source []byte) ([]passage, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	line := func(pos token.Pos) int { return files.Position(pos).Line }
	var all []passage
	for _, group := range tree.Comments {
		all = append(all, commentText(group, line(group.Pos()), source[files.Position(group.Pos()).Offset:files.Position(group.End()).Offset]))
	}
	for _, p := range messages(tree, line) {
		if strings.HasSuffix(file, "_test.go") {
			p.kind = testText
		}
		all = append(all, p)
	}
	return append(all, names(tree, line)...), nil
}

// commentText is a group of comments without their marks, so that a phrase may go over lines.
func commentText(group *ast.CommentGroup, line int, source []byte) passage {
	text := string(source)
	for _, mark := range []string{"//", "/*", "*/"} {
		text = strings.ReplaceAll(text, mark, strings.Repeat(" ", len(mark)))
	}
	return passage{kind: comment, text: text, at: []mark{{0, line}}}
}

// messages returns the string literals that have a space, so are more than a key or a name. Those that + joins are one
// text, with ~ for what is not known before the program runs.
func messages(tree *ast.File, line func(token.Pos) int) []passage {
	var all []passage
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.BinaryExpr:
			if n.Op == token.ADD {
				all = append(all, joined(n, line, &all))
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				p := passage{kind: message}
				p.add(n, line)
				all = append(all, p)
			}
		}
		return true
	})
	kept := all[:0]
	for _, p := range all {
		if strings.Contains(strings.TrimSpace(p.text), " ") {
			kept = append(kept, p)
		}
	}
	return kept
}

// joined is the text of a chain of +. What its other operands hold, such as arguments of calls, goes to rest.
func joined(n *ast.BinaryExpr, line func(token.Pos) int, rest *[]passage) passage {
	p := passage{kind: message}
	var operand func(ast.Expr)
	operand = func(e ast.Expr) {
		if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.ADD {
			operand(b.X)
			operand(b.Y)
			return
		}
		if b, ok := e.(*ast.BasicLit); ok && b.Kind == token.STRING {
			p.add(b, line)
			return
		}
		p.at = append(p.at, mark{len(p.text), line(e.Pos())})
		p.text += "~"
		ast.Inspect(e, func(n ast.Node) bool {
			if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING {
				inner := passage{kind: message}
				inner.add(b, line)
				*rest = append(*rest, inner)
			}
			return true
		})
	}
	operand(n)
	return p
}

// add appends the value of a literal.
func (p *passage) add(literal *ast.BasicLit, line func(token.Pos) int) {
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return
	}
	if strings.HasPrefix(literal.Value, `"`) {
		value = strings.ReplaceAll(value, "\n", " ") // it is on one line of the source
	}
	p.at = append(p.at, mark{len(p.text), line(literal.Pos())})
	p.text += value
}

// names returns the identifiers that a file declares, cut into words.
func names(tree *ast.File, line func(token.Pos) int) []passage {
	var all []passage
	declare := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id != nil && id.Name != "_" {
				all = append(all, passage{kind: identifier, text: spaced(id.Name), at: []mark{{0, line(id.Pos())}}})
			}
		}
	}
	declare(tree.Name)
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			declare(n.Name)
		case *ast.TypeSpec:
			declare(n.Name)
		case *ast.ValueSpec:
			declare(n.Names...)
		case *ast.Field:
			declare(n.Names...)
		case *ast.LabeledStmt:
			declare(n.Label)
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				declareExprs(declare, n.Key, n.Value)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				declareExprs(declare, n.Lhs...)
			}
		}
		return true
	})
	return all
}

func declareExprs(declare func(...*ast.Ident), expressions ...ast.Expr) {
	for _, e := range expressions {
		if id, ok := e.(*ast.Ident); ok {
			declare(id)
		}
	}
}

// spaced cuts a name such as notInFile or CCMFlag into its words.
func spaced(name string) string {
	var out strings.Builder
	runes := []rune(strings.ReplaceAll(name, "_", " "))
	for i, r := range runes {
		if i > 0 && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			out.WriteByte(' ')
		}
		out.WriteRune(r)
	}
	return out.String()
}
