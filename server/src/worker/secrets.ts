import type { MachineRow } from '../db/database.ts'
import { releaseClaim, renewClaims } from '../domain/claims.ts'
import { guestRef } from '../domain/guests/calls.ts'
import {
  claimDeliveries,
  findRunning,
  forgetDelivery,
  postponeDelivery,
  type Delivery,
} from '../domain/secrets/deliveries.ts'
import { contextOf, noteDelivered, readSecretSet, type SecretSet } from '../domain/secrets/sets.ts'
import { GuestRefusal, GuestUnavailable } from '../guest/errors.ts'
import { readKeyring } from '../domain/secrets/keyring-file.ts'
import { open, Unopenable } from '../domain/secrets/keyring.ts'
import { backoffMs } from '../timing.ts'
import type { Queue } from './queue.ts'
import type { Slot } from './slots.ts'
import type { WorkerApp } from './worker-app.ts'

/*
 * Delivers secrets to machines: at each boot before any of the user's programs run, and to running
 * machines whenever their set changed. Secrets are decrypted only here, for the delivery, and never
 * reach an error or a log. A guest's own message about a delivery is not logged, since it may quote
 * values.
 */

type SecretApp = Pick<WorkerApp, 'config' | 'timing' | 'db' | 'guests' | 'log'>

const maxAtOnce = 8
const deliveryTimeoutMs = 5_000

export function secretQueue(app: SecretApp): Queue<Delivery> {
  return {
    name: 'secrets',
    maxAtOnce,
    claim: (workerId, limit) => claimDeliveries(app, workerId, limit),
    renew: (workerId, ids) => renewClaims(app, 'secret_deliveries', workerId, ids),
    release: (workerId, id) => releaseClaim(app, 'secret_deliveries', workerId, id),
    work: (delivery, slot) => deliverToRunning(app, delivery, slot),
  }
}

/**
 * Throws if the agent does not answer yet, so that the caller retries. Any other failure does not keep
 * the machine from booting: the delivery stays due and is retried while the machine runs.
 */
export async function deliverAtBoot(
  app: SecretApp,
  machine: MachineRow,
  signal: AbortSignal,
): Promise<void> {
  try {
    const set = await readSecretSet(app, machine.id)
    if (!set || (await deliver(app, machine, set, signal))) return
  } catch (error) {
    if (error instanceof GuestUnavailable || signal.aborted) throw error
    logUndelivered(app, machine, error)
  }
  // After a reboot from inside, the row still says that this boot has its secrets.
  await forgetDelivery(app, machine.id)
}

async function deliverToRunning(
  app: SecretApp,
  { id, attempts }: Delivery,
  slot: Slot,
): Promise<void> {
  const machine = await findRunning(app, id)
  const set = machine && (await readSecretSet(app, id))
  if (!set) return
  const delayMs = backoffMs(app.timing.deliveryRetry, attempts)
  const retry = () => postponeDelivery(app, id, set.revision, delayMs)
  try {
    const signal = AbortSignal.timeout(deliveryTimeoutMs)
    const isWhole = await slot.away(() => deliver(app, machine, set, signal))
    if (!isWhole) await retry()
  } catch (error) {
    logUndelivered(app, machine, error)
    await retry()
  }
}

/** False when the keyring could not open some of the set; the rest was delivered. */
async function deliver(
  app: SecretApp,
  machine: MachineRow,
  set: SecretSet,
  signal: AbortSignal,
): Promise<boolean> {
  const { secrets, unopened } = await openAll(app, set)
  if (unopened.length > 0) {
    const fields = { machine_id: machine.id, secrets: unopened }
    app.log.error(fields, 'the keyring cannot open some secrets; they were not delivered')
  }
  const delivery = { revision: set.revision, secrets }
  const held = await app.guests.setSecrets(guestRef(machine), delivery, { signal })
  // A worker that was stalled delivers too late: the machine holds a newer set.
  if (held.revision !== set.revision) throw new Error('the machine holds another set of secrets')
  const names = unopened.map(({ name }) => name)
  await noteDelivered(app, machine, set, names)
  return names.length === 0
}

async function openAll(app: SecretApp, set: SecretSet) {
  const keyring = set.secrets.length > 0 ? await readKeyring(app.config.keyringPath) : null
  const secrets: { name: string; value: string }[] = []
  const unopened: { name: string; reason: string }[] = []
  for (const row of set.secrets) {
    const { name } = row
    try {
      if (!keyring) throw new Unopenable('there is no keyring')
      secrets.push({ name, value: open(keyring, row.sealed, contextOf(row)).toString() })
    } catch (error) {
      if (!(error instanceof Unopenable)) throw error
      unopened.push({ name, reason: error.message })
    }
  }
  return { secrets, unopened }
}

function logUndelivered({ log }: SecretApp, machine: MachineRow, error: unknown): void {
  const fields =
    error instanceof GuestRefusal
      ? { code: error.code }
      : error instanceof GuestUnavailable
        ? { reason: error.message }
        : { err: error }
  log.warn({ machine_id: machine.id, ...fields }, 'could not deliver secrets; will retry')
}
