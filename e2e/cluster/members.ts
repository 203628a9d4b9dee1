import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { IncusClient } from '../../server/src/drivers/incus/client.ts'
import { prepareKernel } from '../../server/src/host/engine-kernel.ts'
import { engineBinary } from '../../server/src/host/engine.ts'
import { withSharedLimits } from '../../server/src/host/kernel-limits.ts'
import type { Lifetime } from '../../server/test/harness.ts'
import { makeDataDir } from '../harness/data-folder.ts'
import { keepServerLogs } from '../harness/logs.ts'
import { eventually } from '../harness/polling.ts'
import { killChild, startMemberHost, type MemberHost } from './member-host.ts'
import { makeMemberNetwork, type MemberPlace } from './member-network.ts'

const poolGib = 30

/** A host whose engine is a member of a cluster, as an operator has it who runs Incus already. */
export type Member = {
  readonly name: string
  readonly address: string
  /** A folder of this host alone. */
  readonly folder: string
  /** INCUS_DIR of its engine. */
  readonly engineDir: string
  readonly client: IncusClient
  readonly spawn: MemberHost['spawn']
  startEngine(): Promise<void>
  killEngine(): Promise<void>
  /** Ends the host with all of its processes. */
  crash(): Promise<void>
  /** Starts the host again, and its engine, with another boot id. */
  start(): Promise<void>
}

export type Members = {
  readonly members: readonly Member[]
  /** This host's address in their network. */
  readonly address: string
  /** One more member of the cluster. */
  add(): Promise<Member>
}

/** Forms a cluster of engines on hosts of their own. */
export async function formCluster(t: Lifetime, count: number): Promise<Members> {
  await prepareKernel()
  const dataDir = await makeDataDir('members')
  t.after(() => rm(dataDir, { recursive: true, force: true }))
  // The root users of machines pass through it.
  await chmod(dataDir, 0o711)
  const network = await makeMemberNetwork(t)
  const members: Member[] = []
  const add = async () => {
    const number = members.length + 1
    const place = network.placeOf(number)
    const member = await makeMember(t, join(dataDir, `n${number}`), `n${number}`, place)
    const [first] = members
    await (first ? joinCluster(first, member) : beginCluster(member))
    members.push(member)
    return member
  }
  while (members.length < count) await add()
  return { members, address: network.address, add }
}

async function makeMember(
  t: Lifetime,
  folder: string,
  name: string,
  place: MemberPlace,
): Promise<Member> {
  const engineDir = join(folder, 'engine')
  await mkdir(engineDir, { recursive: true, mode: 0o711 })
  const logDir = join(folder, 'logs')
  await mkdir(logDir)
  const client = new IncusClient({ socketPath: join(engineDir, 'unix.socket') })
  let host = await startMemberHost(folder, place)
  let engine: ChildProcess | undefined
  const startEngine = async () => {
    const args = ['--group', 'root', '--logfile', join(logDir, 'incusd.log')]
    const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
    engine = host.spawn(withSharedLimits([engineBinary, ...args]), {
      INCUS_DIR: engineDir,
      PATH: path,
      HOME: '/root',
    })
    engine.stderr!.pipe(createWriteStream(join(logDir, 'engine.log'), { flags: 'a' }))
    engine.stdout!.resume()
    await eventually(`the engine of ${name} is ready`, async () => {
      return client.get('/internal/ready').then(
        () => true,
        () => false,
      )
    })
  }
  t.after(async () => {
    client[Symbol.dispose]()
    await host.crash()
    await keepServerLogs(folder)
  })
  await startEngine()
  return {
    name,
    address: place.address,
    folder,
    engineDir,
    client,
    spawn: (argv, env) => host.spawn(argv, env),
    startEngine,
    async killEngine() {
      const ended = once(engine!, 'exit')
      await killChild(engine!, 'SIGKILL')
      await ended
    },
    crash: () => host.crash(),
    async start() {
      host = await startMemberHost(folder, place)
      await startEngine()
    },
  }
}

async function beginCluster({ client, name, address }: Member): Promise<void> {
  const config = { 'core.https_address': `${address}:8443`, 'core.shutdown_timeout': '1' }
  await client.change('PATCH', '/1.0', { body: { config } })
  const pool = { name: 'default', driver: 'btrfs', config: { size: `${poolGib}GiB` } }
  await client.change('POST', '/1.0/storage-pools', { body: pool })
  await client.change('PUT', '/1.0/cluster', { body: { server_name: name, enabled: true } })
}

type Invitation = {
  readonly serverName: string
  readonly fingerprint: string
  readonly addresses: readonly string[]
  readonly secret: string
  readonly expiresAt: string
}

async function joinCluster(first: Member, { client, name, address }: Member): Promise<void> {
  const invitation = await first.client.begin('/1.0/cluster/members', { server_name: name }, {})
  const { serverName, fingerprint, addresses, secret, expiresAt } =
    invitation.metadata as unknown as Invitation
  const token = { server_name: serverName, fingerprint, addresses, secret, expires_at: expiresAt }
  const { environment } = await first.client.get<{ environment: { certificate: string } }>('/1.0')
  const ofPool = { entity: 'storage-pool', name: 'default' }
  const body = {
    server_name: name,
    enabled: true,
    server_address: `${address}:8443`,
    cluster_address: `${first.address}:8443`,
    cluster_certificate: environment.certificate,
    cluster_token: Buffer.from(JSON.stringify(token)).toString('base64'),
    member_config: [
      { ...ofPool, key: 'size', value: `${poolGib}GiB` },
      { ...ofPool, key: 'source', value: '' },
    ],
  }
  await client.change('PUT', '/1.0/cluster', { body })
}
