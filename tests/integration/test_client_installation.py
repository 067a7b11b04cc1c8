"""Gates, tenants, queues, nodes, the audit and the health of the installation, from the client."""

from uuid import UUID

import pytest

from tests.integration.shop import LATER, Shop
from windlass import Forbidden, InvalidInput, NotFound
from windlass.client import SyncClient
from windlass.model import Unserved
from windlass.settings import Settings


def test_gates(shop: Shop) -> None:
    client = shop.app.sync
    acme = client.create_tenant("acme", "Acme")
    gate_id = client.set_gate(queue="mail", reason="provider down", actor="ann", expires_at=LATER)
    client.set_gate(tenant="acme", kind="add", reason="unpaid")
    gates = client.list_gates()
    assert [gate.scope for gate in gates] == ["queue mail", f"tenant {acme}, kind add"]
    assert (gates[0].id, gates[0].actor, gates[0].reason) == (gate_id, "ann", "provider down")
    assert gates[0].expires_at == LATER
    assert client.clear_gate(gate_id) == gate_id
    assert client.clear_gate(tenant="acme", kind="add", actor="ann") == gates[1].id
    assert client.list_gates() == []
    with pytest.raises(NotFound):
        client.clear_gate(queue="mail")


def test_tenants(shop: Shop) -> None:
    client = shop.app.sync
    acme = client.create_tenant("acme", "Acme")
    assert client.create_tenant("acme", "Acme") == acme
    shop.add.options(tenant=acme).enqueue_many_sync([1, 2])
    page = client.list_tenants(limit=1)
    assert ([tenant.slug for tenant in page], page.next_cursor) == (["acme"], "acme")
    rest = client.list_tenants(cursor=page.next_cursor)
    assert ([tenant.slug for tenant in rest], rest.next_cursor) == (["default"], None)
    assert (page.items[0].ready, page.items[0].id) == (2, acme)


def test_queues(shop: Shop) -> None:
    client = shop.app.sync
    shop.add.enqueue_many_sync([1, 2])
    shop.add.options(run_at=LATER).enqueue_sync(3)
    client.set_queue("urgent", "strict")
    queues = {queue.name: queue for queue in client.list_queues()}
    assert (queues["default"].ready, queues["default"].scheduled) == (2, 1)
    assert queues["urgent"].mode == "strict"
    assert [queue.name for queue in client.list_queues(tenant="default")] == ["default"]
    with pytest.raises(InvalidInput, match="fair or strict"):
        client.set_queue("urgent", "quick")


def test_nodes(shop: Shop) -> None:
    node = UUID("00000000-0000-7000-8000-00000000000a")
    shop.db.fetch("select windlass.heartbeat_node(%s, 'n1', 'host', 1, '1.0', '{a,b}', '{k}', 4)", node)
    (found,) = shop.app.sync.list_nodes()
    assert (found.id, found.name, found.queues, found.concurrency) == (node, "n1", ("a", "b"), 4)
    assert (found.active, found.running) == (True, 0)


async def test_what_no_node_takes(shop: Shop) -> None:
    shop.app.sync.enqueue_job("k", queue="c")
    (found,) = shop.app.sync.list_unserved()
    assert found == Unserved(queue="c", kind="k", ready=1, scheduled=0, kind_known=False)
    assert await shop.app.client.list_unserved(tenant="default", queue="c", kind="k") == [found]
    assert await shop.app.client.list_unserved(queue="a") == []
    await shop.app.client.close()


def test_roles(shop: Shop) -> None:
    acme = shop.app.sync.create_tenant("acme", "Acme")
    assert shop.app.sync.find_tenant("acme") == acme
    with pytest.raises(NotFound, match="there is no tenant 'globex'"):
        shop.app.sync.find_tenant("globex")
    shop.app.sync.bind_role("test_producer", "acme")
    with SyncClient(Settings(database_url=shop.db.url("producer"), tenant="acme")) as bound:
        assert bound.enqueue_job("a").tenant_id == acme
        with pytest.raises(NotFound):
            bound.enqueue_job("a", tenant="globex")
    assert shop.app.sync.unbind_role("test_producer") == acme


def test_the_audit(shop: Shop) -> None:
    client = shop.app.sync
    handle = shop.add.enqueue_sync(1)
    client.cancel_job(handle.id, reason="not needed", actor="ann")
    client.set_gate(everything=True, reason="maintenance", actor="bob")
    (event,) = client.list_events(actions="job.cancel")
    assert (event.actor, event.reason, event.job_id) == ("ann", "not needed", handle.id)
    assert event in client.list_events(by="ann").items
    assert [event.action for event in client.list_events(installation=True)] == ["gate.set"]
    with pytest.raises(InvalidInput, match="either a tenant or installation"):
        client.list_events(installation=True, tenant="default")


def test_the_actor_of_a_client(shop: Shop) -> None:
    with SyncClient(Settings(database_url=shop.db.url()), actor="billing") as client:
        client.cancel_job(client.enqueue_job("a").id)
        assert [event.actor for event in client.list_events(actions=["job.cancel"])] == ["billing"]


async def test_health(shop: Shop) -> None:
    health = await shop.app.client.health()
    assert health["rls_forced"] is True
    assert health["session_is_superuser"] is False
    await shop.app.close()


def test_a_callers_bound_connection_says_nothing_about_our_own_login(shop: Shop) -> None:
    acme = shop.app.sync.create_tenant("acme", "Acme")
    shop.app.sync.bind_role("test_producer", "acme")
    with SyncClient(Settings(database_url=shop.db.url())) as nameless, shop.db.connect("producer") as theirs:
        with pytest.raises(Forbidden):  # it must name its tenant: a caller's connection is asked nothing
            nameless.using(theirs).enqueue_job("a")
        assert nameless.using(theirs).enqueue_job("a", tenant="acme").tenant_id == acme
        assert nameless.enqueue_job("a").tenant_id == UUID("00000000-0000-7000-8000-000000000001")
