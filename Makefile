# Each target is described by the comment on its line; `make help` prints them.
# `make run` and `make test` are all a fresh machine needs: they set everything up first.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Tests and jobs start many processes: where byte code is not kept, each of them compiles the library anew, in 3 s.
unexport PYTHONDONTWRITEBYTECODE

# Further arguments of run, test, test-long, bench, bench-spark and experiments, as in `make run ARGS="--in-process"`.
ARGS ?=

python := .venv/bin/python
# Spark starts the Java that set-up chose, and its workers the Python of the environment.
with_java := JAVA_HOME="$$(cat .venv/java-home)" PYSPARK_PYTHON="$(CURDIR)/$(python)"

.PHONY: help setup run board test check coverage test-long test-faults kafka run-kafka test-kafka test-postgresql test-delta \
	cluster test-spark40 test-pandas3 bench bench-spark bench-office experiments docs dist lock format clean

# The floor of branch coverage, in percent, of the two packages that everything else stands on.
covering := cartesius restrictions tests/unit/cartesius tests/unit/restrictions tests/unit/examples tests/laws tests/oracle
covered := --include="cartesius/*,restrictions/*" --fail-under=97

help:  ## Say what the targets do
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 20

setup:  ## Make .venv from requirements.lock, and find or install Java; does nothing when all is there
	@bash tools/setup.sh

run: setup  ## Judge the ships of New York harbour on Spark (ARGS="--help" for its options)
	@$(with_java) $(python) -m examples.port $(ARGS)

board: setup  ## Show the ships of New York harbour on a page while they are judged (ARGS="--help" for its options)
	@$(with_java) $(python) -m examples.port board $(ARGS)

# `make check` has the test of the architecture.
test: setup  ## Run all tests that are not slow (ARGS="-k name" to choose)
	@$(with_java) HYPOTHESIS_PROFILE=ci $(python) -m pytest -n 2 -m "not slow" --ignore=tests/test_architecture.py $(ARGS)

check: setup  ## Lint, formatting, types and the architecture, as in CI
	$(python) -m ruff check .
	$(python) -m ruff format --check .
	$(python) -m mypy
	$(python) -m pytest -q tests/test_architecture.py

coverage: setup  ## Require tests of 97 % of the branches of cartesius and restrictions
	@rm -rf out/coverage && mkdir -p out/coverage
	@HYPOTHESIS_PROFILE=ci $(python) -m coverage run -m pytest -q -m "not slow and not spark" $(covering) $(ARGS)
	@$(python) -m coverage combine --quiet && $(python) -m coverage report $(covered)

# A part has a twelfth (or what PART says) of the examples of every law, and of all other tests but those that kill, and
# those of brokers and clusters, which have targets of their own; it takes half an hour, and goes on after a failure.
test-long: setup  ## Run every test, 5,000 examples a property, with coverage (hours); PART=3/12 runs a part of it
ifdef PART
	@$(with_java) HYPOTHESIS_PROFILE=long TEST_PART=$(PART) $(python) -m pytest -n 2 --durations=15 --ignore=tests/faults \
	    --ignore=tests/brokers --ignore=tests/clusters $(ARGS)
else
	@rm -rf out/coverage && mkdir -p out/coverage
	@code=0; $(with_java) HYPOTHESIS_PROFILE=long $(python) -m coverage run -m pytest --durations=15 $(ARGS) || code=$$?; \
	$(python) -m coverage combine --quiet && $(python) -m coverage report && $(python) -m coverage report $(covered) && exit $$code
endif

test-faults: setup  ## Kill workers, executors and drivers of running queries, and compare what the sinks have
	@$(with_java) HYPOTHESIS_PROFILE=ci $(python) -m pytest -s tests/faults $(ARGS)

kafka: setup  ## Start a Kafka broker at 127.0.0.1:9092, for `make run-kafka` in another terminal; Ctrl-C stops it
	@$(with_java) tools/kafka.sh

# Spark's Kafka connector has the versions of Spark, but not each of them can be had.
spark_with_kafka := spark40
kafka_connector := spark-kafka-4.0.0 org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0

