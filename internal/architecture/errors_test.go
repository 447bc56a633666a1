// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package architecture_test

import (
	"go/ast"
	"go/types"
	"testing"

	"github.com/rke-lm/rke-lm/internal/assert"
)

// The error types without an exit code of their own, and why. All other ones say theirs.
var withoutCode = map[string]string{
	"transform/yamledit.Error":    "an input that cannot be edited: what ends with the default",
	"internal/kube.TooLarge":      "only in an Unreached",
	"internal/kube.broken":        "only in an Unreached",
	"internal/rancher.advised":    "says more about the error in it, which has the code",
	"internal/report.Silent":      "only keeps the error in it, which has the code, from being printed again",
	"internal/rancher.Incomplete": "holds the errors of several clusters, which have codes",
	"internal/migrate.Gate":       "only in a run of the controller, which continues",
	"internal/controller.skipped": "only in a status: no command ends with it",

	"internal/controller.NotPermitted": "a policy that cannot be read, which is an input; else only in a status",

	"transform/yamledit.ErrTooDeep": "an input that cannot be edited",
	"internal/kube.ErrConfig":       "wrong usage: no cluster is named",
	"internal/git.ErrUnread":        "an input that cannot be read",
	"internal/rancher.ErrNone":      "wrong usage: no cluster has the name",
	"internal/rancher.ErrNoRancher": "wrong usage: the address is of something else",
}

func TestAnErrorSaysItsExitCode(t *testing.T) {
	found := map[string]bool{} // whether an error says its code, by its name
	for _, f := range code(t) {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				note(found, f.folder, n)
				return false
			case *ast.ValueSpec:
				noteValues(found, f.folder, n)
			}
			return true
		})
	}
	for name, says := range found {
		_, excused := withoutCode[name]
		assert.Truef(t, says != excused, "%s: an error has either an exit code or a row in withoutCode", name)
	}
	for name := range withoutCode {
		_, there := found[name]
		assert.Truef(t, there, "%s is no error", name)
	}
}

// note finds the types of errors by their methods.
func note(found map[string]bool, folder string, f *ast.FuncDecl) {
	if f.Recv == nil {
		return
	}
	name := folder + "." + receiver(f.Recv.List[0].Type)
	switch f.Name.Name {
	case "Error":
		if !found[name] {
			found[name] = false // one without a code, until its method is met
		}
	case "ExitCode":
		found[name] = true
	}
}

// noteValues finds the errors that other packages compare with.
func noteValues(found map[string]bool, folder string, v *ast.ValueSpec) {
	for i, name := range v.Names {
		if !name.IsExported() || i >= len(v.Values) {
			continue
		}
		call, is := v.Values[i].(*ast.CallExpr)
		if !is {
			continue
		}
		switch types.ExprString(call.Fun) {
		case "errors.New":
			found[folder+"."+name.Name] = false
		case "transform.NewError", "NewError":
			found[folder+"."+name.Name] = true
		}
	}
}

// receiver is the name of the type that a method is of.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
