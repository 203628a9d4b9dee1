import type { GuestBrief, HelpBrief, SessionId } from '@computer/contract'
import type { App } from '../../app.ts'
import type { HelpRow, MachineRow, Tx } from '../../db/database.ts'
import { storableJson } from '../../db/storable-json.ts'
import { readMachine } from '../find-machine.ts'
import { guestRef } from '../guests/calls.ts'

/*
 * The state of a machine before a person had it and when they hand it back. A machine that does not answer in time
 * keeps nobody waiting: the brief is then incomplete.
 */

const lookTimeoutMs = 3_000
const picture = { format: 'webp', quality: 70, max_width: 1280 } as const
const mostWindows = 50

export type Before = {
  readonly state: GuestBrief | null
  readonly picture: Buffer | null
}
type Brief = { readonly brief: HelpBrief; readonly picture: Buffer | null }

export async function lookBefore(
  app: Pick<App, 'guests' | 'log'>,
  machine: Pick<MachineRow, 'id' | 'host' | 'generation' | 'boots'>,
): Promise<Before> {
  return look(app, machine, {})
}

export async function storeBefore(tx: Tx, help: HelpRow, before: Before): Promise<void> {
  const { state } = before
  if (state) {
    const { now_ms, windows, clipboard_mark } = state
    await tx
      .updateTable('help_requests')
      .set({ before: storableJson({ now_ms, windows, clipboard_mark }) })
      .where('id', '=', help.id)
      .execute()
  }
  await storePicture(tx, help, 'before', before.picture)
}

/** Compares the machine with what it was before the person who has it took it. */
export async function makeBrief(
  app: Pick<App, 'db' | 'guests' | 'log'>,
  help: HelpRow,
): Promise<Brief> {
  const { before, machine_id: id, organization_id: organizationId, session_id: sessionId } = help
  const machine = await readMachine(app.db, { id, organizationId })
  const after: Before =
    machine?.state === 'running'
      ? await look(app, machine, { sinceMs: before?.now_ms, viewer: sessionId })
      : { state: null, picture: null }
  const { state } = after
  const [known, now] = [before?.windows ?? [], state?.windows ?? []]
  return {
    brief: {
      windows_opened: before ? newIn(now, known) : [],
      windows_closed: state ? newIn(known, now) : [],
      files_changed: state?.files ?? [],
      has_more_files: state?.has_more_files ?? false,
      clipboard_changed: Boolean(state && before && state.clipboard_mark !== before.clipboard_mark),
      pictures: [],
      is_complete: before !== null && state !== null,
    },
    picture: after.picture,
  }
}

export async function storeBrief(tx: Tx, help: HelpRow, { brief, picture }: Brief): Promise<void> {
  await storePicture(tx, help, 'after', picture)
  const pictures = await tx
    .selectFrom('help_pictures')
    .select('moment')
    .where('help_request_id', '=', help.id)
    .orderBy('moment', 'desc')
    .execute()
  await tx
    .updateTable('help_requests')
    .set({ brief: storableJson({ ...brief, pictures: pictures.map(({ moment }) => moment) }) })
    .where('id', '=', help.id)
    .execute()
}

async function look(
  app: Pick<App, 'guests' | 'log'>,
  machine: Pick<MachineRow, 'id' | 'host' | 'generation' | 'boots'>,
  {
    sinceMs,
    viewer,
  }: { readonly sinceMs?: number | undefined; readonly viewer?: SessionId | null },
): Promise<Before> {
  const ref = guestRef(machine)
  const signal = AbortSignal.timeout(lookTimeoutMs)
  const orNull = (error: unknown) => {
    app.log.info({ err: error, machine_id: machine.id }, 'a brief of a machine is incomplete')
    return null
  }
  const query = { ...picture, ...(viewer && { viewer }) }
  const [state, shot] = await Promise.all([
    app.guests
      .brief(ref, sinceMs === undefined ? {} : { since_ms: Math.floor(sinceMs) }, { signal })
      .catch(orNull),
    app.guests.screenshot(ref, query, { signal }).catch(orNull),
  ])
  return { state, picture: shot && shot.bytes }
}

async function storePicture(
  tx: Tx,
  { id }: HelpRow,
  moment: 'before' | 'after',
  image: Buffer | null,
): Promise<void> {
  if (!image) return
  await tx
    .insertInto('help_pictures')
    .values({ help_request_id: id, moment, image })
    .onConflict((existing) => existing.columns(['help_request_id', 'moment']).doNothing())
    .execute()
}

function newIn(windows: GuestBrief['windows'], known: GuestBrief['windows']) {
  const ids = new Set(known.map(({ id }) => id))
  return windows
    .filter(({ id }) => !ids.has(id))
    .slice(0, mostWindows)
    .map(({ title, program }) => ({ title, program }))
}
