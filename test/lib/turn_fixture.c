#include "test/lib/turn_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/kube/client.h"
#include "common/kube/config.h"

static int64_t may_write(void *ctx)
{
	const struct turn_fixture *f = ctx;

	return f->allowed_ms;
}

void turn_fixture_start(struct turn_fixture *f, const struct script_step *steps, size_t n)
{
	struct kube_client_opts o = { .may_write = may_write, .may_write_ctx = f };

	*f = (struct turn_fixture){ .server = script_start(steps, n, NULL), .allowed_ms = 60000 };
	f->config = kube_config_plain(script_url(f->server), NULL);
	o.config = f->config;
	f->opts.client = kube_client_new(&o);
	f->opts.cache = cache_new();
	f->app = app_fixture_with(NULL, NULL);
	f->turn = (struct turn){ .o = &f->opts, .key = "store/shop", .app = f->app.app };
	f->turn.input = f->app.in;
}

void turn_fixture_stop(struct turn_fixture *f)
{
	assert_int_equal(script_unexpected(f->server), 0);
	kube_client_free(f->opts.client);
	cache_free(f->opts.cache);
	kube_config_free(f->config);
	app_fixture_done(&f->app);
	script_stop(f->server);
}

void turn_fixture_knows(struct turn_fixture *f, enum cache_kind kind, const char *text)
{
	cleanup_json struct json *j = app_fixture_json(text);

	assert_true(cache_put(f->opts.cache, kind, j));
}
