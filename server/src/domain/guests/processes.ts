import type { MachineId, ProcessId, ProcessLog, processes } from '@computer/contract'
import type { z } from 'zod'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { decodeContent } from './files.ts'
import { pageOfItems, type PageRequest } from '../page.ts'
import { askGuest } from './calls.ts'
import { wholeCharacters } from './utf8-range.ts'

/*
 * Background processes exist only in the agent of their machine, as terminals do. They end when the
 * machine stops.
 */

type Guests = Pick<App, 'db' | 'guests'>
type Endpoints = typeof processes
type One = { readonly machine_id: MachineId; readonly process_id: ProcessId }
type Call = { readonly signal: AbortSignal }

/** A repeated call with the same id returns the process that the first one started. */
export function startProcess(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  id: ProcessId,
  input: z.output<Endpoints['start']['body']>,
) {
  return askGuest(app, actor, machineId, (ref) => app.guests.startProcess(ref, { ...input, id }))
}

export async function listProcesses(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  page: PageRequest,
) {
  const all = await askGuest(app, actor, machineId, (ref) => app.guests.listProcesses(ref))
  return pageOfItems('prc', page, all)
}

export function getProcess(
  app: Guests,
  actor: Actor,
  { machine_id: machineId, process_id: id }: One,
  { wait, signal }: z.output<Endpoints['get']['query']> & Call,
) {
  return askGuest(app, actor, machineId, (ref) =>
    app.guests.readProcess(ref, { id, wait }, { signal }),
  )
}

/** As text, a range has whole characters only; invalid UTF-8 is replaced, as in exec. */
export async function readProcessLog(
  app: Guests,
  actor: Actor,
  { machine_id: machineId, process_id: id }: One,
  { encoding, signal, ...query }: z.output<Endpoints['logs']['query']> & Call,
): Promise<ProcessLog> {
  const log = await askGuest(app, actor, machineId, (ref) =>
    app.guests.readProcessLog(ref, { ...query, id }, { signal }),
  )
  const bytes = Buffer.from(log.content, 'base64')
  const size = log.offset + bytes.length + (log.eof ? 0 : 1)
  const whole =
    encoding === 'utf8' && bytes.length > 3 ? wholeCharacters(bytes, size, log.offset) : bytes
  return {
    stream: query.stream,
    content: whole.toString(encoding),
    encoding,
    offset: log.offset,
    next_offset: log.offset + whole.length,
    eof: log.eof,
  }
}

export function writeProcessInput(
  app: Guests,
  actor: Actor,
  { machine_id: machineId, process_id: id }: One,
  { content, encoding, eof }: z.output<Endpoints['stdin']['body']>,
): Promise<void> {
  const bytes = decodeContent(content, encoding).toString('base64')
  return askGuest(app, actor, machineId, (ref) =>
    app.guests.writeProcessInput(ref, { id, content: bytes, eof }),
  )
}

export function signalProcess(
  app: Guests,
  actor: Actor,
  { machine_id: machineId, process_id: id }: One,
  { signal }: z.output<Endpoints['signal']['body']>,
): Promise<void> {
  return askGuest(app, actor, machineId, (ref) => app.guests.signalProcess(ref, { id, signal }))
}
