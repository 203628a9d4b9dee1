import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The engine's own command-line client, which users would type without our server. Baselines live in a
 * separate project, so the server's reconcilers ignore them.
 */
export type Incus = AsyncDisposable & {
  /** Resolves to standard output. An exit code other than 0 is an error with standard error. */
  run(...args: readonly string[]): Promise<string>
  /** Publishes an instance as an image, which the disposal deletes. */
  publish(name: string, alias: string): Promise<void>
  /** Arguments of `incus launch` for a baseline of the size of our smallest machine. */
  launchArgs(image: string, name: string): readonly string[]
  /** Runs a command in a baseline. */
  exec(name: string, ...command: readonly string[]): Promise<Buffer>
  remove(name: string): Promise<void>
  /** The default image of the server, as the engine names it. */
  readonly image: string
  /** The baselines' project, which calls of `run` must name. */
  readonly project: string
  /** The project and name of one of our machines in the engine. */
  instanceOf(machineId: string): Promise<{ project: string; name: string }>
  /** The environment for callers that spawn the client themselves. */
  readonly env: NodeJS.ProcessEnv
}

export const incusPath = '/usr/bin/incus'
const project = 'bench'

export async function openIncus(dataDir: string, image: string): Promise<Incus> {
  const configDir = await mkdtemp(join(tmpdir(), 'computer-bench-'))
  const env = {
    PATH: '/usr/bin:/bin',
    INCUS_DIR: join(dataDir, 'engine'),
    // Otherwise the client writes to the user's home.
    INCUS_CONF: configDir,
  }
  const runRaw = (...args: readonly string[]) => runProgram(incusPath, args, env)
  const run = async (...args: readonly string[]) => (await runRaw(...args)).toString('utf8')
  const aliases: string[] = []
  const list = async (of: string) =>
    JSON.parse(await run('list', '--project', of, '--format', 'json')) as { name: string }[]

  await removeProject()
  const settings = ['images', 'profiles', 'storage.volumes', 'networks'].flatMap((feature) => [
    '-c',
    `features.${feature}=false`,
  ])
  await run('project', 'create', project, ...settings)
  const network = await findNetwork(run)

  async function removeProject(): Promise<void> {
    const projects = await run('project', 'list', '--format', 'json')
    if (!(JSON.parse(projects) as { name: string }[]).some(({ name }) => name === project)) return
    for (const { name } of await list(project))
      await run('delete', '--force', '--project', project, name)
    await run('project', 'delete', project)
  }

  return {
    run,
    env,
    image,
    project,
    launchArgs: (from, name) =>
      ['launch', from, name, '--project', project, '--quiet', '--no-profiles'].concat(
        ['--storage', 'default', '--network', network, '--device', 'root,size=10GiB'],
        // The bridge answers DHCP for addresses that it knows, which are those of filtered links.
        ['--device', 'eth0,security.ipv4_filtering=true'],
        ['-c', 'limits.cpu=2', '-c', 'limits.memory=4096MiB', '-c', 'boot.autostart=false'],
      ),
    exec: (name, ...command) => runRaw('exec', '--project', project, '-T', name, '--', ...command),
    async publish(name, alias) {
      const options = ['--alias', alias, '--compression', 'none', '--reuse']
      await run('publish', '--project', project, '--quiet', name, ...options)
      aliases.push(alias)
    },
    remove: async (name) => void (await run('delete', '--force', '--project', project, name)),
    async instanceOf(machineId) {
      const prefix = `${machineId.replace('_', '-')}-`
      const found = (await list('computer')).find(({ name }) => name.startsWith(prefix))
      if (!found) throw new Error(`the engine has no instance of ${machineId}`)
      return { project: 'computer', name: found.name }
    },
    async [Symbol.asyncDispose]() {
      await removeProject()
      for (const alias of aliases) await run('image', 'delete', alias)
      await rm(configDir, { recursive: true, force: true })
    },
  }
}

async function runProgram(
  path: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Buffer> {
  const child = spawn(path, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject).once('close', resolve)
  })
  if (code === 0) return Buffer.concat(output)
  throw new Error(`${path} ${args.slice(0, 2).join(' ')} exited with ${code}: ${errors.trim()}`)
}

async function findNetwork(run: Incus['run']): Promise<string> {
  const networks = JSON.parse(await run('network', 'list', '--format', 'json')) as {
    name: string
    managed: boolean
    type: string
  }[]
  const bridge = networks.find(({ managed, type }) => managed && type === 'bridge')
  if (!bridge) throw new Error('the engine has no bridge; is the server up?')
  return bridge.name
}