run-kafka: setup  ## Judge the ships as in run, through the broker of `make kafka`, on Spark 4.0 (ARGS as for run)
	@python=$$(tools/environment.sh $(spark_with_kafka)); jars=$$($(with_java) tools/jars.sh $(kafka_connector)); \
	$(with_java) PYSPARK_PYTHON=$$python $$python -m examples.port --kafka 127.0.0.1:9092 --jars "$$jars" $(ARGS)

# PySpark 4.0 and 4.1 leave a socket open after each collect.
unclosed := -W ignore:unclosed:ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

# In environments of their own, out/env: with versions for which all parts can be had (tools/environments). ARGS as for test.
test-kafka: setup  ## Test sources and sinks at a real Kafka broker, on Spark 4.0, also through kills
	@$(with_java) tools/tests_with.sh $(spark_with_kafka) -s $(unclosed) tests/brokers/test_kafka.py \
	    $(ARGS)
	@$(with_java) $(python) -m pytest -s tests/brokers/test_kafka_in_process.py tests/brokers/test_office_kafka.py $(ARGS)

test-postgresql: setup  ## Test the PostgreSQL sink at a real server, also through kills of the driver
	@$(with_java) HYPOTHESIS_PROFILE=ci $(python) -m pytest -s tests/brokers/test_postgresql.py tests/faults/test_kills.py \
	    -k postgresql $(ARGS)

test-delta: setup  ## Test the Delta sink with the real library, on Spark 4.1, also through kills of the driver
	@$(with_java) tools/tests_with.sh delta -s $(unclosed) tests/brokers/test_delta.py \
	    $(ARGS)

cluster: setup  ## Submit a job to a standalone cluster of a master and two workers, and kill one; Spark Connect
	@$(with_java) tools/tests_with.sh cluster -s tests/clusters $(ARGS)

test-spark40: setup  ## Run the tests of the bridge on Spark 4.0
	@$(with_java) tools/tests_with.sh spark40 -m "not slow" $(unclosed) tests/spark \
	    tests/unit/spark_bridge tests/unit/examples/test_port_on_spark.py $(ARGS)

test-pandas3: setup  ## Run the tests of the bridge on pandas 3, of which PySpark warns
	@$(with_java) tools/tests_with.sh pandas3 -m "not slow" -W "ignore:PySpark does not yet fully:FutureWarning" tests/spark \
	    tests/unit/spark_bridge tests/unit/examples/test_port_on_spark.py $(ARGS)

bench: setup  ## Measure our tiers against RxPY, hand-written Python and numpy (docs/performance.md)
	@$(with_java) $(python) -m bench $(ARGS)

bench-spark: setup  ## Measure our programs on Spark against hand-written operators and Spark's own joins (minutes)
	@$(with_java) PYTHONPATH="$(CURDIR)" $(python) -m bench.spark_speed $(ARGS)

bench-office: setup  ## Measure how soon changes are in ten pages of the harbour office (ARGS="--seconds 60"; ten minutes)
	@$(python) -m bench.office_load $(ARGS)

experiments: setup  ## Compare restriction strategies: a report with tables and pictures in out/experiments
	@$(python) -m examples.experiments $(ARGS)

# From nothing (-E): what is left of an earlier build would warn of pages that have come since.
docs: setup  ## Build docs/ into out/docs; a warning is an error
	@$(python) -m sphinx -q -E -W --keep-going -b html -d out/doctrees docs out/docs
	@echo "out/docs/index.html"

dist: setup  ## Build the source distribution and the wheel into dist/; test what they hold, and that the core stands alone
	@rm -rf dist
	@$(python) -m build --no-isolation --outdir dist
	@DIST=dist $(python) -m pytest -q -m "not slow" tests/test_packaging.py $(ARGS)

lock: setup  ## Make requirements.lock and those of the other environments anew, with the newest versions allowed
	@bash tools/lock.sh

format: setup  ## Format the code and mend what ruff can mend
	$(python) -m ruff check --fix-only --quiet .
	$(python) -m ruff format .

clean:  ## Remove what can be made again, apart from .venv
	rm -rf out build dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache spark-warehouse metastore_db derby.log
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
