import { ImageId, MachineId } from '@computer/contract'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Disk, DiskKeeper } from '../drivers/disk-keeper.ts'
import { CaptureId, Generation, parse, Refusal, send, sendJson } from './answers.ts'
import { ask, download, type Reached } from './exchange.ts'
import type { Peer } from './peer.ts'

/*
 * The worker of a host keeps its disks for a backup that runs on another one. The paths, below /keepers/FOLDER:
 *
 * - GET disks, GET kept: lists of disks, and of those that are kept.
 * - POST kept/DISK/ID, DELETE kept/DISK/ID: a disk is kept, or dropped.
 * - GET streams/DISK/ID/IMAGE/BASE: the stream of a kept disk. An empty base stands for the image.
 *
 * DISK is the id of a capture, or id and generation of a machine with a dot between them.
 */

/** The host may have to freeze a machine many times until its disk is at rest. */
const timeoutMs = 120_000
/** The disks of 100,000 machines. */
const maxListBytes = 16 * 2 ** 20
/** The disks of a folder that is not heard of for ten minutes count as unused. */
const renewEveryMs = 60_000

const Folder = z.string().regex(/^[0-9a-z]{20,32}$/)
const DiskName = z.string().transform((name, context): Disk => {
  const capture = CaptureId.safeParse(name)
  if (capture.success) return { kind: 'capture', id: capture.data }
  const machine = z.tuple([MachineId, Generation]).safeParse(name.split('.'))
  if (machine.success) {
    const [id, generation] = machine.data
    return { kind: 'machine', ref: { id, generation } }
  }
  context.addIssue({ code: 'custom', message: 'this names no disk' })
  return z.NEVER
})
const Nothing = z.tuple([])
const Kept = z.tuple([DiskName, CaptureId])
const Stream = z.tuple([DiskName, CaptureId, ImageId, z.literal('').or(CaptureId)])

type Action = (keeper: DiskKeeper) => Promise<unknown>

/** Answers a process of another host that proved to be of the server. `path` is what follows /keepers. */
export async function answerKeeper(
  peer: Pick<Peer, 'openKeeper'>,
  { method, path }: { readonly method: string | undefined; readonly path: readonly string[] },
  response: ServerResponse,
): Promise<void> {
  const [folder, list, ...rest] = parse(z.tuple([Folder, z.string()], z.string()), path)
  const act = findAction(`${method} ${list}`, rest)
  await using keeper = await peer.openKeeper(folder)
  const result = await act(keeper)
  if (result instanceof Readable) await send(response, result)
  else sendJson(response, result)
}

function findAction(name: string, path: readonly string[]): Action {
  switch (name) {
    case 'GET disks':
      parse(Nothing, path)
      return async (keeper) => (await keeper.listDisks()).map(nameDisk)
    case 'GET kept':
      parse(Nothing, path)
      return async (keeper) => (await keeper.listKept()).map(({ disk, id }) => [nameDisk(disk), id])
    case 'POST kept': {
      const [disk, id] = parse(Kept, path)
      return (keeper) => keeper.keep(disk, id)
    }
    case 'DELETE kept': {
      const [disk, id] = parse(Kept, path)
      return async (keeper) => {
        await keeper.drop({ disk, id })
        return true
      }
    }
    case 'GET streams': {
      const [disk, id, imageId, base] = parse(Stream, path)
      return (keeper) => keeper.send({ disk, id }, { imageId, base: base || null })
    }
    default:
      throw new Refusal(404)
  }
}

/** The kept disks of another host. All that this throws is a DriverError. */
export function createRemoteKeeper(worker: Reached, folder: string): DiskKeeper {
  const pathOf = (path: string) => `/keepers/${folder}/${path}`
  const request = async <Schema extends z.ZodType>(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    schema: Schema,
  ) => ask(worker, schema, { path: pathOf(path), method, timeoutMs }, maxListBytes)
  const listKept = async () =>
    (await request('GET', 'kept', z.array(Kept))).map(([disk, id]) => ({ disk, id }))
  const timer = setInterval(() => void listKept().catch(() => {}), renewEveryMs).unref()
  return {
    listDisks: () => request('GET', 'disks', z.array(DiskName)),
    listKept,
    keep: (disk, id) => request('POST', `kept/${nameDisk(disk)}/${id}`, z.boolean()),
    send: ({ disk, id }, { imageId, base }) =>
      download(worker, pathOf(`streams/${nameDisk(disk)}/${id}/${imageId}/${base ?? ''}`)),
    async drop({ disk, id }) {
      await request('DELETE', `kept/${nameDisk(disk)}/${id}`, z.literal(true))
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
    },
  }
}

function nameDisk(disk: Disk): string {
  return disk.kind === 'capture' ? disk.id : `${disk.ref.id}.${disk.ref.generation}`
}
