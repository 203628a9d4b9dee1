import type { Endpoint, endpoints, MachineId, SessionId } from '@computer/contract'
import type { Actor } from '../actor.ts'
import type { ActivityRecorder } from '../domain/activity/recorder.ts'
import { ApiError } from '../errors.ts'
import type { Input } from './route.ts'

/*
 * What each endpoint leaves in the activity log of its machine. Typed text is told by its length alone, and so is
 * a key that types a character; of a secret only its name is told.
 */

type Entry = { readonly type: string; readonly data: Readonly<Record<string, unknown>> }

export type Recorder<E extends Endpoint = Endpoint> = (input: Input<E>) => Entry

export type Recorders<Endpoints extends Record<string, Endpoint>> = {
  readonly [Name in keyof Endpoints]?: Recorder<Endpoints[Name]>
}

const maxCommandLength = 500

export const desktopRecorders: Recorders<typeof endpoints.desktop> = {
  resize: ({ body }) => ({ type: 'display.resized', data: body }),
  move: ({ body }) => ({ type: 'mouse.moved', data: body }),
  click: ({ body }) => ({ type: 'mouse.clicked', data: body }),
  drag: ({ body: { from, to, button } }) => ({ type: 'mouse.dragged', data: { from, to, button } }),
  scroll: ({ body }) => ({ type: 'mouse.scrolled', data: body }),
  type: ({ body }) => ({ type: 'keyboard.typed', data: { characters: [...body.text].length } }),
  key: ({ body }) => ({ type: 'keyboard.pressed', data: { keys: showKeys([body.key]) } }),
  hotkey: ({ body }) => ({ type: 'keyboard.pressed', data: { keys: showKeys(body.keys) } }),
  writeClipboard: ({ body }) => ({
    type: 'clipboard.written',
    data: { characters: [...body.text].length },
  }),
}

export const execRecorders: Recorders<typeof endpoints.exec> = {
  run: ({ body }) => ({ type: 'command.run', data: showCommand(body) }),
}

export const processRecorders: Recorders<typeof endpoints.processes> = {
  start: ({ body }) => ({ type: 'process.started', data: showCommand(body) }),
  stdin: ({ params }) => ({ type: 'process.written', data: { process_id: params.process_id } }),
  signal: ({ params, body }) => ({
    type: 'process.signalled',
    data: { process_id: params.process_id, ...body },
  }),
}

export const terminalRecorders: Recorders<typeof endpoints.terminals> = {
  open: ({ body }) => ({ type: 'terminal.opened', data: { user: body.user } }),
  kill: ({ params }) => ({ type: 'terminal.killed', data: { terminal_id: params.terminal_id } }),
}

export const fileRecorders: Recorders<typeof endpoints.files> = {
  write: ({ body, upload }) => ({
    type: 'file.written',
    data: { path: upload ? upload.query.path : body.path },
  }),
  writeArchive: ({ upload }) => ({ type: 'archive.written', data: { path: upload!.query.path } }),
  delete: ({ query }) => ({ type: 'file.deleted', data: { path: query.path } }),
  move: ({ body }) => ({ type: 'file.moved', data: { from: body.from, to: body.to } }),
}

export const portRecorders: Recorders<typeof endpoints.ports> = {
  publish: ({ body }) => ({
    type: 'port.published',
    data: { port: body.port, access: body.access },
  }),
  unpublish: ({ params }) => ({
    type: 'port.unpublished',
    data: { preview_id: params.preview_id },
  }),
}

export const secretRecorders: Recorders<typeof endpoints.secrets> = {
  put: ({ body }) => ({ type: 'secret.stored', data: { name: body.name } }),
  delete: ({ params }) => ({ type: 'secret.deleted', data: { name: params.name } }),
}

type AnyInput = {
  readonly params?: { readonly machine_id?: MachineId }
  readonly headers?: { readonly 'x-session-id'?: SessionId | undefined }
}

/**
 * Runs a call and records it. One that failed is recorded too, unless it provably did nothing: a caller who leaves
 * must not leave without a trace.
 */
export async function recordCall<T>(
  activity: ActivityRecorder,
  recorder: Recorder,
  actor: Actor,
  input: object,
  run: () => Promise<T>,
): Promise<T> {
  const note = (outcome: 'completed' | 'unknown') => {
    const { params, headers } = input as AnyInput
    if (!params?.machine_id) return
    const { type, data } = recorder(input as Input<Endpoint>)
    activity.record({
      organizationId: actor.organizationId,
      machineId: params.machine_id,
      type,
      actor: actor.principal,
      sessionId: headers?.['x-session-id'],
      data: outcome === 'completed' ? data : { ...data, outcome },
    })
  }
  try {
    const result = await run()
    note('completed')
    return result
  } catch (error) {
    if (mayHaveActed(error)) note('unknown')
    throw error
  }
}

function mayHaveActed(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true
  return error.code === 'compute_unavailable' && error.retryAfter === undefined
}

/** Keys that type a character are told only with Control, Alt or Super, which make a command of them. */
function showKeys(keys: readonly string[]): string {
  const isCommand = keys.some((key) => /^(ctrl|control|alt|super|meta|cmd|option)/i.test(key))
  return keys.map((key) => (isCommand || isNamed(key) ? key : '(character)')).join('+')
}

/** A name that is no character: `Return`, `F5`, `shift`. */
function isNamed(key: string): boolean {
  return /^(F\d+|shift.*|return|enter|tab|escape|esc|backspace|delete|home|end|page.*|up|down|left|right|insert|caps.*|menu|print|xf86.*)$/i.test(
    key,
  )
}

function showCommand({ command, user }: { command: string | readonly string[]; user?: string }) {
  const text = typeof command === 'string' ? command : command.join(' ')
  const shown = text.length > maxCommandLength ? `${text.slice(0, maxCommandLength)}…` : text
  return { command: shown, user }
}
