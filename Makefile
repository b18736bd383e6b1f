# qkv: `make help` lists what there is to do. CC, CFLAGS and LDFLAGS are yours; the project's own flags stand apart.
CC     ?= cc
CXX    ?= c++
CFLAGS ?= -O3 -g
PREFIX ?= /usr/local
# The processor to build for, as -march takes it: native, x86-64-v3, ... ; empty: the compiler's default;
# portable: slower, and the same bits with every compiler on every processor (docs/accuracy.md). Only
# `make ARCH=...` sets it: kernels and other trees export an ARCH that means something else. A compiler for
# another processor, or one that does not know this one, gets no -march.
ifneq ($(origin ARCH),command line)
# Asked once, when something is compiled: `make deps demo` may have installed the compiler by then.
ARCH = $(eval ARCH := $(shell case "$$($(CC) $(CFLAGS) -dumpmachine 2>&1)" in ("$$(uname -m | cut -c 1-3)"*) \
  $(CC) $(CFLAGS) -march=native -x c -fsyntax-only /dev/null >/dev/null 2>&1 && echo native ;; esac))$(ARCH)
endif

# Switches: 1 is on; 0, no and nothing are off. V=1 shows whole commands.
on  = $(filter-out 0 no off false,$($(1)))
Q   := $(if $(call on,V),,@)
say = $(if $(call on,V),,@printf '  %-4s %s\n' $(1) $@)
# What the shell reads as this text.
text = '$(subst ','\'',$(1))'

