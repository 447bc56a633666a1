// Copyright The rke-lm Authors
// SPDX-License-Identifier: Apache-2.0

package aws

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// fault is an error as AWS words it.
type fault struct{ code, message string }

func (e *fault) Error() string { return e.code + ": " + e.message }

// action answers one kind of request. What it returns is put into the body of the response.
type action struct {
	write  bool
	target string // the parameter that names what it is about
	do     func(*Fake, url.Values) (any, error)
}

// answer serves /<caller>/<service>.
func (f *Fake) answer(w http.ResponseWriter, r *http.Request) {
	caller, service, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := r.Form.Get("Action")
	a, known := map[string]map[string]action{"ec2": ec2Actions, "elb": elbActions}[service][name]
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, Call{Time: time.Now(), Caller: caller, Service: service, Action: name, Target: r.Form.Get(a.target), Write: a.write})
	if !known {
		writeFault(w, service, &fault{"InvalidAction", "the lab's " + service + " does not know " + name})
		return
	}
	if refusal := f.refused[name]; refusal != nil {
		writeFault(w, service, refusal)
		return
	}
	body, err := a.do(f, r.Form)
	if err != nil {
		writeFault(w, service, err)
		return
	}
	writeBody(w, service, name, body)
}

// The envelopes of the two protocols.
type (
	ec2Error struct {
		XMLName xml.Name `xml:"Response"`
		Code    string   `xml:"Errors>Error>Code"`
		Message string   `xml:"Errors>Error>Message"`
		ID      string   `xml:"RequestID"`
	}
	elbError struct {
		XMLName xml.Name `xml:"ErrorResponse"`
		Type    string   `xml:"Error>Type"`
		Code    string   `xml:"Error>Code"`
		Message string   `xml:"Error>Message"`
		ID      string   `xml:"RequestId"`
	}
)

func writeFault(w http.ResponseWriter, service string, err error) {
	code, message := "InternalFailure", err.Error()
	if e, ok := err.(*fault); ok {
		code, message = e.code, e.message
	}
	var body any = ec2Error{Code: code, Message: message, ID: requestID}
	if service == "elb" {
		body = elbError{Type: "Sender", Code: code, Message: message, ID: requestID}
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(http.StatusBadRequest)
	_ = xml.NewEncoder(w).Encode(body) // the caller has gone
}

const requestID = "00000000-0000-0000-0000-000000000000"

// writeBody wraps the body as its protocol does: EC2 directly, ELB once more.
func writeBody(w http.ResponseWriter, service, name string, body any) {
	inner, err := xml.Marshal(body)
	if err != nil {
		writeFault(w, service, err)
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	text := string(inner)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "<body>"), "</body>")
	if service == "elb" {
		fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult><ResponseMetadata><RequestId>%[3]s</RequestId></ResponseMetadata></%[1]sResponse>", name, text, requestID)
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><requestId>%[3]s</requestId>%[2]s</%[1]sResponse>", name, text, requestID)
}

// numbered returns the values of prefix1, prefix2, …
func numbered(form url.Values, prefix string) []string {
	var list []string
	for i := 1; form.Has(fmt.Sprint(prefix, i)); i++ {
		list = append(list, form.Get(fmt.Sprint(prefix, i)))
	}
	return list
}

// filters returns the filters of a request: a thing passes when it has one of the values of each.
func filters(form url.Values) map[string][]string {
	all := map[string][]string{}
	for i := 1; form.Has(fmt.Sprintf("Filter.%d.Name", i)); i++ {
		all[form.Get(fmt.Sprintf("Filter.%d.Name", i))] = numbered(form, fmt.Sprintf("Filter.%d.Value.", i))
	}
	return all
}

// done is the body of what returns nothing but success.
type done struct {
	XMLName xml.Name `xml:"body"`
	Return  bool     `xml:"return"`
}
