/* SPDX-License-Identifier: MIT */
/* zreel doctor: what can be recorded on this host, how, and what would have to change for more. */
#include "recorder/recorder.h"
#include "ui/commands.h"
#include "ui/json.h"
#include "ui/text.h"

struct values {
	bool json, print_probes;
};

static const struct ui_option options[] = {
	{ "json", 0, UI_FLAG, offsetof(struct values, json), NULL, "print everything as JSON" },
	{ "print-probes", 0, UI_FLAG, offsetof(struct values, print_probes), NULL,
	  "print the probes for use with tracefs, trace-cmd or perf" },
	{ 0 },
};

/* ---------------------------------------------------------------------------------------------- JSON */

static void json_event(struct ui_json *json, const struct rec_doctor_event *event)
{
	ui_json_object(json, NULL);
	ui_json_text(json, "event", event->event);
	ui_json_bool(json, "ok", event->ok);
	ui_json_bool(json, "vital", event->vital);
	ui_json_text(json, "form", event->form);
	ui_json_text(json, "function", event->function);
	ui_json_text(json, "lost_without", event->lost);
	ui_json_text(json, "why", event->ok ? NULL : event->why);
	ui_json_end_object(json);
}

static void json_check(struct ui_json *json, const struct rec_doctor_check *check)
{
	ui_json_object(json, NULL);
	ui_json_text(json, "check", check->name);
	ui_json_bool(json, "ok", check->ok);
	ui_json_text(json, "found", check->found);
	ui_json_text(json, "advice", check->advice[0] ? check->advice : NULL);
	ui_json_end_object(json);
}

static void print_json(const struct rec_doctor *doctor)
{
	struct ui_json json;

	ui_json_init(&json, stdout);
	ui_json_object(&json, NULL);
	ui_json_text(&json, "kernel", doctor->kernel);
	ui_json_bool(&json, "probes_work", doctor->probes_work);
	ui_json_bool(&json, "can_record", doctor->can_record);
	ui_json_array(&json, "checks");
	for (uint32_t i = 0; i < doctor->n_checks; i++)
		json_check(&json, &doctor->checks[i]);
	ui_json_end_array(&json);
	ui_json_array(&json, "events");
	for (uint32_t i = 0; i < doctor->n_events; i++)
		json_event(&json, &doctor->events[i]);
	ui_json_end_array(&json);
	ui_json_end_object(&json);
}

/* ---------------------------------------------------------------------------------------------- text */

static void text_check(const struct rec_doctor_check *check)
{
	printf("  %-4s %-14s ", check->ok ? "ok" : "NO", check->name);
	ui_put_clean(stdout, check->found);
	putchar('\n');
	if (!check->advice[0])
		return;
	printf("  %-19s -> ", "");
	ui_put_clean(stdout, check->advice);
	putchar('\n');
}

static void text_event(const struct rec_doctor_event *event)
{
	const char *state = event->ok ? "ok" : event->vital ? "NO" : "-";

	printf("  %-4s %-20s ", state, event->event);
	if (event->ok) {
		printf("%-14s %s\n", event->form, event->function ? event->function : "");
		return;
	}
	ui_put_clean(stdout, event->why);
	printf(": %s\n", event->lost);
}

static void print_text(const struct rec_doctor *doctor)
{
	printf("kernel %s\n\nhost\n", doctor->kernel);
	for (uint32_t i = 0; i < doctor->n_checks; i++)
		text_check(&doctor->checks[i]);
	puts("\nevents (NO: without it there is no recording; -: figures are missing)");
	for (uint32_t i = 0; i < doctor->n_events; i++)
		text_event(&doctor->events[i]);
	printf("\n%s\n", doctor->can_record   ? "zreel record works here."
			 : doctor->probes_work ? "The kernel can be recorded, but not as things are: see NO above."
					       : "This kernel cannot be recorded with probes: see NO above.");
}

static enum zr_err run(const struct ui_call *call)
{
	const struct values *values = call->values;
	const struct rec_doctor_roots roots = { 0 };
	struct rec_doctor *doctor;
	enum zr_err err;

	if (values->print_probes)
		return rec_doctor_print_probes(&roots, stdout);
	doctor = zr_arena_alloc(call->arena, sizeof(*doctor));
	if (!doctor)
		return zr_fail(ZR_NOMEM, "no memory to look at the kernel");
	err = rec_doctor(&roots, doctor);
	if (err)
		return err;
	if (values->json)
		print_json(doctor);
	else
		print_text(doctor);
	return ZR_OK;
}

const struct ui_command ui_cmd_doctor = {
	.name = "doctor",
	.summary = "tell what can be recorded on this host, and what is in the way",
	.operands = "",
	.about = "Looks at this host without changing anything: for each event which function and which form\n"
		 "of probe a recording would use, what is missing, which figures go with it, and what to change.\n"
		 "Needs no rights, but sees more as root.",
	.example = "  zreel doctor\n"
		   "  zreel doctor --print-probes > probes.txt",
	.options = options,
	.values_bytes = sizeof(struct values),
	.run = run,
};
