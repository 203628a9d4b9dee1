import pino from 'pino'
import { readConfig } from '../src/config.ts'
import { Changes } from '../src/db/changes.ts'
import { openDatabase } from '../src/db/database.ts'
import { createMetrics } from '../src/metrics/metrics.ts'
import { timing } from '../src/timing.ts'
import { placeNew } from '../src/worker/outbox.ts'
import { deliverWebhooks } from '../src/worker/webhooks.ts'

/*
 * The parts of a worker that deliver webhooks, as a process for a test to kill: the others need an engine. The claims of
 * one that was killed end soon.
 */
const config = readConfig(process.env)
const databaseUrl = config.databaseUrl!
const log = pino({ level: config.logLevel })
const db = openDatabase(databaseUrl, { log, maxConnections: 20 })
const changes = new Changes({ db, databaseUrl, log })
await changes.listen()
const metrics = createMetrics()
const app = { config, timing: { ...timing, webhookAnswerMs: 3_000 }, db, changes, log, metrics }
const never = new AbortController().signal
await Promise.all([placeNew(app, never), deliverWebhooks(app, never)])
