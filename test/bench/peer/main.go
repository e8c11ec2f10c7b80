// peer is the webhook that celld-webhook is measured against: controller-runtime as operators use it, typed objects, the
// decoder of the framework. It keeps the rules that the bodies of test/bench/bodies.py meet, in the same words. With
// -controller it is the controller that celld-controller is measured against.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func main() {
	address := flag.String("bind-address", "127.0.0.1:0", "where to serve")
	dir := flag.String("cert-dir", "", "folder with tls.crt and tls.key")
	isController := flag.Bool("controller", false, "be the controller of -kubeconfig; -bind-address: of its health")
	workers := flag.Int("workers", 1, "apps that it reconciles at the same time")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if *isController {
		if err := runController(*address, *workers); err != nil {
			log.Fatal(err)
		}
		return
	}
	host, port, err := net.SplitHostPort(*address)
	if err != nil {
		log.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		log.Fatal(err)
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "celld-operator.io", Version: "v1alpha1", Kind: "WorkerApp"},
		&WorkerApp{})
	server := webhook.NewServer(webhook.Options{Host: host, Port: n, CertDir: *dir})
	server.Register("/validate-workerapp", &admission.Webhook{Handler: &validator{admission.NewDecoder(scheme)}})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := server.Start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
