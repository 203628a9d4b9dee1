import type { ImageId } from '@computer/contract'
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../app.ts'
import type { HostRow } from '../../db/database.ts'
import { getDefaultImage } from '../../domain/disks/images.ts'
import { readMemoryRooms } from '../../domain/hosts/capacity.ts'
import { hostSilent } from '../../domain/hosts/health.ts'
import { findKnownHost, listHosts } from '../../domain/hosts/hosts.ts'
import { inviteHost, invitationMinutes } from '../../domain/hosts/invitations.ts'
import { drainHost, removeHost, undrainHost } from '../../domain/hosts/states.ts'
import { giveUpHost } from '../../domain/machines/lost-host.ts'
import { countRemainder, type Remainder } from '../../domain/machines/draining.ts'
import { encodeToken } from '../../peers/join.ts'
import type { AdminAnswer } from './request.ts'
import { formatTable } from './table.ts'

/** `computer hosts …`. */

const pollMs = 1_000

export async function showHosts({ db }: Pick<App, 'db'>): Promise<AdminAnswer> {
  const [rooms, image] = await Promise.all([readMemoryRooms(db), getDefaultImage(db)])
  const present = (await listHosts(db)).filter(({ state }) => state !== 'removed')
  const hosts = await Promise.all(
    present.map(async (host) => ({
      ...describeHost(host),
      ...(await countRemainder(db, host.name)),
      memory_room: rooms.get(host.name) ?? null,
    })),
  )
  const head = [
    'NAME',
    'REGION',
    'STATE',
    'MACHINES',
    'DISK FREE',
    'MEMORY FREE',
    'ROOM TO RUN',
    'SEEN',
  ]
  const rows = hosts.map((host) => [
    host.name,
    host.region,
    describeState(host, image?.id),
    String(host.machines),
    share(host.free_bytes, host.total_bytes),
    share(host.memory_available_bytes, host.memory_total_bytes),
    host.memory_room === null ? 'unknown' : `${host.memory_room} machines`,
    host.seen_at === null ? 'never' : ago((Date.now() - host.seen_at.getTime()) / 1000),
  ])
  return { json: hosts, text: formatTable(head, rows) }
}

/** Tells what is left on standard error until nothing is, unless the operator does not wait for it. */
export async function drain(
  { db }: Pick<App, 'db'>,
  { name, isWaiting }: { readonly name: string; readonly isWaiting: boolean },
): Promise<AdminAnswer> {
  let host = await drainHost(db, name)
  let told = ''
  while (isWaiting && host.state === 'draining') {
    const left = describeRemainder(await countRemainder(db, name))
    if (left !== told) console.error(`left on ${name}: ${left}`)
    told = left
    await sleep(pollMs)
    host = (await listHosts(db)).find((one) => one.name === name)!
  }
  const texts: Partial<Record<HostRow['state'], string>> = {
    drained: `${name} is drained: nothing is left on it, and it can be stopped or removed`,
    draining: `${name} is draining: it gets no new machines, and its machines go to other hosts`,
  }
  const text = texts[host.state] ?? `${name} is ${host.state}: somebody else changed it`
  return { json: { ...describeHost(host), ...(await countRemainder(db, name)) }, text }
}

/** Prints a token for `computer join`. */
export async function add(
  { db, config }: Pick<App, 'db' | 'config'>,
  name: string,
): Promise<AdminAnswer> {
  requireReachable(config.databaseUrl)
  const known = await findKnownHost(db, config.host)
  if (!known?.peer) {
    throw new Error(
      'other hosts cannot reach this one: set COMPUTER_HOST_ADDRESS, and restart the server',
    )
  }
  const token = encodeToken(known.peer, await inviteHost(db, name))
  const text =
    `token for ${name}, for one use within ${invitationMinutes} minutes; it gives access to all of the server:\n` +
    `${token}\nOn the new host: computer join --address ITS_ADDRESS:7083 TOKEN`
  return { json: { name, token, expires_in_minutes: invitationMinutes }, text }
}

function requireReachable(databaseUrl: string | null): void {
  if (databaseUrl === null) {
    throw new Error(
      'the database of this server is embedded, and other hosts cannot reach it: move it to a Postgres of its own (DATABASE_URL)',
    )
  }
  const { hostname, searchParams } = new URL(databaseUrl)
  const host = searchParams.get('host') ?? hostname
  if (host === '' || host.startsWith('/') || isLoopback(host)) {
    throw new Error(
      `other hosts cannot reach the database at ${host}: set DATABASE_URL to an address that they can`,
    )
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.')
}

export async function undrain({ db }: Pick<App, 'db'>, name: string): Promise<AdminAnswer> {
  const host = await undrainHost(db, name)
  return { json: describeHost(host), text: `${name} is ready: it gets new machines` }
}

export async function remove({ db }: Pick<App, 'db'>, name: string): Promise<AdminAnswer> {
  const host = await removeHost(db, name)
  return { json: describeHost(host), text: `${name} is removed; \`computer down\` on it ends it` }
}

export async function giveUp(app: Pick<App, 'db' | 'changes'>, name: string): Promise<AdminAnswer> {
  const { machines, captures, ...host } = await giveUpHost(app, name)
  const text =
    `${name} is lost: ${machines} machines are in error, and ${captures} snapshots or templates are gone; ` +
    'a machine that has a snapshot on another host can be restored to it'
  return { json: { ...describeHost(host), machines, captures }, text }
}

function describeState(
  { state, unhealthy_reason: reason, images }: ReturnType<typeof describeHost>,
  image: ImageId | undefined,
): string {
  if (reason !== null) return `${state}, ${reason === hostSilent ? 'silent' : 'unhealthy'}`
  const lacksImage = image !== undefined && !images.includes(image)
  return state === 'ready' && lacksImage ? 'ready, no image yet' : state
}

function describeHost(host: HostRow) {
  const { peer_certificate: _, ...shown } = host
  return shown
}

function describeRemainder({ machines, warmMachines, captures }: Remainder): string {
  return `${machines} machines, ${captures} snapshots, ${warmMachines} warm machines`
}

function share(free: number | null, total: number | null): string {
  if (free === null || total === null) return 'unknown'
  return `${gib(free)} of ${gib(total)} GiB`
}

function gib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1)
}

export function ago(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  return whole < 120 ? `${whole} s ago` : `${Math.round(whole / 60)} min ago`
}
