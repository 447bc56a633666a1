// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path"

	"github.com/spf13/cobra"

	"github.com/rke-lm/rke-lm/internal/config"
	"github.com/rke-lm/rke-lm/transform/exitcode"
	"github.com/rke-lm/rke-lm/transform/review"
)

// configurations sets the choices of the base's configuration, and returns what both
// versions accept.
func (r *reviewOptions) configurations(c *cobra.Command) (before, after []review.Acceptance, err error) {
	ctx := c.Context()
	base, err := r.configuration(ctx, r.from)
	if err != nil {
		return nil, nil, err
	}
	if base != nil {
		if err := r.apply(c.Flags(), base.name, base.settings); err != nil {
			return nil, nil, err
		}
	}
	head, err := r.configuration(ctx, r.to)
	if err != nil {
		complain(r.err, err)
		r.code = max(r.code, exitcode.Of(err))
		return accepted(base), nil, nil
	}
	return accepted(base), accepted(head), nil
}

// configured is a configuration file of one version.
type configured struct {
	name     string
	settings []config.Setting
}

// configuration reads the one that counts for the current folder; nil for none.
func (r *reviewOptions) configuration(ctx context.Context, commit string) (*configured, error) {
	var places []string
	for _, folder := range r.repo.Above() {
		places = append(places, path.Join(folder, config.Name))
	}
	if r.config != "" {
		place, inside := r.repo.Path(r.config)
		if !inside {
			settings, err := config.Read(r.config, choiceKinds())
			return &configured{r.config, settings}, err
		}
		places = []string{place}
	}
	for _, place := range places {
		text, found, err := r.text(ctx, commit, place)
		if err != nil {
			return nil, err
		}
		if found {
			name := r.repo.Name(place)
			settings, err := config.Parse(name, text, choiceKinds())
			return &configured{name, settings}, err
		}
	}
	return nil, nil
}

// text reads a file of a commit, or of the working tree.
func (r *reviewOptions) text(ctx context.Context, commit, place string) (text []byte, found bool, err error) {
	if commit != "" {
		return r.repo.File(ctx, commit, place)
	}
	text, err = os.ReadFile(r.repo.Name(place))
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	return text, err == nil, err
}

// accepted lists the rules that a configuration accepts.
func accepted(c *configured) []review.Acceptance {
	if c == nil {
		return nil
	}
	var list []review.Acceptance
	for _, s := range c.settings {
		if s.Key != "accept" {
			continue
		}
		for i, rule := range s.Values {
			list = append(list, review.Acceptance{Rule: rule, File: c.name, Line: s.Lines[i]})
		}
	}
	return list
}
