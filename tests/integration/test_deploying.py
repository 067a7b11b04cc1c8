"""docs/deploying.md: the Django project as it stands, the other two before stand-ins for their frameworks."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.integration.command import PATIENCE, Command
from tests.support import Database

PAGE = (Path(__file__).parents[2] / "docs" / "deploying.md").read_text()
SHOWN = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
FILES = {text.partition("\n")[0].removeprefix("# "): text for text in SHOWN}

SETTINGS = """
SECRET_KEY = "a secret of this test alone"
ALLOWED_HOSTS = ["testserver"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["shop"]
USE_TZ = True
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", **{database!r}}}}}
DATABASES["default"]["OPTIONS"] = {{"options": "-c search_path=shop"}}
"""
MODELS = """
from django.db import models


class Order(models.Model):
    id = models.BigAutoField(primary_key=True)
    email = models.TextField()
"""
URLS = """
from django.urls import path
from shop.views import place_order

urlpatterns = [path("orders", place_order)]
"""
VISIT = """
import django

django.setup()

from django.db import connection
from django.test import Client
from shop.jobs import app
from shop.models import Order

with connection.schema_editor() as editor:
    editor.create_model(Order)
browser = Client(raise_request_exception=False)
placed = browser.post("/orders", {"email": "ada@example.org"}).json()
print(app.sync.wait_job(placed["job"], timeout=60))
print(browser.post("/orders", {"email": "nobody"}).status_code)
print(Order.objects.count(), len(list(app.sync.iterate_jobs())))
app.close_sync()
"""

STAND_IN = """
from typing import Any


class _Site:
    def __init__(self, *_: object, **options: Any) -> None:
        self.options = options

    def post(self, path: str) -> Any:
        return lambda function: function


FastAPI = Flask = _Site
"""
SERVE = """
import asyncio

from shop_fastapi import create_greeting, web
from shop_flask import create_greeting as create_in_a_thread
from shop_jobs import app


async def main() -> None:
    async with web.options["lifespan"](web):
        job = await create_greeting("Ada")
        print(await app.client.wait_job(job["job"], timeout=60))


asyncio.run(main())
with app:
    print(app.sync.wait_job(create_in_a_thread("Eve")["job"], timeout=60))
"""


def run_python(command: Command, text: str) -> list[str]:
    """What a program prints that ends well and warns of nothing."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        cwd=command.cwd,
        env={**command.environment, "PYTHONPATH": f"{command.cwd}:{command.environment['PYTHONPATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_every_example_is_a_file() -> None:
    assert set(FILES) == {"shop_jobs.py", "shop_fastapi.py", "shop_flask.py", "shop/jobs.py", "shop/views.py"}


@pytest.mark.direct(reason="Django gives options at the start, which the pooler refuses")
@pytest.mark.parametrize("decorator", ["@app.job", '@app.job(isolation="process")'], ids=["thread", "child"])
def test_the_django_project(db: Database, tmp_path: Path, decorator: str) -> None:
    db.execute("create schema shop authorization windlass_app", role="superuser")
    parts = conninfo_to_dict(db.url())
    names = {"NAME": "dbname", "USER": "user", "HOST": "host", "PORT": "port"}
    database = {name: str(parts[keyword]) for name, keyword in names.items()}
    made = {"settings": SETTINGS.format(database=database), "models": MODELS, "urls": URLS, "__init__": ""}
    (tmp_path / "shop").mkdir()
    for name, text in {**{f"shop/{name}.py": text for name, text in made.items()}, **FILES}.items():
        (tmp_path / name).write_text(text.replace("@app.job\n", f"{decorator}\n"))
    command = Command(tmp_path, db.url(), DJANGO_SETTINGS_MODULE="shop.settings")
    with command.running("worker", "shop.jobs:app") as worker:
        assert worker.ready["kinds"] == ["send_receipt"]
        assert run_python(command, VISIT) == ["receipt to ada@example.org", "500", "1 1"]


def test_the_asynchronous_and_the_threaded_site(db: Database, tmp_path: Path) -> None:
    for name in ("shop_jobs.py", "shop_fastapi.py", "shop_flask.py"):
        (tmp_path / name).write_text(FILES[name])
    for name in ("fastapi.py", "flask.py"):
        (tmp_path / name).write_text(STAND_IN)
    command = Command(tmp_path, db.url())
    with command.running("worker", "shop_jobs:app"):
        assert run_python(command, SERVE) == ["Hello, Ada", "Hello, Eve"]


def test_the_periods_of_grace_leave_room_to_give_back() -> None:
    """Of systemd and of Kubernetes: what is left when the worker's own has passed."""
    (grace,) = re.findall(r"--grace (\d+)s", PAGE)
    (stop,) = re.findall(r"TimeoutStopSec=(\d+)", PAGE)
    (own,) = re.findall(r'WINDLASS_GRACE_SECONDS, value: "(\d+)"', PAGE)
    (pod,) = re.findall(r"terminationGracePeriodSeconds: (\d+)", PAGE)
    assert int(stop) - int(grace) >= 30
    assert int(pod) - int(own) >= 30
