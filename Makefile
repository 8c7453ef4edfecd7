# SPDX-License-Identifier: MIT
#
# One makefile for the whole tree. `make help` lists the targets; V=1 shows the commands.
#
# Each folder is a module and becomes one static archive: base and db at the bottom, recorder and replayer
# on db, ui on top. Sources are found by wildcard; a file's suffix says what it is:
#   x_test.c  a cmocka program, linked with its own module's archive and those below it only
#   x_fuzz.c  a libFuzzer program (make fuzz), clang
#   x_bench.c a benchmark program
#   main.c    the entry of a program
# build/flags.mk holds the compiler flags of the libraries. Making it installs missing packages (as root) or
# lists them, so every target that compiles starts from a machine with nothing but a compiler and make.

SHELL	:= bash
BUILD	?= build
CC	?= cc
V	?= 0
Q	= $(if $(filter 1,$(V)),,@)
say	= $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n' $(1) $(2))

all: $(BUILD)/zreel $(BUILD)/zreel-record $(BUILD)/zreel_events.so

# ------------------------------------------------------------------------------------------------ flags

WARN	= -Wall -Wextra -Wshadow -Wundef -Wformat=2 -Wvla -Wstrict-prototypes -Wmissing-prototypes \
	  $(if $(WERROR),-Werror)
