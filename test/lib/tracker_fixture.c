#include "test/lib/tracker_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool yes(void *ctx)
{
	(void)ctx;
	return true;
}

void tracker_rise(struct tracker_fixture *f)
{
	f->cancel = http_cancel_new();
	f->o.cancel = f->cancel;
	f->tracker = tracker_start(&f->o);
}

void tracker_die(struct tracker_fixture *f)
{
	http_cancel_trigger(f->cancel);
	tracker_stop(f->tracker);
	http_cancel_free(f->cancel);
}

void tracker_begin(struct tracker_fixture *f, const struct script_step *api, size_t n_api,
		   const struct strlist *local, const struct tracker_opts *o, int64_t secrets_ms)
{
	struct settings_options settings = { .poll_ms = -1 };
	struct kube_client_opts client;
	struct secrets_opts secrets;
	struct err e = ERR_INIT;

	*f = (struct tracker_fixture){ .api = script_start(api, n_api, NULL), .o = *o };
	f->config = kube_config_plain(script_url(f->api), "T");
	client = (struct kube_client_opts){ .config = f->config };
	f->client = kube_client_new(&client);
	f->queue = queue_new(10, 100);
	for (size_t i = 0; i < local->n; i++)
		strlist_add(&settings.allowed[POLICY_ENDPOINT], local->v[i]);
	assert_int_equal(settings_start(&settings, &f->settings, &e), 0);
	settings_options_done(&settings);
	secrets = (struct secrets_opts){
		.client = f->client, .queue = f->queue, .interval_ms = secrets_ms, .active = yes
	};
	f->secrets = secrets_start(&secrets);
	f->o.queue = f->queue;
	f->o.secrets = f->secrets;
	f->o.settings = f->settings;
	f->o.active = yes;
	tracker_rise(f);
}

void tracker_end(struct tracker_fixture *f)
{
	tracker_die(f);
	secrets_stop(f->secrets);
	queue_free(f->queue);
	kube_client_free(f->client);
	kube_config_free(f->config);
	settings_stop(f->settings);
	script_stop(f->api);
}

void tracker_follow(struct tracker_fixture *f, const char *name, const char *endpoint, bool urgent)
{
	const struct store_place place = { .scheme = SCHEME_S3,
					   .endpoint = endpoint,
					   .region = "us-east-1",
					   .container = "cells",
					   .prefix = name,
					   .allow_http = true };
	cleanup(freep) char *key = xasprintf("shop/%s", name);
	struct strlist names = STRLIST_INIT;

	strlist_add(&names, "keys");
	secrets_want(f->secrets, key, "shop", &names);
	tracker_want(f->tracker, key, &place, "shop", "keys", urgent);
	strlist_done(&names);
}

void tracker_news(struct tracker_fixture *f)
{
	char *key = queue_get(f->queue);

	assert_true(str_starts(key, "shop/"));
	queue_done(f->queue, key, false);
	free(key);
}
