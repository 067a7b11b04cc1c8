// pg-boss, with several fetchers, large batches and notices.
import { PgBoss } from "pg-boss";
import { QUEUE, config, main, payloadOf, tally } from "./protocol.mjs";

let boss;

async function start(max, options = {}) {
  boss = new PgBoss({ connectionString: config.url, max, ...options });
  boss.on("error", (error) => process.stderr.write(`${error}\n`));
  await boss.start();
}

await main({
  async setup() {
    await start(2);
    await boss.createQueue(QUEUE, { notify: true });
    await boss.stop({ graceful: false });
  },
  open: (clients) => start(Math.max(2, clients), { supervise: false, schedule: false }),
  enqueue: (n) => boss.send(QUEUE, payloadOf(n)),
  enqueueMany: (numbers) => boss.insert(QUEUE, numbers.map((n) => ({ data: payloadOf(n) }))),
  async startWorker() {
    await start(10, { useListenNotify: true });
    const options = {
      localConcurrency: 4,
      batchSize: 500,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
    };
    await boss.work(QUEUE, options, async (jobs) => {
      for (const job of jobs) tally.ran(job.data.n);
    });
  },
  stopWorker: () => boss.stop({ graceful: true, timeout: 20_000 }),
});
