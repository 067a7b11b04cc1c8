// The drivers' protocol for Node: requests on standard input, answers on standard output, a line each.
// Times are nanoseconds of the monotonic clock, which all processes of a machine share.
import readline from "node:readline";

export const QUEUE = "bench";
const BEAT_MS = 10;
const TEXT = "The quick brown fox jumps over the lazy dog, and again";

export const config = JSON.parse(process.env.BENCH_CONFIG);
export const now = () => Number(process.hrtime.bigint());
export const payloadOf = (n) => ({ n, to: `user${String(n % 1000).padStart(3, "0")}@example.org`, text: TEXT });
const say = (document) => process.stdout.write(JSON.stringify(document) + "\n");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const tally = {
  handled: 0,
  first: 0,
  starts: null,
  seen: Buffer.alloc(1),
  has(n) {
    return n < this.seen.length && this.seen[n] === 1;
  },
  begin(capacity, starts) {
    this.seen = Buffer.alloc(Math.max(1, capacity), 0);
    this.starts = starts ? [] : null;
  },
  ran(n) {
    if (this.handled === 0) this.first = now();
    this.handled += 1;
    if (n >= this.seen.length) {
      const grown = Buffer.alloc(Math.max(n + 1, this.seen.length * 2), 0);
      this.seen.copy(grown);
      this.seen = grown;
    }
    this.seen[n] = 1;
    if (this.starts !== null) this.starts.push([n, now()]);
  },
};

async function spread(driver, first, count, clients) {
  const one = async (start) => {
    for (let n = start; n < first + count; n += clients) await driver.enqueue(n);
  };
  await Promise.all(Array.from({ length: clients }, (_, place) => one(first + place)));
}

const verbs = {
  ping: () => null,
  setup: (driver) => driver.setup(),
  open: (driver, { clients = 1 }) => driver.open(clients),
  async single(driver, { first, count }) {
    const began = now();
    await spread(driver, first, count, 1);
    return { ns: now() - began };
  },
  async spread(driver, { first, count, clients }) {
    const began = now();
    await spread(driver, first, count, clients);
    return { ns: now() - began };
  },
  async paced(driver, { first, count, every }) {
    const returned = [];
    let due = performance.now();
    for (let n = first; n < first + count; n += 1) {
      due += every * 1000;
      await sleep(Math.max(0, due - performance.now()));
      await driver.enqueue(n);
      returned.push([n, now()]);
    }
    return { returned };
  },
  async bulk(driver, { first, count, batch = 10_000, ...options }) {
    const began = now();
    for (let start = first; start < first + count; start += batch) {
      const size = Math.min(batch, first + count - start);
      await driver.enqueueMany(
        Array.from({ length: size }, (_, place) => start + place),
        options,
      );
    }
    return { ns: now() - began };
  },
  async work(driver, { capacity = 0, starts = false }) {
    tally.begin(capacity, starts);
    setInterval(() => say({ beat: [now(), tally.handled] }), BEAT_MS).unref();
    await driver.startWorker();
  },
  async stop(driver) {
    await driver.stopWorker();
    const { handled, first, starts, seen } = tally;
    return { handled, first, starts, seen: seen.toString("base64") };
  },
};

export async function main(driver) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { id, do: verb, ...rest } = JSON.parse(line);
    try {
      say({ id, answer: (await verbs[verb](driver, rest)) ?? null });
    } catch (error) {
      say({ id, error: String(error?.stack ?? error) });
    }
  }
  process.exit(0);
}
