// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/rke-lm/rke-lm/internal/run"
)

// ccmValues is the flag for the values file of an RKE cluster, which no document names.
const ccmValues = run.CCMValues

// What becomes of the file.
const (
	valuesInFiles = "values file with which helm installs the cloud-controller-manager of the one RKE cluster in PATH: the stages edit it as well, and their helm commands use it"
	valuesOfLive  = "values file with which helm installed the cloud-controller-manager of the RKE cluster, or will: helm gets a copy of it with what the migration requires"
)

func (o *options) valuesFlag(f *pflag.FlagSet, usage string) {
	defer group(f, inputGroup)()
	f.StringVar(&o.values, ccmValues, "", usage)
}

// checkLiveValues refuses host names and a values file next to clusters of a Rancher, unless there is one and the
// verb uses a copy.
func (o *options) checkLiveValues() error {
	switch {
	case o.hostNames != "" && o.selector != "":
		return errors.New("--" + hostNames + " is of one cluster; use --cluster in place of --selector")
	case o.values == "":
		return nil
	case o.selector != "":
		return errors.New("--" + ccmValues + " is of one cluster; use --cluster in place of --selector")
	case !o.copiesValues:
		return errors.New("--" + ccmValues + ": this command changes or checks files or objects, and a live cluster has no such file; name the file of the cluster, such as the output of kubectl get -o yaml, in place of --cluster")
	}
	return nil
}
