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
import type { WorkerApp } from './app.ts'
import type { Queue } from './queue.ts'

/*
 * Brings secrets into machines: at each boot before anything of a user runs there, and while a machine
 * runs whenever its set changed. They are decrypted here alone, on their way, and no error or log has
 * any of it: what a guest says of a delivery is not repeated, since it knows the values.
 */

type SecretApp = Pick<WorkerApp, 'config' | 'db' | 'guests' | 'log'>

const maxAtOnce = 8
const deliverForMs = 5_000

export function secretQueue(app: SecretApp): Queue<Delivery> {
  return {
    maxAtOnce,
    claim: (workerId, limit) => claimDeliveries(app, workerId, limit),
    renew: (workerId, ids) => renewClaims(app, 'secret_deliveries', workerId, ids),
    release: (workerId, id) => releaseClaim(app, 'secret_deliveries', workerId, id),
    work: (delivery) => deliverToRunning(app, delivery),
  }
}

/**
 * A machine whose agent does not answer yet is tried again by the caller. What cannot be delivered for
 * another reason keeps no machine from booting: it stays due, and is tried again while it runs.
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
    noteFailure(app, machine, error)
  }
  // It may have rebooted by itself, in the run that it was delivered to.
  await forgetDelivery(app, machine.id)
}

async function deliverToRunning(app: SecretApp, { id, attempts }: Delivery): Promise<void> {
  const machine = await findRunning(app, id)
  const set = machine && (await readSecretSet(app, id))
  if (!set) return
  const retry = () => postponeDelivery(app, id, set.revision, Math.min(500 * 2 ** attempts, 30_000))
  try {
    const isWhole = await deliver(app, machine, set, AbortSignal.timeout(deliverForMs))
    if (!isWhole) await retry()
  } catch (error) {
    noteFailure(app, machine, error)
    await retry()
  }
}

/** False when some of the set could not be opened: the machine has the rest. */
async function deliver(
  app: SecretApp,
  machine: MachineRow,
  set: SecretSet,
  signal: AbortSignal,
): Promise<boolean> {
  const { secrets, unopened } = await openAll(app, set)
  if (unopened.length > 0) {
    const fields = { machine_id: machine.id, secrets: unopened }
    app.log.error(fields, 'secrets are not delivered: the keyring cannot open them')
  }
  const told = { revision: set.revision, secrets }
  const held = await app.guests.setSecrets(guestRef(machine), told, { signal })
  // A worker that was stalled comes late: what is held is newer.
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

function noteFailure({ log }: SecretApp, machine: MachineRow, error: unknown): void {
  const fields =
    error instanceof GuestRefusal
      ? { code: error.code }
      : error instanceof GuestUnavailable
        ? { reason: error.message }
        : { err: error }
  log.warn({ machine_id: machine.id, ...fields }, 'secrets were not delivered yet')
}
