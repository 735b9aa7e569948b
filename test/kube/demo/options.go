package main

import (
	"flag"
	"fmt"

	"github.com/countd/countd/test/kube/workload"
)

// options are the flags and the command behind them.
type options struct {
	buildOnly     bool
	kubeconfig    string
	kubeconfigOut string
	data          string
	port          int
	workload      workload.Options
	command       []string
}

func parseFlags(args []string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), "usage: demo [flags] [-- command [arguments]]")
		fs.PrintDefaults()
	}
	fs.BoolVar(&o.buildOnly, "build", false, "only build the control plane, which takes some five minutes the first time")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "fill the cluster of this `file` instead of starting one")
	fs.StringVar(&o.kubeconfigOut, "kubeconfig-out", "", "write an administrator's kubeconfig to this `file` too")
	fs.StringVar(&o.data, "data", "", "keep the cluster in this `directory`, which must be empty")
	fs.IntVar(&o.port, "port", 0, "`port` of the API server; 0 takes a free one")
	fs.Uint64Var(&o.workload.Seed, "seed", 1, "`number` that decides names, states and changes")
	fs.IntVar(&o.workload.Namespaces, "namespaces", 50, "namespaces to fill")
	fs.Float64Var(&o.workload.Rate, "rate", 10, "changes a second once they are filled")
	fs.IntVar(&o.workload.RunawayLimit, "runaway", 2000, "configmaps that the runaway creator makes; negative for none")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	o.command = fs.Args()
	if o.kubeconfig != "" && (o.kubeconfigOut != "" || o.data != "" || o.port != 0) {
		return nil, fmt.Errorf("checking flags: -kubeconfig=%s is a cluster that runs; -kubeconfig-out, -data and -port are for one to start", o.kubeconfig)
	}
	return o, nil
}
