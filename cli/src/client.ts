import {
  ApiError,
  type Budget,
  Computer,
  type ComputerOptions,
  type List,
  type Machine,
  type Snapshot,
  type Template,
} from '@computer/sdk'
import { readConnection, type Connection, type ConnectionFlags } from './config.ts'
import { fetchWithSession } from './session.ts'

/** Opens a client for the selected profile, or for the server named in the environment. */
export async function connect(
  flags: ConnectionFlags,
  options: Pick<ComputerOptions, 'sessionType'> = {},
): Promise<Computer> {
  return openClient(await readConnection(flags), options)
}

export async function openClient(
  { apiKey, session, baseUrl }: Connection,
  options: Pick<ComputerOptions, 'maxRetries' | 'sessionType'> = {},
): Promise<Computer> {
  // Built into Node since 22.
  const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket
  const fetch = session === null ? undefined : fetchWithSession(baseUrl, session)
  const connection = { apiKey: apiKey ?? '', baseUrl, WebSocket, fetch }
  // An empty key keeps the one in the environment from being sent with the session.
  return new Computer({ ...connection, maxRetries: 2, ...options })
}

/** Finds a machine by ID or name. */
export async function findMachine(computer: Computer, ref: string): Promise<Machine> {
  if (ref.startsWith('mch_')) return computer.machines.get(ref)
  const found = computer.machines.list({ name: ref, limit: 2 })
  return requireOne(found, `machine "${ref}"`, 'machines list')
}

/** Finds a template by ID or name. */
export async function findTemplate(computer: Computer, ref: string): Promise<Template> {
  if (ref.startsWith('tpl_')) return computer.templates.get(ref)
  const found = computer.templates.list({ name: ref, limit: 2 })
  return requireOne(found, `template "${ref}"`, 'templates list')
}

/** Finds a budget by ID or name. */
export async function findBudget(computer: Computer, ref: string): Promise<Budget> {
  if (ref.startsWith('bud_')) return computer.budgets.get(ref)
  const found = filtered(computer.budgets.list({ limit: 100 }), ({ name }) => name === ref)
  return requireOne(found, `budget "${ref}"`, 'budgets list')
}

/** Finds a snapshot by ID, or by name among the snapshots of one machine or of all. */
export async function findSnapshot(
  computer: Computer,
  ref: string,
  machine?: Machine,
): Promise<Snapshot> {
  if (ref.startsWith('snp_')) return computer.snapshots.get(ref)
  const all = (machine ?? computer).snapshots.list({ limit: 100 })
  const found = filtered(all, ({ name }) => name === ref)
  return requireOne(found, `snapshot "${ref}"`, 'snapshots list')
}

/** Returns the only match, and fails if there is none or several. */
export async function requireOne<T extends { readonly id: string }>(
  found: List<T> | AsyncIterable<T>,
  description: string,
  listCommand: string,
): Promise<T> {
  const matches: T[] = []
  for await (const item of found) matches.push(item)
  const [first, ...others] = matches
  if (!first) {
    const message = `${description} not found; list the available ones with \`computer ${listCommand}\``
    throw new ApiError('not_found', message)
  }
  if (others.length === 0) return first
  const ids = matches.map(({ id }) => id).join(', ')
  throw new ApiError('conflict', `${description} is ambiguous; use one of these IDs: ${ids}`)
}

export async function* filtered<T>(
  items: AsyncIterable<T>,
  isWanted: (item: T) => boolean,
): AsyncGenerator<T> {
  for await (const item of items) if (isWanted(item)) yield item
}
