// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Package build makes the programs of the lab out of Go modules.
//
// Invariant: a program in the cache was built from exactly the sources, the versions and the toolchain
// that its folder is named for.
package build

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// CacheVariable names the environment variable with the folder of the cache.
const CacheVariable = "RKE_LM_LAB_CACHE"

// Program is one program of the lab.
type Program struct {
	Name    string
	Module  string // folder below the lab's
	Package string // as named in that folder
	Version string // of Kubernetes, stamped into it
	// Requirements is the file of the module with its requirements; "" means go.mod. One source
	// is built with several releases.
	Requirements string
	// Stamps are more flags of the linker, which set what else the program is.
	Stamps string
}

const managerPackage = "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager"

// controlPlanes are etcd, kube-apiserver, kube-controller-manager and kube-scheduler by minor.
var controlPlanes = map[string]Program{
	"v1.26": {Name: "controlplane", Module: "controlplane", Package: ".", Version: "v1.26.15"},
	"v1.34": {Name: "controlplane", Module: "controlplane", Package: ".", Version: "v1.34.1", Requirements: "go-1.34.mod"},
}

// managers are the aws-cloud-controller-managers by minor.
var managers = map[string]Program{
	"v1.26": {Name: "aws-cloud-controller-manager", Module: "ccm-1.26", Package: managerPackage, Version: "v1.26.0"},
	"v1.28": {Name: "aws-cloud-controller-manager", Module: "ccm-1.28", Package: managerPackage, Version: "v1.28.1"},
	"v1.34": {Name: "aws-cloud-controller-manager", Module: "ccm-1.34", Package: managerPackage, Version: "v1.34.3"},
}

// Kubectl and Gojq are what people look at a cluster with, and Yq is what they edit files with: the benchmark
// compares rke-lm with them.
var (
	Kubectl = Program{Name: "kubectl", Module: "kubectl", Package: "k8s.io/kubernetes/cmd/kubectl", Version: "v1.26.15"}
	Gojq    = Program{Name: "gojq", Module: "kubectl", Package: "github.com/itchyny/gojq/cmd/gojq", Version: "v0.12.17"}
	Yq      = Program{Name: "yq", Module: "yq", Package: "github.com/mikefarah/yq/v4", Version: "v4.45.1"}
)

// Helm installs charts, as people and RKE2's own controller do.
var Helm = Program{Name: "helm", Module: "helm", Package: "helm.sh/helm/v3/cmd/helm", Version: "v3.19.2"}

// RancherVersion is what the server reports: its commit is one before that release.
const RancherVersion = "v2.14.0"

// RancherServer and RancherWebhook are Rancher itself. The webhook is a release; the server is the newest that
// can be had as a module.
var (
	RancherServer  = Program{Name: "rancher", Module: "rancher-server", Package: ".", Version: "v1.35.1", Stamps: "-X github.com/rancher/rancher/pkg/version.Version=" + RancherVersion}
	RancherWebhook = Program{Name: "rancher-webhook", Module: "webhook", Package: "github.com/rancher/webhook", Version: "v1.36.3"}
	ClusterAgent   = Program{Name: "cluster-agent", Module: "rancher-server", Package: "./agent", Version: "v1.35.1"}
	ClusterAPI     = Program{Name: "cluster-api", Module: "capi", Package: "sigs.k8s.io/cluster-api", Version: "v1.34.0"}
)

// ControlPlane returns the program of a minor, such as "v1.26".
func ControlPlane(minor string) (Program, error) {
	if p, ok := controlPlanes[minor]; ok {
		return p, nil
	}
	return Program{}, fmt.Errorf("lab: no control plane of minor %q; add its requirements to lab/controlplane", minor)
}

// CloudControllerManager returns the program of a minor, such as "v1.26".
func CloudControllerManager(minor string) (Program, error) {
	if p, ok := managers[minor]; ok {
		return p, nil
	}
	return Program{}, fmt.Errorf("lab: no aws-cloud-controller-manager of minor %q; add a module for it next to lab/ccm-1.26", minor)
}

// Programs returns all programs, the largest first.
func Programs() []Program {
	return []Program{
		controlPlanes["v1.26"], controlPlanes["v1.34"], managers["v1.26"], managers["v1.28"], managers["v1.34"], RancherWebhook, Helm, Kubectl,
	}
}

// found holds the files of programs that were requested before: managers are started again and again, and
// nothing changes meanwhile.
var found sync.Map

// Path returns the program's file, which it builds when it is not in the cache.
func (p Program) Path(ctx context.Context) (string, error) {
	if file, known := found.Load(p); known {
		return file.(string), nil
	}
	file, err := p.path(ctx)
	if err == nil {
		found.Store(p, file)
	}
	return file, err
}

func (p Program) path(ctx context.Context) (string, error) {
	dir, err := p.dir(ctx)
	if err != nil {
		return "", err
	}
	cache, err := p.cache(dir)
	if err != nil {
		return "", err
	}
	file := filepath.Join(cache, p.Name)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	return file, p.build(ctx, dir, file)
}

// build writes next to the file and renames, so that another build of the same at the same time does no harm.
func (p Program) build(ctx context.Context, dir, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(file), "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	part := filepath.Join(folder, p.Name)
	// Two at a time: the compiler needs up to a gigabyte for some packages.
	if _, err = goTool(ctx, dir, "build", "-modfile", p.requirements(), "-p", "2", "-trimpath", "-ldflags", p.flags(), "-o", part, p.Package); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// requirements names the file with the versions, in the module's folder.
func (p Program) requirements() string { return cmp.Or(p.Requirements, "go.mod") }

// flags stamp the version, without which clients cannot read /version.
func (p Program) flags() string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(p.Version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	const base = " -X k8s.io/component-base/version."
	return "-s -w" + base + "gitVersion=" + p.Version + base + "gitMajor=" + major + base + "gitMinor=" + minor +
		" -X k8s.io/client-go/pkg/version.gitVersion=" + p.Version + strings.TrimRight(" "+p.Stamps, " ")
}

// cache returns the folder for what dir holds now.
func (p Program) cache(dir string) (string, error) {
	root := os.Getenv(CacheVariable)
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("lab: %w; set %s", err, CacheVariable)
		}
		root = filepath.Join(user, "rke-lm-lab")
	}
	key, err := p.key(dir)
	return filepath.Join(root, p.Module+"-"+key), err
}

// key is a hash of all that goes into the program.
func (p Program) key(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, p.folder(), "*.go"))
	if err != nil {
		return "", err
	}
	mod := filepath.Join(dir, p.requirements())
	files = append(files, mod, strings.TrimSuffix(mod, ".mod")+".sum")
	slices.Sort(files)
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH, p.Package, p.flags())
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(f), len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// folder is where the sources of the program are below its module; those of a published one are in none.
func (p Program) folder() string {
	if strings.HasPrefix(p.Package, ".") {
		return p.Package
	}
	return "."
}

// dir returns the folder of the program's module.
func (p Program) dir(ctx context.Context) (string, error) {
	lab, err := goTool(ctx, ".", "list", "-m", "-f", "{{.Dir}}", "github.com/rke-lm/rke-lm/lab")
	return filepath.Join(strings.TrimSpace(lab), p.Module), err
}

// goTool runs go in a folder and returns what it prints.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var fault bytes.Buffer
	cmd.Stderr = &fault
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("lab: go %s in %s: %w\n%s", args[0], dir, err, fault.String())
	}
	return string(out), nil
}
