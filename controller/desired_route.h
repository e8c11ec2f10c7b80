/*
 * desired_route.h - how an app's hostnames are routed: which kind of object, and what the ways have in common. Pure.
 */
#ifndef CONTROLLER_DESIRED_ROUTE_H
#define CONTROLLER_DESIRED_ROUTE_H

#include "controller/desired.h"

enum route_mode { ROUTE_NONE, ROUTE_HTTPROUTE, ROUTE_INGRESS, ROUTE_VIRTUALSERVICE };

/*
 * The kind of route an app gets: gatewayRefs ask for an HTTPRoute, ingressClass for an Ingress, and the operator's flag
 * decides for all others. ROUTE_NONE without hostnames.
 */
enum route_mode route_mode_of(const struct desired_input *in);
/* The hostnames that are routed: in->hostnames, or all of the app's. */
const struct strlist *route_hostnames(const struct desired_input *in);
/* spec.ingress.path without a slash at its end ("/" stays). The caller's. */
char *route_path(const struct workerapp *app) must_use;
bool route_is_exact(const struct workerapp *app);
/* The prefix has to be taken off: stripPrefix, and there is one. */
bool route_strips(const struct workerapp *app);
/* The Ingress's class; NULL: the cluster's default. */
const char *route_ingress_class(const struct desired_input *in);
/* The Secret of the Ingress's certificate, the caller's; NULL: it has none. */
char *route_tls_secret(const struct desired_input *in) must_use;
/* Why the route cannot be made as the spec asks for it, in words; NULL: it can. */
const char *route_refusal(const struct desired_input *in);
/* Where people reach the app: its first hostname that is no wildcard, the caller's; NULL: there is none. */
char *route_url(const struct desired_input *in) must_use;

/* The route of the app's mode; NULL: there is to be none, or route_refusal says why not. */
struct json *desired_route(const struct desired_input *in) must_use;
struct json *desired_httproute(const struct desired_input *in) must_use;
struct json *desired_ingress(const struct desired_input *in) must_use;
struct json *desired_virtualservice(const struct desired_input *in) must_use;
/* Puts the annotations that the user wrote for the route on top of what the object has. */
void route_annotate(const struct desired_input *in, struct json *object);

#endif
