import type { MachineId } from '@computer/contract'
import { randomUUID } from 'node:crypto'
import { claimMachines, releaseClaim, renewClaims, renewEveryMs } from '../domain/machine-work.ts'
import { forgetOldKeys } from '../domain/idempotency.ts'
import { expireLeases } from '../domain/leases.ts'
import { closeAbandonedSessions } from '../domain/session-closing.ts'
import { pause } from './pause.ts'
import { prepareImages } from './images.ts'
import { deliverMails } from './mails.ts'
import { advance, desktopPollMs, type WorkerApp } from './machines.ts'
import { observeAll, observeMachine } from './observe.ts'

const maxAtOnce = 8
const pollMs = 1_000
const observeEveryMs = 60_000
const sweepEveryMs = 2_000
const graceMs = 5_000

/**
 * Runs every reconciler until the signal is aborted, and resolves when nothing is in flight or a
 * short grace is over. Woken by hints and by timers; either alone would do.
 */
export async function runWorker(app: WorkerApp, signal: AbortSignal): Promise<void> {
  const workerId = randomUUID()
  const inFlight = new Map<MachineId, Promise<void>>()
  let wake = Promise.withResolvers<void>()
  const nudge = () => wake.resolve()

  const work = (machine: Parameters<typeof advance>[1]) => {
    const done = advance(app, machine)
      .then(() => releaseClaim(app, workerId, machine.id))
      .catch((error: unknown) => {
        app.log.error({ err: error, machine_id: machine.id }, 'a machine was left to its claim')
      })
      .finally(() => {
        inFlight.delete(machine.id)
        nudge()
        // A desktop coming up is looked at again that soon; all else comes by hints and the poll.
        setTimeout(nudge, desktopPollMs).unref()
      })
    inFlight.set(machine.id, done)
  }

  const unsubscribe = app.changes.subscribe(nudge)
  signal.addEventListener('abort', nudge)
  const every = (ms: number, pass: () => Promise<void>) =>
    setInterval(() => void safely(app, pass), ms)
  const timers = [
    every(renewEveryMs, () => renewClaims(app, workerId, [...inFlight.keys()])),
    every(observeEveryMs, () => observeAll(app)),
    every(sweepEveryMs, () => expireLeases(app)),
    every(observeEveryMs, () => closeAbandonedSessions(app.db)),
    every(observeEveryMs, () => forgetOldKeys(app.db)),
  ]
  const images = prepareImages(app, signal)
  const mails = deliverMails(app, signal)
  const watching = watchEngine(app, signal)
  await safely(app, () => observeAll(app))

  while (!signal.aborted) {
    const room = maxAtOnce - inFlight.size
    const claimed = room > 0 ? await safely(app, () => claimMachines(app, workerId, room)) : []
    for (const machine of claimed ?? []) work(machine)
    if ((claimed?.length ?? 0) < room || room === 0) {
      const timer = setTimeout(nudge, pollMs)
      await wake.promise
      clearTimeout(timer)
      wake = Promise.withResolvers<void>()
    }
  }
  unsubscribe()
  for (const timer of timers) clearInterval(timer)
  const finished = Promise.all([...inFlight.values(), images, mails, watching])
  // A step that takes longer is left in its middle: whoever claims it next does it again.
  await Promise.race([finished, new Promise((resolve) => setTimeout(resolve, graceMs).unref())])
}

async function watchEngine(app: WorkerApp, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await safely(app, async () => {
      for await (const ref of app.driver.watch(signal)) {
        void safely(app, () => observeMachine(app, ref))
      }
    })
    await pause(pollMs, signal)
  }
}

async function safely<T>(app: WorkerApp, run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run()
  } catch (error) {
    app.log.warn({ err: error }, 'a pass of the worker failed; the next one tries again')
    return undefined
  }
}
