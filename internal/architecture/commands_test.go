// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
	"github.com/rke-lm/rke-lm/transform/lists"
)

// A call of a program as text: its name, and a word of its own command line after it.
var program = regexp.MustCompile(`\b(?:kubectl|helm|aws|rke-lm|kubeadm|rke|curl|install|sed|grep|systemctl)(?: --?[a-z-]+)* (?:-{1,2}[a-z]|annotate|apply|auth|cordon|create|delete|describe|get|iam|ec2|ecr|init|kustomize|label|logs|migrate|patch|plan|replace|rollback|rollout|history|status|taint|uncordon|uninstall|up|upgrade|verify|wait)\b`)

// A value after it in a format.
var verb = regexp.MustCompile(`%(?:\[\d+\])?[svqd]`)

// TestCommandsAreQuoted: a value gets into a command by action.Command alone, for
// the shell would run what a concatenation or a format leaves unquoted.
func TestCommandsAreQuoted(t *testing.T) {
	for _, f := range lists.Where(files(t), codeBut("lab")) {
		for _, at := range assembled(f.syntax) {
			t.Errorf("%s: a command gets a value without quotes; write it with action.Command", positions.Position(at))
		}
	}
}

func TestAnAssembledCommandIsFound(t *testing.T) {
	for code, want := range map[string]int{
		`"kubectl get nodes " + name`:                            1,
		`"look: kubectl -n " + ns + " get pods"`:                 1,
		`"a" + ("kubectl delete pod " + name)`:                   1,
		`fmt.Sprintf("kubectl -n %s get pods", ns)`:              1,
		`fmt.Errorf("%s: run kubectl get nodes %[1]s", name)`:    1,
		`"rke-lm plan --cluster " + name`:                        1,
		`"kubectl get nodes" + " -o wide"`:                       0,
		`"as kubectl get prints it"`:                             0,
		`action.Command("kubectl -n %s get pods", ns)`:           0,
		`"run: " + action.Command("kubectl get nodes %s", name)`: 0,
		`"kubectl apply -f " + action.Path(file)`:                1,
		`"kubectl get " + Command(name)`:                         1,
		`fmt.Errorf("%s: not what kubectl get prints", name)`:    0,
		`"kubectl get -o yaml prints it; " + "or " + "a dump"`:   0,
	} {
		assert.Equal(t, len(assembled(parseText(t, "var x = "+code))), want, code)
	}
}

// assembled returns the texts in a file that make a command of a value.
func assembled(file *ast.File) []token.Pos {
	var found []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST // the compiler takes no value there
		case *ast.BinaryExpr:
			if n.Op != token.ADD {
				return true
			}
			found = append(found, inSum(operands(n), file.Name.Name)...)
			return false
		case *ast.CallExpr:
			if quotes(n, file.Name.Name) {
				return false
			}
			if text, is := literal(n.Args); is && printfLike(n.Fun) && inFormat(text) {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}

// operands returns the parts of a sum of texts in their order.
func operands(e ast.Expr) []ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return operands(e.X)
	case *ast.BinaryExpr:
		return append(operands(e.X), operands(e.Y)...)
	}
	return []ast.Expr{e}
}

// inSum looks for a command to which the next part belongs: its text does not end
// with a mark that ends the command.
func inSum(parts []ast.Expr, pkg string) []token.Pos {
	for i, p := range parts {
		text, is := literal([]ast.Expr{p})
		if !is || i+1 == len(parts) {
			continue
		}
		if _, constant := literal(parts[i+1:]); !constant && command(text) != "" && !quotes(parts[i+1], pkg) {
			return []token.Pos{p.Pos()}
		}
	}
	return nil
}

func inFormat(text string) bool { return verb.MatchString(command(text)) }

// command returns a text from the first program on that it calls, as far as the
// command goes: prose continues after a semicolon, a comma or a closing bracket.
func command(text string) string {
	at := program.FindStringIndex(text)
	if at == nil {
		return ""
	}
	rest := text[at[0]:]
	if end := strings.IndexAny(rest, ";,)"); end >= 0 {
		return rest[:end]
	}
	return rest
}

// literal returns the text that the first expression is, if it is one.
func literal(e []ast.Expr) (string, bool) {
	if len(e) == 0 {
		return "", false
	}
	l, is := e[0].(*ast.BasicLit)
	if !is || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// printfLike reports whether a function takes a format first.
func printfLike(f ast.Expr) bool {
	s, is := f.(*ast.SelectorExpr)
	return is && (strings.HasSuffix(s.Sel.Name, "f") || s.Sel.Name == "Appendf")
}

// quotes reports a call of what makes a command and quotes its values, in a file of a package.
func quotes(e ast.Expr, pkg string) bool {
	call, is := e.(*ast.CallExpr)
	if !is {
		return false
	}
	of, name, qualified := strings.Cut(types.ExprString(call.Fun), ".")
	if !qualified {
		of, name = pkg, of
	}
	return of == "action" && (name == "Command" || name == "Words")
}
