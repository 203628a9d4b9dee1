import {
  ApiError,
  Computer,
  type List,
  type Machine,
  type Snapshot,
  type Template,
} from '@computer/sdk'
import { readConnection } from './config.ts'

/** A client of the server that this call is meant for. */
export async function connect({ profile }: { readonly profile?: string | undefined }) {
  const { apiKey, baseUrl } = await readConnection(profile)
  return openClient(apiKey, baseUrl)
}

export async function openClient(apiKey: string, baseUrl: string): Promise<Computer> {
  // Node has it since 22.
  const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket
  return new Computer({ apiKey, baseUrl, WebSocket, maxRetries: 2 })
}

/** A machine by its id or by its name. */
export async function findMachine(computer: Computer, ref: string): Promise<Machine> {
  if (ref.startsWith('mch_')) return computer.machines.get(ref)
  return one(computer.machines.list({ name: ref, limit: 2 }), `machine ${ref}`, 'machines list')
}

/** A template by its id or by its name. */
export async function findTemplate(computer: Computer, ref: string): Promise<Template> {
  if (ref.startsWith('tpl_')) return computer.templates.get(ref)
  return one(computer.templates.list({ name: ref, limit: 2 }), `template ${ref}`, 'templates list')
}

/** A snapshot by its id, or by its name among those of a machine. */
export async function findSnapshot(
  computer: Computer,
  ref: string,
  machine?: Machine,
): Promise<Snapshot> {
  if (ref.startsWith('snp_')) return computer.snapshots.get(ref)
  const all = (machine ?? computer).snapshots.list({ limit: 100 })
  return one(
    filtered(all, ({ name }) => name === ref),
    `snapshot ${ref}`,
    'snapshots list',
  )
}

/** The only one of those that bear a name. */
export async function one<T extends { readonly id: string }>(
  found: List<T> | AsyncIterable<T>,
  what: string,
  listing: string,
): Promise<T> {
  const matches: T[] = []
  for await (const item of found) matches.push(item)
  const [first, ...others] = matches
  if (!first) {
    const message = `there is no ${what}: \`computer ${listing}\` shows what there is`
    throw new ApiError('not_found', message)
  }
  if (others.length === 0) return first
  const ids = matches.map(({ id }) => id).join(', ')
  throw new ApiError('conflict', `several bear the name of ${what}: use an id, one of ${ids}`)
}

export async function* filtered<T>(
  items: AsyncIterable<T>,
  isWanted: (item: T) => boolean,
): AsyncGenerator<T> {
  for await (const item of items) if (isWanted(item)) yield item
}
