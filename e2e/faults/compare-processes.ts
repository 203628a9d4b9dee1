import { readdir, readFile } from 'node:fs/promises'
import { engineCommand, engineDirectory } from '../../server/src/host/engine.ts'
import { clusterDir } from '../../server/src/host/postgres.ts'
import type { Host } from './compare-kernel.ts'

type Process = {
  readonly pid: number
  readonly parent: number
  readonly argv: readonly string[]
  readonly groups: string
  readonly dataDir: string | undefined
}

/** The first processes of the machines of a host, below the one that the engine starts for each. */
export async function findInits(dataDir: string): Promise<readonly number[]> {
  const processes = await listProcesses()
  const title = `[lxc monitor] ${engineDirectory(dataDir)}/containers `
  const monitors = processes.filter(({ argv }) => argv.join(' ').startsWith(title))
  const pids = new Set(monitors.map(({ pid }) => pid))
  return processes.filter(({ parent }) => pids.has(parent)).map(({ pid }) => pid)
}

/** Expects one process for each program of the server, and none of a machine that does not run. */
export async function compareProcesses(host: Host): Promise<string[]> {
  const processes = await listProcesses()
  return [
    ...compareServer(host, processes),
    ...compareEngineChildren(host, processes),
    ...(await compareMachines(host, processes)),
  ]
}

function compareServer(
  { dataDir, network, processes: names }: Host,
  processes: readonly Process[],
): string[] {
  const engine = engineCommand(dataDir)
  const isService = (name: string) => (one: Process) =>
    one.dataDir === dataDir && one.argv[1]?.endsWith(`/server/src/main-${name}.ts`) === true
  const programs: Readonly<Record<string, (one: Process) => boolean>> = {
    api: isService('api'),
    gateway: isService('gateway'),
    worker: isService('worker'),
    engine: ({ argv }) => argv.join(' ') === [engine.command, ...engine.args].join(' '),
    postgres: ({ argv }) =>
      argv[0]?.endsWith('/postgres') === true && argv.includes(clusterDir(dataDir)),
    dnsmasq: ({ argv }) => argv[0] === 'dnsmasq' && argv.includes(`--interface=${network}`),
  }
  return [...names, 'dnsmasq'].flatMap((name) => {
    const count = processes.filter(programs[name]!).length
    return count === 1 ? [] : [`${count} processes of ${name} run instead of 1`]
  })
}

/** Processes that the daemon starts for one call must end with the daemon. */
function compareEngineChildren({ dataDir }: Host, processes: readonly Process[]): string[] {
  const alive = new Set(processes.map(({ pid }) => pid))
  return processes
    .filter(({ argv }) => argv[0]?.endsWith('incusd') && argv[1]?.startsWith('fork'))
    .filter(({ argv }) => argv.some((word) => word.startsWith(dataDir)))
    .filter(({ parent }) => parent === 1 || !alive.has(parent))
    .map(({ pid, argv }) => `${argv[1]} of ${argv[2]} (${pid}) outlived the daemon that started it`)
}

async function compareMachines(host: Host, processes: readonly Process[]): Promise<string[]> {
  const running = new Map(
    host.instances
      .filter(({ status }) => status !== 'Stopped')
      .map((instance) => [`computer_${instance.name}`, instance]),
  )
  const problems = new Set<string>()
  for (const { groups } of processes) {
    const name = groupOf(groups)
    if (name && host.isOurs(name) && !running.has(name)) {
      problems.add(`processes of ${name} run although it is stopped`)
    }
  }
  for (const [name, { config }] of running) {
    const own = processes.filter(({ groups }) => groupOf(groups) === name)
    if (own.length === 0) problems.add(`${name} should run but has no process`)
    const init = own.find(({ argv }) => argv[0] === '/sbin/init')
    if (!init) continue
    const [, base] = (await readText(`/proc/${init.pid}/uid_map`)).trim().split(/\s+/)
    const wanted = config['security.idmap.base']
    if (base !== undefined && base !== wanted) {
      problems.add(`${name} runs with uids from ${base} instead of ${wanted}`)
    }
  }
  return [...problems]
}

function groupOf(groups: string): string | undefined {
  return /\/lxc\.payload\.([^/\n]+)/.exec(groups)?.[1]
}

async function listProcesses(): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const read = async (pid: string): Promise<Process[]> => {
    const status = await readText(`/proc/${pid}/status`)
    // Zombies do not count.
    if (status === '' || /^State:\t[ZX]/m.test(status)) return []
    const environment = (await readText(`/proc/${pid}/environ`)).split('\0')
    return [
      {
        pid: Number(pid),
        parent: Number(/^PPid:\t(\d+)/m.exec(status)?.[1]),
        argv: (await readText(`/proc/${pid}/cmdline`)).split('\0').slice(0, -1),
        groups: await readText(`/proc/${pid}/cgroup`),
        dataDir: environment.find((pair) => pair.startsWith('COMPUTER_DATA='))?.slice(14),
      },
    ]
  }
  return (await Promise.all(pids.map(read))).flat()
}

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '')
}