WARN  := -Werror=missing-prototypes -Werror=implicit-function-declaration -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wno-gnu-zero-variadic-macro-arguments
# PLAIN=1: ops by their plain loops alone, without autograd/fast/.
FAST    := $(if $(call on,PLAIN),,autograd/fast/*.c)
MACHINE = $(if $(call on,PLAIN),-DQKV_PLAIN )$(if $(filter portable,$(ARCH)),-DQKV_PORTABLE -ffp-contract=off,$(if $(ARCH),-march=$(ARCH)))
# One sum, one way: for some processors gcc leaves out fused multiply-adds in some loops and not in others, by
# their shape, and the bits of a row would depend on the rows beside it.
FUSED := ${shell $(CC) --param=avoid-fma-max-bits=0 -Werror -fsyntax-only -x c /dev/null >/dev/null 2>&1 && echo --param=avoid-fma-max-bits=0}
# Position-independent, so that libqkv.so is made of the same objects; nobody takes a function's place.
FLAGS = -std=gnu11 $(WARN) $(if $(call on,WERROR),-Werror) $(MACHINE) $(FUSED) -fno-math-errno -fno-trapping-math \
         -fPIC -fno-semantic-interposition -pthread -I.
# Without a number of jobs gcc warns at each link.
LIBS  := $(if $(filter -flto,$(CFLAGS) $(LDFLAGS)),-flto=auto) -ljansson -lpthread -ldl -lm
B     := build

# ---- what is built of what -----------------------------------------------------------------------------------------
# Everything is compiled twice from the same source: float trains, double checks gradients.

# The rooms of train/, in their order: each may use those before it. train/cli is the program, not the library.
TRAIN   := io optim config trainer probe run plot study page
LIB_SRC := $(wildcard tensor/*.c autograd/*.c autograd/ops/*.c $(FAST) layers/*.c data/*.c $(TRAIN:%=train/%/*.c))
LIB_SRC += $(B)/gen/plot_scripts.c $(B)/gen/studies.c
CLI_SRC := $(wildcard train/cli/*.c)
objs     = $(patsubst %.c,$(B)/$(1)/%.o,$(2))

all: $(B)/qkv $(B)/qkv-double $(B)/libqkv.a $(B)/libqkv-double.a $(B)/libqkv.so $(B)/qkv.h
.DEFAULT_GOAL := all

$(B)/libqkv.a: $(call objs,float,$(LIB_SRC))
$(B)/libqkv-double.a: $(call objs,double,$(LIB_SRC))
$(B)/libqkv.a $(B)/libqkv-double.a:
	$(call say,AR)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# For other languages, and for programs that share it. Below 1.0 every minor version may break who calls it.
VERSION = $(shell sed -n 's/^.define QKV_VERSION "\(.*\)"/\1/p' train/config/version.h)
SONAME  = libqkv.so.$(basename $(VERSION))
$(B)/libqkv.so: $(call objs,float,$(LIB_SRC)) qkv.map train/config/version.h
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=qkv.map -o $@ $(filter %.o,$^) $(LDFLAGS) $(LIBS)

# Everything compiled, nothing linked: where the libraries are not those of the processor that is built for.
objects: $(call objs,float,$(LIB_SRC) $(CLI_SRC)) $(call objs,double,$(LIB_SRC) $(CLI_SRC))

$(B)/qkv: $(call objs,float,$(CLI_SRC)) $(B)/libqkv.a
$(B)/qkv-double: $(call objs,double,$(CLI_SRC)) $(B)/libqkv-double.a
$(B)/qkv $(B)/qkv-double:
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -rdynamic -o $@ $(filter %.o,$^) -Wl,--whole-archive $(filter %.a,$^) \
	  -Wl,--no-whole-archive $(LDFLAGS) $(LIBS)

$(B)/float/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<
$(B)/double/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(FLAGS) -DQKV_DOUBLE $(CFLAGS) $(EXTRA) -MMD -MP -c -o $@ $<
# A fused multiply-add would change the last bit of initial weights; and in an op's plain loops, of which compilers make
# several, it would be fused in one of them and not in the next, on this processor or another.
%/tensor/rng.o %/tensor/scalar.o %/autograd/params.o: EXTRA := -ffp-contract=off
$(foreach p,float double,$(patsubst autograd/ops/%.c,$(B)/$(p)/autograd/ops/%.o,$(wildcard autograd/ops/*.c))): EXTRA := -ffp-contract=off
%/train/config/json.o: EXTRA = -DQKV_FLAGS="$$(sh train/config/flags.sh $(FLAGS) $(CFLAGS))"

# What the program says of itself, and has in it: the commit, whether it is static, PAGE_INSIDE=FILE: the page, for
# `qkv view`, where nothing can lie beside it.
SELF := $(addprefix train/cli/,main.o plugin.o cmd_view.o)
$(SELF:%=$(B)/float/%) $(SELF:%=$(B)/double/%): $(B)/self $(PAGE_INSIDE)
$(SELF:%=$(B)/float/%) $(SELF:%=$(B)/double/%): EXTRA = $$(cat $(B)/self)
$(B)/self: FORCE
	@mkdir -p $(@D)
	@echo '-DQKV_COMMIT="'"$$(sh packaging/commit.sh | cut -d ' ' -f 1)"'"' '-DQKV_ARCH="$(or $(ARCH),default)"' \
	  $(if $(filter -static,$(LDFLAGS)),-DQKV_STATIC) $(if $(PAGE_INSIDE),'-DQKV_PAGE="$(PAGE_INSIDE)"') > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(B)/gen/plot_scripts.c: train/plot/embed.sh $(sort $(wildcard train/plot/*.gp))
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sh train/plot/embed.sh $(filter %.gp,$^) > $@.tmp && mv $@.tmp $@

$(B)/gen/studies.c: train/study/embed.sh $(sort $(wildcard train/study/*.json))
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q)sh train/study/embed.sh $(filter %.json,$^) > $@.tmp && mv $@.tmp $@

# ---- the page --------------------------------------------------------------------------------------------------------
# One file that trains in a browser: the engine as WebAssembly, and what shows it. A native build with ARCH=portable
# trains the same bits.

WASM_CC    := clang --target=wasm32-wasi --sysroot=/ -isystem /usr/include/wasm32-wasi -msimd128
WASM_FLAGS := -std=gnu11 -O3 $(if $(call on,PLAIN),-DQKV_PLAIN )-DQKV_PORTABLE -ffp-contract=off -fno-math-errno -fno-trapping-math -I. $(WARN) $(if $(call on,WERROR),-Werror) \
              -Wno-unknown-attributes -Wno-gnu-zero-variadic-macro-arguments
WASM_LD    := -mexec-model=reactor -L/usr/lib/wasm32-wasi -Wl,--gc-sections -Wl,--strip-all -Wl,-z,stack-size=1048576
WASM_SRC   := $(wildcard tensor/*.c autograd/*.c autograd/ops/*.c $(FAST) layers/*.c data/*.c) \
  $(addprefix train/io/,clock.c crc32.c file.c given.c json.c json_write.c names.c number.c params.c text.c words.c) $(wildcard train/io/safetensors*.c) \
  $(filter-out %/make.c,$(wildcard train/config/*.c)) \
  $(wildcard train/optim/*.c) $(filter-out %/pool.c,$(wildcard train/trainer/*.c)) $(wildcard train/probe/*.c) \
  $(addprefix train/run/,checkpoint.c layout.c metrics.c) $(wildcard train/page/*.c train/page/wasm/*.c)
WASM_OBJ   := $(patsubst %.c,$(B)/wasm/%.o,$(WASM_SRC))
WASM_CALLS := ${shell sed -n 's/.*[ *]\(qkv_page_[a-z_]*\)(.*;.*/\1/p' train/page/engine.h train/page/lend.h} malloc free
PAGE_SRC   := $(wildcard train/page/*.html train/page/*.css train/page/*.js train/page/strings/*.json)
LESSONS    := $(sort $(wildcard train/page/lessons/*.json))

page: $(B)/qkv.html
$(B)/qkv.html: train/page/assemble.awk $(PAGE_SRC) $(LESSONS) docs/findings.md docs/findings.zh-CN.md $(wildcard examples/*.txt) $(B)/wasm/engine.wasm
	$(call say,PAGE)
	$(Q)awk -v engine=$(B)/wasm/engine.wasm -v lessons="$(LESSONS)" -f train/page/assemble.awk train/page/page.html > $@.tmp && mv $@.tmp $@
$(B)/wasm/engine.wasm: $(WASM_OBJ)
	$(call say,LD)
	$(Q)$(WASM_CC) $(WASM_FLAGS) $(WASM_LD) $(WASM_CALLS:%=-Wl,--export=%) -o $@ $^ -lm
# What takes the time is compiled for speed, the rest for size, too: all of it for speed is no quicker (user time
# of three tasks in turn with this: 0.98, 0.98, 1.02) and adds 27 KB to the page.
$(B)/wasm/%.o: %.c $(B)/wasm/flags
	@mkdir -p $(@D)
	$(call say,WASM)
	$(Q)$(WASM_CC) $(WASM_FLAGS) $(if $(filter tensor/% autograd/fast/% train/optim/%,$<),,$(if $(filter autograd/%,$<),-O2,-Os)) $(if $(filter %/json.c,$<),-DQKV_FLAGS='"wasm32"') -MMD -MP -c -o $@ $<
$(B)/wasm/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call text,$(WASM_CC) $(filter-out -Werror,$(WASM_FLAGS)) $(WASM_LD)) > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# Rebuilt when the compiler or its flags change.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(call text,$(CC) $(filter-out -Werror,$(FLAGS)) $(CFLAGS)) > $@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

# ---- tests ---------------------------------------------------------------------------------------------------------
# tests/ROOM/test_NAME.c is a program; ROOM is the room that it tests, tests/lib/ holds what they share. Most are built in
# both precisions; the proofs of gradients in double only.

TEST_C      := $(wildcard tests/*/test_*.c)
TESTS       := $(basename $(notdir $(TEST_C)))
DOUBLE_ONLY := test_gradcheck test_oracle test_mutants test_golden
TEST_HELP   := $(wildcard tests/lib/*.c)
FLOAT_ONLY  := test_kill test_powerloss
# ONCE=1: each in one precision only.
ONCE        :=
TEST_BINS   := $(addprefix $(B)/tests/double/,$(if $(call on,ONCE),$(DOUBLE_ONLY),$(filter-out $(FLOAT_ONLY),$(TESTS)))) $(addprefix $(B)/tests/float/,$(filter-out $(DOUBLE_ONLY),$(TESTS)))
TEST_CC     := $(wildcard tests/*/test_*.cc)
TEST_BINS   += $(patsubst %.cc,$(B)/tests/%,$(notdir $(TEST_CC)))
TEST_BINS   += $(B)/tests/fuzz
TEST_SH     := $(wildcard tests/*/test_*.sh)
# Patterns of test programs to leave out.
WITHOUT     :=
TEST_BINS   := $(filter-out $(WITHOUT),$(TEST_BINS))
# The longest ones, longest first: one that begins last keeps a processor waiting.
LONGEST     := test_study test_page.sh test_hostile.sh test_torch.sh test_heads test_study_probes test_variants test_plot.sh test_pictures.sh \
  test_accuracy.sh test_stream_memory test_options test_stream test_circuits test_info.sh test_plugin.sh test_record.sh test_docs.sh \
  test_gnuplot.sh test_install.sh test_bench.sh test_cli.sh test_probes test_page test_gemm test_kill test_trainer test_optimizer test_checkpoint
longest_first = $(foreach name,$(LONGEST),$(filter %/$(name),$(1))) $(filter-out $(addprefix %/,$(LONGEST)),$(1))

# The object of a test, in a precision, by the test's name: test_object PRECISION NAME
test_object = $(patsubst %.c,$(B)/$(1)/%.o,$(filter %/$(2).c,$(TEST_C)))
test_cc = $(filter %/$(1).cc,$(TEST_CC))
.SECONDEXPANSION:
$(TESTS:%=$(B)/tests/float/%): $(B)/tests/float/%: $$(call test_object,float,$$*) $(call objs,float,$(TEST_HELP)) $(B)/libqkv.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -lcmocka $(LIBS)
$(TESTS:%=$(B)/tests/double/%): $(B)/tests/double/%: $$(call test_object,double,$$*) $(call objs,double,$(TEST_HELP)) $(B)/libqkv-double.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -lcmocka $(LIBS)
$(patsubst %.cc,$(B)/tests/%,$(notdir $(TEST_CC))): $(B)/tests/%: $$(call test_cc,$$*) $(call objs,float,$(TEST_HELP)) $(B)/libqkv.a
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra $(MACHINE) -I. $(CXXFLAGS) -MMD -MP -o $@ $< $(filter %.o,$^) \
	  $(filter %.a,$^) $(LDFLAGS) -lcmocka $(LIBS)

# The fuzzers' corpus, without a fuzzer.
FUZZERS  := safetensors config options corpus
FUZZ_SRC := tests/fuzz/replay.c $(FUZZERS:%=tests/fuzz/fuzz_%.c) train/cli/options.c train/cli/say.c train/cli/progress.c tests/lib/check.c
$(B)/tests/fuzz: $(call objs,float,$(FUZZ_SRC)) $(B)/libqkv.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) -lcmocka $(LIBS)

# What bits depend on, and no more: what ARCH=portable pins is tested without the rest of the library.
PINNED := $(addprefix $(B)/pinned/,float/test_portable double/test_portable float/test_scalar)
ENGINE := $(wildcard tensor/*.c autograd/*.c autograd/ops/*.c $(FAST)) tests/lib/check.c
$(B)/pinned/float/%: $$(call test_object,float,$$*) $(call objs,float,$(ENGINE))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -o $@ $^ $(LDFLAGS) -lcmocka $(LIBS)
$(B)/pinned/double/%: $$(call test_object,double,$$*) $(call objs,double,$(ENGINE))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -o $@ $^ $(LDFLAGS) -lcmocka $(LIBS)
pinned: $(PINNED)
	@sh tests/run.sh $^

ACCURACY := $(B)/accuracy/float $(B)/accuracy/double
test: $(TEST_BINS) $(B)/qkv $(B)/qkv-double $(if $(filter %/test_accuracy.sh,$(TEST_SH)),$(ACCURACY))
	@sh tests/project/test_runner.sh >/dev/null  # a broken runner must not judge itself
	@QKV=$(abspath $(B)/qkv) sh tests/run.sh $(call longest_first,$(TEST_SH) $(TEST_BINS))

# The Python package alone, on this program; PYTHON is a python3 with numpy (make deps-python).
python-test: $(B)/qkv
	@QKV=$(abspath $(B)/qkv) PYTHON=$(PYTHON) sh tests/run.sh tests/python/test_python.sh

# The pictures of README and docs: does the program still give their data? Trains every study again.
pictures: $(B)/qkv
	@QKV=$(abspath $(B)/qkv) OUT=$(B)/pictures sh tests/project/pictures.sh all

# How much of the source the tests reach, C and shell together, measured by gcov; fails below these floors,
# in per cent. Left out are what takes minutes, and what builds for itself.
LINES    := 95
BRANCHES := 83
COVERED  := $(filter-out %/test_kill %/test_powerloss %/test_learning,$(DOUBLE_ONLY:%=$(B)/tests/double/%) \
  $(filter $(B)/tests/float/%,$(TEST_BINS)))
coverage:
	@$(MAKE) CC=gcc B=$(B)/coverage CFLAGS='-O1 --coverage' LDFLAGS=--coverage covered
# gcov's runtime keeps quiet where it may not write: the tests look at what stands on stderr. It is counted when
# a test fails, too.
covered: $(COVERED) $(B)/qkv $(B)/qkv-double $(if $(filter %/test_accuracy.sh,$(TEST_SH)),$(ACCURACY))
	@find $(B) -name '*.gcda' -delete
	@failed=0; \
	QKV=$(abspath $(B)/qkv) GCOV_ERROR_FILE=/dev/null sh tests/run.sh \
	  $(COVERED) $(filter-out %/test_install.sh %/test_runner.sh,$(TEST_SH)) || failed=1; \
	sh tests/checks/coverage.sh $(B) $(LINES) $(BRANCHES) && exit $$failed

# The referee: random graphs over all ops against PyTorch, then with faults that it must find. Needs python3 with torch.
N    := 10000
SEED := 1
$(B)/referee: $(call objs,double,$(wildcard tests/referee/*.c)) $(B)/libqkv-double.a
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) $(LIBS)
referee: $(B)/referee
	python3 tests/referee/referee.py $(B)/referee --graphs $(N) --seed $(SEED)
	python3 tests/referee/referee.py $(B)/referee --graphs 2000 --seed $(SEED) --control

# A python3 that has mpmath (make deps: Debian's).
PYTHON ?= python3

# Accuracy: every op over the whole range of numbers, ELEMENTS of them, against mpmath; the table goes into
# docs/accuracy.md.
ELEMENTS ?= 20000
REFEREE_PARTS := tests/referee/builder.c tests/referee/write.c tests/accuracy/values.c
$(B)/accuracy/float: $(call objs,float,$(REFEREE_PARTS)) $(B)/libqkv.a
$(B)/accuracy/double: $(call objs,double,$(REFEREE_PARTS)) $(B)/libqkv-double.a
$(ACCURACY):
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) $(LIBS)
accuracy: $(ACCURACY)
	$(PYTHON) tests/accuracy/accuracy.py $(ACCURACY) --elements $(ELEMENTS) --table docs/accuracy.md
	$(PYTHON) tests/accuracy/accuracy.py $(ACCURACY) --control

# ARCH=portable: the same bits from several compilers, for several processors and C libraries (deps-portable).
portable: $(filter deps-portable,$(MAKECMDGOALS))
	@sh tests/project/portable.sh $(B)/portable $(WASM_SRC)

# Speed beside PyTorch and JAX, where they can be imported by TORCH and JAX; BENCH: options of tests/bench/race.py.
TORCH  ?= python3
JAX    ?= python3
bench: $(B)/qkv
	python3 tests/bench/race.py $(B)/qkv --torch $(TORCH) --jax $(JAX) $(BENCH)

# ---- longer tests: KILLS kills, STATES states after a power loss, RUNS inputs ----------------------------------------------

KILLS  ?= 2000
STATES ?= 10000
torture: $(B)/tests/float/test_kill $(B)/tests/float/test_powerloss $(B)/qkv
	@QKV=$(abspath $(B)/qkv) KILLS=$(KILLS) STATES=$(STATES) HOSTILE=all \
	  sh tests/run.sh $(filter $(B)/tests/%,$^) tests/program/test_hostile.sh tests/program/test_full.sh

RUNS       ?= 10000000
FUZZ_FLAGS := -O1 -g -DLIBFUZZER -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
$(B)/fuzz_%: $(B)/float/tests/fuzz/fuzz_%.o $(call objs,float,train/cli/options.c train/cli/say.c train/cli/progress.c) $(B)/libqkv.a
	$(call say,LD)
	$(Q)$(CC) $(FLAGS) $(CFLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDFLAGS) $(LIBS)
fuzz:
	@$(MAKE) B=$(B)/fuzz CC=clang CFLAGS='$(FUZZ_FLAGS)' $(FUZZERS:%=$(B)/fuzz/fuzz_%)
	@sh tests/fuzz/run.sh $(B)/fuzz $(RUNS)

# The two commands, the page and the checks on a bare Debian 13 and 12, each in a container (deps-bare). As root.
bare: $(filter deps-bare,$(MAKECMDGOALS))
	@sh tests/project/bare.sh

# A sweep over a real Slurm of two nodes on this machine, one of which is lost (deps-slurm). As root.
slurm: $(filter deps-slurm,$(MAKECMDGOALS)) $(B)/qkv
	@sh tests/project/slurm.sh $(B)/qkv
# What somebody can have without building it, into dist/; and whether it runs where nothing else is (as root).
dist: $(filter deps-dist,$(MAKECMDGOALS))
	@sh packaging/dist.sh
dist-test: $(filter deps-dist,$(MAKECMDGOALS))
	@sh packaging/dist_test.sh

# ---- the demonstration ---------------------------------------------------------------------------------------------

DEMO := runs/demo
demo: $(B)/qkv
	$(B)/qkv train --out $(DEMO) --force
	$(B)/qkv eval $(DEMO)
	$(B)/qkv plot $(DEMO)

# ---- checks --------------------------------------------------------------------------------------------------------

check: $(filter deps deps-%,$(MAKECMDGOALS))
	@CC='$(CC)' sh tests/checks/check.sh

# ---- installation --------------------------------------------------------------------------------------------------

# What a program, an op, a layer or a task of somebody's own includes, as <PREFIX>/include/qkv/ROOM/NAME.h.
HEADERS := $(addprefix tensor/,choice.h linkage.h real.h shape.h arena.h rng.h gemm.h flush.h scalar.h) \
  $(addprefix autograd/,ag.h op.h ops.def sample.h gradcheck.h why.h) layers/nn.h layers/layers.def data/data.h data/option.h data/tasks.def \
  $(addprefix train/,$(addprefix io/,io.h text.h number.h npy.h params.h) $(addprefix optim/,optimizer.h schedule.h) \
    $(addprefix config/,config.h config.def plugin.h version.h) $(addprefix trainer/,trainer.h loop.h anomaly.h) \
    $(addprefix probe/,account.h attention_map.h circuits.h explain.h heads.h interventions.h measure.h patching.h observe.h sites.h) \
    $(addprefix run/,run.h checkpoint.h metrics.h export.h) plot/plot.h $(addprefix study/,study.h probe.h probes.def))
TO = $(DESTDIR)$(PREFIX)

# One header for all of them.
$(B)/qkv.h: Makefile
	@mkdir -p $(@D)
	$(call say,GEN)
	$(Q){ echo '/* qkv.h - all public headers of qkv; each can also be included by itself. */'; \
	  printf '#include "%s"\n' $(filter %.h,$(HEADERS)); } > $@

DIRS := bin share/qkv lib/pkgconfig share/man/man1 share/man/man5 share/bash-completion/completions $(addprefix include/qkv/,$(patsubst %/,%,$(sort $(dir $(HEADERS)))))
INSTALLED = bin/qkv bin/qkv-double lib/libqkv.a lib/libqkv-double.a lib/libqkv.so lib/$(SONAME) lib/libqkv.so.$(VERSION) lib/pkgconfig/qkv.pc lib/pkgconfig/qkv-double.pc \
  share/qkv/qkv.html share/man/man1/qkv.1 share/man/man5/qkv-run.5 share/bash-completion/completions/qkv include/qkv/qkv.h $(addprefix include/qkv/,$(HEADERS))

# $(call pc,NAME,DESCRIPTION,CFLAGS): the file by which pkg-config knows a library
pc = sed -e 's|@NAME@|$(1)|' -e 's|@DESCRIPTION@|$(2)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@CFLAGS@|$(3)|' qkv.pc.in

install: all
	$(Q)$(call pc,qkv,see how attention learns) > $(B)/qkv.pc
	$(Q)$(call pc,qkv-double,qkv in double precision: for gradient checks, -DQKV_DOUBLE) > $(B)/qkv-double.pc
	$(Q)for d in $(DIRS); do install -d "$(TO)/$$d" || exit 1; done
	$(Q)install -m 755 $(B)/qkv $(B)/qkv-double "$(TO)/bin"
	$(Q)! [ -e $(B)/qkv.html ] || install -m 644 $(B)/qkv.html "$(TO)/share/qkv"
	$(Q)install -m 644 $(B)/libqkv.a $(B)/libqkv-double.a "$(TO)/lib"
	$(Q)install -m 644 $(B)/libqkv.so "$(TO)/lib/libqkv.so.$(VERSION)"
	$(Q)ln -sf libqkv.so.$(VERSION) "$(TO)/lib/$(SONAME)" && ln -sf $(SONAME) "$(TO)/lib/libqkv.so"
	$(Q)install -m 644 $(B)/qkv.pc $(B)/qkv-double.pc "$(TO)/lib/pkgconfig"
	$(Q)install -m 644 docs/qkv.1 "$(TO)/share/man/man1"
	$(Q)install -m 644 docs/qkv-run.5 "$(TO)/share/man/man5"
	$(Q)install -m 644 completions/qkv.bash "$(TO)/share/bash-completion/completions/qkv"
	$(Q)install -m 644 $(B)/qkv.h "$(TO)/include/qkv/qkv.h"
	$(Q)for h in $(HEADERS); do install -m 644 $$h "$(TO)/include/qkv/$$h" || exit 1; done
	@echo "installed into $(TO)"

# Removes what install wrote, and the directories that are qkv's alone.
uninstall:
	$(Q)for f in $(INSTALLED); do rm -f "$(TO)/$$f" || exit 1; done
	$(Q)for d in include/qkv share/qkv; do ! [ -d "$(TO)/$$d" ] || find "$(TO)/$$d" -depth -type d -empty -delete; done

clean:
	rm -rf $(B)

# What a build and the pictures need; what `make deps test`, `make deps-check` and others add. tests/project/deps.sh says
# what a|b and CLANG mean.
APT       := gcc make libc6-dev libjansson-dev gnuplot-nox
APT_PAGE  := clang lld wasi-libc libclang-rt-CLANG-dev-wasm32|libclang-rt-dev-wasm32
APT_TEST  := g++ libcmocka-dev libpcg-cpp-dev pkg-config|pkgconf python3 python3-numpy python3-mpmath man-db mandoc \
  bsdutils parallel bash locales $(APT_PAGE) chromium|chromium-browser chromium-driver|chromium-chromedriver python3-selenium nodejs
APT_PORTABLE := clang lld musl-tools qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross
APT_CHECK := $(APT) g++ libcmocka-dev clang clang-format clang-tidy cppcheck nodejs
APT_BARE  := debootstrap util-linux git
APT_SLURM := slurm-wlm munge procps
APT_DIST  := $(APT) $(APT_PAGE) $(APT_BARE) binutils dpkg-dev debhelper lintian python3 python3-markdown \
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
APT_SANITIZE := clang libclang-rt-CLANG-dev|libclang-rt-dev
quoted     = $(foreach package,$(1),'$(package)')
deps:
	@sh tests/project/deps.sh $(call quoted,$(APT) $(if $(filter test,$(MAKECMDGOALS)),$(APT_TEST)))
deps-python:
	@sh tests/project/deps.sh $(call quoted,$(APT) python3 python3-numpy python3-pandas)
deps-check:
	@sh tests/project/deps.sh $(call quoted,$(APT_CHECK))
deps-page:
	@sh tests/project/deps.sh $(call quoted,$(APT_PAGE))
deps-sanitize:
	@sh tests/project/deps.sh $(call quoted,$(APT_SANITIZE))
deps-portable:
	@sh tests/project/deps.sh $(call quoted,$(APT_PORTABLE))
deps-bare:
	@sh tests/project/deps.sh $(call quoted,$(APT_BARE))
deps-slurm:
	@sh tests/project/deps.sh $(call quoted,$(APT_SLURM))
deps-dist:
	@sh tests/project/deps.sh $(call quoted,$(APT_DIST))
	@sh packaging/arm64.sh $(B)/arm64
# `make deps demo` and `make deps test` install first, also under -j.
ifneq ($(filter deps deps-%,$(MAKECMDGOALS)),)
$(B)/flags $(B)/self $(B)/gen/plot_scripts.c $(B)/gen/studies.c $(B)/wasm/flags: | $(filter deps deps-%,$(MAKECMDGOALS))
endif

# The public headers, one a line.
headers:
	@printf '%s\n' $(HEADERS)

# Lines of the product, room by room: CONTRIBUTING names the budget.
COUNTED := c h def js gp json html css
size:
	@find tensor autograd layers data train -type f \( -name '*.none' $(COUNTED:%=-o -name '*.%') \) -exec wc -l {} + | \
	  awk '$$2 != "total" {split($$2, at, "/"); n[at[1] (at[1] == "train" ? "/" at[2] : "")] += $$1; all += $$1} \
	    END {for (room in n) printf "%7d %s\n", n[room], room | "sort -k 2"; close("sort -k 2"); printf "%7d in all\n", all}'

help:
	@echo 'make              the program $(B)/qkv and the library $(B)/libqkv.a'
	@echo 'make deps         installs what is missing (Debian, Ubuntu; names it elsewhere)'
	@echo 'make demo         trains the default task and draws loss, attention and circuits into $(DEMO)/plots'
	@echo 'make page         $(B)/qkv.html, which trains in a browser (make deps-page installs what builds it)'
	@echo 'make test         runs all tests, ends with "N passed, N failed"'
	@echo 'make python-test  tests the Python package on this program (make deps-python)'
	@echo 'make pictures     trains what the pictures of README and docs show again, and compares their data'
	@echo 'make coverage     what of the source the tests reach, by gcov; fails below a floor'
	@echo 'make referee      random graphs over all ops against PyTorch (N=10000)'
	@echo 'make accuracy     every op against mpmath over the whole range of numbers; writes docs/accuracy.md (ELEMENTS=)'
	@echo 'make pinned       with ARCH=portable: the bits that such a build must have, here alone'
	@echo 'make portable     ARCH=portable: the same bits from several compilers, processors, C libraries (make deps-portable)'
	@echo 'make bare         the commands of README on a bare Debian 13 and 12, in containers (make deps-bare; as root)'
	@echo 'make slurm        a sweep over a Slurm of two nodes, started here, one of which is lost (make deps-slurm; as root)'
	@echo 'make dist         what can be had without building it, into dist/: page, static programs, packages (make deps-dist)'
	@echo 'make dist-test    trains, draws and views with all of it in bare containers without a network (as root)'
	@echo 'make bench        a training step beside PyTorch and JAX (TORCH=, JAX=: their pythons; BENCH="--threads 2")'
	@echo 'make torture      2000 kills, 10000 power losses, hostile names, full disks (KILLS=, STATES=)'
	@echo 'make fuzz         clang and libFuzzer on the readers of files and options (RUNS=)'
	@echo 'make check        format, includes, headers, static analysis'
	@echo 'make size         lines of the product, room by room'
	@echo 'make install      program, library, headers and man page into PREFIX (/usr/local), staged in DESTDIR'
	@echo 'make uninstall    removes them'
	@echo 'make clean        removes $(B)/'
	@echo 'Variables: ONCE=1 (make test: each test in one precision) CC CFLAGS LDFLAGS (-static: one file) ARCH=native|portable|x86-64-v3|... PLAIN=1 (ops by plain loops alone) PAGE_INSIDE=FILE (qkv view needs no page beside it) PREFIX DESTDIR WERROR=1 V=1'

.PHONY: all size objects page install uninstall test pinned pictures portable accuracy coverage covered bench torture fuzz referee demo check clean deps deps-check deps-page deps-sanitize deps-portable deps-bare deps-slurm bare slurm headers help deps-dist dist dist-test python-test deps-python FORCE
.SECONDARY:
# Not those of the containers of `make bare`.
-include $(shell find $(B) -name bare -prune -o -name '*.d' -type f -print 2>/dev/null)
