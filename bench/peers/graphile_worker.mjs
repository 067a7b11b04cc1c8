// graphile-worker, on the settings of its guide for high throughput: a local queue and batched completion.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { QUEUE, config, main, payloadOf, tally } from "./protocol.mjs";

const FLAKY = "bench.flaky";

// A failed job is a line at the level error there; formatting and writing it is not what is measured.
const logger = new Logger(() => (level, message) => {
  if (level === "error" && !message.startsWith("Failed task")) process.stderr.write(`${message}\n`);
});
let utils;
let runner;

function flaky({ n }) {
  const again = tally.has(n);
  tally.ran(n);
  if (n % 10 === 0 && !again) throw new Error("the first attempt of every tenth job fails");
}

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
  enqueueMany: (numbers, { kind = QUEUE }) =>
    utils.addJobs(numbers.map((n) => ({ identifier: kind, payload: payloadOf(n) }))),
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
      taskList: { [QUEUE]: (payload) => tally.ran(payload.n), [FLAKY]: flaky },
    });
  },
  stopWorker: () => runner.stop(),
});
