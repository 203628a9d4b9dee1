import {
  GuestArchiveQuery,
  GuestClipboardQuery,
  GuestDeleteQuery,
  GuestExec,
  GuestFence,
  GuestIdentity,
  GuestInput,
  GuestListQuery,
  GuestMove,
  GuestReadQuery,
  guestRoutes,
  GuestWriteQuery,
} from '@computer/contract/guest'
import { GuestSecrets } from '@computer/contract/guest-secrets'
import { guestStreams } from '@computer/contract/guest-streams'
import { join } from 'node:path'
import { attempt } from './attempt.ts'
import { parse, parseBody } from './body.ts'
import type { Config } from './config.ts'
import { Desktop } from './desktop/desktop.ts'
import { performInput, releaseInput } from './desktop/input.ts'
import { makeLogin } from './exec/environment.ts'
import { runCommand } from './exec/run.ts'
import { ShellPool } from './exec/shell-pool.ts'
import { Fence } from './fence.ts'
import { archiveDirectory } from './files/archive.ts'
import { DenyList } from './files/deny.ts'
import { extractArchive } from './files/extract.ts'
import { listDirectory } from './files/list.ts'
import { moveFile } from './files/move.ts'
import { openRange } from './files/read.ts'
import { removeFile } from './files/remove.ts'
import type { FileSpace } from './files/space.ts'
import { writeFile } from './files/write.ts'
import { flushDisk } from './system/flush.ts'
import { readHealth } from './health.ts'
import { Identity } from './identity/identity.ts'
import { portRoutes } from './ports/routes.ts'
import { processRoutes } from './processes/routes.ts'
import { AgentError } from './errors.ts'
import { LiveScreen } from './screen/live-screen.ts'
import { screenshotRoute } from './screen/screenshot-route.ts'
import { releaseBoot, isBootReleased } from './secrets/boot.ts'
import { Secrets } from './secrets/secrets.ts'
import type { Route, Routes } from './server.ts'
import { terminalRoutes } from './terminals/routes.ts'
import { Usage } from './system/usage.ts'
import { Users, type User } from './system/users.ts'

export function createRoutes(config: Config): Routes {
  const fence = new Fence()
  const users = new Users(join(config.rootPath, 'etc'))
  const identity = new Identity(config.rootPath)
  const shells = new ShellPool()
  const secrets = new Secrets(config.secretsFolder)
  const deny = new DenyList(config.deniedPaths)
  const usage = new Usage()
  const desktop = new Desktop(config)
  const inputHost = { desktop, fence, rfbSocketPath: config.rfbSocketPath }
  const liveScreen = new LiveScreen(inputHost)
  const files = (): FileSpace => ({ deny, users, owner: findUser(users, config.agentUser) })

  const secretsState = () => ({ revision: secrets.revision, told: isBootReleased(config) })

  const loginOf = (requested: string) => {
    const name = requested === 'agent' ? config.agentUser : requested
    const ownsDesktop = name === config.agentUser
    return { user: findUser(users, name), ownsDesktop, secrets: secrets.environment }
  }

  const routes: Record<keyof typeof guestRoutes | keyof typeof guestStreams, Route> = {
    health: async () => ({ json: readHealth(fence) }),
    identity: async ({ body }) => {
      await identity.apply(await parseBody(GuestIdentity, body))
      await releaseBoot(config)
      // After the response. The first command then finds a shell that waits for it.
      setTimeout(() => {
        void attempt('start a shell', () => void shells.warm(makeLogin(loginOf('agent'))))
      }, 1).unref()
      return { json: {} }
    },
    setSecrets: async ({ body }) => {
      const request = await parseBody(GuestSecrets, body)
      if (secrets.replace(request, users.find(config.agentUser))) shells.drain()
      return { json: secretsState() }
    },
    readSecrets: async () => ({ json: secretsState() }),
    fence: async ({ body }) => {
      const request = await parseBody(GuestFence, body)
      return { json: { fence: await fence.raise(request, () => releaseInput(desktop)) } }
    },
    display: async () => ({ json: await desktop.readState() }),
    ...screenshotRoute(desktop),
    input: async ({ body }) => ({
      json: await performInput(inputHost, await parseBody(GuestInput, body)),
    }),
    screen: async () => ({ duplex: (stream) => liveScreen.open(stream) }),
    readClipboard: async ({ query }) => {
      const { selection } = parse(GuestClipboardQuery, query)
      const { clipboard } = await desktop.requireUp()
      return { json: { text: await clipboard.read(selection) } }
    },
    exec: async ({ body, signal }) => {
      const request = await parseBody(GuestExec, body)
      const login = loginOf(request.user)
      return { json: await runCommand(shells, { ...request, ...login }, signal) }
    },
    ...terminalRoutes(loginOf),
    ...portRoutes(),
    ...processRoutes(join(config.rootPath, 'var/lib/computer-agent/processes'), loginOf),
    listFiles: async ({ query }) => ({
      json: await listDirectory(files(), parse(GuestListQuery, query)),
    }),
    readFile: async ({ query }) => {
      const range = await openRange(files(), parse(GuestReadQuery, query))
      const headers = {
        'content-type': 'application/octet-stream',
        'x-file-size': String(range.size),
        'x-file-path': encodeURIComponent(range.path),
      }
      if (range.fd === undefined) return { bytes: range.bytes ?? Buffer.alloc(0), headers }
      return { fd: range.fd, offset: range.offset, length: range.length, headers }
    },
    writeFile: async ({ query, body, isBodyComplete }) => {
      const { path, mode, ...request } = parse(GuestWriteQuery, query)
      const options = {
        path,
        append: request.append === 'true',
        createParents: request.create_parents === 'true',
        mode: mode === undefined ? undefined : parseInt(mode, 8),
      }
      const content = { stream: body, isComplete: isBodyComplete }
      return { json: await writeFile(files(), options, content) }
    },
    readArchive: async ({ query }) => {
      const chunks = await archiveDirectory(files(), parse(GuestArchiveQuery, query).path)
      return { chunks, headers: { 'content-type': 'application/x-tar' } }
    },
    writeArchive: async ({ query, body }) => ({
      json: await extractArchive(files(), parse(GuestArchiveQuery, query).path, body),
    }),
    deleteFile: async ({ query, signal }) => {
      const { path, recursive } = parse(GuestDeleteQuery, query)
      await removeFile(files(), { path, recursive: recursive === 'true' }, signal)
      return { json: {} }
    },
    moveFile: async ({ body }) => ({
      json: await moveFile(files(), await parseBody(GuestMove, body)),
    }),
    usage: async () => ({ json: await usage.read() }),
    flush: async ({ signal }) => {
      await flushDisk(signal)
      return { json: {} }
    },
  }
  return new Map(
    Object.entries(routes).map(([name, route]) => {
      const { method, path } = endpoints[name as keyof typeof endpoints]
      return [`${method} ${path}`, route]
    }),
  )
}

const endpoints = { ...guestRoutes, ...guestStreams }

function findUser(users: Users, name: string): User {
  const user = users.find(name)
  if (!user) throw new AgentError('precondition_failed', `this machine has no user ${name}`)
  return user
}
