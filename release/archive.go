// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// entry is one file of an archive.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// archive packs files below a folder of their own, in the form that the platform unpacks.
func (r *release) archive(p platform, entries []entry) (content []byte, suffix string, err error) {
	folder := r.name(p, "")
	inside := slices.Clone(entries)
	for i := range inside {
		inside[i].name = path.Join(folder, inside[i].name)
	}
	if p.os == "windows" {
		content, err = zipped(inside, r.committed)
		return content, ".zip", err
	}
	content, err = gzipped(inside, r.committed)
	return content, ".tar.gz", err
}

// gzipped is a tar archive, compressed. The header of gzip has no time and no name.
func gzipped(entries []entry, at time.Time) ([]byte, error) {
	plain, err := tarred(entries, at)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// tarred is a tar archive whose entries belong to root and have one time. A name that ends
// with a slash is a folder.
func tarred(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range sorted(entries) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at, Format: tar.FormatUSTAR}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func zipped(entries []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range sorted(entries) {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		h.SetMode(fs.FileMode(e.mode))
		f, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(f, bytes.NewReader(e.content)); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func sorted(entries []entry) []entry {
	return slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) })
}
