// graphile-worker, on the settings of its guide for high throughput: a local queue and batched completion.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { QUEUE, config, main, payloadOf, tally } from "./protocol.mjs";

const logger = new Logger(() => (level, message) => {
  if (level === "error") process.stderr.write(`${message}\n`);
});
let utils;
let runner;

await main({
  async setup() {
    const made = await makeWorkerUtils({ connectionString: config.url, logger });
    await made.migrate();
    await made.release();
  },
  async open(clients) {
    const pgPool = new pg.Pool({ connectionString: config.url, max: clients, min: clients });
    pgPool.on("error", () => {});
    utils = await makeWorkerUtils({ pgPool, logger });
  },
  enqueue: (n) => utils.addJob(QUEUE, payloadOf(n)),
  enqueueMany: (numbers) => utils.addJobs(numbers.map((n) => ({ identifier: QUEUE, payload: payloadOf(n) }))),
  async startWorker() {
    runner = await run({
      preset: {
        worker: {
          connectionString: config.url,
          concurrentJobs: 24,
          maxPoolSize: 10,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          logger,
        },
      },
      noHandleSignals: true,
      taskList: { [QUEUE]: (payload) => tally.ran(payload.n) },
    });
  },
  stopWorker: () => runner.stop(),
});
