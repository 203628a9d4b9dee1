import type { MachineId, ProcessId, ProcessLog, processes } from '@computer/contract'
import type { z } from 'zod'
import type { Actor } from '../../actor.ts'
import type { App } from '../../app.ts'
import { decodeContent } from './files.ts'
import { askGuest } from './calls.ts'
import { wholeCharacters } from './utf8-range.ts'

/*
 * Background processes live in the agent of their machine and nowhere else, as terminals do. They end
 * with the machine's run.
 */

type Guests = Pick<App, 'db' | 'guests'>
type Endpoints = typeof processes
type One = { readonly machine_id: MachineId; readonly process_id: ProcessId }
type Call = { readonly signal: AbortSignal }

/** A call that is repeated with the same id answers the process that it started the first time. */
export function startProcess(
  app: Guests,
  actor: Actor,
  machineId: MachineId,
  id: ProcessId,
  wish: z.output<Endpoints['start']['body']>,
) {
  return askGuest(app, actor, machineId, (ref) => app.guests.startProcess(ref, { ...wish, id }))
}

export function listProcesses(app: Guests, actor: Actor, machineId: MachineId) {
  return askGuest(app, actor, machineId, (ref) => app.guests.listProcesses(ref))
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

/** Text is a range's whole characters; bytes that are no UTF-8 are replaced, as those of exec are. */
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
