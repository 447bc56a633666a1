// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

// Command controlplane is etcd and the Kubernetes control plane in one binary: the first argument names
// the component, the others are that component's own, unchanged. They are the real ones, of the release
// whose file of requirements the program is built with.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("a component is missing")
	}
	component := os.Args[1]
	// Each component reads os.Args itself, as if it had been started by its own name.
	os.Args = append([]string{component}, os.Args[2:]...)
	if component == "etcd" {
		etcdmain.Main(os.Args)
		return
	}
	os.Exit(cli.Run(command(component)))
}

// command returns the component's command line, or ends the process when there is no such component.
func command(component string) *cobra.Command {
	switch component {
	case "kube-apiserver":
		return apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		return controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		return scheduler.NewSchedulerCommand()
	}
	fail("no component " + component)
	return nil
}

func fail(what string) {
	fmt.Fprintf(os.Stderr, "controlplane: %s; use etcd, kube-apiserver, kube-controller-manager or kube-scheduler\n", what)
	os.Exit(2)
}
