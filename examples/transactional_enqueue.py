"""An order and the job that ships it, in one transaction: both are kept, or neither is.

The connection is the program's own.  Here it is psycopg's; a connection or session of SQLAlchemy,
Django's `connection` or one of asyncpg is passed in the same way.
"""

import psycopg
from pydantic import BaseModel

from windlass import Windlass


class Order(BaseModel):
    number: int
    address: str


app = Windlass()


@app.job(queue="shipping")
def ship_order(order: Order) -> None:
    print(f"order {order.number} goes to {order.address}")


def place(connection: psycopg.Connection, order: Order, *, in_stock: bool) -> None:
    with connection.transaction():
        connection.execute("insert into orders values (%s, %s)", (order.number, order.address))
        # The key makes a second enqueue of the same order find the first job.
        ship_order.options(connection=connection, key=f"order {order.number}").enqueue_sync(order)
        if not in_stock:
            raise LookupError(f"order {order.number}: out of stock")


def main() -> None:
    with psycopg.connect(app.database_url) as connection, app:
        connection.execute("create temporary table orders (number int primary key, address text not null)")
        place(connection, Order(number=1, address="Sunny Street 1"), in_stock=True)
        try:
            place(connection, Order(number=2, address="Windy Way 2"), in_stock=False)
        except LookupError as error:
            print(error)
        connection.commit()
        print("orders:", [number for (number,) in connection.execute("select number from orders")])
        print("jobs:", [job.payload["number"] for job in app.sync.iterate_jobs(kinds="ship_order")])


if __name__ == "__main__":
    main()
