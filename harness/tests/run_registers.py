"""A register that writes into a folder of the test, and what there is to register."""

from zenoh_conformance.judging.verdict import Key
from zenoh_harness.files.known import Known
from zenoh_harness.files.results import Header, ResultsWriter
from zenoh_harness.run.attempt.options import Options
from zenoh_harness.run.write.register import Register

MUST = "session-establishment/cookie-must-match"

HEADER = Header(reach="wheel:1.0", name="fake", version="1.0", role="responder", kind="wheel", profiles=("default",))


def key(check="close/one", requirement=MUST, **parameters):
    return Key(
        target="fake", version="1.0", role="responder", profile="default", link="tcp", requirement=requirement,
        check=check, parameters=tuple(parameters.items()),
    )  # fmt: skip


def register(folder, *deviations, guarded=False, today=None, **more):
    """A register with known deviations and options; results are in `folder/out`, embargoed ones under `folder/data`."""
    (folder / "out").mkdir()
    known = Known(deviations, today) if today else Known(deviations)
    options = Options(out=folder / "out", known=known, data_folder=folder / "data", **more)
    made = Register(ResultsWriter(folder / "out/results.jsonl", HEADER), options, reach="wheel:1.0")
    made.guarded = guarded
    return made
