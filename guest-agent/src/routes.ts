import { GuestExec, GuestIdentity } from '@computer/contract/guest'
import {
  guestDesktopRoutes,
  guestFileRoutes,
  guestProcessRoutes,
  guestRoutes,
  guestStreams,
  guestTerminalRoutes,
} from '@computer/contract/guest-routes'
import { GuestSecrets } from '@computer/contract/guest-secrets'
import { join } from 'node:path'
import { attempt } from './attempt.ts'
import { parseBody } from './body.ts'
import type { Config } from './config.ts'
import { makeLogin } from './exec/environment.ts'
import { runCommand } from './exec/run.ts'
import { ShellPool } from './exec/shell-pool.ts'
import { Fence } from './fence.ts'
import { foldersCleaned } from './system/clean-folders.ts'
import { flushDisk } from './system/flush.ts'
import { readHealth } from './health.ts'
import { Identity } from './identity/identity.ts'
import { loadLater, parts } from './parts.ts'
import { releaseBoot, isBootReleased } from './secrets/boot.ts'
import { Secrets } from './secrets/secrets.ts'
import type { Route, Routes } from './server.ts'
import { Systemd } from './system/systemd.ts'
import { Usage } from './system/usage.ts'
import { Users } from './system/users.ts'

export function createRoutes(config: Config): Routes {
  const fence = new Fence()
  const users = new Users(join(config.rootPath, 'etc'))
  const identity = new Identity(config.rootPath)
  const shells = new ShellPool()
  const secrets = new Secrets(config.secretsFolder)
  const usage = new Usage()
  const systemd = new Systemd(config.rootPath)
  const secretsState = () => ({ revision: secrets.revision, told: isBootReleased(config) })

  const findLogin = (requested: string) => {
    const name = requested === 'agent' ? config.agentUser : requested
    const ownsDesktop = name === config.agentUser
    return { user: users.require(name), ownsDesktop, secrets: secrets.environment }
  }
  /** For a program of a caller. */
  const loginOf = async (requested: string) => {
    await systemd.ready()
    await identity.confirm()
    return findLogin(requested)
  }

  const { screen, terminal, port } = guestStreams
  const routes: Record<keyof typeof guestRoutes | keyof typeof guestStreams, Route> = {
    health: async () => ({ json: readHealth(fence) }),
    identity: async ({ body }) => {
      await identity.apply(await parseBody(GuestIdentity, body))
      await foldersCleaned(config.rootPath)
      await releaseBoot(config)
      // After the response. The first command then finds a shell that waits for it.
      setTimeout(() => {
        void attempt('start a shell', () => void shells.warm(makeLogin(findLogin('agent'))))
      }, 1).unref()
      return { json: {} }
    },
    setSecrets: async ({ body }) => {
      const request = await parseBody(GuestSecrets, body)
      if (secrets.replace(request, users.find(config.agentUser))) shells.drain()
      return { json: secretsState() }
    },
    readSecrets: async () => ({ json: secretsState() }),
    exec: async ({ body, signal }) => {
      const request = await parseBody(GuestExec, body)
      const login = await loginOf(request.user)
      return { json: await runCommand(shells, { ...request, ...login }, signal) }
    },
    ...loadLater({ ...guestDesktopRoutes, brief: guestRoutes.brief, screen }, async () =>
      (await parts.desktop()).desktopRoutes(config, fence, users),
    ),
    ...loadLater(guestFileRoutes, async () => (await parts.files()).fileRoutes(config, users)),
    ...loadLater({ ...guestTerminalRoutes, terminal }, async () =>
      (await parts.terminals()).terminalRoutes(loginOf),
    ),
    ...loadLater(guestProcessRoutes, async () => {
      const folder = join(config.rootPath, 'var/lib/computer-agent/processes')
      return (await parts.processes()).processRoutes(folder, loginOf)
    }),
    ...loadLater({ port }, async () => (await parts.ports()).portRoutes()),
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