SANFLAGS = $(if $(SAN),-fsanitize=address$(comma)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
OPT	?= -O2 -g
comma	= ,
CFLAGS_ALL = -std=gnu2x $(OPT) $(WARN) $(SANFLAGS) -I. -D_GNU_SOURCE -pthread $(LIB_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(SANFLAGS) -pthread -Wl,--as-needed $(LDFLAGS)

# What each module links with besides the archives below it; from pkg-config, see $(BUILD)/flags.mk.
BUILD_PACKAGES = sqlite3 libzstd libtracecmd libtracefs libtraceevent libbpf liburing ncursesw cmocka vterm

# Goals that must work on a bare machine without touching it.
ifneq ($(filter-out help clean check-layers uninstall,$(or $(MAKECMDGOALS),all)),)
include $(BUILD)/flags.mk
endif

$(BUILD)/flags.mk: .ci/setup Makefile
	$(Q)mkdir -p $(@D)
	$(Q).ci/setup build
	$(Q){ echo "LIB_CFLAGS := $$(pkg-config --cflags $(BUILD_PACKAGES))"; \
	  echo "DB_LIBS := $$(pkg-config --libs sqlite3 libzstd) -lm"; \
	  echo "RECORDER_LIBS := $$(pkg-config --libs libtracecmd libtracefs libtraceevent libbpf)"; \
	  echo "REPLAYER_LIBS := $$(pkg-config --libs liburing libzstd)"; \
	  echo "UI_LIBS := $$(pkg-config --libs ncursesw)"; \
	  echo "TEST_LIBS := $$(pkg-config --libs cmocka)"; \
	  echo "TERM_LIBS := $$(pkg-config --libs vterm)"; } > $@.new
	$(Q)mv $@.new $@

# ---------------------------------------------------------------------------------------------- sources

SPECIAL	 = %_test.c %_fuzz.c %_bench.c %_judge.c %/main.c
sources	 = $(filter-out $(SPECIAL),$(wildcard $(addsuffix /*.c,$(1))))
objects	 = $(patsubst %.c,$(BUILD)/%.o,$(1))

DB_SRC	     = $(filter-out db/extension.c,$(call sources,db db/base))
RECORDER_SRC = $(call sources,recorder)
REPLAYER_SRC = $(call sources,replayer)
UI_SRC	     = $(call sources,ui)

DB_A	     = $(BUILD)/libdb.a
RECORDER_A   = $(BUILD)/librecorder.a
REPLAYER_A   = $(BUILD)/libreplayer.a
UI_A	     = $(BUILD)/libui.a

$(DB_A): $(call objects,$(DB_SRC))
$(RECORDER_A): $(call objects,$(RECORDER_SRC))
$(REPLAYER_A): $(call objects,$(REPLAYER_SRC))
$(UI_A): $(call objects,$(UI_SRC))

$(BUILD)/%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

# SQL that is built into the program.
$(BUILD)/%.sql.h: %.sql
	$(call say,SQL,$<)
	$(Q)mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $< > $@

$(BUILD)/db/store.o $(BUILD)/db/open.o: $(BUILD)/db/schema.sql.h

# Other texts that are built in, the same way: the style sheet of reports, the shells' scripts.
$(BUILD)/%.h: %
	$(call say,TEXT,$<)
	$(Q)mkdir -p $(@D)
	$(Q)sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/' $< > $@

$(BUILD)/ui/report.o: $(BUILD)/ui/report.css.h
$(BUILD)/ui/cmd_completion.o: $(patsubst %,$(BUILD)/ui/completion.%.h,bash zsh fish)

$(BUILD)/%.o: %.c $(BUILD)/flags.mk
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -I$(BUILD) -MMD -MP -c $< -o $@

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d)

# --------------------------------------------------------------------------------------------- programs

link = $(Q)mkdir -p $(@D) && $(CC) $(LDFLAGS_ALL) $(filter %.o,$^) $(filter %.a,$^) $(1) -o $@

$(BUILD)/zreel: $(BUILD)/ui/main.o $(UI_A) $(REPLAYER_A) $(RECORDER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(UI_LIBS) $(REPLAYER_LIBS) $(RECORDER_LIBS) $(DB_LIBS))

$(BUILD)/zreel-record: $(BUILD)/recorder/main.o $(RECORDER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(RECORDER_LIBS) $(DB_LIBS))

# --------------------------------------------------------------------- the events table as an extension

# For the sqlite3 shell and others (.load build/zreel_events); see db/extension.c. Its objects are built
# apart: position-independent, all symbols hidden, SQLite called through the program that loads it, and
# without sanitizers, which that program does not have.
EXTENSION_SRC = $(addprefix db/,extension.c vtab.c vtab_columns.c chunk.c chunk_codes.c chunk_encode.c chunk_decode.c \
		  chunk_decode_1.c chunk_decode_2.c planes.c rows.c types.c event.c base/arena.c base/crc32c.c base/err.c)

$(BUILD)/zreel_events.so: $(patsubst %.c,$(BUILD)/extension/%.o,$(EXTENSION_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-z,defs $^ $(filter-out -lsqlite3,$(DB_LIBS)) -o $@

$(BUILD)/extension/%.o: %.c $(BUILD)/flags.mk
	$(call say,CC,"$< (extension)")
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) -fno-sanitize=all -fPIC -fvisibility=hidden -DDB_SQLITE_EXTENSION \
		-MMD -MP -c $< -o $@

-include $(wildcard $(BUILD)/extension/*/*.d $(BUILD)/extension/*/*/*.d)

# ---------------------------------------------------------------------------------------------- install

# Into DESTDIR, for use below PREFIX. The pages of the commands are cut out of zreel.1, see ui/manpages.
PREFIX	?= /usr/local
DESTDIR	?=
bindir	 = $(DESTDIR)$(PREFIX)/bin
libdir	?= $(PREFIX)/lib
extdir	 = $(DESTDIR)$(libdir)/zreel
datadir	 = $(DESTDIR)$(PREFIX)/share
mandir	 = $(datadir)/man
docdir	 = $(datadir)/doc/zreel
bashdir	 = $(datadir)/bash-completion/completions
zshdir	?= $(datadir)/zsh/site-functions
fishdir	 = $(datadir)/fish/vendor_completions.d
DOCS	 = README.md LICENSE db/QUERIES.md
PAGES	 = $(shell sed -n 's/^\.Ss \([a-z]*\)$$/zreel-\1.1/p' ui/zreel.1)

$(BUILD)/man/done: ui/zreel.1 ui/manpages $(BUILD)/zreel
	$(call say,MAN,"zreel.1 by command")
	$(Q)rm -rf $(@D) && ui/manpages $(BUILD)/zreel ui/zreel.1 $(@D) && touch $@

install: all $(BUILD)/man/done
	$(Q)install -d $(bindir) $(extdir) $(mandir)/man1 $(mandir)/man5 $(docdir) $(bashdir) $(zshdir) $(fishdir)
	$(Q)install $(BUILD)/zreel $(BUILD)/zreel-record $(bindir)
	$(Q)install -m 644 $(BUILD)/zreel_events.so $(extdir)
	$(Q)install -m 644 ui/zreel.1 $(BUILD)/man/*.1 $(mandir)/man1
	$(Q)install -m 644 db/zreel-trace.5 $(mandir)/man5
	$(Q)install -m 644 $(DOCS) $(docdir)
	$(Q)install -D -m 644 ui/picture.svg $(docdir)/ui/picture.svg
	$(Q)$(BUILD)/zreel completion bash > $(bashdir)/zreel
	$(Q)$(BUILD)/zreel completion zsh > $(zshdir)/_zreel
	$(Q)$(BUILD)/zreel completion fish > $(fishdir)/zreel.fish
	$(Q)chmod 644 $(bashdir)/zreel $(zshdir)/_zreel $(fishdir)/zreel.fish

# Takes the same PREFIX and DESTDIR; folders that others use too stay.
uninstall:
	$(Q)rm -f $(bindir)/zreel $(bindir)/zreel-record $(extdir)/zreel_events.so $(mandir)/man5/zreel-trace.5 \
		$(addprefix $(mandir)/man1/,zreel.1 $(PAGES)) $(addprefix $(docdir)/,$(notdir $(DOCS))) \
		$(docdir)/ui/picture.svg $(bashdir)/zreel $(zshdir)/_zreel $(fishdir)/zreel.fish
	$(Q)rmdir $(extdir) $(docdir)/ui $(docdir) 2>/dev/null || true

# A Debian package in $(BUILD); its Depends are found by dpkg-shlibdeps.
deb: all $(BUILD)/man/done
	+$(Q).ci/deb $(BUILD)

.PHONY: install uninstall deb

# ------------------------------------------------------------------------------------------------ tests

tests = $(patsubst %.c,$(BUILD)/%,$(wildcard $(addsuffix /*_test.c,$(1))))
DB_TESTS       = $(call tests,db db/base)
RECORDER_TESTS = $(call tests,recorder)
REPLAYER_TESTS = $(call tests,replayer)
UI_TESTS       = $(call tests,ui)
UNIT_TESTS     = $(DB_TESTS) $(RECORDER_TESTS) $(REPLAYER_TESTS) $(UI_TESTS)

$(DB_TESTS): %: %.o $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(TEST_LIBS) $(DB_LIBS))
$(RECORDER_TESTS): %: %.o $(RECORDER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(TEST_LIBS) $(RECORDER_LIBS) $(DB_LIBS))
$(REPLAYER_TESTS): %: %.o $(REPLAYER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(TEST_LIBS) $(REPLAYER_LIBS) $(DB_LIBS))
$(UI_TESTS): %: %.o $(UI_A) $(REPLAYER_A) $(RECORDER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(TEST_LIBS) $(TERM_LIBS) $(UI_LIBS) $(REPLAYER_LIBS) $(RECORDER_LIBS) $(DB_LIBS))

# Tests run from the top of the tree; BUILD tells them where the programs are.
CHECK_SCRIPTS = ui/e2e/report.sh
check: all $(UNIT_TESTS) check-layers
	$(Q)BUILD=$(BUILD) .ci/run-tests $(UNIT_TESTS) $(CHECK_SCRIPTS)

# Whole-program tests, and those that boot real kernels.
E2E_TESTS = $(filter-out $(HEAVY_TESTS),$(wildcard ui/e2e/*.sh traces/*_test.sh)) recorder/program_test.sh
# They need a browser, and a whole Debian system: by `make test-more`.
HEAVY_TESTS = ui/e2e/report_browser.sh ui/e2e/deb.sh
VM_TESTS  = recorder/vm/record_test.sh recorder/vm/source_test.sh recorder/vm/replay_test.sh recorder/vm/top_test.sh \
	    recorder/vm/kernel_test.sh recorder/vm/calibrate_test.sh
MORE_TESTS = recorder/huge_test.sh $(HEAVY_TESTS) $(BUILD)/db/fault_test

test: setup-test all $(UNIT_TESTS) check-layers
	$(Q)BUILD=$(BUILD) ZREEL_THOROUGH=1 .ci/run-tests $(UNIT_TESTS) $(E2E_TESTS) $(VM_TESTS)

test-more: setup-more all $(BUILD)/db/fault_test
	$(Q)BUILD=$(BUILD) ZREEL_THOROUGH=2 .ci/run-tests $(MORE_TESTS)

setup-test:
	$(Q).ci/setup test

setup-more:
	$(Q).ci/setup more

check-layers:
	$(Q).ci/check-layers

# ------------------------------------------------------------------------------------------------- fuzz

# Each decoder of foreign bytes for FUZZ_SECONDS; the modules are built with coverage and sanitizers.
FUZZ_SECONDS ?= 60
FUZZERS = $(patsubst %.c,$(BUILD)/%,$(wildcard db/*_fuzz.c recorder/*_fuzz.c replayer/*_fuzz.c ui/*_fuzz.c))

fuzz:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC=clang \
		SANFLAGS=-fsanitize=fuzzer-no-link,address,undefined run-fuzzers

$(FUZZERS): %: %.o $(RECORDER_A) $(DB_A)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS_ALL) -fsanitize=fuzzer $(filter %.o,$^) $(filter %.a,$^) $(RECORDER_LIBS) $(DB_LIBS) -o $@

run-fuzzers: $(FUZZERS)
	$(Q)for fuzzer in $(FUZZERS); do \
		echo "  FUZZ    $$fuzzer for $(FUZZ_SECONDS) s"; \
		mkdir -p $$fuzzer.corpus; \
		seeds=traces/seeds/$$(basename $$fuzzer); test -d $$seeds || seeds="traces/corrupt db/golden"; \
		$$fuzzer -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(BUILD)/ -timeout=60 \
			$$fuzzer.corpus $$seeds 2>&1 | tail -n 2; \
		test $${PIPESTATUS[0]} -eq 0 || exit 1; done

# ------------------------------------------------------------------------------------------- benchmarks

ALL_BENCHES = $(patsubst %.c,$(BUILD)/%,$(wildcard db/*_bench.c replayer/*_bench.c))
BENCHES = $(filter-out $(BUILD)/replayer/io_bench,$(ALL_BENCHES))

$(ALL_BENCHES): %: %.o $(REPLAYER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(REPLAYER_LIBS) $(DB_LIBS))

bench: $(BENCHES)
	$(Q)for bench in $(BENCHES); do echo "$$bench:"; $$bench traces/touch.zr || exit 1; done

# --------------------------------------------------------------------------------------------- fidelity

$(BUILD)/replayer/fidelity_judge: %: %.o $(REPLAYER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(REPLAYER_LIBS) $(DB_LIBS))

# The model against real kernels in a virtual machine, about three minutes a recording that is not kept from before;
# rewrites the tables of replayer/FIDELITY.md.
fidelity: setup-test all $(BUILD)/replayer/fidelity_judge
	$(Q)replayer/fidelity -z $(BUILD)/zreel -j $(BUILD)/replayer/fidelity_judge

.PHONY: fidelity

# ----------------------------------------------------------------------------- the recorder, by itself

# For hosts with nothing installed: the same objects, all libraries in it. The static libraries come with the -dev packages
# (but for libtracecmd, which only the importers need).
STATIC_LIBS = $(shell pkg-config --static --libs libtracefs libtraceevent libbpf sqlite3 libzstd) -lm

static-record: $(BUILD)/zreel-record.static

$(BUILD)/zreel-record.static: $(BUILD)/recorder/main.o $(RECORDER_A) $(DB_A)
	$(call say,LINK,$@)
	$(Q)$(CC) -static $(LDFLAGS_ALL) $(filter %.o,$^) $(filter %.a,$^) $(STATIC_LIBS) -o $@
	$(Q)strip $@

# What recording costs: stage by stage, without the kernel's part; figures are kept in recorder/BENCH.md.
$(BUILD)/recorder/fold_bench: $(BUILD)/recorder/fold_bench.o $(RECORDER_A) $(DB_A)
	$(call say,LINK,$@)
	$(call link,$(RECORDER_LIBS) $(DB_LIBS))

# Then live, beside perf record and trace-cmd record, for BENCH_SECONDS; that takes root, fio, perf and trace-cmd.
BENCH_SECONDS ?= 60

setup-bench:
	$(Q).ci/setup bench

bench-record: setup-bench $(BUILD)/recorder/fold_bench $(BUILD)/zreel-record $(BUILD)/zreel
	$(Q)$(BUILD)/recorder/fold_bench
	$(Q)recorder/bench-record -z $(BUILD)/zreel-record -d $(BENCH_SECONDS)
	$(Q)BUILD=$(BUILD) recorder/vm/bench-swap -d $(BENCH_SECONDS)

# Its rows are kept in replayer/BENCH.md.
bench-replay: $(BUILD)/replayer/model_bench
	$(Q)$(BUILD)/replayer/model_bench traces/touch.zr

# Random writes by the device target and by fio, in turn, to a file in BENCH_DIR; rows are kept there too.
BENCH_DIR ?= $(BUILD)

bench-io: setup-bench $(BUILD)/replayer/io_bench
	$(Q)replayer/bench-io -b $(BUILD)/replayer/io_bench -d $(BENCH_DIR)

.PHONY: static-record bench-record setup-bench bench-replay bench-io

# Size and speed of the event store; adds rows to db/BENCH.md. TRACE=FILE and EVENTS=N choose other sources.
bench-store: $(BUILD)/db/store_bench
	$(Q)BUILD=$(BUILD) db/bench-store

.PHONY: bench-store

# ----------------------------------------------------------------------------------- demo and recordings

# The compile trace for batching and plugging; the touch trace, whose pool gets full, for what a full pool may do.
demo: all
	$(Q)rm -f $(BUILD)/demo.zr
	$(BUILD)/zreel replay traces/compile.zr --runs $(BUILD)/demo.zr \
		-p unbatched -p batched -p plugged -p shrink-off -p hysteresis
	$(BUILD)/zreel replay traces/touch.zr --runs $(BUILD)/demo.zr -p unbatched -p shrink-off -p hysteresis
	$(BUILD)/zreel compare $(BUILD)/demo.zr
	$(Q)if [ -t 0 ] && [ -t 1 ] && [ -z "$$CI" ]; then \
		$(BUILD)/zreel ui traces/compile.zr -p unbatched -p batched -p plugged; fi

# The picture at the head of README.md: the dashboard in the middle of the compile trace, by its own hand.
PICTURE	?= ui/picture.svg
picture: $(BUILD)/zreel
	$(Q)$(BUILD)/zreel ui traces/compile.zr -p unbatched -p batched -p plugged --size 120x40 --dump=svg \
		--script '<s-right><s-right><s-right><s-right><s-right><right><right><right>2 <frame 30> ' \
		> $(BUILD)/picture.svg
	$(Q)mv $(BUILD)/picture.svg $(PICTURE)

.PHONY: picture

# Records the shipped traces anew in the virtual machine: about half an hour.
traces: setup-test all
	$(Q)mkdir -p $(BUILD)/traces
	$(Q)for workload in touch compile; do \
		rm -f $(BUILD)/traces/$$workload.zr; \
		recorder/vm/record-trace -z $(BUILD)/zreel $$workload full $(BUILD)/traces/$$workload.zr && \
		cp $(BUILD)/traces/$$workload.zr traces/ || exit 1; done
	$(Q)cd traces && sha256sum *.zr > SHA256SUMS

.PHONY: all check check-layers test test-more setup-test setup-more demo clean help fuzz run-fuzzers bench traces
.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:

clean:
	$(Q)rm -rf $(BUILD)

help:
	@echo 'make          build/zreel and build/zreel-record'
	@echo 'make demo     build, replay the shipped compile trace, compare, open the dashboard'
	@echo 'make test     all tests, those in virtual machines too'
	@echo 'make check    the unit tests and golden screens: seconds, no root, no device'
	@echo 'make test-more  tests that need a browser, a whole Debian system, much memory or time'
	@echo 'make fuzz     each fuzzer for FUZZ_SECONDS (60)'
	@echo 'make bench    speed of the codec and of the model'
	@echo 'make bench-store  size and speed of the event store, 100 million events; adds to db/BENCH.md'
	@echo 'make bench-replay  speed of the model, decoding included (rows: replayer/BENCH.md)'
	@echo 'make bench-io  random writes by the device target and by fio, in BENCH_DIR (rows: replayer/BENCH.md)'
	@echo 'make bench-record  what recording costs, beside perf record and trace-cmd record'
	@echo 'make static-record  build/zreel-record.static, for hosts with nothing installed'
	@echo 'make fidelity  the model against real kernels in virtual machines; rewrites replayer/FIDELITY.md'
	@echo 'make traces   record the shipped traces anew in a virtual machine (about half an hour)'
	@echo 'make install  into PREFIX (/usr/local), below DESTDIR; make uninstall takes it away again'
	@echo 'make deb      a Debian package, in build/'
	@echo 'make picture  renew the picture of the dashboard in README.md'
	@echo 'make clean    remove build/'
	@echo
	@echo 'V=1 shows commands, SAN=1 builds with sanitizers, WERROR=1 makes warnings errors,'
	@echo 'BUILD=DIR builds elsewhere, CC=clang takes another compiler.'
